/* algo_parts.h - the rows, and rows as parts of other rows.
 *
 * Most rows serve several collectives out of the same two halves: a reduce-scatter and an
 * all-gather. A part is those halves, and the allreduce, written for a frame; so they serve the
 * whole group as well as one level of a hierarchy. Only algorithm files include this.
 */
#ifndef CCLTUNE_ALGO_PARTS_H
#define CCLTUNE_ALGO_PARTS_H

#include "sched_build.h"

struct algorithm_part { /* what it lacks is NULL */
    const char *name;
    /* Chunk c of every position's `from` is summed at position c. Returns the last step, whose
     * value is the own sum; the caller says where it goes. Sums under way lie in `to` under their
     * own index, where an algorithm needs the room. */
    struct sched_step *(*reduce_scatter)(struct sched_builder *builder,
                                         const struct sched_frame *frame);
    /* Position c has chunk c in `to`; afterwards everybody has every chunk there. */
    void (*all_gather)(struct sched_builder *builder, const struct sched_frame *frame);
    /* The sum of everybody's `from` goes to everybody's `to`, all chunks of the frame. */
    void (*allreduce)(struct sched_builder *builder, const struct sched_frame *frame);
    uint32_t (*chunks)(uint32_t ranks); /* of an allreduce; the halves have one a rank */
    uint32_t lanes;                     /* of an allreduce; only the first reads `from` */
    uint32_t (*role)(enum collective collective, uint32_t ranks, uint32_t position);
};

extern const struct algorithm algorithm_ring, algorithm_chain, algorithm_tree,
    algorithm_double_tree, algorithm_doubling, algorithm_halving_doubling, algorithm_bruck,
    algorithm_one_shot, algorithm_two_shot, algorithm_direct, algorithm_pairwise, algorithm_pat,
    algorithm_hierarchical, algorithm_nvls, algorithm_nvls_tree;

extern const struct algorithm_part part_ring, part_tree, part_doubling, part_halving_doubling,
    part_one_shot, part_two_shot, part_direct, part_pat, part_nvls;

/* The program of a row that is a part: allreduce, reduce-scatter or all-gather of the whole group.
 * In a reduce-scatter `to` is scratch of one chunk a rank. */
void part_emit(const struct algorithm_part *part, struct sched_builder *builder,
               const struct sched_request *request, uint32_t position);

/* A part that allreduces by its two halves, one after the other. */
void part_halves(const struct algorithm_part *part, struct sched_builder *builder,
                 const struct sched_frame *frame);

/* What the rows share: chunk counts, shapes and roles of the usual kinds. */
uint32_t part_chunk_each(uint32_t ranks); /* one a rank */
uint32_t part_chunk_one(uint32_t ranks);
uint32_t part_role_same(enum collective collective, uint32_t ranks, uint32_t position); /* all */
void shape_plain(const struct sched_request *request,
                 struct sched_shape *shape);                                /* a chunk a part */
uint32_t role_same(const struct sched_request *request, uint32_t position); /* all */
uint32_t role_root(const struct sched_request *request, uint32_t position); /* root, others */

/* The own part of a collective that divides: `in` to its place in `out`, unless it lies there. */
void build_own_part(struct sched_builder *builder, const struct sched_request *request,
                    struct sched_range from, struct sched_range to);

/* A broadcast's step: the message comes from `above` (-1: this is the root) and goes to `out`,
 * unless it lies there; the caller sends it on. */
struct sched_step *build_pass_down(struct sched_builder *builder, const struct sched_frame *frame,
                                   int32_t above, bool in_place);

/* ---- Two halves of the rows that speak to everybody at once (algo_direct.c) ---- */

struct sched_step *direct_reduce_scatter(struct sched_builder *builder,
                                         const struct sched_frame *frame, enum sched_via via);
struct sched_step *direct_all_gather(struct sched_builder *builder, const struct sched_frame *frame,
                                     enum sched_via via);

/* ---- Hierarchies (algo_levels.c) ---- */

struct hierarchy {
    const struct algorithm_part *inner; /* of all levels but the outermost */
    const struct algorithm_part *outer;
};

void levels_emit(struct sched_builder *builder, const struct sched_request *request,
                 uint32_t position, const struct hierarchy *rows);
void levels_shape(const struct sched_request *request, struct sched_shape *shape,
                  const struct hierarchy *rows);
uint32_t levels_role(const struct sched_request *request, uint32_t position,
                     const struct hierarchy *rows);

/* ---- Trees (algo_tree.c) ---- */

struct tree_place { /* positions; parent -1: the root */
    int32_t parent, kids[2];
    uint32_t nr_kids;
};

/* Where r stands in the in-order binary tree of n positions, and the lowest position like it. */
struct tree_place tree_place(uint32_t ranks, uint32_t position);
uint32_t tree_role(uint32_t ranks, uint32_t position);

/* Up in the frame's first lane, down in its second. */
void tree_allreduce(struct sched_builder *builder, const struct sched_frame *frame,
                    const struct tree_place *place);

/* ---- Beyond the power of two (algo_fold.c) ---- */

/* Exchanges with position ^ 2^k want a power of two, the *core*: 0..core-1. Position core + i is
 * folded: it hands its data to i and gets the result back from it. */
struct fold {
    uint32_t core;
    bool folded; /* this one hands over */
    bool host;   /* this one takes in position + core */
    int32_t partner;
};

struct fold fold_place(uint32_t ranks, uint32_t position);
uint32_t fold_role(uint32_t ranks, uint32_t position); /* folded, host, neither */

/* Chunks lo .. lo + size - 1 of the core, with those of the positions folded onto them if the frame
 * has chunks for these too. */
struct sched_range fold_block(const struct sched_frame *frame, enum sched_buffer buffer,
                              uint32_t core, uint32_t lo, uint32_t size);

/* Recursive doubling over the core: position r brings block r, and then has all in `to`. */
void fold_double(struct sched_builder *builder, const struct sched_frame *frame, uint32_t core);

#endif
