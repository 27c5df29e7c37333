/* test_mpich_target.c - MPICH as a target: candidates, defaults, and the files that it writes. */
#include "target.h"

#include "mpich_tree.h"
#include "target/mpich_sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const char values_text[] =
    "{\"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM\": [\"auto\", \"nb\", \"smp\", \"recursive_doubling\","
    "  \"reduce_scatter_allgather\", \"unheard_of\"],"
    " \"MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM\": [\"auto\", \"brucks\", \"nb\", "
    "\"recursive_doubling\","
    "  \"ring\"],"
    " \"MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM\": [\"auto\", \"noncommutative\","
    "  \"recursive_doubling\", \"pairwise\", \"recursive_halving\", \"nb\"],"
    " \"MPIR_CVAR_BCAST_INTRA_ALGORITHM\": [\"auto\", \"binomial\", \"nb\", \"smp\","
    "  \"scatter_recursive_doubling_allgather\", \"scatter_ring_allgather\"],"
    " \"MPIR_CVAR_REDUCE_INTRA_ALGORITHM\": [\"auto\", \"binomial\"],"
    " \"MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM\": [\"auto\", \"brucks\", \"nb\", \"pairwise\","
    "  \"pairwise_sendrecv_replace\", \"scattered\"]}";

/* Everything that a test needs and gives back. */
struct fixture {
    struct json *values, *tree;
    struct library library;
    struct decision_table table;
    struct arena arena;
    struct error error;
    struct emitted_file *files;
    size_t nr_files;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->values = sample_parse(values_text);
    f->tree = sample_tree();
    f->library = (struct library){.name = "MPICH",
                                  .version = MPICH_VERIFIED_VERSION,
                                  .device = "ch4:ucx",
                                  .values = f->values,
                                  .tree = f->tree,
                                  .tree_source = "built-in"};
    f->table = (struct decision_table){.target = "mpich",
                                       .library = "MPICH 4.0.2, ch4:ucx",
                                       .version = "4.0.2",
                                       .fingerprint = "abc123",
                                       .machine = "two cores",
                                       .date = "2025-01-02T03:04:05Z",
                                       .tool_version = "ccltune 0.1.0",
                                       .launch = "mpiexec -n 2",
                                       .default_is = "built-in selection",
                                       .evidence = EVIDENCE_IN_TARGET,
                                       .seed = 7,
                                       .alpha = 0.05,
                                       .lines_tested = 9,
                                       .pairs = 11};
    f->table.points = arena_alloc(&f->table.arena, 100, sizeof *f->table.points);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    json_free(f->values);
    json_free(f->tree);
    arena_release(&f->arena);
    decision_release(&f->table);
    free(f);
    return 0;
}

static const struct target *mpich(void)
{
    struct error error = ERROR_NONE;
    return target_find("mpich", &error);
}

static struct key key_of(enum collective collective, const char *group, uint64_t bytes)
{
    struct key key = {.collective = collective, .bytes = bytes};
    struct error error = ERROR_NONE;
    assert_int_equal(group_parse(group, &key.group, &error), 0);
    return key;
}

static void targets_are_found_by_name(void **state)
{
    struct error error = ERROR_NONE;
    (void)state;
    assert_string_equal(target_find("mpich", &error)->name, "mpich");
    assert_string_equal(target_find("mpich-aa", &error)->name, "mpich-aa");
    assert_null(target_find("mpch", &error));
    assert_int_equal(error.status, EXIT_INPUT);
    assert_non_null(strstr(error.message, "mpich, engine, mpich-aa"));
    assert_ptr_equal(target_all()[0], target_find("mpich", &error));
    assert_null(target_all()[3]);
}

/* ---- candidates ---- */

/* The candidates' names, in order, with a blank between. */
static const char *names_of(struct fixture *f, const struct target *target, const struct key *key)
{
    struct candidate *list = NULL;
    size_t nr = 0;
    const char *names = "";
    assert_int_equal(target->candidates(&f->library, key, &f->arena, &list, &nr, &f->error), 0);
    for (size_t i = 0; i < nr; i++) {
        assert_int_equal(list[i].nr_settings, 1);
        assert_int_equal(list[i].settings[0].scope, SCOPE_CALL);
        names = arena_printf(&f->arena, "%s%s%s", names, i ? " " : "", list[i].algorithm);
    }
    return names;
}

