/* algo_pairwise.c - pairwise exchange: in step i to position r + i, from position r - i.
 *
 *     4 ranks    step 1  0>1>2>3>0     step 2  0<>2 1<>3     step 3  0>3>2>1>0
 *
 * Each step is a permutation: every port sends one message and receives one.
 *
 * Cost: (n - 1)(alpha + beta m/n). For long messages.
 *
 * Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH,
 * IJHPCA 2005
 */
#include "algo_parts.h"

static void pairwise_emit(struct sched_builder *b, const struct sched_request *request,
                          uint32_t position)
{
    struct sched_frame f = build_frame(request, position, request->ranks);
    int32_t r = (int32_t)position;
    build_copy(b, 0, build_range(&f, SCHED_IN, r), build_range(&f, SCHED_OUT, r));

    build_repeat(b, 0, request->ranks - 1);
    struct sched_step *step = build_step(b, 0);
    step_receive(step, build_peer(&f, r - 1, 0));
    step_store(step, build_range(&f, SCHED_OUT, r - 1));
    step_send(step, build_peer(&f, r + 1, 0), build_range(&f, SCHED_IN, r + 1));
    step->recv[0].move = step->store.move = -1;
    step->send[0].peers.move = step->send[0].range.move = 1;
    build_end(b, 0);
}

const struct algorithm algorithm_pairwise = {
    .name = "pairwise",
    .what = "n - 1 exchanges, in step i to r + i and from r - i",
    .paper = "Thakur, Rabenseifner and Gropp, Optimization of collective communication "
             "operations in MPICH, IJHPCA 2005",
    .collectives = 1 << COLL_ALL_TO_ALL,
    .shape = shape_plain,
    .emit = pairwise_emit,
    .role = role_same,
    .order = "none",
};
