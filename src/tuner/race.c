/* race.c - successive rounds over all keys; losers leave early.
 *
 * Why a race: with the noise of real machines, 24 candidates and the same regret, it needs a tenth
 * of the runs of a fixed number each. Rounds go over all keys before the next round starts, so that
 * a budget that ends leaves every key with something.
 */
#include "tune.h"

#include "units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GROSS_LOSER 1.5  /* fastest sample over the best median: out at once */
#define TIE         0.02 /* differences below do not matter */
#define RESAMPLES   200

static const unsigned round_samples[] = {3, 4, 8, 15, 30};
#define ROUNDS (sizeof round_samples / sizeof *round_samples)

static int prepare(const struct tune_request *request, const struct key *key, struct arena *arena,
                   struct race_entry *entry, struct error *error)
{
    struct candidate *list;
    size_t nr, room = 0;
    if (request->target->candidates(request->library, key, arena, &list, &nr, error)) {
        return -1;
    }
    for (size_t r = 0; r < ROUNDS; r++) {
        room += round_samples[r];
    }
    *entry = (struct race_entry){.key = key, .nr = nr + 1, .settled = nr == 0};
    entry->candidates = arena_alloc(arena, nr + 1, sizeof *entry->candidates);
    entry->candidates[0] = request->target->race_reference
                               ? request->target->race_reference(request->library, key, arena)
                               : candidate_default;
    if (nr) {
        memcpy(entry->candidates + 1, list, nr * sizeof *list);
    }
    entry->samples = arena_alloc(arena, nr + 1, sizeof *entry->samples);
    entry->nr_samples = arena_alloc(arena, nr + 1, sizeof *entry->nr_samples);
    entry->alive = arena_alloc(arena, nr + 1, sizeof *entry->alive);
    entry->dropped = arena_alloc(arena, nr + 1, sizeof *entry->dropped);
    for (size_t i = 0; i <= nr; i++) {
        entry->samples[i] = arena_alloc(arena, room, sizeof(double));
        entry->alive[i] = true;
    }
    return 0;
}

static void drop(struct race_entry *entry, size_t i, const char *why)
{
    entry->alive[i] = false;
    entry->dropped[i] = why;
}

static size_t fastest(const struct race_entry *entry)
{
    size_t best = SIZE_MAX;
    double least = INFINITY;
    for (size_t i = 0; i < entry->nr; i++) {
        if (entry->alive[i] && entry->nr_samples[i]) {
            double median = stats_median(entry->samples[i], entry->nr_samples[i]);
            if (median < least) {
                least = median;
                best = i;
            }
        }
    }
    return best;
}

/* Drops who has lost; the default stays to the end: it is what the winner is compared with. */
static void judge(struct race_entry *entry, uint64_t seed)
{
    size_t best = fastest(entry), rivals = 0;
    if (best == SIZE_MAX || !entry->alive[0]) {
        entry->settled = true; /* no default, no comparison */
        return;
    }
    double best_median = stats_median(entry->samples[best], entry->nr_samples[best]);
    bool best_known = entry->nr_samples[best] >= 15;
    for (size_t i = 0; i < entry->nr; i++) {
        if (!entry->alive[i] || i == best) {
            continue;
        }
        struct interval ratio =
            stats_bootstrap_ratio(entry->samples[i], entry->nr_samples[i], entry->samples[best],
                                  entry->nr_samples[best], 0.95, RESAMPLES, seed + i);
        double quickest = stats_quantile(entry->samples[i], entry->nr_samples[i], 0);
        if (i && quickest > GROSS_LOSER * best_median) {
            drop(entry, i, "much slower");
        } else if (i && entry->nr_samples[i] >= 7 && ratio.low > 1) {
            drop(entry, i, "slower");
        } else if (ratio.low < 1 && !(best_known && fabs(ratio.estimate - 1) < TIE)) {
            rivals++;
        }
    }
    entry->settled = rivals == 0 && best_known;
}

static int run_round(struct race_entry *entry, uint32_t round, struct oracle *oracle,
                     struct arena *arena, double *spent, struct error *error)
{
    struct trial *trials = arena_alloc(arena, entry->nr, sizeof *trials);
    struct outcome *outcomes = arena_alloc(arena, entry->nr, sizeof *outcomes);
    size_t *which = arena_alloc(arena, entry->nr, sizeof *which), nr = 0;
    for (size_t i = 0; i < entry->nr; i++) {
        if (entry->alive[i]) {
            which[nr] = i;
            trials[nr++] = (struct trial){.candidate = entry->candidates[i],
                                          .key = *entry->key,
                                          .round = round,
                                          .samples = round_samples[round]};
        }
    }
    if (oracle->run(oracle, trials, nr, arena, outcomes, error)) {
        return -1;
    }
    for (size_t k = 0; k < nr; k++) {
        size_t i = which[k];
        *spent += outcomes[k].cost;
        if (i == 0 && outcomes[k].kind == OUTCOME_WRONG) {
            char size[UNITS_TEXT];
            return error_set(error, EXIT_WRONG,
                             "%s of %s: the library's own choice computes wrong results (%s): "
                             "nothing can be tuned on such a machine",
                             coll_name(entry->key->collective),
                             units_format_bytes(entry->key->bytes, size), outcomes[k].detail);
        }
        if (outcomes[k].kind != OUTCOME_SAMPLES) {
            drop(entry, i,
                 arena_printf(arena, "%s: %s", outcome_name(outcomes[k].kind), outcomes[k].detail));
            continue;
        }
        for (size_t s = 0; s < outcomes[k].nr && s < round_samples[round]; s++) {
            entry->samples[i][entry->nr_samples[i]++] = outcomes[k].samples[s];
        }
    }
    return 0;
}

int race_run(const struct tune_request *request, struct oracle *oracle, double budget,
             struct arena *arena, struct race_entry **entries, double *spent, struct error *error)
{
    struct race_entry *list = arena_alloc(arena, request->nr_keys + 1, sizeof *list);
    for (size_t k = 0; k < request->nr_keys; k++) {
        if (prepare(request, &request->keys[k], arena, &list[k], error)) {
            return -1;
        }
    }
    *entries = list;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < request->nr_keys; k++) {
            struct race_entry *entry = &list[k];
            if (entry->settled || (round > 1 && *spent > budget)) {
                continue; /* two rounds are owed to every key whatever they cost */
            }
            if (request->progress) {
                char size[UNITS_TEXT];
                request->progress->step(request->progress->context, "race",
                                        round * request->nr_keys + k, ROUNDS * request->nr_keys,
                                        arena_printf(arena, "%s %s",
                                                     coll_name(entry->key->collective),
                                                     units_format_bytes(entry->key->bytes, size)));
            }
            if (run_round(entry, round, oracle, arena, spent, error)) {
                return -1;
            }
            judge(entry, request->seed + k * 131 + round);
        }
    }
    return 0;
}

size_t race_winner(const struct race_entry *entry, double least_gain, uint64_t seed,
                   struct interval *gain)
{
    size_t best = fastest(entry);
    *gain = (struct interval){0, 0, 0, 0};
    if (best == SIZE_MAX || best == 0 || !entry->nr_samples[0] || !entry->alive[0]) {
        return 0;
    }
    struct interval ratio =
        stats_bootstrap_ratio(entry->samples[0], entry->nr_samples[0], entry->samples[best],
                              entry->nr_samples[best], 0.9, RESAMPLES, seed);
    *gain = (struct interval){ratio.estimate - 1, ratio.low - 1, ratio.high - 1, ratio.level};
    return gain->estimate > least_gain && gain->low > 0 ? best : 0;
}
