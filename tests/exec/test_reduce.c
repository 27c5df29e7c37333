/* The interpreter's sums: small floats against the compiler's arithmetic in double, every type and
 * operator against a plain loop, any number of operands and places, and places that equal operands.
 */
#include "interpreter.h"
#include "small_float.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Small floats ---- */

/* The value of a format with `exponent` bits of exponent and `mantissa` of mantissa, by its
 * definition. */
static double value_of(uint32_t h, int exponent, int mantissa)
{
    int bias = (1 << (exponent - 1)) - 1, e = (int)(h >> mantissa) & ((1 << exponent) - 1);
    double m = h & ((1U << mantissa) - 1), sign = h >> (exponent + mantissa) & 1 ? -1 : 1;
    if (e == (1 << exponent) - 1) {
        return m != 0 ? NAN : sign * INFINITY;
    }
    return sign * (e == 0 ? ldexp(m, 1 - bias - mantissa)
                          : ldexp(m + (double)(1 << mantissa), e - bias - mantissa));
}

static void test_small_floats_are_read(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 1U << 16; h++) {
        double half = value_of(h, 5, 10), brain = value_of(h, 8, 7);
        float got_half = small_from_float16((uint16_t)h);
        float got_brain = small_from_bfloat16((uint16_t)h);
        assert_true(isnan(half) ? isnan(got_half) : got_half == (float)half);
        assert_true(isnan(brain) ? isnan(got_brain) : got_brain == (float)brain);
        assert_int_equal(signbit(got_half) != 0, h >> 15);
    }
}

/* Rounded: no other value of the format is nearer; of two equally near ones the even. */
static void assert_nearest(float x, uint16_t got, int exponent, int mantissa)
{
    double value = value_of(got, exponent, mantissa), error = fabs(value - x);
    uint32_t infinity = ((1U << exponent) - 1) << mantissa, magnitude = got & 0x7fffU;
    if (isinf(value)) { /* half a step beyond the largest */
        double largest = value_of(infinity - 1, exponent, mantissa);
        double step = largest - value_of(infinity - 2, exponent, mantissa);
        assert_true(fabs((double)x) >= largest + step / 2);
        return;
    }
    for (int step = -1; step <= 1; step += 2) {
        if ((step < 0 && magnitude == 0) || magnitude + (uint32_t)step == infinity) {
            continue;
        }
        double other = value_of((uint32_t)(got + step), exponent, mantissa);
        assert_true(error < fabs(other - x) || (error == fabs(other - x) && got % 2 == 0));
    }
}

static void test_small_floats_are_rounded(void **state)
{
    (void)state;
    uint32_t bits = 1;
    for (int i = 0; i < 400000; i++) {
        bits = bits * 1664525U + 1013904223U;
        /* every other one near what float16 can hold */
        uint32_t mild = (bits & 0x8fffffffU) | 0x30000000U;
        float x = small_as_float(i % 2 ? bits : mild);
        if (isnan(x)) {
            assert_true(isnan(small_from_float16(small_to_float16(x))));
            assert_true(isnan(small_from_bfloat16(small_to_bfloat16(x))));
        } else if (!isinf(x)) {
            assert_nearest(x, small_to_float16(x), 5, 10);
            assert_nearest(x, small_to_bfloat16(x), 8, 7);
        }
    }
    for (uint32_t h = 0; h < 1U << 16; h++) { /* what was read comes back */
        if (!isnan(value_of(h, 5, 10))) {
            assert_int_equal(small_to_float16(small_from_float16((uint16_t)h)), h);
        }
        if (!isnan(value_of(h, 8, 7))) {
            assert_int_equal(small_to_bfloat16(small_from_bfloat16((uint16_t)h)), h);
        }
    }
    assert_int_equal(small_to_float16(INFINITY), 0x7c00);
    assert_int_equal(small_to_float16(65520.0F), 0x7c00); /* ties to even: out of reach */
    assert_int_equal(small_to_float16(65519.0F), 0x7bff);
}

/* ---- Sums ---- */

enum { COUNT = 1300, OPERANDS = 19, PLACES = 3 }; /* more than a strip; more than two blocks of 8 */

union element {
    int8_t i8;
    uint8_t u8;
    int32_t i32;
    int64_t i64;
    uint16_t half;
    float f;
    double d;
};

