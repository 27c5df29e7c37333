/* tune_session.h - one tuning from hello to files, whichever way ranks were started. */
#ifndef CCLTUNE_TUNE_SESSION_H
#define CCLTUNE_TUNE_SESSION_H

#include "option.h"
#include "oracle.h"

#include <signal.h>
#include <stdbool.h>

struct tune_options {
    const char *target, *launch, *out, *format;
    struct option_list collectives, groups;
    uint64_t first, last, factor, seed;
    double budget, timeout, least_gain, alpha;
    bool resume, fresh, oversubscribe, dry_run, quiet, require_gain;
};

extern const struct option_command tune_page;

/* Parses and checks what can be checked without ranks. *help: the page was printed. */
int tune_options_read(int argc, char **argv, struct tune_options *options, bool *help,
                      struct error *error);
void tune_options_release(struct tune_options *options);

/* Makes SIGINT and SIGTERM ask for an orderly stop; returns the flag. */
const volatile sig_atomic_t *tune_catch_signals(void);

/* The launch command: the user's, else mpiexec.mpich (or mpiexec) with as many ranks as usable
 * cores. arena-owned. Says how to launch when there is none (EXIT_ABSENT). */
int tune_find_launch(const char *wanted, struct arena *arena, const char **launch,
                     struct error *error);
/* Path of ccltune-mpi beside this program; arena-owned. */
int tune_find_program(struct arena *arena, const char **path, struct error *error);

/* Tunes with `oracle` (borrowed), whose job said `hello`; writes the files; prints the result.
 * Returns the exit status. */
int tune_session(const struct tune_options *options, const char *launch, const struct json *hello,
                 struct oracle *oracle, struct error *error);

#endif
