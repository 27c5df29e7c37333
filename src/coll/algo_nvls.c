/* algo_nvls.c - NVLS: the NVLink switch adds and copies.
 *
 *     a   b   c   d       each position owns a part: it loads the part from the multicast address
 *      \  |   |  /        and gets all members' sum from the switch (multimem.ld_reduce), stores
 *       [switch]          the result there, and the switch writes it to all (multimem.st)
 *      /  |   |  \
 *     S   S   S   S
 *
 * A group peer stands for all other members: a receive from it waits for each and brings one sum,
 * a send to it is one message that reaches each.
 *
 * Cost: allreduce 2 alpha + beta m (n - 1)/n read + beta m/n written: half of a ring's volume.
 *
 * Klenk, Jiang, Thorson and Dennison, An in-network architecture for accelerating shared-memory
 * multiprocessor collectives, ISCA 2020
 */
#include "algo_parts.h"

static struct sched_step *nvls_reduce_scatter(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_step *step = direct_reduce_scatter(b, f, SCHED_PULL);
    step->recv[0].group = true;
    return step;
}

static void nvls_all_gather(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_step *step = direct_all_gather(b, f, SCHED_PUSH);
    if (step) {
        step->send[0].peers.group = true;
    }
}

static void nvls_allreduce(struct sched_builder *b, const struct sched_frame *f)
{
    part_halves(&part_nvls, b, f);
}

const struct algorithm_part part_nvls = {
    .name = "nvls",
    .reduce_scatter = nvls_reduce_scatter,
    .all_gather = nvls_all_gather,
    .allreduce = nvls_allreduce,
    .chunks = part_chunk_each,
    .lanes = 1,
    .role = part_role_same,
};

static void nvls_emit(struct sched_builder *b, const struct sched_request *request,
                      uint32_t position)
{
    part_emit(&part_nvls, b, request, position);
}

static void nvls_shape(const struct sched_request *request, struct sched_shape *shape)
{
    shape->chunks = request->collective == COLL_ALLREDUCE ? request->ranks : 1;
}

const struct algorithm algorithm_nvls = {
    .name = "nvls",
    .what = "the NVLink switch adds what is read and copies what is written",
    .paper = "Klenk, Jiang, Thorson and Dennison, An in-network architecture for accelerating "
             "shared-memory multiprocessor collectives, ISCA 2020",
    .collectives = 1 << COLL_ALLREDUCE | 1 << COLL_REDUCE_SCATTER | 1 << COLL_ALL_GATHER,
    .needs = SCHED_NEEDS_GROUP_PEER | SCHED_NEEDS_DIRECT | SCHED_NEEDS_COMMUTATIVE,
    .shape = nvls_shape,
    .emit = nvls_emit,
    .role = role_same,
    .order = "the switch's; the same on all ranks",
};
