/* test_confirm.c - pairs of fresh launches: their order, their canaries, their failures. */
#include "synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LAUNCHES 200

/* An oracle by script: what was asked is noted, what is answered is said before. */
struct script {
    double canary[LAUNCHES];          /* by launch; 0 = the usual */
    enum outcome_kind kind[LAUNCHES]; /* by launch */
    size_t fails_at;                  /* the key this kind is for */
    char arm[LAUNCHES];               /* 'A' without, 'B' with; 0 = not launched */
    size_t nr;                        /* launches */
    bool no_canary;
    size_t stop_at; /* launch */
};

static int run_script(struct oracle *oracle, const struct trial *trials, size_t nr,
                      struct arena *arena, struct outcome *outcomes, struct error *error)
{
    struct script *script = oracle->state;
    uint32_t launch = trials[0].launch;
    assert_true(launch < LAUNCHES && !script->arm[launch]);
    script->arm[launch] = trials[0].candidate.nr_settings ? 'B' : 'A';
    script->nr++;
    if (script->stop_at == launch) {
        return error_set(error, EXIT_STOPPED, "stopped");
    }
    for (size_t i = 0; i < nr; i++) {
        assert_int_equal(trials[i].launch, launch);
        assert_int_equal(trials[i].samples, 3);
        assert_int_equal(trials[i].candidate.nr_settings, trials[0].candidate.nr_settings);
        double *samples = arena_alloc(arena, 3, sizeof *samples);
        for (size_t s = 0; s < 3; s++) { /* the median is 1000 x launch + key */
            samples[s] = launch * 1000.0 + (double)i + 7 * ((double)s - 1);
        }
        double canary = script->canary[launch] > 0 ? script->canary[launch] : 1;
        outcomes[i] =
            (struct outcome){.kind = script->fails_at == i ? script->kind[launch] : OUTCOME_SAMPLES,
                             .samples = samples,
                             .nr = 3,
                             .canary = script->no_canary ? NAN : canary,
                             .detail = "by script"};
    }
    return 0;
}

struct confirmed {
    struct arena arena;
    struct confirm_pairs pairs;
    struct error error;
    uint32_t launch;
    int failed;
};

static struct confirmed run_confirm(struct script *script, size_t nr_keys, size_t pairs)
{
    static const struct setting setting = {"FILE", "choices", SCOPE_PROCESS};
    static const struct candidate with = {"file", &setting, 1};
    struct oracle oracle = {.run = run_script, .state = script};
    struct confirmed confirmed = {.error = ERROR_NONE, .launch = 1};
    struct key keys[4];
    synthetic_fill_keys(keys, 4);
    confirmed.failed = confirm_run(&oracle, keys, nr_keys, &with, pairs, 3, &confirmed.launch, NULL,
                                   "confirm", &confirmed.arena, &confirmed.pairs, &confirmed.error);
    return confirmed;
}

static void test_pairs_alternate(void **state)
{
    (void)state;
    struct script script = {.stop_at = 0};
    struct confirmed confirmed = run_confirm(&script, 2, 4);
    assert_int_equal(confirmed.failed, 0);
    assert_string_equal(script.arm + 1, "ABBAABBA");
    assert_int_equal(confirmed.launch, 9);
    assert_int_equal(confirmed.pairs.pairs, 4);
    static const double without[] = {1000, 4000, 5000, 8000}, with[] = {2000, 3000, 6000, 7000};
    for (size_t p = 0; p < 4; p++) {
        for (size_t i = 0; i < 2; i++) {
            assert_true(confirmed.pairs.without[p * 2 + i] == without[p] + (double)i);
            assert_true(confirmed.pairs.with[p * 2 + i] == with[p] + (double)i);
        }
    }
    assert_null(confirmed.pairs.failure[0]);
    assert_true(confirmed.pairs.canary == 1);
    arena_release(&confirmed.arena);
}

