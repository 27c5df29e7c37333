/* job_work.c - a batch on all ranks: shared as text, measured key by key. */
#include "job_work.h"

#include "build_info.h"
#include "measure.h"
#include "mpich_tree.h"
#include "topo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISMISSED "{}" /* no batch: the end */

struct batch_run { /* one batch in progress on this rank */
    struct exec *exec;
    const struct job_listener *listener; /* NULL but on rank 0 */
    struct trial *trials;
    size_t nr, first; /* first: of the key being measured */
    uint64_t seed;
    double canary;
};

static void tell_running(void *context, int64_t index)
{
    struct batch_run *run = context;
    if (run->listener && run->listener->running) {
        run->listener->running(run->listener->context,
                               index < 0 ? -1 : (int64_t)run->first + index);
    }
}

static void tell_outcome(struct batch_run *run, size_t index, const struct measure_answer *answer)
{
    static const enum outcome_kind kinds[] = {[MEASURE_OK] = OUTCOME_SAMPLES,
                                              [MEASURE_WRONG] = OUTCOME_WRONG,
                                              [MEASURE_REFUSED] = OUTCOME_REFUSED};
    if (run->listener && run->listener->outcome) {
        struct outcome outcome = {.kind = kinds[answer->verdict],
                                  .samples = answer->samples,
                                  .nr = answer->verdict == MEASURE_OK ? answer->nr : 0,
                                  .canary = run->canary,
                                  .cost = answer->cost,
                                  .detail = answer->detail};
        run->listener->outcome(run->listener->context, index, &outcome);
    }
}

/* Measures the trials first..end, which share a key. */
static int measure_key(struct batch_run *run, size_t end, struct arena *arena, struct error *error)
{
    size_t nr = end - run->first;
    struct candidate *candidates = arena_alloc(arena, nr, sizeof *candidates);
    unsigned *samples = arena_alloc(arena, nr, sizeof *samples);
    struct measure_answer *answers = arena_alloc(arena, nr, sizeof *answers);
    for (size_t i = 0; i < nr; i++) {
        candidates[i] = run->trials[run->first + i].candidate;
        samples[i] = run->trials[run->first + i].samples;
    }
    const struct measure_request request = {
        .key = &run->trials[run->first].key,
        .candidates = candidates,
        .nr = nr,
        .samples = samples,
        .datatype = TYPE_FLOAT,
        .reduction = REDUCE_SUM,
        .check = true,
        .warmup = 1,
        .seed =
            run->seed + run->trials[run->first].launch * 1000003u + run->trials[run->first].round,
        .running = tell_running,
        .context = run,
    };
    if (measure_run(run->exec, &request, arena, answers, error)) {
        return -1;
    }
    for (size_t i = 0; i < nr; i++) {
        tell_outcome(run, run->first + i, &answers[i]);
    }
    return 0;
}

static int read_trials(struct batch_run *run, const struct json *message, struct arena *arena,
                       struct error *error)
{
    const struct json *list = json_get(message, "batch");
    run->nr = json_length(list);
    run->seed = (uint64_t)json_get_integer(message, "seed", 0);
    run->trials = arena_alloc(arena, run->nr + 1, sizeof *run->trials);
    for (size_t i = 0; i < run->nr; i++) {
        if (trial_from_json(json_item(list, i), arena, &run->trials[i], error)) {
            return -1;
        }
    }
    return 0;
}

/* The same text on all ranks leads to the same steps on all ranks. *dismissed: no batch in it. */
static int work_on_text(struct exec *exec, const char *text, const struct job_listener *listener,
                        bool *dismissed, struct error *error)
{
    struct arena arena = ARENA_EMPTY;
    struct batch_run run = {.exec = exec, .listener = listener};
    struct json *message = json_parse(text, strlen(text), "the batch", error);
    int failed = message ? read_trials(&run, message, &arena, error) : -1;
    *dismissed = !failed && run.nr == 0;
    if (!failed && run.nr) {
        run.canary = measure_canary(exec);
    }
    for (size_t end; !failed && run.first < run.nr; run.first = end) {
        for (end = run.first + 1;
             end < run.nr && key_equal(&run.trials[end].key, &run.trials[run.first].key);) {
            end++;
        }
        failed = measure_key(&run, end, &arena, error);
    }
    json_free(message);
    arena_release(&arena);
    return failed;
}

