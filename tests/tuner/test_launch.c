/* test_launch.c - launchers are split, started, watched and ended, and nothing of them stays. */
#include "launch.h"

#include "wire.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- splitting ---- */

/* Words with | between them. */
static const char *split(const char *command, struct arena *arena)
{
    struct error error = ERROR_NONE;
    char **words;
    size_t nr;
    const char *text = "";
    if (launch_split(command, arena, &words, &nr, &error)) {
        return arena_strdup(arena, error.message);
    }
    assert_null(words[nr]);
    for (size_t i = 0; i < nr; i++) {
        text = arena_printf(arena, "%s%s%s", text, i ? "|" : "", words[i]);
    }
    return text;
}

static void test_words_are_split_as_a_shell_would(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"mpiexec -n 8", "mpiexec|-n|8"},
        {"  srun\t-n\n8  ", "srun|-n|8"},
        {"a 'b c' d", "a|b c|d"},
        {"a \"b c\" d", "a|b c|d"},
        {"a'b'\"c\"d", "abcd"},
        {"a '' \"\" b", "a|||b"},
        {"''", ""},
        {"a\\ b", "a b"},
        {"a\\\\b", "a\\b"},
        {"\\'a", "'a"},
        {"'a\\b'", "a\\b"},
        {"'a\"b'", "a\"b"},
        {"\"a'b\"", "a'b"},
        {"\"a\\\"b\"", "a\"b"},
        {"\"a\\\\b\"", "a\\b"},
        {"\"a\\b\"", "a\\b"}, /* in double quotes a backslash is one before \" \\ $ ` only */
        {"\"a\\$b\"", "a$b"},
        {"a\\", "a\\"},
        {"env A='x y' $HOME *", "env|A=x y|$HOME|*"}, /* nothing is expanded */
        {"x", "x"},
        {"a b c d e f g h", "a|b|c|d|e|f|g|h"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = ARENA_EMPTY;
        assert_string_equal(split(cases[i][0], &arena), cases[i][1]);
        arena_release(&arena);
    }
}

static void test_open_quotes_and_nothing_are_errors(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a 'b", "a ' is not closed in: a 'b"}, {"\"", "a \" is not closed"},
        {"\"a\\\"", "a \" is not closed"},      {"", "launch command: empty"},
        {" \t\n", "launch command: empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = ARENA_EMPTY;
        const char *found = split(cases[i][0], &arena);
        if (!strstr(found, cases[i][1])) {
            fail_msg("expected '%s', found '%s'", cases[i][1], found);
        }
        arena_release(&arena);
    }
}

/* ---- starting and watching ---- */

static struct launch start_shell(const char *script)
{
    char *words[] = {(char[]){"sh"}, (char[]){"-c"}, strdup(script), NULL};
    struct launch launch;
    struct error error = ERROR_NONE;
    int failed = launch_start(words, &launch, &error);
    free(words[2]);
    if (failed) {
        fail_msg("%s", error.message);
    }
    return launch;
}

static void pause_briefly(void)
{
    usleep(2000);
}

/* Until it has ended; fails when that takes too long. */
static void await_end(struct launch *launch)
{
    double deadline = wire_now() + 10;
    for (launch_poll(launch); !launch->ended; launch_poll(launch)) {
        assert_true(wire_now() < deadline);
        pause_briefly();
    }
}

static void assert_no_children(void)
{
    int status;
    pid_t left = waitpid(-1, &status, WNOHANG);
    if (left != -1 || errno != ECHILD) {
        fail_msg("a child is left behind (waitpid says %d)", (int)left);
    }
}

static void assert_end(const char *script, const char *expected)
{
    struct arena arena = ARENA_EMPTY;
    struct launch launch = start_shell(script);
    await_end(&launch);
    assert_string_equal(launch_describe_end(&launch, &arena), expected);
    launch_stop(&launch, 0);
    assert_no_children();
    arena_release(&arena);
}

static void test_the_end_is_described(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    assert_end("exit 0", "exited with 0");
    assert_end("exit 3", "exited with 3");
    assert_end("kill -9 $$", "was killed by signal 9");
    struct launch launch = start_shell("sleep 100");
    launch_poll(&launch);
    assert_string_equal(launch_describe_end(&launch, &arena), "is still running");
    launch_stop(&launch, 5);
    assert_string_equal(launch_describe_end(&launch, &arena), "was killed by signal 15");
    assert_no_children();
    arena_release(&arena);
}

