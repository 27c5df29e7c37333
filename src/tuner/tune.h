/* tune.h - from keys to a decision table: race, propose, confirm, decide. DESIGN's rules:
 *
 *  race      every candidate of every key against the default, interleaved, in one job; the clearly
 *            slower are dropped early. What wins a race is flattered by it, so it proves nothing.
 *  propose   a file with all winners that look better by more than `least_gain`.
 *  confirm   fresh launches in pairs, one without the file, one with it, order A B, B A, ...; a
 * pair gives one log ratio for each proposed point at once. decide    a point is proven when the
 * exact one-sided signed-rank test on its log ratios passes at alpha / m, m being the number of
 * points that went into confirmation: at most a chance of alpha that the file holds a false line.
 * Ties and the rest keep the default.
 */
#ifndef CCLTUNE_TUNE_H
#define CCLTUNE_TUNE_H

#include "oracle.h"
#include "target.h"

struct tune_progress { /* what a person at a terminal sees; called often */
    void (*step)(void *context, const char *stage, size_t done, size_t of, const char *what);
    void *context;
};

struct tune_request {
    const struct target *target;
    const struct library *library;
    const struct key *keys; /* in the order of collective, group, bytes */
    size_t nr_keys;
    double alpha;      /* chance of a false line in the whole file, 0.05 */
    double least_gain; /* of the race, to be worth a confirmation, 0.02 */
    double budget;     /* seconds of measuring, all launches together */
    uint64_t seed;
    const char *proposal_directory; /* exists; seen by all hosts; the proposal is written there */
    const struct tune_progress *progress; /* may be NULL */
};

/* Fills table->points, rows, alpha, seed, lines_tested, pairs, evidence; the rest of the table is
 * the caller's. The arena is the table's. On EXIT_STOPPED the table holds what is known so far:
 * nothing is proven that was not confirmed. */
int tune_run(const struct tune_request *request, struct oracle *oracle,
             struct decision_table *table, struct error *error);

/* ---- the parts, for tests and for verify ---- */

struct race_entry { /* one key in the race */
    const struct key *key;
    struct candidate *candidates; /* [0] is the default */
    size_t nr;
    double **samples; /* per candidate: so far */
    size_t *nr_samples;
    bool *alive;
    const char **dropped; /* per candidate: why; NULL = alive */
    bool settled;         /* nothing left to tell apart */
};

/* Races all keys within `budget` seconds; returns an array of nr_keys entries. */
int race_run(const struct tune_request *request, struct oracle *oracle, double budget,
             struct arena *arena, struct race_entry **entries, double *spent, struct error *error);

/* The index of the candidate to propose (0: none) and its gain as the race saw it. */
size_t race_winner(const struct race_entry *entry, double least_gain, uint64_t seed,
                   struct interval *gain);

struct confirm_pairs { /* launches with and without, per pair and point: medians in seconds */
    size_t pairs, nr_points;
    double *without, *with; /* [pair * nr_points + point]; NaN = no answer */
    const char **failure;   /* per point: what went wrong in either arm; NULL = nothing */
    double canary;          /* median over the launches; NaN = none */
};

/* Measures `nr` keys in `pairs` pairs of fresh launches: one arm is the default, the other
 * `with`. Launch numbers start at *launch and are used up. Pairs disturbed by something else (the
 * canary of a launch over three times the median of all) are repeated, at most a quarter more. */
int confirm_run(struct oracle *oracle, const struct key *keys, size_t nr,
                const struct candidate *with, size_t pairs, unsigned samples, uint32_t *launch,
                const struct tune_progress *progress, const char *stage, struct arena *arena,
                struct confirm_pairs *result, struct error *error);

#endif
