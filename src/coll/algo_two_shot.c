/* algo_two_shot.c - two-shot: each position sums one part, then all read each other's sums.
 *
 *     in     [a0 a1 a2] [b0 b1 b2] [c0 c1 c2]     shot 1: position p pulls part p of all and adds
 *     out    [S0      ] [   S1   ] [      S2]
 *     out    [S0 S1 S2] [S0 S1 S2] [S0 S1 S2]     shot 2: everybody pulls the other sums
 *
 * Cost: 2 alpha + 2 beta m (n - 1)/n: a ring's volume in two steps, where peers' memory can be
 * addressed.
 *
 * Shah et al., MSCCL++: Rethinking GPU communication abstractions for AI inference, 2025
 */
#include "algo_parts.h"

/* One-shot's reduce-scatter, then its all-gather. In place too: a position writes its own part,
 * which nobody else reads in shot 1, and shot 2 begins when shot 1 is read out. */
static void two_shot_allreduce(struct sched_builder *b, const struct sched_frame *f)
{
    part_halves(&part_one_shot, b, f);
}

const struct algorithm_part part_two_shot = {
    .name = "two-shot",
    .allreduce = two_shot_allreduce,
    .chunks = part_chunk_each,
    .lanes = 1,
    .role = part_role_same,
};

static void two_shot_emit(struct sched_builder *b, const struct sched_request *request,
                          uint32_t position)
{
    part_emit(&part_two_shot, b, request, position);
}

static void two_shot_shape(const struct sched_request *request, struct sched_shape *shape)
{
    shape->chunks = request->ranks;
}

const struct algorithm algorithm_two_shot = {
    .name = "two-shot",
    .what = "everybody sums one part of all buffers, then reads the others' sums",
    .paper = "Shah et al., MSCCL++: Rethinking GPU communication abstractions for AI inference, "
             "2025",
    .collectives = 1 << COLL_ALLREDUCE,
    .needs = SCHED_NEEDS_DIRECT | SCHED_NEEDS_COMMUTATIVE,
    .shape = two_shot_shape,
    .emit = two_shot_emit,
    .role = role_same,
    .order = "ascending positions; the same on all ranks",
};
