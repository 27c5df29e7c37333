/* null_statistics.c - the promise on every emitted file, counted closely: thousands of tunings
 * where no line is true, at several levels; and how often the printed intervals hold the truth.
 *
 * A level is kept if so many false tables as were counted, or more, come up at least once in a
 * thousand times by the noise of counting alone.
 */
#include "tuner/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TABLES = 2000, KEYS = 6 };

static char directory[4096];

static struct synthetic make_model(double race_gain, double fresh_gain)
{
    struct synthetic model = {
        .nr = 1, .noise = 0.06, .tail = 0.05, .launch_noise = 0.03, .drift = 0.0005};
    model.truth[0].race_gain = race_gain;
    model.truth[0].fresh_gain = fresh_gain;
    return model;
}

static struct decision_table tune_once(struct synthetic *synthetic, double alpha)
{
    struct key keys[KEYS];
    struct error error = ERROR_NONE;
    struct decision_table table = {.points = NULL};
    struct oracle oracle = synthetic_oracle(synthetic);
    synthetic_fill_keys(keys, KEYS);
    struct tune_request request = synthetic_request(synthetic, keys, KEYS, directory);
    request.alpha = alpha;
    if (tune_run(&request, &oracle, &table, &error)) {
        fail_msg("%s", error.message);
    }
    return table;
}

/* The chance that n coins of chance p show k or more. */
static double binomial_tail(size_t n, double p, size_t k)
{
    double sum = 0;
    for (size_t i = k; i <= n; i++) {
        sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) +
                   (double)i * log(p) + (double)(n - i) * log1p(-p));
    }
    return sum;
}

static void check_level(struct synthetic model, double alpha, uint64_t seed)
{
    size_t wrong = 0;
    for (size_t i = 0; i < TABLES; i++) {
        struct synthetic synthetic = model;
        synthetic.seed = seed + i;
        struct decision_table table = tune_once(&synthetic, alpha);
        wrong += table.nr_rows > 0;
        decision_release(&table);
    }
    print_message("# level %g: %zu of %d tables hold a false line\n", alpha, wrong, TABLES);
    if (binomial_tail(TABLES, alpha, wrong) < 0.001) {
        fail_msg("%zu of %d false tables at level %g", wrong, TABLES, alpha);
    }
}

static void test_levels_hold(void **state)
{
    (void)state;
    static const double levels[] = {0.2, 0.05, 0.01};
    for (size_t i = 0; i < 3; i++) {
        check_level(make_model(0.2, 0), levels[i], 100000 * (i + 1));
    }
}

static void test_the_level_holds_where_launches_differ(void **state)
{
    (void)state;
    struct synthetic model = make_model(0.2, 0);
    model.launch_noise = 0.3;
    model.disturbed = 0.05;
    check_level(model, 0.05, 700000);
}

/* Intervals of all sizes confirmed, proven or not: picking only the proven would flatter. */
static void test_intervals_hold_the_truth(void **state)
{
    (void)state;
    size_t intervals = 0, missed = 0;
    for (size_t i = 0; i < TABLES; i++) {
        struct synthetic synthetic = make_model(0.2, 0.1);
        synthetic.seed = 900000 + i;
        struct decision_table table = tune_once(&synthetic, 0.05);
        for (size_t p = 0; p < table.nr_points; p++) {
            const struct interval *gain = &table.points[p].gain;
            if (table.points[p].pairs) {
                intervals++;
                missed += gain->low > 0.1 || gain->high < 0.1;
            }
        }
        decision_release(&table);
    }
    double rate = 2 * 0.05 / KEYS; /* two-sided, each of the sizes its part */
    print_message("# %zu of %zu intervals miss the truth, at most %g of them may\n", missed,
                  intervals, rate);
    assert_true(intervals > TABLES * KEYS * 9 / 10);
    assert_true(binomial_tail(intervals, rate, missed) >= 0.001);
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
        cmocka_unit_test(test_levels_hold),
        cmocka_unit_test(test_the_level_holds_where_launches_differ),
        cmocka_unit_test(test_intervals_hold_the_truth),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
