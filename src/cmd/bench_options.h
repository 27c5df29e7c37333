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
    const char *libraries, *group, *json_file, *raw_file; /* libraries: names between commas */
    bool oversubscribe;
    /* the engine's; NULL: its own choice. algorithms: names between commas, or all */
    const char *algorithms, *protocol, *channels, *chunk, *slice, *window, *levels, *transport;
    const char *buffers; /* "direct" or "plain" */
    double patience;     /* seconds */
};

/* *help: the page was printed. */
int bench_options_read(int argc, char **argv, struct bench_options *options, bool *help,
                       struct error *error);

#endif
