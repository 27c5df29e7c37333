/* emission.h - files for the user: staged, loaded in a real launch, then moved into place. */
#ifndef CCLTUNE_EMISSION_H
#define CCLTUNE_EMISSION_H

#include "decision.h"
#include "oracle.h"
#include "target.h"

/* Writes the target's files and result.json into `directory` (absolute). They are first written to
 * directory/staging and loaded by a fresh launch of `oracle`, which measures a point of each row;
 * only when that went well are they renamed into place, the one that names the others last. On
 * failure what lay in `directory` before is as it was. */
int emission_hand_over(const struct target *target, const struct library *library,
                       const struct decision_table *table, const char *directory,
                       struct oracle *oracle, struct error *error);

/* result.json alone. */
int emission_write_result(const struct decision_table *table, const char *directory,
                          struct error *error);

#endif
