/* engine_run.c - one call: where its buffers are, what each channel handles, and off it goes. */
#include "chunk.h"
#include "engine_plan.h"

#include <string.h>

static enum plan_type type_of(enum datatype type)
{
    static const enum plan_type types[TYPE_NR] = {
        [TYPE_INT8] = PLAN_INT8,         [TYPE_UINT8] = PLAN_UINT8,   [TYPE_INT32] = PLAN_INT32,
        [TYPE_UINT32] = PLAN_INT32, /* sums and products wrap alike */
        [TYPE_INT64] = PLAN_INT64,       [TYPE_UINT64] = PLAN_INT64,  [TYPE_HALF] = PLAN_FLOAT16,
        [TYPE_BFLOAT16] = PLAN_BFLOAT16, [TYPE_FLOAT] = PLAN_FLOAT32, [TYPE_DOUBLE] = PLAN_FLOAT64,
    };
    return types[type];
}

static enum plan_reduction reduction_of(enum reduction reduction)
{
    static const enum plan_reduction reductions[REDUCE_NR] = {[REDUCE_SUM] = PLAN_SUM,
                                                              [REDUCE_PROD] = PLAN_PROD,
                                                              [REDUCE_MIN] = PLAN_MIN,
                                                              [REDUCE_MAX] = PLAN_MAX,
                                                              [REDUCE_AVG] = PLAN_SUM};
    return reductions[reduction];
}

static uint64_t part_bytes(const struct call *call)
{
    return call->count * datatype_bytes(call->datatype);
}

/* From `recv` to the place of a rank's input, or of its result, in place. */
static uint64_t place_in_place(const struct call *call, enum sched_buffer buffer, uint32_t rank)
{
    enum collective c = call->collective;
    bool part = buffer == SCHED_IN ? c == COLL_ALL_GATHER || c == COLL_GATHER
                                   : c == COLL_REDUCE_SCATTER || c == COLL_SCATTER;
    return call->in_place && part ? rank * part_bytes(call) : 0;
}

static uint64_t buffer_bytes(const struct engine_plan *plan, const struct call *call,
                             enum sched_buffer buffer)
{
    return part_bytes(call) * sched_parts(&plan->schedule.request, buffer);
}

/* A rank's in or out, given where its send and receive buffers are. */
static unsigned char *locate(const struct call *call, enum sched_buffer buffer, uint32_t rank,
                             unsigned char *send, unsigned char *recv)
{
    unsigned char *base = buffer == SCHED_IN && !call->in_place ? send : recv;
    return base ? base + place_in_place(call, buffer, rank) : NULL;
}

/* Does this rank's input, or its result, matter? */
static bool gives(const struct engine_plan *plan, const struct call *call)
{
    bool of_root = call->collective == COLL_BROADCAST || call->collective == COLL_SCATTER;
    return !of_root || plan->group->me == call->root;
}

static bool gets(const struct engine_plan *plan, const struct call *call)
{
    bool at_root = call->collective == COLL_REDUCE || call->collective == COLL_GATHER;
    return !at_root || plan->group->me == call->root;
}

/* ---- direct access ---- */

struct aim { /* where a rank's buffers are, as seen from here */
    const struct call *call;
    const struct symmetric *segment;
    size_t send, recv; /* the same in every segment */
};

static unsigned char *aim_at(const struct aim *aim, enum sched_buffer buffer, uint32_t rank)
{
    unsigned char *base = aim->segment->of[rank];
    return locate(aim->call, buffer, rank, base + aim->send, base + aim->recv);
}

static void aim_ends(struct engine_plan *plan, const struct aim *aim)
{
    for (uint32_t c = 0; c < plan->layout.channels; c++) {
        struct connection_channel *ends = &plan->connections.channels[c];
        for (uint32_t i = 0; i < ends->nr_outs; i++) {
            ends->outs[i].buffers[PLAN_IN] = aim_at(aim, SCHED_IN, ends->out_peer[i]);
            ends->outs[i].buffers[PLAN_OUT] = aim_at(aim, SCHED_OUT, ends->out_peer[i]);
        }
        for (uint32_t i = 0; i < ends->nr_ins; i++) {
            ends->ins[i].buffers[PLAN_IN] = aim_at(aim, SCHED_IN, ends->in_peer[i]);
            ends->ins[i].buffers[PLAN_OUT] = aim_at(aim, SCHED_OUT, ends->in_peer[i]);
        }
    }
}

