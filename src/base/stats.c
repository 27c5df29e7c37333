/* stats.c - honest statistics of times. The only file that knows GSL.
 *
 * Exact, distribution-free methods: with 5 to 60 pairs the normal approximation is not good enough
 * to decide what a user's jobs will run. A value that is not a number or not finite is what a
 * failed run leaves behind, and always counts against a claim: as a time it is the slowest, as a
 * log ratio the greatest loss.
 */
#include "stats.h"

#include "arena.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

/* ---- order statistics ---- */

/* A sorted copy in which what is not finite has become `instead`. */
static double *sorted_copy(struct arena *arena, const double *values, size_t nr, double instead)
{
    double *copy = arena_alloc(arena, nr, sizeof *copy);
    for (size_t i = 0; i < nr; i++)
        copy[i] = isfinite(values[i]) ? values[i] : instead;
    gsl_sort(copy, 1, nr);
    return copy;
}

static double quantile_of_sorted(const double *sorted, size_t nr, double q)
{
    q = q > 0 ? fmin(q, 1) : 0;
    double value = gsl_stats_quantile_from_sorted_data(sorted, 1, nr, q);
    /* Interpolating with an infinite neighbour of weight 0 is not a number; the neighbour that
     * carries the weight is meant. */
    return isnan(value) ? sorted[(size_t)ceil(q * (double)(nr - 1))] : value;
}

double stats_quantile(const double *values, size_t nr, double q)
{
    struct arena arena = ARENA_EMPTY;
    const double *sorted = sorted_copy(&arena, values, nr, INFINITY);
    double value = quantile_of_sorted(sorted, nr, q);
    arena_release(&arena);
    return value;
}

double stats_median(const double *values, size_t nr)
{
    return stats_quantile(values, nr, 0.5);
}

/* What the interval from the l-th smallest to the l-th largest of nr values covers. */
static double median_coverage(size_t l, size_t nr)
{
    return 1 - 2 * gsl_cdf_binomial_P((unsigned)(l - 1), 0.5, (unsigned)nr);
}

struct interval stats_median_interval(const double *values, size_t nr, double level)
{
    /* Coverage falls as l grows: the largest l that still reaches the level, by bisection. */
    size_t l = 1, beyond = nr / 2 + 1;
    while (beyond - l > 1) {
        size_t middle = l + (beyond - l) / 2;
        if (median_coverage(middle, nr) >= level)
            l = middle;
        else
            beyond = middle;
    }

    struct arena arena = ARENA_EMPTY;
    const double *sorted = sorted_copy(&arena, values, nr, INFINITY);
    struct interval interval = {.estimate = quantile_of_sorted(sorted, nr, 0.5),
                                .low = sorted[l - 1],
                                .high = sorted[nr - l],
                                .level = median_coverage(l, nr)};
    arena_release(&arena);
    return interval;
}

/* ---- signed ranks ---- */

/* The distribution of the sum of those of `ranks` that a fair coin picks: probability[s] for s up
 * to *total. This is the null distribution of Wilcoxon's W+, exact. Every term is positive, so
 * nothing cancels and the relative error stays below nr x 2^-52. Time grows as nr cubed: a few
 * hundred pairs are quick, more are not what this is for. */
static double *rank_sum_distribution(struct arena *arena, const size_t *ranks, size_t nr,
                                     size_t *total)
{
    size_t sum = 0;
    for (size_t i = 0; i < nr; i++)
        sum += ranks[i];
    double *probability = arena_alloc(arena, sum + 1, sizeof *probability);
    probability[0] = 1;
    size_t reached = 0;
    for (size_t i = 0; i < nr; i++) {
        reached += ranks[i];
        for (size_t s = reached + 1; s-- > 0;) {
            double picked = s >= ranks[i] ? probability[s - ranks[i]] : 0;
            probability[s] = 0.5 * (probability[s] + picked);
        }
    }
    *total = sum;
    return probability;
}

/* The averages of every pair of values (and of each with itself), sorted: nr (nr + 1) / 2. */
static double *walsh_averages(struct arena *arena, const double *sorted, size_t nr,
                              size_t *nr_walsh)
{
    double *walsh = arena_alloc(arena, nr * (nr + 1) / 2, sizeof *walsh);
    size_t k = 0;
    for (size_t i = 0; i < nr; i++)
        for (size_t j = i; j < nr; j++)
            walsh[k++] = 0.5 * sorted[i] + 0.5 * sorted[j];
    gsl_sort(walsh, 1, k);
    *nr_walsh = k;
    return walsh;
}

/* The largest c >= 1 for which the c-th smallest and the c-th largest Walsh average cover the
 * centre with `level`: 1 - 2 P(W+ <= c - 1). *reached is what c = that covers. */
static size_t signed_rank_cut(struct arena *arena, size_t nr, double level, double *reached)
{
    size_t *ranks = arena_alloc(arena, nr, sizeof *ranks);
    for (size_t i = 0; i < nr; i++)
        ranks[i] = i + 1;
    size_t total;
    const double *probability = rank_sum_distribution(arena, ranks, nr, &total);

    double tail = probability[0];
    size_t c = 1;
    while (2 * c < total && 1 - 2 * (tail + probability[c]) >= level)
        tail += probability[c++];
    *reached = 1 - 2 * tail;
    return c;
}

