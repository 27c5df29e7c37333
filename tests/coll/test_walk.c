/* test_walk.c - steps unrolled, indexes computed, everything counted: on programs written here,
 * whose numbers are known, and on all rows, where two ways must agree.
 */
#include "walk.h"

#include "coll/every_schedule.h"
#include "sched_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- unrolling ---- */

/* a; 3 x { b; 2 x { c }; d }; 2 x { e }; f: told apart by what they take. */
static void emit_nest(struct sched_builder *b, const struct sched_request *request,
                      uint32_t position)
{
    struct sched_frame f = build_frame(request, position, 100);
    step_take(build_step(b, 0), build_range(&f, SCHED_IN, 'a'));
    build_repeat(b, 0, 3);
    step_take(build_step(b, 0), build_range(&f, SCHED_IN, 'b'));
    build_repeat(b, 0, 2);
    step_take(build_step(b, 0), build_range(&f, SCHED_IN, 'c'));
    build_end(b, 0);
    build_repeat(b, 0, 0);
    step_take(build_step(b, 0), build_range(&f, SCHED_IN, 'x'));
    build_end(b, 0);
    step_take(build_step(b, 0), build_range(&f, SCHED_IN, 'd'));
    build_end(b, 0);
    build_repeat(b, 0, 2);
    step_take(build_step(b, 0), build_range(&f, SCHED_IN, 'e'));
    build_end(b, 0);
    step_take(build_step(b, 0), build_range(&f, SCHED_IN, 'f'));
}

static void set_shape(const struct sched_request *request, struct sched_shape *shape)
{
    shape->chunks = request->ranks;
    shape->lanes = 2;
}

static struct schedule make(void (*emit)(struct sched_builder *, const struct sched_request *,
                                         uint32_t),
                            struct algorithm *row, uint32_t ranks)
{
    struct error error = ERROR_NONE;
    struct schedule schedule;
    struct sched_request request = {.collective = COLL_ALLREDUCE, .ranks = ranks};
    *row = (struct algorithm){
        .name = "test", .collectives = 1 << COLL_ALLREDUCE, .shape = set_shape, .emit = emit};
    if (sched_make(row, &request, &schedule, &error)) {
        fail_msg("%s", error.message);
    }
    return schedule;
}

static void test_a_nest_unrolls_in_order(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct algorithm row;
    struct schedule schedule = make(emit_nest, &row, 1);
    const struct sched_program *program = sched_program(&schedule, 0, &arena);
    char text[256] = "";
    struct walk walk;
    struct walk_step at;
    walk_begin(&walk, &program->lanes[0]);
    while (walk_next(&walk, &at)) {
        char one[16];
        snprintf(one, sizeof one, "%c%u%u ", (char)at.step->take.first, at.outer, at.inner);
        strcat(text, one);
    }
    assert_string_equal(text, "a00 b00 c00 c01 d00 b11 c10 c11 d11 b22 c20 c21 d22 e00 e11 f00 ");
    assert_int_equal(walk_length(&program->lanes[0]), 16);
    assert_int_equal(walk_length(&program->lanes[1]), 0);
    walk_begin(&walk, &program->lanes[1]);
    assert_false(walk_next(&walk, &at));
    arena_release(&arena);
}

static void check_lane(const struct schedule *schedule, const struct sched_program *program,
                       uint8_t lane)
{
    struct walk walk;
    struct walk_step at, found;
    uint64_t i = 0;
    walk_begin(&walk, &program->lanes[lane]);
    for (; walk_next(&walk, &at); i++) {
        if (sched_step(program, lane, i, &found) || found.step != at.step ||
            found.outer != at.outer || found.inner != at.inner) {
            fail_msg("%s, %u ranks: step %lu of lane %u differs", schedule->name,
                     schedule->request.ranks, (unsigned long)i, lane);
        }
    }
    if (sched_step(program, lane, i, &found) != -1 || walk_length(&program->lanes[lane]) != i) {
        fail_msg("%s, %u ranks: lane %u has %lu steps, not as many as it says", schedule->name,
                 schedule->request.ranks, lane, (unsigned long)i);
    }
}

static void check_steps(const struct schedule *schedule)
{
    struct arena arena = ARENA_EMPTY;
    for (uint32_t p = 0; p < schedule->request.ranks; p++) {
        const struct sched_program *program = sched_program(schedule, p, &arena);
        for (uint8_t lane = 0; lane < program->nr_lanes; lane++) {
            check_lane(schedule, program, lane);
        }
    }
    arena_release(&arena);
}

static void test_step_by_number_is_the_walked_one(void **state)
{
    (void)state;
    static const uint32_t ranks[] = {1, 2, 3, 4, 6, 8, 12};
    assert_true(visit_every_schedule(ranks, sizeof ranks / sizeof *ranks, check_steps) > 100);
}

/* ---- indexes ---- */

