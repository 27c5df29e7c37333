/* test_cfg.c - strict YAML: trees with places, refusals, typed reading. */
#include "cfg.h"

#include "file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct arena arena; /* emptied after each test */

static int empty_arena(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static const struct cfg_node *load(const char *text)
{
    struct error error = ERROR_NONE;
    const struct cfg_node *root = NULL;
    if (cfg_load_text(&arena, text, strlen(text), "a.yaml", &root, &error) != 0) {
        fail_msg("'%s': %s", text, error.message);
    }
    return root;
}

static void assert_refused(const char *text, size_t length, const char *part)
{
    struct error error = ERROR_NONE;
    const struct cfg_node *root = NULL;
    int result = cfg_load_text(&arena, text, length, "a.yaml", &root, &error);
    if (result != -1 || root || error.status != EXIT_INPUT || !strstr(error.message, part)) {
        fail_msg("'%.60s': expected '%s', found '%s'", text, part, error.message);
    }
}

static void assert_says(int result, const struct error *error, const char *message)
{
    assert_int_equal(result, -1);
    assert_int_equal(error->status, EXIT_INPUT);
    assert_string_equal(error->message, message);
}

static void test_tree_knows_its_places(void **state)
{
    (void)state;
    const struct cfg_node *root = load("# head\n"
                                       "name: h200\n"
                                       "links:\n"
                                       "  - {from: 0, to: 1}\n"
                                       "  - 'plain \xE2\x82\xAC' \n"
                                       "empty:\n"
                                       "text: |\n"
                                       "  two\n"
                                       "  lines\n");
    assert_int_equal(root->type, CFG_MAP);
    assert_int_equal(root->nr, 4);
    assert_string_equal(root->file, "a.yaml");
    const struct cfg_node *name = cfg_get(root, "name"), *links = cfg_get(root, "links");
    assert_int_equal(name->type, CFG_TEXT);
    assert_string_equal(name->text, "h200");
    assert_false(name->quoted);
    assert_int_equal(name->line, 2);
    assert_int_equal(name->column, 7);
    assert_string_equal(name->key, "name");
    assert_int_equal(name->key_line, 2);
    assert_int_equal(name->key_column, 1);
    assert_int_equal(links->type, CFG_LIST);
    assert_int_equal(links->nr, 2);
    assert_null(links->items[0].key);
    const struct cfg_node *to = cfg_get(&links->items[0], "to");
    assert_string_equal(to->text, "1");
    assert_int_equal(to->line, 4);
    assert_int_equal(to->key_column, 15);
    assert_int_equal(to->column, 19);
    assert_string_equal(links->items[1].text, "plain \xE2\x82\xAC");
    assert_true(links->items[1].quoted);
    assert_string_equal(cfg_get(root, "empty")->text, "");
    assert_string_equal(cfg_get(root, "text")->text, "two\nlines\n");
    assert_null(cfg_get(root, "absent"));
    assert_null(cfg_get(links, "from"));
}

static void test_order_is_that_of_the_file(void **state)
{
    (void)state;
    const struct cfg_node *root = load("{z: 1, a: 2, m: [], k: {}}");
    static const char *const keys[] = {"z", "a", "m", "k"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(root->items[i].key, keys[i]);
    }
    assert_int_equal(root->items[2].nr, 0);
    assert_int_equal(root->items[3].type, CFG_MAP);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "a.yaml:1:1: empty, expected YAML"},
        {"# only a comment\n", "a.yaml:1:1: empty"},
        {"---\n...\n", "a.yaml:1:1: empty"},
        {"a: 1\nb: 2\nb: 3\na: 4\n",
         "a.yaml:3:1: the key 'b' stands twice, first at line 2; remove one"},
        {"a: 1\n\"a\": 2\n", "a.yaml:2:1: the key 'a' stands twice"},
        {"- {x: 1, y: {z: 1, z: 1}}", "a.yaml:1:20: the key 'z' stands twice"},
        {"a: &x 1\nb: 2\n", "a.yaml:1:4: found the anchor '&x'"},
        {"a: *x\n", "a.yaml:1:4: found the alias '*x'"},
        {"*x : 1\n", "a.yaml:1:1: found the alias '*x'"},
        {"&k a: 1\n", "found the anchor '&k'"},
        {"a: &x\n  b: *x\n", "a.yaml:1:4: found the anchor '&x'"},
        {"&x [1]", "found the anchor '&x'"},
        {"a: !!int 3\n", "a.yaml:1:4: found the tag 'tag:yaml.org,2002:int'"},
        {"a: ! 3\n", "a.yaml:1:4: found the tag '!'"},
        {"!mine [1]", "found the tag '!mine'"},
        {"!mine {a: 1}", "found the tag '!mine'"},
        {"a: 1\n---\nb: 2\n", "a.yaml:2:1: a second document starts, expected one"},
        {"? [a, b]\n: 1\n", "a.yaml:1:3: a list or map as key"},
        {"\"\": 1\n", "a.yaml:1:1: empty key, expected the name of a key"},
        {"a:\n\t- b\n", "a.yaml:2:1: not valid YAML: found character that cannot start any token"},
        {"a:\n\t- b\n", "indent with spaces, not tabs"},
        {"a: 'open\n\n", "close the quote"},
        {"a: [1, 2\nb: 3\n", "a.yaml:2:2: not valid YAML: did not find expected ',' or ']'"},
        {"a: b: c\n", "a.yaml:1:5: not valid YAML: mapping values are not allowed"},
        {"a: 1\n  b: 2\n", "a.yaml:2:4: not valid YAML"},
        {"a: \"x\\0y\"\n", "a.yaml:1:4: the text holds a zero byte"},
        {"\"x\\0y\": 1\n", "a.yaml:1:1: the text holds a zero byte"},
        {"a: \"\\ud800\"\n", "not valid YAML"},
        {"ok: 1\nx: \xE2\x82\xAC caf\xE9 x\n", "a.yaml:2:10: not UTF-8 text"},
        {"a: \x01\n", "a.yaml:1:4: not UTF-8 text: control characters are not allowed"},
        {"\xFF\xFE"
         "a",
         "a.yaml:1:1: not UTF-8 text"},
        {"%YAML 3.0\n---\na: 1\n", "not valid YAML: found incompatible YAML document"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_refused(cases[i].text, strlen(cases[i].text), cases[i].part);
    }
    /* Nothing may hide behind a zero byte. */
    assert_refused("a: 1\n\0b: 2\n", 11, "a.yaml:2:1: not UTF-8 text: control characters");
}

