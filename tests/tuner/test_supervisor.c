/* test_supervisor.c - the life of jobs that crash, hang, lie and vanish. */
#include "supervisor.h"

#include "fake_job.h"
#include "synthetic.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cmocka.h>

#define TRIALS_MOST 6

static char directory[4096];
static char self[4096];
static volatile sig_atomic_t stop_asked;

struct stage { /* one supervisor and what it was asked */
    struct supervisor *supervisor;
    struct oracle oracle;
    struct arena arena;
    struct setting settings[TRIALS_MOST];
    struct trial trials[TRIALS_MOST];
    struct outcome outcomes[TRIALS_MOST];
    size_t nr, notes;
    struct error error;
};

static void count_note(void *context, const char *text)
{
    struct stage *stage = context;
    assert_true(strlen(text) > 0);
    stage->notes++;
}

static void open_stage_with(struct stage *stage, const char *launch, const char *start,
                            double timeout)
{
    *stage = (struct stage){.error = ERROR_NONE};
    synthetic_remove_directory(directory);
    assert_true(synthetic_make_directory(directory));
    if (!launch) {
        launch =
            arena_printf(&stage->arena, "env FAKE_STATE='%s' FAKE_START='%s'", directory, start);
    }
    const struct supervisor_options options = {.launch = launch,
                                               .program = self,
                                               .library = "fake",
                                               .timeout = timeout,
                                               .seed = 5,
                                               .stop = &stop_asked,
                                               .note = count_note,
                                               .note_context = stage};
    stop_asked = 0;
    assert_int_equal(supervisor_open(&options, &stage->supervisor, &stage->error), 0);
    stage->oracle = supervisor_oracle(stage->supervisor);
}

static void open_stage(struct stage *stage, const char *start, double timeout)
{
    open_stage_with(stage, NULL, start, timeout);
}

/* No process of the job may be left. */
static void close_stage(struct stage *stage)
{
    int status;
    supervisor_close(stage->supervisor);
    arena_release(&stage->arena);
    if (waitpid(-1, &status, WNOHANG) != -1 || errno != ECHILD) {
        fail_msg("a job was left behind");
    }
}

/* Asks in `launch` for one trial a word; what it is to do is the word. */
static int ask(struct stage *stage, uint32_t launch, const char *deeds)
{
    const char *word = deeds;
    stage->nr = 0;
    while (*word) {
        size_t length = strcspn(word, " "), i = stage->nr++;
        assert_true(i < TRIALS_MOST);
        stage->settings[i] =
            (struct setting){"DO", arena_strndup(&stage->arena, word, length), SCOPE_CALL};
        stage->trials[i] = (struct trial){.candidate = {"fake", &stage->settings[i], 1},
                                          .key = synthetic_key(COLL_ALLREDUCE, 100 + i),
                                          .launch = launch,
                                          .samples = 3};
        word += length + (word[length] == ' ');
    }
    return stage->oracle.run(&stage->oracle, stage->trials, stage->nr, &stage->arena,
                             stage->outcomes, &stage->error);
}

static void assert_answers(struct stage *stage, uint32_t launch, const char *deeds)
{
    if (ask(stage, launch, deeds)) {
        fail_msg("%s", stage->error.message);
    }
}

static void assert_measured(const struct stage *stage, size_t i)
{
    const struct outcome *outcome = &stage->outcomes[i];
    if (outcome->kind != OUTCOME_SAMPLES) {
        fail_msg("trial %zu: %s: %s", i, outcome_name(outcome->kind), outcome->detail);
    }
    assert_int_equal(outcome->nr, 3);
    assert_true(fabs(outcome->samples[2] - (1e-6 * (double)(100 + i) + 2e-9)) < 1e-15);
}

