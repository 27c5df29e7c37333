/* sched_text.h - the text form of a schedule: what a person reads, writes, and hands to --algo
 * file:x.sched. Round-trips. */
#ifndef CCLTUNE_SCHED_TEXT_H
#define CCLTUNE_SCHED_TEXT_H

#include "schedule.h"

/* The whole schedule as text; sched_parse.c has the grammar. Positions whose programs are equal,
 * seen from the position itself, share a block. malloc'ed. */
char *sched_dump(const struct schedule *schedule);

/* Reads it back. Errors are "name:line:col: ...". Limits: 4,096 ranks, 8 lanes, 100,000 items
 * counted for every position, 2^24 repetitions; numbers stay under 2^24, peers and chunks within
 * the group and their buffer in every repetition. Everything belongs to the arena, on failure too.
 */
int sched_load(struct arena *arena, const char *text, size_t length, const char *name,
               struct schedule *schedule, struct error *error);
int sched_load_file(struct arena *arena, const char *path, struct schedule *schedule,
                    struct error *error);

#endif
