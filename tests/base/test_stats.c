/* test_stats.c - the statistics against enumeration, published tables and simulation.
 *
 * Simulations run from a fixed seed, so they give the same counts each time; bounds are four
 * standard deviations of the counts, in both directions where the truth is known.
 */
#include "stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_near(const char *what, double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("%s: found %.17g, expected %.17g +- %g", what, found, expected, tolerance);
}

/* Symmetric around 0 with tails so heavy that it has no mean: Cauchy. */
static double random_cauchy(uint64_t *random)
{
    return tan(3.14159265358979 * (stats_random_uniform(random) - 0.5));
}

/* ---- order statistics ---- */

static void quantiles_of_small_sets(void **state)
{
    (void)state;
    const double values[] = {5, 1, 4, 2, 3};
    double before[5];
    memcpy(before, values, sizeof values);
    assert_near("median", stats_median(values, 5), 3, 0);
    assert_near("even median", stats_median(values, 4), 3, 0); /* 1 2 4 5 */
    assert_near("minimum", stats_quantile(values, 5, 0), 1, 0);
    assert_near("maximum", stats_quantile(values, 5, 1), 5, 0);
    assert_near("interpolated", stats_quantile(values, 5, 0.9), 4.6, 1e-12);
    assert_near("one value", stats_quantile(values, 1, 0.3), 5, 0);
    assert_memory_equal(values, before, sizeof values);
}

static void median_interval_is_the_published_one(void **state)
{
    (void)state;
    /* 1..nr: the interval shows the order statistics it took. Binomial tables, e.g. Conover,
     * Practical Nonparametric Statistics, A3. */
    static const struct {
        size_t nr;
        double level, low, level_reached;
    } cases[] = {
        {10, 0.95, 2, 1 - 2 * 11.0 / 1024},       /* P(B <= 1) = 11/1024 */
        {10, 0.979, 1, 1 - 2 * 1.0 / 1024},       /* just above what 2 covers */
        {20, 0.95, 6, 1 - 2 * 21700.0 / 1048576}, /* P(B <= 5) = 0.0207 */
        {6, 0.95, 1, 1 - 2 / 64.0},
        {5, 0.95, 1, 1 - 2 / 32.0}, /* not reached: min, max and what they cover */
        {1, 0.95, 1, 0},
        {2, 0.50, 1, 0.5},
    };
    double values[20];
    for (size_t i = 0; i < 20; i++)
        values[i] = (double)i + 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t nr = cases[i].nr;
        struct interval interval = stats_median_interval(values, nr, cases[i].level);
        assert_near("low", interval.low, cases[i].low, 0);
        assert_near("high", interval.high, (double)nr + 1 - cases[i].low, 0);
        assert_near("level", interval.level, cases[i].level_reached, 1e-9);
        assert_near("estimate", interval.estimate, ((double)nr + 1) / 2, 1e-12);
    }
}

/* ---- signed ranks ---- */

/* P(W+ >= what `values` show) by trying all 2^nr signs. Ranks are counted in halves: each value is
 * as large as itself (2), as smaller ones (2 each) and half as its ties (1 each). */
static double enumerated_p(const double *values, size_t nr)
{
    unsigned ranks[12] = {0}, shown = 0;
    for (size_t i = 0; i < nr; i++) {
        ranks[i] = 1;
        for (size_t j = 0; j < nr; j++)
            ranks[i] += fabs(values[j]) < fabs(values[i])   ? 2
                        : fabs(values[j]) > fabs(values[i]) ? 0
                                                            : 1;
        shown += values[i] > 0 ? ranks[i] : 0;
    }
    unsigned as_large = 0;
    for (unsigned signs = 0; signs < 1u << nr; signs++) {
        unsigned sum = 0;
        for (size_t i = 0; i < nr; i++)
            sum += (signs >> i & 1) != 0 ? ranks[i] : 0;
        as_large += sum >= shown;
    }
    return (double)as_large / (double)(1u << nr);
}

