/* main.c - picks the command, moves to ccltune-mpi where ranks are needed, prints errors.
 *
 * The user knows one name. `mpiexec -n 8 ccltune bench` starts eight ccltune, each of which
 * executes ccltune-mpi in its place: same arguments, environment and descriptors. Both must be of
 * one version; argv[0] carries it ("ccltune/0.1.0").
 */
#include "build_info.h"
#include "commands.h"
#include "file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK "ccltune/"

static int report(const char *command, const struct error *error)
{
    if (error->message[0] && command_launched_first()) {
        fprintf(stderr, "ccltune%s%s: %s\n", command ? " " : "", command ? command : "",
                error->message);
    }
    return (int)error->status;
}

#if !CCLTUNE_WITH_MPI
static int become_mpi(char **argv, struct error *error)
{
    char path[4096] = "", mark[] = MARK CCLTUNE_VERSION;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash = length > 0 ? strrchr(path, '/') : NULL;
    if (!slash || (size_t)(slash - path) + sizeof "/ccltune-mpi" > sizeof path) {
        return error_set(error, EXIT_SYSTEM, "cannot find out where this program lies");
    }
    strcpy(slash, "/ccltune-mpi");
    argv[0] = mark;
    execv(path, argv);
    return error_set(error, EXIT_ABSENT,
                     "this command needs ranks, and %s cannot be run (%s): build it with "
                     "make MPICC=mpicc.mpich on a machine with MPI (make deps installs it)",
                     path, strerror(errno));
}

static int require_launch(const char *name, struct error *error)
{
    return error_set(error, EXIT_INPUT,
                     "needs ranks: launch it, such as: mpiexec -n 2 ccltune %s ... (with Debian's "
                     "MPICH: mpiexec.mpich)",
                     name);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            return true;
        }
    }
    return false;
}

/* --launch always means the supervisor, also inside a launch. */
static bool asks_for_launch(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "--launch", 8) && (argv[i][8] == 0 || argv[i][8] == '=')) {
            return true;
        }
    }
    return false;
}

static int settle_program(const struct command *command, int argc, char **argv, char **all,
                          struct error *error)
{
    if (command->mpi == MPI_REQUIRED) {
        if (asks_for_help(argc, argv)) {
            return become_mpi(all, error); /* its page is made from its rows, which lie there */
        }
        return command_launched() ? become_mpi(all, error) : require_launch(command->name, error);
    }
    if (command->mpi == MPI_OPTIONAL && command_launched() && !asks_for_launch(argc, argv)) {
        return become_mpi(all, error);
    }
    return 0;
}
#else
static int settle_program(const struct command *command, int argc, char **argv, char **all,
                          struct error *error)
{
    (void)command;
    (void)argc;
    (void)argv;
    size_t mark = strlen(MARK);
    if (!strncmp(all[0], MARK, mark) && strcmp(all[0] + mark, CCLTUNE_VERSION)) {
        return error_set(error, EXIT_ABSENT,
                         "ccltune is version %s and ccltune-mpi beside it is %s: install both from "
                         "one build",
                         all[0] + mark, CCLTUNE_VERSION);
    }
    return 0;
}
#endif

int main(int argc, char **argv)
{
    struct error error = ERROR_NONE;
    const char *name = argc > 1 ? argv[1] : "help";
    signal(SIGPIPE, SIG_IGN); /* writes fail with EPIPE or EFBIG, and say so */
    signal(SIGXFSZ, SIG_IGN);
    if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
        name = "help";
    } else if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
        name = "version";
    }
    const struct command *command = command_find(name, &error);
    if (!command) {
        return report(NULL, &error);
    }
    if (settle_program(command, argc - 1, argv + 1, argv, &error)) {
        return report(command->name, &error);
    }
    char *none[] = {argc > 1 ? argv[1] : argv[0], NULL};
    int status =
        argc > 1 ? command->run(argc - 1, argv + 1, &error) : command->run(1, none, &error);
    if (error.message[0]) {
        report(command->name, &error);
    }
    if (fflush(stdout) || ferror(stdout)) {
        error_errno(&error, errno, "writing the result to standard output");
        return status ? status : report(command->name, &error);
    }
    return status;
}
