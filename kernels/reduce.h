/* reduce.h - the sum of a step: n operands of one type, in their order, into one or more places.
 *
 * One definition of types and operators; two bodies of the loop. A GPU block keeps 16 bytes of the
 * sum in registers and loads operands eight at a time. A host thread adds up strips that stay in
 * its first cache, in loops over two operands that vectorise: unrolled over eight they would be
 * slower there. Small floats add up in float and are rounded once.
 */
#ifndef CCLTUNE_REDUCE_H
#define CCLTUNE_REDUCE_H

#include "plan.h"
#include "small_float.h"

#define REDUCE_AS_IS(x) (x)

/* X(enum, name, element, work, wrapping, load, store): `work` is the type of the sum, `wrapping`
 * one whose addition and multiplication wrap. */
#define REDUCE_TYPES(X)                                                                            \
    X(PLAN_INT8, int8, int8_t, int8_t, uint8_t, REDUCE_AS_IS, REDUCE_AS_IS)                        \
    X(PLAN_UINT8, uint8, uint8_t, uint8_t, uint8_t, REDUCE_AS_IS, REDUCE_AS_IS)                    \
    X(PLAN_INT32, int32, int32_t, int32_t, uint32_t, REDUCE_AS_IS, REDUCE_AS_IS)                   \
    X(PLAN_INT64, int64, int64_t, int64_t, uint64_t, REDUCE_AS_IS, REDUCE_AS_IS)                   \
    X(PLAN_FLOAT16, float16, uint16_t, float, float, small_from_float16, small_to_float16)         \
    X(PLAN_BFLOAT16, bfloat16, uint16_t, float, float, small_from_bfloat16, small_to_bfloat16)     \
    X(PLAN_FLOAT32, float32, float, float, float, REDUCE_AS_IS, REDUCE_AS_IS)                      \
    X(PLAN_FLOAT64, float64, double, double, double, REDUCE_AS_IS, REDUCE_AS_IS)

