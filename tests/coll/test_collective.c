/* test_collective.c - names in everyone's spelling, bus bandwidth, sizes and counts. */
#include "collective.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    enum collective collective;
    const char *texts[8];
} spellings[] = {
    {COLL_ALLREDUCE,
     {"AllReduce", "all_reduce", "all_reduce_perf", "MPI_Allreduce", "Allreduce", "all-reduce"}},
    {COLL_REDUCE_SCATTER,
     {"ReduceScatter", "reduce_scatter", "reduce_scatter_perf", "MPI_Reduce_scatter",
      "MPI_Reduce_scatter_block", "Reduce_scatter", "REDUCE-SCATTER"}},
    {COLL_ALL_GATHER,
     {"AllGather", "all_gather", "all_gather_perf", "MPI_Allgather", "Allgather", "all gather"}},
    {COLL_BROADCAST, {"Broadcast", "broadcast", "broadcast_perf", "MPI_Bcast", "Bcast", "bcast"}},
    {COLL_REDUCE, {"Reduce", "reduce", "reduce_perf", "MPI_Reduce", "mpi_reduce"}},
    {COLL_ALL_TO_ALL, {"AlltoAll", "alltoall", "alltoall_perf", "MPI_Alltoall", "all_to_all"}},
    {COLL_GATHER, {"Gather", "gather", "gather_perf", "MPI_Gather"}},
    {COLL_SCATTER, {"Scatter", "scatter", "scatter_perf", "MPI_Scatter"}},
    {COLL_SEND_RECV, {"SendRecv", "sendrecv", "sendrecv_perf", "MPI_Sendrecv", "send_recv"}},
};

static void assert_parses(const char *text, enum collective expected)
{
    struct error error = ERROR_NONE;
    enum collective found = COLL_NR;
    if (coll_parse(text, &found, &error)) {
        fail_msg("'%s': %s", text, error.message);
    }
    if (found != expected) {
        fail_msg("'%s': expected %s, found %s", text, coll_name(expected), coll_name(found));
    }
}

static void test_every_spelling_is_understood(void **state)
{
    (void)state;
    assert_int_equal(sizeof spellings / sizeof *spellings, COLL_NR);
    for (size_t i = 0; i < COLL_NR; i++) {
        for (size_t t = 0; t < 8 && spellings[i].texts[t]; t++) {
            assert_parses(spellings[i].texts[t], spellings[i].collective);
        }
    }
}

static void test_printed_names_are_read_back(void **state)
{
    (void)state;
    for (int c = 0; c < COLL_NR; c++) {
        assert_parses(coll_name((enum collective)c), (enum collective)c);
    }
    assert_string_equal(coll_name(COLL_ALL_TO_ALL), "all-to-all");
    assert_string_equal(coll_name(COLL_ALLREDUCE), "allreduce");
}

static void assert_refused(const char *text, const char *part)
{
    struct error error = ERROR_NONE;
    enum collective found = COLL_NR;
    if (coll_parse(text, &found, &error) != -1 || found != COLL_NR || error.status != EXIT_INPUT ||
        !strstr(error.message, part)) {
        fail_msg("'%s': expected a refusal with '%s', found '%s'", text, part, error.message);
    }
}

static void test_other_words_are_refused(void **state)
{
    (void)state;
    char flood[5000];
    assert_refused("alreduce", "did you mean 'allreduce'");
    assert_refused("broadcasts", "did you mean 'broadcast'");
    assert_refused("barrier", "expected allreduce");
    assert_refused("", "expected allreduce");
    assert_refused("mpi", "expected allreduce");
    assert_refused("perf", "expected allreduce");
    assert_refused("all.reduce", "unknown collective");
    memset(flood, 'x', sizeof flood);
    memcpy(flood, "allreduce", strlen("allreduce"));
    flood[sizeof flood - 1] = 0;
    assert_refused(flood, "unknown collective");
}

static void assert_factor(enum collective collective, uint32_t ranks, double expected)
{
    double found = coll_busbw_factor(collective, ranks);
    if (!(fabs(found - expected) < 1e-15)) {
        fail_msg("%s on %u ranks: expected %.17g, found %.17g", coll_name(collective), ranks,
                 expected, found);
    }
}

