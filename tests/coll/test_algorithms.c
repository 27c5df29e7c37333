/* test_algorithms.c - the rows against the papers: closed-form rounds, messages, volume and
 * additions against what is counted from the programs; folded against unrolled; sizes of programs.
 */
#include "schedule.h"
#include "walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint32_t rank_counts[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                       13, 14, 15, 16, 17, 24, 32, 33, 47, 63, 64};
enum { RANK_COUNTS = sizeof rank_counts / sizeof *rank_counts };

static struct schedule make(const char *name, struct sched_request request)
{
    struct error error = ERROR_NONE;
    struct schedule schedule = {0};
    const struct algorithm *row = algorithm_find(name, &error);
    if (!row || sched_make(row, &request, &schedule, &error)) {
        fail_msg("%s", error.message);
    }
    return schedule;
}

static struct walk_count count_all(const struct schedule *schedule)
{
    struct error error = ERROR_NONE;
    struct walk_count count = {0};
    if (walk_count_all(schedule, &count, &error)) {
        fail_msg("%s", error.message);
    }
    return count;
}

static struct walk_count count_folded(const struct schedule *schedule)
{
    struct error error = ERROR_NONE;
    struct walk_count count = {0};
    if (walk_count_folded(schedule, &count, &error)) {
        fail_msg("%s", error.message);
    }
    return count;
}

/* ---- the papers ---- */

struct closed_form { /* chunks as each row cuts them; `most` = sent by one position */
    const char *name;
    enum collective collective;
    uint64_t rounds, messages, chunks, most, additions;
};

static uint64_t log2_down(uint64_t n)
{
    return n < 2 ? 0 : 1 + log2_down(n / 2);
}

