/* error.c - wording of errors; see error.h.
 *
 * Messages are built in a buffer of their own first, because callers pass parts of the old
 * message (`error->message`) as arguments.
 */
#include "error.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_SIZE = sizeof(((struct error *)0)->message), NEAREST_LONGEST = 63 };

/* Ends a message that was cut in "...", without leaving half a UTF-8 character before it. */
static void mark_cut(char message[MESSAGE_SIZE])
{
    size_t end = MESSAGE_SIZE - sizeof "...";
    while (end > 0 && ((unsigned char)message[end] & 0xC0) == 0x80) {
        end--;
    }
    memcpy(message + end, "...", sizeof "...");
}

/* Messages quote what stands in files; their control characters must not reach a terminal. */
static void mask_controls(char *message)
{
    for (; *message; message++) {
        if (iscntrl((unsigned char)*message) && *message != '\n' && *message != '\t') {
            *message = '?';
        }
    }
}

static void format_message(char message[MESSAGE_SIZE], const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void format_message(char message[MESSAGE_SIZE], const char *format, va_list arguments)
{
    int length = vsnprintf(message, MESSAGE_SIZE, format, arguments);
    if (length < 0) {
        message[0] = '\0';
    } else if (length >= MESSAGE_SIZE) {
        mark_cut(message);
    }
    mask_controls(message);
}

int error_set(struct error *error, enum exit_status status, const char *format, ...)
{
    char message[MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    format_message(message, format, arguments);
    va_end(arguments);
    error->status = status;
    memcpy(error->message, message, sizeof message);
    return -1;
}

int error_prefix(struct error *error, const char *format, ...)
{
    char context[MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    format_message(context, format, arguments);
    va_end(arguments);
    return error_set(error, error->status, "%s: %s", context, error->message);
}

int error_errno(struct error *error, int errno_value, const char *format, ...)
{
    char message[MESSAGE_SIZE], buffer[128];
    va_list arguments;
    va_start(arguments, format);
    format_message(message, format, arguments);
    va_end(arguments);
    return error_set(error, EXIT_SYSTEM, "%s: %s", message,
                     strerror_r(errno_value, buffer, sizeof buffer));
}

/* Levenshtein's distance, letter case aside; both texts at most NEAREST_LONGEST long. */
static size_t edit_distance(const char *a, size_t length_a, const char *b, size_t length_b)
{
    size_t row[NEAREST_LONGEST + 1];
    for (size_t j = 0; j <= length_b; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= length_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            size_t best = diagonal + (same ? 0 : 1);
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[length_b];
}

const char *error_nearest(const char *text, const char *const names[])
{
    const char *nearest = NULL;
    size_t nearest_distance = 0, length = strlen(text);
    for (size_t i = 0; length <= NEAREST_LONGEST && names[i]; i++) {
        size_t name_length = strlen(names[i]);
        if (name_length > NEAREST_LONGEST) {
            continue;
        }
        size_t distance = edit_distance(text, length, names[i], name_length);
        size_t longer = length > name_length ? length : name_length;
        if (distance <= longer / 3 && (!nearest || distance < nearest_distance)) {
            nearest = names[i];
            nearest_distance = distance;
        }
    }
    return nearest;
}
