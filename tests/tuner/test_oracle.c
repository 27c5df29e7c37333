/* test_oracle.c - the JSON forms of trials and outcomes, which journal and wire rely on. */
#include "oracle.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct setting settings[] = {{"A", "x", SCOPE_CALL}, {"B", "y z", SCOPE_PROCESS}};

static struct trial make_trial(void)
{
    return (struct trial){
        .candidate = {"x", settings, 2},
        .key = {.collective = COLL_BROADCAST, .group = {"dp", 2, 4, 2, 2}, .bytes = 4096},
        .launch = 7,
        .round = 3,
        .samples = 30};
}

static struct json *parse(const char *text)
{
    struct error error = ERROR_NONE;
    struct json *json = json_parse(text, strlen(text), "test", &error);
    if (!json) {
        fail_msg("%s", error.message);
    }
    return json;
}

static void test_what_makes_trials_the_same(void **state)
{
    (void)state;
    struct trial trial = make_trial(), other = trial;
    assert_true(trial_same(&trial, &other));
    other.samples = 1;
    assert_true(trial_same(&trial, &other));
    other.round = 4;
    assert_false(trial_same(&trial, &other));
    other = trial;
    other.launch = 8;
    assert_false(trial_same(&trial, &other));
    other = trial;
    other.key.bytes = 1;
    assert_false(trial_same(&trial, &other));
    other = trial;
    other.candidate = candidate_default;
    assert_false(trial_same(&trial, &other));
}

static void test_trials_are_read_back(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {0, 1, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        struct arena arena = ARENA_EMPTY;
        struct error error = ERROR_NONE;
        struct trial trial = make_trial(), read;
        trial.launch = trial.round = trial.samples = numbers[i];
        struct json *json = trial_to_json(&trial);
        assert_int_equal(trial_from_json(json, &arena, &read, &error), 0);
        json_free(json);
        assert_true(trial_same(&trial, &read));
        assert_int_equal(read.samples, numbers[i]);
        arena_release(&arena);
    }
}

static void test_other_trials_are_refused(void **state)
{
    (void)state;
    struct trial trial = make_trial();
    static const char *const parts[] = {"key", "candidate", "launch", "round", "samples"};
    static const char *const values[] = {"null", "-1", "4294967296", "\"1\"", "[]", "1.5"};
    for (size_t p = 0; p < 5; p++) {
        for (size_t v = 0; v < 6; v++) {
            struct arena arena = ARENA_EMPTY;
            struct error error = ERROR_NONE;
            struct trial read;
            struct json *json = trial_to_json(&trial);
            json_put(json, parts[p], parse(values[v]));
            if (trial_from_json(json, &arena, &read, &error) != -1 || error.status != EXIT_INPUT) {
                fail_msg("%s %s was not refused", parts[p], values[v]);
            }
            json_free(json);
            arena_release(&arena);
        }
    }
}

static void assert_same_double(double found, double expected)
{
    if (found != expected && !(isnan(found) && isnan(expected))) {
        fail_msg("expected %.17g, found %.17g", expected, found);
    }
}

static void assert_round_trip(const struct outcome *outcome)
{
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct outcome read;
    struct json *json = json_make_object();
    outcome_to_json(outcome, json);
    char *text = json_to_text(json, 0);
    struct json *again = parse(text);
    if (outcome_from_json(again, &arena, &read, &error)) {
        fail_msg("%s", error.message);
    }
    json_free(json);
    json_free(again);
    free(text);
    assert_int_equal(read.kind, outcome->kind);
    assert_int_equal(read.nr, outcome->nr);
    for (size_t i = 0; i < read.nr; i++) {
        assert_same_double(read.samples[i], outcome->samples[i]);
    }
    assert_same_double(read.canary, outcome->canary);
    assert_same_double(read.cost, outcome->cost);
    assert_string_equal(read.detail, outcome->detail ? outcome->detail : "");
    arena_release(&arena);
}

static void test_outcomes_are_read_back(void **state)
{
    (void)state;
    double samples[] = {1.0 / 3, 1e-9, 5e-324, 1e300, 0.1};
    assert_round_trip(&(struct outcome){OUTCOME_SAMPLES, samples, 5, 2e-5, 0.25, "fine"});
    assert_round_trip(&(struct outcome){OUTCOME_SAMPLES, samples, 1, NAN, 0, NULL});
    for (int kind = OUTCOME_HUNG; kind <= OUTCOME_REFUSED; kind++) {
        assert_round_trip(
            &(struct outcome){(enum outcome_kind)kind, NULL, 0, NAN, 30, "\"quoted\"\nlines"});
    }
    assert_string_equal(outcome_name(OUTCOME_HUNG), "hung");
}

static void test_other_outcomes_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "null",
        "[]",
        "{}",
        "{\"outcome\": \"great\", \"seconds\": [1]}",
        "{\"outcome\": 1, \"seconds\": [1]}",
        "{\"outcome\": \"samples\"}",
        "{\"outcome\": \"samples\", \"seconds\": []}",
        "{\"outcome\": \"samples\", \"seconds\": 1}",
        "{\"outcome\": \"samples\", \"seconds\": {\"a\": 1}}",
        "{\"outcome\": \"samples\", \"seconds\": [1, 0]}",
        "{\"outcome\": \"samples\", \"seconds\": [-1]}",
        "{\"outcome\": \"samples\", \"seconds\": [null]}",
        "{\"outcome\": \"samples\", \"seconds\": [\"1\"]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena arena = ARENA_EMPTY;
        struct error error = ERROR_NONE;
        struct outcome read;
        struct json *json = parse(texts[i]);
        if (outcome_from_json(json, &arena, &read, &error) != -1 || error.status != EXIT_INPUT) {
            fail_msg("not refused: %s", texts[i]);
        }
        json_free(json);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_makes_trials_the_same),
        cmocka_unit_test(test_trials_are_read_back),
        cmocka_unit_test(test_other_trials_are_refused),
        cmocka_unit_test(test_outcomes_are_read_back),
        cmocka_unit_test(test_other_outcomes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
