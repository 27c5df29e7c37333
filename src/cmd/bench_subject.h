/* bench_subject.h - what one table of bench is about: a library, and one of its candidates. */
#ifndef CCLTUNE_BENCH_SUBJECT_H
#define CCLTUNE_BENCH_SUBJECT_H

#include "arena.h"
#include "bench_options.h"
#include "candidate.h"

struct bench_subject {
    const char *library;
    struct candidate candidate; /* its algorithm: for people */
    const char *about;          /* "algorithm ring, protocol simple, 1 channel"; NULL: nothing */
};

/* Libraries in the order given, each with its candidates. They belong to the arena. */
int bench_subjects(const struct bench_options *options, struct arena *arena,
                   struct bench_subject **subjects, size_t *nr, struct error *error);

#endif
