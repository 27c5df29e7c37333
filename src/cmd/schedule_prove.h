/* schedule_prove.h - `schedule --check`: the checker over the windows and slices that matter. */
#ifndef CCLTUNE_SCHEDULE_PROVE_H
#define CCLTUNE_SCHEDULE_PROVE_H

#include "schedule.h"

#include <stdio.h>

/* Checks a schedule in the form its request has, and says so in a line or two. The first fault is
 * the error. */
int schedule_prove(const struct schedule *schedule, FILE *out, struct error *error);

#endif
