/* prop_schedules.c - every row is proven by the checker: every collective it serves, every small
 * rank count, in and out of place, over windows and slices; hierarchies over their parts; then
 * random ones.
 *
 * A message that leaves before its lane's next receive must fit the window with a slice to spare:
 * so it is with rings, and with hierarchies that hold one. What has no such message is also tried
 * with chunks larger than the window; a ring must be refused there, as a deadlock.
 */
#include "sched_check.h"
#include "schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint32_t rank_counts[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                       11, 12, 13, 14, 15, 16, 17, 24, 32, 33};
enum { RANK_COUNTS = sizeof rank_counts / sizeof *rank_counts, RANDOM_ONES = 200 };

static const char *const inner_rows[] = {"ring", "halving-doubling", "one-shot", "direct", "pat"};
static const char *const outer_rows[] = {"ring",     "doubling", "halving-doubling", "one-shot",
                                         "two-shot", "tree",     "direct",           "pat"};
enum { INNERS = sizeof inner_rows / sizeof *inner_rows };
enum { OUTERS = sizeof outer_rows / sizeof *outer_rows };

static size_t checked;

static bool is(const char *name, const char *other)
{
    return name && !strcmp(name, other);
}

/* Does a message leave before its lane's next receive, all around a circle? */
static bool needs_room(const struct schedule *schedule)
{
    const struct sched_request *request = &schedule->request;
    bool hierarchical = is(schedule->name, "hierarchical"); /* of rings, unless told */
    return is(schedule->name, "ring") ||
           (hierarchical && (!request->inner || is(request->inner, "ring"))) ||
           (hierarchical && (!request->outer || is(request->outer, "ring")));
}

static const char *describe(const struct schedule *schedule, char text[256])
{
    const struct sched_request *request = &schedule->request;
    int length =
        snprintf(text, 256, "%s %s, %u ranks, %s", schedule->name, coll_name(request->collective),
                 request->ranks, request->in_place ? "in place" : "out of place");
    for (uint32_t i = 0; i < request->nr_levels; i++) {
        length += snprintf(text + length, 256 - (size_t)length, "%s%u", i ? "x" : ", ",
                           request->levels[i]);
    }
    if (request->inner) {
        snprintf(text + length, 256 - (size_t)length, ", %s in %s", request->inner, request->outer);
    }
    return text;
}

static void assert_proven(const struct schedule *schedule, uint32_t window, uint32_t slices,
                          uint64_t seed)
{
    char text[256];
    struct error error = ERROR_NONE;
    struct sched_check_options options = sched_check_usual;
    options.window = window;
    options.slices_per_chunk = slices;
    options.seed = seed;
    if (sched_check(schedule, &options, NULL, &error)) {
        fail_msg("%s, window %u, %u slices a chunk, seed %llu: %s", describe(schedule, text),
                 window, slices, (unsigned long long)seed, error.message);
    }
    checked++;
}

static void assert_deadlock(const struct schedule *schedule, uint32_t window, uint32_t slices)
{
    char text[256];
    enum sched_fault fault = FAULT_NONE;
    struct error error = ERROR_NONE;
    struct sched_check_options options = sched_check_usual;
    options.window = window;
    options.slices_per_chunk = slices;
    if (!sched_check(schedule, &options, &fault, &error) || fault != FAULT_DEADLOCK) {
        fail_msg("%s, window %u, %u slices a chunk: expected a deadlock: %s",
                 describe(schedule, text), window, slices, error.message);
    }
}

/* The smallest window, chunks of a slice; the largest chunk that fits, or one beyond; a window
 * larger than most chunks. */
static void prove(const struct schedule *schedule)
{
    uint32_t ranks = schedule->request.ranks;
    bool room = needs_room(schedule);
    assert_proven(schedule, 2, 1, ranks);
    assert_proven(schedule, 2, room ? 1 : 3, ranks + 1);
    assert_proven(schedule, 4, room ? 3 : 5, ranks + 2);
    assert_proven(schedule, 8, 2, ranks + 3);
}

/* False: the row cannot serve it, and said why. */
static bool make(const char *name, const struct sched_request *request, struct schedule *schedule)
{
    struct error error = ERROR_NONE;
    const struct algorithm *row = algorithm_find(name, &error);
    if (!row) {
        fail_msg("%s", error.message);
        return false;
    }
    if (sched_make(row, request, schedule, &error)) {
        assert_true(error.message[0]);
        return false;
    }
    return true;
}

/* In and out of place; returns how many the row can serve. */
static size_t prove_both(const char *name, struct sched_request request)
{
    size_t served = 0;
    for (int in_place = 0; in_place <= coll_in_place(request.collective); in_place++) {
        struct schedule schedule;
        request.in_place = in_place;
        if (make(name, &request, &schedule)) {
            prove(&schedule);
            served++;
        }
    }
    return served;
}

static void test_flat_rows(void **state)
{
    (void)state;
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        if ((*row)->needs & SCHED_NEEDS_HIERARCHY) {
            continue;
        }
        for (int c = 0; c < COLL_NR; c++) {
            bool any_count = !is((*row)->name, "doubling") || c != COLL_ALL_GATHER;
            for (size_t i = 0; i < RANK_COUNTS && (*row)->collectives & 1U << c; i++) {
                uint32_t ranks = rank_counts[i];
                size_t served = prove_both(
                    (*row)->name,
                    (struct sched_request){.collective = (enum collective)c, .ranks = ranks});
                assert_true(served > 0 || (!any_count && (ranks & (ranks - 1))));
            }
        }
    }
    print_message("# %zu schedules\n", checked);
}