static void p_equals_enumeration(void **state)
{
    (void)state;
    uint64_t random = 1;
    double values[12];
    for (int round = 0; round < 300; round++) {
        size_t nr = 1 + (size_t)round % 12;
        int levels = round % 3 == 0 ? 4 : 1000; /* few levels: many ties and zeros */
        for (size_t i = 0; i < nr; i++)
            values[i] = floor((stats_random_uniform(&random) - 0.4) * levels);
        assert_near("p", stats_signed_rank_p(values, nr), enumerated_p(values, nr), 1e-15);
    }
}

/* 1..nr with signs such that W+ = wanted: greedily from the largest rank. */
static void fill_with_rank_sum(double *values, size_t nr, size_t wanted)
{
    for (size_t rank = nr; rank > 0; rank--) {
        bool gain = wanted >= rank;
        values[rank - 1] = gain ? (double)rank : -(double)rank;
        wanted -= gain ? rank : 0;
    }
    assert_int_equal(wanted, 0);
}

static void p_equals_published_tables(void **state)
{
    (void)state;
    /* Hollander & Wolfe, Nonparametric Statistical Methods, table A.4: upper tails of W+; the
     * last two from Wilcoxon & Wilcox's critical values (n = 20: T = 60, n = 30: T = 151). */
    static const struct {
        size_t nr, rank_sum;
        double p;
    } cases[] = {
        {3, 6, .125},   {4, 10, .062},  {5, 15, .031},  {5, 14, .062},    {6, 19, .047},
        {7, 25, .039},  {8, 31, .039},  {8, 30, .055},  {9, 37, .049},    {10, 45, .042},
        {10, 44, .053}, {10, 50, .010}, {15, 90, .047}, {20, 150, .0487}, {30, 314, .0481},
    };
    double values[30];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fill_with_rank_sum(values, cases[i].nr, cases[i].rank_sum);
        assert_near("p", stats_signed_rank_p(values, cases[i].nr), cases[i].p, 0.00051);
    }
    fill_with_rank_sum(values, 10, 45);
    assert_near("exact", stats_signed_rank_p(values, 10), 43.0 / 1024, 0);
}

static void smallest_and_largest_p(void **state)
{
    (void)state;
    double values[63];
    for (size_t nr = 1; nr <= 63; nr++) {
        for (size_t i = 0; i < nr; i++)
            values[i] = (double)i + 1;
        assert_near("all above", stats_signed_rank_p(values, nr), ldexp(1, -(int)nr), 0);
        for (size_t i = 0; i < nr; i++)
            values[i] = -values[i];
        assert_near("all below", stats_signed_rank_p(values, nr), 1, 1e-14);
        memset(values, 0, sizeof values);
        assert_near("all zero", stats_signed_rank_p(values, nr), 1, 1e-14);
    }
}

/* 60 pairs against counts in whole numbers: the 2^60 sign patterns fit in 64 bits. */
static void p_of_sixty_pairs_is_exact(void **state)
{
    (void)state;
    enum { NR = 60, TOTAL = NR * (NR + 1) / 2 };
    uint64_t patterns[TOTAL + 1] = {0};
    patterns[0] = 1;
    for (size_t rank = 1; rank <= NR; rank++)
        for (size_t sum = TOTAL; sum >= rank; sum--)
            patterns[sum] += patterns[sum - rank];

    double values[NR];
    uint64_t tail = 0;
    for (size_t sum = TOTAL + 1; sum-- > TOTAL / 2;) {
        tail += patterns[sum];
        double expected = ldexp((double)tail, -NR);
        fill_with_rank_sum(values, NR, sum);
        double p = stats_signed_rank_p(values, NR);
        assert_near("p", p / expected, 1, 1e-13);
    }
}

/* Hollander & Wolfe's example 3.1 (Hamilton depression scale, 9 patients): W+ = 5 for the
 * differences after - before, p = .020 one-sided; theta = -0.46; the 96 % interval of their
 * example 3.4 is (-0.786, -0.010). Here with the signs turned, so that gains are positive. */
