/* test_layout.c - every layout is a permutation per channel, hosts stay together, the root leads.
 */
#include "layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct layout make(struct arena *arena, uint32_t hosts, uint32_t ranks_per_host,
                          uint32_t channels, uint32_t root)
{
    struct error error = ERROR_NONE;
    struct layout layout;
    if (layout_make(hosts, ranks_per_host, channels, root, arena, &layout, &error)) {
        fail_msg("%s", error.message);
    }
    return layout;
}

static void check_channel(const struct layout *layout, uint32_t c, uint32_t root)
{
    uint32_t rph = layout->ranks_per_host;
    if (root != LAYOUT_NO_ROOT && layout_rank(layout, c, 0) != root) {
        fail_msg("channel %u: rank %u leads, not root %u", c, layout_rank(layout, c, 0), root);
    }
    for (uint32_t p = 0; p < layout->ranks; p++) {
        uint32_t rank = layout_rank(layout, c, p);
        /* each rank is found where it was put: so none is missing or there twice */
        if (rank >= layout->ranks || layout_position(layout, c, rank) != p) {
            fail_msg("channel %u: rank %u of position %u is not found there", c, rank, p);
        }
        uint32_t leader = layout_rank(layout, c, p / rph * rph);
        if (rank / rph != leader / rph) {
            fail_msg("channel %u: position %u leaves the host of position %u", c, p, p / rph * rph);
        }
        uint32_t next = layout_rank(layout, c, (p + rph) % layout->ranks);
        if (next / rph != (rank / rph + 1) % layout->hosts) {
            fail_msg("channel %u: host %u comes after host %u", c, next / rph, rank / rph);
        }
    }
}

static void test_permutations(void **state)
{
    (void)state;
    for (uint32_t hosts = 1; hosts <= 5; hosts++) {
        for (uint32_t rph = 1; rph <= 6; rph++) {
            for (uint32_t root = 0; root <= hosts * rph; root++) {
                struct arena arena = ARENA_EMPTY;
                uint32_t leader = root < hosts * rph ? root : LAYOUT_NO_ROOT;
                struct layout layout = make(&arena, hosts, rph, 9, leader);
                assert_int_equal(layout.ranks, hosts * rph);
                for (uint32_t c = 0; c < 9; c++) {
                    check_channel(&layout, c, leader);
                }
                arena_release(&arena);
            }
        }
    }
}

/* Without a root the channels of a ring enter each host at each rank equally often, and leave it
 * so. */
static void test_channels_use_all_ranks(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct layout layout = make(&arena, 4, 8, 16, LAYOUT_NO_ROOT);
    unsigned enters[32] = {0}, leaves[32] = {0};
    for (uint32_t c = 0; c < layout.channels; c++) {
        for (uint32_t p = 0; p < layout.ranks; p += 8) {
            enters[layout_rank(&layout, c, p)]++;
            leaves[layout_rank(&layout, c, p + 7)]++;
        }
    }
    for (uint32_t rank = 0; rank < 32; rank++) {
        assert_int_equal(enters[rank], 2);
        assert_int_equal(leaves[rank], 2);
    }
    arena_release(&arena);
}

static void assert_order(const struct layout *layout, uint32_t channel, const uint32_t *expected)
{
    for (uint32_t p = 0; p < layout->ranks; p++) {
        if (layout_rank(layout, channel, p) != expected[p]) {
            fail_msg("channel %u: position %u is rank %u, expected %u", channel, p,
                     layout_rank(layout, channel, p), expected[p]);
        }
    }
}

static void test_known_orders(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct layout flat = make(&arena, 1, 4, 2, LAYOUT_NO_ROOT);
    struct layout rooted = make(&arena, 2, 4, 2, 6);
    assert_order(&flat, 0, (uint32_t[]){0, 1, 2, 3});
    assert_order(&flat, 1, (uint32_t[]){1, 2, 3, 0});
    assert_order(&rooted, 0, (uint32_t[]){6, 4, 5, 7, 0, 1, 2, 3});
    assert_order(&rooted, 1, (uint32_t[]){6, 5, 7, 4, 1, 2, 3, 0});
    arena_release(&arena);
}

static void assert_refused(uint32_t hosts, uint32_t rph, uint32_t channels, uint32_t root,
                           const char *word)
{
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct layout layout;
    assert_int_equal(layout_make(hosts, rph, channels, root, &arena, &layout, &error), -1);
    assert_int_equal(error.status, EXIT_INPUT);
    if (!strstr(error.message, word)) {
        fail_msg("'%s' does not say '%s'", error.message, word);
    }
    arena_release(&arena);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    assert_refused(0, 8, 1, 0, "hosts");
    assert_refused(8, 0, 1, 0, "ranks");
    assert_refused(1 << 16, 1 << 16, 1, 0, "expected 1 to");
    assert_refused(2, 4, 0, 0, "channels");
    assert_refused(2, 4, 100000, 0, "channels");
    assert_refused(1 << 10, 1 << 10, 1000, 0, "places");
    assert_refused(2, 4, 1, 8, "root 8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permutations),
        cmocka_unit_test(test_channels_use_all_ranks),
        cmocka_unit_test(test_known_orders),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
