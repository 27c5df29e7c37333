/* test_tune_keys.c - from options to keys: only what can be run, each once, in order. */
#include "tune_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct made { /* keys, or why there are none */
    struct arena arena;
    struct key *keys;
    size_t nr;
    struct error error;
    int failed;
};

/* On two hosts of four ranks; lists are ended by NULL. */
static struct made make(const char *const *collectives, const char *const *groups, uint64_t first,
                        uint64_t last, uint64_t factor)
{
    struct option_list collective_list = {.nr = 0}, group_list = {.nr = 0};
    struct made made = {.error = ERROR_NONE};
    while (collectives && collectives[collective_list.nr]) {
        collective_list.nr++;
    }
    while (groups && groups[group_list.nr]) {
        group_list.nr++;
    }
    collective_list.items =
        arena_alloc(&made.arena, collective_list.nr + 1, sizeof *collective_list.items);
    group_list.items = arena_alloc(&made.arena, group_list.nr + 1, sizeof *group_list.items);
    for (size_t i = 0; i < collective_list.nr; i++) {
        collective_list.items[i] = collectives[i];
    }
    for (size_t i = 0; i < group_list.nr; i++) {
        group_list.items[i] = groups[i];
    }
    const struct tune_keys_request request = {.collectives = &collective_list,
                                              .groups = &group_list,
                                              .first = first,
                                              .last = last,
                                              .factor = factor,
                                              .hosts = 2,
                                              .ranks_per_host = 4};
    made.failed = tune_keys_make(&request, &made.arena, &made.keys, &made.nr, &made.error);
    return made;
}

/* "allreduce all 8 16, broadcast ..." */
static const char *text_of(struct made *made)
{
    const char *text = "";
    const struct key *before = NULL;
    if (made->failed) {
        return made->error.message;
    }
    for (size_t i = 0; i < made->nr; i++) {
        const struct key *key = &made->keys[i];
        if (!before || before->collective != key->collective ||
            !group_equal(&before->group, &key->group)) {
            text = arena_printf(&made->arena, "%s%s%s %s", text, before ? ", " : "",
                                coll_name(key->collective), key->group.name);
        }
        text = arena_printf(&made->arena, "%s %llu", text, (unsigned long long)key->bytes);
        before = key;
    }
    return text;
}

static void assert_keys(const char *const *collectives, const char *const *groups, uint64_t first,
                        uint64_t last, uint64_t factor, const char *expected)
{
    struct made made = make(collectives, groups, first, last, factor);
    assert_string_equal(text_of(&made), expected);
    arena_release(&made.arena);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_sizes_are_what_can_be_run(void **state)
{
    (void)state;
    assert_keys(LIST("allreduce"), NULL, 8, 64, 2, "allreduce all 8 16 32 64");
    assert_keys(LIST("allreduce"), NULL, 1, 30, 3, "allreduce all 8 24"); /* 1 3 9 27, of floats */
    assert_keys(LIST("allgather"), NULL, 8, 256, 2, "all-gather all 32 64 128 256");
    assert_keys(LIST("alltoall"), NULL, 100, 100, 2, "all-to-all all 96");
    assert_keys(LIST("allgather"), NULL, 33, 80, 2, "all-gather all 32 64"); /* 33 66 */
    assert_keys(LIST("allreduce"), NULL, 7, 8, 2, "allreduce all 4");
}

static void test_collectives_in_their_order_and_once(void **state)
{
    (void)state;
    assert_keys(LIST("bcast,MPI_Allreduce", "broadcast"), NULL, 8, 8, 2,
                "allreduce all 8, broadcast all 8");
    assert_keys(NULL, NULL, 64, 64, 2,
                "allreduce all 64, reduce-scatter all 64, all-gather all 64, broadcast all 64, "
                "reduce all 64, all-to-all all 64");
}

static void test_groups_in_the_order_given(void **state)
{
    (void)state;
    assert_keys(LIST("allgather"), LIST("tp=1x4*2", "dp=2x1*4"), 8, 32, 2,
                "all-gather tp 16 32, all-gather dp 8 16 32");
}

static void assert_refused(const char *const *collectives, const char *const *groups,
                           uint64_t first, uint64_t last, const char *part)
{
    struct made made = make(collectives, groups, first, last, 2);
    if (!made.failed || made.error.status != EXIT_INPUT || !strstr(made.error.message, part)) {
        fail_msg("expected '%s', found '%s'", part, text_of(&made));
    }
    arena_release(&made.arena);
}

static void test_what_cannot_be_run_is_refused(void **state)
{
    (void)state;
    assert_refused(LIST("allreduce,,reduce"), NULL, 8, 8, "--coll: unknown collective ''");
    assert_refused(LIST("alreduce"), NULL, 8, 8, "did you mean 'allreduce'");
    assert_refused(LIST("reduce,gather"), NULL, 8, 8, "gather is not tuned");
    assert_refused(NULL, LIST("x"), 8, 8, "--group: ");
    assert_refused(NULL, LIST("tp=1x8"), 8, 8, "holds 0 such groups");
    assert_refused(NULL, LIST("tp=1x4*3"), 8, 8, "holds 2 such groups of the 3 wanted");
    assert_refused(NULL, LIST("a=1x4", "b=1x4"), 8, 8, "given twice");
    assert_refused(NULL, LIST("a=1x1"), 8, 8, "one rank");
    assert_refused(LIST("allgather"), NULL, 8, 16, "no size between 8 and 16");
}

/* Up to the largest number there is: ends, and does not begin again from 0. */
static void test_sizes_at_the_end_of_numbers(void **state)
{
    (void)state;
    struct made made = make(LIST("allreduce"), NULL, 1, UINT64_MAX, 2);
    assert_int_equal(made.failed, 0);
    assert_int_equal(made.nr, 62); /* 4 to 2^63 */
    assert_true(made.keys[61].bytes == (uint64_t)1 << 63);
    arena_release(&made.arena);
    made = make(LIST("allreduce"), NULL, 4, UINT64_MAX, UINT64_MAX);
    assert_int_equal(made.nr, 1);
    arena_release(&made.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_are_what_can_be_run),
        cmocka_unit_test(test_collectives_in_their_order_and_once),
        cmocka_unit_test(test_groups_in_the_order_given),
        cmocka_unit_test(test_what_cannot_be_run_is_refused),
        cmocka_unit_test(test_sizes_at_the_end_of_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
