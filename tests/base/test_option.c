/* test_option.c - options by table: every type, every way to write one, and errors that teach. */
#include "option.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct values {
    uint64_t first, iterations;
    double seconds, factor;
    bool quiet, check;
    const char *file, *format;
    struct option_list settings, extras;
};

static const struct option_row rows[] = {
    {.type = OPTION_HEADING, .help = "Sizes"},
    {'b', "minbytes", OPTION_SIZE, "SIZE", "first size", offsetof(struct values, first), "8"},
    {'f', "stepfactor", OPTION_NUMBER, "N", "factor between sizes", offsetof(struct values, factor),
     "2"},
    {.type = OPTION_HEADING, .help = "Running"},
    {'n', "iters", OPTION_COUNT, "N", "iterations a size", offsetof(struct values, iterations),
     "20"},
    {'t', "timeout", OPTION_SECONDS, "TIME", "time to give up after",
     offsetof(struct values, seconds), "1.5m"},
    {'c', "check", OPTION_FLAG, NULL,
     "checks results; this sentence is long enough to go on in a second line of the page",
     offsetof(struct values, check), "yes"},
    {'S', "set", OPTION_LIST, "NAME=VALUE", "a setting; may be given several times",
     offsetof(struct values, settings), NULL},
    {0, "extra", OPTION_LIST, "TEXT", "with a default", offsetof(struct values, extras), "one"},
    {.type = OPTION_HEADING, .help = "Output"},
    {'o', "output", OPTION_TEXT, "FILE", "where the result goes\n- is standard output",
     offsetof(struct values, file), NULL},
    {0, "format", OPTION_CHOICE, "table|json|csv", "how it is written",
     offsetof(struct values, format), "table"},
    {'q', NULL, OPTION_FLAG, NULL, "says nothing", offsetof(struct values, quiet), NULL},
    {'z', "blocking", OPTION_REFUSED, NULL, "every call is timed on its own anyway", 0, NULL},
    {0},
};

static const struct option_command command = {
    .name = "bench",
    .usage = "[options] [COLLECTIVE...]",
    .summary = "Times collectives.",
    .examples = "  ccltune bench -b 8 -e 1G\n  mpiexec -n 4 ccltune bench allreduce",
    .rows = rows,
};

/* The arguments behind the program's name; they are counted up to NULL. */
enum { MOST_ARGUMENTS = 15 };
struct run {
    char *argv[MOST_ARGUMENTS + 2];
    struct values values;
    int nr_left;
    bool help_wanted;
    struct error error;
    int rc;
};

static struct run parse(const char *const arguments[])
{
    struct run run = {.argv = {(char *)"bench"}, .nr_left = -1};
    int argc = 1;
    for (; arguments[argc - 1] != NULL; argc++)
        run.argv[argc] = (char *)arguments[argc - 1];
    memset(&run.values, 0x55, sizeof run.values); /* everything must be set, also to zero */
    run.rc = option_parse(&command, argc, run.argv, &run.values, &run.nr_left, &run.help_wanted,
                          &run.error);
    return run;
}

#define PARSE(...) parse((const char *const[MOST_ARGUMENTS]){__VA_ARGS__, NULL})

static void assert_parsed(const struct run *run)
{
    if (run->rc != 0)
        fail_msg("%s", run->error.message);
}

static void free_values(struct run *run)
{
    free(run->values.settings.items);
    free(run->values.extras.items);
}

