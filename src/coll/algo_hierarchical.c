/* algo_hierarchical.c - hierarchical: other rows, level by level (algo_levels.c says how).
 *
 *     2 hosts of 4     host 0   0 - 1 - 2 - 3     lane 0  inner reduce-scatter in each host
 *                               |   |   |   |     lane 1  outer allreduce of part z over the z-th
 *                      host 1   4 - 5 - 6 - 7             ranks of all hosts: a rail each
 *                                                 lane 2  inner all-gather in each host
 *
 * Three levels put a reduce-scatter and an all-gather of the middle between. A reduce-scatter is
 * the way up alone, an all-gather the way down. Stages overlap: while the hosts exchange the part
 * of one loop, the next loop is reduced inside.
 *
 * Cost, h hosts of g, over rings: per loop the longest stage, inner beta_in m (g - 1)/g, outer
 * 2 beta_out m/g (h - 1)/h; once the latencies of all.
 *
 * Cho et al., BlueConnect: decomposing all-reduce for deep learning on heterogeneous network
 * hierarchy, SysML 2019
 */
#include "algo_parts.h"

#include <stdio.h>
#include <string.h>

static const struct algorithm_part *const parts[] = {
    &part_ring,     &part_halving_doubling, &part_one_shot, &part_direct,
    &part_two_shot, &part_doubling,         &part_tree,     &part_pat};

enum { PARTS = sizeof parts / sizeof *parts };

static bool serves(const struct algorithm_part *part, enum collective collective)
{
    return collective == COLL_ALLREDUCE        ? part->allreduce != NULL
           : collective == COLL_REDUCE_SCATTER ? part->reduce_scatter != NULL
                                               : part->all_gather != NULL;
}

static bool serves_inside(const struct algorithm_part *part, enum collective collective)
{
    (void)collective;
    return part->reduce_scatter && part->all_gather;
}

/* The part of a name (NULL: ring) if it will do, else NULL. */
static const struct algorithm_part *part_of(const char *name, enum collective collective,
                                            bool (*will_do)(const struct algorithm_part *,
                                                            enum collective))
{
    for (int i = 0; i < PARTS; i++) {
        if (!strcmp(parts[i]->name, name ? name : "ring") && will_do(parts[i], collective)) {
            return parts[i];
        }
    }
    return NULL;
}

static struct hierarchy rows_of(const struct sched_request *request)
{
    return (struct hierarchy){part_of(request->inner, request->collective, serves_inside),
                              part_of(request->outer, request->collective, serves)};
}

static int set_no_part(const char *which, const char *name, enum collective collective,
                       bool (*will_do)(const struct algorithm_part *, enum collective),
                       struct error *error)
{
    char list[160] = "";
    for (int i = 0; i < PARTS; i++) {
        if (will_do(parts[i], collective)) {
            size_t length = strlen(list);
            snprintf(list + length, sizeof list - length, "%s%s", length ? ", " : "",
                     parts[i]->name);
        }
    }
    return error_set(error, EXIT_INPUT,
                     "hierarchical: '%s' cannot be the %s row of %s: expected one of %s", name,
                     which, coll_name(collective), list);
}

static int hierarchical_fits(const struct sched_request *request, struct error *error)
{
    struct hierarchy rows = rows_of(request);
    if (!rows.inner) {
        return set_no_part("inner", request->inner, request->collective, serves_inside, error);
    }
    if (!rows.outer) {
        return set_no_part("outer", request->outer, request->collective, serves, error);
    }
    return 0;
}

static void row_emit(struct sched_builder *b, const struct sched_request *request,
                     uint32_t position)
{
    struct hierarchy rows = rows_of(request);
    levels_emit(b, request, position, &rows);
}

static void row_shape(const struct sched_request *request, struct sched_shape *shape)
{
    struct hierarchy rows = rows_of(request);
    levels_shape(request, shape, &rows);
}

static uint32_t row_role(const struct sched_request *request, uint32_t position)
{
    struct hierarchy rows = rows_of(request);
    return levels_role(request, position, &rows);
}

const struct algorithm algorithm_hierarchical = {
    .name = "hierarchical",
    .what = "other rows level by level: reduce-scatter inside, across per rail, all-gather inside",
    .paper = "Cho et al., BlueConnect: decomposing all-reduce for deep learning on heterogeneous "
             "network hierarchy, SysML 2019",
    .collectives = 1 << COLL_ALLREDUCE | 1 << COLL_REDUCE_SCATTER | 1 << COLL_ALL_GATHER,
    .needs = SCHED_NEEDS_HIERARCHY | SCHED_NEEDS_COMMUTATIVE,
    .fits = hierarchical_fits,
    .shape = row_shape,
    .emit = row_emit,
    .role = row_role,
    .order = "inside a host first, then over hosts, each in its row's order",
};
