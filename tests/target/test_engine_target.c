/* test_engine_target.c - the engine as a target: which candidates a key gets, its files. */
#include "target.h"

#include "schedule.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 24 };

static const char usual_text[] =
    "[{\"collective\": \"allreduce\", \"to_bytes\": 16384, \"algorithm\": \"one-shot\"},"
    " {\"collective\": \"allreduce\", \"algorithm\": \"two-shot\"},"
    " {\"collective\": \"allreduce\", \"algorithm\": \"ring\"},"
    " {\"collective\": \"all-gather\", \"to_bytes\": 1024, \"algorithm\": \"bruck\"},"
    " {\"collective\": \"all-gather\", \"algorithm\": \"no such row\"}]";

struct fixture {
    struct json *usual;
    struct library library;
    struct arena arena;
    struct error error;
    struct candidate *list;
    size_t nr;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->usual = json_parse(usual_text, strlen(usual_text), "usual", &f->error);
    assert_non_null(f->usual);
    f->library = (struct library){.name = "ccltune engine",
                                  .version = "0.1.0",
                                  .device = "CPU ranks",
                                  .tree = f->usual,
                                  .tree_source = "built-in"};
    unsetenv("CCLTUNE_ENGINE_TABLE");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    json_free(f->usual);
    arena_release(&f->arena);
    free(f);
    return 0;
}

static const struct target *engine(void)
{
    struct error error = ERROR_NONE;
    const struct target *target = target_find("engine", &error);
    assert_non_null(target);
    return target;
}

static struct key key_of(enum collective collective, const char *group, uint64_t bytes)
{
    struct key key = {.collective = collective, .bytes = bytes};
    struct error error = ERROR_NONE;
    assert_int_equal(group_parse(group, &key.group, &error), 0);
    return key;
}

static void ask(struct fixture *f, enum collective collective, const char *group, uint64_t bytes)
{
    struct key key = key_of(collective, group, bytes);
    assert_int_equal(
        engine()->candidates(&f->library, &key, &f->arena, &f->list, &f->nr, &f->error), 0);
    assert_in_range(f->nr, 0, MOST);
}

/* How many candidates have `part` in their names? */
static size_t count(const struct fixture *f, const char *part)
{
    size_t found = 0;
    for (size_t i = 0; i < f->nr; i++) {
        found += strstr(f->list[i].algorithm, part) != NULL;
    }
    return found;
}

static void it_is_measured_by_its_own_runner(void **state)
{
    struct error error = ERROR_NONE;
    (void)state;
    assert_string_equal(engine()->runner, "engine");
    assert_string_equal(target_find("mpich", &error)->runner, "mpich");
    assert_string_equal(target_find("mpich-aa", &error)->runner, "mpich");
}

/* ---- candidates ---- */

static void short_messages_have_one_chunk_and_both_protocols(void **state)
{
    struct fixture *f = *state;
    ask(f, COLL_ALLREDUCE, "1x2", 4096);
    assert_true(f->nr > 6);
    assert_int_equal(count(f, "1ch/16K"), f->nr);
    assert_int_equal(count(f, "ring/ll/"), 1);
    assert_int_equal(count(f, "ring/simple/"), 1);
    assert_int_equal(count(f, "one-shot/ll/"), 0); /* reads memory: has no flags in it */
    assert_int_equal(count(f, "two-shot/simple/1ch/16K"), 1);
}

static void long_messages_have_chunks_and_channels(void **state)
{
    struct fixture *f = *state;
    ask(f, COLL_ALLREDUCE, "1x4", 4 << 20);
    assert_int_equal(count(f, "/ll/"), 0);
    assert_true(count(f, "2ch") > 2);
    for (const char *const *name = (const char *[]){"ring", "tree", "doubling", "one-shot",
                                                    "two-shot", "halving-doubling", NULL};
         *name; name++) {
        assert_true(count(f, *name) >= 1);
    }
    /* ring and two-shot send 1.5 messages, one-shot 3: only the former are varied */
    assert_true(count(f, "two-shot/") + count(f, "ring/") > 8);
    assert_int_equal(count(f, "one-shot/"), 1);
    for (const char *const *chunk = (const char *[]){"64K", "256K", "1M", NULL}; *chunk; chunk++) {
        assert_true(count(f, *chunk) >= 1);
    }
}

