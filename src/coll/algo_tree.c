/* algo_tree.c - binary tree: sums go up, the result comes down, at the same time in two lanes.
 *
 *             0             8 ranks, in order: a position's lowest set bit is its height, so odd
 *             |             ones are leaves, and ranks of one host sit close together. The root
 *             4             has one child.
 *           /   \
 *          2     6          lane 0, up:    receive from the children, add the own, send to the
 *         / \   / \                        parent (the root: to its lane 1)
 *        1   3 5   7        lane 1, down:  receive from the parent, store, send to the children
 *
 * Cost, depth d = ceil(log2 n), message in slices: about 2 d alpha + 3 beta m through the one port
 * of an inner position, which sends one message up and two down.
 *
 * Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan, Parallel Computing 2009
 */
#include "algo_parts.h"

struct tree_place tree_place(uint32_t ranks, uint32_t position)
{
    uint32_t height = 1; /* of the subtree: half of what it spans */
    while (height < ranks && !(position & height)) {
        height *= 2;
    }
    uint32_t parent = (position ^ height) | height * 2;
    struct tree_place place = {.parent = (int32_t)(parent < ranks ? parent : position ^ height)};
    if (position == 0) {
        place.parent = -1;
    } else if (height > 1) {
        place.kids[place.nr_kids++] = (int32_t)(position - height / 2);
    }
    for (height /= 2; height > 0 && position + height >= ranks; height /= 2) {
    }
    if (height > 0) {
        place.kids[place.nr_kids++] = (int32_t)(position + height);
    }
    return place;
}

/* The root, leaves, inner positions, and the last one where it has but one child. */
uint32_t tree_role(uint32_t ranks, uint32_t position)
{
    if (position == 0 || position == ranks - 1) {
        return position > 0 && position % 2 ? 1 : position;
    }
    return position % 2 ? 1 : 2;
}

static struct sched_range whole(const struct sched_frame *f, enum sched_buffer buffer)
{
    return build_runs(f, buffer, 0, f->chunks.size);
}

static struct sched_step *tree_up(struct sched_builder *b, const struct sched_frame *f,
                                  const struct tree_place *place, uint8_t lane)
{
    struct sched_step *step = build_step(b, lane);
    for (uint32_t i = 0; i < place->nr_kids; i++) {
        step_receive(step, build_peer(f, place->kids[i], lane));
    }
    step_take(step, whole(f, f->from));
    return step;
}

static void tree_down(struct sched_step *step, const struct sched_frame *f,
                      const struct tree_place *place, uint8_t lane)
{
    for (uint32_t i = 0; i < place->nr_kids; i++) {
        step_send_value(step, build_peer(f, place->kids[i], lane));
    }
}

void tree_allreduce(struct sched_builder *b, const struct sched_frame *f,
                    const struct tree_place *place)
{
    bool root = place->parent < 0;
    int32_t above = root ? (int32_t)f->r : place->parent;
    uint8_t up = f->lane, down = (uint8_t)(f->lane + 1);

    step_send_value(tree_up(b, f, place, up), build_peer(f, above, root ? down : up));

    struct sched_step *step = build_step(b, down);
    step_receive(step, build_peer(f, above, root ? up : down));
    step_store(step, whole(f, f->to));
    tree_down(step, f, place, down);
}

static void tree_reduce(struct sched_builder *b, const struct sched_frame *f,
                        const struct tree_place *place)
{
    struct sched_step *step = tree_up(b, f, place, 0);
    if (place->parent < 0) {
        step_store(step, whole(f, SCHED_OUT));
    } else {
        step_send_value(step, build_peer(f, place->parent, 0));
    }
}

static void tree_broadcast(struct sched_builder *b, const struct sched_frame *f,
                           const struct tree_place *place, bool in_place)
{
    tree_down(build_pass_down(b, f, place->parent, in_place), f, place, 0);
}

static void tree_part_allreduce(struct sched_builder *b, const struct sched_frame *f)
{
    struct tree_place place = tree_place(f->n, f->r);
    tree_allreduce(b, f, &place);
}

static uint32_t tree_part_role(enum collective collective, uint32_t ranks, uint32_t position)
{
    (void)collective;
    return tree_role(ranks, position);
}

const struct algorithm_part part_tree = {
    .name = "tree",
    .allreduce = tree_part_allreduce,
    .chunks = part_chunk_one,
    .lanes = 2,
    .role = tree_part_role,
};

static void tree_emit(struct sched_builder *builder, const struct sched_request *request,
                      uint32_t position)
{
    struct sched_frame f = build_frame(request, position, 1);
    struct tree_place place = tree_place(request->ranks, position);
    if (request->collective == COLL_ALLREDUCE) {
        tree_allreduce(builder, &f, &place);
    } else if (request->collective == COLL_REDUCE) {
        tree_reduce(builder, &f, &place);
    } else {
        tree_broadcast(builder, &f, &place, request->in_place);
    }
}

static void tree_shape(const struct sched_request *request, struct sched_shape *shape)
{
    shape->lanes = request->collective == COLL_ALLREDUCE ? 2 : 1;
}

static uint32_t tree_request_role(const struct sched_request *request, uint32_t position)
{
    return tree_role(request->ranks, position);
}

const struct algorithm algorithm_tree = {
    .name = "tree",
    .what = "sums go up a binary tree, the result comes down, slice by slice",
    .paper = "Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast, "
             "reduction and scan, Parallel Computing 2009",
    .collectives = 1 << COLL_ALLREDUCE | 1 << COLL_BROADCAST | 1 << COLL_REDUCE,
    .needs = SCHED_NEEDS_COMMUTATIVE,
    .shape = tree_shape,
    .emit = tree_emit,
    .role = tree_request_role,
    .order = "a parent with its children, in ascending positions; the same on all ranks",
};
