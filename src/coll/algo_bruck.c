/* algo_bruck.c - Bruck: ceil(log2 n) steps for any n; step k reaches over distance 2^k.
 *
 *     all-gather, position 0 of 5    has 0 | + 1 | + 2 3 | + 4     from r + 1, r + 2, r + 4
 *     all-to-all, position 0 of 5    the chunk for r + x lies at x; in step k all those with bit k
 *                                    of x move on by 2^k:  x = 1 3 | 2 3 | 4
 *
 * All-gather writes chunk r + x to its place at once; all-to-all turns its chunks into scratch
 * before and out of it after.
 *
 * Cost: all-gather ceil(log2 n) alpha + beta m (n - 1)/n; all-to-all ceil(log2 n) alpha + about
 * beta m/2 log2 n. For short messages.
 *
 * Bruck, Ho, Kipnis, Upfal and Weathersby, Efficient algorithms for all-to-all communications in
 * multiport message-passing systems, IEEE TPDS 1997
 */
#include "algo_parts.h"

static void bruck_all_gather(struct sched_builder *b, const struct sched_frame *f)
{
    int32_t r = (int32_t)f->r, n = (int32_t)f->n;
    for (int32_t distance = 1; distance < n; distance *= 2) {
        int32_t new = distance < n - distance ? distance : n - distance;
        struct sched_step *step = build_step(b, f->lane);
        step_receive(step, build_peer(f, r + distance, f->lane));
        step_store(step, build_runs(f, f->to, r + distance, new));
        step_send(step, build_peer(f, r - distance, f->lane), build_runs(f, f->to, r, new));
    }
}

/* Scratch x <-> chunk r + x of in, r - x of out. */
static void bruck_all_to_all(struct sched_builder *b, const struct sched_frame *f)
{
    int32_t r = (int32_t)f->r, n = (int32_t)f->n;
    build_copy(b, 0, build_runs(f, SCHED_IN, r, n), build_runs(f, SCHED_SCRATCH, 0, n));

    for (int32_t distance = 1; distance < n; distance *= 2) {
        struct sched_range with_bit = build_runs(f, SCHED_SCRATCH, distance, distance);
        with_bit.gap = 2 * distance;
        with_bit.runs = (n + distance - 1) / with_bit.gap;
        with_bit.last = n;
        struct sched_step *step = build_step(b, 0);
        step_receive(step, build_peer(f, r - distance, 0));
        step_store(step, with_bit);
        step_send(step, build_peer(f, r + distance, 0), with_bit);
    }
    struct sched_range back = build_range(f, SCHED_OUT, r);
    back.runs = n;
    back.gap = -1;
    build_copy(b, 0, build_runs(f, SCHED_SCRATCH, 0, n), back);
}

static const struct algorithm_part part_bruck = {.all_gather = bruck_all_gather};

static void bruck_emit(struct sched_builder *b, const struct sched_request *request,
                       uint32_t position)
{
    if (request->collective == COLL_ALL_GATHER) {
        part_emit(&part_bruck, b, request, position);
    } else {
        struct sched_frame f = build_frame(request, position, request->ranks);
        bruck_all_to_all(b, &f);
    }
}

static void bruck_shape(const struct sched_request *request, struct sched_shape *shape)
{
    shape->scratch = request->collective == COLL_ALL_TO_ALL ? request->ranks : 0;
}

const struct algorithm algorithm_bruck = {
    .name = "bruck",
    .what = "ceil(log2 n) steps over doubling distances, for any number of ranks",
    .paper = "Bruck, Ho, Kipnis, Upfal and Weathersby, Efficient algorithms for all-to-all "
             "communications in multiport message-passing systems, IEEE TPDS 1997",
    .collectives = 1 << COLL_ALL_GATHER | 1 << COLL_ALL_TO_ALL,
    .shape = bruck_shape,
    .emit = bruck_emit,
    .role = role_same,
    .order = "none",
};
