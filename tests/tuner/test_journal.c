/* test_journal.c - what was measured is kept, whole or not at all, and asked for only once. */
#include "journal.h"

#include "synthetic.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

static char directory[4096];
static char path[4200];

static int set_up(void **state)
{
    (void)state;
    if (!synthetic_make_directory(directory)) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/journal", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    synthetic_remove_directory(directory);
    return 0;
}

static struct json *about_of(const char *launch, int64_t seed)
{
    struct json *about = json_make_object();
    json_put_text(about, "launch", launch);
    json_put_integer(about, "seed", seed);
    return about;
}

static int try_open(const char *launch, bool resume, struct journal **journal, struct error *error)
{
    struct json *about = about_of(launch, 7);
    int failed = journal_open(path, about, resume, journal, error);
    json_free(about);
    return failed;
}

static struct journal *open_journal(bool resume)
{
    struct error error = ERROR_NONE;
    struct journal *journal;
    if (try_open("mpiexec -n 2", resume, &journal, &error)) {
        fail_msg("%s", error.message);
    }
    return journal;
}

static void assert_open_fails(bool resume, enum exit_status status, const char *part)
{
    struct error error = ERROR_NONE;
    struct journal *journal;
    if (try_open("mpiexec -n 2", resume, &journal, &error) != -1 || error.status != status ||
        !strstr(error.message, part)) {
        fail_msg("expected '%s', found '%s'", part, error.message);
    }
}

static char *read_journal(size_t *length)
{
    struct error error = ERROR_NONE;
    char *text;
    if (file_read(path, 1 << 24, &text, length, &error)) {
        fail_msg("%s", error.message);
    }
    return text;
}

static void write_journal(const char *text, size_t length)
{
    struct error error = ERROR_NONE;
    if (file_write(path, text, length, &error)) {
        fail_msg("%s", error.message);
    }
}

#define TRIALS 6

/* Two candidates of three keys; the first of the second key fails. */
static struct synthetic fill_trials(struct trial *trials, struct arena *arena)
{
    struct synthetic synthetic = {.seed = 3, .nr = 2, .noise = 0.1};
    for (size_t i = 0; i < TRIALS; i++) {
        trials[i] = (struct trial){.candidate = synthetic_candidate(i % 2, arena),
                                   .key = synthetic_key(COLL_REDUCE, (uint64_t)1024 << i / 2),
                                   .launch = (uint32_t)i / 2,
                                   .round = 1,
                                   .samples = 3};
    }
    synthetic.truth[0].in_fresh = OUTCOME_CRASHED;
    return synthetic;
}

static void assert_same_outcomes(const struct outcome *a, const struct outcome *b)
{
    for (size_t i = 0; i < TRIALS; i++) {
        assert_int_equal(a[i].kind, b[i].kind);
        assert_int_equal(a[i].nr, b[i].nr);
        if (a[i].nr) {
            assert_memory_equal(a[i].samples, b[i].samples, a[i].nr * sizeof(double));
        }
        assert_true(a[i].canary == b[i].canary && a[i].cost == b[i].cost);
        assert_string_equal(a[i].detail, b[i].detail);
    }
}

/* Asks the journal at `path` for all trials; how many went through to the oracle behind it. */
static size_t ask_all(struct journal *journal, struct arena *arena, struct outcome *outcomes)
{
    struct error error = ERROR_NONE;
    struct trial trials[TRIALS];
    struct synthetic synthetic = fill_trials(trials, arena);
    struct oracle inner = synthetic_oracle(&synthetic), oracle = journal_oracle(journal, &inner);
    if (oracle.run(&oracle, trials, TRIALS, arena, outcomes, &error)) {
        fail_msg("%s", error.message);
    }
    oracle.close(&oracle);
    return synthetic.asked;
}

static void make_journal(struct arena *arena, struct outcome *outcomes)
{
    unlink(path);
    struct journal *journal = open_journal(false);
    assert_int_equal(ask_all(journal, arena, outcomes), TRIALS);
    journal_close(journal);
}

static void test_nothing_is_asked_twice(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct outcome first[TRIALS], second[TRIALS], third[TRIALS];
    double cost = 0;
    unlink(path);
    struct journal *journal = open_journal(false);
    assert_int_equal(ask_all(journal, &arena, first), TRIALS);
    assert_int_equal(ask_all(journal, &arena, second), 0); /* in the same run */
    assert_int_equal(journal_reused(journal), TRIALS);
    journal_close(journal);
    journal = open_journal(true);
    assert_int_equal(journal_length(journal), TRIALS);
    assert_int_equal(ask_all(journal, &arena, third), 0);
    assert_int_equal(journal_reused(journal), TRIALS);
    for (size_t i = 0; i < TRIALS; i++) {
        cost += first[i].cost;
    }
    assert_true(fabs(journal_cost(journal) - cost) < 1e-12);
    journal_close(journal);
    assert_same_outcomes(first, second);
    assert_same_outcomes(first, third);
    arena_release(&arena);
}

