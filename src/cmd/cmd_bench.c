/* cmd_bench.c - collectives on real ranks, in nccl-tests' table with nccl-tests' options. */
#include "bench_options.h"
#include "bench_subject.h"
#include "build_info.h"
#include "commands.h"
#include "exec.h"
#include "exec_alive.h"
#include "file.h"
#include "job_work.h"
#include "measure.h"
#include "number.h"
#include "stats.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    /* CSV of several subjects: */
    {"collective", "collective", NULL, NULL, TABLE_TEXT, 10, 0, 0},
    {"library", "library", NULL, NULL, TABLE_TEXT, 8, 0, 0},
    {"algorithm", "algorithm", NULL, NULL, TABLE_TEXT, 10, 0, 0},
};
#define NR_COLUMNS     (sizeof columns / sizeof *columns - 3)
#define COLUMN_OOP     5
#define COLUMN_IP      9
#define COLUMN_SUBJECT NR_COLUMNS

struct bench { /* one run of the command on this rank */
    struct exec *exec;
    const struct bench_options *options;
    struct bench_subject *subjects;
    size_t nr_subjects;
    const struct bench_subject *subject; /* of the table in progress */
    struct arena arena;                  /* owns them */
    struct group group;
    bool first; /* rank 0: prints */
    uint64_t wrong;
    double busbw_sum;
    size_t nr_busbw;
    struct json *results; /* rank 0: for JSON and -J */
    bool live;            /* rows are printed as they are measured */
    bool headed;          /* the table's head is printed */
    bool refused;         /* said why cells are empty */
    size_t served;        /* subjects x collectives that gave a table */
    struct error reason;  /* why one did not */
    FILE *raw;            /* rank 0: --raw so far, or NULL */
    char *raw_text;       /* what is in it; malloc'ed */
    size_t raw_length;
};

static bool several(const struct bench *bench)
{
    return bench->nr_subjects > 1;
}

static void keep_raw(struct bench *bench, const struct key *key, bool in_place,
                     const struct measure_answer *answer)
{
    const char *settings = candidate_id(&bench->subject->candidate, &bench->arena);
    for (size_t i = 0; bench->raw && i < answer->nr; i++) {
        char seconds[NUMBER_TEXT];
        fprintf(bench->raw, "%s,%s,%s,%s,%llu,%s,%zu,%s\n", bench->subject->library,
                bench->subject->candidate.algorithm, settings, coll_name(key->collective),
                (unsigned long long)key->bytes, in_place ? "in-place" : "out-of-place", i,
                number_format(answer->samples[i], 10, seconds));
    }
}

/* Fills the four cells of one way. */
static void fill_cells(struct bench *bench, const struct key *key, size_t column,
                       const struct measure_answer *answer, struct table *table)
{
    if (answer->nr) {
        double seconds = stats_median(answer->samples, answer->nr);
        double algbw = (double)key->bytes / seconds;
        double busbw = algbw * coll_busbw_factor(key->collective, group_ranks(&key->group));
        table_set_number(table, column, seconds);
        table_set_number(table, column + 1, algbw);
        table_set_number(table, column + 2, busbw);
        bench->busbw_sum += busbw;
        bench->nr_busbw++;
    }
    if (bench->options->check) {
        table_set_integer(table, column + 3, (int64_t)answer->wrong);
    }
}