static void assert_number(double found, double expected)
{
    if (!(found >= expected && found <= expected))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void defaults_are_parsed(void **state)
{
    (void)state;
    struct run run = PARSE(NULL);
    assert_parsed(&run);
    assert_int_equal(run.values.first, 8);
    assert_int_equal(run.values.iterations, 20);
    assert_number(run.values.seconds, 90);
    assert_number(run.values.factor, 2);
    assert_true(run.values.check);
    assert_false(run.values.quiet);
    assert_null(run.values.file);
    assert_string_equal(run.values.format, "table");
    assert_int_equal(run.values.settings.nr, 0);
    assert_int_equal(run.values.extras.nr, 1);
    assert_string_equal(run.values.extras.items[0], "one");
    assert_int_equal(run.nr_left, 1);
    assert_false(run.help_wanted);
    free_values(&run);
}

static void every_way_to_write_one(void **state)
{
    (void)state;
    static const char *const ways[][MOST_ARGUMENTS] = {
        {"-b", "4K", "-n", "7", "-q", "-o", "-", NULL},
        {"-b4K", "-n7", "-qo-", NULL},
        {"--minbytes=4K", "--iters=7", "-q", "--output=-", NULL},
        {"--minbytes", "4K", "--iters", "7", "-qo", "-", NULL},
        {"-b1", "-b", "4 KiB", "-qn7", "--output", "-", NULL}, /* the last one counts */
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct run run = parse(ways[i]);
        assert_parsed(&run);
        assert_int_equal(run.values.first, 4096);
        assert_int_equal(run.values.iterations, 7);
        assert_true(run.values.quiet);
        assert_string_equal(run.values.file, "-");
        assert_int_equal(run.nr_left, 1);
        free_values(&run);
    }
}

static void every_type_is_read(void **state)
{
    (void)state;
    struct run run = PARSE("--timeout=250ms", "-f", "1.5", "--no-check", "--format", "json",
                           "-SA=1", "--set", "B=2", "--set=C=-3", "--extra", "two", "--output=");
    assert_parsed(&run);
    assert_number(run.values.seconds, 0.25);
    assert_number(run.values.factor, 1.5);
    assert_false(run.values.check);
    assert_string_equal(run.values.format, "json");
    assert_int_equal(run.values.settings.nr, 3);
    assert_string_equal(run.values.settings.items[0], "A=1");
    assert_string_equal(run.values.settings.items[1], "B=2");
    assert_string_equal(run.values.settings.items[2], "C=-3");
    assert_int_equal(run.values.extras.nr, 1); /* what is given replaces the default */
    assert_string_equal(run.values.extras.items[0], "two");
    assert_string_equal(run.values.file, "");
    free_values(&run);
}

static void the_rest_is_left_in_order(void **state)
{
    (void)state;
    struct run run = PARSE("allreduce", "-n", "5", "-", "-q", "broadcast", "--", "-b", "--help");
    assert_parsed(&run);
    assert_int_equal(run.nr_left, 6);
    static const char *const left[] = {"bench", "allreduce", "-", "broadcast", "-b", "--help"};
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(run.argv[i], left[i]);
    assert_false(run.help_wanted);
    free_values(&run);
}

static void help_stops_the_parsing(void **state)
{
    (void)state;
    static const char *const ways[][MOST_ARGUMENTS] = {
        {"-h", NULL}, {"--help", "--nonsense", NULL}, {"-qh", "-n", NULL}, {"x", "--help", NULL}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct run run = parse(ways[i]);
        assert_parsed(&run);
        assert_true(run.help_wanted);
        free_values(&run);
    }
}

static void errors_teach(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[4];
        const char *says[3];
    } cases[] = {
        {{"--minbyte=8"}, {"unknown option '--minbyte=8'", "did you mean --minbytes?"}},
        {{"--iter", "5"}, {"unknown option '--iter'", "--iters"}}, /* not an abbreviation */
        {{"--halp"}, {"did you mean --help?"}},
        {{"--xylophone"}, {"unknown option '--xylophone'", "'ccltune bench --help'"}},
        {{"-minbytes"}, {"unknown option '-minbytes'", "did you mean --minbytes?"}},
        {{"-k"}, {"unknown option '-k'", "--help"}},
        {{"-qk5"}, {"unknown option '-k'"}},
        {{"-5"}, {"unknown option '-5'"}},
        {{"--no-iters"}, {"unknown option '--no-iters'"}},
        {{"--help=yes"}, {"unknown option '--help=yes'", "did you mean --help?"}},
        {{"-n"}, {"--iters: missing its value N"}},
        {{"--minbytes"}, {"--minbytes: missing its value SIZE"}},
        {{"--output", "--quiet"},
         {"--output: missing its value, found '--quiet'", "--output=--quiet"}},
        {{"-n", "-q"}, {"--iters: missing its value, found '-q'"}},
        {{"--iters", "12x"}, {"--iters: expected a whole number", "'12x'"}},
        {{"--iters", "1.5"}, {"--iters: expected a whole number", "'1.5'"}},
        {{"--iters="}, {"--iters: expected a whole number", "''"}},
        {{"--iters", "-5"}, {"--iters: expected a whole number", "'-5'"}},
        {{"-n18446744073709551616"}, {"--iters: expected a whole number up to", "551615"}},
        {{"-b", "25.5x"}, {"--minbytes: expected a size", "25.5x", "unit is unknown"}},
        {{"-b-8"}, {"--minbytes: expected a size", "negative"}},
        {{"-t", "soon"}, {"--timeout: expected a time", "'soon'"}},
        {{"-f", "2,5"}, {"--stepfactor: expected a number", "'2,5'"}},
        {{"-f", "-2"}, {"--stepfactor: expected a number", "not negative"}},
        {{"-f", "inf"}, {"--stepfactor: expected a number"}},
        {{"-f", "1e999"}, {"--stepfactor: expected a number"}},
        {{"--format=xml"}, {"--format: expected one of table|json|csv", "'xml'"}},
        {{"--format="}, {"--format: expected one of"}},
        {{"--format=table|json"}, {"--format: expected one of"}},
        {{"--check=no"}, {"--check takes no value", "--no-check"}},
        {{"--no-check=1"}, {"takes no value"}},
        {{"--blocking"}, {"'--blocking' is not taken here", "timed on its own"}},
        {{"-z", "1"}, {"'-z' is not taken here", "timed on its own"}},
        {{"--set", "A=1", "--bad"}, {"unknown option"}}, /* and the list is freed */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run = parse(cases[i].arguments);
        if (run.rc != -1)
            fail_msg("'%s' was accepted", cases[i].arguments[0]);
        assert_int_equal(run.error.status, EXIT_INPUT);
        for (size_t j = 0; j < 3 && cases[i].says[j] != NULL; j++)
            if (strstr(run.error.message, cases[i].says[j]) == NULL)
                fail_msg("'%s' lacks '%s'", run.error.message, cases[i].says[j]);
        assert_null(run.values.settings.items);
    }
}