static void candidates_are_legal_known_and_not_the_default(void **state)
{
    static const struct {
        enum collective collective;
        const char *group;
        uint64_t bytes;
        const char *names;
    } rows[] = {
        {COLL_ALLREDUCE, "1x2", 8, "reduce_scatter_allgather smp nb"},
        {COLL_ALLREDUCE, "1x2", 4096, "recursive_doubling smp nb"},
        {COLL_ALLREDUCE, "1x4", 12, "smp nb"}, /* 3 elements, fewer than 4 ranks */
        {COLL_ALL_GATHER, "1x2", 1024, "brucks ring nb"},
        {COLL_ALL_GATHER, "1x3", 1024, "ring nb"},
        {COLL_REDUCE_SCATTER, "1x4", 1024,
         "recursive_halving pairwise recursive_doubling noncommutative nb"},
        {COLL_REDUCE_SCATTER, "1x3", 1024, "recursive_halving pairwise recursive_doubling nb"},
        {COLL_BROADCAST, "1x2", 64,
         "scatter_recursive_doubling_allgather scatter_ring_allgather nb"},
        {COLL_REDUCE, "1x2", 64, ""},
        {COLL_ALL_TO_ALL, "1x2", 64, "brucks pairwise nb"},
        {COLL_ALL_TO_ALL, "1x9", 64, "brucks scattered nb"},
        {COLL_GATHER, "1x2", 64, ""},
        {COLL_ALLREDUCE, "2x2", 64, ""},
        {COLL_ALLREDUCE, "1x1", 64, ""},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct key key = key_of(rows[i].collective, rows[i].group, rows[i].bytes);
        const char *names = names_of(f, mpich(), &key);
        if (strcmp(names, rows[i].names) != 0) {
            fail_msg("%s %s %u: '%s', expected '%s'", coll_name(rows[i].collective), rows[i].group,
                     (unsigned)rows[i].bytes, names, rows[i].names);
        }
    }
}

static void what_the_library_does_not_name_is_no_candidate(void **state)
{
    struct fixture *f = *state;
    struct key key = key_of(COLL_ALLREDUCE, "1x2", 4096);
    f->library.values = NULL;
    assert_string_equal(names_of(f, mpich(), &key), "");
}

static void without_a_tree_nothing_is_taken_for_the_default(void **state)
{
    struct fixture *f = *state;
    struct key key = key_of(COLL_ALLREDUCE, "1x2", 4096);
    f->library.tree = NULL;
    assert_null(mpich()->default_choice(&f->library, &key, &f->arena));
    assert_string_equal(names_of(f, mpich(), &key),
                        "recursive_doubling reduce_scatter_allgather smp nb");
}

static void the_default_is_the_trees_answer(void **state)
{
    struct fixture *f = *state;
    const struct target *t = mpich();
    struct key key = key_of(COLL_ALLREDUCE, "1x2", 16);
    assert_string_equal(t->default_choice(&f->library, &key, &f->arena), "recursive_doubling");
    key.bytes = 1024;
    assert_string_equal(t->default_choice(&f->library, &key, &f->arena),
                        "reduce_scatter_allgather");
    key.collective = COLL_REDUCE; /* the user's and the inner communicator answer differently */
    assert_string_equal(t->default_choice(&f->library, &key, &f->arena), "binomial");
    key.bytes = 4096;
    assert_null(t->default_choice(&f->library, &key, &f->arena));
    key.collective = COLL_SEND_RECV;
    assert_null(t->default_choice(&f->library, &key, &f->arena));
    key = key_of(COLL_ALLREDUCE, "2x2", 1024);
    assert_null(t->default_choice(&f->library, &key, &f->arena));
    key = key_of(COLL_REDUCE_SCATTER, "1x2", 1024);
    assert_string_equal(t->default_choice(&f->library, &key, &f->arena),
                        "MPIR_Reduce_scatter_block_intra_sample");
}

/* What candidates race against is forced as they are; where that cannot be, the plain default. */
static void the_race_reference_is_the_default_forced(void **state)
{
    struct fixture *f = *state;
    struct key key = key_of(COLL_ALLREDUCE, "1x2", 4096);
    struct candidate reference = mpich()->race_reference(&f->library, &key, &f->arena);
    assert_int_equal(reference.nr_settings, 1);
    assert_string_equal(reference.settings[0].name, "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM");
    assert_string_equal(reference.settings[0].value, "reduce_scatter_allgather");
    key = key_of(COLL_REDUCE_SCATTER, "1x2", 4096); /* its leaf is none that the library names */
    reference = mpich()->race_reference(&f->library, &key, &f->arena);
    assert_true(candidate_equal(&reference, &candidate_default));
}

