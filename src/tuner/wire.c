/* wire.c - lines of JSON over TCP. The token is the first line of whoever dials. */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINE_LIMIT   ((size_t)256 << 20) /* no honest line comes near */
#define TOKEN_DIGITS 32

double wire_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int wire_listen(int *listen_fd, int *port, struct error *error)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t length = sizeof address;
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 8) ||
        getsockname(fd, (struct sockaddr *)&address, &length)) {
        int saved = errno;
        if (fd >= 0) {
            close(fd);
        }
        return error_errno(error, saved, "opening a TCP port for the job to report to");
    }
    *listen_fd = fd;
    *port = ntohs(address.sin_port);
    return 0;
}

int wire_make_token(char token[33], struct error *error)
{
    unsigned char bytes[TOKEN_DIGITS / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return error_errno(error, errno, "asking the kernel for random bytes");
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    }
    return 0;
}

char *wire_address(int port, const char *token)
{
    char host[256] = "";
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct ifaddrs *interfaces = NULL;
    if (!out) {
        abort();
    }
    gethostname(host, sizeof host - 1);
    fprintf(out, "%s/", host);
    if (getifaddrs(&interfaces) == 0) {
        for (struct ifaddrs *i = interfaces; i; i = i->ifa_next) {
            char dotted[INET_ADDRSTRLEN];
            if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
                (i->ifa_flags & IFF_LOOPBACK) || !(i->ifa_flags & IFF_UP)) {
                continue;
            }
            struct sockaddr_in *address = (struct sockaddr_in *)(void *)i->ifa_addr;
            if (inet_ntop(AF_INET, &address->sin_addr, dotted, sizeof dotted)) {
                fprintf(out, "%s,", dotted);
            }
        }
        freeifaddrs(interfaces);
    }
    fprintf(out, "127.0.0.1:%d:%s", port, token);
    fclose(out);
    return text;
}

static int connect_within(const char *dotted, int port, double seconds)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, dotted, &address.sin_addr) != 1) {
        return -1;
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    int failed = connect(fd, (struct sockaddr *)&address, sizeof address);
    if (failed && errno == EINPROGRESS) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        int reason = 0;
        socklen_t length = sizeof reason;
        failed = poll(&wait, 1, (int)(seconds * 1000)) != 1 ||
                 getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &length) || reason;
    }
    if (failed) {
        close(fd);
        return -1;
    }
    return fd;
}

