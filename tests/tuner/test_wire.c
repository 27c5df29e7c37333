/* test_wire.c - lines over the connection: who is let in, and what may come over it. */
#include "wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static const char token[] = "0123456789abcdef0123456789abcdef";

struct ends {
    int listen_fd, port;
    struct wire here, there; /* accepted, dialled */
    int raw;                 /* dialled by hand: a socket of this test; -1 = none */
};

static struct ends start_listening(void)
{
    struct ends ends = {.here = WIRE_CLOSED, .there = WIRE_CLOSED, .raw = -1};
    struct error error = ERROR_NONE;
    if (wire_listen(&ends.listen_fd, &ends.port, &error)) {
        fail_msg("%s", error.message);
    }
    assert_true(ends.port > 0 && ends.port < 65536);
    return ends;
}

static void end(struct ends *ends)
{
    wire_close(&ends->here);
    wire_close(&ends->there);
    if (ends->raw >= 0) {
        close(ends->raw);
    }
    close(ends->listen_fd);
}

static int dial(struct ends *ends, const char *shown)
{
    struct error error = ERROR_NONE;
    char *address = wire_address(ends->port, shown);
    int failed = wire_dial(address, &ends->there, &error);
    free(address);
    if (failed) {
        print_message("# %s\n", error.message);
    }
    return failed;
}

static int take_caller(struct ends *ends)
{
    struct error error = ERROR_NONE;
    double deadline = wire_now() + 5;
    int got = 0;
    while (got == 0 && wire_now() < deadline) {
        got = wire_accept(ends->listen_fd, token, &ends->here, &error);
    }
    return got;
}

static struct ends connect_both(void)
{
    struct ends ends = start_listening();
    assert_int_equal(dial(&ends, token), 0);
    assert_int_equal(take_caller(&ends), 1);
    return ends;
}

/* A connection by hand that says `text`, whatever that is. */
static void dial_raw(struct ends *ends, const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)ends->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ends->raw = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(ends->raw, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(send(ends->raw, text, strlen(text), 0), strlen(text));
}

static struct ends connect_raw(void)
{
    struct ends ends = start_listening();
    dial_raw(&ends, token);
    assert_int_equal(send(ends.raw, "\n", 1, 0), 1);
    assert_int_equal(take_caller(&ends), 1);
    return ends;
}

static void send_raw(struct ends *ends, const char *text)
{
    assert_int_equal(send(ends->raw, text, strlen(text), 0), strlen(text));
}

static struct json *make_message(const char *key, int64_t value)
{
    struct json *message = json_make_object();
    json_put_integer(message, key, value);
    return message;
}

static void assert_receives(struct wire *wire, const char *key, int64_t value)
{
    struct error error = ERROR_NONE;
    struct json *message;
    if (wire_receive(wire, 5, &message, &error) != 1) {
        fail_msg("nothing came: %s", error.message);
    }
    assert_int_equal(json_get_integer(message, key, -1), value);
    json_free(message);
}

static void assert_receives_nothing(struct wire *wire, double seconds)
{
    struct error error = ERROR_NONE;
    struct json *message;
    double begin = wire_now();
    assert_int_equal(wire_receive(wire, seconds, &message, &error), 0);
    double took = wire_now() - begin;
    assert_true(took >= 0.9 * seconds && took < seconds + 1);
}

static void assert_gone(struct wire *wire, const char *part)
{
    struct error error = ERROR_NONE;
    struct json *message;
    assert_int_equal(wire_receive(wire, 5, &message, &error), -1);
    if (!strstr(error.message, part)) {
        fail_msg("expected '%s', found '%s'", part, error.message);
    }
}

/* ---- who is let in ---- */

static void test_tokens(void **state)
{
    (void)state;
    char one[33], other[33];
    struct error error = ERROR_NONE;
    assert_int_equal(wire_make_token(one, &error), 0);
    assert_int_equal(wire_make_token(other, &error), 0);
    assert_int_equal(strlen(one), 32);
    assert_int_equal(strspn(one, "0123456789abcdef"), 32);
    assert_string_not_equal(one, other);
}

static void test_the_address_says_all(void **state)
{
    (void)state;
    char host[256] = "", expected[400];
    gethostname(host, sizeof host - 1);
    char *address = wire_address(4711, token);
    snprintf(expected, sizeof expected, "%s/", host);
    assert_int_equal(strncmp(address, expected, strlen(expected)), 0);
    snprintf(expected, sizeof expected, "127.0.0.1:4711:%s", token);
    assert_string_equal(address + strlen(address) - strlen(expected), expected);
    free(address);
}

