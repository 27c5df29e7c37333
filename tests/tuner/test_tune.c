/* test_tune.c - race, proposal, confirmation and decision against a library whose truth is known.
 */
#include "synthetic.h"

#include "journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KEYS 4

struct tuned { /* one tuning and what it left */
    struct decision_table table;
    struct error error;
    int failed;
};

static char directory[4096];

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

static struct tuned tune_by(struct oracle *oracle, const struct synthetic *synthetic, double budget)
{
    struct tuned tuned = {.error = ERROR_NONE};
    struct key keys[KEYS];
    synthetic_fill_keys(keys, KEYS);
    struct tune_request request = synthetic_request(synthetic, keys, KEYS, directory);
    request.budget = budget;
    tuned.failed = tune_run(&request, oracle, &tuned.table, &tuned.error);
    return tuned;
}

static struct tuned tune(struct synthetic *synthetic)
{
    struct oracle oracle = synthetic_oracle(synthetic);
    return tune_by(&oracle, synthetic, 1000);
}

/* A real machine's noise: samples with a heavy tail, launches that differ, a slow drift. */
static struct synthetic noisy(uint64_t seed)
{
    return (struct synthetic){
        .seed = seed, .nr = 4, .noise = 0.05, .tail = 0.05, .launch_noise = 0.03, .drift = 0.002};
}

static void set_gain(struct synthetic *synthetic, size_t candidate, double race, double fresh)
{
    synthetic->truth[candidate].race_gain = race;
    synthetic->truth[candidate].fresh_gain = fresh;
}

static char *table_text(const struct decision_table *table)
{
    struct json *json = decision_to_json(table);
    char *text = json_to_text(json, 1);
    json_free(json);
    return text;
}

static void assert_reasons(const struct decision_table *table, const char *part)
{
    for (size_t i = 0; i < table->nr_points; i++) {
        if (table->points[i].proven || !strstr(table->points[i].reason, part)) {
            fail_msg("point %zu: expected '%s', found '%s'", i, part, table->points[i].reason);
        }
    }
}

static void test_true_gains_are_found(void **state)
{
    (void)state;
    size_t found = 0, wrong = 0, covered = 0, seeds = 25;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct synthetic synthetic = noisy(seed);
        set_gain(&synthetic, 1, 0.15, 0.15);
        set_gain(&synthetic, 2, 0.05, 0.05);
        set_gain(&synthetic, 3, -0.2, -0.2);
        struct tuned tuned = tune(&synthetic);
        assert_int_equal(tuned.failed, 0);
        for (size_t i = 0; i < KEYS; i++) {
            const struct decision_point *point = &tuned.table.points[i];
            double truth = strcmp(point->choice.algorithm, "algorithm1") ? 0.05 : 0.15;
            found += point->proven && truth == 0.15;
            wrong += point->proven && truth != 0.15;
            covered += point->proven && point->gain.low <= truth && point->gain.high >= truth;
        }
        decision_release(&tuned.table);
    }
    if (found < seeds * KEYS * 9 / 10 || wrong > 2 || covered < (found + wrong) * 95 / 100) {
        fail_msg("of %zu gains %zu found, %zu taken from another, %zu intervals hold the truth",
                 seeds * KEYS, found, wrong, covered);
    }
}