/* One letter a trial: s samples, h hung, c crashed, w wrong, r refused. */
static void assert_outcomes(const struct stage *stage, const char *letters)
{
    static const char of_kind[] = "shcwr";
    for (size_t i = 0; i < stage->nr; i++) {
        if (of_kind[stage->outcomes[i].kind] != letters[i]) {
            fail_msg("trial %zu: expected %c, found %s: %s", i, letters[i],
                     outcome_name(stage->outcomes[i].kind), stage->outcomes[i].detail);
        }
        if (letters[i] == 's') {
            assert_measured(stage, i);
        }
    }
}

static bool left_a_mark(const char *name)
{
    char path[4400];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

/* ---- jobs that behave ---- */

static void test_one_job_answers_batch_after_batch(void **state)
{
    (void)state;
    struct stage stage;
    char first[200];
    open_stage(&stage, "", 5);
    assert_answers(&stage, 0, "samples samples samples");
    assert_outcomes(&stage, "sss");
    snprintf(first, sizeof first, "%s", stage.outcomes[0].detail);
    assert_answers(&stage, 0, "wrong refused samples hung");
    assert_outcomes(&stage, "wrsh"); /* what the job says of its trials is believed */
    assert_string_equal(stage.outcomes[2].detail, first);
    assert_int_equal(supervisor_launches(stage.supervisor), 1);
    assert_int_equal(stage.notes, 0);
    close_stage(&stage);
    assert_true(left_a_mark("said-bye"));
}

static void test_another_launch_is_another_process(void **state)
{
    (void)state;
    struct stage stage;
    char first[200];
    open_stage(&stage, "", 5);
    assert_answers(&stage, 1, "samples");
    snprintf(first, sizeof first, "%s", stage.outcomes[0].detail);
    assert_answers(&stage, 2, "samples");
    assert_string_not_equal(stage.outcomes[0].detail, first);
    assert_int_equal(supervisor_launches(stage.supervisor), 2);
    assert_true(left_a_mark("said-bye"));
    close_stage(&stage);
}

/* Settings of a process reach it on its command line, others do not. */
static void test_settings_of_the_process_are_handed_over(void **state)
{
    (void)state;
    struct stage stage;
    static const struct setting settings[] = {{"DO", "samples", SCOPE_CALL},
                                              {"FILE", "/a b/c", SCOPE_PROCESS},
                                              {"OTHER", "x", SCOPE_COMMUNICATOR},
                                              {"TLS", "shm,self", SCOPE_PROCESS}};
    open_stage(&stage, "", 5);
    stage.trials[0] = (struct trial){.candidate = {"fake", settings, 4},
                                     .key = synthetic_key(COLL_ALLREDUCE, 100),
                                     .launch = 1,
                                     .samples = 3};
    assert_int_equal(stage.oracle.run(&stage.oracle, stage.trials, 1, &stage.arena, stage.outcomes,
                                      &stage.error),
                     0);
    assert_non_null(strstr(stage.outcomes[0].detail, "beats 0 FILE=/a b/c TLS=shm,self"));
    close_stage(&stage);
}

static void test_hello_is_that_of_the_first_job(void **state)
{
    (void)state;
    struct stage stage;
    const struct json *hello, *again;
    open_stage(&stage, "", 5);
    assert_int_equal(supervisor_hello(stage.supervisor, &hello, &stage.error), 0);
    int64_t pid = json_get_integer(hello, "pid", 0);
    assert_true(pid > 1);
    assert_answers(&stage, 1, "samples");
    assert_int_equal(supervisor_hello(stage.supervisor, &again, &stage.error), 0);
    assert_ptr_equal(hello, again);
    assert_int_equal(json_get_integer(again, "pid", 0), pid);
    assert_true(supervisor_oracle(stage.supervisor).price_launch > 0);
    close_stage(&stage);
}

/* Long work without a word of progress is fine below the time-out; both sides beat meanwhile. */
static void test_slow_is_not_hung(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, "", 4);
    assert_answers(&stage, 0, "slow");
    assert_outcomes(&stage, "s");
    assert_null(strstr(stage.outcomes[0].detail, "beats 0"));
    assert_int_equal(supervisor_launches(stage.supervisor), 1);
    close_stage(&stage);
}

