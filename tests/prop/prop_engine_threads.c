/* The engine on threads computes what the collective says: every row that runs on CPU ranks, a
 * fixed sample of types, operators, protocols, windows, channels and slices. tests/long has
 * everything. */
#include "prop/engine_sample.h"

static const uint32_t rank_counts[] = {1, 2, 3, 4, 7, 9};
static const uint64_t counts[] = {0, 1, 10007};

enum { SIZES = sizeof rank_counts / sizeof *rank_counts, COUNTS = sizeof counts / sizeof *counts };

/* Nothing is refused but by rows that need a power of two. */
static void test_rows(void **state)
{
    struct tally tally = {0, 0};
    uint64_t number = 0;
    (void)state;
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        for (int coll = 0; coll < COLL_NR && runs_on_cpus(*row); coll++) {
            struct tally mine = {0, 0};
            for (int i = 0; i < 2 * SIZES * COUNTS && (*row)->collectives >> coll & 1; i++) {
                struct engine_case c =
                    make_case(*row, (enum collective)coll, rank_counts[i / 2 / COUNTS],
                              counts[i / 2 % COUNTS], i % 2, number++);
                run_case(&c, &mine);
            }
            if ((*row)->collectives >> coll & 1) {
                assert_true(mine.right > 0);
            }
            tally.right += mine.right;
            tally.refused += mine.refused;
        }
    }
    print_message("# %u cases right, %u refused\n", tally.right, tally.refused);
    assert_true(tally.right > 50 * tally.refused);
}

/* Every type and operator, each once by each protocol. */
static void test_types(void **state)
{
    struct error error = ERROR_NONE;
    const struct algorithm *ring = algorithm_find("ring", &error);
    struct tally tally = {0, 0};
    (void)state;
    for (int type = 0; type < PLAN_TYPES; type++) {
        for (int op = 0; op <= PLAN_REDUCTIONS; op++) {
            for (int ll = 0; ll < 2; ll++) {
                struct engine_case c =
                    make_case(ring, COLL_ALLREDUCE, 3, 1009, ll, (uint64_t)(type * 10 + op));
                set_type(&c, (enum plan_type)type, op);
                c.how.protocol = ll ? PLAN_LL : PLAN_SIMPLE;
                run_case(&c, &tally);
            }
        }
    }
    assert_int_equal(tally.right, PLAN_TYPES * (PLAN_REDUCTIONS + 1) * 2);
}

/* Three levels, and more ranks than the blocks of operands. */
static void test_more(void **state)
{
    struct error error = ERROR_NONE;
    struct tally tally = {0, 0};
    uint64_t number = 5000;
    (void)state;
    static const struct {
        const char *row;
        enum collective collective;
        uint32_t ranks;
    } cases[] = {{"hierarchical", COLL_ALLREDUCE, 8},  {"hierarchical", COLL_ALLREDUCE, 6},
                 {"hierarchical", COLL_ALL_GATHER, 8}, {"hierarchical", COLL_REDUCE_SCATTER, 8},
                 {"one-shot", COLL_ALLREDUCE, 19},     {"two-shot", COLL_ALLREDUCE, 19},
                 {"direct", COLL_ALL_TO_ALL, 19},      {"ring", COLL_ALLREDUCE, 19}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct algorithm *row = algorithm_find(cases[i].row, &error);
        for (int in_place = 0; in_place < 2; in_place++) {
            struct engine_case c =
                make_case(row, cases[i].collective, cases[i].ranks, 10007, in_place, 16 * number++);
            run_case(&c, &tally);
        }
    }
    assert_int_equal(tally.right, 2 * sizeof cases / sizeof *cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_more),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