static void test_the_table_of_a_clear_win(void **state)
{
    (void)state;
    struct synthetic synthetic = noisy(3);
    set_gain(&synthetic, 2, 0.5, 0.5);
    synthetic.truth[2].from_bytes = 4096; /* all but the first size */
    struct tuned tuned = tune(&synthetic);
    const struct decision_table *table = &tuned.table;
    assert_int_equal(tuned.failed, 0);
    assert_int_equal(table->nr_points, KEYS);
    assert_int_equal(table->evidence, EVIDENCE_IN_TARGET);
    assert_true(table->seed == 3 && table->alpha > 0.049 && !table->interrupted);
    assert_int_equal(table->nr_rows, 1);
    assert_true(table->rows[0].first_bytes == 4096 && table->rows[0].last_bytes == 65536);
    assert_string_equal(table->rows[0].choice.algorithm, "algorithm2");
    assert_string_equal(table->rows[0].choice.settings[0].value, "algorithm2");
    assert_true(table->rows[0].gain.low > 0.4 && table->rows[0].gain.high < 0.6);
    assert_false(table->points[0].proven);
    assert_true(table->lines_tested >= 3 && table->pairs >= 10);
    assert_string_equal(table->points[1].reason, "proven in fresh launches");
    assert_string_equal(table->points[1].default_choice, "what it always does");
    assert_true(table->points[1].pairs == table->pairs && table->points[1].log_ratios);
    assert_true(table->points[1].default_seconds > 1.4 * table->points[1].choice_seconds);
    assert_int_equal(synthetic.last_launch, 2 * table->pairs);
    assert_true(table->canary > 20e-6 && table->canary < 22e-6);
    decision_release(&tuned.table);
}

/* What was fast in the race only is measured again, and stays out. */
static void test_a_flattered_winner_is_not_emitted(void **state)
{
    (void)state;
    static const double truths[] = {0, -0.1, -0.5};
    for (size_t t = 0; t < 3; t++) {
        struct synthetic synthetic = noisy(11);
        set_gain(&synthetic, 0, 0.3, truths[t]);
        struct tuned tuned = tune(&synthetic);
        assert_int_equal(tuned.failed, 0);
        assert_int_equal(tuned.table.lines_tested, KEYS);
        assert_int_equal(tuned.table.nr_rows, 0);
        assert_reasons(&tuned.table, "did not confirm it");
        assert_true(tuned.table.points[0].gain.low < 0.01);
        decision_release(&tuned.table);
    }
}

static void test_nothing_faster_means_no_fresh_launch(void **state)
{
    (void)state;
    struct synthetic synthetic = noisy(2);
    for (size_t i = 0; i < 4; i++) {
        set_gain(&synthetic, i, -0.3, -0.3);
    }
    struct tuned tuned = tune(&synthetic);
    assert_int_equal(tuned.failed, 0);
    assert_int_equal(tuned.table.nr_rows, 0);
    assert_int_equal(tuned.table.lines_tested, 0);
    assert_int_equal(synthetic.last_launch, 0);
    assert_reasons(&tuned.table, "nothing was faster in the race");
    assert_true(tuned.table.points[0].default_seconds > 0);
    assert_true(isnan(tuned.table.canary));
    decision_release(&tuned.table);
}

/* What became of each candidate is told, also of those that were dropped. */
static void test_rivals_are_kept_with_their_verdicts(void **state)
{
    (void)state;
    struct synthetic synthetic = noisy(7);
    set_gain(&synthetic, 1, 0.25, 0.25);
    set_gain(&synthetic, 2, -0.8, -0.8);
    synthetic.truth[3].kind = OUTCOME_WRONG;
    struct tuned tuned = tune(&synthetic);
    static const char *const expected[][2] = {{"default", "the default"},
                                              {"algorithm0", "slower"},
                                              {"algorithm1", "preferred"},
                                              {"algorithm2", "much slower"},
                                              {"algorithm3", "wrong: as the truth has it"}};
    for (size_t k = 0; k < KEYS; k++) {
        const struct decision_point *point = &tuned.table.points[k];
        assert_int_equal(point->nr_rivals, 5);
        for (size_t i = 0; i < 5; i++) {
            const struct decision_rival *rival = &point->rivals[i];
            assert_string_equal(rival->algorithm, expected[i][0]);
            assert_string_equal(rival->verdict, expected[i][1]);
            assert_int_equal(rival->samples > 0, i != 4);
            assert_int_equal(isnan(rival->seconds) != 0, i == 4);
        }
    }
    decision_release(&tuned.table);
}

