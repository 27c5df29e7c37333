/* cmd_bench.c - collectives on real ranks, in nccl-tests' table with nccl-tests' options. */
#include "bench_options.h"
#include "build_info.h"
#include "commands.h"
#include "exec.h"
#include "file.h"
#include "job_work.h"
#include "measure.h"
#include "stats.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct table_column columns[] = {
    {"size", "size", "(B)", NULL, TABLE_INTEGER, 12, 0, 0},
    {"count", "count", "(elements)", NULL, TABLE_INTEGER, 12, 0, 0},
    {"type", "type", NULL, NULL, TABLE_TEXT, 8, 0, 0},
    {"redop", "redop", NULL, NULL, TABLE_TEXT, 6, 0, 0},
    {"root", "root", NULL, NULL, TABLE_INTEGER, 6, 0, 0},
    {"oop_time_us", "time", "(us)", "out-of-place", TABLE_NUMBER, 9, 2, 1e6},
    {"oop_algbw", "algbw", "(GB/s)", "out-of-place", TABLE_NUMBER, 7, 2, 1e-9},
    {"oop_busbw", "busbw", "(GB/s)", "out-of-place", TABLE_NUMBER, 7, 2, 1e-9},
    {"oop_wrong", "#wrong", NULL, "out-of-place", TABLE_INTEGER, 7, 0, 0},
    {"ip_time_us", "time", "(us)", "in-place", TABLE_NUMBER, 9, 2, 1e6},
    {"ip_algbw", "algbw", "(GB/s)", "in-place", TABLE_NUMBER, 7, 2, 1e-9},
    {"ip_busbw", "busbw", "(GB/s)", "in-place", TABLE_NUMBER, 7, 2, 1e-9},
    {"ip_wrong", "#wrong", NULL, "in-place", TABLE_INTEGER, 7, 0, 0},
};
#define NR_COLUMNS (sizeof columns / sizeof *columns)
#define COLUMN_OOP 5
#define COLUMN_IP  9

struct bench { /* one run of the command on this rank */
    struct exec *exec;
    const struct bench_options *options;
    struct group group;
    bool first; /* rank 0: prints */
    uint64_t wrong;
    double busbw_sum;
    size_t nr_busbw;
    struct json *results; /* rank 0: for JSON and -J */
    bool live;            /* rows are printed as they are measured */
    bool refused;         /* said why cells are empty */
};

/* One row, one way (out of place or in place); fills four cells. */
static int measure_way(struct bench *bench, const struct key *key, bool in_place,
                       struct table *table, struct error *error)
{
    const struct bench_options *options = bench->options;
    struct arena arena = ARENA_EMPTY;
    struct measure_answer answer;
    unsigned samples = (unsigned)options->iterations;
    const struct measure_request request = {
        .key = key,
        .candidates = &candidate_default,
        .nr = 1,
        .samples = &samples,
        .datatype = options->datatype,
        .reduction = options->reduction,
        .root = (uint32_t)options->root,
        .in_place = in_place,
        .check = options->check > 0,
        .every_call = true,
        .warmup = (unsigned)options->warmup,
        .seed = options->seed,
    };
    if (measure_run(bench->exec, &request, &arena, &answer, error)) {
        arena_release(&arena);
        return -1;
    }
    size_t column = in_place ? COLUMN_IP : COLUMN_OOP;
    bench->wrong += answer.wrong;
    if (answer.nr && bench->first) {
        double seconds = stats_median(answer.samples, answer.nr);
        double algbw = (double)key->bytes / seconds;
        double busbw = algbw * coll_busbw_factor(key->collective, group_ranks(&key->group));
        table_set_number(table, column, seconds);
        table_set_number(table, column + 1, algbw);
        table_set_number(table, column + 2, busbw);
        bench->busbw_sum += busbw;
        bench->nr_busbw++;
    }
    if (answer.verdict == MEASURE_REFUSED && bench->first && !bench->refused) {
        fprintf(stderr, "ccltune bench: note: %s: N/A\n", answer.detail);
        bench->refused = true;
    } else if (options->check && bench->first && answer.verdict != MEASURE_REFUSED) {
        table_set_integer(table, column + 3, (int64_t)answer.wrong);
    }
    arena_release(&arena);
    return 0;
}

