/* mpi_exec.h - the inside of struct exec, for the files of this room. */
#ifndef CCLTUNE_MPI_EXEC_H
#define CCLTUNE_MPI_EXEC_H

#include "exec.h"
#include "runner.h"

#include <mpi.h>
#include <stdatomic.h>

#define EXEC_LINE        64 /* bytes of a cache line */
#define EXEC_ROUNDS      20 /* of a dissemination barrier: up to 2^20 ranks a host */
#define EXEC_GROUPS_KEPT 16 /* communicators made so far and kept */

struct exec_line { /* one flag alone on its cache line, so that waiting disturbs nobody */
    _Alignas(EXEC_LINE) atomic_uint flag;
};

struct exec_shared { /* each rank's part of the shared window */
    struct exec_line rounds[EXEC_ROUNDS];
    struct exec_line beat;
};

struct exec_group { /* this rank's communicator for a group; MPI_COMM_NULL: not in it */
    struct group group;
    MPI_Comm comm;
    uint32_t position;
};

struct exec {
    struct exec_place place;
    MPI_Comm world, node, leaders; /* own copies; leaders is MPI_COMM_NULL but on local rank 0 */
    MPI_Win window;
    struct exec_shared **shared; /* by local rank; malloc'ed array of pointers into the window */
    unsigned epoch;              /* of the barrier */
    bool crowded;                /* more ranks than cores: give way while waiting */
    const struct runner *runner;
    void *runner_state;
    struct exec_group groups[EXEC_GROUPS_KEPT];
    size_t nr_groups;
};

/* Turns an MPI error code into an error. */
int exec_mpi_failed(int code, const char *what, struct error *error);

/* All ranks of the job leave within about the time a cache line travels (one host), or as tightly
 * as MPI_Barrier lets them (several). */
void exec_barrier(struct exec *exec);

/* The communicator of `group` on this rank; made at first use. Collective. */
int exec_find_group(struct exec *exec, const struct group *group, struct exec_group **found,
                    struct error *error);

#endif
