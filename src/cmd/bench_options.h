/* bench_options.h - nccl-tests' options, ours beside them, and why its others are refused. */
#ifndef CCLTUNE_BENCH_OPTIONS_H
#define CCLTUNE_BENCH_OPTIONS_H

#include "collective.h"
#include "datatype.h"
#include "table.h"

#include <stdbool.h>

struct bench_options {
    enum collective collectives[COLL_NR];
    size_t nr_collectives;
    uint64_t first, last, step, factor, iterations, warmup, check, root, seed;
    enum datatype datatype;
    enum reduction reduction;
    enum table_format format;
    const char *library, *group, *json_file;
    bool oversubscribe;
};

/* *help: the page was printed. */
int bench_options_read(int argc, char **argv, struct bench_options *options, bool *help,
                       struct error *error);

#endif
