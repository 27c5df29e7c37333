/* supervisor_silence.c - a job that neither works nor beats is dead after the silence that wire.h
 * allows, however long its time-out is. Takes that long, so it is not among the unit tests.
 */
#include "tuner/fake_job.h"
#include "tuner/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char directory[4096];
static char self[4096];

static void test_silence_is_death(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct supervisor *supervisor;
    struct outcome outcomes[2];
    const struct setting settings[] = {{"DO", "silent-once", SCOPE_CALL},
                                       {"DO", "samples", SCOPE_CALL}};
    struct trial trials[2];
    const struct supervisor_options options = {
        .launch = arena_printf(&arena, "env FAKE_STATE='%s' FAKE_START=", directory),
        .program = self,
        .library = "fake",
        .timeout = 600};
    for (size_t i = 0; i < 2; i++) {
        trials[i] = (struct trial){.candidate = {"fake", &settings[i], 1},
                                   .key = synthetic_key(COLL_ALLREDUCE, 8),
                                   .samples = 3};
    }
    assert_int_equal(supervisor_open(&options, &supervisor, &error), 0);
    struct oracle oracle = supervisor_oracle(supervisor);
    double begin = wire_now();
    if (oracle.run(&oracle, trials, 2, &arena, outcomes, &error)) {
        fail_msg("%s", error.message);
    }
    double took = wire_now() - begin;
    assert_true(took > WIRE_SILENCE_SECONDS && took < WIRE_SILENCE_SECONDS + 10);
    assert_int_equal(outcomes[0].kind, OUTCOME_SAMPLES); /* once is bad luck */
    assert_int_equal(outcomes[1].kind, OUTCOME_SAMPLES);
    assert_int_equal(supervisor_launches(supervisor), 2);
    supervisor_close(supervisor);
    arena_release(&arena);
}

static int set_up(void **state)
{
    (void)state;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    return length > 0 && synthetic_make_directory(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    synthetic_remove_directory(directory);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_silence_is_death)};
    if (argc > 1 && !strcmp(argv[1], "job")) {
        return fake_job(argc, argv);
    }
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
