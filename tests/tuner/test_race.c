/* test_race.c - the race: finds the fast, drops the slow, keeps to its budget. */
#include "synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct race { /* one race and what it left */
    struct arena arena;
    struct race_entry *entries;
    double spent;
    struct error error;
    int failed;
};

static struct race run_race(struct synthetic *synthetic, const struct key *keys, size_t nr,
                            double budget)
{
    struct race race = {.error = ERROR_NONE};
    struct oracle oracle = synthetic_oracle(synthetic);
    struct tune_request request = synthetic_request(synthetic, keys, nr, "");
    race.failed =
        race_run(&request, &oracle, budget, &race.arena, &race.entries, &race.spent, &race.error);
    return race;
}

static struct synthetic quiet(size_t nr, const double *gains)
{
    struct synthetic synthetic = {.seed = 5, .nr = nr, .noise = 0.03, .tail = 0.02};
    for (size_t i = 0; i < nr; i++) {
        synthetic.truth[i].race_gain = synthetic.truth[i].fresh_gain = gains[i];
    }
    return synthetic;
}

static void test_the_fastest_wins_with_its_gain(void **state)
{
    (void)state;
    struct key key = synthetic_key(COLL_ALLREDUCE, 4096);
    const double gains[] = {0.1, 0.3, -0.1, 0};
    size_t hits = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct synthetic synthetic = quiet(4, gains);
        struct interval gain;
        synthetic.seed = seed;
        struct race race = run_race(&synthetic, &key, 1, 1e9);
        assert_int_equal(race.failed, 0);
        size_t winner = race_winner(race.entries, 0.02, seed, &gain);
        hits += winner == 2 && gain.low < 0.3 && gain.high > 0.3;
        arena_release(&race.arena);
    }
    if (hits < 40) { /* a 90 % interval, flattered a little */
        fail_msg("the right winner with the right gain in %zu of 50 races", hits);
    }
}

static void test_the_slow_leave_early(void **state)
{
    (void)state;
    struct key key = synthetic_key(COLL_ALLREDUCE, 4096);
    const double gains[] = {-0.7, -0.05, 0.2};
    struct synthetic synthetic = quiet(3, gains);
    struct race race = run_race(&synthetic, &key, 1, 1e9);
    const struct race_entry *entry = race.entries;
    assert_int_equal(entry->nr, 4);
    assert_string_equal(entry->dropped[1], "much slower");
    assert_string_equal(entry->dropped[2], "slower");
    assert_false(entry->alive[1] || entry->alive[2]);
    assert_true(entry->alive[0] && entry->alive[3] && entry->settled);
    assert_int_equal(entry->nr_samples[1], 3);
    assert_true(entry->nr_samples[2] < entry->nr_samples[3]);
    assert_null(entry->dropped[0]);
    arena_release(&race.arena);
}

static void test_the_default_is_never_dropped_for_being_slow(void **state)
{
    (void)state;
    struct key key = synthetic_key(COLL_ALLREDUCE, 4096);
    const double gains[] = {4};
    struct interval gain;
    struct synthetic synthetic = quiet(1, gains);
    struct race race = run_race(&synthetic, &key, 1, 1e9);
    assert_true(race.entries->alive[0]);
    assert_int_equal(race_winner(race.entries, 0.02, 1, &gain), 1);
    assert_true(gain.low > 3 && gain.high < 5);
    arena_release(&race.arena);
}

static void test_small_gains_are_not_worth_it(void **state)
{
    (void)state;
    struct key key = synthetic_key(COLL_ALLREDUCE, 4096);
    const double gains[] = {0.1};
    struct interval gain;
    struct synthetic synthetic = quiet(1, gains);
    struct race race = run_race(&synthetic, &key, 1, 1e9);
    assert_int_equal(race_winner(race.entries, 0.02, 1, &gain), 1);
    assert_int_equal(race_winner(race.entries, 0.25, 1, &gain), 0);
    arena_release(&race.arena);
}

/* What is not a time is no candidate any more, and its reason stays. */
static void test_failures_carry_their_reason(void **state)
{
    (void)state;
    static const enum outcome_kind kinds[] = {OUTCOME_HUNG, OUTCOME_CRASHED, OUTCOME_WRONG,
                                              OUTCOME_REFUSED};
    struct key key = synthetic_key(COLL_ALLREDUCE, 4096);
    const double gains[] = {1, 1, 1, 1, 0.2};
    struct synthetic synthetic = quiet(5, gains);
    struct interval gain;
    for (size_t i = 0; i < 4; i++) {
        synthetic.truth[i].kind = kinds[i];
    }
    struct race race = run_race(&synthetic, &key, 1, 1e9);
    for (size_t i = 0; i < 4; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "%s: as the truth has it", outcome_name(kinds[i]));
        assert_false(race.entries->alive[i + 1]);
        assert_string_equal(race.entries->dropped[i + 1], expected);
        assert_int_equal(race.entries->nr_samples[i + 1], 0);
    }
    assert_int_equal(race_winner(race.entries, 0.02, 1, &gain), 5);
    arena_release(&race.arena);
}

