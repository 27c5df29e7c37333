/* algo_nvls_tree.c - NVLS inside, a tree across: the hierarchy that NCCL calls NVLSTree.
 *
 *     host 0  (a b c d) switch     lane 0      the switch adds; position z of a host gets part z
 *              | | | |             lanes 1, 2  part z goes up and down a tree over the z-th
 *     host 1  (e f g h) switch                 positions of all hosts
 *                                  lane 3      the switch copies the result to all
 *
 * Cost: the longer of (inside) m/g read by each of g, (across) 2 log2 h alpha + 3 beta m/g.
 *
 * Klenk et al., ISCA 2020 (inside); Sanders, Speck and Traeff, Parallel Computing 2009 (across)
 */
#include "algo_parts.h"

static const struct hierarchy rows = {&part_nvls, &part_tree};

static int nvls_tree_fits(const struct sched_request *request, struct error *error)
{
    if (request->nr_levels != 2) {
        return error_set(error, EXIT_INPUT,
                         "nvls-tree has %u levels: expected 2, hosts x ranks per host",
                         request->nr_levels);
    }
    return 0;
}

static void nvls_tree_emit(struct sched_builder *b, const struct sched_request *request,
                           uint32_t position)
{
    levels_emit(b, request, position, &rows);
}

static void nvls_tree_shape(const struct sched_request *request, struct sched_shape *shape)
{
    levels_shape(request, shape, &rows);
}

static uint32_t nvls_tree_role(const struct sched_request *request, uint32_t position)
{
    return levels_role(request, position, &rows);
}

const struct algorithm algorithm_nvls_tree = {
    .name = "nvls-tree",
    .what = "the NVLink switch adds and copies inside a host, a tree across per rail",
    .paper = "Klenk, Jiang, Thorson and Dennison, ISCA 2020; Sanders, Speck and Traeff, Parallel "
             "Computing 2009",
    .collectives = 1 << COLL_ALLREDUCE,
    .needs = SCHED_NEEDS_HIERARCHY | SCHED_NEEDS_GROUP_PEER | SCHED_NEEDS_DIRECT |
             SCHED_NEEDS_COMMUTATIVE,
    .fits = nvls_tree_fits,
    .shape = nvls_tree_shape,
    .emit = nvls_tree_emit,
    .role = nvls_tree_role,
    .order = "the switch's in a host, then children first; the same on all ranks",
};