static uint64_t log2_up(uint64_t n)
{
    return n < 2 ? 0 : 1 + log2_down(n - 1);
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Bits set in all of 0 .. n - 1: what an all-to-all by Bruck sends. */
static uint64_t bits_below(uint64_t n)
{
    uint64_t bits = 0;
    for (uint64_t x = 1; x < n; x++) {
        bits += (uint64_t)__builtin_popcountll(x);
    }
    return bits;
}

/* Own blocks of position 0 in a recursive doubling of `core` with `e` chunks folded on. */
static uint64_t doubled(uint64_t core, uint64_t e)
{
    uint64_t chunks = 0;
    for (uint64_t size = 1; size < core; size *= 2) {
        chunks += size + least_of(size, e);
    }
    return chunks;
}

#define FORMS_MOST 48

static size_t closed_forms(uint64_t n, struct closed_form forms[FORMS_MOST])
{
    uint64_t m = n - 1;         /* others */
    uint64_t any = n > 1;       /* is there anybody? */
    uint64_t lg = log2_down(n); /* steps of the core */
    uint64_t up = log2_up(n);   /* ... of any number; depth of a tree */
    uint64_t p = 1ULL << lg;    /* the core */
    uint64_t e = n - p;         /* folded */
    uint64_t folds = e > 0;
    uint64_t chain = lg + 2 * folds; /* handing over and back are two steps more */
    uint64_t inner = n < 4 ? m : 3;  /* messages of the busiest in a tree, both ways */
    const struct closed_form all[] = {
        {"ring", COLL_ALLREDUCE, 2 * m, 2 * n * m, 2 * n * m, 2 * m, n * m},
        {"ring", COLL_REDUCE_SCATTER, m, n * m, n * m, m, n * m},
        {"ring", COLL_ALL_GATHER, m, n * m, n * m, m, 0},
        {"ring", COLL_BROADCAST, n * any, (n + 1) * m, (n + 1) * m, 2 * m, 0},
        {"ring", COLL_REDUCE, n * any, (n + 1) * m, (n + 1) * m, n * any, n * m},
        {"chain", COLL_BROADCAST, m, m, m, any, 0},
        {"chain", COLL_REDUCE, m, m, m, any, m},
        {"tree", COLL_ALLREDUCE, 2 * up, 2 * m, 2 * m, inner, m},
        {"tree", COLL_BROADCAST, up, m, m, n < 4 ? any : 2, 0},
        {"tree", COLL_REDUCE, up, m, m, any, m},
        {"double-tree", COLL_ALLREDUCE, 2 * up, 4 * m, 4 * m, n < 4 ? n * any : 4, 2 * m},
        {"doubling", COLL_ALLREDUCE, chain, p * lg + 2 * e, p * lg + 2 * e, lg + (e > 0),
         p * lg + e},
        {"halving-doubling", COLL_ALLREDUCE, 2 * (lg + folds), 2 * p * lg + 2 * e,
         2 * p * (p - 1) + 2 * e * p, 2 * (p - 1) + (e > 0) * p, p * (p - 1) + e * p},
        {"halving-doubling", COLL_REDUCE_SCATTER, chain, p * lg + 2 * e, n * (p - 1) + e * (n + 1),
         e > 0 ? n : m, n * (p - 1) + e * n},
        {"halving-doubling", COLL_ALL_GATHER, chain, p * lg + 2 * e, n * (p - 1) + e * (n + 1),
         doubled(p, e) + (e > 0) * n, 0},
        {"bruck", COLL_ALL_GATHER, up, n * up, n * m, m, 0},
        {"bruck", COLL_ALL_TO_ALL, up, n * up, n * bits_below(n), bits_below(n), 0},
        {"pat", COLL_ALL_GATHER, up, n * up, n * m, m, 0},
        {"pat", COLL_REDUCE_SCATTER, up, n * up, n * m, m, n * m},
        {"one-shot", COLL_ALLREDUCE, any, n * m, n * m, m, n * m},
        {"one-shot", COLL_REDUCE_SCATTER, any, n * m, n * m, m, n * m},
        {"one-shot", COLL_ALL_GATHER, any, n * m, n * m, m, 0},
        {"one-shot", COLL_BROADCAST, any, m, m, m, 0},
        {"one-shot", COLL_REDUCE, any, m, m, any, m},
        {"two-shot", COLL_ALLREDUCE, 2 * any, 2 * n * m, 2 * n * m, 2 * m, n * m},
        {"direct", COLL_REDUCE_SCATTER, any, n * m, n * m, m, n * m},
        {"direct", COLL_ALL_GATHER, any, n * m, n * m, m, 0},
        {"direct", COLL_ALL_TO_ALL, any, n * m, n * m, m, 0},
        {"direct", COLL_BROADCAST, any, m, m, m, 0},
        {"direct", COLL_REDUCE, any, m, m, any, m},
        {"direct", COLL_GATHER, any, m, m, any, 0},
        {"direct", COLL_SCATTER, any, m, m, m, 0},
        {"direct", COLL_SEND_RECV, any, n * any, n * any, any, 0},
        {"pairwise", COLL_ALL_TO_ALL, m, n * m, n * m, m, 0},
        {"nvls", COLL_ALLREDUCE, 2 * any, n * n * any, n * n * any, n * any, n * m},
        {"nvls", COLL_REDUCE_SCATTER, any, n * m, n * m, m, n * m},
        {"nvls", COLL_ALL_GATHER, any, n * any, n * any, any, 0},
        /* the last: only for powers of two */
        {"doubling", COLL_ALL_GATHER, lg, n * lg, n * m, m, 0},
    };
    size_t nr = sizeof all / sizeof *all;
    assert_true(nr <= FORMS_MOST);
    memcpy(forms, all, sizeof all);
    return e > 0 ? nr - 1 : nr;
}

static void assert_counts(const char *what, uint64_t ranks, uint64_t counted, uint64_t expected,
                          const struct closed_form *form)
{
    if (counted != expected) {
        fail_msg("%s %s, %llu ranks: %llu %s counted, the closed form says %llu", form->name,
                 coll_name(form->collective), (unsigned long long)ranks,
                 (unsigned long long)counted, what, (unsigned long long)expected);
    }
}

static void assert_form(const struct closed_form *form, struct sched_request request)
{
    struct schedule schedule = make(form->name, request);
    struct walk_count count = count_all(&schedule);
    assert_counts("rounds", request.ranks, count.rounds, form->rounds, form);
    assert_counts("messages", request.ranks, count.messages, form->messages, form);
    assert_counts("chunks", request.ranks, count.chunks_sent, form->chunks, form);
    assert_counts("chunks of one position", request.ranks, count.most_sent, form->most, form);
    assert_counts("additions", request.ranks, count.chunks_reduced, form->additions, form);
}

static void test_closed_forms(void **state)
{
    (void)state;
    struct closed_form forms[FORMS_MOST];
    for (size_t i = 0; i < RANK_COUNTS; i++) {
        size_t nr = closed_forms(rank_counts[i], forms);
        for (size_t f = 0; f < nr; f++) {
            struct sched_request request = {.collective = forms[f].collective,
                                            .ranks = rank_counts[i]};
            assert_form(&forms[f], request);
            request.in_place = coll_in_place(request.collective);
            assert_form(&forms[f], request);
        }
    }
}

/* No row and collective without a closed form. */
static void test_closed_forms_are_complete(void **state)
{
    (void)state;
    struct closed_form forms[FORMS_MOST];
    size_t nr = closed_forms(8, forms), expected = 0;
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        if (!((*row)->needs & SCHED_NEEDS_HIERARCHY)) {
            expected += (size_t)__builtin_popcount((*row)->collectives);
        }
    }
    assert_int_equal(nr, expected);
    for (size_t f = 0; f < nr; f++) {
        for (size_t g = 0; g < f; g++) {
            assert_true(strcmp(forms[f].name, forms[g].name) != 0 ||
                        forms[f].collective != forms[g].collective);
        }
    }
}

