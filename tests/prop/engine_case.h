/* engine_case.h - one collective run by threads, its result held against a reference of higher
 * precision. For the property test (a sample) and the long one (everything).
 *
 * Inputs are a function of (seed, rank, element), so nothing is kept but what ran. Whole numbers
 * have to come out exactly, modulo their width. Floating results may differ by (ranks + 1)
 * roundings of their type, relative to the sum of magnitudes; minima and maxima not at all.
 */
#ifndef CCLTUNE_ENGINE_CASE_H
#define CCLTUNE_ENGINE_CASE_H

#include "interpreter.h"
#include "small_float.h"
#include "thread_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct engine_case {
    const struct algorithm *row;
    struct sched_request request; /* what of: collective, ranks, levels, in place */
    struct thread_request how;    /* schedule is filled in */
    uint64_t seed;
};

enum case_result { CASE_RIGHT, CASE_REFUSED, CASE_WRONG };

static const char *const case_types[PLAN_TYPES] = {"int8",    "uint8",    "int32",   "int64",
                                                   "float16", "bfloat16", "float32", "float64"};
static const char *const case_reductions[PLAN_REDUCTIONS] = {"sum", "prod", "min", "max"};

static uint64_t case_hash(uint64_t seed, uint64_t rank, uint64_t element)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15U + rank * 0xbf58476d1ce4e5b9U + element + 1;
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9U;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

static bool case_is_whole(enum plan_type type)
{
    return type <= PLAN_INT64;
}

/* Element as it lies in memory: raw bits, whole numbers over their whole range; floats in (-1, 1),
 * factors of a product in (0.5, 1.5). */
static void case_put(const struct engine_case *c, void *to, uint64_t rank, uint64_t element)
{
    uint64_t x = case_hash(c->seed, rank, element);
    double unit = (double)(x >> 11) / 9007199254740992.0;
    double value = c->how.reduction == PLAN_PROD ? 0.5 + unit : 2 * unit - 1;
    float single = (float)value;
    uint16_t half =
        c->how.type == PLAN_FLOAT16 ? small_to_float16(single) : small_to_bfloat16(single);
    switch (c->how.type) {
    case PLAN_FLOAT64:
        memcpy(to, &value, sizeof value);
        break;
    case PLAN_FLOAT32:
        memcpy(to, &single, sizeof single);
        break;
    case PLAN_FLOAT16:
    case PLAN_BFLOAT16:
        memcpy(to, &half, sizeof half);
        break;
    default:
        memcpy(to, &x, plan_type_bytes(c->how.type)); /* little or big end: random all the same */
        break;
    }
}

static int64_t case_whole(enum plan_type type, const void *from)
{
    int8_t i8;
    uint8_t u8;
    int32_t i32;
    int64_t i64;
    switch (type) {
    case PLAN_INT8:
        memcpy(&i8, from, sizeof i8);
        return i8;
    case PLAN_UINT8:
        memcpy(&u8, from, sizeof u8);
        return u8;
    case PLAN_INT32:
        memcpy(&i32, from, sizeof i32);
        return i32;
    default:
        memcpy(&i64, from, sizeof i64);
        return i64;
    }
}

/* Whole numbers wrap at their width. */
static int64_t case_wrap(enum plan_type type, uint64_t x)
{
    switch (type) {
    case PLAN_INT8:
        return (int8_t)x;
    case PLAN_UINT8:
        return (uint8_t)x;
    case PLAN_INT32:
        return (int32_t)x;
    default:
        return (int64_t)x;
    }
}

static long double case_real(enum plan_type type, const void *from)
{
    double d;
    float f;
    uint16_t h;
    switch (type) {
    case PLAN_FLOAT64:
        memcpy(&d, from, sizeof d);
        return d;
    case PLAN_FLOAT32:
        memcpy(&f, from, sizeof f);
        return f;
    default:
        memcpy(&h, from, sizeof h);
        return type == PLAN_FLOAT16 ? small_from_float16(h) : small_from_bfloat16(h);
    }
}

static bool case_check_whole(const struct engine_case *c, const void *got, uint64_t element)
{
    enum plan_type type = c->how.type;
    int64_t all = 0;
    for (uint32_t r = 0; r < c->request.ranks; r++) {
        uint64_t raw;
        case_put(c, &raw, r, element);
        int64_t x = case_whole(type, &raw);
        uint64_t a = (uint64_t)all, b = (uint64_t)x;
        switch (r == 0 ? PLAN_REDUCTIONS : c->how.reduction) {
        case PLAN_SUM:
            all = (int64_t)(a + b);
            break;
        case PLAN_PROD:
            all = (int64_t)(a * b);
            break;
        case PLAN_MIN:
            all = x < all ? x : all;
            break;
        case PLAN_MAX:
            all = x > all ? x : all;
            break;
        default:
            all = x;
            break;
        }
    }
    all = case_wrap(type, (uint64_t)all);
    return case_whole(type, got) == (c->how.average ? all / (int64_t)c->request.ranks : all);
}

