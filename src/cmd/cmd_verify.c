/* cmd_verify.c - do the promises of a tuned directory hold? Measured again in fresh launches, with
 * the emitted file and without, A B B A.
 */
#include "commands.h"
#include "file.h"
#include "progress.h"
#include "supervisor.h"
#include "table.h"
#include "tune.h"
#include "tune_session.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct verify_options {
    const char *launch, *format;
    uint64_t pairs;
    double timeout, alpha;
    bool quiet;
};

static const struct option_row rows[] = {
    {0, "launch", OPTION_TEXT, "COMMAND", "what starts the ranks (default: what tune used)",
     offsetof(struct verify_options, launch), NULL},
    {0, "pairs", OPTION_COUNT, "N",
     "pairs of fresh launches (default: as many as can tell a loss at any size)",
     offsetof(struct verify_options, pairs), "0"},
    {0, "alpha", OPTION_NUMBER, "CHANCE", "of calling any size slower that is not",
     offsetof(struct verify_options, alpha), "0.05"},
    {0, "timeout", OPTION_SECONDS, "TIME", "without progress for so long, a job counts as hung",
     offsetof(struct verify_options, timeout), "30"},
    {0, "format", OPTION_CHOICE, "table|json|csv", "of the result on standard output",
     offsetof(struct verify_options, format), "table"},
    {'q', "quiet", OPTION_FLAG, NULL, "no progress", offsetof(struct verify_options, quiet), NULL},
    {0},
};

static const struct option_command page = {
    "verify", "[options] [DIR]",
    "Measures again what a directory written by tune promises: collectives with and without the "
    "emitted file in alternating fresh launches, at every size tuned and between the sizes of "
    "each line. Exits with 1 when a promised gain is gone or a size has become slower.",
    "  ccltune verify               the directory out\n"
    "  ccltune verify --pairs 20 /shared/tuned\n",
    rows};

enum verdict {
    VERDICT_HELD,    /* the interval measured now reaches the promised one */
    VERDICT_SMALLER, /* faster, but by less than promised */
    VERDICT_BROKEN,  /* promised, and no gain can be seen */
    VERDICT_COVERED, /* between the proven sizes of a line, not slower */
    VERDICT_SAME,    /* no line, not slower */
    VERDICT_SLOWER,
    VERDICT_FAILED
};
static const char *const verdicts[] = {
    [VERDICT_HELD] = "held",       [VERDICT_SMALLER] = "smaller", [VERDICT_BROKEN] = "BROKEN",
    [VERDICT_COVERED] = "covered", [VERDICT_SAME] = "no line",    [VERDICT_SLOWER] = "SLOWER",
    [VERDICT_FAILED] = "FAILED",
};

struct check { /* one size measured again */
    struct key key;
    const struct decision_point *promise; /* NULL: nothing is promised for exactly this size */
    const char *choice;                   /* what the file says here; NULL: nothing */
    double without, with;                 /* seconds */
    struct interval gain;
    enum verdict verdict;
};

static const struct decision_row *row_of(const struct decision_table *table, const struct key *key)
{
    for (size_t r = 0; r < table->nr_rows; r++) {
        const struct decision_row *row = &table->rows[r];
        if (row->collective == key->collective && group_equal(&row->group, &key->group) &&
            key->bytes >= row->first_bytes && key->bytes <= row->last_bytes) {
            return row;
        }
    }
    return NULL;
}

static void add_check(const struct decision_table *table, const struct key *key,
                      const struct decision_point *promise, struct check *checks, size_t *nr)
{
    const struct decision_row *row = row_of(table, key);
    checks[(*nr)++] = (struct check){
        .key = *key, .promise = promise, .choice = row ? row->choice.algorithm : NULL};
}

/* Every point, and inside a line the size halfway to the next point: a range claims those too. */
static size_t make_checks(const struct decision_table *table, struct check *checks)
{
    size_t nr = 0;
    for (size_t i = 0; i < table->nr_points; i++) {
        const struct decision_point *point = &table->points[i], *next = point + 1;
        const struct decision_row *row = row_of(table, &point->key);
        add_check(table, &point->key, point->proven ? point : NULL, checks, &nr);
        if (row && point->key.bytes < row->last_bytes) {
            struct key between = point->key;
            uint32_t ranks = group_ranks(&between.group);
            uint64_t middle = between.bytes + (next->key.bytes - between.bytes) / 2;
            between.bytes = coll_bytes(between.collective,
                                       coll_count(between.collective, middle, 4, ranks), 4, ranks);
            if (between.bytes > point->key.bytes) {
                add_check(table, &between, NULL, checks, &nr);
            }
        }
    }
    return nr;
}

