/* algo_halving_doubling.c - recursive halving, then doubling: large exchanges with far positions,
 * small ones with near ones, and back.
 *
 *     position 0 of 8     reduce-scatter    [++++----] <-> 4     keep +, give -, add what comes
 *                                           [++--]     <-> 2
 *                                           [+-]       <-> 1     ends with chunk 0 of the sum
 *                         all-gather        the same backwards
 *
 * Cost, n a power of two: reduce-scatter and all-gather log2 n alpha + beta m (n - 1)/n each,
 * allreduce both: a ring's volume in 2 log2 n steps. Else those beyond the power of two hand over
 * before and get their part after: two steps and at most 2 m more.
 *
 * Rabenseifner, Optimization of collective reduction operations, ICCS 2004
 */
#include "algo_parts.h"

static struct sched_range whole(const struct sched_frame *f, enum sched_buffer buffer)
{
    return build_runs(f, buffer, 0, f->chunks.size);
}

/* Halves over the core, beginning with what lies in `source`; returns the last step, whose value is
 * block r. */
static struct sched_step *halve(struct sched_builder *b, const struct sched_frame *f, uint32_t core,
                                enum sched_buffer source)
{
    struct sched_step *step = NULL;
    for (uint32_t size = core / 2; size > 0; size /= 2) {
        uint32_t mine = f->r - f->r % size, theirs = mine ^ size;
        struct sched_peers peer = build_peer(f, (int32_t)(f->r ^ size), f->lane);
        step = build_step(b, f->lane);
        step_receive(step, peer);
        step_take(step, fold_block(f, source, core, mine, size));
        step_store(step, fold_block(f, f->to, core, mine, size));
        step_send(step, peer, fold_block(f, source, core, theirs, size));
        source = f->to;
    }
    if (!step) { /* alone */
        step = build_step(b, f->lane);
        step_take(step, fold_block(f, source, core, f->r, 1));
    }
    return step;
}

/* A host adds the whole of the one folded onto it. Returns where its input lies from now on. */
static enum sched_buffer take_in(struct sched_builder *b, const struct sched_frame *f,
                                 const struct fold *fold)
{
    if (!fold->host) {
        return f->from;
    }
    struct sched_step *step = build_step(b, f->lane);
    step_receive(step, build_peer(f, fold->partner, f->lane));
    step_take(step, whole(f, f->from));
    step_store(step, whole(f, f->to));
    return f->to;
}

static struct sched_step *receive_back(struct sched_builder *b, const struct sched_frame *f,
                                       const struct fold *fold)
{
    struct sched_step *step = build_step(b, f->lane);
    step_receive(step, build_peer(f, fold->partner, f->lane));
    return step;
}

static struct sched_step *hd_reduce_scatter(struct sched_builder *b, const struct sched_frame *f)
{
    struct fold fold = fold_place(f->n, f->r);
    struct sched_peers partner = build_peer(f, fold.partner, f->lane);
    if (fold.folded) {
        step_send(build_step(b, f->lane), partner, whole(f, f->from));
        return receive_back(b, f, &fold);
    }
    enum sched_buffer sums = take_in(b, f, &fold);
    struct sched_step *step = halve(b, f, fold.core, sums);
    if (fold.host) {
        step = build_step(b, f->lane);
        step_take(step, build_range(f, f->to, (int32_t)f->r));
        step_send(step, partner, build_range(f, f->to, fold.partner));
    }
    return step;
}

static void hd_all_gather(struct sched_builder *b, const struct sched_frame *f)
{
    struct fold fold = fold_place(f->n, f->r);
    struct sched_peers partner = build_peer(f, fold.partner, f->lane);
    if (fold.folded) {
        step_send(build_step(b, f->lane), partner, build_range(f, f->to, (int32_t)f->r));
        step_store(receive_back(b, f, &fold), whole(f, f->to));
        return;
    }
    if (fold.host) {
        step_store(receive_back(b, f, &fold), build_range(f, f->to, fold.partner));
    }
    fold_double(b, f, fold.core);
    if (fold.host) {
        step_send(build_step(b, f->lane), partner, whole(f, f->to));
    }
}

/* Folds once around both halves: those beyond the power of two own no chunk. */
static void hd_allreduce(struct sched_builder *b, const struct sched_frame *f)
{
    struct fold fold = fold_place(f->n, f->r);
    struct sched_peers partner = build_peer(f, fold.partner, f->lane);
    if (fold.folded) {
        step_send(build_step(b, f->lane), partner, whole(f, f->from));
        step_store(receive_back(b, f, &fold), whole(f, f->to));
        return;
    }
    enum sched_buffer sums = take_in(b, f, &fold);
    step_store(halve(b, f, fold.core, sums), build_range(f, f->to, (int32_t)f->r));
    fold_double(b, f, fold.core);
    if (fold.host) {
        step_send(build_step(b, f->lane), partner, whole(f, f->to));
    }
}

static uint32_t hd_chunks(uint32_t ranks)
{
    return fold_place(ranks, 0).core;
}

/* Blocks are larger where positions are folded onto them: 0..hosts - 1. Alike are those of the
 * largest block around a position whose members are all hosts or none. */
static uint32_t hd_role_in(enum collective collective, uint32_t ranks, uint32_t position)
{
    struct fold fold = fold_place(ranks, position);
    uint32_t hosts = ranks - fold.core, size = fold.core, lo = 0;
    if (collective == COLL_ALLREDUCE || fold.folded) {
        return fold_role(ranks, position);
    }
    while (lo < hosts && hosts < lo + size) {
        size /= 2;
        lo = position - position % size;
    }
    return lo;
}

const struct algorithm_part part_halving_doubling = {
    .name = "halving-doubling",
    .reduce_scatter = hd_reduce_scatter,
    .all_gather = hd_all_gather,
    .allreduce = hd_allreduce,
    .chunks = hd_chunks,
    .lanes = 1,
    .role = hd_role_in,
};

static void hd_emit(struct sched_builder *builder, const struct sched_request *request,
                    uint32_t position)
{
    part_emit(&part_halving_doubling, builder, request, position);
}

static void hd_shape(const struct sched_request *request, struct sched_shape *shape)
{
    shape->chunks = request->collective == COLL_ALLREDUCE ? hd_chunks(request->ranks) : 1;
    shape->scratch = request->collective == COLL_REDUCE_SCATTER ? request->ranks : 0;
}

static uint32_t hd_role(const struct sched_request *request, uint32_t position)
{
    return hd_role_in(request->collective, request->ranks, position);
}

const struct algorithm algorithm_halving_doubling = {
    .name = "halving-doubling",
    .what = "recursive halving of what is summed, then doubling of what is known",
    .paper = "Rabenseifner, Optimization of collective reduction operations, ICCS 2004",
    .collectives = 1 << COLL_ALLREDUCE | 1 << COLL_REDUCE_SCATTER | 1 << COLL_ALL_GATHER,
    .needs = SCHED_NEEDS_COMMUTATIVE,
    .shape = hd_shape,
    .emit = hd_emit,
    .role = hd_role,
    .order = "pairs of positions far apart first; the same on all ranks",
};
