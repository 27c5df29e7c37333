/* launch.h - starting a launcher (mpiexec, srun, ...), watching it, and leaving nothing behind. */
#ifndef CCLTUNE_LAUNCH_H
#define CCLTUNE_LAUNCH_H

#include "arena.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LAUNCH_TAIL_BYTES 2048

struct launch {
    pid_t pid;     /* of the launcher, leader of its own process group; 0 = none */
    int output_fd; /* what launcher and ranks print; -1 = closed */
    char tail[LAUNCH_TAIL_BYTES + 1]; /* the end of it, for error messages */
    size_t tail_nr;
    int exit_status; /* of waitpid, once it ended */
    bool ended;
};

/* Splits a command line into words as a shell would: quotes and backslashes, nothing else is
 * special. NULL-ended, arena-owned. An open quote is an error. */
int launch_split(const char *command, struct arena *arena, char ***words, size_t *nr,
                 struct error *error);

/* Starts `words` (NULL-ended) with standard input closed and both outputs in a pipe. Variables
 * that a surrounding MPI launch left in the environment (PMI_*, PMIX_*, HYDRA_*, HYDI_*, OMPI_*,
 * MPIEXEC_*) are not passed on. The child dies with this process (Linux). */
int launch_start(char *const words[], struct launch *launch, struct error *error);

/* Takes in output and notes the end of the launcher. Never waits. */
void launch_poll(struct launch *launch);

/* Ends launcher and ranks: asks (SIGTERM), then kills after `grace` seconds; waits for the
 * launcher. Fine when it ended already. */
void launch_stop(struct launch *launch, double grace);

/* "exited with 3", "was killed by signal 9", for error messages; arena-owned. */
const char *launch_describe_end(const struct launch *launch, struct arena *arena);

#endif