/* The table in nccl-tests' doc/PERFORMANCE.md. */
static void test_bus_bandwidth_is_that_of_nccl_tests(void **state)
{
    (void)state;
    static const enum collective once[] = {COLL_REDUCE_SCATTER, COLL_ALL_GATHER, COLL_ALL_TO_ALL,
                                           COLL_GATHER, COLL_SCATTER};
    static const enum collective plain[] = {COLL_BROADCAST, COLL_REDUCE, COLL_SEND_RECV};
    for (uint32_t ranks = 1; ranks < 70000; ranks = ranks * 3 + 1) {
        assert_factor(COLL_ALLREDUCE, ranks, 2.0 * (ranks - 1) / ranks);
        for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
            assert_factor(once[i], ranks, (double)(ranks - 1) / ranks);
        }
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
            assert_factor(plain[i], ranks, 1);
        }
    }
    assert_factor(COLL_ALLREDUCE, 8, 1.75);
    assert_factor(COLL_ALL_GATHER, 4, 0.75);
}

static void test_properties(void **state)
{
    (void)state;
    static const struct {
        bool reduces, rooted, in_place, divided;
    } expected[COLL_NR] = {
        [COLL_ALLREDUCE] = {true, false, true, false},
        [COLL_REDUCE_SCATTER] = {true, false, true, true},
        [COLL_ALL_GATHER] = {false, false, true, true},
        [COLL_BROADCAST] = {false, true, true, false},
        [COLL_REDUCE] = {true, true, true, false},
        [COLL_ALL_TO_ALL] = {false, false, false, true},
        [COLL_GATHER] = {false, true, true, true},
        [COLL_SCATTER] = {false, true, true, true},
        [COLL_SEND_RECV] = {false, false, false, false},
    };
    for (int i = 0; i < COLL_NR; i++) {
        enum collective c = (enum collective)i;
        if (coll_reduces(c) != expected[i].reduces || coll_rooted(c) != expected[i].rooted ||
            coll_in_place(c) != expected[i].in_place || coll_divided(c) != expected[i].divided) {
            fail_msg("%s has other properties than expected", coll_name(c));
        }
    }
}

static void test_counts_are_those_of_nccl_tests(void **state)
{
    (void)state;
    /* nccl-tests on 8 ranks, 1 MiB of float: allreduce 262144, all-gather 32768 */
    assert_int_equal(coll_count(COLL_ALLREDUCE, 1 << 20, 4, 8), 262144);
    assert_int_equal(coll_count(COLL_ALL_GATHER, 1 << 20, 4, 8), 32768);
    assert_int_equal(coll_count(COLL_ALL_TO_ALL, 100, 4, 8), 3);
    assert_int_equal(coll_bytes(COLL_ALL_TO_ALL, 3, 4, 8), 96);
    assert_int_equal(coll_count(COLL_SCATTER, 31, 4, 8), 0);
    assert_int_equal(coll_count(COLL_BROADCAST, 31, 4, 8), 7);
    assert_int_equal(coll_bytes(COLL_BROADCAST, 7, 4, 8), 28);
    assert_true(coll_count(COLL_REDUCE, UINT64_MAX, 1, 3) == UINT64_MAX);
    assert_true(coll_bytes(COLL_ALL_GATHER, 1u << 31, 8, 1u << 20) == (uint64_t)1 << 54);
}

/* The size really used is the largest one not above what was asked for that every rank can share.
 */
static void test_sizes_are_rounded_down_once(void **state)
{
    (void)state;
    for (int i = 0; i < COLL_NR; i++) {
        enum collective c = (enum collective)i;
        for (uint32_t ranks = 1; ranks <= 9; ranks++) {
            for (uint64_t bytes = 0; bytes < 400; bytes += 7) {
                uint64_t used = coll_bytes(c, coll_count(c, bytes, 4, ranks), 4, ranks);
                uint64_t again = coll_bytes(c, coll_count(c, used, 4, ranks), 4, ranks);
                uint64_t step = coll_divided(c) ? 4 * ranks : 4;
                if (used > bytes || bytes - used >= step || again != used) {
                    fail_msg("%s, %u ranks, %llu bytes: %llu used, then %llu", coll_name(c), ranks,
                             (unsigned long long)bytes, (unsigned long long)used,
                             (unsigned long long)again);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_spelling_is_understood),
        cmocka_unit_test(test_printed_names_are_read_back),
        cmocka_unit_test(test_other_words_are_refused),
        cmocka_unit_test(test_bus_bandwidth_is_that_of_nccl_tests),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_counts_are_those_of_nccl_tests),
        cmocka_unit_test(test_sizes_are_rounded_down_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