static int measure_size(struct bench *bench, enum collective collective, uint64_t count,
                        struct table *table, struct error *error)
{
    const struct bench_options *options = bench->options;
    uint32_t element = datatype_bytes(options->datatype);
    struct key key = {.collective = collective, .group = bench->group};
    key.bytes = coll_bytes(collective, count, element, group_ranks(&bench->group));
    if (bench->first) {
        table_add_row(table);
        table_set_integer(table, 0, (int64_t)key.bytes);
        table_set_integer(table, 1, (int64_t)count);
        table_set_text(table, 2, datatype_name(options->datatype));
        table_set_text(table, 3,
                       coll_reduces(collective) ? reduction_name(options->reduction) : "none");
        table_set_integer(table, 4, coll_rooted(collective) ? (int64_t)options->root : -1);
    }
    if (measure_way(bench, &key, false, table, error) ||
        (coll_in_place(collective) && measure_way(bench, &key, true, table, error))) {
        return -1;
    }
    if (bench->first && bench->live) {
        table_print_last_row(table, stdout);
        fflush(stdout);
    }
    return 0;
}

/* nccl-tests' sizes; a size that comes out as the one before is skipped. -b 0: 0, one element,
 * then the factor. */
static int measure_sizes(struct bench *bench, enum collective collective, struct table *table,
                         struct error *error)
{
    const struct bench_options *options = bench->options;
    uint32_t ranks = group_ranks(&bench->group), element = datatype_bytes(options->datatype);
    uint64_t one = coll_bytes(collective, 1, element, ranks), before = UINT64_MAX;
    for (uint64_t size = options->first; size <= options->last;) {
        uint64_t count = coll_count(collective, size, element, ranks);
        if (count != before && measure_size(bench, collective, count, table, error)) {
            return -1;
        }
        before = count;
        uint64_t next = options->factor > 1 ? size * options->factor : size + options->step;
        next = size == 0 ? one : next;
        if (next <= size) {
            break;
        }
        size = next;
    }
    return 0;
}

static void print_intro(const struct bench *bench, enum collective collective)
{
    const struct bench_options *options = bench->options;
    struct exec_place place = exec_place(bench->exec);
    char group[GROUP_TEXT];
    printf("# ccltune %s bench %s, %s: %u rank%s on %u host%s, group %s\n", CCLTUNE_VERSION,
           coll_name(collective), options->library, place.ranks, place.ranks == 1 ? "" : "s",
           place.hosts, place.hosts == 1 ? "" : "s", group_format(&bench->group, group));
    printf("# minBytes %llu maxBytes %llu step: ", (unsigned long long)options->first,
           (unsigned long long)options->last);
    if (options->factor > 1) {
        printf("%llu(factor)", (unsigned long long)options->factor);
    } else {
        printf("%llu(bytes)", (unsigned long long)options->step);
    }
    printf(" warmup iters: %llu iters: %llu validation: %llu seed: %llu\n",
           (unsigned long long)options->warmup, (unsigned long long)options->iterations,
           (unsigned long long)options->check, (unsigned long long)options->seed);
    printf("# time: median of the iterations, each the maximum over ranks, started together on "
           "fresh inputs\n# sizes in bytes; GB/s = 1e9 bytes a second, one direction; busbw factor "
           "%.4g\n#\n",
           coll_busbw_factor(collective, group_ranks(&bench->group)));
}

static int bench_collective(struct bench *bench, enum collective collective, struct error *error)
{
    const struct bench_options *options = bench->options;
    struct table *table = table_make(columns, NR_COLUMNS);
    bench->busbw_sum = 0;
    bench->nr_busbw = 0;
    uint64_t wrong_before = bench->wrong;
    if (bench->first && bench->live) {
        print_intro(bench, collective);
        table_print_head(table, "#", stdout);
    }
    int failed = measure_sizes(bench, collective, table, error);
    if (!failed && bench->first) {
        uint64_t wrong = bench->wrong - wrong_before;
        struct json *result = json_make_object();
        json_put_text(result, "collective", coll_name(collective));
        json_put(result, "rows", table_to_json(table));
        json_append(bench->results, result);
        if (bench->live) {
            printf("# Out of bounds values : %llu %s\n# Avg bus bandwidth    : %g\n#\n",
                   (unsigned long long)wrong, wrong ? "FAILED" : "OK",
                   bench->nr_busbw ? bench->busbw_sum / (double)bench->nr_busbw * 1e-9 : 0);
        } else if (options->format == TABLE_AS_CSV) {
            table_print(table, TABLE_AS_CSV, "", stdout);
        }
    }
    table_free(table);
    return failed;
}

