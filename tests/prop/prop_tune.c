/* prop_tune.c - the promise on every emitted file, over hundreds of tunings: a false line in at
 * most 5 % of them, and what is truly faster by a tenth is found.
 *
 * Seeds are fixed, so a run counts what the last one counted. The bounds leave room for the noise
 * of counting only: of 400 tables with a chance of 5 % each, 35 or more hold a false line once in a
 * thousand times.
 */
#include "tuner/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TABLES = 400, KEYS = 3, FALSE_MOST = 34 };

static char directory[4096];

struct tally {
    size_t tables_with_rows, proven, proposed, fresh;
};

static void tune_once(struct synthetic *synthetic, struct tally *tally)
{
    struct key keys[KEYS];
    struct error error = ERROR_NONE;
    struct decision_table table = {.points = NULL};
    struct oracle oracle = synthetic_oracle(synthetic);
    synthetic_fill_keys(keys, KEYS);
    struct tune_request request = synthetic_request(synthetic, keys, KEYS, directory);
    if (tune_run(&request, &oracle, &table, &error)) {
        fail_msg("%s", error.message);
    }
    tally->tables_with_rows += table.nr_rows > 0;
    tally->proposed += table.lines_tested;
    for (size_t i = 0; i < table.nr_points; i++) {
        tally->proven += table.points[i].proven;
    }
    tally->fresh += synthetic->fresh_asked;
    decision_release(&table);
}

/* `model` with seeds of its own, many times. */
static struct tally tune_often(struct synthetic model, uint64_t first_seed, size_t nr)
{
    struct tally tally = {0};
    for (size_t i = 0; i < nr; i++) {
        struct synthetic synthetic = model;
        synthetic.seed = first_seed + i;
        tune_once(&synthetic, &tally);
    }
    return tally;
}

static void assert_seldom_false(const char *what, struct tally tally)
{
    print_message("# %s: %zu of %d tables hold a false line; %zu lines were tested\n", what,
                  tally.tables_with_rows, TABLES, tally.proposed);
    if (tally.tables_with_rows > FALSE_MOST) {
        fail_msg("%zu of %d tables hold a false line", tally.tables_with_rows, TABLES);
    }
}

static struct synthetic noisy(size_t nr)
{
    return (struct synthetic){
        .nr = nr, .noise = 0.1, .tail = 0.05, .launch_noise = 0.02, .drift = 0.001};
}

/* All candidates are the default under other names: only luck can make a line. */
static void test_all_alike(void **state)
{
    (void)state;
    struct tally tally = tune_often(noisy(4), 1000, TABLES);
    assert_seldom_false("all alike", tally);
    assert_true(tally.proposed > TABLES / 10); /* the race was lucky often enough to tell */
}

/* The hardest case: the race takes every size for a gain of a fifth that fresh launches lack. */
static void test_all_alike_and_flattered(void **state)
{
    (void)state;
    struct synthetic model = noisy(1);
    model.noise = 0.05;
    model.truth[0].race_gain = 0.2;
    struct tally tally = tune_often(model, 5000, TABLES);
    assert_seldom_false("all alike, the race flattering", tally);
    assert_true(tally.proposed > TABLES * KEYS * 9 / 10);
}

/* Launches differ far more than samples do, and all sizes of a launch together. */
static void test_all_alike_in_launches_that_differ(void **state)
{
    (void)state;
    struct synthetic model = noisy(1);
    model.noise = 0.01;
    model.launch_noise = 0.2;
    model.disturbed = 0.05;
    model.truth[0].race_gain = 0.2;
    struct tally tally = tune_often(model, 9000, TABLES);
    assert_seldom_false("all alike, launches differing by 20 %", tally);
    assert_true(tally.proposed > TABLES * KEYS * 9 / 10);
}

/* Each launch is faster than the one before: always the file second, and any file would gain. */
static void test_all_alike_while_drifting(void **state)
{
    (void)state;
    struct synthetic model = noisy(1);
    model.noise = 0.05;
    model.drift = -0.01;
    model.truth[0].race_gain = 0.2;
    assert_seldom_false("all alike, drifting 1 % a launch", tune_often(model, 13000, TABLES));
}

/* Slower than the default in truth: seldom even lucky. */
static void test_losers_hardly_ever_win(void **state)
{
    (void)state;
    struct synthetic model = noisy(1);
    model.truth[0].race_gain = 0.2;
    model.truth[0].fresh_gain = -0.05;
    struct tally tally = tune_often(model, 17000, 100);
    assert_int_equal(tally.tables_with_rows, 0);
}

static void test_a_tenth_is_found(void **state)
{
    (void)state;
    struct synthetic model = noisy(3);
    model.truth[1].race_gain = model.truth[1].fresh_gain = 0.1;
    model.noise = 0.05;
    struct tally tally = tune_often(model, 21000, 100);
    print_message("# a tenth faster: %zu of %d sizes proven\n", tally.proven, 100 * KEYS);
    assert_true(tally.proven >= 100 * KEYS * 9 / 10);
}

static int make_directory(void **state)
{
    (void)state;
    return synthetic_make_directory(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    synthetic_remove_directory(directory);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_alike),
        cmocka_unit_test(test_all_alike_and_flattered),
        cmocka_unit_test(test_all_alike_in_launches_that_differ),
        cmocka_unit_test(test_all_alike_while_drifting),
        cmocka_unit_test(test_losers_hardly_ever_win),
        cmocka_unit_test(test_a_tenth_is_found),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