static void test_nesting_is_bounded(void **state)
{
    (void)state;
    char text[4000];
    memset(text, '[', 64);
    memset(text + 64, ']', 65);
    text[128] = '\0';
    assert_int_equal(load(text)->nr, 1);
    text[64] = '[';
    memset(text + 65, ']', 65);
    assert_refused(text, 130, "a.yaml:1:65: nested more than 64 levels deep");
    memset(text, '[', sizeof text);
    assert_refused(text, sizeof text, "nested more than 64 levels deep");
    for (size_t i = 0; i + 1 < sizeof text; i += 2) {
        memcpy(text + i, "- ", 2);
    }
    assert_refused(text, sizeof text, "nested more than 64 levels deep");
}

static void test_check_keys(void **state)
{
    (void)state;
    static const char *const known[] = {"hosts", "fabric", "rails", NULL};
    struct error error = ERROR_NONE;
    const struct cfg_node *root = load("a: {hosts: 1, fabric: 2}\n"
                                       "b: {hosts: 1, fabrik: 2}\n"
                                       "c:\n"
                                       "  quite_other: 2\n"
                                       "d: [1]\n"
                                       "e: 7\n");
    assert_int_equal(cfg_check_keys(cfg_get(root, "a"), known, &error), 0);
    assert_says(cfg_check_keys(cfg_get(root, "b"), known, &error), &error,
                "a.yaml:2:15: unknown key 'fabrik'; did you mean 'fabric'?");
    assert_says(cfg_check_keys(cfg_get(root, "c"), known, &error), &error,
                "a.yaml:4:3: unknown key 'quite_other', expected one of: hosts, fabric, rails");
    assert_says(cfg_check_keys(cfg_get(root, "d"), known, &error), &error,
                "a.yaml:5:4: d: expected a map with keys of: hosts, fabric, rails; found a list");
    assert_says(cfg_check_keys(cfg_get(root, "e"), known, &error), &error,
                "a.yaml:6:4: e: expected a map with keys of: hosts, fabric, rails; found a value");
}

static void test_read_text_and_bool(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    const struct cfg_node *root =
        load("text: a b\nempty: \"\"\nnothing:\nlist: [1]\nyes: true\nno: 'false'\nmaybe: yes\n");
    const char *text = NULL;
    bool value = false;
    assert_int_equal(cfg_read_text(cfg_get(root, "text"), &text, &error), 0);
    assert_string_equal(text, "a b");
    assert_int_equal(cfg_read_text(cfg_get(root, "empty"), &text, &error), 0);
    assert_string_equal(text, "");
    assert_says(cfg_read_text(cfg_get(root, "nothing"), &text, &error), &error,
                "a.yaml:3:9: nothing: expected a text, found nothing");
    assert_says(cfg_read_text(cfg_get(root, "list"), &text, &error), &error,
                "a.yaml:4:7: list: expected a text, found a list");
    assert_int_equal(cfg_read_bool(cfg_get(root, "yes"), &value, &error), 0);
    assert_true(value);
    assert_int_equal(cfg_read_bool(cfg_get(root, "no"), &value, &error), 0);
    assert_false(value);
    assert_says(cfg_read_bool(cfg_get(root, "maybe"), &value, &error), &error,
                "a.yaml:7:8: maybe: expected true or false, found 'yes'");
    assert_says(cfg_read_bool(cfg_get(root, "list"), &value, &error), &error,
                "a.yaml:4:7: list: expected true or false, found a list");
}

