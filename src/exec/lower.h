/* lower.h - from a position's program to its plan (kernels/plan.h), and what a call of it needs.
 *
 * A plan has each step as a few operations and each repeat as one more, so it is as small as the
 * program. This file knows no MPI: a plan can be made and looked at anywhere.
 */
#ifndef CCLTUNE_LOWER_H
#define CCLTUNE_LOWER_H

#include "arena.h"
#include "chunk.h"
#include "error.h"
#include "plan.h"
#include "schedule.h"

/* The plan of a position; all of it belongs to the arena. Fails where the engine cannot do what the
 * program asks: a group peer, an operator, a pull or push of several chunks, numbers beyond 32
 * bits. */
int lower_plan(const struct schedule *schedule, uint32_t position, struct arena *arena,
               struct plan *plan, struct error *error);

/* The same for a program at hand. */
int lower_program(const struct schedule *schedule, const struct sched_program *program,
                  struct arena *arena, struct plan *plan, struct error *error);

/* Bytes of a plan: operations and entries. */
uint64_t lower_bytes(const struct plan *plan);

/* The largest chunk that a call may have, in bytes; the same on all positions. A message through
 * slots that leaves before its lane's next receive must fit the window with one slice to spare, and
 * every message must stay under 1 GiB. */
uint64_t lower_chunk_most(const struct schedule *schedule, const struct plan *plan, uint32_t slots,
                          uint32_t slice_bytes);

/* A channel's share as the interpreter wants it. */
struct plan_share lower_share(const struct chunk_plan *chunks);

/* Room for a chunk in scratch: the largest chunk of the share, rounded up to a line. */
uint64_t lower_scratch_bytes(const struct chunk_plan *chunks, uint32_t element_bytes);

#endif
