/* Every row that runs on CPU ranks x collective x type x operator x ranks x count, in and out of
 * place; the other settings change from case to case. Minutes. */
#include "prop/engine_sample.h"

static const uint32_t rank_counts[] = {1, 2, 3, 4, 7, 9};
static const uint64_t counts[] = {0, 1, 10007};

enum {
    SIZES = sizeof rank_counts / sizeof *rank_counts,
    COUNTS = sizeof counts / sizeof *counts,
    OPERATORS = PLAN_REDUCTIONS + 1 /* and the average */
};

static void run_all(const struct algorithm *row, enum collective collective, struct tally *tally)
{
    static uint64_t number;
    int operators = coll_reduces(collective) ? OPERATORS : 1;
    for (int i = 0; i < SIZES * COUNTS * PLAN_TYPES * operators; i++) {
        for (int in_place = 0; in_place <= coll_in_place(collective); in_place++) {
            struct engine_case c = make_case(row, collective, rank_counts[i % SIZES],
                                             counts[i / SIZES % COUNTS], in_place, number++);
            set_type(&c, (enum plan_type)(i / SIZES / COUNTS % PLAN_TYPES),
                     i / SIZES / COUNTS / PLAN_TYPES);
            run_case(&c, tally);
        }
    }
}

static void test_everything(void **state)
{
    struct tally tally = {0, 0};
    (void)state;
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        for (int coll = 0; coll < COLL_NR; coll++) {
            if (runs_on_cpus(*row) && (*row)->collectives >> coll & 1) {
                run_all(*row, (enum collective)coll, &tally);
            }
        }
    }
    print_message("# %u cases right, %u refused\n", tally.right, tally.refused);
    assert_true(tally.right > 20 * tally.refused);
}

static void test_long_messages(void **state)
{
    struct tally tally = {0, 0};
    uint64_t number = 0;
    (void)state;
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        for (int coll = 0; coll < COLL_NR; coll++) {
            for (int i = 0; i < SIZES && runs_on_cpus(*row) && (*row)->collectives >> coll & 1;
                 i++) {
                struct engine_case c = make_case(*row, (enum collective)coll, rank_counts[i],
                                                 1000003, i % 2, number++);
                set_type(&c, PLAN_FLOAT32, PLAN_SUM);
                run_case(&c, &tally);
            }
        }
    }
    assert_true(tally.right > 20 * tally.refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything),
        cmocka_unit_test(test_long_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
