/* interpreter.h - runs plans on host threads. The same source makes the GPU kernel
 * (interpreter.cu).
 */
#ifndef CCLTUNE_INTERPRETER_H
#define CCLTUNE_INTERPRETER_H

#include "plan.h"

/* Readies a lane for its next call. `lane`, sources and targets are set before its first. */
void plan_begin(const struct plan *plan, struct plan_lane *lane, uint32_t index);

/* Runs the lane until it is done, or at a wait that is not ready (PLAN_WAITING: call again), or at
 * one while the abort flag is up. Never blocks. One thread at a time; the lanes of a call may be
 * served by different threads. After PLAN_DONE all of this lane's effects on own memory are visible
 * to this thread, and no peer reads or writes own buffers on its behalf any more. */
enum plan_status plan_advance(const struct plan *plan, const struct plan_call *call,
                              struct plan_lane *lane);

/* values[i] /= ranks: floating types divide, integers divide and truncate. What makes a sum an
 * average. */
void plan_divide(void *values, uint64_t count, enum plan_type type, uint32_t ranks);

/* The step's sum as the interpreter makes it, for tests: to[t][i] = from[0][i] op from[1][i] op
 * ..., in this order; bfloat16 and float16 add up in float and are rounded once. `to` may equal any
 * `from`. */
void plan_reduce(unsigned char *const *to, uint32_t nr_to, const unsigned char *const *from,
                 uint32_t nr_from, uint32_t bytes, enum plan_type type,
                 enum plan_reduction reduction);

uint32_t plan_type_bytes(enum plan_type type);

#endif
