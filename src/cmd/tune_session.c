/* tune_session.c - journal, tuning, emission: from what the job said of itself to files that were
 * loaded in a real run before they are handed over.
 */
#include "tune_session.h"

#include "build_info.h"
#include "emission.h"
#include "file.h"
#include "journal.h"
#include "progress.h"
#include "tune.h"
#include "tune_keys.h"
#include "tune_print.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

struct session { /* everything of one tuning */
    const struct tune_options *options;
    const char *launch;
    const struct json *hello;
    const struct target *target;
    struct library library;
    struct key *keys;
    size_t nr_keys;
    struct arena arena;
    struct progress progress;
    char directory[4096]; /* out, absolute */
    struct decision_table table;
};

static uint32_t hello_count(const struct json *hello, const char *key)
{
    return (uint32_t)json_get_integer(hello, key, 0);
}

static int check_cores(const struct session *session, struct error *error)
{
    uint32_t ranks = hello_count(session->hello, "most_ranks_per_host");
    uint32_t cores = hello_count(session->hello, "cores");
    if (!session->library.spins || session->options->oversubscribe || ranks <= cores) {
        return 0;
    }
    return error_set(error, EXIT_NO,
                     "%u ranks on a host with %u usable core%s: %s spins while it waits, so every "
                     "call would take milliseconds and no figure would mean anything; launch at "
                     "most %u a host, or add --oversubscribe",
                     ranks, cores, cores == 1 ? "" : "s", session->library.name, cores);
}

/* What the journal's measurements are of: a resumed run must agree in all of it. */
static struct json *about(const struct session *session)
{
    const struct tune_options *options = session->options;
    struct json *object = json_make_object();
    struct json *keys = json_make_array();
    for (size_t i = 0; i < session->nr_keys; i++) {
        json_append(keys, key_to_json(&session->keys[i]));
    }
    json_put_text(object, "tool", CCLTUNE_VERSION);
    json_put_text(object, "target", session->target->name);
    json_put_text(object, "library", session->library.name);
    json_put_text(object, "version", session->library.version);
    json_put_text(object, "device", session->library.device);
    json_put_text(object, "default", session->library.tree_source);
    if (session->library.tree) {
        json_put(object, "default_tree", json_make_copy(session->library.tree));
    }
    json_put_text(object, "fingerprint", json_get_text(session->hello, "fingerprint", ""));
    json_put_text(object, "launch", session->launch);
    json_put_integer(object, "ranks", hello_count(session->hello, "ranks"));
    json_put_integer(object, "hosts", hello_count(session->hello, "hosts"));
    json_put_integer(object, "seed", (int64_t)options->seed);
    json_put_number(object, "budget_s", options->budget);
    json_put_number(object, "min_gain", options->least_gain);
    json_put_number(object, "alpha", options->alpha);
    json_put(object, "keys", keys);
    return object;
}

static int prepare(struct session *session, struct error *error)
{
    const struct tune_options *options = session->options;
    const struct tune_keys_request request = {
        .collectives = &options->collectives,
        .groups = &options->groups,
        .first = options->first,
        .last = options->last,
        .factor = options->factor,
        .hosts = hello_count(session->hello, "hosts"),
        .ranks_per_host = hello_count(session->hello, "ranks_per_host"),
    };
    session->target = target_find(options->target, error);
    if (!session->target ||
        library_from_json(json_get(session->hello, "library"), &session->library, error) ||
        check_cores(session, error)) {
        return -1;
    }
    if (tune_keys_make(&request, &session->arena, &session->keys, &session->nr_keys, error)) {
        return -1;
    }
    return session->target->check_environment(session->keys, session->nr_keys, error);
}

/* The price of the whole run before any of it: at 100 us a block. */
static int print_plan(struct session *session, struct error *error)
{
    size_t candidates = 0;
    double race = 0;
    for (size_t k = 0; k < session->nr_keys; k++) {
        struct candidate *list;
        size_t nr;
        if (session->target->candidates(&session->library, &session->keys[k], &session->arena,
                                        &list, &nr, error)) {
            return -1;
        }
        candidates += nr + 1;
        /* 1 GB/s and two calls for each one timed (data, check) */
        double call = 5e-6 + (double)session->keys[k].bytes / 1e9;
        race += (double)(nr + 1) * 30 * 2 * fmax(call, 100e-6);
    }
    double bound = fmin(race, session->options->budget / 2) + session->options->budget / 2;
    printf("%zu keys (collective x group x size), %zu candidates with the defaults\n"
           "race: about %.0f s; confirmation: fresh launches in at least 10 pairs, within the rest "
           "of %.0f s\nat most %.1f node-minutes on %u host%s\n",
           session->nr_keys, candidates, race, session->options->budget,
           bound / 60 * hello_count(session->hello, "hosts"), hello_count(session->hello, "hosts"),
           hello_count(session->hello, "hosts") == 1 ? "" : "s");
    return 0;
}

