/* algo_common.c - what many rows say in the same way: how a part becomes a whole collective, and
 * the usual chunk counts and roles. */
#include "algo_parts.h"

static void emit_reduce_scatter(const struct algorithm_part *part, struct sched_builder *builder,
                                const struct sched_request *request, uint32_t position)
{
    struct sched_frame f = build_frame(request, position, request->ranks);
    struct sched_frame own = build_frame(request, position, 1);
    f.to = SCHED_SCRATCH;
    step_store(part->reduce_scatter(builder, &f), build_range(&own, SCHED_OUT, 0));
}

static void emit_all_gather(const struct algorithm_part *part, struct sched_builder *builder,
                            const struct sched_request *request, uint32_t position)
{
    struct sched_frame f = build_frame(request, position, request->ranks);
    struct sched_frame own = build_frame(request, position, 1);
    build_own_part(builder, request, build_range(&own, SCHED_IN, 0),
                   build_range(&f, SCHED_OUT, (int32_t)f.r));
    part->all_gather(builder, &f);
}

void part_emit(const struct algorithm_part *part, struct sched_builder *builder,
               const struct sched_request *request, uint32_t position)
{
    if (request->collective == COLL_REDUCE_SCATTER) {
        emit_reduce_scatter(part, builder, request, position);
    } else if (request->collective == COLL_ALL_GATHER) {
        emit_all_gather(part, builder, request, position);
    } else {
        struct sched_frame f = build_frame(request, position, part->chunks(request->ranks));
        part->allreduce(builder, &f);
    }
}

void part_halves(const struct algorithm_part *part, struct sched_builder *builder,
                 const struct sched_frame *frame)
{
    step_store(part->reduce_scatter(builder, frame),
               build_range(frame, frame->to, (int32_t)frame->r));
    part->all_gather(builder, frame);
}

uint32_t part_chunk_each(uint32_t ranks)
{
    return ranks;
}

uint32_t part_chunk_one(uint32_t ranks)
{
    (void)ranks;
    return 1;
}

uint32_t part_role_same(enum collective collective, uint32_t ranks, uint32_t position)
{
    (void)collective, (void)ranks, (void)position;
    return 0;
}

void shape_plain(const struct sched_request *request, struct sched_shape *shape)
{
    (void)request;
    shape->chunks = 1;
}

uint32_t role_same(const struct sched_request *request, uint32_t position)
{
    (void)request, (void)position;
    return 0;
}

uint32_t role_root(const struct sched_request *request, uint32_t position)
{
    (void)request;
    return position > 0;
}

void build_own_part(struct sched_builder *builder, const struct sched_request *request,
                    struct sched_range from, struct sched_range to)
{
    if (!request->in_place) {
        build_copy(builder, 0, from, to);
    }
}

struct sched_step *build_pass_down(struct sched_builder *builder, const struct sched_frame *frame,
                                   int32_t above, bool in_place)
{
    struct sched_step *step = build_step(builder, 0);
    bool root = above < 0;
    if (root) {
        step_take(step, build_range(frame, SCHED_IN, 0));
    } else {
        step_receive(step, build_peer(frame, above, 0));
    }
    if (!root || !in_place || frame->n == 1) { /* alone it would have nothing to do */
        step_store(step, build_range(frame, SCHED_OUT, 0));
    }
    return step;
}
