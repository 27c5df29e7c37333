/* barrier.c - the start line: a dissemination barrier over flags in shared memory.
 *
 *   round k: tell local rank me + 2^k, wait for me - 2^k        ceil(log2 n) rounds
 *
 * MPI_Barrier lets ranks leave microseconds apart, which small collectives would pay for. Between
 * hosts it is still MPI_Barrier, of the hosts' first ranks.
 * Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988.
 */
#include "mpi_exec.h"

#include <sched.h>

/* Tells the core that this is a spin loop, where there is a way to. */
static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void wait_for(struct exec *exec, atomic_uint *flag, unsigned epoch)
{
    for (unsigned spins = 0; (int)(atomic_load_explicit(flag, memory_order_acquire) - epoch) < 0;
         spins++) {
        if (exec->crowded || spins > 100000) {
            sched_yield();
        } else {
            relax();
        }
    }
}

static void barrier_on_host(struct exec *exec)
{
    int me, ranks;
    MPI_Comm_rank(exec->node, &me);
    MPI_Comm_size(exec->node, &ranks);
    unsigned epoch = ++exec->epoch;
    for (int round = 0, distance = 1; distance < ranks; round++, distance *= 2) {
        atomic_uint *peer = &exec->shared[(me + distance) % ranks]->rounds[round].flag;
        atomic_store_explicit(peer, epoch, memory_order_release);
        wait_for(exec, &exec->shared[me]->rounds[round].flag, epoch);
    }
}

void exec_barrier(struct exec *exec)
{
    barrier_on_host(exec);
    if (exec->place.hosts > 1) {
        if (exec->leaders != MPI_COMM_NULL) {
            MPI_Barrier(exec->leaders);
        }
        barrier_on_host(exec);
    }
}
