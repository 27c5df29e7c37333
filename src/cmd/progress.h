/* progress.h - one line on a terminal that says how far we are; silent elsewhere. */
#ifndef CCLTUNE_PROGRESS_H
#define CCLTUNE_PROGRESS_H

#include "tune.h"

#include <stdbool.h>

struct progress {
    bool on, shown;
    double begun, drawn; /* seconds of the monotonic clock */
    char stage[32];
    double stage_begun;
};

/* On when standard error is a terminal and not `quiet`. */
void progress_begin(struct progress *progress, bool quiet);
/* For tune_progress.step; at most ten times a second. */
void progress_step(void *progress, const char *stage, size_t done, size_t of, const char *what);
/* A remark on a line of its own (also when no terminal is there). */
void progress_note(void *progress, const char *text);
void progress_end(struct progress *progress);

#endif
