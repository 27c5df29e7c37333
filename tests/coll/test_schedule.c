/* test_schedule.c - whether a row can serve a request, and why not; parts and chunks of buffers. */
#include "schedule.h"

#include "sched_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int fits_small(const struct sched_request *request, struct error *error)
{
    return request->ranks > 100 ? error_set(error, EXIT_INPUT, "odd is for small groups") : 0;
}

static void shape_odd(const struct sched_request *request, struct sched_shape *shape)
{
    shape->chunks = request->ranks > 64 ? 1U << 30 : 3;
    shape->scratch = 5;
}

static void emit_odd(struct sched_builder *b, const struct sched_request *request,
                     uint32_t position)
{
    struct sched_frame f = build_frame(request, position, 3);
    build_copy(b, 0, build_range(&f, SCHED_IN, 1), build_range(&f, SCHED_OUT, 2));
}

static const struct algorithm odd = {
    .name = "odd",
    .collectives = 1 << COLL_ALLREDUCE | 1 << COLL_ALL_GATHER | 1 << COLL_ALL_TO_ALL,
    .fits = fits_small,
    .shape = shape_odd,
    .emit = emit_odd,
};

static void assert_refused(const struct algorithm *row, struct sched_request request,
                           const char *expected)
{
    struct error error = ERROR_NONE;
    struct schedule schedule;
    assert_int_equal(sched_make(row, &request, &schedule, &error), -1);
    assert_int_equal(error.status, EXIT_INPUT);
    if (!strstr(error.message, expected)) {
        fail_msg("'%s' does not say '%s'", error.message, expected);
    }
}

static void test_reasons(void **state)
{
    (void)state;
    struct algorithm row = odd;
    assert_refused(&odd, (struct sched_request){.ranks = 0}, "0 ranks: expected 1 to 1048576");
    assert_refused(&odd, (struct sched_request){.ranks = 1000000000}, "1000000000 ranks");
    assert_refused(&odd, (struct sched_request){.ranks = 101}, "odd is for small groups");
    assert_refused(&odd, (struct sched_request){.ranks = 99}, "expected fewer than 2^31");
    assert_refused(&odd, (struct sched_request){.collective = COLL_REDUCE, .ranks = 4},
                   "odd has no reduce: it is for allreduce, all-gather, all-to-all");
    assert_refused(
        &odd, (struct sched_request){.collective = COLL_ALL_TO_ALL, .ranks = 4, .in_place = true},
        "all-to-all has no form in place");
    row.needs = SCHED_NEEDS_POWER_OF_TWO;
    assert_refused(&row, (struct sched_request){.ranks = 6},
                   "odd needs a power of two as number of ranks, not 6");
    row.needs = SCHED_NEEDS_HIERARCHY;
    assert_refused(&row, (struct sched_request){.ranks = 6}, "odd needs a hierarchy");
    assert_refused(&row, (struct sched_request){.ranks = 6, .levels = {6}, .nr_levels = 1},
                   "--levels 2x4");
    assert_refused(&row, (struct sched_request){.ranks = 6, .levels = {2, 4}, .nr_levels = 2},
                   "the levels have 8 ranks together, the group 6");
    assert_refused(&row, (struct sched_request){.ranks = 6, .levels = {6, 0}, .nr_levels = 2},
                   "level 2 has 0 members");
    assert_refused(&row, (struct sched_request){.ranks = 1, .nr_levels = 4}, "4 levels");
}

static void test_a_schedule_made(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct schedule schedule;
    struct sched_request request = {
        .collective = COLL_ALL_GATHER, .ranks = 6, .levels = {2, 3}, .nr_levels = 2};
    assert_int_equal(sched_make(&odd, &request, &schedule, &error), 0);
    assert_string_equal(schedule.name, "odd");
    assert_ptr_equal(schedule.row, &odd);
    assert_int_equal(schedule.shape.copies, 1);
    assert_int_equal(schedule.shape.lanes, 1);
    assert_int_equal(sched_chunks(&schedule, SCHED_IN), 3);
    assert_int_equal(sched_chunks(&schedule, SCHED_OUT), 18);
    assert_int_equal(sched_chunks(&schedule, SCHED_SCRATCH), 5);
    const struct sched_program *program = sched_program(&schedule, 4, &arena);
    assert_int_equal(program->nr_lanes, 1);
    assert_int_equal(program->lanes[0].nr, 1);
    assert_true(program->lanes[0].items[0].step.takes);
    assert_int_equal(program->lanes[0].items[0].step.store.first, 2);
    arena_release(&arena);
}

static void test_parts(void **state)
{
    (void)state;
    static const uint32_t parts[COLL_NR][2] = {
        [COLL_ALLREDUCE] = {1, 1}, [COLL_REDUCE_SCATTER] = {7, 1}, [COLL_ALL_GATHER] = {1, 7},
        [COLL_BROADCAST] = {1, 1}, [COLL_REDUCE] = {1, 1},         [COLL_ALL_TO_ALL] = {7, 7},
        [COLL_GATHER] = {1, 7},    [COLL_SCATTER] = {7, 1},        [COLL_SEND_RECV] = {1, 1}};
    for (int c = 0; c < COLL_NR; c++) {
        struct sched_request request = {.collective = (enum collective)c, .ranks = 7};
        assert_int_equal(sched_parts(&request, SCHED_IN), parts[c][0]);
        assert_int_equal(sched_parts(&request, SCHED_OUT), parts[c][1]);
        assert_int_equal(sched_parts(&request, SCHED_SCRATCH), 1);
        /* a collective that divides has a buffer with a part for each rank, and only such a one */
        assert_int_equal(parts[c][0] + parts[c][1] > 2, coll_divided((enum collective)c));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_a_schedule_made),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
