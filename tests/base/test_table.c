/* test_table.c - one table in three formats, empty cells, quoting, and rows printed one by one. */
#include "table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE, TYPE, TIME, BANDWIDTH, IN_TIME, IN_BANDWIDTH, WRONG, NR_COLUMNS };

static const struct table_column columns[NR_COLUMNS] = {
    [SIZE] = {"size_bytes", "size", "(B)", NULL, TABLE_INTEGER, 12, 0, 0},
    [TYPE] = {"type", "type", NULL, NULL, TABLE_TEXT, 6, 0, 0},
    [TIME] = {"oop_time_us", "time", "(us)", "out-of-place", TABLE_NUMBER, 8, 2, 1e6},
    [BANDWIDTH] = {"oop_busbw_gbs", "busbw", "(GB/s)", "out-of-place", TABLE_NUMBER, 0, 2, 1e-9},
    [IN_TIME] = {"ip_time_us", "time", "(us)", "in-place", TABLE_NUMBER, 8, 2, 1e6},
    [IN_BANDWIDTH] = {"ip_busbw_gbs", "busbw", "(GB/s)", "in-place", TABLE_NUMBER, 0, 2, 1e-9},
    [WRONG] = {"wrong", "#wrong", NULL, NULL, TABLE_INTEGER, 0, 0, 0},
};

static struct table *example(void)
{
    struct table *table = table_make(columns, NR_COLUMNS);
    table_add_row(table);
    table_set_integer(table, SIZE, 8);
    table_set_text(table, TYPE, "float");
    table_set_number(table, TIME, 12.346e-6);
    table_set_number(table, BANDWIDTH, 0.5e9);
    table_set_number(table, IN_TIME, NAN);
    table_set_number(table, IN_BANDWIDTH, INFINITY);
    table_set_integer(table, WRONG, 0);
    table_add_row(table);
    table_set_integer(table, SIZE, 1073741824);
    table_set_text(table, TYPE, "bfloat16");
    table_set_number(table, TIME, 1234567.891e-6);
    table_set_number(table, BANDWIDTH, 123.456e9);
    return table;
}

/* What was printed, malloc'ed. */
struct capture {
    char *text;
    size_t size;
    FILE *out;
};

static struct capture *capture_start(struct capture *capture)
{
    *capture = (struct capture){0};
    capture->out = open_memstream(&capture->text, &capture->size);
    assert_non_null(capture->out);
    return capture;
}

static void capture_expect(struct capture *capture, const char *expected)
{
    fclose(capture->out);
    assert_string_equal(capture->text, expected);
    free(capture->text);
}

static void expect_printed(const struct table *table, enum table_format format, const char *mark,
                           const char *expected)
{
    struct capture capture;
    table_print(table, format, mark, capture_start(&capture)->out);
    capture_expect(&capture, expected);
}

static void text_is_aligned_as_nccl_tests_does(void **state)
{
    (void)state;
    struct table *table = example();
    assert_int_equal(table_rows(table), 2);
    static const char head_rest[] =
        "                            out-of-place         in-place\n"
        "#         size      type        time   busbw      time   busbw  #wrong\n"
        "#          (B)                  (us)  (GB/s)      (us)  (GB/s)\n";
    static const char rows[] =
        "             8     float       12.35    0.50       N/A     N/A       0\n"
        "    1073741824  bfloat16  1234567.89  123.46       N/A     N/A     N/A\n";
    char expected[1024];
    snprintf(expected, sizeof expected, "#%s%s", head_rest, rows);
    expect_printed(table, TABLE_AS_TEXT, "#", expected);

    /* Without the mark the columns stand where they stood. */
    for (char *mark = strchr(expected, '#'); mark != NULL; mark = strchr(mark, '#'))
        if (mark == expected || mark[-1] == '\n')
            *mark = ' ';
        else
            mark++;
    expect_printed(table, TABLE_AS_TEXT, "", expected);
    table_free(table);
}

static void rows_print_as_they_are_measured(void **state)
{
    (void)state;
    struct table *table = table_make(columns, NR_COLUMNS);
    struct capture capture;
    FILE *out = capture_start(&capture)->out;
    table_print_head(table, "#", out);
    table_print_last_row(table, out); /* there is none yet: nothing */
    table_add_row(table);
    table_set_integer(table, SIZE, 8);
    table_print_last_row(table, out);
    table_add_row(table);
    table_set_integer(table, SIZE, 16);
    table_set_text(table, TYPE, "too wide for it");
    table_set_number(table, TIME, 1e-6);
    table_set_integer(table, WRONG, -3);
    table_print_last_row(table, out);
    capture_expect(&capture,
                   "#                         out-of-place        in-place\n"
                   "#         size    type      time   busbw      time   busbw  #wrong\n"
                   "#          (B)              (us)  (GB/s)      (us)  (GB/s)\n"
                   "             8     N/A       N/A     N/A       N/A     N/A     N/A\n"
                   "            16 too wide for it 1.00  N/A       N/A     N/A      -3\n");
    table_free(table);
}