static void test_a_launcher_that_does_not_exist(void **state)
{
    (void)state;
    char *words[] = {(char[]){"no-such-launcher"}, (char[]){"-n"}, (char[]){"2"}, NULL};
    struct launch launch = {.pid = 0, .output_fd = -1};
    struct error error = ERROR_NONE;
    assert_int_equal(launch_start(words, &launch, &error), -1);
    assert_int_equal(error.status, EXIT_ABSENT);
    assert_non_null(strstr(error.message, "cannot start the launcher 'no-such-launcher'"));
    assert_non_null(strstr(error.message, "--launch"));
    assert_no_children();
    launch_stop(&launch, 1); /* nothing to stop */
}

static void test_both_outputs_are_kept(void **state)
{
    (void)state;
    struct launch launch = start_shell("echo out; echo err >&2; read x && echo input || echo none");
    await_end(&launch);
    launch_stop(&launch, 0);
    assert_string_equal(launch.tail, "out\nerr\nnone\n");
}

/* Of much output the end is kept, in one piece. */
static void test_the_end_of_long_output_is_kept(void **state)
{
    (void)state;
    struct launch launch =
        start_shell("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done");
    await_end(&launch);
    launch_stop(&launch, 0);
    assert_int_equal(launch.tail_nr, LAUNCH_TAIL_BYTES);
    assert_int_equal(strlen(launch.tail), LAUNCH_TAIL_BYTES);
    char expected[2 * LAUNCH_TAIL_BYTES] = "";
    size_t nr = 0;
    for (int i = 2700; i < 3000; i++) {
        nr += (size_t)snprintf(expected + nr, sizeof expected - nr, "line %d\n", i);
    }
    assert_string_equal(launch.tail, expected + nr - LAUNCH_TAIL_BYTES);
}

static void test_a_whole_tail_in_one_piece(void **state)
{
    (void)state;
    struct launch launch = start_shell("printf '%05000d' 7; sleep 0.05; printf abc");
    await_end(&launch);
    launch_stop(&launch, 0);
    assert_int_equal(launch.tail_nr, LAUNCH_TAIL_BYTES);
    assert_string_equal(launch.tail + LAUNCH_TAIL_BYTES - 5, "07abc");
}

/* ---- ending ---- */

static void test_who_ignores_the_request_is_killed(void **state)
{
    (void)state;
    struct launch launch = start_shell("trap '' TERM; echo ready; while :; do sleep 0.02; done");
    while (!launch.tail_nr) {
        launch_poll(&launch);
        pause_briefly();
    }
    double begin = wire_now();
    launch_stop(&launch, 0.2);
    double took = wire_now() - begin;
    assert_true(launch.ended && WIFSIGNALED(launch.exit_status));
    assert_int_equal(WTERMSIG(launch.exit_status), SIGKILL);
    assert_true(took >= 0.2 && took < 5);
    assert_int_equal(launch.pid, 0);
    launch_stop(&launch, 0.2); /* twice is fine */
    assert_no_children();
}

static void test_who_listens_is_not_killed(void **state)
{
    (void)state;
    struct launch launch =
        start_shell("trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.02; done");
    while (!launch.tail_nr) {
        launch_poll(&launch);
        pause_briefly();
    }
    launch_stop(&launch, 10);
    assert_true(WIFEXITED(launch.exit_status));
    assert_int_equal(WEXITSTATUS(launch.exit_status), 9);
    assert_non_null(strstr(launch.tail, "bye"));
}

static void assert_killed_by(pid_t pid, int signal_number)
{
    int status = 0;
    double deadline = wire_now() + 10;
    pid_t got = 0;
    while ((got = waitpid(pid, &status, WNOHANG)) == 0 && wire_now() < deadline) {
        pause_briefly();
    }
    assert_int_equal(got, pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), signal_number);
}

/* Makes this process the one that inherits orphans, so that it can see their end. */
static void inherit_orphans(int yes)
{
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, yes), 0);
}

/* Ranks that outlive their launcher, in its process group: they are killed too. */
static void test_ranks_do_not_outlive_their_launcher(void **state)
{
    (void)state;
    inherit_orphans(1);
    struct launch launch = start_shell("trap '' TERM; sleep 100 & echo $!");
    await_end(&launch);
    pid_t orphan = (pid_t)atoi(launch.tail);
    assert_true(orphan > 1);
    launch_stop(&launch, 1);
    assert_killed_by(orphan, SIGKILL);
    assert_no_children();
    inherit_orphans(0);
}