static void test_read_count(void **state)
{
    (void)state;
    static const char *const wrong[] = {"-1", "+1", "1.0", "0x10", "1 2", "8k", "1e3", "''"};
    struct error error = ERROR_NONE;
    uint64_t value = 77;
    char text[64];
    assert_int_equal(cfg_read_count(load("18446744073709551615"), &value, &error), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(cfg_read_count(load("007"), &value, &error), 0);
    assert_int_equal(value, 7);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(text, sizeof text, "n: %s", wrong[i]);
        assert_int_equal(cfg_read_count(cfg_get(load(text), "n"), &value, &error), -1);
        assert_memory_equal(error.message, "a.yaml:1:4: n: expected a whole number", 38);
        assert_int_equal(value, 7);
    }
    assert_says(cfg_read_count(load("- 18446744073709551616")->items, &value, &error), &error,
                "a.yaml:1:3: expected a whole number below 2^64, found '18446744073709551616'");
    assert_int_equal(cfg_read_count(load("[1]"), &value, &error), -1);
}

static void test_read_number(void **state)
{
    (void)state;
    static const char *const wrong[] = {"inf", "nan", "0x1p3", "1,5", "1 ", "--1", "1e999", "x"};
    struct error error = ERROR_NONE;
    double value = 0;
    char text[64];
    assert_int_equal(cfg_read_number(load("-0.25e1"), &value, &error), 0);
    assert_true(value > -2.5000001 && value < -2.4999999);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(text, sizeof text, "'%s'", wrong[i]);
        assert_int_equal(cfg_read_number(load(text), &value, &error), -1);
        assert_non_null(strstr(error.message, "expected a number such as 0.85, found '"));
    }
    assert_int_equal(cfg_read_number(load("{}"), &value, &error), -1);
}

static void test_read_quantities(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    const struct cfg_node *root = load("rate: 400 Gb/s\nbare: 25\nsize: 4 MiB\ntime: 1.3 us\n"
                                       "list: []\n");
    const struct cfg_node *bare = cfg_get(root, "bare"), *list = cfg_get(root, "list");
    double rate = 0, seconds = 0;
    uint64_t bytes = 0;
    assert_int_equal(cfg_read_bandwidth(cfg_get(root, "rate"), &rate, &error), 0);
    assert_true(rate > 49.999e9 && rate < 50.001e9);
    assert_int_equal(cfg_read_bytes(cfg_get(root, "size"), &bytes, &error), 0);
    assert_int_equal(bytes, 4 << 20);
    assert_int_equal(cfg_read_duration(cfg_get(root, "time"), &seconds, &error), 0);
    assert_true(seconds > 1.299e-6 && seconds < 1.301e-6);
    assert_int_equal(cfg_read_bandwidth(bare, &rate, &error), -1);
    assert_memory_equal(error.message, "a.yaml:2:7: bare: expected a bandwidth with a unit", 50);
    assert_non_null(strstr(error.message, "found '25'"));
    assert_int_equal(cfg_read_bytes(bare, &bytes, &error), -1);
    assert_memory_equal(error.message, "a.yaml:2:7: bare: expected a size with a unit", 45);
    assert_int_equal(cfg_read_duration(bare, &seconds, &error), -1);
    assert_memory_equal(error.message, "a.yaml:2:7: bare: expected a time with a unit", 45);
    assert_int_equal(cfg_read_bandwidth(list, &rate, &error), -1);
    assert_int_equal(cfg_read_bytes(list, &bytes, &error), -1);
    assert_int_equal(cfg_read_duration(list, &seconds, &error), -1);
    assert_non_null(strstr(error.message, "a.yaml:5:7: list: expected a time"));
}

static void test_load_file(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    char *path = file_join(parent ? parent : P_tmpdir, "ccltune-test-XXXXXX");
    struct error error = ERROR_NONE;
    const struct cfg_node *root = NULL;
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    assert_int_equal(file_write(path, "\xEF\xBB\xBFkey: value\r\n", 15, &error), 0);
    assert_int_equal(cfg_load_file(&arena, path, &root, &error), 0);
    assert_string_equal(cfg_get(root, "key")->text, "value");
    assert_string_equal(root->file, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(cfg_load_file(&arena, path, &root, &error), -1);
    assert_non_null(strstr(error.message, "No such file"));
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_tree_knows_its_places, empty_arena),
        cmocka_unit_test_teardown(test_order_is_that_of_the_file, empty_arena),
        cmocka_unit_test_teardown(test_refusals, empty_arena),
        cmocka_unit_test_teardown(test_nesting_is_bounded, empty_arena),
        cmocka_unit_test_teardown(test_check_keys, empty_arena),
        cmocka_unit_test_teardown(test_read_text_and_bool, empty_arena),
        cmocka_unit_test_teardown(test_read_count, empty_arena),
        cmocka_unit_test_teardown(test_read_number, empty_arena),
        cmocka_unit_test_teardown(test_read_quantities, empty_arena),
        cmocka_unit_test_teardown(test_load_file, empty_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
