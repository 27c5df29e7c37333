/* tune.c - race, propose, confirm, decide. */
#include "tune.h"

#include "file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_CONFIRM 20u
#define SPARE_PAIRS     3 /* over the fewest that can pass: one unlucky pair must not cost a line */
#define FEWEST_PAIRS    10 /* intervals from fewer are too wide to be of use */
#define MOST_PAIRS      30 /* more would narrow intervals by little */

struct session { /* one tune_run */
    const struct tune_request *request;
    struct oracle *oracle;
    struct decision_table *table;
    struct arena arena; /* of the run; what the table keeps is in the table's */
    struct race_entry *race;
    double spent;
    size_t *proposed; /* indices of points */
    size_t nr_proposed;
};

static void keep_rivals(const struct race_entry *entry, size_t winner, struct arena *arena,
                        struct decision_point *point)
{
    struct decision_rival *rivals = arena_alloc(arena, entry->nr + 1, sizeof *rivals);
    for (size_t i = 0; i < entry->nr; i++) {
        const char *why = entry->dropped[i] ? entry->dropped[i]
                          : i == 0          ? "the default"
                          : i == winner     ? "preferred"
                                            : "not faster";
        rivals[i] = (struct decision_rival){
            .algorithm = arena_strdup(arena, entry->candidates[i].algorithm),
            .seconds =
                entry->nr_samples[i] ? stats_median(entry->samples[i], entry->nr_samples[i]) : NAN,
            .samples = entry->nr_samples[i],
            .verdict = arena_strdup(arena, why),
        };
    }
    point->rivals = rivals;
    point->nr_rivals = entry->nr;
}

/* The race's view of every key becomes a point; nothing is proven yet. */
static void make_points(struct session *session)
{
    const struct tune_request *request = session->request;
    struct decision_table *table = session->table;
    table->points = arena_alloc(&table->arena, request->nr_keys + 1, sizeof *table->points);
    table->nr_points = request->nr_keys;
    for (size_t k = 0; k < request->nr_keys; k++) {
        const struct race_entry *entry = &session->race[k];
        struct interval gain;
        size_t winner = race_winner(entry, request->least_gain, request->seed + k, &gain);
        struct decision_point *point = &table->points[k];
        const char *name =
            request->target->default_choice(request->library, entry->key, &table->arena);
        *point = (struct decision_point){
            .key = *entry->key,
            .choice = winner ? entry->candidates[winner] : candidate_default,
            .default_choice = name,
            .default_seconds = NAN,
            .choice_seconds = NAN,
            .gain = {NAN, NAN, NAN, NAN},
            .p = NAN,
            .reason = entry->nr == 1     ? "no other candidate is legal here"
                      : !entry->alive[0] ? entry->dropped[0]
                      : winner == 0      ? "nothing was faster in the race"
                                         : "faster in the race; not confirmed",
        };
        keep_rivals(entry, winner, &table->arena, point);
        point->reason = point->reason ? arena_strdup(&table->arena, point->reason) : "not measured";
        if (entry->nr_samples && entry->nr_samples[0]) {
            point->default_seconds = stats_median(entry->samples[0], entry->nr_samples[0]);
            point->choice_seconds = stats_median(entry->samples[winner], entry->nr_samples[winner]);
        }
    }
}

static double race_gain(const struct decision_point *point)
{
    return point->default_seconds / point->choice_seconds - 1;
}

/* The fewest pairs for so many lines. */
static size_t pairs_for(const struct session *session, size_t lines)
{
    size_t pairs = stats_pairs_needed(lines, session->request->alpha) + SPARE_PAIRS;
    return pairs < FEWEST_PAIRS ? FEWEST_PAIRS : pairs;
}

/* Seconds of a pair of launches over the proposed points: each sample is a block of up to 100 us or
 * one call, with as much again for data and check. */
static double price_pair(const struct session *session)
{
    double seconds = 2 * session->oracle->price_launch;
    for (size_t i = 0; i < session->nr_proposed; i++) {
        double call = session->table->points[session->proposed[i]].default_seconds;
        seconds += 2 * (SAMPLES_CONFIRM + 8) * 2 * fmax(call, 150e-6);
    }
    return seconds;
}

/* Proposes all winners; where the budget cannot confirm so many, the least gains go first. */
static void propose(struct session *session)
{
    struct decision_table *table = session->table;
    double left = session->request->budget - session->spent;
    session->proposed = arena_alloc(&session->arena, table->nr_points + 1, sizeof(size_t));
    for (size_t i = 0; i < table->nr_points; i++) {
        if (table->points[i].choice.nr_settings) {
            session->proposed[session->nr_proposed++] = i;
        }
    }
    while (session->nr_proposed &&
           price_pair(session) * (double)pairs_for(session, session->nr_proposed) > left) {
        size_t least = 0;
        for (size_t i = 1; i < session->nr_proposed; i++) {
            if (race_gain(&table->points[session->proposed[i]]) <
                race_gain(&table->points[session->proposed[least]])) {
                least = i;
            }
        }
        table->points[session->proposed[least]].reason =
            "faster in the race; the budget could not confirm it";
        memmove(session->proposed + least, session->proposed + least + 1,
                (--session->nr_proposed - least) * sizeof(size_t));
    }
    table->lines_tested = session->nr_proposed;
}

