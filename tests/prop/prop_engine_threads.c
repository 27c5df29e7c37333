/* The engine on threads computes what the collective says: every row that runs on CPU ranks, a
 * fixed sample of types, operators, protocols, windows, channels and slices. tests/long has
 * everything. */
#include "engine_case.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const uint32_t rank_counts[] = {1, 2, 3, 4, 7, 9};
static const uint64_t counts[] = {0, 1, 10007};

enum { SIZES = sizeof rank_counts / sizeof *rank_counts, COUNTS = sizeof counts / sizeof *counts };

/* Every setting that a number picks; the same number, the same case. */
static void pick_how(struct engine_case *c, uint64_t number)
{
    static const uint32_t slices[] = {256, 1024, 4096, 16384};
    static const uint64_t chunks[] = {16, 1000, 6000, 1 << 20};
    uint64_t x = case_hash(17, 0, number);
    bool large = c->how.count > 1000;
    c->seed = number;
    c->how.type = (enum plan_type)(x % PLAN_TYPES);
    c->how.reduction = (enum plan_reduction)((x >> 8) % PLAN_REDUCTIONS);
    c->how.average = c->how.reduction == PLAN_SUM && (x >> 12) % 2;
    c->how.protocol = (x >> 16) % 2 ? PLAN_LL : PLAN_SIMPLE;
    c->how.slots = 2U << (x >> 20) % 3;
    c->how.channels = 1 + (uint32_t)(x >> 24) % 3;
    c->how.slice_bytes = slices[(x >> 28) % 4];
    c->how.chunk_bytes = chunks[(x >> 32) % 4];
    if (large && c->how.chunk_bytes < 1000) {
        c->how.chunk_bytes = 2000;
    }
    c->how.root = (uint32_t)(x >> 40) % c->request.ranks;
    c->how.yields = true;
}

/* hosts x ranks per host, and three levels where the number has them. */
static void set_levels(struct engine_case *c, uint64_t number)
{
    uint32_t n = c->request.ranks, outer = n == 4 || n == 8 || n == 6 ? 2 : n == 9 ? 3 : 1;
    static const char *const inner[] = {NULL, "halving-doubling", "one-shot", "direct"};
    static const char *const outers[2][4] = {{NULL, "halving-doubling", "one-shot", "direct"},
                                             {NULL, "doubling", "tree", "two-shot"}};
    c->how.hosts = number % 3 == 2 && outer == 1 ? n : outer;
    c->how.ranks_per_host = n / c->how.hosts;
    c->request.levels[0] = c->how.hosts;
    c->request.levels[1] = c->how.ranks_per_host;
    c->request.levels[2] = 1;
    c->request.nr_levels = 2;
    if (n == 8) {
        c->request.levels[1] = c->request.levels[2] = 2;
        c->request.nr_levels = 3;
    }
    c->request.inner = inner[number % 4];
    c->request.outer = outers[c->request.collective == COLL_ALLREDUCE][number / 4 % 4];
}

struct tally {
    unsigned right, refused;
};

static void run_case(struct engine_case *c, struct tally *tally)
{
    char why[1200], what[600];
    enum case_result result = case_run(c, why, sizeof why);
    if (result == CASE_WRONG) {
        case_describe(c, what, sizeof what);
        fail_msg("%s: %s", what, why);
    }
    if (result == CASE_REFUSED && !strstr(why, "power of two")) {
        case_describe(c, what, sizeof what);
        fail_msg("%s: refused: %s", what, why);
    }
    tally->right += result == CASE_RIGHT;
    tally->refused += result == CASE_REFUSED;
}

static bool runs_on_cpus(const struct algorithm *row)
{
    return !(row->needs & SCHED_NEEDS_GROUP_PEER);
}

static struct engine_case make_case(const struct algorithm *row, enum collective collective,
                                    uint32_t ranks, uint64_t count, bool in_place, uint64_t number)
{
    struct engine_case c = {.row = row,
                            .request = {.collective = collective,
                                        .ranks = ranks,
                                        .in_place = in_place && coll_in_place(collective)},
                            .how = {.hosts = 1, .ranks_per_host = ranks, .count = count}};
    pick_how(&c, number);
    set_levels(&c, number);
    if (!(row->needs & SCHED_NEEDS_HIERARCHY)) {
        c.request.nr_levels = 0;
        c.request.inner = c.request.outer = NULL;
    }
    return c;
}

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
                c.how.type = (enum plan_type)type;
                c.how.average = op == PLAN_REDUCTIONS;
                c.how.reduction = c.how.average ? PLAN_SUM : (enum plan_reduction)op;
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
