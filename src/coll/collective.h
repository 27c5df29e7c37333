/* collective.h - the collectives, their names everywhere, and what "size" and "busbw" mean.
 *
 * Only this module knows the bus-bandwidth factors. Sizes have nccl-tests' meaning: the larger of
 * the send and the receive buffer of one rank, in bytes.
 */
#ifndef CCLTUNE_COLLECTIVE_H
#define CCLTUNE_COLLECTIVE_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

enum collective {
    COLL_ALLREDUCE,
    COLL_REDUCE_SCATTER,
    COLL_ALL_GATHER,
    COLL_BROADCAST,
    COLL_REDUCE,
    COLL_ALL_TO_ALL,
    COLL_GATHER,
    COLL_SCATTER,
    COLL_SEND_RECV,
    COLL_NR
};

/* The printed name: "all-gather". */
const char *coll_name(enum collective collective);

/* Accepts the spellings of NCCL (AllGather), nccl-tests (all_gather, all_gather_perf) and MPI
 * (Allgather, MPI_Allgather), in any case. The error names the nearest. */
int coll_parse(const char *text, enum collective *collective, struct error *error);

/* busbw = algbw x factor, for n ranks (nccl-tests doc/PERFORMANCE.md): allreduce 2(n-1)/n;
 * reduce-scatter, all-gather, all-to-all, gather, scatter (n-1)/n; broadcast, reduce, send-recv
 * 1. */
double coll_busbw_factor(enum collective collective, uint32_t ranks);

/* Does it combine values (has a reduction operator)? Has it a root? Can it run in place? */
bool coll_reduces(enum collective collective);
bool coll_rooted(enum collective collective);
bool coll_in_place(enum collective collective);

/* Is `size` divided over the ranks (all-gather, reduce-scatter, all-to-all, gather, scatter)? Then
 * the count of nccl-tests' table is that of one part. */
bool coll_divided(enum collective collective);

/* Elements in one rank's part for a size asked for: size / element bytes, divided by the ranks
 * where the collective divides, rounded down. The size really used is the part times what it was
 * divided by. */
uint64_t coll_count(enum collective collective, uint64_t bytes, uint32_t element_bytes,
                    uint32_t ranks);
uint64_t coll_bytes(enum collective collective, uint64_t count, uint32_t element_bytes,
                    uint32_t ranks);

#endif