static void csv_is_quoted_where_it_must_be(void **state)
{
    (void)state;
    static const struct table_column texts[] = {{.key = "name", .title = "name"},
                                                {.key = "a,b", .title = "note"}};
    struct table *table = table_make(texts, 2);
    static const char *const notes[] = {
        "plain", "with, comma", "a \"quote\"", "two\nlines", "cr\r", " space", "", "semi;colon"};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        table_add_row(table);
        table_set_text(table, 1, notes[i]);
    }
    expect_printed(table, TABLE_AS_CSV, "#",
                   "name,\"a,b\"\n,plain\n,\"with, comma\"\n,\"a \"\"quote\"\"\"\n"
                   ",\"two\nlines\"\n,\"cr\r\"\n,\" space\"\n,\"\"\n,semi;colon\n");
    table_free(table);
    table = example();
    expect_printed(table, TABLE_AS_CSV, "#",
                   "size_bytes,type,oop_time_us,oop_busbw_gbs,ip_time_us,ip_busbw_gbs,wrong\n"
                   "8,float,12.35,0.50,,,0\n"
                   "1073741824,bfloat16,1234567.89,123.46,,,\n");
    table_free(table);
}

static void json_keeps_all_digits(void **state)
{
    (void)state;
    struct table *table = example();
    struct capture capture;
    table_print(table, TABLE_AS_JSON, "#", capture_start(&capture)->out);
    fclose(capture.out);
    assert_int_equal(capture.text[capture.size - 1], '\n');

    struct error error = ERROR_NONE;
    struct json *read = json_parse(capture.text, capture.size, "table", &error);
    if (read == NULL)
        fail_msg("%s", error.message);
    struct json *made = table_to_json(table);
    assert_true(json_is_equal(read, made));
    assert_int_equal(json_length(read), 2);
    const struct json *row = json_item(read, 1);
    assert_int_equal(json_length(row), NR_COLUMNS);
    assert_int_equal(json_get_integer(row, "size_bytes", 0), 1073741824);
    assert_string_equal(json_get_text(row, "type", ""), "bfloat16");
    double shown = json_get_number(row, "oop_time_us", 0);
    if (!(fabs(shown - 1234567.891) < 1e-9))
        fail_msg("time %.17g", shown);
    row = json_item(read, 0);
    assert_non_null(json_get(row, "ip_time_us")); /* null, but there */
    assert_true(isnan(json_get_number(row, "ip_time_us", NAN)));
    assert_true(isnan(json_get_number(row, "ip_busbw_gbs", NAN)));
    json_free(read);
    json_free(made);
    free(capture.text);
    table_free(table);
}

static void empty_table(void **state)
{
    (void)state;
    static const struct table_column one[] = {{.key = "k", .title = "title"}};
    struct table *table = table_make(one, 1);
    assert_int_equal(table_rows(table), 0);
    expect_printed(table, TABLE_AS_TEXT, "#", "# title\n");
    expect_printed(table, TABLE_AS_CSV, "#", "k\n");
    expect_printed(table, TABLE_AS_JSON, "#", "[]\n");
    table_free(table);
    table_free(NULL);
}

static void wide_headings_and_letters_keep_the_columns(void **state)
{
    (void)state;
    static const struct table_column wide[] = {
        {.key = "a", .title = "a", .group = "a heading"},
        {.key = "b", .title = "b", .group = "a heading"},
        {.key = "c", .title = "c", .group = "another"},
        {.key = "d", .title = "d"},
    };
    struct table *table = table_make(wide, 4);
    table_add_row(table);
    table_set_text(table, 0, "\xc3\xa4");
    table_set_text(table, 3, "x");
    table_add_row(table);
    table_set_text(table, 0, "abcd");
    expect_printed(table, TABLE_AS_TEXT, "#",
                   "#  a heading    another\n"
                   "#    a       b        c    d\n"
                   "     \xc3\xa4     N/A      N/A    x\n"
                   "  abcd     N/A      N/A  N/A\n");
    table_free(table);
}

static void numbers_have_a_point_under_any_locale(void **state)
{
    (void)state;
    setlocale(LC_ALL, "de_DE.UTF-8"); /* may not be installed; what must hold is the same */
    static const struct table_column one[] = {
        {.key = "x", .title = "x", .type = TABLE_NUMBER, .digits = 3}};
    struct table *table = table_make(one, 1);
    table_add_row(table);
    table_set_number(table, 0, 1234.5);
    expect_printed(table, TABLE_AS_CSV, "", "x\n1234.500\n");
    expect_printed(table, TABLE_AS_TEXT, "", "         x\n  1234.500\n");
    expect_printed(table, TABLE_AS_JSON, "", "[\n  {\n    \"x\": 1234.5\n  }\n]\n");
    table_free(table);
    setlocale(LC_ALL, "C");
}

static void formats_by_name(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    enum table_format format;
    assert_int_equal(table_parse_format("table", &format, &error), 0);
    assert_int_equal(format, TABLE_AS_TEXT);
    assert_int_equal(table_parse_format("json", &format, &error), 0);
    assert_int_equal(format, TABLE_AS_JSON);
    assert_int_equal(table_parse_format("csv", &format, &error), 0);
    assert_int_equal(format, TABLE_AS_CSV);
    assert_int_equal(table_parse_format("CSV", &format, &error), -1);
    assert_int_equal(error.status, EXIT_INPUT);
    assert_non_null(strstr(error.message, "'CSV': expected table, json or csv"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_aligned_as_nccl_tests_does),
        cmocka_unit_test(rows_print_as_they_are_measured),
        cmocka_unit_test(csv_is_quoted_where_it_must_be),
        cmocka_unit_test(json_keeps_all_digits),
        cmocka_unit_test(empty_table),
        cmocka_unit_test(wide_headings_and_letters_keep_the_columns),
        cmocka_unit_test(numbers_have_a_point_under_any_locale),
        cmocka_unit_test(formats_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
