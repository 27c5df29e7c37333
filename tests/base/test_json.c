/* test_json.c - JSON values: order, numbers, strict parsing, text that reads back the same. */
#include "json.h"

#include "file.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void assert_same_number(double found, double expected)
{
    if (memcmp(&found, &expected, sizeof found) != 0) {
        fail_msg("expected %.17g, found %.17g", expected, found);
    }
}

static void assert_text_is(const struct json *value, unsigned indent, const char *expected)
{
    char *text = json_to_text(value, indent);
    assert_string_equal(text, expected);
    free(text);
}

static struct json *parse(const char *text)
{
    struct error error = ERROR_NONE;
    struct json *value = json_parse(text, strlen(text), "test", &error);
    if (!value) {
        fail_msg("'%s': %s", text, error.message);
    }
    return value;
}

static void assert_refused(const char *text, size_t length, const char *part)
{
    struct error error = ERROR_NONE;
    struct json *value = json_parse(text, length, "a.json", &error);
    json_free(value);
    if (value || error.status != EXIT_INPUT || !strstr(error.message, part)) {
        fail_msg("'%.60s': expected '%s', found '%s'", text, part, error.message);
    }
}

static void test_objects_keep_the_order(void **state)
{
    (void)state;
    struct json *object = json_make_object();
    char key[16], previous[16] = "";
    for (int i = 99; i >= 0; i--) {
        snprintf(key, sizeof key, "k%d", i * 7919 % 100);
        json_put_integer(object, key, i);
    }
    json_put_text(object, "k50", "again"); /* replaced in its place */
    void *iterator = NULL;
    const char *name = NULL;
    const struct json *member = NULL;
    for (int i = 99; i >= 0; i--) {
        snprintf(key, sizeof key, "k%d", i * 7919 % 100);
        assert_true(json_next(object, &iterator, &name, &member));
        assert_string_equal(name, key);
        assert_string_not_equal(name, previous);
        snprintf(previous, sizeof previous, "%s", name);
    }
    assert_false(json_next(object, &iterator, &name, &member));
    assert_string_equal(json_get_text(object, "k50", ""), "again");
    assert_int_equal(json_length(object), 100);
    json_free(object);

    struct json *parsed = parse("{\"z\": 1, \"a\": 2, \"m\": {\"y\": 3, \"b\": 4}}");
    assert_text_is(parsed, 0, "{\"z\": 1, \"a\": 2, \"m\": {\"y\": 3, \"b\": 4}}");
    json_free(parsed);
}

static void test_looking_gives_otherwise(void **state)
{
    (void)state;
    struct json *object =
        parse("{\"t\": \"x\", \"i\": 3, \"r\": 2.5, \"b\": true, \"n\": null, \"w\": 1e9,"
              " \"big\": 1e300, \"a\": [1, 2.5, \"x\"]}");
    assert_string_equal(json_get_text(object, "t", "-"), "x");
    assert_string_equal(json_get_text(object, "i", "-"), "-");
    assert_null(json_get_text(object, "absent", NULL));
    assert_same_number(json_get_number(object, "i", -1), 3);
    assert_same_number(json_get_number(object, "r", -1), 2.5);
    assert_same_number(json_get_number(object, "t", -1), -1);
    assert_same_number(json_get_number(object, "n", -1), -1);
    assert_int_equal(json_get_integer(object, "i", -1), 3);
    assert_int_equal(json_get_integer(object, "w", -1), 1000000000);
    assert_int_equal(json_get_integer(object, "r", -1), -1);
    assert_int_equal(json_get_integer(object, "big", -1), -1);
    assert_true(json_get_bool(object, "b", false));
    assert_true(json_get_bool(object, "i", true));
    const struct json *array = json_get(object, "a");
    assert_int_equal(json_length(array), 3);
    assert_same_number(json_item_number(array, 1, -1), 2.5);
    assert_same_number(json_item_number(array, 2, -1), -1);
    assert_same_number(json_item_number(array, 3, -1), -1);
    assert_null(json_item(array, 3));
    assert_null(json_get(array, "t"));
    assert_null(json_get(NULL, "t"));
    assert_int_equal(json_length(json_get(object, "t")), 0);
    assert_true(json_is_object(object));
    assert_false(json_is_object(array));
    assert_false(json_is_object(NULL));
    json_free(object);
    json_free(NULL);
}