/* h hosts of g ranks: each inner stage goes round once a piece; rails and the pieces of a part add
 * up. */
static void test_closed_forms_of_hierarchies(void **state)
{
    (void)state;
    for (uint32_t h = 1; h <= 6; h++) {
        for (uint32_t g = 1; g <= 6; g++) {
            uint64_t n = (uint64_t)h * g, in = g - 1, out = h - 1, both = h * in + out;
            uint64_t tree = 2 * log2_up(h), switches = g > 1;
            const struct closed_form forms[] = {
                {"hierarchical", COLL_ALLREDUCE, 2 * both, 2 * n * both, 2 * n * both, 2 * both,
                 n * both},
                {"hierarchical", COLL_REDUCE_SCATTER, both, n * both, n * both, both, n * both},
                {"hierarchical", COLL_ALL_GATHER, both, n * both, n * both, both, 0},
                {"nvls-tree", COLL_ALLREDUCE, 2 * switches + tree,
                 n * (in + switches) + 2 * g * out, n * (in + switches) + 2 * g * out,
                 in + switches + (h < 4 ? out : 3), n * in + g * out},
            };
            for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
                assert_form(&forms[f], (struct sched_request){.collective = forms[f].collective,
                                                              .ranks = (uint32_t)n,
                                                              .levels = {h, g},
                                                              .nr_levels = 2});
            }
        }
    }
}

/* ---- roles ---- */

static void assert_same_counts(const struct schedule *schedule)
{
    struct walk_count all = count_all(schedule), folded = count_folded(schedule);
    folded.rounds = all.rounds; /* of the whole only */
    if (memcmp(&all, &folded, sizeof all) != 0) {
        fail_msg("%s %s, %u ranks: folded and unrolled counts differ", schedule->name,
                 coll_name(schedule->request.collective), schedule->request.ranks);
    }
}

static void assert_roles(const struct schedule *schedule)
{
    const struct sched_request *request = &schedule->request;
    for (uint32_t p = 0; p < request->ranks; p++) {
        uint32_t role = schedule->row->role(request, p);
        if (role > p || schedule->row->role(request, role) != role) {
            fail_msg("%s %s, %u ranks: position %u has role %u", schedule->name,
                     coll_name(request->collective), request->ranks, p, role);
        }
    }
    assert_same_counts(schedule);
}

static void test_flat_roles(void **state)
{
    (void)state;
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        for (uint32_t c = 0; c < COLL_NR; c++) {
            for (uint32_t ranks = 1; ranks <= 64; ranks++) {
                struct error error = ERROR_NONE;
                struct schedule schedule;
                struct sched_request request = {.collective = c, .ranks = ranks};
                if ((*row)->collectives & 1U << c &&
                    !sched_make(*row, &request, &schedule, &error)) {
                    assert_roles(&schedule);
                }
            }
        }
    }
}

static void test_hierarchical_roles(void **state)
{
    (void)state;
    static const char *const inner[] = {"ring", "halving-doubling", "pat"};
    static const char *const outer[] = {"ring", "halving-doubling", "tree", "doubling"};
    static const uint32_t levels[][3] = {{4, 16, 1}, {3, 5, 1}, {16, 4, 1}, {3, 3, 7}, {6, 2, 5}};
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
        struct sched_request request = {.ranks = levels[l][0] * levels[l][1] * levels[l][2],
                                        .nr_levels = levels[l][2] > 1 ? 3 : 2};
        memcpy(request.levels, levels[l], sizeof request.levels);
        for (size_t i = 0; i < 12; i++) {
            request.inner = inner[i % 3];
            request.outer = outer[i / 3];
            request.collective = COLL_ALLREDUCE;
            struct schedule schedule = make("hierarchical", request);
            assert_roles(&schedule);
        }
    }
}

/* ---- sizes ---- */

static uint64_t items(const char *name, enum collective collective, uint32_t ranks,
                      uint32_t ranks_per_host)
{
    struct sched_request request = {.collective = collective, .ranks = ranks};
    if (ranks_per_host > 0) {
        request.nr_levels = 2;
        request.levels[0] = ranks / ranks_per_host;
        request.levels[1] = ranks_per_host;
    }
    struct schedule schedule = make(name, request);
    return count_folded(&schedule).items;
}

