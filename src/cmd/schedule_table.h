/* schedule_table.h - algorithms in numbers: the table of all of them. */
#ifndef CCLTUNE_SCHEDULE_TABLE_H
#define CCLTUNE_SCHEDULE_TABLE_H

#include "schedule.h"
#include "table.h"
#include "walk.h"

#include <stdio.h>

/* All rows and collectives at the ranks and levels of `request`; `wanted`: the only collective that
 * is asked for, or COLL_NR. Text is a line a row, JSON and CSV a record a row and collective. */
int schedule_print_table(const struct sched_request *request, enum collective wanted,
                         enum table_format format, FILE *out, struct error *error);

/* "direct access, commutative op", or "nothing". */
const char *schedule_needs(unsigned needs, struct arena *arena);

/* What the busiest position sends, in messages. */
double schedule_volume(const struct schedule *schedule, const struct walk_count *count);

#endif