static void test_an_oracle_that_fails_loses_nothing_before_it(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct trial trials[TRIALS];
    struct outcome outcomes[TRIALS];
    struct synthetic synthetic = fill_trials(trials, &arena);
    synthetic.stop_at = 3; /* the third key */
    unlink(path);
    struct journal *journal = open_journal(false);
    struct oracle inner = synthetic_oracle(&synthetic), oracle = journal_oracle(journal, &inner);
    assert_int_equal(oracle.run(&oracle, trials, TRIALS, &arena, outcomes, &error), -1);
    assert_int_equal(error.status, EXIT_STOPPED);
    journal_close(journal);
    journal = open_journal(true);
    assert_int_equal(journal_length(journal), 4);
    assert_int_equal(ask_all(journal, &arena, outcomes), 2);
    journal_close(journal);
    arena_release(&arena);
}

static size_t count_lines(const char *text, size_t length)
{
    size_t lines = 0;
    for (size_t i = 0; i < length; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}

/* Cut at every byte: whole lines count, the rest is cut off and measured again. */
static void test_every_prefix_can_be_resumed(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct outcome whole[TRIALS], again[TRIALS];
    size_t length, length_again;
    make_journal(&arena, whole);
    char *text = read_journal(&length);
    size_t lines = count_lines(text, length), before = lines - TRIALS; /* not measurements */
    for (size_t cut = 0; cut <= length; cut++) {
        write_journal(text, cut);
        size_t left = count_lines(text, cut), kept = left > before ? left - before : 0;
        struct journal *journal = open_journal(true);
        assert_int_equal(journal_length(journal), kept);
        assert_int_equal(ask_all(journal, &arena, again), TRIALS - kept);
        journal_close(journal);
        assert_same_outcomes(whole, again);
        char *text_again = read_journal(&length_again);
        assert_int_equal(length_again, length);
        assert_memory_equal(text_again, text, length);
        free(text_again);
    }
    free(text);
    arena_release(&arena);
}

static void test_an_earlier_run_is_not_mixed_in_unasked(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct outcome outcomes[TRIALS];
    make_journal(&arena, outcomes);
    assert_open_fails(false, EXIT_INPUT, "holds 6 measurements of an earlier run");
    assert_open_fails(false, EXIT_INPUT, "--resume");
    arena_release(&arena);
}

static void test_a_journal_without_measurements_hinders_nobody(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    struct journal *journal;
    unlink(path);
    assert_int_equal(try_open("another launch", false, &journal, &error), 0);
    journal_close(journal);
    journal_close(open_journal(false));
    assert_int_equal(try_open("another launch", true, &journal, &error),
                     -1); /* it is of this one */
}

static void test_measurements_of_something_else_are_refused(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct outcome outcomes[TRIALS];
    struct error error = ERROR_NONE;
    struct journal *journal;
    size_t length, length_again;
    make_journal(&arena, outcomes);
    char *text = read_journal(&length);
    assert_int_equal(try_open("mpiexec -n 4", true, &journal, &error), -1);
    assert_int_equal(error.status, EXIT_INPUT);
    assert_non_null(
        strstr(error.message, "launch was \"mpiexec -n 2\", now it is \"mpiexec -n 4\""));
    struct json *more = about_of("mpiexec -n 2", 7);
    json_put_text(more, "library", "new");
    assert_int_equal(journal_open(path, more, true, &journal, &error), -1);
    assert_non_null(strstr(error.message, "library was nothing, now it is \"new\""));
    json_free(more);
    char *text_again = read_journal(&length_again);
    assert_int_equal(length, length_again);
    assert_memory_equal(text, text_again, length);
    free(text);
    free(text_again);
    arena_release(&arena);
}

static void assert_foreign(const char *text, bool resume, const char *part)
{
    size_t length;
    write_journal(text, strlen(text));
    assert_open_fails(resume, EXIT_INPUT, part);
    char *left = read_journal(&length);
    assert_string_equal(left, text); /* somebody else's file stays as it is */
    free(left);
}

static void test_other_files_are_refused_and_left_alone(void **state)
{
    (void)state;
    for (int resume = 0; resume <= 1; resume++) {
        assert_foreign("my diary", resume, "not a journal");
        assert_foreign("{\"ccltune_jour\": 1", resume, "not a journal");
        assert_foreign("my diary\n", resume, "line 1");
        assert_foreign("{}\n", resume, "not a journal");
        assert_foreign("{\"ccltune_result\": 1}\n", resume, "not a journal");
        assert_foreign("\n\n", resume, "line 1");
        assert_foreign("{\"ccltune_journal\": 2}\n{}\n", resume, "not a journal");
    }
    unlink(path);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_open_fails(false, EXIT_SYSTEM, "opening the journal");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_open_fails(false, EXIT_INPUT, "not a regular file");
    unlink(path);
}

/* A line in the middle that is no measurement: which one is said, and nothing is cut off. */
static void test_garbage_in_the_middle_is_an_error_with_its_line(void **state)
{
    (void)state;
    static const char *const garbage[] = {"garbage\n", "\n", "{}\n", "{\"trial\": {}}\n",
                                          "[1,2]\n"};
    struct arena arena = ARENA_EMPTY;
    struct outcome outcomes[TRIALS];
    size_t length, length_again;
    make_journal(&arena, outcomes);
    char *text = read_journal(&length);
    char *third = strchr(strchr(text, '\n') + 1, '\n') + 1;
    for (size_t g = 0; g < sizeof garbage / sizeof *garbage; g++) {
        char *mixed =
            arena_printf(&arena, "%.*s%s%s", (int)(third - text), text, garbage[g], third);
        write_journal(mixed, strlen(mixed));
        assert_open_fails(true, EXIT_INPUT, "journal line 3");
        char *left = read_journal(&length_again);
        assert_string_equal(left, mixed);
        free(left);
    }
    free(text);
    arena_release(&arena);
}

static void test_one_writer_at_a_time(void **state)
{
    (void)state;
    unlink(path);
    struct journal *journal = open_journal(false);
    assert_open_fails(true, EXIT_INPUT, "another run is writing it");
    assert_open_fails(false, EXIT_INPUT, "another run is writing it");
    journal_close(journal);
    journal_close(open_journal(true));
}

/* No room: an error, and what was there before is there after, without half a line. */
static void test_a_full_disk(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct trial trials[TRIALS];
    struct outcome outcomes[TRIALS], complete[TRIALS];
    struct rlimit before, limit;
    size_t length, length_after;
    make_journal(&arena, complete);
    char *text = read_journal(&length);
    char *last = text + length - 1;
    while (last[-1] != '\n') {
        last--;
    }
    write_journal(text, (size_t)(last - text));
    struct journal *journal = open_journal(true);
    struct synthetic synthetic = fill_trials(trials, &arena);
    struct oracle inner = synthetic_oracle(&synthetic), oracle = journal_oracle(journal, &inner);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    limit = before;
    limit.rlim_cur = (rlim_t)(last - text) + 10; /* ten bytes of the line still fit */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int failed = oracle.run(&oracle, trials, TRIALS, &arena, outcomes, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(failed, -1);
    assert_int_equal(error.status, EXIT_SYSTEM);
    assert_non_null(strstr(error.message, "writing the journal"));
    char *after = read_journal(&length_after);
    assert_int_equal(length_after, last - text);
    assert_memory_equal(after, text, length_after);
    assert_int_equal(ask_all(journal, &arena, outcomes), 1); /* with room again it goes on */
    assert_same_outcomes(complete, outcomes);
    journal_close(journal);
    free(after);
    after = read_journal(&length_after);
    assert_string_equal(after, text);
    free(after);
    free(text);
    arena_release(&arena);
}

/* What a resumed run plans by is what the first one planned by. */
static void test_the_price_of_a_launch_is_remembered(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct outcome outcomes[TRIALS];
    struct synthetic synthetic = {.nr = 0};
    make_journal(&arena, outcomes);
    struct oracle inner = synthetic_oracle(&synthetic);
    double price = inner.price_launch;
    inner.price_launch = price * 3;
    struct journal *journal = open_journal(true);
    struct oracle oracle = journal_oracle(journal, &inner);
    assert_true(oracle.price_launch == price);
    journal_close(journal);
    unlink(path);
    journal = open_journal(false);
    oracle = journal_oracle(journal, &inner);
    assert_true(oracle.price_launch == price * 3);
    assert_string_equal(oracle.name, "synthetic");
    assert_int_equal(oracle.evidence, EVIDENCE_IN_TARGET);
    journal_close(journal);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_asked_twice),
        cmocka_unit_test(test_an_oracle_that_fails_loses_nothing_before_it),
        cmocka_unit_test(test_every_prefix_can_be_resumed),
        cmocka_unit_test(test_an_earlier_run_is_not_mixed_in_unasked),
        cmocka_unit_test(test_a_journal_without_measurements_hinders_nobody),
        cmocka_unit_test(test_measurements_of_something_else_are_refused),
        cmocka_unit_test(test_other_files_are_refused_and_left_alone),
        cmocka_unit_test(test_garbage_in_the_middle_is_an_error_with_its_line),
        cmocka_unit_test(test_one_writer_at_a_time),
        cmocka_unit_test(test_a_full_disk),
        cmocka_unit_test(test_the_price_of_a_launch_is_remembered),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
