/* test_error.c - wording of errors: cutting, prefixes, nearest names. */
#include "error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_set_words_and_returns_failure(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    assert_int_equal(error_set(&error, EXIT_INPUT, "found %d, expected %s", 3, "four"), -1);
    assert_int_equal(error.status, EXIT_INPUT);
    assert_string_equal(error.message, "found 3, expected four");
}

static void test_set_may_quote_its_own_message(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    error_set(&error, EXIT_NO, "inner");
    error_set(&error, EXIT_WRONG, "outer (%s)", error.message);
    assert_string_equal(error.message, "outer (inner)");
}

static void test_long_message_ends_in_dots(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    error_set(&error, EXIT_INPUT, "%s", text);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_string_equal(error.message + sizeof error.message - 5, "x...");
    text[sizeof error.message - 1] = '\0';
    error_set(&error, EXIT_INPUT, "%s", text);
    assert_string_equal(error.message, text);
}

static void test_cut_leaves_no_half_character(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 3; shift++) {
        struct error error = ERROR_NONE;
        char text[2000] = "";
        memset(text, 'x', shift);
        while (strlen(text) + 4 < sizeof text) {
            strcat(text, "\xE2\x82\xAC"); /* the euro sign, three bytes */
        }
        error_set(&error, EXIT_INPUT, "%s", text);
        size_t length = strlen(error.message);
        assert_string_equal(error.message + length - 3, "...");
        assert_int_equal((length - 3 - shift) % 3, 0);
    }
}

static void test_control_characters_are_masked(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    error_set(&error, EXIT_INPUT, "found '%s'\n\tline", "\x1B[2J\x7F");
    assert_string_equal(error.message, "found '?[2J?'\n\tline");
}

static void test_prefix_keeps_status(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    error_set(&error, EXIT_ABSENT, "no such thing");
    assert_int_equal(error_prefix(&error, "host %d", 7), -1);
    assert_int_equal(error.status, EXIT_ABSENT);
    assert_string_equal(error.message, "host 7: no such thing");
}

static void test_errno_names_the_cause(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    assert_int_equal(error_errno(&error, ENOSPC, "writing %s", "a"), -1);
    assert_int_equal(error.status, EXIT_SYSTEM);
    assert_string_equal(error.message, "writing a: No space left on device");
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const names[] = {"hosts", "host_types", "fabric", "rails", NULL};
    static const char *const none[] = {NULL};
    static const struct {
        const char *text, *nearest;
    } cases[] = {
        {"host", "hosts"},
        {"HOSTS", "hosts"},
        {"host_tpyes", "host_types"},
        {"fabrik", "fabric"},
        {"rails", "rails"},
        {"ails", "rails"},
        {"fabricated", NULL},
        {"", NULL},
        {"x", NULL},
        {"completely off", NULL},
        {"host-type", "host_types"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *nearest = error_nearest(cases[i].text, names);
        if (cases[i].nearest) {
            assert_non_null(nearest);
            assert_string_equal(nearest, cases[i].nearest);
        } else {
            assert_null(nearest);
        }
    }
    assert_null(error_nearest("hosts", none));
}

static void test_nearest_survives_long_texts(void **state)
{
    (void)state;
    char text[500];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    const char *const names[] = {text, "b", NULL};
    assert_null(error_nearest(text, names));
    assert_string_equal(error_nearest("b", names), "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_words_and_returns_failure),
        cmocka_unit_test(test_set_may_quote_its_own_message),
        cmocka_unit_test(test_long_message_ends_in_dots),
        cmocka_unit_test(test_cut_leaves_no_half_character),
        cmocka_unit_test(test_control_characters_are_masked),
        cmocka_unit_test(test_prefix_keeps_status),
        cmocka_unit_test(test_errno_names_the_cause),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_nearest_survives_long_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