struct interval stats_signed_rank_interval(const double *log_ratios, size_t nr, double level)
{
    struct arena arena = ARENA_EMPTY;
    double reached;
    size_t c = signed_rank_cut(&arena, nr, level, &reached);
    const double *sorted = sorted_copy(&arena, log_ratios, nr, -INFINITY);
    size_t nr_walsh;
    const double *walsh = walsh_averages(&arena, sorted, nr, &nr_walsh);
    struct interval interval = {.estimate = quantile_of_sorted(walsh, nr_walsh, 0.5),
                                .low = walsh[c - 1],
                                .high = walsh[nr_walsh - c],
                                .level = reached};
    arena_release(&arena);
    return interval;
}

/* Twice the rank of each of the sorted sizes, so that the middle rank of ties stays whole. */
static void fill_doubled_ranks(const double *sizes, size_t nr, size_t *ranks)
{
    for (size_t first = 0, next; first < nr; first = next) {
        for (next = first + 1; next < nr && sizes[next] == sizes[first];)
            next++;
        for (size_t i = first; i < next; i++)
            ranks[i] = first + 1 + next; /* 2 x the mean of first + 1 .. next */
    }
}

/* Given the sizes (and so their ties), the signs are fair coins under the null hypothesis: the
 * p-value is exact with ties too. A zero keeps its rank and is no gain. */
double stats_signed_rank_p(const double *log_ratios, size_t nr)
{
    struct arena arena = ARENA_EMPTY;
    double *sizes = arena_alloc(&arena, nr, sizeof *sizes);
    for (size_t i = 0; i < nr; i++)
        sizes[i] = isfinite(log_ratios[i]) ? fabs(log_ratios[i]) : INFINITY;
    size_t *order = arena_alloc(&arena, nr, sizeof *order);
    gsl_sort_index(order, sizes, 1, nr);
    gsl_sort(sizes, 1, nr);
    size_t *ranks = arena_alloc(&arena, nr, sizeof *ranks);
    fill_doubled_ranks(sizes, nr, ranks);

    size_t gains = 0; /* W+, doubled */
    for (size_t i = 0; i < nr; i++)
        if (isfinite(log_ratios[order[i]]) && log_ratios[order[i]] > 0)
            gains += ranks[i];

    size_t total;
    const double *probability = rank_sum_distribution(&arena, ranks, nr, &total);
    double p = 0;
    for (size_t s = total + 1; s-- > gains;)
        p += probability[s];
    arena_release(&arena);
    return p < 1 ? p : 1;
}

size_t stats_pairs_needed(size_t lines, double alpha)
{
    if (!(alpha > 0))
        return SIZE_MAX;
    /* Counted, not by log2: its rounding could ask for one pair too few or too many. */
    int pairs = 1;
    while (ldexp((double)(lines > 1 ? lines : 1), -pairs) > alpha)
        pairs++;
    return (size_t)pairs;
}

/* ---- bootstrap ---- */

static double median_ratio(double *a, size_t nr_a, double *b, size_t nr_b)
{
    double ratio = gsl_stats_median(a, 1, nr_a) / gsl_stats_median(b, 1, nr_b);
    return isfinite(ratio) ? ratio : 0; /* failed runs on either side are no evidence of a gain */
}

static uint64_t random_below(uint64_t *state, uint64_t bound);

static void resample(uint64_t *state, const double *values, size_t nr, double *drawn)
{
    for (size_t i = 0; i < nr; i++)
        drawn[i] = values[random_below(state, nr)];
}

struct interval stats_bootstrap_ratio(const double *a, size_t nr_a, const double *b, size_t nr_b,
                                      double level, unsigned resamples, uint64_t seed)
{
    struct arena arena = ARENA_EMPTY;
    const double *clean_a = sorted_copy(&arena, a, nr_a, INFINITY);
    const double *clean_b = sorted_copy(&arena, b, nr_b, INFINITY);
    double *drawn_a = sorted_copy(&arena, a, nr_a, INFINITY);
    double *drawn_b = sorted_copy(&arena, b, nr_b, INFINITY);
    double estimate = median_ratio(drawn_a, nr_a, drawn_b, nr_b);
    struct interval interval = {estimate, estimate, estimate, 0};

    if (resamples > 0) {
        double *ratios = arena_alloc(&arena, resamples, sizeof *ratios);
        for (unsigned i = 0; i < resamples; i++) {
            resample(&seed, clean_a, nr_a, drawn_a);
            resample(&seed, clean_b, nr_b, drawn_b);
            ratios[i] = median_ratio(drawn_a, nr_a, drawn_b, nr_b);
        }
        gsl_sort(ratios, 1, resamples);
        interval.low = quantile_of_sorted(ratios, resamples, 0.5 - 0.5 * level);
        interval.high = quantile_of_sorted(ratios, resamples, 0.5 + 0.5 * level);
        interval.level = level;
    }
    arena_release(&arena);
    return interval;
}

/* ---- random numbers: splitmix64 (Steele, Lea & Flood 2014) ---- */

uint64_t stats_random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double stats_random_uniform(uint64_t *state)
{
    return (double)(stats_random_next(state) >> 11) * 0x1p-53;
}

/* 0 .. bound-1 without bias: draws from the incomplete last stretch are drawn again. */
static uint64_t random_below(uint64_t *state, uint64_t bound)
{
    uint64_t too_low = (UINT64_MAX - bound + 1) % bound; /* 2^64 mod bound */
    uint64_t drawn;
    do
        drawn = stats_random_next(state);
    while (drawn < too_low);
    return drawn % bound;
}

void stats_random_order(uint64_t *state, size_t *order, size_t nr)
{
    for (size_t i = 0; i < nr; i++) {
        size_t j = (size_t)random_below(state, i + 1); /* inside-out Fisher-Yates */
        order[i] = order[j];
        order[j] = i;
    }
}