static void test_both_sides_talk(void **state)
{
    (void)state;
    struct ends ends = connect_both();
    assert_int_equal(wire_send(&ends.there, make_message("beat", 1)), 0);
    assert_int_equal(wire_send(&ends.here, make_message("batch", 2)), 0);
    assert_receives(&ends.here, "beat", 1);
    assert_receives(&ends.there, "batch", 2);
    assert_receives_nothing(&ends.here, 0.1);
    end(&ends);
}

static void test_nobody_is_waited_for(void **state)
{
    (void)state;
    struct ends ends = start_listening();
    struct error error = ERROR_NONE;
    double begin = wire_now();
    assert_int_equal(wire_accept(ends.listen_fd, token, &ends.here, &error), 0);
    assert_true(wire_now() - begin < 0.5);
    end(&ends);
}

static void test_strangers_are_turned_away(void **state)
{
    (void)state;
    static const char *const shown[] = {
        "0123456789abcdef0123456789abcdee\n",
        "fedcba9876543210fedcba9876543210\n",
        "0123456789abcdef0123456789abcdef0",
        "GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n",
        "0123456789ABCDEF0123456789ABCDEF\n",
        "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n",
    };
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        struct ends ends = start_listening();
        struct error error = ERROR_NONE;
        char byte;
        dial_raw(&ends, shown[i]);
        usleep(10000);
        assert_int_equal(wire_accept(ends.listen_fd, token, &ends.here, &error), 0);
        assert_int_equal(ends.here.fd, -1);
        assert_true(recv(ends.raw, &byte, 1, 0) <= 0); /* closed */
        close(ends.raw);
        assert_int_equal(dial(&ends, token), 0); /* who has the token still comes in */
        ends.raw = -1;
        assert_int_equal(take_caller(&ends), 1);
        end(&ends);
    }
}

/* One that says less than a token is waited for, but not long; one that hangs up not at all. */
static void test_a_silent_stranger_costs_two_seconds(void **state)
{
    (void)state;
    struct ends ends = start_listening();
    struct error error = ERROR_NONE;
    dial_raw(&ends, "0123");
    usleep(10000);
    double begin = wire_now();
    assert_int_equal(wire_accept(ends.listen_fd, token, &ends.here, &error), 0);
    double took = wire_now() - begin;
    assert_true(took > 1.5 && took < 4);
    close(ends.raw);
    dial_raw(&ends, "0123");
    close(ends.raw);
    ends.raw = -1;
    usleep(10000);
    begin = wire_now();
    assert_int_equal(wire_accept(ends.listen_fd, token, &ends.here, &error), 0);
    assert_true(wire_now() - begin < 1);
    end(&ends);
}

static void test_a_wrong_token_cannot_talk(void **state)
{
    (void)state;
    struct ends ends = start_listening();
    struct error error = ERROR_NONE;
    assert_int_equal(dial(&ends, "00000000000000000000000000000000"), 0);
    usleep(10000);
    assert_int_equal(wire_accept(ends.listen_fd, token, &ends.here, &error), 0);
    assert_gone(&ends.there, "closed by the other side");
    end(&ends);
}

static void test_addresses_that_lead_nowhere(void **state)
{
    (void)state;
    static const char *const malformed[] = {
        "",
        "host",
        "host/127.0.0.1",
        "host/127.0.0.1:80",
        "host/127.0.0.1:80:short",
        "host:80:0123456789abcdef0123456789abcdef",
        "host/127.0.0.1:80:0123456789abcdef0123456789abcdef0",
    };
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        struct error error = ERROR_NONE;
        struct wire wire = WIRE_CLOSED;
        assert_int_equal(wire_dial(malformed[i], &wire, &error), -1);
        assert_int_equal(error.status, EXIT_INPUT);
    }
    struct ends ends = start_listening();
    struct error error = ERROR_NONE;
    struct wire wire = WIRE_CLOSED;
    close(ends.listen_fd); /* nobody listens any more */
    char *address = wire_address(ends.port, token);
    assert_int_equal(wire_dial(address, &wire, &error), -1);
    assert_int_equal(error.status, EXIT_SYSTEM);
    assert_non_null(strstr(error.message, "cannot reach the supervisor at"));
    assert_null(strstr(error.message, token)); /* it is a secret */
    free(address);
}

static void test_from_another_host_the_addresses_are_tried(void **state)
{
    (void)state;
    struct ends ends = start_listening();
    struct error error = ERROR_NONE;
    char address[200];
    snprintf(address, sizeof address, "another-host/not-an-address,300.1.1.1,127.0.0.1:%d:%s",
             ends.port, token);
    assert_int_equal(wire_dial(address, &ends.there, &error), 0);
    assert_int_equal(take_caller(&ends), 1);
    end(&ends);
}

