/* mpich_algorithms.c - what MPICH 4.0.2 (ch4:ucx, as Debian 12 ships it) does, found by running it.
 *
 * Needs: each algorithm was forced by its control variable with MPIR_CVAR_COLLECTIVE_FALLBACK=error
 * (which names the unusable) and by a selection file (which obeys without asking), with 2, 3 and 4
 * ranks of one host, built-in, user-defined and non-commutative operations, in place and not, and
 * the messages sent were compared. In a file, of what the variable refuses: reduce smp sends
 * nothing at all (wrong results), bcast smp and all-gather recursive_doubling on 3 ranks abort.
 *
 * Sizes: with thresholds on either side of a size. avg_msg_size = count x type size for allreduce,
 * bcast, reduce (= our bytes) and for alltoall per pair (= bytes / ranks); asked for allgather or
 * reduce_scatter_block it aborts: "avg_msg_size not defined for coll_type". total_msg_size is
 * defined for all six: ranks x the above, and for allgather, reduce_scatter_block and alltoall that
 * is our bytes. So each collective is sized by the key that equals bytes.
 *
 * The inner communicator: the ch4 device first chooses a composition, and those of bcast (alpha,
 * beta) and reduce (alpha) call MPIR_Bcast and MPIR_Reduce on the node's communicator, even where
 * it holds all ranks. Tags show it (another context id). There comm_size=node_comm_size is false
 * and comm_hierarchy=node is true; on the user's communicator it is the other way round.
 *
 * Operations: is_commutative and is_op_built_in are defined for allreduce and reduce;
 * is_op_built_in asked for reduce_scatter_block, either asked for bcast, is_sendbuf_inplace asked
 * for anything but alltoall: abort at the first call.
 */
#include "mpich_algorithms.h"

#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { REDUCES = MPICH_NEEDS_COMMUTATIVE | MPICH_NEEDS_BUILT_IN | MPICH_NEEDS_COUNT };

static const struct mpich_algorithm allreduce[] = {
    {"recursive_doubling", "MPIR_Allreduce_intra_recursive_doubling", 0},
    {"reduce_scatter_allgather", "MPIR_Allreduce_intra_reduce_scatter_allgather", REDUCES},
    {"smp", "MPIR_Allreduce_intra_smp", MPICH_NEEDS_COMMUTATIVE},
    {"nb", "MPIR_Allreduce_allcomm_nb", 0},
};

static const struct mpich_algorithm allgather[] = {
    {"recursive_doubling", "MPIR_Allgather_intra_recursive_doubling", MPICH_NEEDS_POWER_OF_TWO},
    {"brucks", "MPIR_Allgather_intra_brucks", 0},
    {"ring", "MPIR_Allgather_intra_ring", 0},
    {"nb", "MPIR_Allgather_allcomm_nb", 0},
};

static const struct mpich_algorithm reduce_scatter_block[] = {
    {"recursive_halving", "MPIR_Reduce_scatter_block_intra_recursive_halving",
     MPICH_NEEDS_COMMUTATIVE},
    {"pairwise", "MPIR_Reduce_scatter_block_intra_pairwise", MPICH_NEEDS_COMMUTATIVE},
    {"recursive_doubling", "MPIR_Reduce_scatter_block_intra_recursive_doubling", 0},
    {"noncommutative", "MPIR_Reduce_scatter_block_intra_noncommutative", MPICH_NEEDS_POWER_OF_TWO},
    {"nb", "MPIR_Reduce_scatter_block_allcomm_nb", 0},
};

static const struct mpich_algorithm bcast[] = {
    {"binomial", "MPIR_Bcast_intra_binomial", 0},
    {"scatter_recursive_doubling_allgather",
     "MPIR_Bcast_intra_scatter_recursive_doubling_allgather", 0},
    {"scatter_ring_allgather", "MPIR_Bcast_intra_scatter_ring_allgather", 0},
    {"smp", "MPIR_Bcast_intra_smp", MPICH_NEEDS_SEVERAL_HOSTS},
    {"nb", "MPIR_Bcast_allcomm_nb", 0},
};