static void judge(struct check *check, const struct confirm_pairs *pairs, size_t i, double alpha,
                  struct arena *arena)
{
    size_t nr = pairs->pairs;
    double *ratios = arena_alloc(arena, nr + 1, sizeof *ratios);
    double *losses = arena_alloc(arena, nr + 1, sizeof *losses);
    double *without = arena_alloc(arena, nr + 1, sizeof *without);
    double *with = arena_alloc(arena, nr + 1, sizeof *with);
    if (pairs->failure[i] || nr == 0) {
        check->verdict = VERDICT_FAILED;
        check->without = check->with = NAN;
        check->gain = (struct interval){NAN, NAN, NAN, NAN};
        return;
    }
    for (size_t p = 0; p < nr; p++) {
        without[p] = pairs->without[p * pairs->nr_points + i];
        with[p] = pairs->with[p * pairs->nr_points + i];
        ratios[p] = log(without[p] / with[p]);
        losses[p] = -ratios[p];
    }
    struct interval gain = stats_signed_rank_interval(ratios, nr, 0.95);
    check->without = stats_median(without, nr);
    check->with = stats_median(with, nr);
    check->gain =
        (struct interval){expm1(gain.estimate), expm1(gain.low), expm1(gain.high), gain.level};
    bool slower = stats_signed_rank_p(losses, nr) <= alpha;
    if (check->promise) {
        check->verdict = check->gain.high >= check->promise->gain.low ? VERDICT_HELD
                         : check->gain.low > 0                        ? VERDICT_SMALLER
                                                                      : VERDICT_BROKEN;
    } else {
        check->verdict = slower ? VERDICT_SLOWER : check->choice ? VERDICT_COVERED : VERDICT_SAME;
    }
}

static const struct table_column columns[] = {
    {"collective", "collective", NULL, NULL, TABLE_TEXT, 14, 0, 0},
    {"group", "group", NULL, NULL, TABLE_TEXT, 8, 0, 0},
    {"bytes", "size", "(B)", NULL, TABLE_INTEGER, 9, 0, 0},
    {"choice", "file says", NULL, NULL, TABLE_TEXT, 12, 0, 0},
    {"without_us", "without", "(us)", NULL, TABLE_NUMBER, 9, 2, 1e6},
    {"with_us", "with", "(us)", NULL, TABLE_NUMBER, 9, 2, 1e6},
    {"gain_percent", "gain", "(%)", "measured now", TABLE_NUMBER, 7, 1, 100},
    {"gain_low_percent", "from", "(%)", "measured now", TABLE_NUMBER, 7, 1, 100},
    {"gain_high_percent", "to", "(%)", "measured now", TABLE_NUMBER, 7, 1, 100},
    {"promised_low_percent", "from", "(%)", "promised", TABLE_NUMBER, 7, 1, 100},
    {"promised_high_percent", "to", "(%)", "promised", TABLE_NUMBER, 7, 1, 100},
    {"verdict", "verdict", NULL, NULL, TABLE_TEXT, 8, 0, 0},
};

/* In text, collectives without a line are summed up below the table. */
static void print_checks(const struct decision_table *table, const struct check *checks, size_t nr,
                         enum table_format format)
{
    char text[GROUP_TEXT];
    struct table *out = table_make(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < nr; i++) {
        const struct check *check = &checks[i];
        bool has_line = false;
        for (size_t r = 0; r < table->nr_rows; r++) {
            has_line = has_line || table->rows[r].collective == check->key.collective;
        }
        if (format == TABLE_AS_TEXT && !has_line && check->verdict == VERDICT_SAME) {
            continue;
        }
        table_add_row(out);
        table_set_text(out, 0, coll_name(check->key.collective));
        table_set_text(out, 1, group_format(&check->key.group, text));
        table_set_integer(out, 2, (int64_t)check->key.bytes);
        table_set_text(out, 3, check->choice ? check->choice : "-");
        table_set_number(out, 4, check->without);
        table_set_number(out, 5, check->with);
        table_set_number(out, 6, check->gain.estimate);
        table_set_number(out, 7, check->gain.low);
        table_set_number(out, 8, check->gain.high);
        if (check->promise) {
            table_set_number(out, 9, check->promise->gain.low);
            table_set_number(out, 10, check->promise->gain.high);
        }
        table_set_text(out, 11, verdicts[check->verdict]);
    }
    table_print(out, format, "", stdout);
    table_free(out);
}

