/* datatype.h - element types and reductions under nccl-tests' names, and test data for them. */
#ifndef CCLTUNE_DATATYPE_H
#define CCLTUNE_DATATYPE_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

enum datatype {
    TYPE_INT8,
    TYPE_UINT8,
    TYPE_INT32,
    TYPE_UINT32,
    TYPE_INT64,
    TYPE_UINT64,
    TYPE_FLOAT,
    TYPE_DOUBLE,
    TYPE_HALF, /* these two and avg are not MPI's */
    TYPE_BFLOAT16,
    TYPE_NR
};
enum reduction { REDUCE_SUM, REDUCE_PROD, REDUCE_MIN, REDUCE_MAX, REDUCE_AVG, REDUCE_NR };

/* "float", "int8", "half" or "float16", ... */
int datatype_parse(const char *text, enum datatype *type, struct error *error);
const char *datatype_name(enum datatype type);
uint32_t datatype_bytes(enum datatype type);

/* "sum", "prod", "min", "max", "avg": the sum divided by the ranks, truncated for whole numbers. */
int reduction_parse(const char *text, enum reduction *reduction, struct error *error);
const char *reduction_name(enum reduction reduction);

/* Test data. Element j of rank r's input is pattern(r, j mod PATTERN_ELEMENTS): small whole numbers
 * that all types hold and floating sums hold exactly. The period is a prime, so that a chunk that
 * ends up in a wrong place shows. */
#define PATTERN_ELEMENTS 4093

struct pattern; /* opaque: tiles for one (seed, ranks, type, reduction) */

struct pattern *pattern_make(uint64_t seed, uint32_t ranks, enum datatype type,
                             enum reduction reduction);
void pattern_free(struct pattern *pattern);

/* Writes elements first.. of rank's input: out[i] = pattern(rank, first + i). */
void pattern_fill(struct pattern *pattern, uint32_t rank, uint64_t first, void *out,
                  uint64_t count);
/* How many of `values` differ from pattern(rank, first + i), or from the reduction of all ranks'.
 */
uint64_t pattern_check(struct pattern *pattern, uint32_t rank, uint64_t first, const void *values,
                       uint64_t count);
uint64_t pattern_check_reduced(const struct pattern *pattern, uint64_t first, const void *values,
                               uint64_t count);

#endif