static void test_numbers_are_short_and_exact(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.1, "0.1"},
        {1, "1.0"},
        {-0.0, "-0.0"},
        {2.5e-7, "2.5e-07"},
        {1e22, "1e+22"},
        {1 / 3.0, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {NAN, "null"},
        {INFINITY, "null"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {5e-324, "4.94065645841247e-324"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json *value = json_make_number(cases[i].value);
        assert_text_is(value, 0, cases[i].text);
        json_free(value);
    }
}

static void test_numbers_read_back_the_same(void **state)
{
    (void)state;
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13; /* xorshift64 */
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) {
            continue;
        }
        struct json *array = json_make_array();
        json_append(array, json_make_number(value));
        char *text = json_to_text(array, 0);
        struct json *parsed = parse(text);
        assert_same_number(json_item_number(parsed, 0, NAN), value);
        assert_true(json_is_equal(parsed, array));
        json_free(parsed);
        free(text);
        json_free(array);
    }
}

static void test_layout(void **state)
{
    (void)state;
    const double samples[] = {1.5, 2, NAN};
    struct json *root = json_make_object(), *rows = json_make_array();
    struct json *row = json_make_object();
    json_put_text(row, "name", "a\"b\\c\n\x01/\xE2\x82\xAC");
    json_put_text(row, "none", NULL);
    json_put_bool(row, "ok", false);
    json_append(rows, row);
    json_append(rows, json_make_array());
    json_put(root, "rows", rows);
    json_put_numbers(root, "samples", samples, 3);
    json_put(root, "empty", json_make_object());
    json_put_integer(root, "least", INT64_MIN);
    assert_text_is(root, 2,
                   "{\n"
                   "  \"rows\": [\n"
                   "    {\n"
                   "      \"name\": \"a\\\"b\\\\c\\n\\u0001/\xE2\x82\xAC\",\n"
                   "      \"none\": null,\n"
                   "      \"ok\": false\n"
                   "    },\n"
                   "    []\n"
                   "  ],\n"
                   "  \"samples\": [1.5, 2.0, null],\n"
                   "  \"empty\": {},\n"
                   "  \"least\": -9223372036854775808\n"
                   "}");
    char *text = json_to_text(root, 4);
    struct json *parsed = parse(text);
    assert_true(json_is_equal(root, parsed));
    json_free(parsed);
    free(text);
    json_free(root);
}

static void test_text_that_is_not_utf8_is_mended(void **state)
{
    (void)state;
    struct json *object = json_make_object();
    json_put_text(object, "k\xFF", "caf\xE9 \xE2\x82\xAC \xE2\x82");
    assert_text_is(
        object, 0,
        "{\"k\xEF\xBF\xBD\": \"caf\xEF\xBF\xBD \xE2\x82\xAC \xEF\xBF\xBD\xEF\xBF\xBD\"}");
    json_free(object);
}

static void test_copies_stand_alone(void **state)
{
    (void)state;
    struct json *a = parse("{\"x\": [1, {\"y\": 2}], \"z\": 3}");
    struct json *b = json_make_copy(a);
    struct json *reordered = parse("{\"z\": 3, \"x\": [1, {\"y\": 2}]}");
    assert_true(json_is_equal(a, b));
    assert_true(json_is_equal(a, reordered));
    json_put_integer(b, "z", 4);
    assert_false(json_is_equal(a, b));
    json_free(a);
    assert_text_is(b, 0, "{\"x\": [1, {\"y\": 2}], \"z\": 4}");
    json_free(b);
    json_free(reordered);
}