static bool print_verdict(const struct check *checks, size_t nr, size_t pairs,
                          enum table_format format)
{
    size_t count[VERDICT_FAILED + 1] = {0};
    for (size_t i = 0; i < nr; i++) {
        count[checks[i].verdict]++;
    }
    bool good = !count[VERDICT_BROKEN] && !count[VERDICT_SLOWER] && !count[VERDICT_FAILED];
    size_t promised = count[VERDICT_HELD] + count[VERDICT_SMALLER] + count[VERDICT_BROKEN];
    if (format == TABLE_AS_TEXT) {
        printf(
            "\n%s: of %zu promised intervals %zu held, %zu gains are smaller than promised, %zu "
            "are "
            "broken;\n%zu sizes between them and %zu sizes without a line are not slower, %zu are "
            "slower, %zu failed.\n(%zu pairs of fresh launches, order A B B A; without: the "
            "default, with: the emitted file;\nheld: the interval measured now reaches the "
            "promised one; smaller: faster, but by less)\n",
            good ? "the file is good" : "NOT all is as promised", promised, count[VERDICT_HELD],
            count[VERDICT_SMALLER], count[VERDICT_BROKEN], count[VERDICT_COVERED],
            count[VERDICT_SAME], count[VERDICT_SLOWER], count[VERDICT_FAILED], pairs);
    }
    return good;
}

static void warn_of_differences(const struct decision_table *table, const struct json *hello,
                                struct progress *progress)
{
    char text[512];
    const struct json *library = json_get(hello, "library");
    const char *version = json_get_text(library, "version", "");
    const char *fingerprint = json_get_text(hello, "fingerprint", "");
    if (strcmp(version, table->version)) {
        snprintf(text, sizeof text, "tuned for version %s, this is %s: tune again", table->version,
                 version);
        progress_note(progress, text);
    }
    if (strcmp(fingerprint, table->fingerprint)) {
        snprintf(text, sizeof text, "tuned on another machine (topology %s, this is %s)",
                 table->fingerprint, fingerprint);
        progress_note(progress, text);
    }
}

/* A machine in another state keeps the order of algorithms more often than their ratios. */
static void print_canary(const struct decision_table *table, double canary)
{
    double ratio = canary / table->canary;
    if (ratio > 1.25 || ratio < 0.8) {
        printf(
            "The machine is not in the state it was tuned in: an 8-byte exchange takes %.2f us now "
            "and took\n%.2f us then (on a virtual machine cores are moved about; elsewhere look "
            "for "
            "other load).\nGains shift with it; tune again if this state is the usual one.\n",
            canary * 1e6, table->canary * 1e6);
    }
}

/* What is set here reaches the launches without the file too. */
static int check_environment(const struct target *target, const struct check *checks, size_t nr,
                             struct error *error)
{
    struct arena arena = ARENA_EMPTY;
    struct key *keys = arena_alloc(&arena, nr + 1, sizeof *keys);
    for (size_t i = 0; i < nr; i++) {
        keys[i] = checks[i].key;
    }
    int failed = target->check_environment(keys, nr, error);
    arena_release(&arena);
    return failed;
}

