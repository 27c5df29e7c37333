/* wire.h - one JSON value a line over a TCP connection, between the supervisor and rank 0.
 *
 * The connection is also the lease: each side sends a beat every second; a side that hears nothing
 * for WIRE_SILENCE_SECONDS takes the other for dead.
 */
#ifndef CCLTUNE_WIRE_H
#define CCLTUNE_WIRE_H

#include "error.h"
#include "json.h"

#include <stddef.h>

#define WIRE_BEAT_SECONDS    1.0
#define WIRE_SILENCE_SECONDS 10.0

struct wire {
    int fd; /* -1 = closed */
    char *buffer;
    size_t nr, capacity; /* received, not yet a whole line */
};

#define WIRE_CLOSED ((struct wire){-1, NULL, 0, 0})

/* Listens on a free port of every interface. */
int wire_listen(int *listen_fd, int *port, struct error *error);

/* The text for --report-to: "HOST/ADDRESS,ADDRESS:PORT:TOKEN"; a caller on HOST uses 127.0.0.1.
 * malloc'ed. */
char *wire_address(int port, const char *token);

/* 32 random hexadecimal digits and a zero. */
int wire_make_token(char token[33], struct error *error);

/* Dials what wire_address wrote and says hello with the token. */
int wire_dial(const char *report_to, struct wire *wire, struct error *error);

/* Takes a waiting connection if it shows the token within two seconds; others are turned away.
 * 1 = taken, 0 = nobody (or a stranger), -1 = error. */
int wire_accept(int listen_fd, const char *token, struct wire *wire, struct error *error);

/* Sends one value as a line; takes `value`. -1 when the other side is gone. */
int wire_send(struct wire *wire, struct json *value);

/* Waits up to `seconds` for one line. 1 = *value is filled (free with json_free), 0 = nothing yet,
 * -1 = the other side is gone or sends nonsense (error filled). */
int wire_receive(struct wire *wire, double seconds, struct json **value, struct error *error);

void wire_close(struct wire *wire);

/* Seconds of the monotonic clock. */
double wire_now(void);

#endif