static void test_disturbed_pairs_are_replaced(void **state)
{
    (void)state;
    struct script script = {.stop_at = 0};
    script.canary[1] = 5;  /* the first pair */
    script.canary[10] = 8; /* the fifth */
    script.canary[11] = 2.5;
    struct confirmed confirmed = run_confirm(&script, 1, 8);
    assert_int_equal(script.nr, 20); /* two pairs more */
    assert_int_equal(confirmed.pairs.pairs, 8);
    for (size_t p = 0; p < 8; p++) { /* both arms of the two are gone, and only of them */
        double a = confirmed.pairs.without[p], b = confirmed.pairs.with[p];
        assert_true(a != 1000 && b != 2000 && a != 9000 && b != 10000);
        assert_true(fabs(a - b) == 1000);
    }
    arena_release(&confirmed.arena);
}

/* A machine that stays disturbed: a quarter more pairs, then it is what it is. */
static void test_replacing_ends(void **state)
{
    (void)state;
    struct script script = {.stop_at = 0};
    for (size_t launch = 1; launch < LAUNCHES; launch += 4) {
        script.canary[launch] = 50; /* every other pair */
    }
    struct confirmed confirmed = run_confirm(&script, 1, 12);
    assert_int_equal(confirmed.failed, 0);
    assert_int_equal(script.nr, 2 * (12 + 3 + 1));
    assert_int_equal(confirmed.pairs.pairs, 8);
    arena_release(&confirmed.arena);
}

static void test_a_slower_machine_is_not_a_disturbed_one(void **state)
{
    (void)state;
    struct script script = {.stop_at = 0};
    for (size_t launch = 9; launch < LAUNCHES; launch++) {
        script.canary[launch] = 2.9;
    }
    struct confirmed confirmed = run_confirm(&script, 1, 8);
    assert_int_equal(script.nr, 16);
    assert_int_equal(confirmed.pairs.pairs, 8);
    arena_release(&confirmed.arena);
}

static void test_without_canaries_nothing_is_disturbed(void **state)
{
    (void)state;
    struct script script = {.no_canary = true};
    struct confirmed confirmed = run_confirm(&script, 1, 5);
    assert_int_equal(confirmed.pairs.pairs, 5);
    assert_int_equal(script.nr, 10);
    assert_true(isnan(confirmed.pairs.canary));
    arena_release(&confirmed.arena);
}

static void test_failures_name_kind_and_launch(void **state)
{
    (void)state;
    struct script script = {.fails_at = 1};
    script.kind[3] = OUTCOME_WRONG;
    script.kind[6] = OUTCOME_CRASHED;
    struct confirmed confirmed = run_confirm(&script, 3, 4);
    assert_int_equal(confirmed.failed, 0);
    assert_string_equal(confirmed.pairs.failure[1], "wrong in launch 3: by script");
    assert_null(confirmed.pairs.failure[0]);
    assert_null(confirmed.pairs.failure[2]);
    assert_true(isnan(confirmed.pairs.with[1 * 3 + 1])); /* launch 3 is the second B */
    assert_true(isnan(confirmed.pairs.with[2 * 3 + 1])); /* launch 6 the third */
    assert_true(!isnan(confirmed.pairs.without[1]));
    arena_release(&confirmed.arena);
}

static void test_an_interruption_is_passed_on(void **state)
{
    (void)state;
    struct script script = {.stop_at = 5};
    struct confirmed confirmed = run_confirm(&script, 1, 8);
    assert_int_equal(confirmed.failed, -1);
    assert_int_equal(confirmed.error.status, EXIT_STOPPED);
    assert_int_equal(script.nr, 5);
    arena_release(&confirmed.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_alternate),
        cmocka_unit_test(test_disturbed_pairs_are_replaced),
        cmocka_unit_test(test_replacing_ends),
        cmocka_unit_test(test_a_slower_machine_is_not_a_disturbed_one),
        cmocka_unit_test(test_without_canaries_nothing_is_disturbed),
        cmocka_unit_test(test_failures_name_kind_and_launch),
        cmocka_unit_test(test_an_interruption_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
