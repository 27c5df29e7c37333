/* algo_one_shot.c - one-shot: everybody reads what it needs from everybody's buffer.
 *
 *     in      a   b   c   d       each position pulls all inputs (in a reduce-scatter its part of
 *             |\ /|\ /|\ /|       them) and adds in registers: one step, nothing copied, for
 *     out     S   S   S   S       allreduce n - 1 times the message
 *
 * In place nobody may write where others still read: the sum goes to scratch, and home when all
 * have read.
 *
 * Cost: allreduce alpha + (n - 1) beta m; reduce-scatter and all-gather alpha + beta m (n - 1)/n.
 * For short messages where peers' memory can be addressed.
 *
 * Shah et al., MSCCL++: Rethinking GPU communication abstractions for AI inference, 2025
 */
#include "algo_parts.h"

static void one_shot_allreduce(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_step *step = build_step(b, f->lane);
    step->via = SCHED_PULL;
    step_take(step, build_runs(f, f->from, 0, f->chunks.size));
    step_store(step, build_runs(f, f->to, 0, f->chunks.size));
    if (f->n > 1) {
        struct sched_peers others = build_peers(f, (int32_t)f->r + 1, (int32_t)f->n - 1, f->lane);
        step_receive(step, others);
        step_send(step, others, step->take);
    }
}

static struct sched_step *pull_reduce_scatter(struct sched_builder *b, const struct sched_frame *f)
{
    return direct_reduce_scatter(b, f, SCHED_PULL);
}

static void pull_all_gather(struct sched_builder *b, const struct sched_frame *f)
{
    direct_all_gather(b, f, SCHED_PULL);
}

const struct algorithm_part part_one_shot = {
    .name = "one-shot",
    .reduce_scatter = pull_reduce_scatter,
    .all_gather = pull_all_gather,
    .allreduce = one_shot_allreduce,
    .chunks = part_chunk_one,
    .lanes = 1,
    .role = part_role_same,
};

/* The root's buffer is read by all. */
static void one_shot_broadcast(struct sched_builder *b, const struct sched_frame *f, bool in_place)
{
    struct sched_step *step = build_pass_down(b, f, f->r > 0 ? 0 : -1, in_place);
    step->via = SCHED_PULL;
    if (f->r == 0 && f->n > 1) {
        step_send(step, build_peers(f, 1, (int32_t)f->n - 1, 0), step->take);
    }
}

/* The root reads all buffers. */
static void one_shot_reduce(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_step *step = build_step(b, 0);
    step->via = SCHED_PULL;
    if (f->r > 0) {
        step_send(step, build_peer(f, 0, 0), build_range(f, SCHED_IN, 0));
        return;
    }
    if (f->n > 1) {
        step_receive(step, build_peers(f, 1, (int32_t)f->n - 1, 0));
    }
    step_take(step, build_range(f, SCHED_IN, 0));
    step_store(step, build_range(f, SCHED_OUT, 0));
}

static void one_shot_emit(struct sched_builder *b, const struct sched_request *request,
                          uint32_t position)
{
    struct sched_frame f = build_frame(request, position, 1);
    if (request->collective == COLL_BROADCAST) {
        one_shot_broadcast(b, &f, request->in_place);
    } else if (request->collective == COLL_REDUCE) {
        one_shot_reduce(b, &f);
    } else if (request->collective == COLL_ALLREDUCE && request->in_place) {
        f.to = SCHED_SCRATCH;
        one_shot_allreduce(b, &f);
        build_copy(b, 0, build_range(&f, SCHED_SCRATCH, 0), build_range(&f, SCHED_OUT, 0));
    } else {
        part_emit(&part_one_shot, b, request, position);
    }
}

static void one_shot_shape(const struct sched_request *request, struct sched_shape *shape)
{
    shape->scratch = request->collective == COLL_ALLREDUCE && request->in_place;
}

static uint32_t one_shot_role(const struct sched_request *request, uint32_t position)
{
    return coll_rooted(request->collective) ? role_root(request, position) : 0;
}

const struct algorithm algorithm_one_shot = {
    .name = "one-shot",
    .what = "everybody reads from everybody's buffer, once",
    .paper = "Shah et al., MSCCL++: Rethinking GPU communication abstractions for AI inference, "
             "2025",
    .collectives = 1 << COLL_ALLREDUCE | 1 << COLL_REDUCE_SCATTER | 1 << COLL_ALL_GATHER |
                   1 << COLL_BROADCAST | 1 << COLL_REDUCE,
    .needs = SCHED_NEEDS_DIRECT | SCHED_NEEDS_COMMUTATIVE,
    .shape = one_shot_shape,
    .emit = one_shot_emit,
    .role = one_shot_role,
    .order = "ascending positions; the same on all ranks",
};