/* One row, one way (out of place or in place). *refused: why it cannot be run, or untouched. */
static int measure_way(struct bench *bench, const struct key *key, bool in_place,
                       struct table *table, struct error *refused, struct error *error)
{
    const struct bench_options *options = bench->options;
    struct arena arena = ARENA_EMPTY;
    struct measure_answer answer;
    unsigned samples = (unsigned)options->iterations;
    const struct measure_request request = {
        .key = key,
        .candidates = &bench->subject->candidate,
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
    if (answer.verdict == MEASURE_REFUSED) {
        error_set(refused, EXIT_INPUT, "%s", answer.detail);
    } else if (bench->first) {
        fill_cells(bench, key, column, &answer, table);
        keep_raw(bench, key, in_place, &answer);
    }
    arena_release(&arena);
    return 0;
}

static void print_head(struct bench *bench, enum collective collective, struct table *table);

static void fill_size(struct bench *bench, const struct key *key, uint64_t count,
                      struct table *table)
{
    const struct bench_options *options = bench->options;
    enum collective collective = key->collective;
    table_add_row(table);
    table_set_integer(table, 0, (int64_t)key->bytes);
    table_set_integer(table, 1, (int64_t)count);
    table_set_text(table, 2, datatype_name(options->datatype));
    table_set_text(table, 3,
                   coll_reduces(collective) ? reduction_name(options->reduction) : "none");
    table_set_integer(table, 4, coll_rooted(collective) ? (int64_t)options->root : -1);
    if (several(bench) && !bench->live) {
        table_set_text(table, COLUMN_SUBJECT, coll_name(collective));
        table_set_text(table, COLUMN_SUBJECT + 1, bench->subject->library);
        table_set_text(table, COLUMN_SUBJECT + 2, bench->subject->candidate.algorithm);
    }
}

/* *refused: why the subject cannot be run at all. */
static int measure_size(struct bench *bench, enum collective collective, uint64_t count,
                        struct table *table, struct error *refused, struct error *error)
{
    uint32_t element = datatype_bytes(bench->options->datatype);
    struct error out_of_place = ERROR_NONE, in_place = ERROR_NONE;
    struct key key = {.collective = collective, .group = bench->group};
    key.bytes = coll_bytes(collective, count, element, group_ranks(&bench->group));
    key.registered = !strcmp(bench->options->buffers, "direct");
    if (bench->first) {
        fill_size(bench, &key, count, table);
    }
    bool both = coll_in_place(collective);
    if (measure_way(bench, &key, false, table, &out_of_place, error) ||
        (both && measure_way(bench, &key, true, table, &in_place, error))) {
        return -1;
    }
    if (out_of_place.status && (!both || in_place.status)) {
        *refused = out_of_place;
        return 0;
    }
    if (bench->first && bench->live) {
        print_head(bench, collective, table);
        table_print_last_row(table, stdout);
        fflush(stdout);
    }
    const struct error *why = out_of_place.status ? &out_of_place : &in_place;
    if (why->status && bench->first && !bench->refused) {
        fprintf(stderr, "ccltune bench: note: %s: N/A\n", why->message);
        bench->refused = true;
    }
    return 0;
}

/* nccl-tests' sizes; a size that comes out as the one before is skipped. -b 0: 0, one element,
 * then the factor. */
static int measure_sizes(struct bench *bench, enum collective collective, struct table *table,
                         struct error *refused, struct error *error)
{
    const struct bench_options *options = bench->options;
    uint32_t ranks = group_ranks(&bench->group), element = datatype_bytes(options->datatype);
    uint64_t one = coll_bytes(collective, 1, element, ranks), before = UINT64_MAX;
    for (uint64_t size = options->first; size <= options->last;) {
        uint64_t count = coll_count(collective, size, element, ranks);
        if (count != before && measure_size(bench, collective, count, table, refused, error)) {
            return -1;
        }
        if (refused->status) {
            return 0;
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
           coll_name(collective), bench->subject->library, place.ranks, place.ranks == 1 ? "" : "s",
           place.hosts, place.hosts == 1 ? "" : "s", group_format(&bench->group, group));
    if (bench->subject->about) {
        printf("# %s\n", bench->subject->about);
    }
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

/* Once a table, when its first row is known. */
static void print_head(struct bench *bench, enum collective collective, struct table *table)
{
    if (!bench->headed) {
        print_intro(bench, collective);
        table_print_head(table, "#", stdout);
        bench->headed = true;
    }
}

static void end_table(struct bench *bench, enum collective collective, struct table *table,
                      uint64_t wrong)
{
    struct json *result = json_make_object();
    json_put_text(result, "collective", coll_name(collective));
    json_put_text(result, "library", bench->subject->library);
    json_put_text(result, "candidate", candidate_id(&bench->subject->candidate, &bench->arena));
    json_put(result, "rows", table_to_json(table));
    json_append(bench->results, result);
    if (bench->live) {
        printf("# Out of bounds values : %llu %s\n# Avg bus bandwidth    : %g\n#\n",
               (unsigned long long)wrong, wrong ? "FAILED" : "OK",
               bench->nr_busbw ? bench->busbw_sum / (double)bench->nr_busbw * 1e-9 : 0);
    } else if (bench->options->format == TABLE_AS_CSV) {
        table_print(table, TABLE_AS_CSV, "", stdout);
    }
}

/* Beside others a subject that cannot be run is listed with the reason; alone it is the error. */
static void list_refused(struct bench *bench, enum collective collective, const struct error *why)
{
    bench->reason = *why;
    if (bench->first && several(bench)) {
        fprintf(bench->live ? stdout : stderr, "# refused: %s, %s: %s\n",
                bench->subject->candidate.nr_settings ? bench->subject->candidate.algorithm
                                                      : bench->subject->library,
                coll_name(collective), why->message);
    }
}

/* What a library does not take at all is no failure either, beside others. */
static bool may_pass(const struct bench *bench, const struct error *error)
{
    return several(bench) && (error->status == EXIT_INPUT || error->status == EXIT_ABSENT);
}

static int bench_collective(struct bench *bench, enum collective collective, struct error *error)
{
    bool wide = several(bench) && !bench->live;
    struct table *table = table_make(columns, NR_COLUMNS + (wide ? 3 : 0));
    struct error refused = ERROR_NONE;
    uint64_t wrong_before = bench->wrong;
    bench->busbw_sum = 0;
    bench->nr_busbw = 0;
    bench->headed = false;
    bench->refused = false;
    int failed = measure_sizes(bench, collective, table, &refused, error);
    if (failed && may_pass(bench, error)) {
        refused = *error;
        *error = ERROR_NONE;
        failed = 0;
    }
    if (refused.status) {
        list_refused(bench, collective, &refused);
    } else if (!failed) {
        bench->served++;
        if (bench->first) {
            end_table(bench, collective, table, bench->wrong - wrong_before);
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

/* One subject's tables; its library is opened unless it is open already. */
static int bench_subject(struct bench *bench, size_t i, struct json **library, struct error *error)
{
    const struct bench_options *options = bench->options;
    bench->subject = &bench->subjects[i];
    if (i == 0 || strcmp(bench->subjects[i - 1].library, bench->subject->library)) {
        if (exec_open_library(bench->exec, bench->subject->library, error)) {
            return -1;
        }
        int failed = exec_check_cores(bench->exec, exec_library_spins(bench->exec),
                                      options->oversubscribe, error);
        if (exec_agree(bench->exec, failed, error)) {
            return -1;
        }
        struct json *described = exec_describe_library(bench->exec);
        if (*library) {
            json_free(described); /* the first one's is kept */
        } else {
            *library = described;
        }
    }
    for (size_t k = 0; k < options->nr_collectives; k++) {
        if (bench_collective(bench, options->collectives[k], error)) {
            return -1;
        }
    }
    return 0;
}

static int run_subjects(struct bench *bench, struct json **library, struct error *error)
{
    for (size_t i = 0; i < bench->nr_subjects; i++) {
        if (bench_subject(bench, i, library, error)) {
            return -1;
        }
    }
    if (bench->served == 0) {
        *error = bench->reason;
        return -1;
    }
    return 0;
}

static void open_raw(struct bench *bench)
{
    if (bench->first && bench->options->raw_file) {
        bench->raw = open_memstream(&bench->raw_text, &bench->raw_length);
        if (!bench->raw) {
            arena_out_of_memory();
        }
        fputs("library,algorithm,settings,collective,size_B,way,call,time_s\n", bench->raw);
    }
}

static int write_raw(struct bench *bench, struct error *error)
{
    int failed = 0;
    if (bench->raw) {
        fclose(bench->raw);
        failed = file_write(bench->options->raw_file, bench->raw_text, bench->raw_length, error);
        free(bench->raw_text);
    }
    return failed;
}

static int run(struct bench *bench, struct error *error)
{
    int failed = choose_group(bench, error);
    if (exec_agree(bench->exec, failed, error)) {
        return -1;
    }
    struct json *library = NULL;
    bench->first = exec_place(bench->exec).rank == 0;
    bench->live = bench->options->format == TABLE_AS_TEXT;
    bench->results = json_make_array();
    open_raw(bench);
    failed = run_subjects(bench, &library, error);
    int unwritten = 0;
    if (!failed && bench->first) {
        unwritten = write_result(bench, library, error) || write_raw(bench, error);
    } else {
        json_free(library);
        json_free(bench->results);
    }
    return failed ? failed : exec_agree(bench->exec, unwritten, error);
}

/* A rank of this host was found to be silent; other threads wait for it and never return. */
static void tell_silence(void *context, const struct error *error)
{
    (void)context;
    fprintf(stderr, "ccltune bench: %s\n", error->message);
    exec_die((int)error->status);
}

/* MPI cannot be ended with a rank that does not answer. The one that knows why speaks first: the
 * launcher ends all others once one leaves. */
static _Noreturn void leave_broken(const struct error *error)
{
    if (error->message[0]) {
        fprintf(stderr, "ccltune bench: %s\n", error->message);
    } else {
        sleep(5);
    }
    exec_die(EXIT_SYSTEM);
}

static int start(struct bench *bench, int argc, char **argv, struct error *error)
{
    const struct bench_options *options = bench->options;
    if (bench_subjects(options, &bench->arena, &bench->subjects, &bench->nr_subjects, error) ||
        job_check_selection(error) || exec_start(&argc, &argv, &bench->exec, error)) {
        return -1;
    }
    job_buffer_lines();
    bool engine = false;
    for (size_t i = 0; i < bench->nr_subjects; i++) {
        engine |= bench->subjects[i].about != NULL;
    }
    /* a second more than the engine's own patience, whose words say more */
    return engine ? exec_alive_start(bench->exec, options->patience + 1, tell_silence, NULL, error)
                  : 0;
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
    if (start(&bench, argc, argv, error)) {
        arena_release(&bench.arena);
        return (int)error->status;
    }
    int status = run(&bench, error) ? (int)error->status : bench.wrong ? EXIT_WRONG : EXIT_OK;
    if (exec_is_broken(bench.exec)) {
        leave_broken(error);
    }
    bool first = exec_place(bench.exec).rank == 0;
    exec_stop(bench.exec);
    arena_release(&bench.arena);
    if (!first) {
        error->message[0] = 0; /* said once, by rank 0 */
    } else if (bench.wrong) {
        error_set(error, EXIT_WRONG, "%llu elements were wrong: see #wrong",
                  (unsigned long long)bench.wrong);
    }
    return status;
}
