/* datatype.c - names, sizes, and tiles of test data. */
#include "datatype.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t bytes;
} types[TYPE_NR] = {
    [TYPE_INT8] = {"int8", 1},         [TYPE_UINT8] = {"uint8", 1},   [TYPE_INT32] = {"int32", 4},
    [TYPE_UINT32] = {"uint32", 4},     [TYPE_INT64] = {"int64", 8},   [TYPE_UINT64] = {"uint64", 8},
    [TYPE_FLOAT] = {"float", 4},       [TYPE_DOUBLE] = {"double", 8}, [TYPE_HALF] = {"half", 2},
    [TYPE_BFLOAT16] = {"bfloat16", 2},
};

/* Other spellings: NCCL's, and those of numpy and torch. */
static const struct {
    const char *name;
    enum datatype type;
} also[] = {{"float16", TYPE_HALF}, {"float32", TYPE_FLOAT}, {"float64", TYPE_DOUBLE}};

static const char *const reductions[REDUCE_NR] = {[REDUCE_SUM] = "sum",
                                                  [REDUCE_PROD] = "prod",
                                                  [REDUCE_MIN] = "min",
                                                  [REDUCE_MAX] = "max",
                                                  [REDUCE_AVG] = "avg"};

int datatype_parse(const char *text, enum datatype *type, struct error *error)
{
    for (int t = 0; t < TYPE_NR; t++) {
        if (!strcmp(text, types[t].name)) {
            *type = (enum datatype)t;
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof also / sizeof *also; i++) {
        if (!strcmp(text, also[i].name)) {
            *type = also[i].type;
            return 0;
        }
    }
    return error_set(error, EXIT_INPUT,
                     "unknown datatype '%s': expected int8, uint8, int32, uint32, int64, uint64, "
                     "float, double, half or bfloat16",
                     text);
}

const char *datatype_name(enum datatype type)
{
    return types[type].name;
}

uint32_t datatype_bytes(enum datatype type)
{
    return types[type].bytes;
}

int reduction_parse(const char *text, enum reduction *reduction, struct error *error)
{
    for (int r = 0; r < REDUCE_NR; r++) {
        if (!strcmp(text, reductions[r])) {
            *reduction = (enum reduction)r;
            return 0;
        }
    }
    return error_set(error, EXIT_INPUT,
                     "unknown reduction '%s': expected sum, prod, min, max or avg", text);
}

const char *reduction_name(enum reduction reduction)
{
    return reductions[reduction];
}

struct pattern {
    uint64_t seed;
    uint32_t ranks;
    enum datatype type;
    enum reduction reduction;
    unsigned char *reduced; /* the tile of all ranks' reduction */
    unsigned char *own;     /* cache of one rank's tile */
    uint32_t own_rank;
};

/* Finaliser of splitmix64: neighbouring inputs give unrelated outputs. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Products stay small when nearly all factors are 1. */
static uint64_t value_of(const struct pattern *pattern, uint32_t rank, uint64_t j)
{
    uint64_t h = mix(pattern->seed + ((uint64_t)rank << 32) + j * 0x9e3779b97f4a7c15u);
    return pattern->reduction == REDUCE_PROD ? 1 + (h % 8 == 0) : h % 13;
}

/* A non-negative value in a format of `exponent` bits and `mantissa` bits (hidden one not counted),
 * rounded to the nearest, to even at half. For values within the format's normal range and 0. */
static uint16_t small_float(double value, int exponent, int mantissa)
{
    int power;
    double fraction = frexp(value, &power); /* 0.5 <= fraction < 1 */
    if (value == 0) {
        return 0;
    }
    double digits = nearbyint(ldexp(fraction, mantissa + 1)); /* may round up to a power of two */
    int bias = (1 << (exponent - 1)) - 1;
    return (uint16_t)(((power - 1 + bias) << mantissa) + (int)digits - (1 << mantissa));
}

static void put(enum datatype type, unsigned char *tile, uint64_t j, const void *value)
{
    memcpy(tile + j * types[type].bytes, value, types[type].bytes);
}

/* The value with a fraction, as a floating type has it. */
static void store_real(enum datatype type, unsigned char *tile, uint64_t j, double value)
{
    float as_float = (float)value;
    uint16_t as_half = small_float(value, 5, 10), as_bfloat16 = small_float(value, 8, 7);
    const void *from = &value;
    if (type == TYPE_FLOAT) {
        from = &as_float;
    } else if (type == TYPE_HALF) {
        from = &as_half;
    } else if (type == TYPE_BFLOAT16) {
        from = &as_bfloat16;
    }
    put(type, tile, j, from);
}

static bool is_real(enum datatype type)
{
    return type == TYPE_FLOAT || type == TYPE_DOUBLE || type == TYPE_HALF || type == TYPE_BFLOAT16;
}

/* Whole numbers wrap in the integer types, as the libraries' own arithmetic does. */
static void store(enum datatype type, unsigned char *tile, uint64_t j, uint64_t value)
{
    if (is_real(type)) {
        store_real(type, tile, j, (double)value);
    } else {
        put(type, tile, j, &value); /* little end first: the low bytes are the wrapped value */
    }
}

/* What wrapped to the type's width, as the signed or unsigned number that it then is. */
static int64_t wrapped(enum datatype type, uint64_t value)
{
    switch (type) {
    case TYPE_INT8:
        return (int8_t)value;
    case TYPE_UINT8:
        return (uint8_t)value;
    case TYPE_INT32:
        return (int32_t)value;
    case TYPE_UINT32:
        return (uint32_t)value;
    default:
        return (int64_t)value;
    }
}

/* The sum over `ranks`, once it is in the type: whole numbers truncate. */
static void store_average(enum datatype type, unsigned char *tile, uint64_t j, uint64_t sum,
                          uint32_t ranks)
{
    if (!is_real(type)) {
        store(type, tile, j, (uint64_t)(wrapped(type, sum) / (int64_t)ranks));
    } else if (type == TYPE_DOUBLE) {
        store_real(type, tile, j, (double)sum / ranks);
    } else {
        store_real(type, tile, j, (double)((float)sum / (float)ranks));
    }
}

static uint64_t combine(enum reduction reduction, uint64_t a, uint64_t b)
{
    switch (reduction) {
    case REDUCE_SUM:
    case REDUCE_AVG:
        return a + b;
    case REDUCE_PROD:
        return a * b;
    case REDUCE_MIN:
        return a < b ? a : b;
    case REDUCE_MAX:
    case REDUCE_NR:
        break;
    }
    return a > b ? a : b;
}

static void make_own(struct pattern *pattern, uint32_t rank)
{
    for (uint64_t j = 0; j < PATTERN_ELEMENTS; j++) {
        store(pattern->type, pattern->own, j, value_of(pattern, rank, j));
    }
    pattern->own_rank = rank;
}

struct pattern *pattern_make(uint64_t seed, uint32_t ranks, enum datatype type,
                             enum reduction reduction)
{
    struct pattern *pattern = calloc(1, sizeof *pattern);
    size_t bytes = (size_t)PATTERN_ELEMENTS * types[type].bytes;
    if (!pattern || !(pattern->reduced = malloc(bytes)) || !(pattern->own = malloc(bytes))) {
        abort();
    }
    pattern->seed = mix(seed);
    pattern->ranks = ranks;
    pattern->type = type;
    pattern->reduction = reduction;
    make_own(pattern, 0);
    for (uint64_t j = 0; j < PATTERN_ELEMENTS; j++) {
        uint64_t value = value_of(pattern, 0, j);
        for (uint32_t rank = 1; rank < ranks; rank++) {
            value = combine(reduction, value, value_of(pattern, rank, j));
        }
        if (reduction == REDUCE_AVG) {
            store_average(type, pattern->reduced, j, value, ranks);
        } else {
            store(type, pattern->reduced, j, value);
        }
    }
    return pattern;
}

void pattern_free(struct pattern *pattern)
{
    if (pattern) {
        free(pattern->reduced);
        free(pattern->own);
        free(pattern);
    }
}

static const unsigned char *tile_of(struct pattern *pattern, uint32_t rank)
{
    if (pattern->own_rank != rank) {
        make_own(pattern, rank);
    }
    return pattern->own;
}

void pattern_fill(struct pattern *pattern, uint32_t rank, uint64_t first, void *out, uint64_t count)
{
    const unsigned char *tile = tile_of(pattern, rank);
    uint32_t size = types[pattern->type].bytes;
    unsigned char *to = out;
    for (uint64_t at = first % PATTERN_ELEMENTS; count; at = 0) {
        uint64_t run = PATTERN_ELEMENTS - at < count ? PATTERN_ELEMENTS - at : count;
        memcpy(to, tile + at * size, run * size);
        to += run * size;
        count -= run;
    }
}

static uint64_t differences(const unsigned char *tile, uint32_t size, uint64_t first,
                            const unsigned char *values, uint64_t count)
{
    uint64_t wrong = 0;
    for (uint64_t at = first % PATTERN_ELEMENTS; count; at = 0) {
        uint64_t run = PATTERN_ELEMENTS - at < count ? PATTERN_ELEMENTS - at : count;
        if (memcmp(values, tile + at * size, run * size)) {
            for (uint64_t i = 0; i < run; i++) {
                wrong += memcmp(values + i * size, tile + (at + i) * size, size) != 0;
            }
        }
        values += run * size;
        count -= run;
    }
    return wrong;
}

uint64_t pattern_check(struct pattern *pattern, uint32_t rank, uint64_t first, const void *values,
                       uint64_t count)
{
    return differences(tile_of(pattern, rank), types[pattern->type].bytes, first, values, count);
}

uint64_t pattern_check_reduced(const struct pattern *pattern, uint64_t first, const void *values,
                               uint64_t count)
{
    return differences(pattern->reduced, types[pattern->type].bytes, first, values, count);
}
