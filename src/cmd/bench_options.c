/* bench_options.c - rows of `bench`. */
#include "bench_options.h"

#include "option.h"

#include <stddef.h>
#include <string.h>

struct bench_texts { /* as parsed, before names are looked up */
    struct bench_options values;
    const char *datatype, *reduction, *format;
};

#define VALUE(member) offsetof(struct bench_texts, values.member)

static const struct option_row rows[] = {
    {0, NULL, OPTION_HEADING, NULL, "Sizes", 0, NULL},
    {'b', "minbytes", OPTION_SIZE, "SIZE", "first size (0: an empty call, then one element)",
     VALUE(first), "8"},
    {'e', "maxbytes", OPTION_SIZE, "SIZE", "last size", VALUE(last), "4M"},
    {'f', "stepfactor", OPTION_COUNT, "N", "factor between sizes; 0 or 1: use --stepbytes",
     VALUE(factor), "2"},
    {'i', "stepbytes", OPTION_SIZE, "SIZE", "difference between sizes, with --stepfactor 1",
     VALUE(step), "1M"},
    {0, NULL, OPTION_HEADING, NULL, "Measurement", 0, NULL},
    {'n', "iters", OPTION_COUNT, "N", "timed calls a size", VALUE(iterations), "20"},
    {'w', "warmup_iters", OPTION_COUNT, "N", "calls before them", VALUE(warmup), "1"},
    {'c', "check", OPTION_COUNT, "0|1", "check every element of the result", VALUE(check), "1"},
    {'d', "datatype", OPTION_TEXT, "TYPE",
     "int8, uint8, int32, uint32, int64, uint64, float or double; the engine also half, bfloat16",
     offsetof(struct bench_texts, datatype), "float"},
    {'o', "op", OPTION_TEXT, "OP", "sum, prod, min or max; the engine also avg",
     offsetof(struct bench_texts, reduction), "sum"},
    {'r', "root", OPTION_COUNT, "RANK", "of rooted collectives, in the group", VALUE(root), "0"},
    {0, "seed", OPTION_COUNT, "N", "of the data", VALUE(seed), "1"},
    {0, NULL, OPTION_HEADING, NULL, "What runs", 0, NULL},
    {0, "library", OPTION_TEXT, "LIST",
     "mpich, mpi for whatever MPI this is built with, engine for our own; several: a table each",
     VALUE(libraries), "mpich"},
    {0, "group", OPTION_TEXT, "NAME=HOSTSxRANKS[xSTRIDE][*CONCURRENT]",
     "the ranks that take part, such as tp=1x2*2 (default: all)", VALUE(group), NULL},
    {0, "oversubscribe", OPTION_FLAG, NULL, "allow more ranks than cores", VALUE(oversubscribe),
     NULL},
    {0, NULL, OPTION_HEADING, NULL, "The engine (--library engine)", 0, NULL},
    {0, "algo", OPTION_TEXT, "LIST",
     "algorithms, all, or file:PATH of a schedule; a table each (default: what is usual for the "
     "size: on one host doubling to 4K, one-shot to 32K, then two-shot for allreduce, and one-shot "
     "or direct for the others; between hosts doubling, ring, chain and direct)",
     VALUE(algorithms), NULL},
    {0, "proto", OPTION_CHOICE, "simple|ll", "ll: data and flag in one word, for short messages",
     VALUE(protocol), "simple"},
    {0, "channels", OPTION_TEXT, "N", "copies of the algorithm that share the message",
     VALUE(channels), "1"},
    {0, "chunk", OPTION_TEXT, "SIZE",
     "the largest chunk; longer messages take more loops (default: 256K)", VALUE(chunk), NULL},
    {0, "slice", OPTION_TEXT, "SIZE",
     "what is handed on at once (default: a part of --chunk, or 64K)", VALUE(slice), NULL},
    {0, "window", OPTION_TEXT, "N", "slots of a connection", VALUE(window), "8"},
    {0, "levels", OPTION_TEXT, "HOSTSxRANKS",
     "for hierarchical algorithms (default: as the group lies on hosts)", VALUE(levels), NULL},
    {0, "transport", OPTION_TEXT, "NAME",
     "shm, mpi or, for tests, remote (default: shm on a host, mpi between hosts)", VALUE(transport),
     NULL},
    {0, "buffers", OPTION_CHOICE, "direct|plain",
     "direct: in memory that peers can address; plain: anywhere, copied where peers must reach it",
     VALUE(buffers), "direct"},
    {0, "patience", OPTION_SECONDS, "SECONDS", "how long a rank may give no sign of life",
     VALUE(patience), "10"},
    {0, NULL, OPTION_HEADING, NULL, "Result", 0, NULL},
    {0, "format", OPTION_CHOICE, "table|json|csv", "on standard output",
     offsetof(struct bench_texts, format), "table"},
    {'J', "output_file", OPTION_TEXT, "FILE", "JSON into FILE as well", VALUE(json_file), NULL},
    {0, "raw", OPTION_TEXT, "FILE", "every call's time into FILE, as CSV", VALUE(raw_file), NULL},
    /* nccl-tests' other options */
    {'t', "nthreads", OPTION_REFUSED, "N", "one rank is one process here: launch more ranks", 0,
     NULL},
    {'g', "ngpus", OPTION_REFUSED, "N", "one rank drives one device: launch more ranks", 0, NULL},
    {'m', "agg_iters", OPTION_REFUSED, "N", "calls are timed one by one, never aggregated", 0,
     NULL},
    {'N', "run_cycles", OPTION_REFUSED, "N", "run the command again, or use --iters", 0, NULL},
    {'p', "parallel_init", OPTION_REFUSED, "0|1", "ranks are processes and start in parallel", 0,
     NULL},
    {'z', "blocking", OPTION_REFUSED, "0|1", "every call here is waited for and timed by itself", 0,
     NULL},
    {'y', "stream_null", OPTION_REFUSED, "0|1", "MPI calls use no CUDA stream", 0, NULL},
    {'T', "timeout", OPTION_REFUSED, "SECONDS",
     "use the launcher's (mpiexec -timeout), or ccltune tune, which watches its jobs", 0, NULL},
    {'G', "cudagraph", OPTION_REFUSED, "N", "MPI calls cannot be captured in a CUDA graph", 0,
     NULL},
    {'C', "report_cputime", OPTION_REFUSED, "0|1", "an MPI call's time is its CPU time", 0, NULL},
    {'a', "average", OPTION_REFUSED, "0..3", "a call's time is the maximum over ranks, always", 0,
     NULL},
    {'R', "local_register", OPTION_REFUSED, "0|1", "MPI has no buffer registration to ask for", 0,
     NULL},
    {'D', "device_implementation", OPTION_REFUSED, "N", "these collectives run on the host", 0,
     NULL},
    {0},
};

