/* algo_double_tree.c - two binary trees, each for half of the message.
 *
 *            0                    7          8 ranks: the second tree is the first one mirrored
 *            |                    |          (shifted by one for an odd number), so who is inner
 *            4                    3          here is a leaf there, and all ports bear the same:
 *          /   \                /   \        three halves here, one half there.
 *         2     6              5     1
 *        / \   / \            / \   / \
 *       1   3 5   7          6   4 2   0
 *
 * Cost, depth d = ceil(log2 n), message in slices: about 2 d alpha + 2 beta m: the latency of a
 * tree, the volume of a ring.
 *
 * Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan, Parallel Computing 2009
 */
#include "algo_parts.h"

/* The second tree's name for a position, and back: the renaming of an even number is its own
 * inverse. */
static uint32_t into_second(uint32_t n, uint32_t position)
{
    return n % 2 ? (position + n - 1) % n : n - 1 - position;
}

static int32_t out_of_second(uint32_t n, int32_t position)
{
    return (int32_t)(n % 2 ? ((uint32_t)position + 1) % n : n - 1 - (uint32_t)position);
}

static struct tree_place second_place(uint32_t n, uint32_t position)
{
    struct tree_place place = tree_place(n, into_second(n, position));
    place.parent = place.parent < 0 ? -1 : out_of_second(n, place.parent);
    for (uint32_t i = 0; i < place.nr_kids; i++) {
        place.kids[i] = out_of_second(n, place.kids[i]);
    }
    return place;
}

static void double_tree_emit(struct sched_builder *builder, const struct sched_request *request,
                             uint32_t position)
{
    struct tree_place first = tree_place(request->ranks, position);
    struct tree_place second = second_place(request->ranks, position);
    struct sched_frame half = build_frame(request, position, 1);
    tree_allreduce(builder, &half, &first);
    half.chunks.base = 1;
    half.lane = 2;
    tree_allreduce(builder, &half, &second);
}

static void double_tree_shape(const struct sched_request *request, struct sched_shape *shape)
{
    (void)request;
    shape->chunks = 2;
    shape->lanes = 4;
}

/* Who is a leaf here and inner there; both roots and, for odd numbers, the last one are alone. */
static uint32_t double_tree_role(const struct sched_request *request, uint32_t position)
{
    uint32_t n = request->ranks;
    if (position <= 1 || position == n - 1) {
        return position;
    }
    return position % 2 == 0 ? 2 : n % 2 ? 3 : 1;
}

const struct algorithm algorithm_double_tree = {
    .name = "double-tree",
    .what = "two binary trees, inner here is leaf there, each for half of the message",
    .paper = "Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast, "
             "reduction and scan, Parallel Computing 2009",
    .collectives = 1 << COLL_ALLREDUCE,
    .needs = SCHED_NEEDS_COMMUTATIVE,
    .shape = double_tree_shape,
    .emit = double_tree_emit,
    .role = double_tree_role,
    .order = "a parent with its children, in ascending positions; the same on all ranks",
};
