/* test_decision.c - rows from points, and result.json: back and forth, and from hostile hands. */
#include "decision.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAIRS 12

static const struct setting ring_setting = {"ALGORITHM", "ring", SCOPE_CALL};
static const struct setting tree_setting = {"ALGORITHM", "tree", SCOPE_CALL};
static const struct candidate ring = {"ring", &ring_setting, 1};
static const struct candidate tree = {"tree", &tree_setting, 1};

static void assert_near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-12 * fmax(1, fabs(expected)))) {
        fail_msg("expected %.17g, found %.17g", expected, found);
    }
}

static void assert_same_double(double found, double expected)
{
    if (found != expected && !(isnan(found) && isnan(expected))) {
        fail_msg("expected %.17g, found %.17g", expected, found);
    }
}

/* A point as the tuner leaves it; log ratios spread around log(1 + gain). */
static struct decision_point make_point(struct arena *arena, enum collective collective,
                                        const char *group, uint64_t bytes,
                                        const struct candidate *choice, double gain, bool proven)
{
    struct error error = ERROR_NONE;
    struct decision_point point = {.key = {.collective = collective, .bytes = bytes},
                                   .choice = *choice,
                                   .default_choice = "recursive_doubling",
                                   .default_seconds = 1e-5 * (1 + gain),
                                   .choice_seconds = 1e-5,
                                   .p = ldexp(1, -PAIRS),
                                   .pairs = PAIRS,
                                   .proven = proven,
                                   .reason = "because"};
    double *ratios = arena_alloc(arena, PAIRS, sizeof *ratios);
    assert_int_equal(group_parse(group, &point.key.group, &error), 0);
    for (size_t i = 0; i < PAIRS; i++) {
        ratios[i] = log1p(gain) + 0.002 * ((double)i - 5.5);
    }
    struct interval log_gain = stats_signed_rank_interval(ratios, PAIRS, 0.99);
    point.gain = (struct interval){expm1(log_gain.estimate), expm1(log_gain.low),
                                   expm1(log_gain.high), log_gain.level};
    point.log_ratios = ratios;
    return point;
}

/* One letter a point: r ring, t tree, both proven; R ring not proven; d default. */
static void fill_points(struct decision_table *table, const char *letters)
{
    size_t nr = strlen(letters);
    *table = (struct decision_table){.target = "mpich", .alpha = 0.05, .lines_tested = nr};
    table->points = arena_alloc(&table->arena, nr + 1, sizeof *table->points);
    table->nr_points = nr;
    for (size_t i = 0; i < nr; i++) {
        const struct candidate *choice = letters[i] == 'd'   ? &candidate_default
                                         : letters[i] == 't' ? &tree
                                                             : &ring;
        bool proven = letters[i] == 'r' || letters[i] == 't';
        table->points[i] = make_point(&table->arena, COLL_ALLREDUCE, "tp=1x8", (uint64_t)64 << i,
                                      choice, 0.1 + 0.05 * (double)i, proven);
    }
    decision_make_rows(table);
}

/* Rows as text: "ring 64..128, tree 512..512". */
static const char *rows_text(struct decision_table *table)
{
    const char *text = "";
    for (size_t r = 0; r < table->nr_rows; r++) {
        const struct decision_row *row = &table->rows[r];
        text = arena_printf(&table->arena, "%s%s%s %llu..%llu", text, r ? ", " : "",
                            row->choice.algorithm, (unsigned long long)row->first_bytes,
                            (unsigned long long)row->last_bytes);
    }
    return text;
}

