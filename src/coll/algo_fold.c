/* algo_fold.c - arithmetic of rows that exchange with position ^ 2^k, for any number of ranks.
 *
 *     6 ranks, core 4     0 <-> 1     4 is folded onto 0, 5 onto 1: the blocks of 0 hold chunks 0
 *                         |     |     and 4, those of 1 chunks 1 and 5
 *                         2 <-> 3
 */
#include "algo_parts.h"

struct fold fold_place(uint32_t ranks, uint32_t position)
{
    struct fold fold = {.core = 1};
    while (fold.core <= ranks / 2) {
        fold.core *= 2;
    }
    fold.folded = position >= fold.core;
    fold.host = position + fold.core < ranks;
    fold.partner = (int32_t)(fold.folded ? position - fold.core : position + fold.core);
    return fold;
}

uint32_t fold_role(uint32_t ranks, uint32_t position)
{
    struct fold fold = fold_place(ranks, position);
    return fold.folded ? fold.core : fold.host ? 0 : ranks - fold.core;
}

struct sched_range fold_block(const struct sched_frame *frame, enum sched_buffer buffer,
                              uint32_t core, uint32_t lo, uint32_t size)
{
    struct sched_range block = build_runs(frame, buffer, (int32_t)lo, (int32_t)size);
    if (frame->chunks.size > (int32_t)core) {
        block.runs = 2;
        block.gap = (int32_t)core;
        block.last = frame->chunks.size;
    }
    return block;
}

void fold_double(struct sched_builder *builder, const struct sched_frame *frame, uint32_t core)
{
    for (uint32_t size = 1; size < core; size *= 2) {
        uint32_t mine = frame->r - frame->r % size, theirs = mine ^ size;
        struct sched_peers peer = build_peer(frame, (int32_t)(frame->r ^ size), frame->lane);
        struct sched_step *step = build_step(builder, frame->lane);
        step_receive(step, peer);
        step_store(step, fold_block(frame, frame->to, core, theirs, size));
        step_send(step, peer, fold_block(frame, frame->to, core, mine, size));
    }
}
