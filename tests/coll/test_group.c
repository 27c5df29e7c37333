/* test_group.c - the text of a group, and who stands where: every small shape on every small
 * launch.
 */
#include "group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct group parse(const char *text)
{
    struct error error = ERROR_NONE;
    struct group group;
    if (group_parse(text, &group, &error)) {
        fail_msg("%s", error.message);
    }
    return group;
}

static void assert_parses(const char *text, const char *name, uint32_t hosts, uint32_t ranks,
                          uint32_t stride, uint32_t concurrent, const char *formatted)
{
    char buffer[GROUP_TEXT];
    struct group group = parse(text);
    assert_string_equal(group.name, name);
    assert_int_equal(group.hosts, hosts);
    assert_int_equal(group.ranks_per_host, ranks);
    assert_int_equal(group.stride, stride);
    assert_int_equal(group.concurrent, concurrent);
    assert_string_equal(group_format(&group, buffer), formatted);
    struct group again = parse(buffer);
    assert_true(group_equal(&group, &again));
    assert_string_equal(group.name, again.name);
}

static void test_forms(void **state)
{
    (void)state;
    assert_parses("tp=1x8", "tp", 1, 8, 1, 1, "tp=1x8");
    assert_parses("dp=32x1*8", "dp", 32, 1, 1, 8, "dp=32x1*8");
    assert_parses("ep=2x4x2*2", "ep", 2, 4, 2, 2, "ep=2x4x2*2");
    assert_parses("a-B_9=1x2x1*1", "a-B_9", 1, 2, 1, 1, "a-B_9=1x2");
    assert_parses("1x8", "1x8", 1, 8, 1, 1, "1x8=1x8");
    assert_parses("32x1*8", "32x1-8", 32, 1, 1, 8, "32x1-8=32x1*8");
    assert_parses("g=1048576x2047", "g", 1048576, 2047, 1, 1, "g=1048576x2047");
}

static void assert_refused(const char *text)
{
    struct error error = ERROR_NONE;
    struct group group;
    if (group_parse(text, &group, &error) != -1 || error.status != EXIT_INPUT ||
        !strstr(error.message, "group '")) {
        fail_msg("'%s' was not refused, or without a reason", text);
    }
}

static void test_other_forms_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "=",
        "=1x8",
        "tp=",
        "tp=8",
        "tp=1x",
        "tp=x8",
        "tp=0x8",
        "tp=1x0",
        "tp=1x8x0",
        "tp=1x8*0",
        "tp=1x8*",
        "tp=1x8x",
        "tp=-1x8",
        "tp=1x8 ",
        "tp=1 x8",
        "tp=1x8*2x2",
        "tp=1x8x2x2",
        "t p=1x8",
        "t.p=1x8",
        "tp=1x8*1x8",
        "tp==1x8",
        "tp=1048577x1",
        "tp=1x99999999999999999999",
        "tp",
        "1x8*x",
        "tp=+1x8",
        "tp=0x1p3",
        "g=1048576x2048",
        "tp=1048576x1048576",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_refused(texts[i]);
    }
    assert_refused("a-name-of-thirty-two-characters-=1x8");
}

static void test_equality_ignores_the_name(void **state)
{
    (void)state;
    struct group a = parse("a=1x8x2*2"), b = parse("b=1x8x2*2");
    assert_true(group_equal(&a, &b));
    assert_int_equal(group_ranks(&a), 8);
    static const char *const others[] = {"a=2x8x2*2", "a=1x4x2*2", "a=1x8*2", "a=1x8x2"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        b = parse(others[i]);
        assert_false(group_equal(&a, &b));
    }
}

struct launch_shape {
    uint32_t hosts, local_ranks;
};

/* Fills seats[index * n + position] with how many ranks sit there; false if one is out of range. */
static bool seat_all(const struct group *group, struct launch_shape launch, unsigned *seats)
{
    uint32_t n = group_ranks(group);
    memset(seats, 0, sizeof *seats * n * group->concurrent);
    for (uint32_t host = 0; host < launch.hosts; host++) {
        for (uint32_t local = 0; local < launch.local_ranks; local++) {
            uint32_t index = UINT32_MAX, position = UINT32_MAX;
            if (group_place(group, host, local, launch.local_ranks, &index, &position)) {
                if (index >= group->concurrent || position >= n) {
                    return false;
                }
                seats[index * n + position]++;
            }
        }
    }
    return true;
}

/* Whatever the launch, nobody sits on another's seat; if the group fits, every seat is taken. */
static void check_seats(const struct group *group, struct launch_shape launch)
{
    char text[GROUP_TEXT];
    struct error error = ERROR_NONE;
    uint32_t nr = group_ranks(group) * group->concurrent;
    unsigned *seats = calloc(nr, sizeof *seats);
    assert_non_null(seats);
    bool in_range = seat_all(group, launch, seats);
    bool fits = group_fits(group, launch.hosts, launch.local_ranks, &error) == 0;
    for (uint32_t i = 0; i < nr; i++) {
        if (!in_range || seats[i] > 1 || (fits && seats[i] != 1)) {
            fail_msg("%s on %u hosts of %u: %s, seat %u taken %u times", group_format(group, text),
                     launch.hosts, launch.local_ranks, fits ? "fits" : "does not fit", i, seats[i]);
        }
    }
    if (!fits && (error.status != EXIT_INPUT || !strstr(error.message, "wanted"))) {
        fail_msg("a refusal without a reason: %s", error.message);
    }
    free(seats);
}