#define REDUCE_OPERATORS(ENUM, name, element, work, wrapping, load, store)                         \
    MACHINE_FUNCTION work reduce_sum_##name(work a, work b)                                        \
    {                                                                                              \
        return (work)((wrapping)a + (wrapping)b);                                                  \
    }                                                                                              \
    MACHINE_FUNCTION work reduce_prod_##name(work a, work b)                                       \
    {                                                                                              \
        return (work)((wrapping)a * (wrapping)b);                                                  \
    }                                                                                              \
    MACHINE_FUNCTION work reduce_min_##name(work a, work b)                                        \
    {                                                                                              \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    MACHINE_FUNCTION work reduce_max_##name(work a, work b)                                        \
    {                                                                                              \
        return a > b ? a : b;                                                                      \
    }
REDUCE_TYPES(REDUCE_OPERATORS)

struct reduce_job {
    unsigned char *const *to; /* nr_to >= 1 places; may equal operands */
    const unsigned char *const *from;
    uint32_t nr_to, nr_from; /* nr_from >= 2; one operand is a copy */
    uint32_t offset;         /* bytes, into each of `to` and `from` */
    uint32_t bytes;
};

#ifdef __CUDACC__
#define REDUCE_BLOCK 8 /* operands loaded at a time */

MACHINE_FUNCTION uint32_t reduce_is_aligned(const struct reduce_job *job)
{
    uint64_t low = job->offset;
    for (uint32_t k = 0; k < job->nr_to; k++) {
        low |= (uint64_t)job->to[k];
    }
    for (uint32_t k = 0; k < job->nr_from; k++) {
        low |= (uint64_t)job->from[k];
    }
    return (low & 15) == 0;
}

/* The sum at byte `at`, for as many elements as a `vector` has. Loads are not conditional, so that
 * they can be under way together: what is beyond the last operand is loaded again and not added. */
#define REDUCE_AT(vector, element, work, load, store, combine)                                     \
    {                                                                                              \
        enum { LANES = sizeof(vector) / sizeof(element) };                                         \
        union lanes {                                                                              \
            vector whole;                                                                          \
            element part[LANES];                                                                   \
        } first;                                                                                   \
        work sum[LANES];                                                                           \
        first.whole = *(const vector *)(job->from[0] + at);                                        \
        MACHINE_UNROLL for (uint32_t e = 0; e < LANES; e++)                                        \
        {                                                                                          \
            sum[e] = load(first.part[e]);                                                          \
        }                                                                                          \
        MACHINE_ROLLED for (uint32_t j = 1; j < job->nr_from; j += REDUCE_BLOCK)                   \
        {                                                                                          \
            union lanes v[REDUCE_BLOCK];                                                           \
            MACHINE_UNROLL for (uint32_t k = 0; k < REDUCE_BLOCK; k++)                             \
            {                                                                                      \
                uint32_t operand = j + k < job->nr_from ? j + k : job->nr_from - 1;                \
                v[k].whole = *(const vector *)(job->from[operand] + at);                           \
            }                                                                                      \
            MACHINE_UNROLL for (uint32_t k = 0; k < REDUCE_BLOCK; k++)                             \
            {                                                                                      \
                MACHINE_UNROLL for (uint32_t e = 0; e < LANES; e++)                                \
                {                                                                                  \
                    work both = combine(sum[e], load(v[k].part[e]));                               \
                    sum[e] = j + k < job->nr_from ? both : sum[e];                                 \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        MACHINE_UNROLL for (uint32_t e = 0; e < LANES; e++)                                        \
        {                                                                                          \
            first.part[e] = store(sum[e]);                                                         \
        }                                                                                          \
        MACHINE_ROLLED for (uint32_t k = 0; k < job->nr_to; k++)                                   \
        {                                                                                          \
            *(vector *)(job->to[k] + at) = first.whole;                                            \
        }                                                                                          \
    }

typedef uint32_t reduce_vector_int8, reduce_vector_uint8; /* four elements, or 16 bytes */
typedef uint2 reduce_vector_float16, reduce_vector_bfloat16;
typedef uint4 reduce_vector_int32, reduce_vector_float32, reduce_vector_int64;
typedef uint4 reduce_vector_float64;

#define REDUCE_LOOP(name, op, element, work, load, store)                                          \
    MACHINE_FUNCTION void reduce_##op##_loop_##name(const struct reduce_job *job)                  \
    {                                                                                              \
        typedef reduce_vector_##name vector;                                                       \
        const uint32_t width = sizeof(vector), end = job->offset + job->bytes;                     \
        const uint32_t whole =                                                                     \
            reduce_is_aligned(job) ? job->offset + job->bytes / width * width : job->offset;       \
        MACHINE_ROLLED for (uint32_t at = job->offset + width * MACHINE_THREAD; at < whole;        \
                            at += width * MACHINE_THREADS) REDUCE_AT(vector, element, work, load,  \
                                                                     store, reduce_##op##_##name)  \
            MACHINE_ROLLED for (uint32_t at = whole + (uint32_t)sizeof(element) * MACHINE_THREAD;  \
                                at < end; at += (uint32_t)sizeof(element) * MACHINE_THREADS)       \
        {                                                                                          \
            work sum = load(*(const element *)(job->from[0] + at));                                \
            MACHINE_ROLLED for (uint32_t k = 1; k < job->nr_from; k++)                             \
            {                                                                                      \
                sum = reduce_##op##_##name(sum, load(*(const element *)(job->from[k] + at)));      \
            }                                                                                      \
            MACHINE_ROLLED for (uint32_t k = 0; k < job->nr_to; k++)                               \
            {                                                                                      \
                *(element *)(job->to[k] + at) = store(sum);                                        \
            }                                                                                      \
        }                                                                                          \
    }

#else
enum { REDUCE_STRIP = 512 }; /* elements: at most 4 KiB of sums */

#ifdef __clang__
#define REDUCE_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define REDUCE_VECTORISE _Pragma("GCC ivdep") /* a place may equal an operand, never overlap it */
#endif

#define REDUCE_LOOP(name, op, element, work, load, store)                                          \
    MACHINE_CLONES static void reduce_##op##_strip_##name(                                         \
        element *to, const unsigned char *const *from, uint32_t nr_from, uint64_t at,              \
        uint32_t count)                                                                            \
    {                                                                                              \
        work sum[REDUCE_STRIP];                                                                    \
        const element *a = (const element *)(const void *)(from[0] + at);                          \
        const element *b = (const element *)(const void *)(from[1] + at);                          \
        if (nr_from == 2) {                                                                        \
            REDUCE_VECTORISE for (uint32_t i = 0; i < count; i++)                                  \
            {                                                                                      \
                to[i] = store(reduce_##op##_##name(load(a[i]), load(b[i])));                       \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (uint32_t i = 0; i < count; i++) {                                                     \
            sum[i] = reduce_##op##_##name(load(a[i]), load(b[i]));                                 \
        }                                                                                          \
        uint32_t k = 2;                                                                            \
        for (; k + 2 <= nr_from; k += 2) {                                                         \
            a = (const element *)(const void *)(from[k] + at);                                     \
            b = (const element *)(const void *)(from[k + 1] + at);                                 \
            for (uint32_t i = 0; i < count; i++) {                                                 \
                work both = reduce_##op##_##name(sum[i], load(a[i]));                              \
                sum[i] = reduce_##op##_##name(both, load(b[i]));                                   \
            }                                                                                      \
        }                                                                                          \
        if (k < nr_from) {                                                                         \
            a = (const element *)(const void *)(from[k] + at);                                     \
            for (uint32_t i = 0; i < count; i++) {                                                 \
                sum[i] = reduce_##op##_##name(sum[i], load(a[i]));                                 \
            }                                                                                      \
        }                                                                                          \
        for (uint32_t i = 0; i < count; i++) {                                                     \
            to[i] = store(sum[i]);                                                                 \
        }                                                                                          \
    }                                                                                              \
    static void reduce_##op##_loop_##name(const struct reduce_job *job)                            \
    {                                                                                              \
        uint64_t end = job->offset + job->bytes;                                                   \
        for (uint64_t at = job->offset; at < end; at += REDUCE_STRIP * sizeof(element)) {          \
            uint64_t left = (end - at) / sizeof(element);                                          \
            uint32_t count = left < REDUCE_STRIP ? (uint32_t)left : REDUCE_STRIP;                  \
            element *to = (element *)(void *)(job->to[0] + at);                                    \
            reduce_##op##_strip_##name(to, job->from, job->nr_from, at, count);                    \
            for (uint32_t k = 1; k < job->nr_to; k++) {                                            \
                __builtin_memcpy(job->to[k] + at, to, count * sizeof(element));                    \
            }                                                                                      \
        }                                                                                          \
    }
#endif

#define REDUCE_LOOPS(ENUM, name, element, work, wrapping, load, store)                             \
    REDUCE_LOOP(name, sum, element, work, load, store)                                             \
    REDUCE_LOOP(name, prod, element, work, load, store)                                            \
    REDUCE_LOOP(name, min, element, work, load, store)                                             \
    REDUCE_LOOP(name, max, element, work, load, store)
REDUCE_TYPES(REDUCE_LOOPS)

#define REDUCE_DIVIDE(ENUM, name, element, work, wrapping, load, store)                            \
    case ENUM:                                                                                     \
        for (uint64_t i = MACHINE_THREAD; i < count; i += MACHINE_THREADS) {                       \
            element *at = (element *)values + i;                                                   \
            *at = store((work)(load(*at) / (reduce_divisor_##name)ranks));                         \
        }                                                                                          \
        break;

#define REDUCE_CASES(ENUM, name, element, work, wrapping, load, store)                             \
    case ENUM *PLAN_REDUCTIONS + PLAN_SUM:                                                         \
        reduce_sum_loop_##name(job);                                                               \
        break;                                                                                     \
    case ENUM *PLAN_REDUCTIONS + PLAN_PROD:                                                        \
        reduce_prod_loop_##name(job);                                                              \
        break;                                                                                     \
    case ENUM *PLAN_REDUCTIONS + PLAN_MIN:                                                         \
        reduce_min_loop_##name(job);                                                               \
        break;                                                                                     \
    case ENUM *PLAN_REDUCTIONS + PLAN_MAX:                                                         \
        reduce_max_loop_##name(job);                                                               \
        break;

MACHINE_FUNCTION void reduce_run(const struct reduce_job *job, uint32_t type, uint32_t reduction)
{
    switch (type * PLAN_REDUCTIONS + reduction) {
        REDUCE_TYPES(REDUCE_CASES)
    default:
        break;
    }
}

/* Sum to average, in place. Whole numbers are divided as such, with their sign. */
typedef int64_t reduce_divisor_int8, reduce_divisor_uint8, reduce_divisor_int32;
typedef int64_t reduce_divisor_int64;
typedef float reduce_divisor_float16, reduce_divisor_bfloat16, reduce_divisor_float32;
typedef double reduce_divisor_float64;

MACHINE_FUNCTION void reduce_divide(void *values, uint64_t count, uint32_t type, uint32_t ranks)
{
    switch (type) {
        REDUCE_TYPES(REDUCE_DIVIDE)
    default:
        break;
    }
}

#endif
