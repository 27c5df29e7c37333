/* schedule_page.h - one schedule on a page. */
#ifndef CCLTUNE_SCHEDULE_PAGE_H
#define CCLTUNE_SCHEDULE_PAGE_H

#include "schedule.h"
#include "table.h"

#include <stdio.h>

/* What it is, its shape, its counts, its programs; JSON is one object, without programs. Every
 * index of the schedule must be in its place. */
int schedule_print_page(const struct schedule *schedule, enum table_format format, FILE *out,
                        struct error *error);

#endif