static double as_double(enum plan_type type, union element e)
{
    switch (type) {
    case PLAN_INT8:
        return e.i8;
    case PLAN_UINT8:
        return e.u8;
    case PLAN_INT32:
        return e.i32;
    case PLAN_INT64:
        return (double)e.i64;
    case PLAN_FLOAT16:
        return small_from_float16(e.half);
    case PLAN_BFLOAT16:
        return small_from_bfloat16(e.half);
    case PLAN_FLOAT32:
        return e.f;
    default:
        return e.d;
    }
}

static union element from_double(enum plan_type type, double x)
{
    union element e = {.i64 = 0};
    switch (type) {
    case PLAN_INT8:
        e.i8 = (int8_t)x;
        break;
    case PLAN_UINT8:
        e.u8 = (uint8_t)x;
        break;
    case PLAN_INT32:
        e.i32 = (int32_t)x;
        break;
    case PLAN_INT64:
        e.i64 = (int64_t)x;
        break;
    case PLAN_FLOAT16:
        e.half = small_to_float16((float)x);
        break;
    case PLAN_BFLOAT16:
        e.half = small_to_bfloat16((float)x);
        break;
    case PLAN_FLOAT32:
        e.f = (float)x;
        break;
    default:
        e.d = x;
        break;
    }
    return e;
}

static double combine(enum plan_reduction reduction, double a, double b)
{
    switch (reduction) {
    case PLAN_SUM:
        return a + b;
    case PLAN_PROD:
        return a * b;
    case PLAN_MIN:
        return b < a ? b : a;
    default:
        return b > a ? b : a;
    }
}

struct buffers {
    unsigned char *from[OPERANDS], *to[PLACES];
};

/* Small whole numbers whose sums and products every type holds exactly: mostly 1, seldom 2. */
static double small_number(int operand, int i)
{
    return i % OPERANDS == operand || (i / 2) % OPERANDS == operand ? 2 : 1;
}

static void fill(struct buffers *buffers, enum plan_type type)
{
    uint32_t bytes = plan_type_bytes(type);
    for (int k = 0; k < OPERANDS; k++) {
        buffers->from[k] = malloc(COUNT * bytes);
        for (int i = 0; i < COUNT; i++) {
            union element e = from_double(type, small_number(k, i));
            memcpy(buffers->from[k] + (size_t)i * bytes, &e, bytes);
        }
    }
    for (int k = 0; k < PLACES; k++) {
        buffers->to[k] = malloc(COUNT * bytes);
        memset(buffers->to[k], 0x55, COUNT * bytes);
    }
}

static void release(struct buffers *buffers)
{
    for (int k = 0; k < OPERANDS; k++) {
        free(buffers->from[k]);
    }
    for (int k = 0; k < PLACES; k++) {
        free(buffers->to[k]);
    }
}

static void check(const unsigned char *got, enum plan_type type, enum plan_reduction reduction,
                  uint32_t operands, int count)
{
    uint32_t bytes = plan_type_bytes(type);
    for (int i = 0; i < count; i++) {
        double want = small_number(0, i);
        for (int k = 1; k < (int)operands; k++) {
            want = combine(reduction, want, small_number(k, i));
        }
        union element e = {.i64 = 0};
        memcpy(&e, got + (size_t)i * bytes, bytes);
        if (as_double(type, e) != want) {
            fail_msg("type %d, operator %d, %u operands: element %d is %g, not %g", type, reduction,
                     operands, i, as_double(type, e), want);
        }
    }
}

static void reduce_once(enum plan_type type, enum plan_reduction reduction, uint32_t operands,
                        int in_place)
{
    struct buffers b;
    uint32_t bytes = plan_type_bytes(type);
    int count = COUNT - (int)operands; /* odd lengths too */
    fill(&b, type);
    unsigned char *to[PLACES] = {b.to[0], b.to[1], in_place ? b.from[operands - 1] : b.to[2]};
    if (in_place) { /* the first place is written while operands are read */
        to[0] = b.from[0];
    }
    plan_reduce(to, PLACES, (const unsigned char *const *)b.from, operands, (uint32_t)count * bytes,
                type, reduction);
    for (int k = 0; k < PLACES; k++) {
        check(to[k], type, reduction, operands, count);
    }
    assert_int_equal(b.to[1][(uint32_t)count * bytes], 0x55); /* not beyond */
    release(&b);
}