static void largest_count_is_read(void **state)
{
    (void)state;
    struct run run = PARSE("-n18446744073709551615", "--iters=0018446744073709551615");
    assert_parsed(&run);
    assert_true(run.values.iterations == UINT64_MAX);
    free_values(&run);
}

static void wrong_defaults_are_found(void **state)
{
    (void)state;
    static const struct option_row wrong[] = {
        {'n', "iters", OPTION_COUNT, "N", "", offsetof(struct values, iterations), "many"}, {0}};
    const struct option_command bad = {.name = "bad", .rows = wrong};
    struct values values;
    char *argv[] = {(char *)"bad", NULL};
    int left;
    bool help;
    struct error error = ERROR_NONE;
    assert_int_equal(option_parse(&bad, 1, argv, &values, &left, &help, &error), -1);
    assert_non_null(strstr(error.message, "default of: --iters"));
}

static char *help_page(const struct option_command *of)
{
    char *page = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&page, &size);
    assert_non_null(out);
    option_print_help(of, out);
    fclose(out);
    return page;
}

static void help_is_this_page(void **state)
{
    (void)state;
    char *page = help_page(&command);
    assert_string_equal(
        page, "Usage: ccltune bench [options] [COLLECTIVE...]\n"
              "\n"
              "Times collectives.\n"
              "\n"
              "Sizes:\n"
              "  -b, --minbytes SIZE   first size (default: 8)\n"
              "  -f, --stepfactor N    factor between sizes (default: 2)\n"
              "\n"
              "Running:\n"
              "  -n, --iters N         iterations a size (default: 20)\n"
              "  -t, --timeout TIME    time to give up after (default: 1.5m)\n"
              "  -c, --[no-]check      checks results; this sentence is long enough to go on in\n"
              "                        a second line of the page (default: yes)\n"
              "  -S, --set NAME=VALUE  a setting; may be given several times\n"
              "      --extra TEXT      with a default (default: one)\n"
              "\n"
              "Output:\n"
              "  -o, --output FILE     where the result goes\n"
              "                        - is standard output\n"
              "      --format table|json|csv\n"
              "                        how it is written (default: table)\n"
              "  -q                    says nothing\n"
              "  -h, --help            shows this page\n"
              "\n"
              "Examples:\n"
              "  ccltune bench -b 8 -e 1G\n"
              "  mpiexec -n 4 ccltune bench allreduce\n");
    free(page);
}

static void help_wraps_whatever_it_is_given(void **state)
{
    (void)state;
    char words[2000] = "";
    for (size_t i = 0; i < 120; i++)
        strcat(words, i % 7 == 0 ? "mississippi " : i % 3 == 0 ? "a " : "river ");
    const struct option_row many[] = {{'x', "an-option-with-a-very-long-name", OPTION_TEXT,
                                       "AND-ITS-ARGUMENT", words, 0, "a default of some length"},
                                      {0, "b", OPTION_TEXT, NULL, words, 0, NULL},
                                      {0}};
    const struct option_command long_winded = {
        .name = "x", .usage = words, .summary = words, .rows = many};
    char *page = help_page(&long_winded);
    size_t nr_lines = 0;
    for (char *line = strtok(page, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strlen(line) > 80 || line[strlen(line) - 1] == ' ')
            fail_msg("%zu columns: '%s'", strlen(line), line);
        nr_lines++;
    }
    assert_true(nr_lines > 40);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_parsed),    cmocka_unit_test(every_way_to_write_one),
        cmocka_unit_test(every_type_is_read),     cmocka_unit_test(the_rest_is_left_in_order),
        cmocka_unit_test(help_stops_the_parsing), cmocka_unit_test(errors_teach),
        cmocka_unit_test(largest_count_is_read),  cmocka_unit_test(wrong_defaults_are_found),
        cmocka_unit_test(help_is_this_page),      cmocka_unit_test(help_wraps_whatever_it_is_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
