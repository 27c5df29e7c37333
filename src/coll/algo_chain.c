/* algo_chain.c - chain: one behind the other; slices pass on before the chunk is whole.
 *
 *     broadcast   0 --> 1 --> 2 --> 3          reduce   0 <-- 1 <-- 2 <-- 3
 *
 * Cost, s slices of m/s bytes: (n - 2 + s)(alpha + beta m/s), so about beta m for long messages,
 * whatever n is.
 *
 * Watts and van de Geijn, A pipelined broadcast for multidimensional meshes, Parallel Processing
 * Letters 1995
 */
#include "algo_parts.h"

static void chain_broadcast(struct sched_builder *b, const struct sched_frame *f, bool in_place)
{
    int32_t r = (int32_t)f->r, last = (int32_t)f->n - 1;
    struct sched_step *step = build_pass_down(b, f, r - 1, in_place);
    if (r < last) {
        step_send_value(step, build_peer(f, r + 1, 0));
    }
}

static void chain_reduce(struct sched_builder *b, const struct sched_frame *f)
{
    int32_t r = (int32_t)f->r, last = (int32_t)f->n - 1;
    struct sched_step *step = build_step(b, 0);
    if (r < last) {
        step_receive(step, build_peer(f, r + 1, 0));
    }
    step_take(step, build_range(f, SCHED_IN, 0));
    if (r > 0) {
        step_send_value(step, build_peer(f, r - 1, 0));
    } else {
        step_store(step, build_range(f, SCHED_OUT, 0));
    }
}

static void chain_emit(struct sched_builder *builder, const struct sched_request *request,
                       uint32_t position)
{
    struct sched_frame f = build_frame(request, position, 1);
    if (request->collective == COLL_BROADCAST) {
        chain_broadcast(builder, &f, request->in_place);
    } else {
        chain_reduce(builder, &f);
    }
}

static uint32_t chain_role(const struct sched_request *request, uint32_t position)
{
    bool end = position == 0 || position == request->ranks - 1;
    return end ? position : 1;
}

const struct algorithm algorithm_chain = {
    .name = "chain",
    .what = "a pipeline from rank to rank, the root at one end",
    .paper = "Watts and van de Geijn, A pipelined broadcast for multidimensional meshes, Parallel "
             "Processing Letters 1995",
    .collectives = 1 << COLL_BROADCAST | 1 << COLL_REDUCE,
    .shape = shape_plain,
    .emit = chain_emit,
    .role = chain_role,
    .order = "from the last position down to the root",
};
