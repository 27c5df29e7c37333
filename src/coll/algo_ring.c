/* algo_ring.c - ring: everybody sends to the next one.
 *
 *     reduce-scatter     0 --> 1 --> 2 --> 3 --.     chunk c leaves c + 1, goes round, and arrives
 *                        ^                     |     at c as the sum of all; all chunks are under
 *                        '---------------------'     way at once
 *     all-gather         chunk c leaves c; everybody keeps a copy of what passes
 *     allreduce          one after the other
 *     broadcast          the root deals out the chunks, then all-gather
 *     reduce             reduce-scatter, then all send their sum to the root
 *
 * NCCL's ring broadcast and reduce (a pipeline with the root at one end) are our chain.
 *
 * Cost of m bytes on n ranks: reduce-scatter and all-gather (n - 1)(alpha + beta m/n) each,
 * allreduce both; broadcast and reduce one of them + alpha + beta m (n - 1)/n. Nothing moves
 * less; latency grows with n.
 *
 * Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations,
 * JPDC 2009
 */
#include "algo_parts.h"

static struct sched_step *ring_reduce_scatter(struct sched_builder *b, const struct sched_frame *f)
{
    int32_t r = (int32_t)f->r;
    struct sched_peers next = build_peer(f, r + 1, f->lane), prev = build_peer(f, r - 1, f->lane);
    struct sched_step *step;
    if (f->n > 1) {
        step_send(build_step(b, f->lane), next, build_range(f, f->from, r - 1));

        build_repeat(b, f->lane, f->n - 2);
        step = build_step(b, f->lane);
        step_receive(step, prev);
        step_take(step, build_range(f, f->from, r - 2));
        step->take.move = -1;
        step_send_value(step, next);
        build_end(b, f->lane);
    }
    step = build_step(b, f->lane);
    if (f->n > 1) {
        step_receive(step, prev);
    }
    step_take(step, build_range(f, f->from, r));
    return step;
}

/* From the step whose value is the own chunk on. */
static void ring_pass_on(struct sched_builder *b, const struct sched_frame *f,
                         struct sched_step *own)
{
    int32_t r = (int32_t)f->r;
    struct sched_peers next = build_peer(f, r + 1, f->lane), prev = build_peer(f, r - 1, f->lane);
    if (f->n == 1) {
        return;
    }
    step_send_value(own, next);

    build_repeat(b, f->lane, f->n - 2);
    struct sched_step *step = build_step(b, f->lane);
    step_receive(step, prev);
    step_store(step, build_range(f, f->to, r - 1));
    step->store.move = -1;
    step_send_value(step, next);
    build_end(b, f->lane);

    step = build_step(b, f->lane);
    step_receive(step, prev);
    step_store(step, build_range(f, f->to, r + 1));
}

static void ring_all_gather(struct sched_builder *b, const struct sched_frame *f)
{
    if (f->n > 1) {
        struct sched_step *own = build_step(b, f->lane);
        step_take(own, build_range(f, f->to, (int32_t)f->r));
        ring_pass_on(b, f, own);
    }
}

static void ring_allreduce(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_step *sum = ring_reduce_scatter(b, f);
    step_store(sum, build_range(f, f->to, (int32_t)f->r));
    ring_pass_on(b, f, sum);
}

static void ring_broadcast(struct sched_builder *b, const struct sched_frame *f, bool in_place)
{
    int32_t r = (int32_t)f->r, others = (int32_t)f->n - 1;
    struct sched_step *deal = build_step(b, 0);
    if (r > 0) {
        step_receive(deal, build_peer(f, 0, 0));
        step_store(deal, build_range(f, SCHED_OUT, r));
        ring_pass_on(b, f, deal);
        return;
    }
    if (others > 0) {
        step_send(deal, build_peers(f, 1, others, 0), build_range(f, SCHED_IN, 1));
        deal->send[0].range.per_peer = 1;
    }
    if (!in_place || others == 0) {
        step_take(deal, build_range(f, SCHED_IN, 0));
        step_store(deal, build_range(f, SCHED_OUT, 0));
    }
    ring_all_gather(b, f);
}

static void ring_reduce(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_step *sum = ring_reduce_scatter(b, f);
    if (f->r > 0) {
        step_send_value(sum, build_peer(f, 0, 0));
        return;
    }
    step_store(sum, build_range(f, SCHED_OUT, 0));
    if (f->n > 1) {
        struct sched_step *collect = build_step(b, 0);
        collect->combine = SCHED_PLACE;
        step_receive(collect, build_peers(f, 1, (int32_t)f->n - 1, 0));
        step_store(collect, build_range(f, SCHED_OUT, 1));
        collect->store.per_peer = 1;
    }
}

const struct algorithm_part part_ring = {
    .name = "ring",
    .reduce_scatter = ring_reduce_scatter,
    .all_gather = ring_all_gather,
    .allreduce = ring_allreduce,
    .chunks = part_chunk_each,
    .lanes = 1,
    .role = part_role_same,
};

static void ring_emit(struct sched_builder *builder, const struct sched_request *request,
                      uint32_t position)
{
    struct sched_frame f = build_frame(request, position, request->ranks);
    if (request->collective == COLL_BROADCAST) {
        ring_broadcast(builder, &f, request->in_place);
    } else if (request->collective == COLL_REDUCE) {
        ring_reduce(builder, &f);
    } else {
        part_emit(&part_ring, builder, request, position);
    }
}

static void ring_shape(const struct sched_request *request, struct sched_shape *shape)
{
    shape->chunks = coll_divided(request->collective) ? 1 : request->ranks;
}

static uint32_t ring_role(const struct sched_request *request, uint32_t position)
{
    return coll_rooted(request->collective) ? role_root(request, position) : 0;
}

const struct algorithm algorithm_ring = {
    .name = "ring",
    .what = "chunks go round a ring, summed and then copied on the way",
    .paper = "Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of "
             "workstations, JPDC 2009",
    .collectives = 1 << COLL_ALLREDUCE | 1 << COLL_REDUCE_SCATTER | 1 << COLL_ALL_GATHER |
                   1 << COLL_BROADCAST | 1 << COLL_REDUCE,
    .needs = SCHED_NEEDS_COMMUTATIVE,
    .shape = ring_shape,
    .emit = ring_emit,
    .role = ring_role,
    .order = "chunk c from position c + 1 round to c; the same on all ranks",
};
