/* mpi_exec.h - the inside of struct exec, for the files of this room. */
#ifndef CCLTUNE_MPI_EXEC_H
#define CCLTUNE_MPI_EXEC_H

#include "exec.h"
#include "runner.h"

#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#define EXEC_LINE        64 /* bytes of a cache line */
#define EXEC_ROUNDS      20 /* of a dissemination barrier: up to 2^20 ranks a host */
#define EXEC_GROUPS_KEPT 16 /* communicators made so far and kept */

struct exec_line { /* one flag alone on its cache line, so that waiting disturbs nobody */
    _Alignas(EXEC_LINE) atomic_uint flag;
};

struct exec_shared { /* each rank's part of the shared window */
    struct exec_line rounds[EXEC_ROUNDS];
    struct exec_line beat;   /* rank 0's, for exec_watch */
    struct exec_line alive;  /* exec_alive.h: this rank's beat, 0 before and after; */
    struct exec_line broken; /* all waits end; */
    struct exec_line told;   /* on local rank 0: somebody tells the user */
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
    uint32_t here;               /* ranks of this host */
    int *world_of;               /* [local] -> rank; malloc'ed */
    unsigned *beats;             /* [local] -> beat at the last question; malloc'ed */
    pthread_t alive_thread;
    sem_t alive_end;
    bool alive_runs;
    const struct runner *runner;
    void *runner_state;
    struct exec_group groups[EXEC_GROUPS_KEPT];
    size_t nr_groups;
};

/* Turns an MPI error code into an error. */
int exec_mpi_failed(int code, const char *what, struct error *error);

/* MPI_Allreduce in place over all ranks. Where they share cores they give way while they wait: MPI
 * itself would spin and keep the others from arriving. */
void exec_allreduce(struct exec *exec, void *values, int nr, MPI_Datatype type, MPI_Op op);

/* exec_agree() among the ranks of a communicator. */
int exec_agree_over(MPI_Comm comm, int failed, struct error *error);

/* All ranks of the job leave within about the time a cache line travels (one host), or as tightly
 * as MPI_Barrier lets them (several). */
void exec_barrier(struct exec *exec);

/* The communicator of `group` on this rank; made at first use. Collective. */
int exec_find_group(struct exec *exec, const struct group *group, struct exec_group **found,
                    struct error *error);

#endif