static int measure(const struct verify_options *options, const struct decision_table *table,
                   const struct target *target, const char *directory, struct check *checks,
                   size_t nr, size_t *pairs_made, double *canary, struct error *error)
{
    struct arena arena = ARENA_EMPTY;
    struct progress progress;
    struct supervisor *supervisor = NULL;
    const struct json *hello;
    struct candidate with;
    struct confirm_pairs pairs;
    uint32_t launch = 1;
    struct supervisor_options job = {.library = target->runner,
                                     .launch = options->launch ? options->launch : table->launch,
                                     .timeout = options->timeout,
                                     .seed = table->seed + 1,
                                     .stop = tune_catch_signals(),
                                     .note = progress_note,
                                     .note_context = &progress};
    struct key *keys = arena_alloc(&arena, nr + 1, sizeof *keys);
    for (size_t i = 0; i < nr; i++) {
        keys[i] = checks[i].key;
    }
    progress_begin(&progress, options->quiet);
    const struct tune_progress steps = {progress_step, &progress};
    double alpha = options->alpha / (double)nr;
    size_t wanted = options->pairs ? options->pairs : stats_pairs_needed(nr, options->alpha);
    int failed = target->load_settings(directory, &arena, &with, error) ||
                 tune_find_program(&arena, &job.program, error) ||
                 supervisor_open(&job, &supervisor, error) ||
                 supervisor_hello(supervisor, &hello, error);
    if (!failed) {
        struct oracle oracle = supervisor_oracle(supervisor);
        warn_of_differences(table, hello, &progress);
        failed = confirm_run(&oracle, keys, nr, &with, wanted, 20, &launch, &steps, "verify",
                             &arena, &pairs, error);
    }
    supervisor_close(supervisor);
    progress_end(&progress);
    for (size_t i = 0; !failed && i < nr; i++) {
        judge(&checks[i], &pairs, i, alpha, &arena);
    }
    *pairs_made = failed ? 0 : pairs.pairs;
    *canary = failed ? NAN : pairs.canary;
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int verify_table(const struct verify_options *options, const struct decision_table *table,
                        const char *directory, struct error *error)
{
    const struct target *target = target_find(table->target, error);
    enum table_format format;
    size_t pairs;
    double canary;
    if (!target || table_parse_format(options->format, &format, error)) {
        return (int)error->status;
    }
    if (table->interrupted) {
        error_set(error, EXIT_INPUT,
                  "%s/result.json is of a run that was stopped: continue it with ccltune "
                  "tune --resume",
                  directory);
        return (int)error->status;
    }
    if (table->nr_rows == 0) {
        printf("%s promises nothing: nothing was proven there, and tuned.env sets nothing\n",
               directory);
        return EXIT_OK;
    }
    struct check *checks = calloc(2 * table->nr_points + 1, sizeof *checks);
    if (!checks) {
        arena_out_of_memory();
    }
    size_t nr = make_checks(table, checks);
    int failed = check_environment(target, checks, nr, error) ||
                 measure(options, table, target, directory, checks, nr, &pairs, &canary, error);
    bool good = false;
    if (!failed) {
        print_checks(table, checks, nr, format);
        good = print_verdict(checks, nr, pairs, format);
        if (format == TABLE_AS_TEXT) {
            print_canary(table, canary);
        }
    }
    free(checks);
    return failed ? (int)error->status : good ? EXIT_OK : EXIT_NO;
}

int cmd_verify(int argc, char **argv, struct error *error)
{
    struct verify_options options;
    struct decision_table table;
    bool help = false;
    int left;
    if (option_parse(&page, argc, argv, &options, &left, &help, error)) {
        return (int)error->status;
    }
    if (help) {
        option_print_help(&page, stdout);
        return EXIT_OK;
    }
    if (left > 2) {
        error_set(error, EXIT_INPUT, "expected one directory, found '%s' as well", argv[2]);
        return EXIT_INPUT;
    }
    if (!(options.alpha > 0) || options.alpha > 0.5 || options.timeout < 1) {
        error_set(error, EXIT_INPUT,
                  "--alpha %g, --timeout %g: expected a chance over 0, at most 0.5, and at least 1 "
                  "second",
                  options.alpha, options.timeout);
        return EXIT_INPUT;
    }
    const char *given = left > 1 ? argv[1] : "out";
    char directory[4096];
    if (!realpath(given, directory)) {
        error_errno(error, errno, "%s", given);
        error->status = EXIT_INPUT;
        return EXIT_INPUT;
    }
    char *path = file_join(directory, "result.json");
    struct json *json = json_read_file(path, error);
    int failed = !json || decision_from_json(json, &table, error);
    if (failed && json) {
        error_prefix(error, "%s", path);
    }
    free(path);
    json_free(json);
    if (failed) {
        return (int)error->status;
    }
    int status = verify_table(&options, &table, directory, error);
    decision_release(&table);
    return status;
}