static void test_every_type_and_operator(void **state)
{
    (void)state;
    for (int type = 0; type < PLAN_TYPES; type++) {
        for (int reduction = 0; reduction < PLAN_REDUCTIONS; reduction++) {
            for (uint32_t operands = 1; operands <= OPERANDS; operands++) {
                reduce_once((enum plan_type)type, (enum plan_reduction)reduction, operands, 0);
                reduce_once((enum plan_type)type, (enum plan_reduction)reduction, operands, 1);
            }
        }
    }
}

/* Operands are added in their order: (1e8 - 1e8) + 1 is 1, 1e8 + (1 - 1e8) is not, in float. */
static void test_order_is_kept(void **state)
{
    (void)state;
    float values[4] = {1e8F, -1e8F, 1, 0}, sum;
    const unsigned char *from[4];
    unsigned char *to[1] = {(unsigned char *)&sum};
    for (int i = 0; i < 4; i++) {
        from[i] = (const unsigned char *)&values[i];
    }
    plan_reduce(to, 1, from, 4, sizeof sum, PLAN_FLOAT32, PLAN_SUM);
    assert_true(sum == 1);
    from[1] = (const unsigned char *)&values[2];
    from[2] = (const unsigned char *)&values[1];
    plan_reduce(to, 1, from, 4, sizeof sum, PLAN_FLOAT32, PLAN_SUM);
    assert_true(sum == 0);
}

/* bfloat16: 256 + 1 + 1 is 256 when rounded after each sum, 258 when once. */
static void test_small_floats_are_rounded_once(void **state)
{
    (void)state;
    uint16_t large = small_to_bfloat16(256), one = small_to_bfloat16(1), sum;
    const unsigned char *from[9] = {(const unsigned char *)&large};
    unsigned char *to[1] = {(unsigned char *)&sum};
    for (int i = 1; i < 9; i++) {
        from[i] = (const unsigned char *)&one;
    }
    for (uint32_t n = 3; n <= 9; n += 2) {
        plan_reduce(to, 1, from, n, sizeof sum, PLAN_BFLOAT16, PLAN_SUM);
        assert_true(small_from_bfloat16(sum) == 256 + (float)(n - 1));
    }
}

static void test_whole_numbers_wrap(void **state)
{
    (void)state;
    int8_t a[2] = {100, -100}, sum[2];
    uint8_t u[2] = {200, 255}, product[2];
    const unsigned char *from[2] = {(unsigned char *)a, (unsigned char *)a};
    const unsigned char *factors[2] = {u, u};
    unsigned char *to[1] = {(unsigned char *)sum}, *to_product[1] = {product};
    plan_reduce(to, 1, from, 2, 2, PLAN_INT8, PLAN_SUM);
    assert_int_equal(sum[0], -56);
    assert_int_equal(sum[1], 56);
    plan_reduce(to_product, 1, factors, 2, 2, PLAN_UINT8, PLAN_PROD);
    assert_int_equal(product[0], 200 * 200 % 256);
    assert_int_equal(product[1], 1);
}

static void test_averages_truncate(void **state)
{
    (void)state;
    int8_t small[3] = {-7, 7, -128};
    uint8_t unsigned_small[2] = {255, 2};
    int64_t large[2] = {INT64_MIN, INT64_MAX};
    double real[1] = {-7};
    uint16_t half[1] = {small_to_float16(1)};
    plan_divide(small, 3, PLAN_INT8, 3);
    assert_int_equal(small[0], -2);
    assert_int_equal(small[1], 2);
    assert_int_equal(small[2], -42);
    plan_divide(unsigned_small, 2, PLAN_UINT8, 3);
    assert_int_equal(unsigned_small[0], 85);
    assert_int_equal(unsigned_small[1], 0);
    plan_divide(large, 2, PLAN_INT64, 2);
    assert_true(large[0] == INT64_MIN / 2 && large[1] == INT64_MAX / 2);
    plan_divide(real, 1, PLAN_FLOAT64, 2);
    assert_true(real[0] == -3.5);
    plan_divide(half, 1, PLAN_FLOAT16, 3);
    assert_int_equal(half[0], small_to_float16(1.0F / 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_floats_are_read),
        cmocka_unit_test(test_small_floats_are_rounded),
        cmocka_unit_test(test_every_type_and_operator),
        cmocka_unit_test(test_order_is_kept),
        cmocka_unit_test(test_small_floats_are_rounded_once),
        cmocka_unit_test(test_whole_numbers_wrap),
        cmocka_unit_test(test_averages_truncate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