/* Without a default there is nothing to compare with: no winner, and no more measuring. */
static void test_a_default_that_fails_ends_its_key(void **state)
{
    (void)state;
    struct key key = synthetic_key(COLL_ALLREDUCE, 4096);
    const double gains[] = {0.5, 0.1};
    struct synthetic synthetic = quiet(2, gains);
    struct interval gain;
    synthetic.default_kind = OUTCOME_CRASHED;
    struct race race = run_race(&synthetic, &key, 1, 1e9);
    assert_int_equal(race.failed, 0);
    assert_int_equal(race_winner(race.entries, 0.02, 1, &gain), 0);
    assert_true(race.entries->settled);
    assert_int_equal(synthetic.runs, 1);
    arena_release(&race.arena);
}

/* A library that computes wrong results by itself: there is no time to be better than. */
static void test_a_default_that_is_wrong_ends_the_race(void **state)
{
    (void)state;
    struct key keys[2];
    const double gains[] = {0.5};
    synthetic_fill_keys(keys, 2);
    struct synthetic synthetic = quiet(1, gains);
    synthetic.default_kind = OUTCOME_WRONG;
    struct race race = run_race(&synthetic, keys, 2, 1e9);
    assert_int_equal(race.failed, -1);
    assert_int_equal(race.error.status, EXIT_WRONG);
    assert_non_null(strstr(race.error.message, "allreduce of 1"));
    assert_non_null(strstr(race.error.message, "as the truth has it"));
    assert_int_equal(synthetic.runs, 1);
    arena_release(&race.arena);
}

static void test_a_key_without_candidates_costs_nothing(void **state)
{
    (void)state;
    struct key key = synthetic_key(COLL_ALLREDUCE, 4096);
    struct synthetic synthetic = quiet(0, NULL);
    struct interval gain;
    struct race race = run_race(&synthetic, &key, 1, 1e9);
    assert_int_equal(synthetic.runs, 0);
    assert_int_equal(race_winner(race.entries, 0.02, 1, &gain), 0);
    arena_release(&race.arena);
}

/* Two rounds are owed to every key, however little there is to spend; then the budget rules. */
static void test_the_budget_ends_the_race(void **state)
{
    (void)state;
    struct key keys[5];
    const double gains[] = {0.01, 0.02, 0};
    synthetic_fill_keys(keys, 5);
    struct synthetic synthetic = quiet(3, gains);
    struct race race = run_race(&synthetic, keys, 5, 0);
    assert_int_equal(race.failed, 0);
    assert_int_equal(synthetic.runs, 10);
    for (size_t k = 0; k < 5; k++) {
        assert_int_equal(race.entries[k].nr_samples[0], 7);
    }
    assert_true(race.spent > 0);
    arena_release(&race.arena);
}

static void test_candidates_alike_settle(void **state)
{
    (void)state;
    struct key key = synthetic_key(COLL_ALLREDUCE, 4096);
    const double gains[] = {0, 0};
    struct synthetic synthetic = quiet(2, gains);
    synthetic.noise = 0.002;
    synthetic.tail = 0;
    struct race race = run_race(&synthetic, &key, 1, 1e9);
    assert_true(race.entries->settled);
    assert_int_equal(race.entries->nr_samples[0], 15); /* not the 60 that are possible */
    arena_release(&race.arena);
}

static void test_an_interruption_leaves_what_there_is(void **state)
{
    (void)state;
    struct key keys[4];
    const double gains[] = {0.1};
    synthetic_fill_keys(keys, 4);
    struct synthetic synthetic = quiet(1, gains);
    synthetic.stop_at = 3;
    struct race race = run_race(&synthetic, keys, 4, 1e9);
    assert_int_equal(race.failed, -1);
    assert_int_equal(race.error.status, EXIT_STOPPED);
    assert_non_null(race.entries);
    assert_int_equal(race.entries[1].nr_samples[1], 3);
    assert_int_equal(race.entries[2].nr_samples[1], 0);
    arena_release(&race.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_fastest_wins_with_its_gain),
        cmocka_unit_test(test_the_slow_leave_early),
        cmocka_unit_test(test_the_default_is_never_dropped_for_being_slow),
        cmocka_unit_test(test_small_gains_are_not_worth_it),
        cmocka_unit_test(test_failures_carry_their_reason),
        cmocka_unit_test(test_a_default_that_fails_ends_its_key),
        cmocka_unit_test(test_a_default_that_is_wrong_ends_the_race),
        cmocka_unit_test(test_a_key_without_candidates_costs_nothing),
        cmocka_unit_test(test_the_budget_ends_the_race),
        cmocka_unit_test(test_candidates_alike_settle),
        cmocka_unit_test(test_an_interruption_leaves_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
