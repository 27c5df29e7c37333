/* algo_pat.c - PAT, parallel aggregated trees: far steps move one chunk, near steps many.
 *
 *     all-gather, position 0 of 8    has 0 | + 4 | + 2 6 | + 1 3 5 7     from r + 4, r + 2, r + 1
 *     reduce-scatter                 the same backwards: from r - 1, r - 2, r - 4, adding
 *
 * A binomial tree per chunk, all at once; the chunks of one step travel as one message. As many
 * steps as Bruck, but the far links carry least. Any n: chunk r + x comes over the distance that
 * is x's lowest bit.
 *
 * Cost: ceil(log2 n) alpha + beta m (n - 1)/n.
 *
 * Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at scale, 2025
 */
#include "algo_parts.h"

/* Chunks first, first + 2 d, ...: as many as there are odd multiples of d below n. */
static struct sched_range every_second(const struct sched_frame *f, enum sched_buffer buffer,
                                       int32_t first, int32_t d)
{
    struct sched_range range = build_range(f, buffer, first);
    range.gap = 2 * d;
    range.runs = ((int32_t)f->n + d - 1) / (2 * d);
    return range;
}

static void pat_all_gather(struct sched_builder *b, const struct sched_frame *f)
{
    int32_t r = (int32_t)f->r, d = 1;
    while (d < (int32_t)f->n) {
        d *= 2;
    }
    for (d /= 2; d > 0; d /= 2) {
        struct sched_step *step = build_step(b, f->lane);
        step_receive(step, build_peer(f, r + d, f->lane));
        step_store(step, every_second(f, f->to, r + d, d));
        step_send(step, build_peer(f, r - d, f->lane), every_second(f, f->to, r, d));
    }
}

/* The first step adds to all chunks at even distance, but to n - 1 if that is even. */
static struct sched_step *pat_reduce_scatter(struct sched_builder *b, const struct sched_frame *f)
{
    int32_t r = (int32_t)f->r, n = (int32_t)f->n;
    if (n % 2 && n > 1 && f->from != f->to) {
        build_copy(b, f->lane, build_range(f, f->from, r - 1), build_range(f, f->to, r - 1));
    }
    struct sched_step *step = NULL;
    enum sched_buffer source = f->from;
    for (int32_t d = 1; d < n; d *= 2) {
        step = build_step(b, f->lane);
        step_receive(step, build_peer(f, r - d, f->lane));
        step_take(step, every_second(f, source, r, d));
        step_store(step, every_second(f, f->to, r, d));
        step_send(step, build_peer(f, r + d, f->lane), every_second(f, source, r + d, d));
        source = f->to;
    }
    if (!step) { /* alone */
        step = build_step(b, f->lane);
        step_take(step, build_range(f, f->from, r));
    }
    return step;
}

const struct algorithm_part part_pat = {
    .name = "pat",
    .reduce_scatter = pat_reduce_scatter,
    .all_gather = pat_all_gather,
    .role = part_role_same,
};

static void pat_emit(struct sched_builder *b, const struct sched_request *request,
                     uint32_t position)
{
    part_emit(&part_pat, b, request, position);
}

static void pat_shape(const struct sched_request *request, struct sched_shape *shape)
{
    shape->scratch = request->collective == COLL_REDUCE_SCATTER ? request->ranks : 0;
}

const struct algorithm algorithm_pat = {
    .name = "pat",
    .what = "a binomial tree per chunk, all at once; far steps move one chunk, near steps many",
    .paper = "Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at "
             "scale, 2025",
    .collectives = 1 << COLL_REDUCE_SCATTER | 1 << COLL_ALL_GATHER,
    .needs = SCHED_NEEDS_COMMUTATIVE,
    .shape = pat_shape,
    .emit = pat_emit,
    .role = role_same,
    .order = "chunk c: by distance before c, near ones first",
};
