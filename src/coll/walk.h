/* walk.h - all views of a schedule, computed: unrolled on demand, folded by role, counted.
 */
#ifndef CCLTUNE_WALK_H
#define CCLTUNE_WALK_H

#include "schedule.h"

/* ---- one lane of one position, step by step ---- */

#define WALK_DEPTH 3

struct walk {
    const struct sched_item *items[WALK_DEPTH];
    size_t nr[WALK_DEPTH], at[WALK_DEPTH];
    uint32_t turn[WALK_DEPTH]; /* repetition at each depth */
    unsigned depth;
};

/* A step in its repetition: `outer` = turn of the outermost repeat around it, `inner` = turn of the
 * innermost. In a single repeat both are its turn, outside any repeat both are 0. */
struct walk_step {
    const struct sched_step *step;
    uint32_t outer, inner;
};

void walk_begin(struct walk *walk, const struct sched_lane *lane);
bool walk_next(struct walk *walk, struct walk_step *step); /* false: the loop is over */

/* The i-th unrolled step (DESIGN's sched_step); -1 behind the last. O(i). */
int sched_step(const struct sched_program *program, uint8_t lane, uint64_t i,
               struct walk_step *step);

/* Steps of a lane, unrolled, without walking them. */
uint64_t walk_length(const struct sched_lane *lane);

/* ---- what a step touches ---- */

/* Index x of a space in a repetition. */
int32_t walk_space(const struct sched_space *space, int64_t x, uint32_t outer);
/* Position of the k-th peer of a list. */
uint32_t walk_peer(const struct sched_peers *peers, uint32_t k, const struct walk_step *at);
/* Chunks of a range: how many (the same in every repetition, for every peer), and the i-th index
 * for the `peer`-th peer of its step. Peers are counted within their list. */
uint32_t walk_range_length(const struct sched_range *range);
uint32_t walk_range_chunk(const struct sched_range *range, uint32_t peer, uint32_t i,
                          const struct walk_step *at);
/* The chunks of a step's value: `store`, else `take`; NULL: it has neither, its value is empty. */
const struct sched_range *walk_value(const struct sched_step *step);
/* Peers over all receive lists, and over all send lists. */
uint32_t walk_receives(const struct sched_step *step);
uint32_t walk_sends(const struct sched_step *step);

/* ---- counted ---- */

/* Of one loop, over all positions and lanes; channels do not multiply it. A message to oneself is a
 * token between lanes and no message here; a group's send is one message, since the group copies
 * it.
 *
 * Rounds: the longest chain of messages. A message follows all that earlier steps of its lane have
 * received and sent, and, if it carries the step's value, what this step receives; the sends of one
 * step do not wait for each other, so one round serves many peers. So ring allreduce has 2(n - 1),
 * recursive doubling log2 n (and two when it folds), halving-doubling 2 log2 n (and two), a tree
 * its depth up and down, one-shot 1, two-shot 2, Bruck ceil(log2 n), pairwise all-to-all n - 1.
 * Slices pass on before a message is whole, so a pipeline's rounds are its depth. */
struct walk_count {
    uint64_t steps;          /* unrolled */
    uint64_t items;          /* steps written down, of the position with most */
    uint64_t messages;       /* to another position */
    uint64_t chunks_sent;    /* chunks of all messages */
    uint64_t most_sent;      /* chunks sent by the position that sends most */
    uint64_t chunks_reduced; /* additions: inputs - 1 of every reduce step, per chunk */
    uint64_t rounds;
};

/* Only the rounds, at any size. Fails when a receive waits for ever; its peers must be within the
 * group. */
int walk_rounds(const struct schedule *schedule, uint64_t *rounds, struct error *error);
/* Unrolled: every position walked, messages matched. Fails as walk_rounds does, which is
 * asked for up to 4,096 positions; beyond, `rounds` is 0: not counted. */
int walk_count_all(const struct schedule *schedule, struct walk_count *count, struct error *error);
/* Folded: one position a role, times its positions. `rounds` is 0: it belongs to the whole. */
int walk_count_folded(const struct schedule *schedule, struct walk_count *count,
                      struct error *error);

#endif