static void test_a_launcher_does_not_outlive_this_program(void **state)
{
    (void)state;
    int report[2];
    pid_t launcher = 0;
    inherit_orphans(1);
    assert_int_equal(pipe(report), 0);
    pid_t middle = fork();
    if (middle == 0) {
        struct launch launch = start_shell("echo ready; exec sleep 100");
        while (!launch.tail_nr) {
            launch_poll(&launch);
            pause_briefly();
        }
        ssize_t ignored = write(report[1], &launch.pid, sizeof launch.pid);
        (void)ignored;
        pause();
        _exit(0);
    }
    assert_int_equal(read(report[0], &launcher, sizeof launcher), sizeof launcher);
    kill(middle, SIGKILL);
    assert_killed_by(middle, SIGKILL);
    assert_killed_by(launcher, SIGTERM);
    close(report[0]);
    close(report[1]);
    assert_no_children();
    inherit_orphans(0);
}

/* ---- the environment ---- */

static bool child_sees(const char *name)
{
    char script[200];
    snprintf(script, sizeof script, "if [ -n \"${%s+set}\" ]; then echo yes; else echo no; fi",
             name);
    struct launch launch = start_shell(script);
    await_end(&launch);
    launch_stop(&launch, 0);
    return !strcmp(launch.tail, "yes\n");
}

static void test_an_outer_launch_is_forgotten(void **state)
{
    (void)state;
    static const char *const outer[] = {"PMI_RANK",  "PMI_FD",          "PMIX_RANK",
                                        "HYDI_X",    "HYDRA_HOST_FILE", "OMPI_COMM_WORLD_RANK",
                                        "MPIEXEC_X", "MPI_LOCALRANKID"};
    static const char *const others[] = {"PATH", "MPIR_CVAR_X", "UCX_TLS", "XPMI_RANK"};
    size_t nr_outer = sizeof outer / sizeof *outer, nr_others = sizeof others / sizeof *others;
    for (size_t i = 0; i < nr_outer; i++) {
        setenv(outer[i], "1", 1);
    }
    for (size_t i = 1; i < nr_others; i++) {
        setenv(others[i], "1", 1);
    }
    for (size_t i = 0; i < nr_outer; i++) {
        if (child_sees(outer[i])) {
            fail_msg("%s was passed on", outer[i]);
        }
    }
    for (size_t i = 0; i < nr_others; i++) {
        assert_true(child_sees(others[i]));
    }
    for (size_t i = 0; i < nr_outer; i++) {
        unsetenv(outer[i]);
    }
}

/* Outside of a launch these are what the user set for the launcher. */
static void test_the_users_own_settings_reach_the_launcher(void **state)
{
    (void)state;
    static const char *const names[] = {"HYDRA_HOST_FILE", "OMPI_MCA_btl", "MPIEXEC_TIMEOUT"};
    for (size_t i = 0; i < 3; i++) {
        setenv(names[i], "1", 1);
        assert_true(child_sees(names[i]));
        unsetenv(names[i]);
    }
}

static int set_up(void **state)
{
    (void)state;
    unsetenv("PMI_RANK");
    unsetenv("PMIX_RANK");
    unsetenv("OMPI_COMM_WORLD_RANK");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_are_split_as_a_shell_would),
        cmocka_unit_test(test_open_quotes_and_nothing_are_errors),
        cmocka_unit_test(test_the_end_is_described),
        cmocka_unit_test(test_a_launcher_that_does_not_exist),
        cmocka_unit_test(test_both_outputs_are_kept),
        cmocka_unit_test(test_the_end_of_long_output_is_kept),
        cmocka_unit_test(test_a_whole_tail_in_one_piece),
        cmocka_unit_test(test_who_ignores_the_request_is_killed),
        cmocka_unit_test(test_who_listens_is_not_killed),
        cmocka_unit_test(test_ranks_do_not_outlive_their_launcher),
        cmocka_unit_test(test_a_launcher_does_not_outlive_this_program),
        cmocka_unit_test(test_an_outer_launch_is_forgotten),
        cmocka_unit_test(test_the_users_own_settings_reach_the_launcher),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
