/* cmd_tune_ranks.c - `mpiexec -n 8 ccltune tune`: this launch is the standing job.
 *
 * The race runs on the ranks at hand. Confirmation wants fresh launches, which a job on one host
 * can make by itself (a launch inside the launch, while these ranks sleep); on several hosts it
 * cannot, and says how to do it from outside. Nothing is proven without them.
 */
#include "commands.h"
#include "job_work.h"
#include "progress.h"
#include "supervisor.h"
#include "target.h"
#include "tune_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

struct ranks_oracle { /* launch 0: these ranks; other launches: the supervisor, if there is one */
    struct exec *exec;
    struct supervisor *supervisor; /* NULL: no fresh launches from in here */
    struct oracle fresh;
    const volatile sig_atomic_t *stop;
};

struct take { /* outcomes of one batch as they come */
    struct outcome *outcomes;
    struct arena *arena;
};

static void take_outcome(void *context, size_t trial, const struct outcome *outcome)
{
    struct take *take = context;
    struct outcome *mine = &take->outcomes[trial];
    *mine = *outcome;
    mine->samples = arena_alloc(take->arena, outcome->nr + 1, sizeof(double));
    if (outcome->nr) {
        memcpy(mine->samples, outcome->samples, outcome->nr * sizeof(double));
    }
    mine->detail = arena_strdup(take->arena, outcome->detail);
}

static int run_here(struct ranks_oracle *ranks, const struct trial *trials, size_t nr,
                    struct arena *arena, struct outcome *outcomes, struct error *error)
{
    struct take take = {outcomes, arena};
    const struct job_listener listener = {NULL, take_outcome, &take};
    struct json *message = json_make_object(), *list = json_make_array();
    for (size_t i = 0; i < nr; i++) {
        json_append(list, trial_to_json(&trials[i]));
    }
    json_put(message, "batch", list);
    json_put_integer(message, "seed", 1);
    char *text = json_to_text(message, 0);
    json_free(message);
    int failed = job_work(ranks->exec, text, &listener, error);
    free(text);
    return failed;
}

static int run_ranks(struct oracle *oracle, const struct trial *trials, size_t nr,
                     struct arena *arena, struct outcome *outcomes, struct error *error)
{
    struct ranks_oracle *ranks = oracle->state;
    if (*ranks->stop) {
        return error_set(error, EXIT_STOPPED, "stopped");
    }
    if (trials[0].launch == 0) {
        return run_here(ranks, trials, nr, arena, outcomes, error);
    }
    if (ranks->supervisor) {
        return ranks->fresh.run(&ranks->fresh, trials, nr, arena, outcomes, error);
    }
    for (size_t i = 0; i < nr; i++) {
        outcomes[i] = (struct outcome){
            .kind = OUTCOME_REFUSED,
            .canary = NAN,
            .detail = "no fresh launches from inside a job on several hosts: run ccltune tune "
                      "--launch '...' from where the job is launched"};
    }
    return 0;
}

static void close_ranks(struct oracle *oracle)
{
    oracle->state = NULL;
}

/* Rank 0 of a launch: the whole tuning. */
static int tune_here(struct exec *exec, const struct tune_options *options,
                     const struct target *target, const struct json *hello, struct error *error)
{
    struct arena arena = ARENA_EMPTY;
    struct progress notes;
    struct exec_place place = exec_place(exec);
    struct ranks_oracle ranks = {.exec = exec, .stop = tune_catch_signals()};
    struct supervisor_options job = {.library = target->runner,
                                     .timeout = options->timeout,
                                     .seed = options->seed,
                                     .stop = ranks.stop,
                                     .note = progress_note,
                                     .note_context = &notes};
    const char *launch = arena_printf(&arena, "mpiexec.mpich -launcher fork -n %u", place.ranks);
    int status;
    progress_begin(&notes, true);
    job.launch = launch;
    if (place.hosts == 1 && (tune_find_program(&arena, &job.program, error) ||
                             supervisor_open(&job, &ranks.supervisor, error))) {
        status = (int)error->status;
    } else {
        if (ranks.supervisor) {
            ranks.fresh = supervisor_oracle(ranks.supervisor);
        }
        struct oracle oracle = {.name = "these ranks",
                                .evidence = EVIDENCE_MEASURED,
                                .noise = 0.1,
                                .price_call = 1e-6,
                                .price_communicator = 1e-3,
                                .price_launch = 0.2, /* a local launch, generously */
                                .run = run_ranks,
                                .close = close_ranks,
                                .state = &ranks};
        status = tune_session(options, launch, hello, &oracle, error);
    }
    supervisor_close(ranks.supervisor);
    arena_release(&arena);
    return status;
}

static int tune_on_ranks(const struct tune_options *options, int argc, char **argv,
                         struct error *error)
{
    struct exec *exec;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever launched this rank died: follow */
    const struct target *target = target_find(options->target, error);
    if (!target || job_check_selection(error) || exec_start(&argc, &argv, &exec, error)) {
        return (int)error->status;
    }
    job_buffer_lines();
    int failed =
        exec_open_library(exec, target->runner, error) ||
        exec_agree(exec,
                   exec_check_cores(exec, exec_library_spins(exec), options->oversubscribe, error),
                   error);
    bool first = exec_place(exec).rank == 0;
    struct json *hello = failed ? NULL : job_hello(exec, error);
    failed = exec_agree(exec, failed || (first && !hello), error);
    int status = failed ? (int)error->status : EXIT_OK;
    if (!failed && first) {
        status = tune_here(exec, options, target, hello, error);
        job_dismiss(exec);
    } else if (!failed && job_follow(exec, error)) {
        exec_die((int)error->status);
    }
    json_free(hello);
    exec_stop(exec);
    if (!first) {
        error->message[0] = 0; /* said once, by rank 0 */
    }
    return status;
}

int cmd_tune_ranks(int argc, char **argv, struct error *error)
{
    struct tune_options options;
    bool help = false;
    if (!command_launched()) {
        return cmd_tune(argc, argv, error);
    }
    if (tune_options_read(argc, argv, &options, &help, error)) {
        return (int)error->status;
    }
    int status = EXIT_OK;
    if (options.launch) {
        error_set(error, EXIT_INPUT,
                  "--launch inside a launch: start ccltune tune without mpiexec");
        status = EXIT_INPUT;
    } else if (!help) {
        status = tune_on_ranks(&options, argc, argv, error);
    }
    tune_options_release(&options);
    return status;
}
