/* error.h - how a function says what went wrong.
 *
 * Every public function that can fail returns 0, or -1 after filling a `struct error`. Whoever
 * knows the cause words the message: what was found, what was expected, where, and the mend.
 * Callers may put context in front (error_prefix); only src/cmd prints.
 */
#ifndef CCLTUNE_ERROR_H
#define CCLTUNE_ERROR_H

#include <stdbool.h>

/* The program's exit statuses. An error carries the one it leads to. */
enum exit_status {
    EXIT_OK = 0,       /* done */
    EXIT_NO = 1,       /* the input is fine and the answer is no */
    EXIT_INPUT = 2,    /* a file or an option is wrong, or a launch is missing */
    EXIT_ABSENT = 3,   /* not available in this build or on this machine */
    EXIT_SYSTEM = 4,   /* MPI, I/O, memory; a rank stopped or died */
    EXIT_WRONG = 5,    /* wrong results were measured */
    EXIT_STOPPED = 130 /* interrupted by the user (128 + SIGINT) */
};

/* Filled on failure, untouched on success. Start from ERROR_NONE or {0}. */
struct error {
    enum exit_status status;
    char message[1024];
};

#define ERROR_NONE ((struct error){EXIT_OK, ""})

/* Words the error and returns -1, so that `return error_set(...)` reads as one act.
 * `error` may not be NULL. A message that does not fit ends in "...". */
int error_set(struct error *error, enum exit_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " in front of the message; returns -1. */
int error_prefix(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends ": strerror(errno_value)" to a message; returns -1. `status` is EXIT_SYSTEM. */
int error_errno(struct error *error, int errno_value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The name in `names` (NULL-ended) nearest to `text`, or NULL when none is near. For "did you
 * mean"; nearest by edit distance, at most a third of the length away. */
const char *error_nearest(const char *text, const char *const names[]);

#endif
