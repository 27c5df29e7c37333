/* sched_check.h - proves, without running anything, that a schedule computes its collective.
 *
 * Three loops x two calls back to back, for the window and the slices at hand:
 *  - every output chunk holds each contribution exactly once;
 *  - every receive has its send and the other way round, with as many slices; nothing is left over;
 *  - no deadlock in the one order of a step (schedule.h);
 *  - no two unordered accesses to one chunk of which one is a write (vector clocks over lanes; the
 *    next call's writes of inputs and reads of outputs count);
 *  - no slot reused before it is freed; no more credits than copies of scratch can bear.
 * Faults are named with the position's rank, channel, lane, step and repetition.
 */
#ifndef CCLTUNE_SCHED_CHECK_H
#define CCLTUNE_SCHED_CHECK_H

#include "schedule.h"

enum sched_fault {
    FAULT_NONE,
    FAULT_MALFORMED,    /* an index out of its buffer, a peer that is not there, too large */
    FAULT_WRONG_RESULT, /* missing, doubled or foreign contribution */
    FAULT_UNMATCHED,    /* a message nobody takes, or more slices than expected */
    FAULT_DEADLOCK,
    FAULT_RACE,
    FAULT_OVERRUN, /* slot reused before it is freed, or a scratch copy */
    FAULT_UNREAD   /* uninitialised chunk read */
};

struct sched_check_options {
    uint32_t window;           /* slots of a connection, a power of two >= 2 */
    uint32_t slices_per_chunk; /* >= 1: all full chunks are cut so */
    uint32_t loops, calls;     /* 3, 2 */
    uint64_t seed;             /* of the order in which lanes are served */
};
extern const struct sched_check_options sched_check_usual;

/* EXIT_INPUT with the fault worded; *fault may be NULL. */
int sched_check(const struct schedule *schedule, const struct sched_check_options *options,
                enum sched_fault *fault, struct error *error);
const char *sched_fault_name(enum sched_fault fault);

#endif
