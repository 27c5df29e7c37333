/* test_candidate.c - identity and JSON form of candidates and keys. */
#include "candidate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct setting two[] = {{"ALGORITHM", "ring", SCOPE_CALL},
                                     {"FILE", "/a dir/\"x\".json", SCOPE_PROCESS}};

static struct json *parse(const char *text)
{
    struct error error = ERROR_NONE;
    struct json *json = json_parse(text, strlen(text), "test", &error);
    if (!json) {
        fail_msg("%s", error.message);
    }
    return json;
}

static void test_identity(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    const struct candidate ring = {"ring", two, 1}, both = {"ring", two, 2};
    const struct candidate renamed = {"another name", two, 1};
    const struct setting other_value[] = {{"ALGORITHM", "tree", SCOPE_CALL}};
    const struct candidate tree = {"ring", other_value, 1};
    assert_string_equal(candidate_id(&candidate_default, &arena), "default");
    assert_string_equal(candidate_id(&ring, &arena), "ALGORITHM=ring");
    assert_string_equal(candidate_id(&both, &arena), "ALGORITHM=ring FILE=/a dir/\"x\".json");
    assert_true(candidate_equal(&ring, &renamed)); /* the name is for people */
    assert_false(candidate_equal(&ring, &both));
    assert_false(candidate_equal(&ring, &tree));
    assert_false(candidate_equal(&ring, &candidate_default));
    assert_true(candidate_equal(&candidate_default, &candidate_default));
    arena_release(&arena);
}

static void assert_candidate_round_trip(const struct candidate *candidate)
{
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct candidate read;
    struct json *json = candidate_to_json(candidate);
    assert_int_equal(candidate_from_json(json, &arena, &read, &error), 0);
    json_free(json); /* nothing may be borrowed from it */
    assert_true(candidate_equal(candidate, &read));
    assert_string_equal(candidate->algorithm, read.algorithm);
    for (size_t i = 0; i < read.nr_settings; i++) {
        assert_int_equal(candidate->settings[i].scope, read.settings[i].scope);
    }
    arena_release(&arena);
}

static void test_candidates_are_read_back(void **state)
{
    (void)state;
    assert_candidate_round_trip(&candidate_default);
    assert_candidate_round_trip(&(struct candidate){"ring", two, 2});
    for (int scope = SCOPE_CALL; scope <= SCOPE_HOST; scope++) {
        const struct setting setting = {"A", "b", (enum setting_scope)scope};
        assert_candidate_round_trip(&(struct candidate){"a", &setting, 1});
    }
}

static void test_other_candidates_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "null",
        "[]",
        "{}",
        "\"default\"",
        "{\"algorithm\": \"a\"}",
        "{\"algorithm\": 1, \"settings\": []}",
        "{\"algorithm\": \"a\", \"settings\": null}",
        "{\"algorithm\": \"a\", \"settings\": \"none\"}",
        "{\"algorithm\": \"a\", \"settings\": {}}",
        "{\"algorithm\": \"a\", \"settings\": [1]}",
        "{\"algorithm\": \"a\", \"settings\": [{\"name\": \"n\", \"value\": \"v\"}]}",
        "{\"algorithm\": \"a\", \"settings\": [{\"name\": \"n\", \"value\": 1, \"scope\": "
        "\"call\"}]}",
        "{\"algorithm\": \"a\", \"settings\": [{\"name\": \"n\", \"value\": \"v\", \"scope\": "
        "\"town\"}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena arena = ARENA_EMPTY;
        struct error error = ERROR_NONE;
        struct candidate read;
        struct json *json = parse(texts[i]);
        if (candidate_from_json(json, &arena, &read, &error) != -1 || error.status != EXIT_INPUT ||
            !error.message[0]) {
            fail_msg("not refused: %s", texts[i]);
        }
        json_free(json);
        arena_release(&arena);
    }
}

static struct key make_key(const char *group, uint64_t bytes)
{
    struct error error = ERROR_NONE;
    struct key key = {.collective = COLL_ALL_GATHER, .bytes = bytes, .registered = true};
    assert_int_equal(group_parse(group, &key.group, &error), 0);
    return key;
}

static void test_keys_are_read_back(void **state)
{
    (void)state;
    static const char *const groups[] = {"tp=1x8", "dp=32x1*8", "2x4x2*2", "x=1048576x1"};
    static const uint64_t sizes[] = {0, 1, 4096, (uint64_t)1 << 40, INT64_MAX};
    for (size_t g = 0; g < 4; g++) {
        for (size_t s = 0; s < 5; s++) {
            struct error error = ERROR_NONE;
            struct key key = make_key(groups[g], sizes[s]), read;
            struct json *json = key_to_json(&key);
            if (key_from_json(json, &read, &error)) {
                fail_msg("%s", error.message);
            }
            assert_true(key_equal(&key, &read));
            assert_string_equal(key.group.name, read.group.name);
            json_free(json);
        }
    }
}

static void test_keys_differ_in_every_part(void **state)
{
    (void)state;
    struct key key = make_key("tp=1x8", 64), other = key;
    assert_true(key_equal(&key, &other));
    other.bytes = 65;
    assert_false(key_equal(&key, &other));
    other = key;
    other.registered = false;
    assert_false(key_equal(&key, &other));
    other = key;
    other.collective = COLL_ALLREDUCE;
    assert_false(key_equal(&key, &other));
    other = make_key("tp=1x8*2", 64);
    assert_false(key_equal(&key, &other));
    other = make_key("another=1x8", 64);
    assert_true(key_equal(&key, &other));
}

static void test_other_keys_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "null",
        "[]",
        "{\"collective\": \"allreduce\", \"group\": \"g=1x2\"}",
        "{\"collective\": \"allreduce\", \"group\": \"g=1x2\", \"bytes\": -1}",
        "{\"collective\": \"allreduce\", \"group\": \"g=1x2\", \"bytes\": \"8\"}",
        "{\"collective\": \"allreduce\", \"group\": \"g=1x2\", \"bytes\": 8.5}",
        "{\"collective\": \"allreduce\", \"group\": \"g=1x2\", \"bytes\": 1e300}",
        "{\"collective\": \"waltz\", \"group\": \"g=1x2\", \"bytes\": 8}",
        "{\"collective\": \"allreduce\", \"group\": \"g=0x2\", \"bytes\": 8}",
        "{\"collective\": \"allreduce\", \"group\": \"g=1048576x1048576\", \"bytes\": 8}",
        "{\"collective\": null, \"group\": \"g=1x2\", \"bytes\": 8}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error error = ERROR_NONE;
        struct key read;
        struct json *json = parse(texts[i]);
        if (key_from_json(json, &read, &error) != -1 || error.status != EXIT_INPUT) {
            fail_msg("not refused: %s", texts[i]);
        }
        json_free(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_candidates_are_read_back),
        cmocka_unit_test(test_other_candidates_are_refused),
        cmocka_unit_test(test_keys_are_read_back),
        cmocka_unit_test(test_keys_differ_in_every_part),
        cmocka_unit_test(test_other_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