static bool grows(const char *name)
{
    static const char *const logarithmic[] = {"doubling", "halving-doubling", "bruck", "pat", NULL};
    for (size_t i = 0; logarithmic[i]; i++) {
        if (!strcmp(name, logarithmic[i])) {
            return true;
        }
    }
    return false;
}

static void test_sizes_of_programs(void **state)
{
    (void)state;
    print_message("# steps written down:                    8 ranks  4096 ranks\n");
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        bool levels = (*row)->needs & SCHED_NEEDS_HIERARCHY;
        for (uint32_t c = 0; c < COLL_NR; c++) {
            if (!((*row)->collectives & 1U << c)) {
                continue;
            }
            uint64_t small = items((*row)->name, c, 8, levels ? 4 : 0);
            uint64_t large = items((*row)->name, c, 4096, levels ? 64 : 0);
            print_message("# %-18s %-16s %10llu %11llu\n", (*row)->name, coll_name(c),
                          (unsigned long long)small, (unsigned long long)large);
            if (grows((*row)->name)) { /* 3 steps of distance there, 12 here */
                assert_true(large <= 4 * small);
            } else if (!levels) {
                assert_int_equal(small, large);
            }
        }
    }
}

/* In a ring of two nothing is passed on, so a level of two has a step or two less than any other.
 */
static void test_sizes_of_hierarchies(void **state)
{
    (void)state;
    assert_int_equal(items("hierarchical", COLL_ALLREDUCE, 9, 3), 17);
    assert_int_equal(items("hierarchical", COLL_ALLREDUCE, 4096, 8), 17);
    assert_int_equal(items("hierarchical", COLL_ALLREDUCE, 4096, 512), 17);
    assert_int_equal(items("hierarchical", COLL_ALLREDUCE, 8, 4), 15);
    assert_int_equal(items("nvls-tree", COLL_ALLREDUCE, 64, 8),
                     items("nvls-tree", COLL_ALLREDUCE, 4096, 8));
}

/* ---- names and refusals ---- */

static void test_rows_are_whole(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    size_t nr = 0;
    for (const struct algorithm *const *row = algorithm_all(); *row; row++, nr++) {
        assert_true((*row)->name && (*row)->what && (*row)->paper && (*row)->order);
        assert_true((*row)->collectives && (*row)->shape && (*row)->emit && (*row)->role);
        assert_ptr_equal(algorithm_find((*row)->name, &error), *row);
    }
    assert_int_equal(nr, 15);
}

static void assert_refused(const char *name, struct sched_request request, const char *why)
{
    struct error error = ERROR_NONE;
    struct schedule schedule;
    const struct algorithm *row = algorithm_find(name, &error);
    if (row && !sched_make(row, &request, &schedule, &error)) {
        fail_msg("%s was not refused", name);
    }
    if (!strstr(error.message, why) || error.status != EXIT_INPUT) {
        fail_msg("'%s' does not say '%s'", error.message, why);
    }
}

static void test_refusals_say_why(void **state)
{
    (void)state;
    struct sched_request gather = {.collective = COLL_ALL_GATHER, .ranks = 6};
    struct sched_request flat = {.collective = COLL_ALLREDUCE, .ranks = 8};
    struct sched_request deep = {.collective = COLL_ALLREDUCE,
                                 .ranks = 8,
                                 .levels = {2, 2, 2},
                                 .nr_levels = 3,
                                 .inner = "ring"};
    assert_refused("halving-dubling", flat, "did you mean 'halving-doubling'");
    assert_refused("zzzzzz", flat, "expected one of ring, chain, tree, double-tree");
    assert_refused("doubling", gather, "power of two as number of ranks, not 6");
    assert_refused("hierarchical", flat, "needs a hierarchy");
    assert_refused("nvls-tree", deep, "has 3 levels: expected 2");
    deep.inner = "tree";
    assert_refused("hierarchical", deep,
                   "'tree' cannot be the inner row of allreduce: expected one of ring, ");
    deep.inner = "halving-doubling";
    deep.outer = "rabenseifner";
    assert_refused("hierarchical", deep, "'rabenseifner' cannot be the outer row");
    deep.outer = "pat"; /* has no allreduce */
    assert_refused("hierarchical", deep, "'pat' cannot be the outer row");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_forms),
        cmocka_unit_test(test_closed_forms_are_complete),
        cmocka_unit_test(test_closed_forms_of_hierarchies),
        cmocka_unit_test(test_flat_roles),
        cmocka_unit_test(test_hierarchical_roles),
        cmocka_unit_test(test_sizes_of_programs),
        cmocka_unit_test(test_sizes_of_hierarchies),
        cmocka_unit_test(test_rows_are_whole),
        cmocka_unit_test(test_refusals_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