static void test_failures_never_become_rows(void **state)
{
    (void)state;
    static const enum outcome_kind kinds[] = {OUTCOME_HUNG, OUTCOME_CRASHED, OUTCOME_WRONG,
                                              OUTCOME_REFUSED};
    for (size_t k = 0; k < 4; k++) {
        struct synthetic synthetic = noisy(7);
        set_gain(&synthetic, 0, 5, 5); /* very fast, and wrong */
        synthetic.truth[0].kind = kinds[k];
        struct tuned tuned = tune(&synthetic);
        assert_int_equal(tuned.failed, 0);
        for (size_t i = 0; i < KEYS; i++) {
            assert_string_not_equal(tuned.table.points[i].choice.algorithm, "algorithm0");
        }
        assert_int_equal(tuned.table.nr_rows, 0);
        decision_release(&tuned.table);
    }
}

static void test_failures_in_fresh_launches_carry_their_reason(void **state)
{
    (void)state;
    static const enum outcome_kind kinds[] = {OUTCOME_HUNG, OUTCOME_CRASHED, OUTCOME_WRONG,
                                              OUTCOME_REFUSED};
    for (size_t k = 0; k < 4; k++) {
        char expected[128];
        struct synthetic synthetic = noisy(7);
        set_gain(&synthetic, 1, 0.5, 0.5);
        synthetic.truth[1].in_fresh = kinds[k];
        struct tuned tuned = tune(&synthetic);
        snprintf(expected, sizeof expected,
                 "confirmation failed: %s in launch 2: as the truth has it",
                 outcome_name(kinds[k]));
        assert_int_equal(tuned.failed, 0);
        assert_int_equal(tuned.table.nr_rows, 0);
        assert_reasons(&tuned.table, expected);
        decision_release(&tuned.table);
    }
}

static void test_a_failing_default_proves_nothing(void **state)
{
    (void)state;
    struct synthetic synthetic = noisy(7);
    set_gain(&synthetic, 1, 0.5, 0.5);
    synthetic.default_kind = OUTCOME_HUNG;
    struct tuned tuned = tune(&synthetic);
    assert_int_equal(tuned.failed, 0);
    assert_int_equal(tuned.table.nr_rows, 0);
    assert_reasons(&tuned.table, "hung: as the truth has it");
    decision_release(&tuned.table);
    synthetic.default_kind = OUTCOME_WRONG;
    tuned = tune(&synthetic);
    assert_int_equal(tuned.failed, -1);
    assert_int_equal(tuned.error.status, EXIT_WRONG);
    assert_false(tuned.table.interrupted);
    assert_int_equal(tuned.table.nr_rows, 0);
    decision_release(&tuned.table);
}

/* Stopped at any call: whatever is known is in the table, and nothing of it is proven. */
static void test_interrupted_anywhere_nothing_is_proven(void **state)
{
    (void)state;
    struct synthetic whole = noisy(1);
    set_gain(&whole, 1, 0.5, 0.5);
    struct tuned tuned = tune(&whole);
    assert_int_equal(tuned.table.nr_rows, 1);
    decision_release(&tuned.table);
    assert_true(whole.runs > 30);
    for (size_t stop = 1; stop <= whole.runs; stop++) {
        struct synthetic synthetic = noisy(1);
        set_gain(&synthetic, 1, 0.5, 0.5);
        synthetic.stop_at = stop;
        tuned = tune(&synthetic);
        assert_int_equal(tuned.failed, -1);
        assert_int_equal(tuned.error.status, EXIT_STOPPED);
        assert_true(tuned.table.interrupted);
        assert_int_equal(tuned.table.nr_points, KEYS);
        assert_int_equal(tuned.table.nr_rows, 0);
        for (size_t i = 0; i < KEYS; i++) {
            assert_false(tuned.table.points[i].proven);
            assert_true(tuned.table.points[i].reason && *tuned.table.points[i].reason);
            assert_int_equal(tuned.table.points[i].default_seconds > 0, stop > i + 1);
        }
        free(table_text(&tuned.table));
        decision_release(&tuned.table);
    }
}