static void no_chunk_is_larger_than_needed(void **state)
{
    struct fixture *f = *state;
    ask(f, COLL_ALLREDUCE, "1x2", 64 << 10); /* a ring's chunk has 32 KiB */
    assert_true(count(f, "ring/simple/1ch/64K") == 1);
    assert_true(count(f, "ring/simple/1ch/16K") == 1);
    assert_int_equal(count(f, "256K") + count(f, "1M"), 0);
}

static void what_the_engine_does_anyway_is_none(void **state)
{
    struct fixture *f = *state;
    ask(f, COLL_ALLREDUCE, "1x2", 4096);
    assert_int_equal(count(f, "one-shot/"), 0);
    f->library.tree = NULL;
    ask(f, COLL_ALLREDUCE, "1x2", 4096);
    assert_int_equal(count(f, "one-shot/simple/1ch/16K"), 1);
}

static void a_hierarchy_needs_hosts(void **state)
{
    struct fixture *f = *state;
    ask(f, COLL_ALLREDUCE, "1x4", 1 << 20);
    assert_int_equal(count(f, "hierarchical"), 0);
    ask(f, COLL_ALLREDUCE, "2x2", 1 << 20);
    assert_true(count(f, "hierarchical") > 0);
    assert_int_equal(count(f, "shot"), 0); /* memory of another host cannot be read */
    ask(f, COLL_ALLREDUCE, "4x1", 1 << 20);
    assert_int_equal(count(f, "hierarchical"), 0);
    assert_int_equal(count(f, "nvls"), 0);
}

static void one_rank_has_no_choice(void **state)
{
    struct fixture *f = *state;
    ask(f, COLL_ALLREDUCE, "1x1", 1 << 20);
    assert_int_equal(f->nr, 0);
}

static const char *setting(const struct candidate *candidate, const char *name)
{
    for (size_t i = 0; i < candidate->nr_settings; i++) {
        assert_int_equal(candidate->settings[i].scope, SCOPE_CALL);
        if (!strcmp(candidate->settings[i].name, name)) {
            return candidate->settings[i].value;
        }
    }
    fail_msg("%s has no %s", candidate->algorithm, name);
    return "";
}

static void check_candidate(const struct fixture *f, size_t i, const struct key *key)
{
    const struct candidate *candidate = &f->list[i];
    struct error error = ERROR_NONE;
    struct schedule schedule;
    char name[128];
    const struct algorithm *row = algorithm_find(setting(candidate, "algo"), &error);
    struct sched_request request = {.collective = key->collective,
                                    .ranks = group_ranks(&key->group)};
    if (key->group.hosts > 1) {
        request.levels[0] = key->group.hosts;
        request.levels[1] = key->group.ranks_per_host;
        request.nr_levels = 2;
    }
    assert_non_null(row);
    assert_int_equal(sched_make(row, &request, &schedule, &error), 0);
    snprintf(name, sizeof name, "%s/%s/%sch/%s", row->name, setting(candidate, "proto"),
             setting(candidate, "channels"), setting(candidate, "chunk"));
    assert_string_equal(candidate->algorithm, name);
    for (size_t k = 0; k < i; k++) {
        assert_false(candidate_equal(candidate, &f->list[k]));
    }
}