/* ---- what may come over it ---- */

static void test_lines_in_pieces_and_heaps(void **state)
{
    (void)state;
    struct ends ends = connect_raw();
    send_raw(&ends, "{\"a\": ");
    assert_receives_nothing(&ends.here, 0.05);
    send_raw(&ends, "1}");
    assert_receives_nothing(&ends.here, 0.05);
    send_raw(&ends, "\n{\"a\": 2}\n{\"a\": 3}\n{\"a\"");
    for (int64_t i = 1; i <= 3; i++) {
        assert_receives(&ends.here, "a", i);
    }
    assert_receives_nothing(&ends.here, 0);
    send_raw(&ends, ": 4}\n");
    assert_receives(&ends.here, "a", 4);
    end(&ends);
}

static void test_what_follows_the_token_is_not_lost(void **state)
{
    (void)state;
    char text[100];
    struct ends ends = start_listening();
    snprintf(text, sizeof text, "%s\n{\"a\": 1}\n", token);
    dial_raw(&ends, text);
    assert_int_equal(take_caller(&ends), 1);
    assert_receives(&ends.here, "a", 1);
    end(&ends);
}

static void test_nonsense_ends_the_connection(void **state)
{
    (void)state;
    static const char *const nonsense[] = {"garbage\n", "\n", "{\"a\": 1} {}\n", "{\"a\": 1\n"};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        struct ends ends = connect_raw();
        send_raw(&ends, nonsense[i]);
        assert_gone(&ends.here, "the job's connection:1:");
        end(&ends);
    }
}

static void test_the_end_is_noticed(void **state)
{
    (void)state;
    struct ends ends = connect_raw();
    send_raw(&ends, "{\"a\": 1}\n{\"half\": ");
    close(ends.raw);
    ends.raw = -1;
    assert_receives(&ends.here, "a", 1); /* what was said before counts */
    assert_gone(&ends.here, "closed by the other side");
    int sent = 0;
    for (int i = 0; i < 5 && sent == 0; i++) {
        sent = wire_send(&ends.here, make_message("a", 1));
        usleep(1000);
    }
    assert_int_equal(sent, -1);
    end(&ends);
}

static void test_a_closed_wire_sends_nothing(void **state)
{
    (void)state;
    struct wire wire = WIRE_CLOSED;
    assert_int_equal(wire_send(&wire, make_message("a", 1)), -1);
    wire_close(&wire);
    assert_int_equal(wire.fd, -1);
}

enum { LONG = 8 << 20 };

static void *send_long(void *argument)
{
    struct json *message = json_make_object();
    char *text = malloc(LONG + 1);
    if (text) {
        memset(text, 'x', LONG);
        text[LONG] = 0;
        json_put_text(message, "text", text);
    }
    free(text);
    return wire_send(argument, message) ? argument : NULL;
}

static void test_a_long_line(void **state)
{
    (void)state;
    struct ends ends = connect_both();
    struct error error = ERROR_NONE;
    struct json *message;
    pthread_t thread;
    void *failed;
    double begin = wire_now();
    assert_int_equal(pthread_create(&thread, NULL, send_long, &ends.there), 0);
    int got = 0;
    while (got == 0 && wire_now() < begin + 20) {
        got = wire_receive(&ends.here, 1, &message, &error);
    }
    pthread_join(thread, &failed);
    assert_int_equal(got, 1);
    assert_null(failed);
    assert_int_equal(strlen(json_get_text(message, "text", "")), LONG);
    json_free(message);
    end(&ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_the_address_says_all),
        cmocka_unit_test(test_both_sides_talk),
        cmocka_unit_test(test_nobody_is_waited_for),
        cmocka_unit_test(test_strangers_are_turned_away),
        cmocka_unit_test(test_a_silent_stranger_costs_two_seconds),
        cmocka_unit_test(test_a_wrong_token_cannot_talk),
        cmocka_unit_test(test_addresses_that_lead_nowhere),
        cmocka_unit_test(test_from_another_host_the_addresses_are_tried),
        cmocka_unit_test(test_lines_in_pieces_and_heaps),
        cmocka_unit_test(test_what_follows_the_token_is_not_lost),
        cmocka_unit_test(test_nonsense_ends_the_connection),
        cmocka_unit_test(test_the_end_is_noticed),
        cmocka_unit_test(test_a_closed_wire_sends_nothing),
        cmocka_unit_test(test_a_long_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