static bool case_check_real(const struct engine_case *c, const void *got, uint64_t element)
{
    static const long double rounding[PLAN_TYPES] = {[PLAN_FLOAT16] = 0x1p-11L,
                                                     [PLAN_BFLOAT16] = 0x1p-8L,
                                                     [PLAN_FLOAT32] = 0x1p-24L,
                                                     [PLAN_FLOAT64] = 0x1p-53L};
    enum plan_type type = c->how.type;
    long double all = 0, scale = 0;
    for (uint32_t r = 0; r < c->request.ranks; r++) {
        uint64_t raw;
        case_put(c, &raw, r, element);
        long double x = case_real(type, &raw);
        scale += fabsl(x);
        switch (r == 0 ? PLAN_REDUCTIONS : c->how.reduction) {
        case PLAN_SUM:
            all += x;
            break;
        case PLAN_PROD:
            all *= x;
            break;
        case PLAN_MIN:
            all = x < all ? x : all;
            break;
        case PLAN_MAX:
            all = x > all ? x : all;
            break;
        default:
            all = x;
            break;
        }
    }
    scale = c->how.reduction == PLAN_PROD ? fabsl(all) : c->how.reduction == PLAN_SUM ? scale : 0;
    if (c->how.average) {
        all /= c->request.ranks;
        scale /= c->request.ranks;
    }
    long double smallest = type == PLAN_FLOAT16 ? 0x1p-24L : 0; /* what is denormal is absolute */
    long double most = (c->request.ranks + 1) * (rounding[type] * scale * 1.25L + smallest);
    return c->how.reduction >= PLAN_MIN ? case_real(type, got) == all
                                        : fabsl(case_real(type, got) - all) <= most;
}

/* ---- Buffers ---- */

enum { CASE_PAD = 64 }; /* bytes on both sides, which nobody may touch */

struct case_rank {
    unsigned char *memory, *out_memory; /* malloc'ed; one of them in place */
    uint64_t bytes, out_bytes;          /* without pads */
    unsigned char *in, *out;
};

static uint64_t case_parts(const struct engine_case *c, enum sched_buffer buffer)
{
    return sched_parts(&c->request, buffer);
}

static unsigned char *case_alloc(uint64_t bytes)
{
    unsigned char *memory = malloc(bytes + 2 * CASE_PAD);
    if (!memory) {
        abort();
    }
    memset(memory, 0xa5, bytes + 2 * CASE_PAD);
    return memory;
}

static void case_make_rank(const struct engine_case *c, struct case_rank *rank, uint32_t r)
{
    uint64_t part = c->how.count * plan_type_bytes(c->how.type);
    uint64_t in = case_parts(c, SCHED_IN), out = case_parts(c, SCHED_OUT);
    *rank = (struct case_rank){.bytes = part * (c->request.in_place && out > in ? out : in),
                               .out_bytes = part * out};
    rank->memory = case_alloc(rank->bytes);
    rank->in = rank->memory + CASE_PAD;
    if (!c->request.in_place) {
        rank->out_memory = case_alloc(rank->out_bytes);
        rank->out = rank->out_memory + CASE_PAD;
        return;
    }
    rank->out = rank->in + (in > out ? r * part : 0);
    rank->in += out > in ? r * part : 0;
}

static void case_fill(const struct engine_case *c, struct case_rank *rank, uint32_t r)
{
    uint32_t bytes = plan_type_bytes(c->how.type);
    for (uint64_t i = 0; i < c->how.count * case_parts(c, SCHED_IN); i++) {
        case_put(c, rank->in + i * bytes, r, i);
    }
}

static bool case_pads(const struct case_rank *rank)
{
    bool whole = true;
    for (int i = 0; i < CASE_PAD; i++) {
        whole = whole && rank->memory[i] == 0xa5 &&
                rank->memory[CASE_PAD + rank->bytes + (uint64_t)i] == 0xa5;
        if (rank->out_memory) {
            whole = whole && rank->out_memory[i] == 0xa5 &&
                    rank->out_memory[CASE_PAD + rank->out_bytes + (uint64_t)i] == 0xa5;
        }
    }
    return whole;
}

/* ---- Results ---- */

/* Is out[i] of rank r right? */
static bool case_check_element(const struct engine_case *c, const void *got, uint32_t r, uint64_t i)
{
    uint64_t count = c->how.count, part = count ? i / count : 0;
    uint64_t from = 0, element = i;
    uint64_t want;
    switch (c->request.collective) {
    case COLL_ALLREDUCE:
    case COLL_REDUCE:
        return case_is_whole(c->how.type) ? case_check_whole(c, got, i)
                                          : case_check_real(c, got, i);
    case COLL_REDUCE_SCATTER:
        element = r * count + i;
        return case_is_whole(c->how.type) ? case_check_whole(c, got, element)
                                          : case_check_real(c, got, element);
    case COLL_ALL_GATHER:
    case COLL_GATHER:
        from = part;
        element = i - part * count;
        break;
    case COLL_BROADCAST:
        from = c->how.root;
        break;
    case COLL_SCATTER:
        from = c->how.root;
        element = r * count + i;
        break;
    case COLL_ALL_TO_ALL:
        from = part;
        element = r * count + i - part * count;
        break;
    default: /* send-recv */
        from = (r + c->request.ranks - 1) % c->request.ranks;
        break;
    }
    case_put(c, &want, from, element);
    return !memcmp(got, &want, plan_type_bytes(c->how.type));
}