static void test_spaces(void **state)
{
    (void)state;
    struct sched_space space = {.size = 4, .base = 10, .stride = 3, .move = 100};
    assert_int_equal(walk_space(&space, 0, 0), 10);
    assert_int_equal(walk_space(&space, 3, 0), 19);
    assert_int_equal(walk_space(&space, 4, 2), 210);
    assert_int_equal(walk_space(&space, -1, 0), 19);
    assert_int_equal(walk_space(&space, -4, 0), 10);
    assert_int_equal(walk_space(&space, -9, 1), 119);
    assert_int_equal(walk_space(&space, INT64_MIN, 0), 10);
    space.stride = -3;
    assert_int_equal(walk_space(&space, -1, 0), 1);
}

static void test_peers(void **state)
{
    (void)state;
    struct sched_peers peers = {
        .space = {.size = 8, .stride = 1}, .first = 6, .count = 4, .move = -2};
    struct walk_step at = {NULL, 0, 3};
    assert_int_equal(walk_peer(&peers, 0, &at), 0);
    assert_int_equal(walk_peer(&peers, 3, &at), 3);
    at.inner = 4;
    assert_int_equal(walk_peer(&peers, 0, &at), 6);
    assert_int_equal(walk_peer(&peers, 3, &at), 1);
}

static void assert_chunks(const struct sched_range *range, uint32_t peer,
                          const struct walk_step *at, uint32_t nr, const uint32_t *chunks)
{
    assert_int_equal(walk_range_length(range), nr);
    for (uint32_t i = 0; i < nr; i++) {
        if (walk_range_chunk(range, peer, i, at) != chunks[i]) {
            fail_msg("chunk %u is %u, expected %u", i, walk_range_chunk(range, peer, i, at),
                     chunks[i]);
        }
    }
}

static void test_ranges(void **state)
{
    (void)state;
    struct walk_step at = {NULL, 0, 0}, later = {NULL, 1, 2};
    struct sched_range range = {.space = {.size = 16, .stride = 1},
                                .first = 1,
                                .run = 2,
                                .gap = 4,
                                .runs = 3,
                                .move = -1,
                                .per_peer = 5};
    assert_chunks(&range, 0, &at, 6, (uint32_t[]){1, 2, 5, 6, 9, 10});
    assert_chunks(&range, 1, &at, 6, (uint32_t[]){6, 7, 10, 11, 14, 15});
    assert_chunks(&range, 0, &later, 6, (uint32_t[]){15, 0, 3, 4, 7, 8});
    range.last = 10;
    assert_chunks(&range, 0, &at, 5, (uint32_t[]){1, 2, 5, 6, 9});
    range.last = 9;
    assert_chunks(&range, 0, &at, 4, (uint32_t[]){1, 2, 5, 6});
    range.last = 2;
    assert_chunks(&range, 0, &at, 1, (uint32_t[]){1});
    range.last = 1;
    assert_int_equal(walk_range_length(&range), 0);
    range.last = 0;
    range.gap = -4;
    assert_chunks(&range, 0, &at, 6, (uint32_t[]){1, 2, 13, 14, 9, 10});
    range.runs = 0;
    assert_int_equal(walk_range_length(&range), 0);
}

/* What the closed form says, counted chunk by chunk. */
static void test_lengths_cut_by_last(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 5 * 5 * 4 * 30; i++) {
        struct sched_range range = {.first = i % 5, .run = 1 + i / 5 % 5, .runs = 1 + i / 25 % 4};
        range.last = 1 + i / 100;
        for (range.gap = range.run; range.gap < range.run + 4; range.gap++) {
            uint32_t expected = 0;
            for (int32_t run = 0; run < range.runs; run++) {
                for (int32_t x = 0; x < range.run; x++) {
                    expected += range.first + run * range.gap + x < range.last;
                }
            }
            assert_int_equal(walk_range_length(&range), expected);
        }
    }
}

/* ---- counts ---- */

static struct walk_count count_all(const struct schedule *schedule)
{
    struct error error = ERROR_NONE;
    struct walk_count count = {0};
    if (walk_count_all(schedule, &count, &error)) {
        fail_msg("%s, %u ranks: %s", schedule->name, schedule->request.ranks, error.message);
    }
    return count;
}

/* A ring allreduce as the papers have it. */
static void emit_ring(struct sched_builder *b, const struct sched_request *request,
                      uint32_t position)
{
    struct sched_frame f = build_frame(request, position, request->ranks);
    int32_t r = (int32_t)position;
    struct sched_peers next = build_peer(&f, r + 1, 0), previous = build_peer(&f, r - 1, 0);
    step_send(build_step(b, 0), next, build_range(&f, SCHED_IN, r));
    for (int half = 0; half < 2; half++) {
        build_repeat(b, 0, request->ranks - 2);
        struct sched_step *step = build_step(b, 0);
        step_receive(step, previous);
        if (half == 0) {
            step_take(step, build_range(&f, SCHED_IN, r - 1));
            step->take.move = -1;
        } else {
            step_store(step, build_range(&f, SCHED_OUT, r));
            step->store.move = -1;
        }
        step_send_value(step, next);
        build_end(b, 0);
        step = build_step(b, 0);
        step_receive(step, previous);
        step_store(step, build_range(&f, SCHED_OUT, half ? r + 2 : r + 1));
        if (half == 0) {
            step_take(step, build_range(&f, SCHED_IN, r + 1));
            step_send_value(step, next);
        }
    }
}