static void test_a_budget_too_small_to_confirm(void **state)
{
    (void)state;
    struct synthetic synthetic = noisy(1);
    struct oracle oracle = synthetic_oracle(&synthetic);
    set_gain(&synthetic, 1, 0.5, 0.5);
    struct tuned tuned = tune_by(&oracle, &synthetic, 5); /* ten pairs of launches take 10 s */
    assert_int_equal(tuned.failed, 0);
    assert_int_equal(tuned.table.nr_rows, 0);
    assert_int_equal(tuned.table.lines_tested, 0);
    assert_int_equal(synthetic.last_launch, 0);
    assert_reasons(&tuned.table, "the budget could not confirm it");
    assert_string_equal(tuned.table.points[0].choice.algorithm, "algorithm1");
    decision_release(&tuned.table);
}

/* Room for some lines: those that gain most go first. */
static void test_the_budget_keeps_the_best(void **state)
{
    (void)state;
    struct synthetic synthetic = noisy(1);
    struct oracle oracle = synthetic_oracle(&synthetic);
    synthetic.launch_noise = synthetic.noise = synthetic.tail = 0;
    set_gain(&synthetic, 1, 0.5, 0.5);
    set_gain(&synthetic, 2, 1.0, 1.0);
    synthetic.truth[2].from_bytes = 65536; /* the last size gains more */
    oracle.price_launch = 0.0001;          /* so that lines count */
    struct tuned tuned = tune_by(&oracle, &synthetic, 0.2);
    assert_int_equal(tuned.failed, 0);
    assert_true(tuned.table.lines_tested > 0 && tuned.table.lines_tested < KEYS);
    assert_true(tuned.table.points[KEYS - 1].proven);
    assert_string_equal(tuned.table.points[KEYS - 1].choice.algorithm, "algorithm2");
    size_t proposed = 0;
    for (size_t i = 0; i < KEYS; i++) {
        proposed += !strstr(tuned.table.points[i].reason, "budget could not");
    }
    assert_int_equal(proposed, tuned.table.lines_tested);
    decision_release(&tuned.table);
}

static void test_disturbed_launches_do_not_hide_a_gain(void **state)
{
    (void)state;
    size_t proven = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct synthetic synthetic = noisy(seed);
        set_gain(&synthetic, 1, 0.2, 0.2);
        synthetic.disturbed = 0.08;
        struct tuned tuned = tune(&synthetic);
        assert_int_equal(tuned.failed, 0);
        assert_true(synthetic.last_launch >= 2 * tuned.table.pairs);
        for (size_t i = 0; i < KEYS; i++) {
            const struct decision_point *point = &tuned.table.points[i];
            proven += point->proven;
            for (size_t p = 0; p < point->pairs; p++) { /* no factor of five in any pair */
                assert_true(fabs(point->log_ratios[p] - log(1.2)) < log(2.5));
            }
        }
        decision_release(&tuned.table);
    }
    assert_true(proven >= 36);
}

static void test_the_same_seed_gives_the_same_table(void **state)
{
    (void)state;
    char *texts[3];
    for (size_t i = 0; i < 3; i++) {
        struct synthetic synthetic = noisy(i == 2 ? 43 : 42);
        set_gain(&synthetic, 1, 0.1, 0.1);
        struct tuned tuned = tune(&synthetic);
        texts[i] = table_text(&tuned.table);
        decision_release(&tuned.table);
    }
    assert_string_equal(texts[0], texts[1]);
    assert_string_not_equal(texts[0], texts[2]);
    for (size_t i = 0; i < 3; i++) {
        free(texts[i]);
    }
}

static void test_no_keys_no_table(void **state)
{
    (void)state;
    struct synthetic synthetic = noisy(1);
    struct oracle oracle = synthetic_oracle(&synthetic);
    struct tune_request request = synthetic_request(&synthetic, NULL, 0, directory);
    struct tuned tuned = {.error = ERROR_NONE};
    assert_int_equal(tune_run(&request, &oracle, &tuned.table, &tuned.error), 0);
    assert_int_equal(tuned.table.nr_points, 0);
    assert_int_equal(synthetic.runs, 0);
    decision_release(&tuned.table);
}