static bool case_has_result(const struct engine_case *c, uint32_t r)
{
    return (c->request.collective != COLL_REDUCE && c->request.collective != COLL_GATHER) ||
           r == c->how.root;
}

static int case_check_rank(const struct engine_case *c, const struct case_rank *rank, uint32_t r,
                           char *why, size_t size)
{
    uint32_t bytes = plan_type_bytes(c->how.type);
    uint64_t nr = case_has_result(c, r) ? c->how.count * case_parts(c, SCHED_OUT) : 0;
    for (uint64_t i = 0; i < nr; i++) {
        if (!case_check_element(c, rank->out + i * bytes, r, i)) {
            snprintf(why, size, "rank %u, element %llu is wrong", r, (unsigned long long)i);
            return -1;
        }
    }
    if (!case_pads(rank)) {
        snprintf(why, size, "rank %u wrote beyond its buffers", r);
        return -1;
    }
    return 0;
}

/* Sums are added up in one order: all ranks get the same bits. */
static int case_check_same(const struct engine_case *c, const struct case_rank *a,
                           const struct case_rank *b, char *why, size_t size)
{
    if (c->request.collective == COLL_ALLREDUCE &&
        memcmp(a->out, b->out, c->how.count * plan_type_bytes(c->how.type)) != 0) {
        snprintf(why, size, "ranks hold sums of different bits");
        return -1;
    }
    return 0;
}

static void case_describe(const struct engine_case *c, char *text, size_t size)
{
    const struct sched_request *request = &c->request;
    snprintf(
        text, size,
        "%s %s, %u ranks (%ux%ux%u; inner %s, outer %s), %s %s%s, count %llu, %s, %s, root %u, %u "
        "channels, window %u, slice %u, chunk %llu",
        c->row->name, coll_name(request->collective), request->ranks, request->levels[0],
        request->levels[1], request->levels[2], request->inner ? request->inner : "-",
        request->outer ? request->outer : "-", case_types[c->how.type],
        case_reductions[c->how.reduction], c->how.average ? " (average)" : "",
        (unsigned long long)c->how.count, request->in_place ? "in place" : "out of place",
        c->how.protocol == PLAN_LL ? "LL" : "simple", c->how.root, c->how.channels, c->how.slots,
        c->how.slice_bytes, (unsigned long long)c->how.chunk_bytes);
}

static int case_calls(const struct engine_case *c, struct thread_run *run, struct case_rank *ranks,
                      char *why, size_t size)
{
    for (int call = 0; call < 2; call++) { /* counters and credits go on from call to call */
        struct error error = ERROR_NONE;
        for (uint32_t r = 0; r < c->request.ranks; r++) {
            case_fill(c, &ranks[r], r);
        }
        if (thread_run_all(run, 20, &error)) {
            snprintf(why, size, "%s", error.message);
            return -1;
        }
        for (uint32_t r = 0; r < c->request.ranks; r++) {
            if (case_check_rank(c, &ranks[r], r, why, size) ||
                case_check_same(c, &ranks[0], &ranks[r], why, size)) {
                return -1;
            }
        }
    }
    return 0;
}

/* `why` says what is wrong, or why the row or the engine refused. */
static enum case_result case_run(struct engine_case *c, char *why, size_t size)
{
    struct schedule schedule;
    struct thread_run *run;
    struct error error = ERROR_NONE;
    if (sched_make(c->row, &c->request, &schedule, &error)) {
        snprintf(why, size, "%s", error.message);
        return CASE_REFUSED;
    }
    c->how.schedule = &schedule;
    if (thread_run_open(&c->how, &run, &error)) {
        snprintf(why, size, "%s", error.message);
        return CASE_REFUSED;
    }
    struct case_rank *ranks = calloc(c->request.ranks, sizeof *ranks);
    for (uint32_t r = 0; r < c->request.ranks; r++) {
        case_make_rank(c, &ranks[r], r);
        thread_run_set_buffers(run, r, ranks[r].in, ranks[r].out);
    }
    int failed = case_calls(c, run, ranks, why, size);
    thread_run_close(run);
    for (uint32_t r = 0; r < c->request.ranks; r++) {
        free(ranks[r].memory);
        free(ranks[r].out_memory);
    }
    free(ranks);
    return failed ? CASE_WRONG : CASE_RIGHT;
}

#endif
