/* test_chunk.c - shares of every small part: whole, in order, equal to a unit, never too large. */
#include "chunk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct call {
    uint64_t count, most;
    uint32_t element_bytes, channels, chunks;
};

#define CALL_FORMAT "count %lu, %u bytes each, %u channels, %u chunks, at most %lu bytes: "
#define CALL(c)                                                                                    \
    (unsigned long)(c)->count, (c)->element_bytes, (c)->channels, (c)->chunks,                     \
        (unsigned long)(c)->most

/* Chunks follow each other without gap from *next on; returns the largest in elements. */
static uint64_t check_channel(const struct call *call, const struct chunk_plan *plan,
                              uint64_t *next)
{
    uint64_t largest = 0;
    if (plan->first != *next) {
        fail_msg(CALL_FORMAT "a channel begins at %lu, not %lu", CALL(call),
                 (unsigned long)plan->first, (unsigned long)*next);
    }
    for (uint32_t loop = 0; loop < plan->loops; loop++) {
        for (uint32_t c = 0; c < plan->chunks; c++) {
            struct chunk_span span = chunk_locate(plan, loop, c);
            if (span.first != *next) {
                fail_msg(CALL_FORMAT "loop %u chunk %u begins at %lu, not %lu", CALL(call), loop, c,
                         (unsigned long)span.first, (unsigned long)*next);
            }
            largest = span.count > largest ? span.count : largest;
            *next += span.count;
        }
    }
    return largest;
}

static void check_call(const struct call *call)
{
    uint64_t next = 0;
    for (uint32_t channel = 0; channel < call->channels; channel++) {
        struct chunk_plan plan = chunk_plan_make(call->count, call->element_bytes, call->channels,
                                                 channel, call->chunks, call->most);
        uint64_t unit_bytes = (uint64_t)plan.unit * call->element_bytes;
        uint64_t limit = (call->most + unit_bytes - 1) / unit_bytes * unit_bytes;
        uint64_t begin = next;
        assert_int_equal(plan.chunks, call->chunks);
        assert_true(plan.loops >= 1);
        uint64_t largest = check_channel(call, &plan, &next);
        if (largest * call->element_bytes > limit) {
            fail_msg(CALL_FORMAT "a chunk of %lu elements", CALL(call), (unsigned long)largest);
        }
        if (next - begin != plan.count) {
            fail_msg(CALL_FORMAT "chunks of %lu elements in all, the channel has %lu", CALL(call),
                     (unsigned long)(next - begin), (unsigned long)plan.count);
        }
    }
    if (next != call->count) {
        fail_msg(CALL_FORMAT "%lu elements handled", CALL(call), (unsigned long)next);
    }
}

static void test_shares_are_whole_and_bounded(void **state)
{
    (void)state;
    static const uint32_t bytes[] = {1, 2, 4, 8, 16};
    static const uint64_t counts[] = {0, 1, 2, 3, 5, 16, 31, 97, 1000, 10007};
    static const uint64_t mosts[] = {16, 40, 256, 1 << 20};
    for (size_t i = 0; i < 5 * 10 * 4 * 4 * 9; i++) {
        struct call call = {.count = counts[i / 5 % 10],
                            .most = mosts[i / 50 % 4],
                            .element_bytes = bytes[i % 5],
                            .channels = 1 + (uint32_t)(i / 200 % 4),
                            .chunks = 1 + (uint32_t)(i / 800)};
        check_call(&call);
    }
}

static void test_random_shares(void **state)
{
    (void)state;
    unsigned short seed[3] = {1, 2, 3};
    for (int i = 0; i < 3000; i++) {
        struct call call = {.count = (uint64_t)nrand48(seed) % 50000,
                            .most = 16 + (uint64_t)nrand48(seed) % 5000,
                            .element_bytes = 1U << nrand48(seed) % 4,
                            .channels = 1 + (uint32_t)nrand48(seed) % 9,
                            .chunks = 1 + (uint32_t)nrand48(seed) % 40};
        check_call(&call);
    }
}

/* All chunks of all channels and loops differ by a unit at each of the three divisions at most. */
static void test_shares_are_equal(void **state)
{
    (void)state;
    for (uint64_t count = 0; count < 3000; count += 7) {
        for (uint32_t chunks = 1; chunks < 9; chunks++) {
            struct chunk_plan plan = chunk_plan_make(count, 4, 1, 0, chunks, 1 << 20);
            uint64_t least = UINT64_MAX, most = 0;
            assert_int_equal(plan.loops, 1);
            for (uint32_t c = 0; c < chunks; c++) {
                uint64_t one = chunk_locate(&plan, 0, c).count;
                least = one < least ? one : least;
                most = one > most ? one : most;
            }
            /* the last unit may be short, by less than a unit */
            assert_true(most - least < 2 * plan.unit);
        }
    }
}

static void test_units(void **state)
{
    (void)state;
    assert_int_equal(chunk_plan_make(1000, 4, 1, 0, 8, 1024).unit, 4);
    assert_int_equal(chunk_plan_make(1000, 1, 2, 0, 8, 1024).unit, 16);
    assert_int_equal(chunk_plan_make(1000, 16, 1, 0, 8, 1024).unit, 1);
    assert_int_equal(chunk_plan_make(31, 4, 1, 0, 8, 1024).unit, 1); /* 7 units for 8 chunks */
    assert_int_equal(chunk_plan_make(32, 4, 1, 0, 8, 1024).unit, 4);
    assert_int_equal(chunk_plan_make(8, 4, 1, 0, 8, 1024).unit, 1);
}

static void test_an_empty_call_is_one_loop(void **state)
{
    (void)state;
    struct chunk_plan plan = chunk_plan_make(0, 4, 3, 2, 5, 1024);
    assert_int_equal(plan.loops, 1);
    assert_int_equal(chunk_locate(&plan, 0, 4).count, 0);
}

static void test_huge_parts(void **state)
{
    (void)state;
    uint64_t count = UINT64_C(1) << 59; /* of 8 bytes: 2^62 */
    struct chunk_plan last = chunk_plan_make(count, 8, 3, 2, 7, 1 << 30);
    struct chunk_span end = chunk_locate(&last, last.loops - 1, 6);
    assert_true(end.first + end.count == count);
    assert_true(end.count * 8 <= 1 << 30);
}

static void test_slices(void **state)
{
    (void)state;
    assert_int_equal(chunk_slices(0, 16), 1);
    assert_int_equal(chunk_slices(1, 16), 1);
    assert_int_equal(chunk_slices(16, 16), 1);
    assert_int_equal(chunk_slices(17, 16), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_are_whole_and_bounded),
        cmocka_unit_test(test_random_shares),
        cmocka_unit_test(test_shares_are_equal),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_an_empty_call_is_one_loop),
        cmocka_unit_test(test_huge_parts),
        cmocka_unit_test(test_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
