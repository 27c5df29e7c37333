/* confirm.c - pairs of fresh launches, with and without: A B, B A, A B, ... */
#include "tune.h"

#include <math.h>
#include <string.h>

#define DISTURBED 3.0 /* canary of a launch over the median of all */

/* One launch measures every key once; medians go to seconds[]. */
static int run_arm(struct oracle *oracle, const struct key *keys, size_t nr,
                   const struct candidate *candidate, uint32_t launch, unsigned samples,
                   struct arena *arena, double *seconds, const char **failure, double *canary,
                   struct error *error)
{
    struct trial *trials = arena_alloc(arena, nr, sizeof *trials);
    struct outcome *outcomes = arena_alloc(arena, nr, sizeof *outcomes);
    for (size_t i = 0; i < nr; i++) {
        trials[i] = (struct trial){
            .candidate = *candidate, .key = keys[i], .launch = launch, .samples = samples};
    }
    if (oracle->run(oracle, trials, nr, arena, outcomes, error)) {
        return -1;
    }
    *canary = NAN;
    for (size_t i = 0; i < nr; i++) {
        seconds[i] = NAN;
        if (outcomes[i].kind == OUTCOME_SAMPLES) {
            seconds[i] = stats_median(outcomes[i].samples, outcomes[i].nr);
            *canary = isnan(*canary) ? outcomes[i].canary : *canary;
        } else if (!failure[i]) {
            failure[i] = arena_printf(arena, "%s in launch %u: %s", outcome_name(outcomes[i].kind),
                                      launch, outcomes[i].detail);
        }
    }
    return 0;
}

/* The median canary of all launches so far; infinite when none has one. */
static double usual_canary(const double *canaries, size_t nr, struct arena *arena)
{
    double *known = arena_alloc(arena, nr + 1, sizeof *known);
    size_t nr_known = 0;
    for (size_t i = 0; i < nr; i++) {
        if (!isnan(canaries[i])) {
            known[nr_known++] = canaries[i];
        }
    }
    return nr_known ? stats_median(known, nr_known) : INFINITY;
}

/* Was a launch of the pair disturbed? Both arms are treated alike, so this cannot favour one. */
static bool disturbed(const double *canaries, size_t pair, double usual)
{
    return canaries[2 * pair] > DISTURBED * usual || canaries[2 * pair + 1] > DISTURBED * usual;
}

static void drop_disturbed(struct confirm_pairs *result, const double *canaries, double usual)
{
    size_t kept = 0, nr = result->nr_points;
    for (size_t p = 0; p < result->pairs; p++) {
        if (!disturbed(canaries, p, usual)) {
            memmove(result->without + kept * nr, result->without + p * nr, nr * sizeof(double));
            memmove(result->with + kept * nr, result->with + p * nr, nr * sizeof(double));
            kept++;
        }
    }
    result->pairs = kept;
}

int confirm_run(struct oracle *oracle, const struct key *keys, size_t nr,
                const struct candidate *with, size_t pairs, unsigned samples, uint32_t *launch,
                const struct tune_progress *progress, const char *stage, struct arena *arena,
                struct confirm_pairs *result, struct error *error)
{
    size_t most = pairs + pairs / 4 + 1, quiet = 0;
    double *canaries = arena_alloc(arena, 2 * most, sizeof *canaries), usual = INFINITY;
    *result = (struct confirm_pairs){
        .nr_points = nr,
        .without = arena_alloc(arena, most * nr + 1, sizeof(double)),
        .with = arena_alloc(arena, most * nr + 1, sizeof(double)),
        .failure = arena_alloc(arena, nr + 1, sizeof(char *)),
    };
    for (size_t p = 0; p < most && quiet < pairs; p++) {
        for (unsigned half = 0; half < 2; half++) {
            bool second = (half == 1) != (p % 2 == 1); /* A B, then B A */
            double *seconds = (second ? result->with : result->without) + p * nr;
            if (progress) {
                progress->step(progress->context, stage, 2 * p + half, 2 * pairs, "");
            }
            if (run_arm(oracle, keys, nr, second ? with : &candidate_default, (*launch)++, samples,
                        arena, seconds, result->failure, &canaries[2 * p + half], error)) {
                return -1;
            }
        }
        result->pairs = p + 1;
        usual = usual_canary(canaries, 2 * result->pairs, arena);
        quiet = 0;
        for (size_t i = 0; i < result->pairs; i++) {
            quiet += !disturbed(canaries, i, usual);
        }
    }
    drop_disturbed(result, canaries, usual);
    result->canary = isinf(usual) ? NAN : usual;
    return 0;
}
