/* thread_run.h - a schedule run by threads of one process, one a rank: plans and interpreter as the
 * ranks of a job use them, without MPI. For trying a schedule out, and for finding races in it.
 *
 * Each thread serves all lanes of its rank in turn. Connections lie in ordinary memory.
 */
#ifndef CCLTUNE_THREAD_RUN_H
#define CCLTUNE_THREAD_RUN_H

#include "plan.h"
#include "schedule.h"

struct thread_request {
    const struct schedule *schedule; /* kept */
    uint32_t hosts, ranks_per_host;  /* product = the schedule's ranks; how ranks are laid out */
    uint32_t channels;
    uint32_t root;  /* of a rooted collective */
    uint64_t count; /* elements of one part */
    enum plan_type type;
    enum plan_reduction reduction;
    bool average; /* with PLAN_SUM */
    enum plan_protocol protocol;
    uint32_t slots;       /* window: a power of two, >= 2 */
    uint32_t slice_bytes; /* a multiple of 16 */
    uint64_t chunk_bytes; /* the largest; cut down to what the window allows */
    bool yields;          /* ranks exceed cores */
};

struct thread_run; /* opaque */

/* Makes plans, connections and scratch of all ranks. */
int thread_run_open(const struct thread_request *request, struct thread_run **run,
                    struct error *error);
void thread_run_close(struct thread_run *run);

/* The buffers of a rank's next calls: the whole in and out as the collective has them (equal, or
 * one inside the other, in place). Not while a call runs. */
void thread_run_set_buffers(struct thread_run *run, uint32_t rank, void *in, void *out);

/* One rank's part of a call, by the calling thread; every rank needs one. -1: aborted. */
int thread_run_rank(struct thread_run *run, uint32_t rank);

/* Ends all waits of all ranks. */
void thread_run_abort(struct thread_run *run);

/* One call by a thread of its own for every rank; aborted, with an error that names a rank that
 * waited, when it takes longer than `seconds`. */
int thread_run_all(struct thread_run *run, double seconds, struct error *error);

#endif
