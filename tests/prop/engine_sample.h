/* engine_sample.h - cases by number: settings that change from one to the next, and what may be
 * refused. */
#ifndef CCLTUNE_ENGINE_SAMPLE_H
#define CCLTUNE_ENGINE_SAMPLE_H

#include "engine_case.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

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

/* PLAN_REDUCTIONS: the average. */
static void set_type(struct engine_case *c, enum plan_type type, int reduction)
{
    c->how.type = type;
    c->how.average = reduction == PLAN_REDUCTIONS;
    c->how.reduction = c->how.average ? PLAN_SUM : (enum plan_reduction)reduction;
}

#endif