static void test_rows_never_cross_what_is_not_proven(void **state)
{
    (void)state;
    static const struct {
        const char *letters, *rows;
    } cases[] = {
        {"", ""},
        {"d", ""},
        {"R", ""},
        {"dRd", ""},
        {"r", "ring 64..64"},
        {"rr", "ring 64..128"},
        {"rrr", "ring 64..256"},
        {"rdr", "ring 64..64, ring 256..256"},
        {"rRr", "ring 64..64, ring 256..256"},
        {"rtr", "ring 64..64, tree 128..128, ring 256..256"},
        {"rrttdtt", "ring 64..128, tree 256..512, tree 2048..4096"},
        {"drRRrrd", "ring 128..128, ring 1024..2048"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct decision_table table;
        fill_points(&table, cases[i].letters);
        assert_string_equal(rows_text(&table), cases[i].rows);
        decision_release(&table);
        assert_null(table.points);
    }
}

static void test_rows_end_with_collective_and_group(void **state)
{
    (void)state;
    struct decision_table table;
    fill_points(&table, "rrrr");
    table.points[2] = make_point(&table.arena, COLL_ALLREDUCE, "dp=2x8", 64, &ring, 0.2, true);
    table.points[3] = make_point(&table.arena, COLL_ALL_GATHER, "dp=2x8", 128, &ring, 0.2, true);
    decision_make_rows(&table);
    assert_int_equal(table.nr_rows, 3);
    assert_string_equal(table.rows[1].group.name, "dp");
    assert_int_equal(table.rows[1].first_point, 2);
    assert_int_equal(table.rows[1].nr_points, 1);
    assert_int_equal(table.rows[2].collective, COLL_ALL_GATHER);
    decision_release(&table);
}

/* The gain of a row: per pair the mean of the points' log ratios, the interval over the pairs. */
static void test_the_gain_of_a_row(void **state)
{
    (void)state;
    struct decision_table table;
    double means[PAIRS];
    fill_points(&table, "rr");
    const struct decision_point *points = table.points;
    for (size_t p = 0; p < PAIRS; p++) {
        means[p] = (points[0].log_ratios[p] + points[1].log_ratios[p]) / 2;
    }
    struct interval expected = stats_signed_rank_interval(means, PAIRS, 1 - 2 * 0.05 / 2);
    const struct decision_row *row = &table.rows[0];
    assert_near(row->gain.estimate, expm1(expected.estimate));
    assert_near(row->gain.low, expm1(expected.low));
    assert_near(row->gain.high, expm1(expected.high));
    assert_near(row->gain.level, expected.level);
    /* 10 % and 15 % in the geometric mean */
    assert_near(row->gain.estimate, sqrt(1.10 * 1.15) - 1);
    assert_near(row->least_low, points[0].gain.low);
    decision_release(&table);
}

static void test_a_row_of_one_point_has_its_gain(void **state)
{
    (void)state;
    struct decision_table table;
    fill_points(&table, "r");
    assert_near(table.rows[0].gain.estimate, table.points[0].gain.estimate);
    table.points[0].log_ratios = NULL; /* then the point's own interval is all there is */
    decision_make_rows(&table);
    assert_same_double(table.rows[0].gain.low, table.points[0].gain.low);
    decision_release(&table);
}

/* Fewer pairs at one point: the row rests on those that all have. */
static void test_points_with_unequal_pairs(void **state)
{
    (void)state;
    struct decision_table table;
    fill_points(&table, "rr");
    table.points[1].pairs = 7;
    decision_make_rows(&table);
    double means[7];
    for (size_t p = 0; p < 7; p++) {
        means[p] = (table.points[0].log_ratios[p] + table.points[1].log_ratios[p]) / 2;
    }
    assert_near(table.rows[0].gain.estimate,
                expm1(stats_signed_rank_interval(means, 7, 0.95).estimate));
    decision_release(&table);
}

static const struct decision_rival rivals[] = {{"default", 1e-5, 60, "the default"},
                                               {"ring", 1.0 / 3, 7, "slower"},
                                               {"tree", NAN, 0, "wrong: \"sum\""}};

static void fill_table(struct decision_table *table)
{
    fill_points(table, "rrdRtt");
    table->points[1].rivals = rivals;
    table->points[1].nr_rivals = sizeof rivals / sizeof *rivals;
    table->canary = 1.25e-5;
    table->library = "MPICH 4.0.2, ch4:ucx";
    table->version = "4.0.2";
    table->fingerprint = "0123456789abcdef";
    table->machine = "\"two\" sockets\nand a tab\t";
    table->date = "2024-02-29T23:59:59Z";
    table->tool_version = "ccltune 0.1.0";
    table->launch = "mpiexec -n 8";
    table->default_is = "built-in selection";
    table->evidence = EVIDENCE_IN_TARGET;
    table->seed = UINT64_MAX - 3;
    table->pairs = PAIRS;
    table->interrupted = true;
    table->points[2].pairs = 0; /* no confirmation */
    table->points[2].log_ratios = NULL;
    table->points[2].gain = (struct interval){NAN, NAN, NAN, NAN};
    table->points[2].p = NAN;
    table->points[2].default_choice = NULL;
    table->points[2].choice_seconds = NAN;
}

static void assert_same_point(const struct decision_point *a, const struct decision_point *b)
{
    assert_true(key_equal(&a->key, &b->key));
    assert_true(candidate_equal(&a->choice, &b->choice));
    assert_int_equal(a->default_choice != NULL, b->default_choice != NULL);
    assert_same_double(a->default_seconds, b->default_seconds);
    assert_same_double(a->choice_seconds, b->choice_seconds);
    assert_same_double(a->gain.low, b->gain.low);
    assert_same_double(a->gain.estimate, b->gain.estimate);
    assert_same_double(a->gain.high, b->gain.high);
    assert_same_double(a->gain.level, b->gain.level);
    assert_same_double(a->p, b->p);
    assert_int_equal(a->pairs, b->pairs);
    assert_int_equal(a->proven, b->proven);
    assert_string_equal(a->reason, b->reason);
    for (size_t p = 0; p < a->pairs; p++) {
        assert_same_double(a->log_ratios[p], b->log_ratios[p]);
    }
    assert_int_equal(a->nr_rivals, b->nr_rivals);
    for (size_t i = 0; i < a->nr_rivals; i++) {
        assert_string_equal(a->rivals[i].algorithm, b->rivals[i].algorithm);
        assert_string_equal(a->rivals[i].verdict, b->rivals[i].verdict);
        assert_same_double(a->rivals[i].seconds, b->rivals[i].seconds);
        assert_int_equal(a->rivals[i].samples, b->rivals[i].samples);
    }
}

/* Through text, as a file would: nothing is lost, and the rows come out the same. */
static void test_a_table_is_read_back(void **state)
{
    (void)state;
    struct decision_table table, read;
    struct error error = ERROR_NONE;
    fill_table(&table);
    struct json *json = decision_to_json(&table);
    char *text = json_to_text(json, 2);
    struct json *parsed = json_parse(text, strlen(text), "result.json", &error);
    assert_int_equal(decision_from_json(parsed, &read, &error), 0);
    json_free(parsed);
    struct json *again = decision_to_json(&read);
    char *text_again = json_to_text(again, 2);
    assert_string_equal(text, text_again);
    assert_true(read.seed == table.seed && read.interrupted && read.pairs == PAIRS);
    assert_int_equal(read.evidence, EVIDENCE_IN_TARGET);
    assert_same_double(read.canary, 1.25e-5);
    assert_int_equal(read.nr_points, table.nr_points);
    for (size_t i = 0; i < table.nr_points; i++) {
        assert_same_point(&table.points[i], &read.points[i]);
    }
    assert_string_equal(rows_text(&read), rows_text(&table));
    json_free(json);
    json_free(again);
    free(text);
    free(text_again);
    decision_release(&read);
    decision_release(&table);
}

static void test_an_empty_table_is_read_back(void **state)
{
    (void)state;
    struct decision_table table = {.points = NULL}, read;
    struct error error = ERROR_NONE;
    struct json *json = decision_to_json(&table);
    assert_int_equal(decision_from_json(json, &read, &error), 0);
    assert_int_equal(read.nr_points, 0);
    assert_int_equal(read.nr_rows, 0);
    json_free(json);
    decision_release(&read);
}

static void assert_refused(const char *text, const char *part)
{
    struct error error = ERROR_NONE;
    struct decision_table table;
    struct json *json = json_parse(text, strlen(text), "test", &error);
    if (!json) {
        fail_msg("%s", error.message);
    }
    if (decision_from_json(json, &table, &error) != -1 || error.status != EXIT_INPUT ||
        !strstr(error.message, part)) {
        fail_msg("'%.200s': expected '%s', found '%s'", text, part, error.message);
    }
    json_free(json);
}

#define POINT_HEAD                                                                                 \
    "{\"ccltune_result\": 1, \"points\": [{\"collective\": \"allreduce\", \"group\": \"g=1x2\","   \
    " \"bytes\": 8, \"choice\": {\"algorithm\": \"a\", \"settings\": []}"

static void test_other_results_are_refused(void **state)
{
    (void)state;
    assert_refused("null", "not a result");
    assert_refused("[1]", "not a result");
    assert_refused("{}", "not a result");
    assert_refused("{\"ccltune_result\": 2}", "not a result");
    assert_refused("{\"ccltune_result\": \"1\"}", "not a result");
    assert_refused("{\"ccltune_result\": 1, \"points\": [7]}", "point 0");
    assert_refused("{\"ccltune_result\": 1, \"points\": [[]]}", "point 0");
    assert_refused("{\"ccltune_result\": 1, \"points\": {\"a\": 1}}", "point 0");
    assert_refused("{\"ccltune_result\": 1, \"points\": [{\"collective\": \"allreduce\", "
                   "\"group\": \"g=1x2\", \"bytes\": 8}]}",
                   "a candidate needs");
    assert_refused(POINT_HEAD ", \"proven\": true}]}", "proven without a gain");
    assert_refused(POINT_HEAD ", \"proven\": true, \"log_ratios\": [0.1]}]}", "proven without");
    assert_refused(POINT_HEAD ", \"proven\": true, \"log_ratios\": [0.1], \"gain\": {\"low\": "
                              "\"1\"}}]}",
                   "proven without");
}

static void test_sizes_must_grow(void **state)
{
    (void)state;
    struct decision_table table, read;
    fill_points(&table, "rr");
    for (int equal = 0; equal <= 1; equal++) {
        struct error error = ERROR_NONE;
        table.points[1].key.bytes = equal ? 64 : 63;
        struct json *json = decision_to_json(&table);
        assert_int_equal(decision_from_json(json, &read, &error), -1);
        assert_non_null(strstr(error.message, "to grow"));
        json_free(json);
    }
    decision_release(&table);
}

/* More pairs than exact statistics can work through in a moment. */
static void test_too_many_pairs_are_refused(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fputs(POINT_HEAD ", \"proven\": true, \"gain\": {\"low\": 1}, \"log_ratios\": [0", out);
    for (size_t i = 0; i < 200000; i++) {
        fputs(",0.5", out);
    }
    fputs("]}]}", out);
    fclose(out);
    assert_refused(text, "200001 pairs");
    free(text);
}

static void test_odd_values_do_no_harm(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"ccltune_result\": 1, \"points\": 5, \"rows\": 7, \"alpha\": \"x\", \"seed\": 1e300}",
        "{\"ccltune_result\": 1, \"alpha\": -1e308, \"lines_tested\": -9, \"launch_pairs\": null,"
        " \"target\": 4, \"evidence\": [], \"points\": []}",
        POINT_HEAD ", \"proven\": true, \"gain\": {\"low\": 1e308}, \"log_ratios\": [1e308, null, "
                   "\"x\", -1e308, {}], \"pairs\": -5}], \"alpha\": 1e300, \"lines_tested\": 0}",
        POINT_HEAD ", \"log_ratios\": {\"a\": 1}, \"gain\": 3, \"reason\": 4, \"proven\": 1}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error error = ERROR_NONE;
        struct decision_table table;
        struct json *json = json_parse(texts[i], strlen(texts[i]), "test", &error);
        assert_non_null(json);
        if (decision_from_json(json, &table, &error) == 0) {
            struct json *again = decision_to_json(&table);
            json_free(again);
            decision_release(&table);
        } else {
            fail_msg("%s", error.message);
        }
        json_free(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_never_cross_what_is_not_proven),
        cmocka_unit_test(test_rows_end_with_collective_and_group),
        cmocka_unit_test(test_the_gain_of_a_row),
        cmocka_unit_test(test_a_row_of_one_point_has_its_gain),
        cmocka_unit_test(test_points_with_unequal_pairs),
        cmocka_unit_test(test_a_table_is_read_back),
        cmocka_unit_test(test_an_empty_table_is_read_back),
        cmocka_unit_test(test_other_results_are_refused),
        cmocka_unit_test(test_sizes_must_grow),
        cmocka_unit_test(test_too_many_pairs_are_refused),
        cmocka_unit_test(test_odd_values_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