static void every_candidate_serves_and_is_there_once(void **state)
{
    struct fixture *f = *state;
    static const char *const groups[] = {"1x2", "1x3", "1x4", "1x7", "1x8", "2x2", "3x4", "5x1"};
    for (int c = 0; c < COLL_NR; c++) {
        for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
            for (uint64_t bytes = 1; bytes <= 64 << 20; bytes = 5 * bytes + 3) {
                struct key key = key_of((enum collective)c, groups[g], bytes);
                ask(f, key.collective, groups[g], bytes);
                assert_true(f->nr > 0 || key.collective == COLL_SEND_RECV ||
                            key.collective == COLL_GATHER || key.collective == COLL_SCATTER);
                for (size_t i = 0; i < f->nr; i++) {
                    check_candidate(f, i, &key);
                }
            }
        }
    }
}

/* ---- what the engine does by itself ---- */

static const char *choice(struct fixture *f, enum collective collective, const char *group,
                          uint64_t bytes)
{
    struct key key = key_of(collective, group, bytes);
    return engine()->default_choice(&f->library, &key, &f->arena);
}

static void the_default_is_the_first_rule_that_fits(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(choice(f, COLL_ALLREDUCE, "1x2", 16384), "one-shot");
    assert_string_equal(choice(f, COLL_ALLREDUCE, "1x2", 16385), "two-shot");
    assert_string_equal(choice(f, COLL_ALLREDUCE, "2x1", 8), "ring");
    /* the limit is on a part */
    assert_string_equal(choice(f, COLL_ALL_GATHER, "1x4", 4096), "bruck");
    assert_null(choice(f, COLL_ALL_GATHER, "1x4", 8192));
    assert_null(choice(f, COLL_REDUCE, "1x4", 8192));
    f->library.tree = NULL;
    assert_null(choice(f, COLL_ALLREDUCE, "1x2", 8));
}

static void a_table_in_force_is_refused(void **state)
{
    struct fixture *f = *state;
    struct key key = key_of(COLL_ALLREDUCE, "1x2", 64);
    assert_int_equal(engine()->check_environment(&key, 1, &f->error), 0);
    setenv("CCLTUNE_ENGINE_TABLE", "", 1);
    assert_int_equal(engine()->check_environment(&key, 1, &f->error), 0);
    setenv("CCLTUNE_ENGINE_TABLE", "/some/table", 1);
    assert_int_equal(engine()->check_environment(&key, 1, &f->error), -1);
    assert_int_equal(f->error.status, EXIT_INPUT);
    assert_non_null(strstr(f->error.message, "CCLTUNE_ENGINE_TABLE=/some/table is set"));
}

/* ---- files ---- */

static void fill_table(struct decision_table *table, struct decision_row *rows, size_t nr)
{
    *table = (struct decision_table){.target = "engine",
                                     .library = "ccltune engine 0.1.0, CPU ranks",
                                     .version = "0.1.0",
                                     .fingerprint = "abc123",
                                     .machine = "two\ncores",
                                     .date = "2025-01-02T03:04:05Z",
                                     .tool_version = "ccltune 0.1.0",
                                     .launch = "mpiexec -n 2",
                                     .default_is = "ccltune engine's built-in selection",
                                     .evidence = EVIDENCE_MEASURED,
                                     .rows = rows,
                                     .nr_rows = nr};
}

static const struct emitted_file *emit(struct fixture *f, const struct decision_table *table)
{
    struct emitted_file *files;
    size_t nr;
    assert_int_equal(
        engine()->emit(&f->library, table, "/a dir", &f->arena, &files, &nr, &f->error), 0);
    assert_int_equal(nr, 2);
    assert_string_equal(files[0].name, "tuned.env");
    assert_string_equal(files[1].name, "engine-table.json");
    return files;
}