static void the_self_test_offers_the_default_by_other_names(void **state)
{
    struct fixture *f = *state;
    const struct target *aa = target_find("mpich-aa", &f->error);
    struct key key = key_of(COLL_ALLREDUCE, "1x2", 4096);
    struct candidate *list = NULL;
    size_t nr = 0;
    assert_string_equal(names_of(f, aa, &key), "aa-1 aa-2 aa-3");
    assert_int_equal(aa->candidates(&f->library, &key, &f->arena, &list, &nr, &f->error), 0);
    for (size_t i = 0; i < nr; i++) {
        assert_string_equal(list[i].settings[0].name, "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM");
        assert_string_equal(list[i].settings[0].value, "auto");
    }
}

/* ---- files ---- */

/* A point, proven or refused for `reason`. */
static void add_point(struct fixture *f, enum collective collective, const char *group,
                      uint64_t bytes, const char *algorithm, const char *reason)
{
    struct decision_point *point = &f->table.points[f->table.nr_points++];
    struct setting *setting = arena_alloc(&f->table.arena, 1, sizeof *setting);
    double low = bytes == 512 ? 0.12 : 0.2;
    *setting = (struct setting){"MPIR_CVAR_X_INTRA_ALGORITHM", algorithm, SCOPE_CALL};
    *point = (struct decision_point){.key = key_of(collective, group, bytes),
                                     .choice = {algorithm, setting, 1},
                                     .default_choice =
                                         bytes < 128 ? "binomial" : "reduce_scatter_allgather",
                                     .gain = {0.312, low, 0.385, 0.99},
                                     .p = 0.0005,
                                     .pairs = 11,
                                     .proven = !reason,
                                     .reason = reason};
    if (!strcmp(algorithm, "default")) {
        point->choice = candidate_default;
        point->proven = false;
    }
}

static const char *emit(struct fixture *f, const struct target *target, const char *directory)
{
    decision_make_rows(&f->table);
    for (size_t i = 0; i < f->table.nr_rows; i++) {
        f->table.rows[i].gain = (struct interval){0.312, 0.24, 0.385, 0.99};
    }
    if (target->emit(&f->library, &f->table, directory, &f->arena, &f->files, &f->nr_files,
                     &f->error)) {
        return NULL;
    }
    assert_int_equal(f->nr_files, 2);
    assert_string_equal(f->files[0].name, "tuned.env");
    assert_string_equal(f->files[1].name, "mpich-coll.json");
    return f->files[0].text;
}

static void assert_says(const char *text, const char *wanted)
{
    if (!text || !strstr(text, wanted)) {
        fail_msg("no '%s' in:\n%s", wanted, text ? text : "(nothing)");
    }
}

static void assert_silent(const char *text, const char *unwanted)
{
    if (!text || strstr(text, unwanted)) {
        fail_msg("'%s' in:\n%s", unwanted, text ? text : "(nothing)");
    }
}

/* Only comments and the one setting: the file is executed by a shell. */
static void assert_harmless(const char *text, size_t settings)
{
    size_t found = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        bool is_setting = !strncmp(line, "export " MPICH_FILE_VARIABLE "=", 49);
        found += is_setting;
        if (!is_setting && *line != '#') {
            fail_msg("a line that is neither comment nor setting: %.60s", line);
        }
        assert_non_null(strchr(line, '\n'));
    }
    assert_int_equal(found, settings);
}

static const char *leaf_of(struct fixture *f, enum collective collective, uint32_t ranks,
                           uint64_t bytes)
{
    static char leaf[MPICH_KEY_BYTES];
    const struct mpich_collective *c = mpich_collective_find(collective);
    struct mpich_query query = mpich_query_make(c, ranks, bytes, 4, MPICH_PARENT);
    struct json *tree = sample_parse(f->files[1].text);
    assert_non_null(tree);
    assert_int_equal(mpich_tree_lookup(tree, c, &query, leaf), 0);
    json_free(tree);
    return leaf;
}

static void add_standard_points(struct fixture *f)
{
    for (uint64_t bytes = 64; bytes <= 4096; bytes *= 2) {
        add_point(f, COLL_ALLREDUCE, "dp=1x2", bytes, "recursive_doubling", NULL);
    }
    add_point(f, COLL_ALLREDUCE, "dp=1x2", 8192, "nb", "p = 0.2 is not below 0.0055");
    add_point(f, COLL_ALLREDUCE, "dp=1x2", 16384, "default", NULL);
}

