/* commands.c - which commands there are. Compiled twice: in ccltune the commands that need MPI have
 * no function, and main executes ccltune-mpi in its place.
 */
#include "commands.h"

#include <string.h>

#if CCLTUNE_WITH_MPI
#define WITH_MPI(function) function
#define TUNE               cmd_tune_ranks
#else
#define WITH_MPI(function) NULL
#define TUNE               cmd_tune
#endif

const struct command commands[] = {
    {"topo", "what machine is this (or does this file describe)?", MPI_NEVER, false, cmd_topo},
    {"schedule", "what moves when: algorithms as tables, pages, pictures, proofs", MPI_NEVER, false,
     cmd_schedule},
    {"bench", "time collectives on real ranks, in nccl-tests' table", MPI_REQUIRED, false,
     WITH_MPI(cmd_bench)},
    {"tune", "find, prove and write the settings that make collectives fastest here", MPI_OPTIONAL,
     false, TUNE},
    {"verify", "measure again what a tuned directory promises", MPI_NEVER, false, cmd_verify},
    {"help", "this page, or a command's: ccltune help tune", MPI_NEVER, false, cmd_help},
    {"version", "version, and what this build found", MPI_NEVER, false, cmd_version},
    {"job", "the launched side of tune and verify (started by them)", MPI_REQUIRED, true,
     WITH_MPI(cmd_job)},
    {NULL, NULL, MPI_NEVER, false, NULL},
};

const struct command *command_find(const char *name, struct error *error)
{
    const char *names[sizeof commands / sizeof *commands] = {NULL};
    size_t nr = 0;
    for (const struct command *c = commands; c->name; c++) {
        if (!strcmp(c->name, name)) {
            return c;
        }
        if (!c->hidden) {
            names[nr++] = c->name;
        }
    }
    const char *near = error_nearest(name, names);
    if (near) {
        error_set(error, EXIT_INPUT, "unknown command '%s': did you mean '%s'?", name, near);
    } else {
        error_set(error, EXIT_INPUT, "unknown command '%s': 'ccltune help' lists them", name);
    }
    return NULL;
}
