/* interpreter.cu - the interpreter as a GPU kernel: a block a lane.
 *
 * Everything that a plan's lane needs must lie where the device can address it. Lanes wait for each other, so
 * all blocks of a launch have to be resident at once (a cooperative launch).
 */
#include "interpreter.c"

struct plan_block { /* what one block runs */
    const struct plan *plan;
    const struct plan_call *call;
    struct plan_lane *lane; /* readied as by plan_begin */
    uint32_t status;        /* out: enum plan_status */
};

/* At most 64 registers a thread. */
extern "C" __global__ void __launch_bounds__(512, 2) plan_run_blocks(struct plan_block *blocks)
{
    /* The same for all threads, and read all the time: so it neither fills registers nor comes from afar. */
    __shared__ struct plan plan;
    __shared__ struct plan_call call;
    __shared__ struct plan_lane lane;
    if (threadIdx.x == 0) {
        plan = *blocks[blockIdx.x].plan;
        call = *blocks[blockIdx.x].call;
        lane = *blocks[blockIdx.x].lane;
    }
    __syncthreads();
    const struct run run = {&plan, &call, &lane};
    enum plan_status status = lane_advance(&run);
    __syncthreads();
    if (threadIdx.x == 0) {
        *blocks[blockIdx.x].lane = lane;
        blocks[blockIdx.x].status = status;
    }
}

extern "C" __global__ void __launch_bounds__(512, 2)
    plan_divide_blocks(void *values, uint64_t count, uint32_t type, uint32_t ranks)
{
    reduce_divide(values, count, type, ranks);
}