static void a_row_becomes_a_line_and_a_branch(void **state)
{
    struct fixture *f = *state;
    add_standard_points(f);
    const char *env = emit(f, mpich(), "/data/out");
    assert_says(env,
                "\n# allreduce dp=1x2 64 B..4 KiB: recursive_doubling instead of binomial or "
                "reduce_scatter_allgather: +31.2 % [24.0, 38.5] (11 launch pairs, p <= 0.0005; "
                "weakest size 512 B: at least +12.0 %)\n");
    assert_says(env, "\nexport " MPICH_FILE_VARIABLE "=/data/out/mpich-coll.json\n");
    assert_says(env, "# Undo: unset " MPICH_FILE_VARIABLE "\n");
    assert_says(env, "#   allreduce dp=1x2 8 KiB: nb: p = 0.2 is not below 0.0055\n");
    assert_says(env, "allreduce: built-in commutative operations");
    assert_silent(env, "16 KiB");
    assert_silent(env, "not with this version");
    for (const char *const *field =
             (const char *const[]){"ccltune 0.1.0", "MPICH 4.0.2, ch4:ucx", "abc123", "two cores",
                                   "mpiexec -n 2", "2025-01-02T03:04:05Z", "built-in selection",
                                   "seed:          7", "measured in this library", NULL};
         *field; field++) {
        assert_says(env, *field);
    }
    assert_harmless(env, 1);
    assert_string_equal(leaf_of(f, COLL_ALLREDUCE, 2, 64),
                        "MPIR_Allreduce_intra_recursive_doubling");
    assert_string_equal(leaf_of(f, COLL_ALLREDUCE, 2, 4096),
                        "MPIR_Allreduce_intra_recursive_doubling");
    assert_string_equal(leaf_of(f, COLL_ALLREDUCE, 2, 4100),
                        "MPIR_Allreduce_intra_reduce_scatter_allgather");
    assert_string_equal(leaf_of(f, COLL_ALLREDUCE, 3, 4096),
                        "MPIR_Allreduce_intra_reduce_scatter_allgather");
}

static void nothing_proven_sets_nothing(void **state)
{
    struct fixture *f = *state;
    add_point(f, COLL_ALLREDUCE, "dp=1x2", 64, "nb", "too few pairs");
    const char *env = emit(f, mpich(), "/data/out");
    struct json *tree = sample_parse(f->files[1].text);
    assert_true(json_is_equal(tree, f->tree));
    json_free(tree);
    assert_harmless(env, 0);
    assert_says(env, "none was proven");
    assert_says(env, "too few pairs");
    f->table.nr_points = 0;
    add_point(f, COLL_ALLREDUCE, "dp=1x2", 64, "default", NULL);
    env = emit(f, mpich(), "/data/out");
    assert_harmless(env, 0);
    assert_says(env, "of 1 sizes tried, none was faster with another choice than the default");
}

/* A selection file knows sizes of communicators, not groups. */
static void groups_of_one_size_must_agree(void **state)
{
    struct fixture *f = *state;
    add_standard_points(f);
    add_point(f, COLL_ALLREDUCE, "tp=1x2*4", 1024, "default", NULL);
    const char *env = emit(f, mpich(), "/data/out");
    assert_harmless(env, 0);
    assert_says(env, "recursive_doubling: not proven for tp=1x2*4 too");

    f->table.nr_points--; /* now proven for both, over different ranges */
    add_point(f, COLL_ALLREDUCE, "tp=1x2*4", 4096, "recursive_doubling", NULL);
    add_point(f, COLL_ALLREDUCE, "tp=1x2*4", 8192, "recursive_doubling", NULL);
    add_point(f, COLL_ALLREDUCE, "far=2x1", 1024, "default", NULL); /* another kind of group */
    f->table.points[7].key.bytes = 32768; /* dp's 8 KiB, which was not proven */
    env = emit(f, mpich(), "/data/out");
    assert_harmless(env, 1);
    assert_string_equal(leaf_of(f, COLL_ALLREDUCE, 2, 8192),
                        "MPIR_Allreduce_intra_recursive_doubling");
}

static void several_hosts_are_left_out_and_said(void **state)
{
    struct fixture *f = *state;
    add_point(f, COLL_ALLREDUCE, "dp=2x1", 1024, "recursive_doubling", NULL);
    const char *env = emit(f, mpich(), "/data/out");
    assert_harmless(env, 0);
    assert_says(env, "several hosts");
}