/* ---- jobs that crash and hang ---- */

static void test_one_crash_is_bad_luck(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, "", 5);
    assert_answers(&stage, 0, "samples crash-once samples");
    assert_outcomes(&stage, "sss");
    assert_int_equal(supervisor_launches(stage.supervisor), 2);
    assert_int_equal(stage.notes, 1);
    close_stage(&stage);
}

static void test_two_crashes_are_its_fault_and_of_no_other(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, "", 5);
    assert_answers(&stage, 0, "samples samples crash samples");
    assert_outcomes(&stage, "sscs");
    assert_string_equal(stage.outcomes[2].detail,
                        "the job died; its launcher was killed by signal 9");
    assert_int_equal(supervisor_launches(stage.supervisor), 2);
    assert_answers(&stage, 0, "samples"); /* and life goes on */
    assert_outcomes(&stage, "s");
    assert_answers(&stage, 0, "exit samples");
    assert_outcomes(&stage, "cs");
    assert_string_equal(stage.outcomes[0].detail, "the job died; its launcher exited with 7");
    close_stage(&stage);
}

/* Where all trials of a batch run together, nobody knows whose fault it was: one by one, then. */
static void test_the_guilty_one_of_a_crowd_is_found(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, "quiet", 5);
    assert_answers(&stage, 0, "samples samples crash samples");
    assert_outcomes(&stage, "sscs");
    assert_int_equal(supervisor_launches(stage.supervisor), 3);
    close_stage(&stage);
}

static void test_two_that_crash(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, "", 5);
    assert_answers(&stage, 3, "crash crash samples");
    assert_outcomes(&stage, "ccs");
    close_stage(&stage);
}

static void test_hangs_end_at_the_time_out(void **state)
{
    (void)state;
    struct stage stage;
    double begin = wire_now();
    open_stage(&stage, "", 0.5);
    assert_answers(&stage, 0, "samples hang samples");
    assert_outcomes(&stage, "shs");
    assert_non_null(strstr(stage.outcomes[1].detail, "no progress for 1 s"));
    assert_true(wire_now() - begin < 10);
    close_stage(&stage);
}

static void test_nonsense_on_the_line_is_a_death(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, "", 5);
    assert_answers(&stage, 0, "samples garbage samples");
    assert_outcomes(&stage, "scs");
    close_stage(&stage);
}

/* ---- jobs that cannot or will not ---- */

static void assert_fails(struct stage *stage, const char *deeds, enum exit_status status,
                         const char *part)
{
    double begin = wire_now();
    if (ask(stage, 0, deeds) != -1 || stage->error.status != status ||
        !strstr(stage->error.message, part)) {
        fail_msg("expected %d '%s', found %d '%s'", (int)status, part, (int)stage->error.status,
                 stage->error.message);
    }
    assert_true(wire_now() - begin < 10);
}

static void test_an_error_of_the_job_ends_the_run(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, "", 5);
    assert_fails(&stage, "samples error samples", EXIT_WRONG, "the fake job cannot go on");
    assert_int_equal(supervisor_launches(stage.supervisor), 1);
    close_stage(&stage);
}

static void test_a_job_that_breaks_the_protocol_ends_the_run(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"samples leave-out samples", "done without answering trial 1"},
        {"far-outcome", "answered a trial that was not asked"},
        {"far-running", "runs a trial that was not asked"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage stage;
        open_stage(&stage, "", 5);
        assert_fails(&stage, cases[i][0], EXIT_SYSTEM, cases[i][1]);
        close_stage(&stage);
    }
}

static void test_a_job_that_dies_before_it_reports(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, "die-always", 5);
    assert_fails(&stage, "samples", EXIT_SYSTEM, "exited with 3 before the job reported");
    assert_non_null(strstr(stage.error.message, "it printed:\ncannot find the network"));
    assert_int_equal(supervisor_launches(stage.supervisor), 3);
    assert_int_equal(stage.notes, 2);
    close_stage(&stage);
    open_stage(&stage, "die-once", 5);
    assert_answers(&stage, 0, "samples");
    assert_outcomes(&stage, "s");
    assert_int_equal(supervisor_launches(stage.supervisor), 2);
    close_stage(&stage);
}