static const struct option_command page = {
    "bench", "[options] [COLLECTIVE...]",
    "Times collectives on the ranks of this launch and prints nccl-tests' table. Options have "
    "nccl-tests' meaning; a time is the median of calls that start together on freshly written "
    "inputs, each call's being the slowest rank's.",
    "  mpiexec -n 2 ccltune bench                           allreduce, 8 B to 4 MiB\n"
    "  mpiexec -n 4 ccltune bench all_gather bcast -b 1K -e 1M -f 4\n"
    "  mpiexec -n 4 ccltune bench --group tp=1x2*2          two groups of two at once\n"
    "  mpiexec -n 2 ccltune bench --library engine,mpich    our engine beside MPICH\n"
    "  mpiexec -n 4 ccltune bench --library engine --algo all -d bfloat16\n"
    "Collectives: allreduce, reduce-scatter, all-gather, broadcast, reduce,\n"
    "all-to-all; with the engine also gather, scatter, send-recv (NCCL's,\n"
    "nccl-tests' and MPI's spellings are accepted).\n",
    rows};

static int check(const struct bench_options *options, struct error *error)
{
    if (options->iterations < 1 || options->iterations > 10000000) {
        return error_set(error, EXIT_INPUT, "--iters: expected 1 to 10000000");
    }
    if (options->warmup > 10000000) {
        return error_set(error, EXIT_INPUT, "--warmup_iters: expected 0 to 10000000");
    }
    if (options->factor < 2 && options->step == 0) {
        return error_set(error, EXIT_INPUT, "--stepbytes 0 never ends: expected a size");
    }
    if (options->last < options->first) {
        return error_set(error, EXIT_INPUT,
                         "--maxbytes %llu is below --minbytes %llu: nothing to measure",
                         (unsigned long long)options->last, (unsigned long long)options->first);
    }
    return 0;
}

int bench_options_read(int argc, char **argv, struct bench_options *options, bool *help,
                       struct error *error)
{
    struct bench_texts texts = {.datatype = NULL};
    int left;
    if (option_parse(&page, argc, argv, &texts, &left, help, error)) {
        return -1;
    }
    if (*help) {
        option_print_help(&page, stdout);
        return 0;
    }
    struct bench_options *read = &texts.values;
    read->nr_collectives = left > 1 ? 0 : 1; /* none named: allreduce, which is 0 */
    for (int i = 1; i < left; i++) {
        enum collective collective;
        if (coll_parse(argv[i], &collective, error)) {
            return -1;
        }
        for (size_t k = 0; k < read->nr_collectives; k++) {
            if (read->collectives[k] == collective) {
                return error_set(error, EXIT_INPUT, "%s is named twice", coll_name(collective));
            }
        }
        read->collectives[read->nr_collectives++] = collective;
    }
    if (datatype_parse(texts.datatype, &read->datatype, error) ||
        reduction_parse(texts.reduction, &read->reduction, error) ||
        table_parse_format(texts.format, &read->format, error) || check(read, error)) {
        return -1;
    }
    *options = *read;
    return 0;
}