static void text_from_outside_stays_in_its_line(void **state)
{
    struct fixture *f = *state;
    f->table.launch = "mpiexec\nrm -rf x\r\n";
    f->table.machine = "a\nb";
    add_point(f, COLL_ALLREDUCE, "dp=1x2", 1024, "recursive_doubling", NULL);
    add_point(f, COLL_ALLREDUCE, "dp=1x2", 2048, "nb", "one\ntwo");
    const char *env = emit(f, mpich(), "/data/it's $(here)");
    assert_harmless(env, 1);
    assert_says(env, "='/data/it'\\''s $(here)/mpich-coll.json'\n");
    assert_null(emit(f, mpich(), "/data/a\nb"));
    assert_says(f->error.message, "line break");
}

static void another_version_is_said(void **state)
{
    struct fixture *f = *state;
    f->library.version = "4.1.2";
    add_point(f, COLL_ALLREDUCE, "dp=1x2", 1024, "recursive_doubling", NULL);
    assert_says(emit(f, mpich(), "/data/out"), "not with this version");
}

static void a_broken_base_is_refused(void **state)
{
    struct fixture *f = *state;
    json_put(f->tree, "collective=scan", sample_parse("{\"comm_size=2\": {}}"));
    f->library.tree_source = "/etc/coll.json";
    add_point(f, COLL_ALLREDUCE, "dp=1x2", 1024, "recursive_doubling", NULL);
    assert_null(emit(f, mpich(), "/data/out"));
    assert_says(f->error.message, "(/etc/coll.json): collective=scan: unknown key");
    f->library.tree = NULL;
    assert_null(emit(f, mpich(), "/data/out"));
    assert_int_equal(f->error.status, EXIT_ABSENT);
}

/* MPICH maps the file and reads on to the next zero. */
static void the_trees_text_never_fills_its_last_page(void **state)
{
    struct fixture *f = *state;
    size_t padded = 0, first = 0;
    for (size_t i = 0; i <= 4096; i++) { /* texts of each length in a page */
        char name[4200] = "MPIR_Scan_intra_";
        struct json *leaf = json_make_object(), *parameter = json_make_object();
        memset(name + strlen(name), 'x', i);
        json_put(parameter, name, json_make_object());
        json_put(leaf, "algorithm=MPIR_Scan_intra_sample", parameter);
        json_put(f->tree, "collective=scan", leaf);
        emit(f, mpich(), "/data/out");
        size_t length = strlen(f->files[1].text);
        first = i == 0 ? length : first;
        assert_int_not_equal(length % 4096, 0);
        padded += length == first + i + 1;
        arena_release(&f->arena);
    }
    assert_int_equal(padded, 1);
}

static void the_self_test_writes_the_base(void **state)
{
    struct fixture *f = *state;
    add_point(f, COLL_ALLREDUCE, "dp=1x2", 1024, "aa-1", NULL);
    const char *env = emit(f, target_find("mpich-aa", &f->error), "/data/out");
    struct json *tree = sample_parse(f->files[1].text);
    assert_true(json_is_equal(tree, f->tree));
    json_free(tree);
    assert_harmless(env, 1);
    assert_says(env, "each line that follows is false");
}

static void the_file_is_loaded_by_an_absolute_path(void **state)
{
    struct fixture *f = *state;
    struct candidate candidate;
    assert_int_equal(mpich()->load_settings("/data/out/", &f->arena, &candidate, &f->error), 0);
    assert_int_equal(candidate.nr_settings, 1);
    assert_string_equal(candidate.settings[0].name, MPICH_FILE_VARIABLE);
    assert_string_equal(candidate.settings[0].value, "/data/out/mpich-coll.json");
    assert_int_equal(candidate.settings[0].scope, SCOPE_PROCESS);
    assert_int_equal(mpich()->load_settings("out", &f->arena, &candidate, &f->error), 0);
    assert_int_equal(candidate.settings[0].value[0], '/');
    assert_says(candidate.settings[0].value, "/out/mpich-coll.json");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_found_by_name),
        TEST(candidates_are_legal_known_and_not_the_default),
        TEST(what_the_library_does_not_name_is_no_candidate),
        TEST(without_a_tree_nothing_is_taken_for_the_default),
        TEST(the_default_is_the_trees_answer),
        TEST(the_race_reference_is_the_default_forced),
        TEST(the_self_test_offers_the_default_by_other_names),
        TEST(a_row_becomes_a_line_and_a_branch),
        TEST(nothing_proven_sets_nothing),
        TEST(groups_of_one_size_must_agree),
        TEST(several_hosts_are_left_out_and_said),
        TEST(text_from_outside_stays_in_its_line),
        TEST(another_version_is_said),
        TEST(a_broken_base_is_refused),
        TEST(the_trees_text_never_fills_its_last_page),
        TEST(the_self_test_writes_the_base),
        TEST(the_file_is_loaded_by_an_absolute_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