static void set_no_delay(int fd)
{
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static bool send_all(int fd, const char *text, size_t length)
{
    while (length) {
        ssize_t sent = send(fd, text, length, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
            struct pollfd wait = {.fd = fd, .events = POLLOUT};
            if (poll(&wait, 1, (int)(WIRE_SILENCE_SECONDS * 1000)) == 0) {
                return false;
            }
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        text += sent;
        length -= (size_t)sent;
    }
    return true;
}

int wire_dial(const char *report_to, struct wire *wire, struct error *error)
{
    char *text = strdup(report_to), host[256] = "", line[TOKEN_DIGITS + 2];
    if (!text) {
        abort();
    }
    char *slash = strchr(text, '/');
    char *token = slash ? strrchr(slash, ':') : NULL;
    if (token) {
        *token++ = 0;
    }
    char *port = slash ? strrchr(slash, ':') : NULL;
    if (!slash || !token || !port || strlen(token) != TOKEN_DIGITS) {
        free(text);
        return error_set(error, EXIT_INPUT,
                         "--report-to: expected HOST/ADDRESS,...:PORT:TOKEN, as the supervisor "
                         "writes it; found '%s'",
                         report_to);
    }
    *slash = 0;
    *port++ = 0;
    gethostname(host, sizeof host - 1);
    int fd = -1;
    if (!strcmp(host, text)) {
        fd = connect_within("127.0.0.1", atoi(port), 5);
    }
    char *rest = slash + 1;
    for (char *dotted; fd < 0 && (dotted = strsep(&rest, ","));) {
        fd = connect_within(dotted, atoi(port), 5);
    }
    snprintf(line, sizeof line, "%s\n", token);
    free(text);
    if (fd < 0 || !send_all(fd, line, strlen(line))) {
        if (fd >= 0) {
            close(fd);
        }
        return error_set(error, EXIT_SYSTEM,
                         "cannot reach the supervisor at %.*s: is it still running, and is the "
                         "port open between this host and that one?",
                         (int)(strrchr(report_to, ':') - report_to), report_to);
    }
    set_no_delay(fd);
    *wire = (struct wire){.fd = fd};
    return 0;
}

int wire_accept(int listen_fd, const char *token, struct wire *wire, struct error *error)
{
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) {
            return 0;
        }
        return error_errno(error, errno, "accepting the job's connection");
    }
    char shown[TOKEN_DIGITS + 1];
    size_t nr = 0;
    double deadline = wire_now() + 2;
    while (nr < sizeof shown && wire_now() < deadline) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        ssize_t got = 0;
        if (poll(&wait, 1, 100) == 1 && (got = recv(fd, shown + nr, sizeof shown - nr, 0)) <= 0) {
            break;
        }
        nr += (size_t)got;
    }
    unsigned char difference = nr != sizeof shown || shown[TOKEN_DIGITS] != '\n';
    for (size_t i = 0; i < TOKEN_DIGITS && i < nr;
         i++) { /* as long for a wrong one as for a right */
        difference |= (unsigned char)(shown[i] ^ token[i]);
    }
    if (difference) {
        close(fd);
        return 0;
    }
    set_no_delay(fd);
    *wire = (struct wire){.fd = fd};
    return 1;
}

int wire_send(struct wire *wire, struct json *value)
{
    char *text = json_to_text(value, 0);
    size_t length = strlen(text);
    text[length] = '\n'; /* the zero's place */
    bool sent = wire->fd >= 0 && send_all(wire->fd, text, length + 1);
    free(text);
    json_free(value);
    return sent ? 0 : -1;
}

static int take_line(struct wire *wire, struct json **value, struct error *error)
{
    char *end = wire->nr ? memchr(wire->buffer, '\n', wire->nr) : NULL;
    if (!end) {
        return 0;
    }
    size_t length = (size_t)(end - wire->buffer);
    *value = json_parse(wire->buffer, length, "the job's connection", error);
    wire->nr -= length + 1;
    memmove(wire->buffer, end + 1, wire->nr);
    return *value ? 1 : -1;
}

int wire_receive(struct wire *wire, double seconds, struct json **value, struct error *error)
{
    double deadline = wire_now() + seconds;
    for (;;) {
        int taken = take_line(wire, value, error);
        if (taken) {
            return taken;
        }
        double left = deadline - wire_now();
        struct pollfd wait = {.fd = wire->fd, .events = POLLIN};
        int ready = poll(&wait, 1, left > 0 ? (int)(left * 1000) + 1 : 0);
        if (ready == 0 || (ready < 0 && errno == EINTR)) {
            return 0;
        }
        if (wire->capacity - wire->nr < 65536) {
            wire->capacity = wire->capacity * 2 + 131072;
            wire->buffer = realloc(wire->buffer, wire->capacity);
            if (!wire->buffer || wire->capacity > 4 * LINE_LIMIT) {
                return error_set(error, EXIT_SYSTEM, "the other side sent a line without an end");
            }
        }
        ssize_t got = recv(wire->fd, wire->buffer + wire->nr, wire->capacity - wire->nr, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            continue;
        }
        if (got <= 0) {
            return error_set(error, EXIT_SYSTEM, "the connection was closed by the other side");
        }
        wire->nr += (size_t)got;
    }
}

void wire_close(struct wire *wire)
{
    if (wire->fd >= 0) {
        close(wire->fd);
    }
    free(wire->buffer);
    *wire = WIRE_CLOSED;
}