/* The files with everything proposed, as if it were proven. */
static int write_proposal(struct session *session, struct candidate *with, struct error *error)
{
    const struct tune_request *request = session->request;
    struct decision_table draft = *session->table;
    struct emitted_file *files;
    size_t nr_files;
    draft.arena = ARENA_EMPTY;
    draft.points = arena_alloc(&draft.arena, draft.nr_points + 1, sizeof *draft.points);
    memcpy(draft.points, session->table->points, draft.nr_points * sizeof *draft.points);
    for (size_t i = 0; i < session->nr_proposed; i++) {
        draft.points[session->proposed[i]].proven = true;
    }
    decision_make_rows(&draft);
    int failed = request->target->emit(request->library, &draft, request->proposal_directory,
                                       &session->arena, &files, &nr_files, error);
    for (size_t f = 0; !failed && f < nr_files; f++) {
        char *path = file_join(request->proposal_directory, files[f].name);
        failed = file_write(path, files[f].text, strlen(files[f].text), error);
        free(path);
    }
    arena_release(&draft.arena);
    return failed || request->target->load_settings(request->proposal_directory, &session->arena,
                                                    with, error)
               ? -1
               : 0;
}

static void decide_point(struct session *session, const struct confirm_pairs *pairs, size_t i)
{
    struct decision_table *table = session->table;
    struct decision_point *point = &table->points[session->proposed[i]];
    double alpha = session->request->alpha / (double)table->lines_tested;
    double *ratios = arena_alloc(&table->arena, pairs->pairs + 1, sizeof *ratios);
    double *without = arena_alloc(&session->arena, pairs->pairs + 1, sizeof(double));
    double *with = arena_alloc(&session->arena, pairs->pairs + 1, sizeof(double));
    if (pairs->failure[i]) {
        point->reason = arena_printf(&table->arena, "confirmation failed: %s", pairs->failure[i]);
        return;
    }
    for (size_t p = 0; p < pairs->pairs; p++) {
        without[p] = pairs->without[p * pairs->nr_points + i];
        with[p] = pairs->with[p * pairs->nr_points + i];
        ratios[p] = log(without[p] / with[p]);
    }
    struct interval gain = stats_signed_rank_interval(ratios, pairs->pairs, 1 - 2 * alpha);
    point->default_seconds = stats_median(without, pairs->pairs);
    point->choice_seconds = stats_median(with, pairs->pairs);
    point->gain =
        (struct interval){expm1(gain.estimate), expm1(gain.low), expm1(gain.high), gain.level};
    point->p = stats_signed_rank_p(ratios, pairs->pairs);
    point->pairs = pairs->pairs;
    point->log_ratios = ratios;
    point->proven = point->p <= alpha && point->gain.low > 0;
    point->reason = point->proven ? "proven in fresh launches"
                                  : "faster in the race; fresh launches did not confirm it";
}

/* As many pairs as the budget has room for: settled before the first, so that nothing seen on the
 * way can end the confirmation early. */
static size_t pairs_affordable(const struct session *session)
{
    double left = session->request->budget - session->spent;
    double pairs = floor(left / price_pair(session));
    size_t fewest = pairs_for(session, session->nr_proposed);
    if (pairs < (double)fewest) {
        return fewest;
    }
    return pairs < MOST_PAIRS ? (size_t)pairs : fewest > MOST_PAIRS ? fewest : MOST_PAIRS;
}

static int confirm(struct session *session, struct error *error)
{
    const struct tune_request *request = session->request;
    struct candidate with;
    struct confirm_pairs pairs;
    struct key *keys = arena_alloc(&session->arena, session->nr_proposed + 1, sizeof *keys);
    uint32_t launch = 1;
    for (size_t i = 0; i < session->nr_proposed; i++) {
        keys[i] = session->table->points[session->proposed[i]].key;
    }
    if (write_proposal(session, &with, error) ||
        confirm_run(session->oracle, keys, session->nr_proposed, &with, pairs_affordable(session),
                    SAMPLES_CONFIRM, &launch, request->progress, "confirm", &session->arena, &pairs,
                    error)) {
        return -1;
    }
    session->table->pairs = pairs.pairs;
    session->table->canary = pairs.canary;
    for (size_t i = 0; i < session->nr_proposed; i++) {
        decide_point(session, &pairs, i);
    }
    return 0;
}

/* Candidates live in the run's arena; the table outlives it. */
static void keep_choices(struct decision_table *table)
{
    for (size_t i = 0; i < table->nr_points; i++) {
        struct error ignored = ERROR_NONE;
        struct json *json = candidate_to_json(&table->points[i].choice);
        candidate_from_json(json, &table->arena, &table->points[i].choice, &ignored);
        json_free(json);
    }
}

int tune_run(const struct tune_request *request, struct oracle *oracle,
             struct decision_table *table, struct error *error)
{
    struct session session = {.request = request, .oracle = oracle, .table = table};
    table->alpha = request->alpha;
    table->seed = request->seed;
    table->evidence = oracle->evidence;
    table->canary = NAN;
    int failed = race_run(request, oracle, request->budget / 2, &session.arena, &session.race,
                          &session.spent, error);
    if (session.race) {
        make_points(&session);
    }
    if (!failed) {
        propose(&session);
        failed = session.nr_proposed ? confirm(&session, error) : 0;
    }
    table->interrupted = failed && error->status == EXIT_STOPPED;
    keep_choices(table);
    decision_make_rows(table);
    arena_release(&session.arena);
    return failed;
}