static void test_every_seat_is_taken_once(void **state)
{
    (void)state;
    for (uint32_t ranks = 1; ranks <= 4; ranks++) {
        for (uint32_t stride = 1; stride <= 4; stride++) {
            for (uint32_t group_hosts = 1; group_hosts <= 3; group_hosts++) {
                for (uint32_t concurrent = 1; concurrent <= 9; concurrent++) {
                    struct group group = {"g", group_hosts, ranks, stride, concurrent};
                    for (uint32_t hosts = 1; hosts <= 5; hosts++) {
                        for (uint32_t local_ranks = 1; local_ranks <= 13; local_ranks++) {
                            check_seats(&group, (struct launch_shape){hosts, local_ranks});
                        }
                    }
                }
            }
        }
    }
}

/* The most disjoint groups of `ranks` with `stride` that start at ascending local ranks of one
 * host, taken greedily: what group_fits may not promise more than, and should not promise less. */
static uint32_t greedy(uint32_t local_ranks, uint32_t ranks, uint32_t stride)
{
    bool taken[64] = {false};
    uint32_t nr = 0;
    for (uint32_t start = 0; start < local_ranks; start++) {
        bool free_all = start + (ranks - 1) * stride < local_ranks;
        for (uint32_t r = 0; r < ranks && free_all; r++) {
            free_all = !taken[start + r * stride];
        }
        for (uint32_t r = 0; r < ranks && free_all; r++) {
            taken[start + r * stride] = true;
        }
        nr += free_all;
    }
    return nr;
}

static void test_as_many_fit_as_there_is_room_for(void **state)
{
    (void)state;
    for (uint32_t ranks = 1; ranks <= 5; ranks++) {
        for (uint32_t stride = 1; stride <= 5; stride++) {
            for (uint32_t local_ranks = 1; local_ranks <= 40; local_ranks++) {
                struct error error = ERROR_NONE;
                uint32_t most = greedy(local_ranks, ranks, stride);
                struct group group = {"g", 1, ranks, stride, most};
                if (most && group_fits(&group, 1, local_ranks, &error)) {
                    fail_msg("%s", error.message);
                }
                group.concurrent = most + 1;
                if (group_fits(&group, 1, local_ranks, &error) == 0) {
                    fail_msg("%u groups of %u ranks, stride %u, on %u ranks", most + 1, ranks,
                             stride, local_ranks);
                }
            }
        }
    }
}

static void assert_place(const struct group *group, uint32_t host, uint32_t local, uint32_t index,
                         uint32_t position)
{
    uint32_t found_index = 99, found_position = 99;
    assert_true(group_place(group, host, local, 8, &found_index, &found_position));
    assert_int_equal(found_index, index);
    assert_int_equal(found_position, position);
}

/* On hosts of eight ranks. */
static void test_the_usual_groups(void **state)
{
    (void)state;
    uint32_t index, position;
    struct group pairs = parse("tp=1x2*4"), rails = parse("dp=2x1*8");
    struct group apart = parse("ep=2x4x2*2"), blocks = parse("pp=1x2x2*4");
    assert_place(&pairs, 0, 0, 0, 0);
    assert_place(&pairs, 0, 1, 0, 1);
    assert_place(&pairs, 0, 7, 3, 1);
    assert_false(group_place(&pairs, 1, 0, 8, &index, &position)); /* four are wanted, not eight */
    assert_place(&rails, 0, 3, 3, 0);
    assert_place(&rails, 1, 3, 3, 1);
    assert_place(&apart, 0, 5, 1, 2); /* locals 1 3 5 7 of host 0, then those of host 1 */
    assert_place(&apart, 1, 1, 1, 4);
    assert_place(&blocks, 0, 2, 0, 1); /* 0 2, 1 3, 4 6, 5 7 */
    assert_place(&blocks, 0, 5, 3, 0);
}

static void test_shapes_beyond_any_machine(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    uint32_t index, position;
    struct group wide = parse("w=1x65536x65536"), many = parse("m=1x1*1048576");
    assert_false(group_place(&wide, 0, 0, 8, &index, &position));
    assert_int_equal(group_fits(&wide, 1, 8, &error), -1);
    assert_int_equal(group_fits(&many, 1048576, 1, &error), 0);
    assert_true(group_place(&many, 1048575, 0, 1, &index, &position));
    assert_int_equal(index, 1048575);
    assert_false(group_place(&many, 0, 1, 1, &index, &position)); /* no such local rank */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_other_forms_are_refused),
        cmocka_unit_test(test_equality_ignores_the_name),
        cmocka_unit_test(test_every_seat_is_taken_once),
        cmocka_unit_test(test_as_many_fit_as_there_is_room_for),
        cmocka_unit_test(test_the_usual_groups),
        cmocka_unit_test(test_shapes_beyond_any_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