static void textbook_example(void **state)
{
    (void)state;
    const double before[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
    const double after[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
    double gains[9];
    for (size_t i = 0; i < 9; i++)
        gains[i] = before[i] - after[i];
    assert_near("p", stats_signed_rank_p(gains, 9), 10.0 / 512, 1e-15);
    struct interval interval = stats_signed_rank_interval(gains, 9, 0.96);
    assert_near("estimate", interval.estimate, 0.46, 1e-9);
    assert_near("low", interval.low, 0.010, 1e-9);
    assert_near("high", interval.high, 0.786, 1e-9);
    assert_near("level", interval.level, 0.961, 0.0005);
}

static void unreachable_level_gives_the_widest_interval(void **state)
{
    (void)state;
    const double values[] = {3, -1, 2, 7};
    struct interval interval = stats_signed_rank_interval(values, 4, 0.95);
    assert_near("low", interval.low, -1, 0);
    assert_near("high", interval.high, 7, 0);
    assert_near("level", interval.level, 1 - 2.0 / 16, 1e-15);
    interval = stats_signed_rank_interval(values, 1, 0.95);
    assert_near("one pair: low", interval.low, 3, 0);
    assert_near("one pair: level", interval.level, 0, 0);
    interval = stats_signed_rank_interval(values, 4, NAN);
    assert_near("no level", interval.low, -1, 0);
}

/* How often the interval holds the true centre must be its level: at least what was asked for,
 * and for continuous symmetric noise exactly what it says it reached. */
static void check_coverage(struct interval make(const double *, size_t, double), size_t nr,
                           double level, double draw(uint64_t *), double truth)
{
    enum { ROUNDS = 4000 };
    uint64_t random = 42 + nr;
    double values[40];
    unsigned held = 0;
    double reached = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < nr; i++)
            values[i] = truth + draw(&random);
        struct interval interval = make(values, nr, level);
        held += interval.low <= truth && truth <= interval.high;
        reached = interval.level;
        assert_true(interval.low <= interval.estimate && interval.estimate <= interval.high);
    }
    assert_true(reached >= level);
    double deviation = sqrt(reached * (1 - reached) / ROUNDS);
    assert_near("coverage", (double)held / ROUNDS, reached, 4 * deviation);
}

static void intervals_cover_as_often_as_they_say(void **state)
{
    (void)state;
    static const size_t sizes[] = {5, 8, 11, 25};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_coverage(stats_signed_rank_interval, sizes[i], 0.90, random_cauchy, 0.02);
        check_coverage(stats_median_interval, sizes[i], 0.90, random_cauchy, 3);
    }
    check_coverage(stats_signed_rank_interval, 40, 0.99, random_cauchy, -1);
    check_coverage(stats_median_interval, 40, 0.99, random_cauchy, -1);
}

/* Under the null hypothesis p <= alpha may not happen more often than alpha. */
static void p_is_small_as_seldom_as_it_should_be(void **state)
{
    (void)state;
    enum { ROUNDS = 20000 };
    uint64_t random = 7;
    unsigned small = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double values[10];
        for (size_t i = 0; i < 10; i++)
            values[i] = random_cauchy(&random);
        small += stats_signed_rank_p(values, 10) <= 0.05;
    }
    double alpha = 43.0 / 1024; /* the largest p of 10 pairs that is no more than 0.05 */
    assert_near("false alarms", (double)small / ROUNDS, alpha,
                4 * sqrt(alpha * (1 - alpha) / ROUNDS));
}