static struct json *whole_result(struct bench *bench, struct json *library)
{
    const struct bench_options *options = bench->options;
    struct exec_place place = exec_place(bench->exec);
    char group[GROUP_TEXT];
    struct json *object = json_make_object();
    json_put_integer(object, "ccltune_bench", 1);
    json_put_text(object, "tool", "ccltune " CCLTUNE_VERSION);
    json_put(object, "library", library);
    json_put_integer(object, "ranks", place.ranks);
    json_put_integer(object, "hosts", place.hosts);
    json_put_text(object, "group", group_format(&bench->group, group));
    json_put_integer(object, "iters", (int64_t)options->iterations);
    json_put_integer(object, "warmup_iters", (int64_t)options->warmup);
    json_put_integer(object, "seed", (int64_t)options->seed);
    json_put_text(object, "time", "median of iterations, maximum over ranks");
    json_put(object, "results", bench->results);
    return object;
}

static int write_result(struct bench *bench, struct json *library, struct error *error)
{
    struct json *whole = whole_result(bench, library);
    char *text = json_to_text(whole, 1);
    int failed = 0;
    if (bench->options->format == TABLE_AS_JSON) {
        puts(text);
    }
    if (bench->options->json_file) {
        failed = file_write(bench->options->json_file, text, strlen(text), error);
    }
    free(text);
    json_free(whole);
    return failed;
}

static int choose_group(struct bench *bench, struct error *error)
{
    struct exec_place place = exec_place(bench->exec);
    bench->group = (struct group){.name = "all",
                                  .hosts = place.hosts,
                                  .ranks_per_host = place.local_ranks,
                                  .stride = 1,
                                  .concurrent = 1};
    if (bench->options->group && group_parse(bench->options->group, &bench->group, error)) {
        return -1;
    }
    if (bench->options->root >= group_ranks(&bench->group)) {
        return error_set(error, EXIT_INPUT, "--root %llu: the group has ranks 0 to %u",
                         (unsigned long long)bench->options->root, group_ranks(&bench->group) - 1);
    }
    return 0;
}

static int run(struct bench *bench, struct error *error)
{
    const struct bench_options *options = bench->options;
    int failed = exec_open_library(bench->exec, options->library, error);
    if (failed) {
        return -1;
    }
    failed = exec_check_cores(bench->exec, true, options->oversubscribe, error);
    failed = failed || choose_group(bench, error);
    if (exec_agree(bench->exec, failed, error)) {
        return -1;
    }
    struct json *library = exec_describe_library(bench->exec);
    bench->first = exec_place(bench->exec).rank == 0;
    bench->live = options->format == TABLE_AS_TEXT;
    bench->results = json_make_array();
    for (size_t i = 0; !failed && i < options->nr_collectives; i++) {
        failed = bench_collective(bench, options->collectives[i], error);
    }
    int unwritten = 0;
    if (!failed && bench->first) {
        unwritten = write_result(bench, library, error);
    } else {
        json_free(library);
        json_free(bench->results);
    }
    return failed ? failed : exec_agree(bench->exec, unwritten, error);
}

int cmd_bench(int argc, char **argv, struct error *error)
{
    struct bench_options options;
    struct bench bench = {.options = &options};
    bool help = false;
    if (bench_options_read(argc, argv, &options, &help, error)) {
        return (int)error->status;
    }
    if (help) {
        return EXIT_OK;
    }
    if (job_check_selection(error) || exec_start(&argc, &argv, &bench.exec, error)) {
        return (int)error->status;
    }
    int status = run(&bench, error) ? (int)error->status : bench.wrong ? EXIT_WRONG : EXIT_OK;
    bool first = exec_place(bench.exec).rank == 0;
    exec_stop(bench.exec);
    if (!first) {
        error->message[0] = 0; /* said once, by rank 0 */
    } else if (bench.wrong) {
        error_set(error, EXIT_WRONG, "%llu elements were wrong: see #wrong",
                  (unsigned long long)bench.wrong);
    }
    return status;
}