static void test_errors_have_a_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "a.json:1:1: empty, expected JSON"},
        {"{\n  \"a\": 1,\n  \"a\": 2\n}", "a.json:3:5: not valid JSON: duplicate object key"},
        {"{\"a\": 1} x", "a.json:1:10: not valid JSON: end of file expected near 'x'"},
        {"[1,\n2", "a.json:2:1: not valid JSON: ']' expected near end of file"},
        {"[1, 2,]", "not valid JSON: unexpected token near ']'"},
        {"[01]", "a.json:1:2: not valid JSON"},
        {"[NaN]", "not valid JSON: invalid token near 'NaN'"},
        {"[1e999]", "not valid JSON: real number overflow near '1e999'"},
        {"[99999999999999999999]", "not valid JSON: too big integer near"},
        {"{'a': 1}", "not valid JSON"},
        {"[\"a\xFF\"]", "a.json:1:3: not valid JSON: unable to decode byte 0xff"},
        {"[\"\\u0000\"]", "not valid JSON: \\u0000 is not allowed"},
        {"[\"\\ud800\"]", "not valid JSON: invalid Unicode"},
        {"   ", "not valid JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_refused(cases[i].text, strlen(cases[i].text), cases[i].part);
    }
    assert_refused("[1]\0[2]", 7, "not valid JSON: end of file expected");
}

static void test_nesting_is_bounded(void **state)
{
    (void)state;
    enum { MOST = 512, LARGE = 1000000 };
    char *text = malloc(LARGE);
    assert_non_null(text);
    memset(text, '[', MOST);
    memset(text + MOST, ']', MOST);
    text[2 * MOST] = '\0';
    json_free(parse(text));
    text[MOST] = '[';
    memset(text + MOST + 1, ']', MOST + 1);
    assert_refused(text, 2 * MOST + 2, "a.json:1:513: nested more than 512 levels deep");
    memset(text, '[', LARGE);
    assert_refused(text, LARGE, "nested more than 512 levels");
    memset(text, '\n', 5);
    for (size_t i = 5; i < LARGE; i++) {
        text[i] = "{\"a\":"[i % 5];
    }
    assert_refused(text, LARGE, "a.json:6:2561: nested more than 512 levels");
    /* Brackets in texts are no nesting. */
    memset(text, '[', 3000);
    memcpy(text, "[\"\\\"", 4);
    memcpy(text + 3000, "\"]", 3);
    json_free(parse(text));
    free(text);
}

static void test_any_value_may_be_the_root(void **state)
{
    (void)state;
    struct json *number = parse(" 12 "), *marked = parse("\xEF\xBB\xBF[true]");
    assert_text_is(number, 2, "12");
    assert_text_is(marked, 2, "[true]");
    json_free(number);
    json_free(marked);
}

static void test_read_file(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    char *path = file_join(parent ? parent : P_tmpdir, "ccltune-test-XXXXXX");
    struct error error = ERROR_NONE;
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    assert_int_equal(file_write(path, "{\"a\": 1}\n", 9, &error), 0);
    struct json *value = json_read_file(path, &error);
    assert_non_null(value);
    assert_int_equal(json_get_integer(value, "a", 0), 1);
    json_free(value);
    assert_int_equal(file_write(path, "{", 1, &error), 0);
    assert_null(json_read_file(path, &error));
    assert_memory_equal(error.message, path, strlen(path));
    assert_int_equal(unlink(path), 0);
    assert_null(json_read_file(path, &error));
    assert_non_null(strstr(error.message, "No such file"));
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_keep_the_order),
        cmocka_unit_test(test_looking_gives_otherwise),
        cmocka_unit_test(test_numbers_are_short_and_exact),
        cmocka_unit_test(test_numbers_read_back_the_same),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_text_that_is_not_utf8_is_mended),
        cmocka_unit_test(test_copies_stand_alone),
        cmocka_unit_test(test_errors_have_a_place),
        cmocka_unit_test(test_nesting_is_bounded),
        cmocka_unit_test(test_any_value_may_be_the_root),
        cmocka_unit_test(test_read_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