static size_t prove_parts(struct sched_request request)
{
    size_t served = 0;
    for (size_t i = 0; i < INNERS; i++) {
        for (size_t o = 0; o < OUTERS; o++) {
            request.inner = inner_rows[i];
            request.outer = outer_rows[o];
            served += prove_both("hierarchical", request);
        }
    }
    return served;
}

static const enum collective of_hierarchies[] = {COLL_ALLREDUCE, COLL_REDUCE_SCATTER,
                                                 COLL_ALL_GATHER};

/* All inner and outer rows over a few shapes. */
static void test_hierarchies_of_all_parts(void **state)
{
    (void)state;
    static const uint32_t shapes[][3] = {{2, 2, 0}, {2, 3, 0}, {3, 2, 0}, {1, 4, 0}, {4, 1, 0},
                                         {3, 5, 0}, {2, 2, 2}, {3, 2, 3}, {2, 3, 1}, {1, 2, 3}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int c = 0; c < 3; c++) {
            struct sched_request request = {.collective = of_hierarchies[c], .nr_levels = 2};
            memcpy(request.levels, shapes[s], sizeof request.levels);
            request.ranks = shapes[s][0] * shapes[s][1];
            if (shapes[s][2]) {
                request.nr_levels = 3;
                request.ranks *= shapes[s][2];
            }
            /* rows of either kind, out of place at least */
            assert_true(prove_parts(request) >= INNERS * (c == 0 ? 6 : 5));
        }
    }
    print_message("# %zu schedules\n", checked);
}

/* Every way to write a rank count as a product, with the usual rows. */
static void prove_levels(uint32_t ranks, enum collective collective)
{
    for (uint32_t hosts = 1; hosts <= ranks; hosts++) {
        if (ranks % hosts) {
            continue;
        }
        struct sched_request request = {.collective = collective,
                                        .ranks = ranks,
                                        .levels = {hosts, ranks / hosts},
                                        .nr_levels = 2};
        assert_true(prove_both("hierarchical", request) > 0);
        if (collective == COLL_ALLREDUCE) {
            assert_true(prove_both("nvls-tree", request) > 0);
        }
        for (uint32_t inner = 2; inner < ranks / hosts && ranks <= 16; inner++) {
            if (ranks / hosts % inner == 0) {
                request.levels[1] = ranks / hosts / inner;
                request.levels[2] = inner;
                request.nr_levels = 3;
                assert_true(prove_both("hierarchical", request) > 0);
            }
        }
    }
}

static void test_hierarchies_of_all_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < RANK_COUNTS; i++) {
        for (int c = 0; c < 3; c++) {
            prove_levels(rank_counts[i], of_hierarchies[c]);
        }
    }
    print_message("# %zu schedules\n", checked);
}

/* A ring of full windows cannot move. */
static void test_rings_need_room(void **state)
{
    (void)state;
    static const enum collective rings[] = {COLL_ALLREDUCE, COLL_REDUCE_SCATTER, COLL_ALL_GATHER};
    for (size_t i = 0; i < 3; i++) {
        for (uint32_t ranks = 2; ranks <= 5; ranks++) {
            struct schedule schedule;
            struct sched_request request = {.collective = rings[i], .ranks = ranks};
            assert_true(make("ring", &request, &schedule));
            assert_deadlock(&schedule, 4, 6);
        }
    }
}

/* splitmix64 */
static uint64_t draw(uint64_t *state, uint64_t below)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15U;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return (x ^ x >> 31) % below;
}

static struct sched_request draw_request(uint64_t *state)
{
    struct sched_request request = {.collective = (enum collective)draw(state, COLL_NR)};
    request.nr_levels = (uint32_t)(draw(state, 2) * (2 + draw(state, 2)));
    request.ranks = request.nr_levels ? 1 : (uint32_t)(1 + draw(state, 40));
    for (uint32_t i = 0; i < request.nr_levels; i++) {
        request.levels[i] = (uint32_t)(1 + draw(state, request.nr_levels == 2 ? 6 : 4));
        request.ranks *= request.levels[i];
    }
    request.in_place = draw(state, 2);
    request.inner = inner_rows[draw(state, INNERS)];
    request.outer = outer_rows[draw(state, OUTERS)];
    return request;
}

/* Any row, group, hierarchy, window, slices and order of service. */
static void test_random_ones(void **state)
{
    (void)state;
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 20260601, random = seed;
    size_t rows = 0, proven = 0;
    print_message("# seed %llu (set SEED for another)\n", (unsigned long long)seed);
    while (algorithm_all()[rows]) {
        rows++;
    }
    while (proven < RANDOM_ONES) {
        struct schedule schedule;
        struct sched_request request = draw_request(&random);
        if (make(algorithm_all()[draw(&random, rows)]->name, &request, &schedule)) {
            uint32_t window = 2U << draw(&random, 4);
            uint32_t most = needs_room(&schedule) ? window - 1 : window + 3;
            assert_proven(&schedule, window, (uint32_t)(1 + draw(&random, most < 7 ? most : 7)),
                          draw(&random, UINT64_MAX));
            proven++;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flat_rows),
        cmocka_unit_test(test_hierarchies_of_all_parts),
        cmocka_unit_test(test_hierarchies_of_all_shapes),
        cmocka_unit_test(test_rings_need_room),
        cmocka_unit_test(test_random_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