int job_work(struct exec *exec, const char *batch, const struct job_listener *listener,
             struct error *error)
{
    bool dismissed;
    char *text = strdup(batch);
    if (!text) {
        arena_out_of_memory();
    }
    exec_share_text(exec, &text);
    int failed = work_on_text(exec, text, listener, &dismissed, error);
    free(text);
    return failed;
}

int job_follow(struct exec *exec, struct error *error)
{
    bool dismissed = false;
    int failed = 0;
    while (!failed && !dismissed) {
        char *text = NULL;
        exec_share_text(exec, &text);
        failed = work_on_text(exec, text, NULL, &dismissed, error);
        free(text);
    }
    return failed;
}

void job_dismiss(struct exec *exec)
{
    char text[] = DISMISSED, *shared = text;
    exec_share_text(exec, &shared);
}

void job_buffer_lines(void)
{
    static char lines[1 << 14]; /* in use until the process ends */
    setvbuf(stdout, lines, _IOLBF, sizeof lines);
}

/* Other versions may know more than our check does. */
int job_check_selection(struct error *error)
{
    const char *file = getenv(MPICH_FILE_VARIABLE);
    if (!file || !*file || !strstr(CCLTUNE_MPI_NAME, "MPICH 4.0")) {
        return 0;
    }
    struct json *tree = json_read_file(file, error);
    int failed = !tree || mpich_tree_check(tree, error);
    json_free(tree);
    if (failed) {
        error->status = EXIT_INPUT;
        error_prefix(error, "%s=%s, of which MPICH would crash", MPICH_FILE_VARIABLE, file);
    }
    return failed ? -1 : 0;
}

/* MPICH's selection in force: the user's file where one is set, else the built-in tree. */
static int describe_selection(struct json *library, struct error *error)
{
    const char *file = getenv(MPICH_FILE_VARIABLE);
    struct json *tree = NULL;
    if (strcmp(json_get_text(library, "name", ""), "MPICH")) {
        return 0;
    }
    if (file && *file) {
        tree = json_read_file(file, error);
    } else {
        tree = mpich_tree_extract_file(json_get_text(library, "path", ""), error);
    }
    if (!tree) {
        return -1;
    }
    json_put(library, "tree", tree);
    json_put_text(library, "tree_source", file && *file ? file : "built-in");
    return 0;
}

static void describe_machine(struct json *hello)
{
    struct arena arena = ARENA_EMPTY;
    struct topo topo;
    struct error ignored = ERROR_NONE;
    char fingerprint[TOPO_FINGERPRINT_TEXT] = "unknown";
    const char *machine = "unknown";
    if (topo_load_local(&arena, &topo, &ignored) == 0) {
        topo_fingerprint(&topo, fingerprint);
        machine = topo_describe(&arena, &topo);
    }
    json_put_text(hello, "fingerprint", fingerprint);
    json_put_text(hello, "machine", machine);
    arena_release(&arena);
}

struct json *job_hello(struct exec *exec, struct error *error)
{
    struct exec_place place = exec_place(exec);
    struct json *library = exec_describe_library(exec);
    struct json *hosts = exec_describe_hosts(exec);
    struct json *hello = NULL;
    int failed = 0;
    if (place.rank == 0) {
        hello = json_make_object();
        failed = describe_selection(library, error);
        if (!json_get(library, "version")) { /* our own engine is of this program's */
            json_put_text(library, "version", CCLTUNE_VERSION);
        }
        json_put_text(hello, "tool", CCLTUNE_VERSION);
        json_put(hello, "library", library);
        json_put(hello, "host_names", hosts);
        json_put_integer(hello, "ranks", place.ranks);
        json_put_integer(hello, "hosts", place.hosts);
        json_put_integer(hello, "ranks_per_host", place.local_ranks);
        json_put_integer(hello, "most_ranks_per_host", place.most_local_ranks);
        json_put_integer(hello, "cores", place.cores);
        describe_machine(hello);
    } else {
        json_free(library);
        json_free(hosts);
    }
    if (exec_agree(exec, failed, error)) {
        json_free(hello);
        return NULL;
    }
    return hello;
}