static void describe_table(struct session *session)
{
    struct decision_table *table = &session->table;
    struct arena *arena = &table->arena;
    const struct library *library = &session->library;
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    table->target = session->target->name;
    table->library = arena_printf(arena, "%s %s%s%s", library->name, library->version,
                                  *library->device ? ", " : "", library->device);
    table->version = arena_strdup(arena, library->version);
    table->fingerprint = arena_strdup(arena, json_get_text(session->hello, "fingerprint", ""));
    table->machine = arena_strdup(arena, json_get_text(session->hello, "machine", ""));
    table->date = arena_strdup(arena, date);
    table->tool_version = "ccltune " CCLTUNE_VERSION;
    table->launch = arena_strdup(arena, session->launch);
    table->default_is = strcmp(library->tree_source, "built-in")
                            ? arena_printf(arena, "the selection file %s", library->tree_source)
                            : arena_printf(arena, "%s's built-in selection", library->name);
}

static void print_result(const struct session *session)
{
    const struct decision_table *table = &session->table;
    if (!strcmp(session->options->format, "json")) {
        struct json *json = decision_to_json(table);
        char *text = json_to_text(json, 2);
        puts(text);
        free(text);
        json_free(json);
    } else if (!strcmp(session->options->format, "csv")) {
        tune_print_points(table, TABLE_AS_CSV, stdout);
    } else {
        printf("%s on %s; %s; seed %llu\n\n", table->library, table->machine, table->launch,
               (unsigned long long)table->seed);
        tune_print_summary(table, stdout);
        if (table->interrupted) {
            printf("stopped: continue with --resume; %s/result.json says what is known\n",
                   session->directory);
        } else {
            printf("\nuse it:    source %s/tuned.env\nprove it:  ccltune verify %s\n",
                   session->directory, session->directory);
        }
    }
}

static int run(struct session *session, struct oracle *oracle, struct error *error)
{
    const struct tune_options *options = session->options;
    struct error failure = ERROR_NONE;
    char *proposal = file_join(session->directory, "proposal");
    const struct tune_progress progress = {progress_step, &session->progress};
    const struct tune_request request = {
        .target = session->target,
        .library = &session->library,
        .keys = session->keys,
        .nr_keys = session->nr_keys,
        .alpha = options->alpha,
        .least_gain = options->least_gain,
        .budget = options->budget,
        .seed = options->seed,
        .proposal_directory = proposal,
        .progress = &progress,
    };
    int failed = file_make_directory(proposal, error) ? -1 : 0;
    if (!failed) {
        failed = tune_run(&request, oracle, &session->table, &failure);
        describe_table(session);
    }
    if (failed && failure.status != EXIT_STOPPED && failure.message[0]) {
        *error = failure;
    } else if (failed && failure.status == EXIT_STOPPED) {
        failed = emission_write_result(&session->table, session->directory, error);
    }
    free(proposal);
    return failed;
}

/* Not while another run writes it. */
static int forget_journal(const char *path, struct error *error)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        return 0;
    }
    int failed = 0;
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
        failed = error_set(error, EXIT_INPUT,
                           "journal %s: another run is writing it: wait for it, or use another "
                           "--out",
                           path);
    } else if (unlink(path)) {
        failed = error_errno(error, errno, "removing the journal %s", path);
    }
    if (fd >= 0) {
        close(fd);
    }
    return failed;
}

static int run_journalled(struct session *session, struct oracle *oracle, struct error *error)
{
    struct journal *journal;
    char *path = file_join(session->directory, "journal.jsonl");
    struct json *description = about(session);
    int failed = session->options->fresh ? forget_journal(path, error) : 0;
    failed = failed || journal_open(path, description, session->options->resume, &journal, error);
    free(path);
    json_free(description);
    if (failed) {
        return -1;
    }
    size_t before = journal_length(journal);
    struct oracle remembering = journal_oracle(journal, oracle);
    failed = run(session, &remembering, error);
    if (before) {
        char text[96];
        snprintf(text, sizeof text, "%zu measurements of %zu in the journal were reused",
                 journal_reused(journal), before);
        progress_note(&session->progress, text);
    }
    journal_close(journal);
    return failed;
}

int tune_session(const struct tune_options *options, const char *launch, const struct json *hello,
                 struct oracle *oracle, struct error *error)
{
    struct session session = {.options = options, .launch = launch, .hello = hello};
    int failed = prepare(&session, error);
    if (!failed && options->dry_run) {
        failed = print_plan(&session, error);
        arena_release(&session.arena);
        return failed ? (int)error->status : EXIT_OK;
    }
    failed = failed || file_make_directory(options->out, error);
    if (!failed && !realpath(options->out, session.directory)) {
        failed = error_set(error, EXIT_SYSTEM, "cannot resolve the directory %s", options->out);
    }
    progress_begin(&session.progress, options->quiet);
    failed = failed || run_journalled(&session, oracle, error);
    if (!failed && !session.table.interrupted) {
        failed = emission_hand_over(session.target, &session.library, &session.table,
                                    session.directory, oracle, error);
    }
    progress_end(&session.progress);
    int status = failed ? (int)error->status : EXIT_OK;
    if (!failed) {
        print_result(&session);
        status = session.table.interrupted                             ? EXIT_STOPPED
                 : options->require_gain && session.table.nr_rows == 0 ? EXIT_NO
                                                                       : EXIT_OK;
    }
    decision_release(&session.table);
    arena_release(&session.arena);
    return status;
}
