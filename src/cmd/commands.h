/* commands.h - the table of subcommands, and what they share. */
#ifndef CCLTUNE_COMMANDS_H
#define CCLTUNE_COMMANDS_H

#include "error.h"

#include <stdbool.h>
#include <stdio.h>

enum command_mpi {
    MPI_NEVER,    /* runs in ccltune, also under a launcher */
    MPI_OPTIONAL, /* in ccltune-mpi when launched, else in ccltune */
    MPI_REQUIRED  /* needs a launcher */
};

struct command {
    const char *name;
    const char *summary;
    enum command_mpi mpi;
    bool hidden; /* for the program's own use: not listed by help */
    /* argv[0] is the command's name. Returns the exit status; when it is not 0 and `error` is
     * filled, main prints it. */
    int (*run)(int argc, char **argv, struct error *error);
};

/* The rows, ended by a row without a name. `run` is NULL where this program lacks the command. */
extern const struct command commands[];

/* The row named `name`; the error names the nearest. */
const struct command *command_find(const char *name, struct error *error);

/* Was this process started by an MPI launcher (PMI, PMIx, Open MPI, a Slurm step)? */
bool command_launched(void);
/* Is it rank 0 of the launch, by the environment (true when not launched)? */
bool command_launched_first(void);

int cmd_topo(int argc, char **argv, struct error *error);
int cmd_schedule(int argc, char **argv, struct error *error);
int cmd_bench(int argc, char **argv, struct error *error);
int cmd_tune(int argc, char **argv, struct error *error);
int cmd_tune_ranks(int argc, char **argv, struct error *error);
int cmd_verify(int argc, char **argv, struct error *error);
int cmd_job(int argc, char **argv, struct error *error);
int cmd_help(int argc, char **argv, struct error *error);
int cmd_version(int argc, char **argv, struct error *error);

#endif
