/* link.h - one JSON value a line over a TCP connection, between the supervisor and rank 0.
 *
 * The connection is also the lease: each side sends a beat every second; a side that hears nothing
 * for LINK_SILENCE_SECONDS takes the other for dead.
 */
#ifndef CCLTUNE_LINK_H
#define CCLTUNE_LINK_H

#include "error.h"
#include "json.h"

#include <stddef.h>

#define LINK_BEAT_SECONDS 1.0
#define LINK_SILENCE_SECONDS 10.0

struct link {
    int fd; /* -1 = closed */
    char *buffer;
    size_t nr, capacity; /* received, not yet a whole line */
};

#define LINK_CLOSED ((struct link){-1, NULL, 0, 0})

/* Listens on a free port of every interface. */
int link_listen(int *listen_fd, int *port, struct error *error);

/* The text for --report-to: "HOST/ADDRESS,ADDRESS:PORT:TOKEN"; a caller on HOST uses 127.0.0.1.
 * malloc'ed. */
char *link_address(int port, const char *token);

/* 32 random hexadecimal digits and a zero. */
int link_make_token(char token[33], struct error *error);

/* Dials what link_address wrote and says hello with the token. */
int link_dial(const char *report_to, struct link *link, struct error *error);

/* Takes a waiting connection if it shows the token within two seconds; others are turned away.
 * 1 = taken, 0 = nobody (or a stranger), -1 = error. */
int link_accept(int listen_fd, const char *token, struct link *link, struct error *error);

/* Sends one value as a line; takes `value`. -1 when the other side is gone. */
int link_send(struct link *link, struct json *value);

/* Waits up to `seconds` for one line. 1 = *value is filled (free with json_free), 0 = nothing yet,
 * -1 = the other side is gone or sends nonsense (error filled). */
int link_receive(struct link *link, double seconds, struct json **value, struct error *error);

void link_close(struct link *link);

/* Seconds of the monotonic clock. */
double link_now(void);

#endif