static void rows_are_written_down(void **state)
{
    struct fixture *f = *state;
    struct decision_table table;
    struct decision_point point = {.key = key_of(COLL_ALLREDUCE, "tp=1x2*2", 64),
                                   .default_choice = "one-shot",
                                   .gain = {0.5, 0.4, 0.6, 0.95},
                                   .p = 0.001,
                                   .pairs = 10,
                                   .proven = true};
    struct decision_row row = {.collective = COLL_ALLREDUCE,
                               .first_bytes = 64,
                               .last_bytes = UINT64_MAX,
                               .gain = {0.5, 0.4, 0.6, 0.95},
                               .nr_points = 1};
    ask(f, COLL_ALLREDUCE, "1x2", 64);
    row.group = point.key.group;
    row.choice = point.choice = f->list[0];
    fill_table(&table, &row, 1);
    table.points = &point;
    table.nr_points = 1;
    const struct emitted_file *files = emit(f, &table);
    const char *env = files[0].text;
    assert_non_null(strstr(env, "\nexport CCLTUNE_ENGINE_TABLE='/a dir/engine-table.json'\n"));
    assert_non_null(strstr(env, "# Undo: unset CCLTUNE_ENGINE_TABLE\n"));
    assert_non_null(strstr(env, "# machine:       two cores\n"));
    assert_non_null(strstr(env, "# allreduce tp=1x2*2 64 B and more: "));
    assert_non_null(strstr(env, " instead of one-shot: +50.0 % [40.0, 60.0] (10 launch pairs"));
    assert_null(strstr(env, "MPICH"));

    struct json *json = json_parse(files[1].text, strlen(files[1].text), "table", &f->error);
    assert_non_null(json);
    assert_int_equal(json_get_integer(json, "ccltune_engine_table", 0), 1);
    const struct json *written = json_item(json_get(json, "rows"), 0);
    assert_string_equal(json_get_text(written, "collective", ""), "allreduce");
    assert_string_equal(json_get_text(written, "group", ""), "tp=1x2*2");
    assert_int_equal(json_get_integer(written, "first_bytes", 0), 64);
    assert_true(json_get_integer(written, "last_bytes", 0) == INT64_MAX);
    const struct json *settings = json_get(written, "settings");
    assert_int_equal(json_length(settings), 4);
    assert_string_equal(json_get_text(settings, "algo", ""), setting(&f->list[0], "algo"));
    assert_string_equal(json_get_text(settings, "chunk", ""), "16K");
    json_free(json);
}

static void without_rows_nothing_is_set(void **state)
{
    struct fixture *f = *state;
    struct decision_table table;
    fill_table(&table, NULL, 0);
    const struct emitted_file *files = emit(f, &table);
    assert_null(strstr(files[0].text, "export"));
    assert_non_null(strstr(files[0].text, "# ccltune engine settings: none."));
    assert_non_null(strstr(files[1].text, "\"rows\": []"));
}

static void a_launch_loads_the_table_by_path(void **state)
{
    struct fixture *f = *state;
    struct candidate with;
    assert_int_equal(engine()->load_settings("/d/", &f->arena, &with, &f->error), 0);
    assert_int_equal(with.nr_settings, 1);
    assert_string_equal(with.settings[0].name, "CCLTUNE_ENGINE_TABLE");
    assert_string_equal(with.settings[0].value, "/d/engine-table.json");
    assert_int_equal(with.settings[0].scope, SCOPE_PROCESS);
    assert_int_equal(engine()->load_settings("/a\nb", &f->arena, &with, &f->error), -1);
    assert_int_equal(f->error.status, EXIT_INPUT);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_measured_by_its_own_runner),
        TEST(short_messages_have_one_chunk_and_both_protocols),
        TEST(long_messages_have_chunks_and_channels),
        TEST(no_chunk_is_larger_than_needed),
        TEST(what_the_engine_does_anyway_is_none),
        TEST(a_hierarchy_needs_hosts),
        TEST(one_rank_has_no_choice),
        TEST(every_candidate_serves_and_is_there_once),
        TEST(the_default_is_the_first_rule_that_fits),
        TEST(a_table_in_force_is_refused),
        TEST(rows_are_written_down),
        TEST(without_rows_nothing_is_set),
        TEST(a_launch_loads_the_table_by_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
