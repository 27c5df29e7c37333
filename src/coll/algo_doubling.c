/* algo_doubling.c - recursive doubling: in step k exchange everything with position ^ 2^k.
 *
 *     0 <-> 1     2 <-> 3        after step k all positions of a block of 2^(k+1) have the same:
 *     0 <-------> 2              its sum (allreduce), its chunks (all-gather). In allreduce those
 *           1 <-------> 3        beyond the power of two hand over before and get back after.
 *
 * Cost: allreduce log2 n (alpha + beta m), where folded two steps more; all-gather log2 n alpha
 * + beta m (n - 1)/n. The fewest steps: for short messages.
 *
 * Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH,
 * IJHPCA 2005
 */
#include "algo_parts.h"

static void doubling_allreduce(struct sched_builder *b, const struct sched_frame *f)
{
    struct fold fold = fold_place(f->n, f->r);
    struct sched_range from = build_runs(f, f->from, 0, f->chunks.size);
    struct sched_range to = build_runs(f, f->to, 0, f->chunks.size);
    struct sched_peers partner = build_peer(f, fold.partner, f->lane);
    if (fold.folded) {
        step_send(build_step(b, f->lane), partner, from);
        struct sched_step *back = build_step(b, f->lane);
        step_receive(back, partner);
        step_store(back, to);
        return;
    }
    if (fold.host || f->n == 1) {
        struct sched_step *step = build_step(b, f->lane);
        if (fold.host) {
            step_receive(step, partner);
        }
        step_take(step, from);
        step_store(step, to);
        from = to;
    }
    for (uint32_t distance = 1; distance < fold.core; distance *= 2) {
        struct sched_peers peer = build_peer(f, (int32_t)(f->r ^ distance), f->lane);
        struct sched_step *step = build_step(b, f->lane);
        step_receive(step, peer);
        step_take(step, from);
        step_store(step, to);
        step_send(step, peer, from);
        from = to;
    }
    if (fold.host) {
        step_send(build_step(b, f->lane), partner, to);
    }
}

static void doubling_all_gather(struct sched_builder *b, const struct sched_frame *f)
{
    fold_double(b, f, f->n);
}

static uint32_t doubling_part_role(enum collective collective, uint32_t ranks, uint32_t position)
{
    (void)collective;
    return fold_role(ranks, position);
}

const struct algorithm_part part_doubling = {
    .name = "doubling",
    .allreduce = doubling_allreduce,
    .chunks = part_chunk_one,
    .lanes = 1,
    .role = doubling_part_role,
};

/* Not for parts: the halves of halving-doubling serve any number. */
static const struct algorithm_part all_gather_half = {.all_gather = doubling_all_gather};

static void doubling_emit(struct sched_builder *builder, const struct sched_request *request,
                          uint32_t position)
{
    bool gathers = request->collective == COLL_ALL_GATHER;
    part_emit(gathers ? &all_gather_half : &part_doubling, builder, request, position);
}

static int doubling_fits(const struct sched_request *request, struct error *error)
{
    if (request->collective == COLL_ALL_GATHER && request->ranks & (request->ranks - 1)) {
        return error_set(error, EXIT_INPUT,
                         "doubling: all-gather needs a power of two as number of ranks, not %u: "
                         "halving-doubling, bruck and pat serve any",
                         request->ranks);
    }
    return 0;
}

static uint32_t doubling_role(const struct sched_request *request, uint32_t position)
{
    return fold_role(request->ranks, position);
}

const struct algorithm algorithm_doubling = {
    .name = "doubling",
    .what = "recursive doubling: in step k everything is exchanged with position ^ 2^k",
    .paper = "Thakur, Rabenseifner and Gropp, Optimization of collective communication "
             "operations in MPICH, IJHPCA 2005",
    .collectives = 1 << COLL_ALLREDUCE | 1 << COLL_ALL_GATHER,
    .needs = SCHED_NEEDS_COMMUTATIVE,
    .fits = doubling_fits,
    .shape = shape_plain,
    .emit = doubling_emit,
    .role = doubling_role,
    .order = "the lower block + the higher one; the same on all ranks",
};
