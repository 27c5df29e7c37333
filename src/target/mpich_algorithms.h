/* mpich_algorithms.h - the collectives of MPICH that are tuned, and their algorithms.
 *
 * A table per collective: how MPICH names an algorithm in the control variable
 * (MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=smp) and in a selection file
 * ("algorithm=MPIR_Allreduce_intra_smp"), and what it needs. The control variable falls back
 * silently when a need is not met; a selection file does not: there an unmet need aborts, hangs or
 * returns wrong data. So needs are ours to know.
 */
#ifndef CCLTUNE_MPICH_ALGORITHMS_H
#define CCLTUNE_MPICH_ALGORITHMS_H

#include "collective.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Everything here was seen with this version; others report which of the names they know. */
#define MPICH_VERIFIED_VERSION "4.0.2"

enum mpich_needs {
    MPICH_NEEDS_POWER_OF_TWO = 1 << 0,  /* ranks */
    MPICH_NEEDS_COUNT = 1 << 1,         /* elements >= the largest power of two <= ranks */
    MPICH_NEEDS_SEVERAL_HOSTS = 1 << 2, /* on one host it calls itself for nothing */
    MPICH_NEEDS_IN_PLACE = 1 << 3,      /* the send buffer is MPI_IN_PLACE */
    MPICH_NEEDS_COMMUTATIVE = 1 << 4,   /* the operation */
    MPICH_NEEDS_BUILT_IN = 1 << 5       /* the operation: MPI_SUM, not a user's */
};

struct mpich_algorithm {
    const char *name; /* in the control variable: "recursive_doubling" */
    const char *leaf; /* in a selection file: "MPIR_Allreduce_intra_recursive_doubling" */
    unsigned needs;   /* of enum mpich_needs */
};

/* What a call is, as far as needs go. */
struct mpich_call {
    uint32_t ranks;
    uint32_t hosts;
    uint64_t count; /* elements of one part, as in the MPI call */
    bool commutative, built_in, in_place;
};

/* How MPICH decides for one collective. The size a selection file may ask for is one of two, and
 * asking for what is not defined for the collective aborts the job at the first call. */
struct mpich_collective {
    enum collective collective;
    const char *name;     /* in selection files: "reduce_scatter_block" */
    const char *variable; /* "MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM" */
    bool sized_by_total;  /* size key total_msg_size, else avg_msg_size; both equal our bytes */
    bool on_node_comm;    /* on one host it may be decided on MPICH's inner node communicator */
    bool asks_commutative, asks_built_in, asks_in_place; /* may is_commutative=... be asked? */
    bool asks_count;                                     /* may count<=N? */
    const struct mpich_algorithm *algorithms;
    size_t nr_algorithms;
};

/* NULL when MPICH's selection of that collective is not tuned. */
const struct mpich_collective *mpich_collective_find(enum collective collective);
/* By the name in selection files ("bcast"). */
const struct mpich_collective *mpich_collective_named(const char *name);

/* By either name; NULL when not known. */
const struct mpich_algorithm *mpich_algorithm_named(const struct mpich_collective *collective,
                                                    const char *name);
const struct mpich_algorithm *mpich_algorithm_of_leaf(const struct mpich_collective *collective,
                                                      const char *leaf);

/* Are the algorithm's needs met? */
bool mpich_algorithm_fits(const struct mpich_algorithm *algorithm, const struct mpich_call *call);

/* The largest power of two <= value; value >= 1. */
uint32_t mpich_power_of_two_below(uint32_t value);

#endif