static const struct mpich_algorithm reduce[] = {
    {"binomial", "MPIR_Reduce_intra_binomial", 0},
    {"reduce_scatter_gather", "MPIR_Reduce_intra_reduce_scatter_gather", REDUCES},
    {"smp", "MPIR_Reduce_intra_smp", MPICH_NEEDS_SEVERAL_HOSTS},
    {"nb", "MPIR_Reduce_allcomm_nb", 0},
};

static const struct mpich_algorithm alltoall[] = {
    {"brucks", "MPIR_Alltoall_intra_brucks", 0},
    {"scattered", "MPIR_Alltoall_intra_scattered", 0},
    {"pairwise", "MPIR_Alltoall_intra_pairwise", 0},
    {"pairwise_sendrecv_replace", "MPIR_Alltoall_intra_pairwise_sendrecv_replace",
     MPICH_NEEDS_IN_PLACE},
    {"nb", "MPIR_Alltoall_allcomm_nb", 0},
};

#define ROW(lower, upper)                                                                          \
    .name = #lower, .variable = "MPIR_CVAR_" upper "_INTRA_ALGORITHM", .algorithms = lower,        \
    .nr_algorithms = LENGTH(lower)

static const struct mpich_collective collectives[] = {
    {COLL_ALLREDUCE, ROW(allreduce, "ALLREDUCE"), .asks_commutative = true, .asks_built_in = true,
     .asks_count = true},
    {COLL_ALL_GATHER, ROW(allgather, "ALLGATHER"), .sized_by_total = true},
    {COLL_REDUCE_SCATTER, ROW(reduce_scatter_block, "REDUCE_SCATTER_BLOCK"), .sized_by_total = true,
     .asks_commutative = true},
    {COLL_BROADCAST, ROW(bcast, "BCAST"), .on_node_comm = true, .asks_count = true},
    {COLL_REDUCE, ROW(reduce, "REDUCE"), .on_node_comm = true, .asks_commutative = true,
     .asks_built_in = true, .asks_count = true},
    {COLL_ALL_TO_ALL, ROW(alltoall, "ALLTOALL"), .sized_by_total = true, .asks_in_place = true},
};

const struct mpich_collective *mpich_collective_find(enum collective collective)
{
    for (size_t i = 0; i < LENGTH(collectives); i++) {
        if (collectives[i].collective == collective) {
            return &collectives[i];
        }
    }
    return NULL;
}

const struct mpich_collective *mpich_collective_named(const char *name)
{
    for (size_t i = 0; i < LENGTH(collectives); i++) {
        if (!strcmp(collectives[i].name, name)) {
            return &collectives[i];
        }
    }
    return NULL;
}

const struct mpich_algorithm *mpich_algorithm_named(const struct mpich_collective *collective,
                                                    const char *name)
{
    for (size_t i = 0; i < collective->nr_algorithms; i++) {
        if (!strcmp(collective->algorithms[i].name, name)) {
            return &collective->algorithms[i];
        }
    }
    return NULL;
}

const struct mpich_algorithm *mpich_algorithm_of_leaf(const struct mpich_collective *collective,
                                                      const char *leaf)
{
    for (size_t i = 0; i < collective->nr_algorithms; i++) {
        if (!strcmp(collective->algorithms[i].leaf, leaf)) {
            return &collective->algorithms[i];
        }
    }
    return NULL;
}

bool mpich_algorithm_fits(const struct mpich_algorithm *algorithm, const struct mpich_call *call)
{
    uint32_t power = mpich_power_of_two_below(call->ranks);
    unsigned met = (call->ranks == power ? MPICH_NEEDS_POWER_OF_TWO : 0U) |
                   (call->count >= power ? MPICH_NEEDS_COUNT : 0U) |
                   (call->hosts > 1 ? MPICH_NEEDS_SEVERAL_HOSTS : 0U) |
                   (call->in_place ? MPICH_NEEDS_IN_PLACE : 0U) |
                   (call->commutative ? MPICH_NEEDS_COMMUTATIVE : 0U) |
                   (call->built_in ? MPICH_NEEDS_BUILT_IN : 0U);
    return (algorithm->needs & ~met) == 0;
}

uint32_t mpich_power_of_two_below(uint32_t value)
{
    uint32_t power = 1;
    while (power <= value / 2) {
        power *= 2;
    }
    return power;
}