/* Without ties and zeros: p < alpha exactly where the interval of level 1 - 2 alpha is above 0. */
static void p_and_interval_agree(void **state)
{
    (void)state;
    static const double alphas[] = {0.2, 0.1, 0.05, 0.01, 0.003};
    uint64_t random = 99;
    unsigned below = 0, above = 0;
    for (int round = 0; round < 3000; round++) {
        size_t nr = 2 + (size_t)round % 24;
        double values[25], shift = 0.5 * (double)(round % 5);
        for (size_t i = 0; i < nr; i++)
            values[i] = shift + random_cauchy(&random);
        double alpha = alphas[(size_t)round / 24 % 5];
        double p = stats_signed_rank_p(values, nr);
        struct interval interval = stats_signed_rank_interval(values, nr, 1 - 2 * alpha);
        if (interval.level < 1 - 2 * alpha) { /* too few pairs for the level */
            assert_true(p > alpha);
            continue;
        }
        if ((p < alpha) != (interval.low > 0))
            fail_msg("nr %zu, alpha %g: p %.17g, low end %.17g", nr, alpha, p, interval.low);
        below += p < alpha;
        above += p >= alpha;
    }
    assert_true(below > 300 && above > 300); /* both happened often enough to mean something */
}

static void failed_runs_count_against_the_claim(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t kind = 0; kind < 3; kind++) {
        double values[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8};
        assert_near("clean", stats_signed_rank_p(values, 8), 1.0 / 256, 0);
        values[2] = bad[kind];
        double loss[] = {0.1, 0.2, -9, 0.4, 0.5, 0.6, 0.7, 0.8};
        assert_near("p", stats_signed_rank_p(values, 8), stats_signed_rank_p(loss, 8), 0);
        struct interval interval = stats_signed_rank_interval(values, 8, 0.95);
        assert_true(isinf(interval.low) && interval.low < 0);
        assert_true(interval.high <= 0.8 && isfinite(interval.estimate));

        double times[] = {1, 2, 3, 4, 5};
        times[0] = bad[kind]; /* the slowest now: 2 3 4 5 inf */
        assert_near("median", stats_median(times, 5), 4, 0);
        assert_true(isinf(stats_quantile(times, 5, 0.9)));
        assert_near("quantile", stats_quantile(times, 5, 0.75), 5, 0);
        interval = stats_median_interval(times, 5, 0.9);
        assert_near("low", interval.low, 2, 0);
        assert_true(isinf(interval.high));
    }
    double all[6] = {NAN, NAN, NAN, NAN, NAN, NAN};
    assert_near("nothing but failures", stats_signed_rank_p(all, 6), 1, 0);
    assert_true(stats_signed_rank_interval(all, 6, 0.9).high < 0);
    assert_true(isinf(stats_median(all, 6)));
}

static void extreme_values_do_not_overflow(void **state)
{
    (void)state;
    const double huge[] = {DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX};
    struct interval interval = stats_signed_rank_interval(huge, 5, 0.9);
    assert_true(interval.low >= DBL_MAX && interval.high <= DBL_MAX);
    assert_near("p", stats_signed_rank_p(huge, 5), 1.0 / 32, 0);
}

