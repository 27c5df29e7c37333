/* tune_print.h - a decision table for people, and as rows. */
#ifndef CCLTUNE_TUNE_PRINT_H
#define CCLTUNE_TUNE_PRINT_H

#include "decision.h"
#include "table.h"

/* The verdict, the lines with their gains, what was not adopted, in that order. */
void tune_print_summary(const struct decision_table *table, FILE *out);

/* All points as rows (for CSV). */
void tune_print_points(const struct decision_table *table, enum table_format format, FILE *out);

#endif
