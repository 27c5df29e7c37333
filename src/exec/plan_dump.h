/* plan_dump.h - a plan as text, for people: one line an operation. */
#ifndef CCLTUNE_PLAN_DUMP_H
#define CCLTUNE_PLAN_DUMP_H

#include "plan.h"

/* malloc'ed:
 *
 *     plan: 1 lane, 34 operations, 12 entries, 1472 bytes
 *     lane 0
 *           0  loop
 *           1  slices     to 1 mod 4: in[0 mod 4]
 *           2  wait-free  to 1 mod 4: in[0 mod 4]
 *
 * Peers are positions (`+count` of them, one after the other), ranges are chunks of a buffer, both
 * through their space: x mod size, or a base and a stride in parentheses. */
char *plan_dump(const struct plan *plan);

#endif