static void pairs_needed(void **state)
{
    (void)state;
    assert_int_equal(stats_pairs_needed(1, 0.05), 5);
    assert_int_equal(stats_pairs_needed(10, 0.05), 8);
    assert_int_equal(stats_pairs_needed(60, 0.05), 11);
    assert_int_equal(stats_pairs_needed(1, 1.0 / 32), 5); /* reached exactly */
    assert_int_equal(stats_pairs_needed(2, 1.0 / 32), 6);
    assert_int_equal(stats_pairs_needed(0, 0.05), 5);
    assert_int_equal(stats_pairs_needed(1, 1), 1);
    assert_int_equal(stats_pairs_needed(1, 0), SIZE_MAX);
    assert_int_equal(stats_pairs_needed(1, NAN), SIZE_MAX);
    double gains[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    for (size_t lines = 1; lines <= 60; lines++) { /* enough, and one fewer is not */
        size_t nr = stats_pairs_needed(lines, 0.05);
        assert_true(stats_signed_rank_p(gains, nr) <= 0.05 / (double)lines);
        assert_true(stats_signed_rank_p(gains, nr - 1) > 0.05 / (double)lines);
    }
}

/* ---- bootstrap and random numbers ---- */

static void bootstrap_ratio(void **state)
{
    (void)state;
    uint64_t random = 5;
    double a[40], b[30];
    for (size_t i = 0; i < 40; i++)
        a[i] = 2 + 0.2 * (stats_random_uniform(&random) - 0.5);
    for (size_t i = 0; i < 30; i++)
        b[i] = 1 + 0.2 * (stats_random_uniform(&random) - 0.5);
    struct interval first = stats_bootstrap_ratio(a, 40, b, 30, 0.95, 500, 11);
    struct interval again = stats_bootstrap_ratio(a, 40, b, 30, 0.95, 500, 11);
    struct interval other = stats_bootstrap_ratio(a, 40, b, 30, 0.95, 500, 12);
    assert_memory_equal(&first, &again, sizeof first);
    assert_memory_not_equal(&first, &other, sizeof first);
    assert_near("estimate", first.estimate, stats_median(a, 40) / stats_median(b, 30), 1e-15);
    assert_true(first.low < 2 && 2 < first.high && first.high - first.low < 0.3);
    struct interval narrow = stats_bootstrap_ratio(a, 40, b, 30, 0.5, 500, 11);
    assert_true(first.low < narrow.low && narrow.high < first.high);

    struct interval none = stats_bootstrap_ratio(a, 40, b, 30, 0.95, 0, 11);
    assert_near("no resamples", none.level, 0, 0);
    double failed[3] = {NAN, INFINITY, NAN};
    assert_near("failed b", stats_bootstrap_ratio(a, 40, failed, 3, 0.9, 50, 1).high, 0, 0);
    assert_near("failed a", stats_bootstrap_ratio(failed, 3, b, 30, 0.9, 50, 1).high, 0, 0);
}

static void random_numbers_are_the_published_ones(void **state)
{
    (void)state;
    /* splitmix64 from 1234567, as the authors' C code gives. */
    static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u,
                                        9817491932198370423u, 4593380528125082431u,
                                        16408922859458223821u};
    uint64_t random = 1234567;
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(stats_random_next(&random), expected[i]);
    double sum = 0;
    for (int i = 0; i < 10000; i++) {
        double uniform = stats_random_uniform(&random);
        assert_true(uniform >= 0 && uniform < 1);
        sum += uniform;
    }
    assert_near("mean", sum / 10000, 0.5, 4 / sqrt(12 * 10000));
}

static void orders_are_permutations_and_all_alike(void **state)
{
    (void)state;
    enum { ROUNDS = 6000 };
    uint64_t random = 3;
    unsigned seen[27] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        size_t order[3];
        stats_random_order(&random, order, 3);
        assert_int_equal(order[0] + order[1] + order[2], 3);
        assert_true(order[0] < 3 && order[1] < 3 && order[2] < 3 && order[0] != order[1]);
        seen[9 * order[0] + 3 * order[1] + order[2]]++;
    }
    unsigned kinds = 0;
    for (size_t i = 0; i < 27; i++) {
        kinds += seen[i] > 0;
        if (seen[i] > 0)
            assert_near("share", (double)seen[i] / ROUNDS, 1 / 6.0, 4 * sqrt(5 / 36.0 / ROUNDS));
    }
    assert_int_equal(kinds, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_of_small_sets),
        cmocka_unit_test(median_interval_is_the_published_one),
        cmocka_unit_test(p_equals_enumeration),
        cmocka_unit_test(p_equals_published_tables),
        cmocka_unit_test(smallest_and_largest_p),
        cmocka_unit_test(p_of_sixty_pairs_is_exact),
        cmocka_unit_test(textbook_example),
        cmocka_unit_test(unreachable_level_gives_the_widest_interval),
        cmocka_unit_test(intervals_cover_as_often_as_they_say),
        cmocka_unit_test(p_is_small_as_seldom_as_it_should_be),
        cmocka_unit_test(p_and_interval_agree),
        cmocka_unit_test(failed_runs_count_against_the_claim),
        cmocka_unit_test(extreme_values_do_not_overflow),
        cmocka_unit_test(pairs_needed),
        cmocka_unit_test(bootstrap_ratio),
        cmocka_unit_test(random_numbers_are_the_published_ones),
        cmocka_unit_test(orders_are_permutations_and_all_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
