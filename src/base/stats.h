/* stats.h - honest statistics of times: order statistics, never means.
 *
 * Samples are seconds (or any positive quantity). GSL is known to stats.c alone.
 */
#ifndef CCLTUNE_STATS_H
#define CCLTUNE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An estimate and the interval that holds the true value with probability >= level. */
struct interval {
    double estimate, low, high;
    double level; /* 0 < level < 1; what was reached, which may exceed what was asked for */
};

/* Median and other quantiles (linear interpolation between order statistics, GSL's rule).
 * `values` need not be sorted and is not changed; nr >= 1, 0 <= q <= 1. */
double stats_median(const double *values, size_t nr);
double stats_quantile(const double *values, size_t nr, double q);

/* The median with its distribution-free interval: the order statistics l and n+1-l with
 * P(l <= Binomial(n, 1/2) <= n-l) >= level (David & Nagaraja, Order Statistics, 7.1). With too few
 * values for the level, low = min and high = max and `level` says what that reaches. */
struct interval stats_median_interval(const double *values, size_t nr, double level);

/* How much faster is b than a? `log_ratios[i]` = log(time of a / time of b) of pair i, the pair
 * being the sampling unit. Hodges-Lehmann estimate (median of the Walsh averages) and the exact
 * signed-rank interval (Hollander & Wolfe, Nonparametric Statistical Methods, 3.2-3.3). The values
 * stay on the log scale. */
struct interval stats_signed_rank_interval(const double *log_ratios, size_t nr, double level);

/* One-sided exact Wilcoxon signed-rank p-value for "the centre is above 0". Zeros count against
 * the alternative. nr >= 1. */
double stats_signed_rank_p(const double *log_ratios, size_t nr);

/* The fewest pairs that can reach a one-sided level of alpha / lines: ceil(log2(lines / alpha)),
 * since the smallest p of a rank test on n pairs is 2^-n. */
size_t stats_pairs_needed(size_t lines, double alpha);

/* Ratio of two independent sets of samples, median(a) / median(b), with a bootstrap percentile
 * interval of `resamples` (Efron & Tibshirani, 13). Deterministic for a seed. For screening, not
 * for proof. */
struct interval stats_bootstrap_ratio(const double *a, size_t nr_a, const double *b, size_t nr_b,
                                      double level, unsigned resamples, uint64_t seed);

/* A small generator of its own stream (splitmix64): the same numbers on every machine. */
uint64_t stats_random_next(uint64_t *state);
double stats_random_uniform(uint64_t *state); /* [0, 1) */
/* Shuffles 0..nr-1 into `order`. */
void stats_random_order(uint64_t *state, size_t *order, size_t nr);

#endif