static void test_a_job_that_reports_badly(void **state)
{
    (void)state;
    struct stage stage;
    const struct json *hello;
    open_stage(&stage, "error", 5); /* it says itself why: believed at once */
    assert_fails(&stage, "samples", EXIT_ABSENT, "this library is not here");
    assert_int_equal(supervisor_launches(stage.supervisor), 1);
    close_stage(&stage);
    open_stage(&stage, "rude", 5);
    assert_int_equal(supervisor_hello(stage.supervisor, &hello, &stage.error), -1);
    assert_non_null(strstr(stage.error.message, "no hello"));
    close_stage(&stage);
    open_stage(&stage, "hang-up", 5);
    assert_fails(&stage, "samples", EXIT_SYSTEM, "exited with 4 before the job reported");
    close_stage(&stage);
}

static void test_launchers_that_do_not_launch(void **state)
{
    (void)state;
    static const struct {
        const char *launch, *part;
        enum exit_status status;
    } cases[] = {
        {"no-such-launcher -n 2", "cannot start the launcher 'no-such-launcher'", EXIT_ABSENT},
        {"false", "exited with 1 before the job reported", EXIT_SYSTEM},
        {"sh -c 'echo no allocation; exit 5'", "it printed:\nno allocation", EXIT_SYSTEM},
        {"mpiexec 'open", "is not closed", EXIT_INPUT},
        {"", "empty", EXIT_INPUT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage stage;
        open_stage_with(&stage, cases[i].launch, "", 5);
        assert_fails(&stage, "samples", cases[i].status, cases[i].part);
        close_stage(&stage);
    }
}

/* ---- the user ---- */

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    stop_asked = 1;
}

static void test_the_user_stops_a_job_that_hangs(void **state)
{
    (void)state;
    struct stage stage;
    struct sigaction action = {.sa_handler = ask_to_stop};
    const struct itimerval soon = {.it_value = {0, 400000}};
    open_stage(&stage, "", 60);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    assert_fails(&stage, "samples hang", EXIT_STOPPED, "stopped");
    close_stage(&stage);
    stop_asked = 0;
}

static void test_closing_without_a_job(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, "", 5);
    assert_int_equal(supervisor_launches(stage.supervisor), 0);
    close_stage(&stage);
    supervisor_close(NULL);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_job_answers_batch_after_batch),
        cmocka_unit_test(test_another_launch_is_another_process),
        cmocka_unit_test(test_settings_of_the_process_are_handed_over),
        cmocka_unit_test(test_hello_is_that_of_the_first_job),
        cmocka_unit_test(test_slow_is_not_hung),
        cmocka_unit_test(test_one_crash_is_bad_luck),
        cmocka_unit_test(test_two_crashes_are_its_fault_and_of_no_other),
        cmocka_unit_test(test_the_guilty_one_of_a_crowd_is_found),
        cmocka_unit_test(test_two_that_crash),
        cmocka_unit_test(test_hangs_end_at_the_time_out),
        cmocka_unit_test(test_nonsense_on_the_line_is_a_death),
        cmocka_unit_test(test_an_error_of_the_job_ends_the_run),
        cmocka_unit_test(test_a_job_that_breaks_the_protocol_ends_the_run),
        cmocka_unit_test(test_a_job_that_dies_before_it_reports),
        cmocka_unit_test(test_a_job_that_reports_badly),
        cmocka_unit_test(test_launchers_that_do_not_launch),
        cmocka_unit_test(test_the_user_stops_a_job_that_hangs),
        cmocka_unit_test(test_closing_without_a_job),
    };
    if (argc > 1 && !strcmp(argv[1], "job")) {
        return fake_job(argc, argv);
    }
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