static void test_a_proposal_that_cannot_be_written(void **state)
{
    (void)state;
    struct synthetic synthetic = noisy(1);
    struct oracle oracle = synthetic_oracle(&synthetic);
    struct tuned tuned = {.error = ERROR_NONE};
    struct key keys[KEYS];
    set_gain(&synthetic, 1, 0.5, 0.5);
    synthetic_fill_keys(keys, KEYS);
    struct tune_request request = synthetic_request(&synthetic, keys, KEYS, "/nowhere/at/all");
    assert_int_equal(tune_run(&request, &oracle, &tuned.table, &tuned.error), -1);
    assert_non_null(strstr(tuned.error.message, "/nowhere/at/all/choices"));
    assert_false(tuned.table.interrupted);
    assert_int_equal(tuned.table.nr_rows, 0);
    decision_release(&tuned.table);
}

/* ---- with a journal ---- */

/* Runs with the journal at `path` until the oracle's call number `stop` (0: to the end). */
static struct tuned tune_with_journal(const char *path, bool resume, struct synthetic *synthetic)
{
    struct error error = ERROR_NONE;
    struct journal *journal;
    struct json *about = json_make_object();
    struct oracle inner = synthetic_oracle(synthetic);
    if (synthetic->stop_at == 0) {
        inner.price_launch = 3; /* a later run may think otherwise, and must plan as the first */
    }
    json_put_text(about, "what", "a test");
    if (journal_open(path, about, resume, &journal, &error)) {
        fail_msg("%s", error.message);
    }
    struct oracle oracle = journal_oracle(journal, &inner);
    struct tuned tuned = tune_by(&oracle, synthetic, 60);
    journal_close(journal);
    json_free(about);
    return tuned;
}

static struct synthetic journalled(size_t stop_at)
{
    struct synthetic synthetic = noisy(21);
    set_gain(&synthetic, 1, 0.1, 0.1);
    synthetic.stop_at = stop_at;
    return synthetic;
}

/* Killed after any call and resumed: the same table, and nothing measured twice. */
static void test_killed_anywhere_and_resumed(void **state)
{
    (void)state;
    char *path = file_join(directory, "journal");
    struct synthetic whole = journalled(SIZE_MAX); /* never stopped */
    struct tuned tuned = tune_with_journal(path, false, &whole);
    char *expected = table_text(&tuned.table);
    assert_int_equal(tuned.failed, 0);
    assert_int_equal(tuned.table.nr_rows, 1);
    decision_release(&tuned.table);
    unlink(path);
    for (size_t stop = 2; stop <= whole.runs; stop += stop < 24 ? 1 : 5) {
        struct synthetic first = journalled(stop), second = journalled(0);
        tuned = tune_with_journal(path, false, &first);
        assert_int_equal(tuned.failed, -1);
        decision_release(&tuned.table);
        tuned = tune_with_journal(path, true, &second);
        char *text = table_text(&tuned.table);
        assert_int_equal(tuned.failed, 0);
        assert_string_equal(text, expected);
        assert_int_equal(first.asked + second.asked, whole.asked);
        free(text);
        decision_release(&tuned.table);
        unlink(path);
    }
    free(expected);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_true_gains_are_found),
        cmocka_unit_test(test_the_table_of_a_clear_win),
        cmocka_unit_test(test_a_flattered_winner_is_not_emitted),
        cmocka_unit_test(test_nothing_faster_means_no_fresh_launch),
        cmocka_unit_test(test_rivals_are_kept_with_their_verdicts),
        cmocka_unit_test(test_failures_never_become_rows),
        cmocka_unit_test(test_failures_in_fresh_launches_carry_their_reason),
        cmocka_unit_test(test_a_failing_default_proves_nothing),
        cmocka_unit_test(test_interrupted_anywhere_nothing_is_proven),
        cmocka_unit_test(test_a_budget_too_small_to_confirm),
        cmocka_unit_test(test_the_budget_keeps_the_best),
        cmocka_unit_test(test_disturbed_launches_do_not_hide_a_gain),
        cmocka_unit_test(test_the_same_seed_gives_the_same_table),
        cmocka_unit_test(test_no_keys_no_table),
        cmocka_unit_test(test_a_proposal_that_cannot_be_written),
        cmocka_unit_test(test_killed_anywhere_and_resumed),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
