/* tune_options.c - the options of `tune`, and finding what to launch. */
#include "tune_session.h"

#include "topo.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct option_row rows[] = {
    {0, NULL, OPTION_HEADING, NULL, "What to tune", 0, NULL},
    {0, "target", OPTION_TEXT, "NAME",
     "the library: mpich; engine, our own; or mpich-aa, a self-test in which every candidate is "
     "the "
     "default and any line would be false",
     offsetof(struct tune_options, target), "mpich"},
    {0, "coll", OPTION_LIST, "NAME",
     "a collective; may be given several times, or as a list a,b,c\n(default: allreduce, "
     "all-gather, "
     "reduce-scatter, broadcast, reduce, all-to-all)",
     offsetof(struct tune_options, collectives), NULL},
    {0, "group", OPTION_LIST, "NAME=HOSTSxRANKS[xSTRIDE][*CONCURRENT]",
     "a group of ranks the job uses, such as tp=1x8 or dp=32x1*8; several may be given\n"
     "(default: all ranks of the launch)",
     offsetof(struct tune_options, groups), NULL},
    {'b', "minbytes", OPTION_SIZE, "SIZE", "first size", offsetof(struct tune_options, first), "8"},
    {'e', "maxbytes", OPTION_SIZE, "SIZE", "last size", offsetof(struct tune_options, last), "4M"},
    {'f', "stepfactor", OPTION_COUNT, "N", "factor between sizes",
     offsetof(struct tune_options, factor), "2"},
    {0, NULL, OPTION_HEADING, NULL, "How", 0, NULL},
    {0, "launch", OPTION_TEXT, "COMMAND",
     "what starts the ranks, such as 'mpiexec -n 8' or 'srun -n 64'\n(default: mpiexec.mpich or "
     "mpiexec with one rank a usable core)",
     offsetof(struct tune_options, launch), NULL},
    {0, "budget", OPTION_SECONDS, "TIME", "measuring time; what it cannot confirm is not proposed",
     offsetof(struct tune_options, budget), "120"},
    {0, "timeout", OPTION_SECONDS, "TIME", "without progress for so long, a job counts as hung",
     offsetof(struct tune_options, timeout), "30"},
    {0, "seed", OPTION_COUNT, "N", "of data and orders; printed with the result",
     offsetof(struct tune_options, seed), "1"},
    {0, "min-gain", OPTION_NUMBER, "PERCENT", "gains below are not worth a line",
     offsetof(struct tune_options, least_gain), "2"},
    {0, "alpha", OPTION_NUMBER, "CHANCE", "of a false line in the whole file",
     offsetof(struct tune_options, alpha), "0.05"},
    {0, "oversubscribe", OPTION_FLAG, NULL, "allow more ranks than cores",
     offsetof(struct tune_options, oversubscribe), NULL},
    {0, "dry-run", OPTION_FLAG, NULL, "say what would be measured and what it would cost, and stop",
     offsetof(struct tune_options, dry_run), NULL},
    {0, NULL, OPTION_HEADING, NULL, "Result", 0, NULL},
    {0, "out", OPTION_TEXT, "DIR", "where the files go; the journal too",
     offsetof(struct tune_options, out), "out"},
    {0, "resume", OPTION_FLAG, NULL, "continue an earlier run of DIR; nothing is measured twice",
     offsetof(struct tune_options, resume), NULL},
    {0, "fresh", OPTION_FLAG, NULL, "forget an earlier run of DIR",
     offsetof(struct tune_options, fresh), NULL},
    {0, "format", OPTION_CHOICE, "table|json|csv", "of the result on standard output",
     offsetof(struct tune_options, format), "table"},
    {0, "require-gain", OPTION_FLAG, NULL, "exit with 1 when nothing is better than the default",
     offsetof(struct tune_options, require_gain), NULL},
    {'q', "quiet", OPTION_FLAG, NULL, "no progress", offsetof(struct tune_options, quiet), NULL},
    {0},
};