static void test_a_ring_counted(void **state)
{
    (void)state;
    for (uint32_t n = 2; n < 20; n++) {
        struct algorithm row;
        struct schedule schedule = make(emit_ring, &row, n);
        struct walk_count count = count_all(&schedule);
        assert_int_equal(count.rounds, 2 * (n - 1));
        assert_int_equal(count.messages, n * 2 * (n - 1));
        assert_int_equal(count.chunks_sent, n * 2 * (n - 1));
        assert_int_equal(count.most_sent, 2 * (n - 1));
        assert_int_equal(count.chunks_reduced, n * (n - 1));
        assert_int_equal(count.steps, n * (2 * n - 1));
        assert_int_equal(count.items, n == 2 ? 3 : 5);
    }
}

/* Everybody multicasts one chunk to a group of all others, and awaits a token of its other lane. */
static void emit_group(struct sched_builder *b, const struct sched_request *request,
                       uint32_t position)
{
    struct sched_frame f = build_frame(request, position, request->ranks);
    int32_t r = (int32_t)position, others = (int32_t)request->ranks - 1;
    struct sched_step *step = build_step(b, 0);
    step_send(step, build_peers(&f, r + 1, others, 0), build_range(&f, SCHED_IN, r));
    step->send[0].peers.group = true;
    step_receive(step, build_peers(&f, r + 1, others, 0));
    step_take(step, build_range(&f, SCHED_IN, r));
    build_await(b, &f, 0, 1);
    build_token(b, &f, 1, 0);
}

static void test_groups_and_tokens_counted(void **state)
{
    (void)state;
    struct algorithm row;
    struct schedule schedule = make(emit_group, &row, 6);
    struct walk_count count = count_all(&schedule);
    assert_int_equal(count.messages, 6);
    assert_int_equal(count.chunks_sent, 6);
    assert_int_equal(count.chunks_reduced, 6 * 5);
    assert_int_equal(count.rounds, 1);
    assert_int_equal(count.steps, 6 * 3);
}

/* Position 2 waits for one that says nothing. */
static void emit_silence(struct sched_builder *b, const struct sched_request *request,
                         uint32_t position)
{
    struct sched_frame f = build_frame(request, position, 1);
    step_take(build_step(b, 1), build_range(&f, SCHED_IN, 0));
    if (position == 2) {
        struct sched_step *step = build_step(b, 1);
        step_receive(step, build_peers(&f, 3, 2, 0));
        step_store(step, build_range(&f, SCHED_OUT, 0));
    }
    if (position == 3) {
        step_send(build_step(b, 0), build_peer(&f, 2, 1), build_range(&f, SCHED_IN, 0));
    }
}

static void test_a_missing_message_is_named(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    struct algorithm row;
    struct walk_count count;
    struct schedule schedule = make(emit_silence, &row, 5);
    assert_int_equal(walk_count_all(&schedule, &count, &error), -1);
    assert_string_equal(error.message,
                        "schedule test: step 2 of position 2, lane 1, waits for a message from "
                        "position 4, lane 0 that is never sent");
}

static void check_counts(const struct schedule *schedule)
{
    struct error error = ERROR_NONE;
    struct walk_count all = count_all(schedule), folded;
    if (walk_count_folded(schedule, &folded, &error)) {
        fail_msg("%s", error.message);
    }
    folded.rounds = all.rounds;
    if (memcmp(&all, &folded, sizeof all)) {
        fail_msg("%s, %s of %u ranks: folded %lu steps, %lu messages, %lu chunks sent, unrolled "
                 "%lu, %lu, %lu",
                 schedule->name, coll_name(schedule->request.collective), schedule->request.ranks,
                 (unsigned long)folded.steps, (unsigned long)folded.messages,
                 (unsigned long)folded.chunks_sent, (unsigned long)all.steps,
                 (unsigned long)all.messages, (unsigned long)all.chunks_sent);
    }
}

static void test_folded_is_unrolled(void **state)
{
    (void)state;
    uint32_t ranks[64];
    for (uint32_t i = 0; i < 64; i++) {
        ranks[i] = i + 1;
    }
    assert_true(visit_every_schedule(ranks, 64, check_counts) > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_nest_unrolls_in_order),
        cmocka_unit_test(test_step_by_number_is_the_walked_one),
        cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_peers),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_lengths_cut_by_last),
        cmocka_unit_test(test_a_ring_counted),
        cmocka_unit_test(test_groups_and_tokens_counted),
        cmocka_unit_test(test_a_missing_message_is_named),
        cmocka_unit_test(test_folded_is_unrolled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