/* The same buffers and count as before need no new aim: in place a peer's part depends on both. */
static void aim_plan(struct engine_plan *plan, const struct aim *aim)
{
    const unsigned char *base = aim->segment->of[aim->segment->me];
    const unsigned char *in = base + aim->send, *out = base + aim->recv;
    if (plan->aimed_in != in || plan->aimed_out != out ||
        plan->aimed_part != part_bytes(aim->call)) {
        aim_ends(plan, aim);
        plan->aimed_in = in;
        plan->aimed_out = out;
        plan->aimed_part = part_bytes(aim->call);
    }
}

struct buffers {                /* of this rank's call */
    unsigned char *send, *recv; /* as the caller gave them */
    unsigned char *in, *out;    /* as the plan uses them */
    bool staged;
};

/* Plain memory is out of the peers' reach: a direct plan works on a copy. In place the copy is
 * one buffer too, as large as what a rank's parts span. */
static int stage_plain(struct engine *engine, struct engine_plan *plan, const struct call *call,
                       struct aim *aim, struct error *error)
{
    struct engine_group *group = plan->group;
    uint64_t whole = part_bytes(call) * (coll_divided(call->collective) ? group->ranks : 1);
    uint64_t half = plan_round(whole + 1); /* an empty call has its place too */
    if (engine_stage(engine, group, 2 * half, error)) {
        return -1;
    }
    aim->segment = &group->staged;
    aim->send = 0;
    aim->recv = half;
    return 0;
}

static int find_buffers(struct engine *engine, struct engine_plan *plan, const struct call *call,
                        struct buffers *buffers, struct error *error)
{
    uint32_t me = plan->group->me;
    unsigned char *send = (unsigned char *)(uintptr_t)call->send, *recv = call->recv;
    *buffers = (struct buffers){.send = locate(call, SCHED_IN, me, send, recv),
                                .recv = locate(call, SCHED_OUT, me, send, recv)};
    buffers->in = buffers->send;
    buffers->out = buffers->recv;
    if (!plan->direct) {
        return 0;
    }
    const struct symmetric *user = &plan->group->user;
    struct aim aim = {.call = call, .segment = user};
    bool shared =
        symmetric_holds(user, recv, 1) && (call->in_place || symmetric_holds(user, send, 1));
    if (shared) {
        aim.recv = (size_t)(recv - user->of[me]);
        aim.send = call->in_place ? aim.recv : (size_t)(send - user->of[me]);
    } else {
        buffers->staged = true;
        if (stage_plain(engine, plan, call, &aim, error)) {
            return -1;
        }
        buffers->in = aim_at(&aim, SCHED_IN, me);
        buffers->out = aim_at(&aim, SCHED_OUT, me);
        if (gives(plan, call)) {
            memcpy(buffers->in, buffers->send, buffer_bytes(plan, call, SCHED_IN));
        }
    }
    aim_plan(plan, &aim);
    return 0;
}

/* ---- the call ---- */

static void begin_channel(struct engine_plan *plan, const struct call *call,
                          const struct buffers *buffers, uint32_t index)
{
    struct engine_channel *channel = &plan->channels[index];
    uint32_t element = datatype_bytes(call->datatype);
    struct chunk_plan share = chunk_plan_make(call->count, element, plan->layout.channels, index,
                                              plan->schedule.shape.chunks, plan->chunk_bytes);
    channel->active = share.count > 0 || index == 0; /* an empty call still meets its peers */
    channel->call.buffers[PLAN_IN] = buffers->in;
    channel->call.buffers[PLAN_OUT] = buffers->out;
    channel->call.part_elements = call->count;
    channel->call.share = (struct plan_share){share.first, share.count, share.loops, share.unit};
    channel->call.type = type_of(call->datatype);
    channel->call.reduction = reduction_of(call->reduction);
    channel->call.element_bytes = element;
    for (uint32_t lane = 0; lane < channel->plan.lanes; lane++) {
        plan_begin(&channel->plan, &channel->lanes[lane], lane);
        channel->status[lane] = PLAN_WAITING;
    }
}

int engine_run(struct engine *engine, struct engine_plan *plan, const struct call *call,
               struct error *error)
{
    struct buffers buffers;
    if (find_buffers(engine, plan, call, &buffers, error)) {
        return -1;
    }
    for (uint32_t i = 0; i < plan->layout.channels; i++) {
        begin_channel(plan, call, &buffers, i);
    }
    if (engine_serve(engine, plan, error)) {
        return -1;
    }
    if (coll_reduces(call->collective) && call->reduction == REDUCE_AVG && gets(plan, call)) {
        plan_divide(buffers.out, call->count, type_of(call->datatype), plan->group->ranks);
    }
    if (buffers.staged && gets(plan, call)) {
        memcpy(buffers.recv, buffers.out, buffer_bytes(plan, call, SCHED_OUT));
    }
    return 0;
}