const struct option_command tune_page = {
    "tune", "[options]",
    "Measures the real candidates against the default, confirms the winners in fresh launches, "
    "and writes only what was proven: mpich-coll.json or engine-table.json (per size), tuned.env "
    "(names it), result.json (everything measured).",
    "  ccltune tune                                    this machine, its MPICH\n"
    "  ccltune tune --launch 'mpiexec -n 8' --group tp=1x4*2\n"
    "  ccltune tune --coll allreduce -b 64 -e 64K --budget 30\n"
    "  ccltune tune --target engine --launch 'mpiexec -n 4'\n"
    "  mpiexec -n 2 ccltune tune                       inside a launch\n"
    "  ccltune tune --resume                           after an interruption\n",
    rows};

static int check(const struct tune_options *options, int left, char **argv, struct error *error)
{
    if (left > 1) {
        return error_set(error, EXIT_INPUT,
                         "unexpected argument '%s': collectives are given with --coll", argv[1]);
    }
    if (options->factor < 2) {
        return error_set(error, EXIT_INPUT, "--stepfactor %llu: expected 2 or more",
                         (unsigned long long)options->factor);
    }
    if (options->first < 1 || options->last < options->first) {
        return error_set(error, EXIT_INPUT,
                         "sizes %llu to %llu: expected at least 1 byte, and the last not below the "
                         "first",
                         (unsigned long long)options->first, (unsigned long long)options->last);
    }
    if (!(options->alpha > 0) || options->alpha > 0.5) {
        return error_set(error, EXIT_INPUT, "--alpha %g: expected a chance over 0, at most 0.5",
                         options->alpha);
    }
    if (options->timeout < 1) { /* jobs are looked at a few times a second */
        return error_set(error, EXIT_INPUT, "--timeout %g: expected at least 1 second",
                         options->timeout);
    }
    if (options->resume && options->fresh) {
        return error_set(error, EXIT_INPUT, "--resume and --fresh exclude each other");
    }
    return 0;
}

int tune_options_read(int argc, char **argv, struct tune_options *options, bool *help,
                      struct error *error)
{
    int left;
    if (option_parse(&tune_page, argc, argv, options, &left, help, error)) {
        return -1;
    }
    if (*help) {
        option_print_help(&tune_page, stdout);
        return 0;
    }
    if (check(options, left, argv, error)) {
        tune_options_release(options);
        return -1;
    }
    options->least_gain /= 100;
    return 0;
}

void tune_options_release(struct tune_options *options)
{
    free(options->collectives.items);
    free(options->groups.items);
}

static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    stop_asked = 1;
}

const volatile sig_atomic_t *tune_catch_signals(void)
{
    struct sigaction action = {.sa_handler = ask_to_stop}; /* no SA_RESTART: waits end at once */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    return &stop_asked;
}

static bool on_path(const char *name, struct arena *arena)
{
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
        size_t length = strcspn(at, ":");
        if (access(arena_printf(arena, "%.*s/%s", (int)length, at, name), X_OK) == 0) {
            return true;
        }
        at += length + (at[length] == ':');
    }
    return false;
}

int tune_find_launch(const char *wanted, struct arena *arena, const char **launch,
                     struct error *error)
{
    static const char *const launchers[] = {"mpiexec.mpich", "mpiexec.hydra", "mpiexec"};
    struct topo topo;
    if (wanted) {
        *launch = wanted;
        return 0;
    }
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (on_path(launchers[i], arena)) {
            if (topo_load_local(arena, &topo, error)) {
                return -1;
            }
            uint32_t cores = topo_usable_cores(topo.hosts[0].type);
            *launch = arena_printf(arena, "%s -n %u", launchers[i], cores);
            return 0;
        }
    }
    return error_set(error, EXIT_ABSENT,
                     "no MPI launcher found (mpiexec.mpich, mpiexec): say how to launch with "
                     "--launch, such as --launch 'srun -n 16', or install one (Debian: apt install "
                     "mpich)");
}

int tune_find_program(struct arena *arena, const char **path, struct error *error)
{
    char own[4096] = "";
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    char *slash = length > 0 ? strrchr(own, '/') : NULL;
    if (!slash) {
        return error_errno(error, errno, "finding out where this program lies");
    }
    *slash = 0;
    *path = arena_printf(arena, "%s/ccltune-mpi", own);
    if (access(*path, X_OK)) {
        return error_set(
            error, EXIT_ABSENT,
            "%s is missing: build it with make MPICC=mpicc.mpich on a machine with MPI "
            "(make deps installs it)",
            *path);
    }
    return 0;
}
