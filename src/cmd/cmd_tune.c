/* cmd_tune.c - `tune` as the supervisor: no MPI here, jobs are launched. */
#include "commands.h"
#include "progress.h"
#include "supervisor.h"
#include "target.h"
#include "tune_session.h"

#include <stddef.h>

static int tune_launched(const struct tune_options *options, struct error *error)
{
    const struct target *target = target_find(options->target, error);
    if (!target) {
        return (int)error->status;
    }
    struct arena arena = ARENA_EMPTY;
    struct progress notes;
    struct supervisor *supervisor = NULL;
    const struct json *hello;
    struct supervisor_options job = {.library = target->runner,
                                     .timeout = options->timeout,
                                     .seed = options->seed,
                                     .stop = tune_catch_signals(),
                                     .note = progress_note,
                                     .note_context = &notes};
    int status = EXIT_OK;
    progress_begin(&notes, true);
    if (tune_find_launch(options->launch, &arena, &job.launch, error) ||
        tune_find_program(&arena, &job.program, error) ||
        supervisor_open(&job, &supervisor, error) || supervisor_hello(supervisor, &hello, error)) {
        status = (int)error->status;
    } else {
        struct oracle oracle = supervisor_oracle(supervisor);
        status = tune_session(options, job.launch, hello, &oracle, error);
    }
    supervisor_close(supervisor);
    arena_release(&arena);
    return status;
}

int cmd_tune(int argc, char **argv, struct error *error)
{
    struct tune_options options;
    bool help = false;
    if (tune_options_read(argc, argv, &options, &help, error)) {
        return (int)error->status;
    }
    int status = help ? EXIT_OK : tune_launched(&options, error);
    tune_options_release(&options);
    return status;
}
