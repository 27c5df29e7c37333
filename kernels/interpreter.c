/* interpreter.c - executes a plan (plan.h) on a host thread; interpreter.cu includes it for the
 * GPU.
 *
 * One function per kind of operation, and one loop. Every function takes the same way in all
 * threads of a block (machine.h).
 */
#include "interpreter.h"

#include "reduce.h"
#include "transfer.h"

/* ---- a step begins ---- */

MACHINE_FUNCTION uint32_t value_bytes_of(const struct run *run, const struct plan_op *op)
{
    uint32_t range = op->store != PLAN_NONE ? op->store : op->take;
    return range == PLAN_NONE ? 0 : stream_bytes(run, stream_open(run, op, range, 0));
}

/* Push: tells every sender where its message goes. */
MACHINE_FUNCTION void step_grant(const struct run *run, const struct plan_op *op, uint32_t nr)
{
    for (uint32_t k = MACHINE_THREAD; k < nr; k += MACHINE_THREADS) {
        struct peer peer = peer_find(run, op, op->u.receive, run->call->in_of, k);
        struct plan_in *in = &run->call->ins[peer.connection];
        struct stream stream = stream_open(run, op, op->store, peer.in_list);
        struct plan_descriptor *grant = &in->grants[slot_of(run, in->grants_made)];
        grant->offset = stream.length > 0 ? offset_in_buffer(run, &stream) : 0;
        grant->buffer = stream.range->buffer;
        grant->bytes = 0;
        machine_store_release(in->granted, ++in->grants_made);
    }
}

/* How many iterations: until the longest receive, or the value, and the longest ranged send are
 * done. A lead of more slices than a send has would only make empty iterations. */
MACHINE_FUNCTION void step_begin(const struct run *run, const struct plan_op *op)
{
    struct plan_lane *lane = run->lane;
    MACHINE_SYNC();
    uint32_t nr_receive = peers_count(run, op->u.receive, op->nr_receive);
    if (op->flags & PLAN_PUSH) {
        step_grant(run, op, nr_receive);
    }
    int32_t received = 0, sent = 0;
    if (op->flags & PLAN_PLACE) {
        for (uint32_t k = 0; k < nr_receive; k++) {
            struct peer peer = peer_find(run, op, op->u.receive, run->call->in_of, k);
            int32_t slices = slices_of(run, message_received(run, op, &peer).bytes);
            received = slices > received ? slices : received;
        }
    } else if (op->flags & PLAN_VALUE) { /* there is a value, or a token for one */
        lane->value_bytes = value_bytes_of(run, op);
        received = slices_of(run, lane->value_bytes);
    }
    for (uint32_t i = 0; i < op->nr_send; i++) {
        uint32_t count = (uint32_t)entry_of(run, op->send[i])->peers.count;
        for (uint32_t k = 0; k < count; k++) {
            struct stream stream = stream_open(run, op, op->send_range[i], k);
            int32_t slices = slices_of(run, stream_bytes(run, stream));
            sent = slices > sent ? slices : sent;
        }
    }
    int32_t window = (int32_t)run->call->slots;
    lane->lead = sent == 0 ? 0 : sent < window ? sent - 1 : window - 1;
    lane->it = -lane->lead;
    lane->end = sent - lane->lead > received ? sent - lane->lead : received;
}

/* ---- data ---- */

MACHINE_FUNCTION void copy_bytes(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
#ifdef __CUDACC__
    uint32_t whole = (((uint64_t)to | (uint64_t)from) & 15) == 0 ? bytes / 16 : 0;
    for (uint32_t i = MACHINE_THREAD; i < whole; i += MACHINE_THREADS) {
        ((uint4 *)to)[i] = ((const uint4 *)from)[i];
    }
    for (uint32_t i = whole * 16 + MACHINE_THREAD; i < bytes; i += MACHINE_THREADS) {
        to[i] = from[i];
    }
#else
    if (to != from) {
        __builtin_memmove(to, from, bytes);
    }
#endif
}

MACHINE_FUNCTION void send_copy(const struct run *run, const struct plan_op *op)
{
    uint32_t nr = sends_of(run, op);
    for (uint32_t k = 0; k < nr; k++) {
        struct peer peer = peer_find(run, op, op->send, run->call->out_of, k);
        struct message message = message_sent(run, op, &peer);
        if (!message.takes_part) {
            continue;
        }
        struct stream stream = stream_open(run, op, op->send_range[peer.list], peer.in_list);
        uint32_t left = slice_bytes(run, message.bytes, message.slice);
        unsigned char *to = run->lane->targets[k + 1];
        stream_seek(run, &stream, (uint32_t)message.slice * run->call->slice_bytes);
        while (left > 0) {
            struct piece piece = stream_piece(run, &stream);
            uint32_t bytes = piece.bytes < left ? piece.bytes : left;
            copy_bytes(to, piece.at, bytes);
            stream_advance(&stream, bytes, piece.bytes);
            to += bytes;
            left -= bytes;
        }
    }
}

/* Every message to its own store range. A push has been there already. */
MACHINE_FUNCTION void receive_place(const struct run *run, const struct plan_op *op)
{
    uint32_t nr = op->flags & PLAN_PUSH ? 0 : receives_of(run, op);
    for (uint32_t k = 0; k < nr; k++) {
        struct peer peer = peer_find(run, op, op->u.receive, run->call->in_of, k);
        struct message message = message_received(run, op, &peer);
        if (!message.takes_part || message.bytes == 0) {
            continue;
        }
        struct stream stream = stream_open(run, op, op->store, peer.in_list);
        uint32_t left = slice_bytes(run, message.bytes, message.slice);
        const unsigned char *from = run->lane->sources[k];
        stream_seek(run, &stream, (uint32_t)message.slice * run->call->slice_bytes);
        while (left > 0) {
            struct piece piece = stream_piece(run, &stream);
            uint32_t bytes = piece.bytes < left ? piece.bytes : left;
            copy_bytes(piece.at, from, bytes);
            stream_advance(&stream, bytes, piece.bytes);
            from += bytes;
            left -= bytes;
        }
    }
}

MACHINE_FUNCTION void combine_piece(const struct reduce_job *job, uint32_t type, uint32_t reduction)
{
    if (job->nr_from > 1) {
        reduce_run(job, type, reduction);
        return;
    }
    for (uint32_t k = 0; k < job->nr_to; k++) {
        copy_bytes(job->to[k] + job->offset, job->from[0] + job->offset, job->bytes);
    }
}

struct place { /* in a stream */
    uint32_t i, skip;
};

MACHINE_FUNCTION struct stream stream_resume(const struct run *run, const struct plan_op *op,
                                             uint32_t entry, struct place place)
{
    struct stream stream = stream_open(run, op, entry, 0);
    stream.i = place.i;
    stream.skip = place.skip;
    return stream;
}

/* The next piece of this slice, from byte `offset` of it on: where `take` and `store` go on in one
 * piece. They are pointed at as if they began where the slice does, as the slots do. Returns its
 * bytes. */
MACHINE_FUNCTION uint32_t reduce_piece(const struct run *run, const struct plan_op *op,
                                       uint32_t offset, struct place *take_at,
                                       struct place *store_at)
{
    struct plan_lane *lane = run->lane;
    uint32_t takes = op->take != PLAN_NONE, stores = op->store != PLAN_NONE;
    struct stream take = stream_resume(run, op, takes ? op->take : op->store, *take_at);
    struct stream store = stream_resume(run, op, stores ? op->store : op->take, *store_at);
    struct piece from = stream_piece(run, &take), to = stream_piece(run, &store);
    uint32_t bytes = slice_bytes(run, lane->value_bytes, lane->it) - offset;
    bytes = from.bytes < bytes ? from.bytes : bytes;
    bytes = to.bytes < bytes ? to.bytes : bytes;
    MACHINE_SYNC();
    if (takes && MACHINE_THREAD == 0) {
        struct order order = order_of(run, op);
        lane->sources[order_take(&order)] = from.at - offset;
    }
    if (stores && MACHINE_THREAD == 0) {
        lane->targets[0] = to.at - offset;
    }
    MACHINE_SYNC();
    stream_advance(&take, bytes, from.bytes);
    stream_advance(&store, bytes, to.bytes);
    *take_at = (struct place){take.i, take.skip};
    *store_at = (struct place){store.i, store.skip};
    const struct reduce_job job = {
        lane->targets + !stores,      lane->sources, sends_of(run, op) + stores,
        receives_of(run, op) + takes, offset,        bytes};
    combine_piece(&job, run->call->type, run->call->reduction);
    return bytes;
}

MACHINE_FUNCTION struct place place_of(const struct run *run, const struct plan_op *op,
                                       uint32_t entry)
{
    struct stream stream = stream_open(run, op, entry, 0);
    stream_seek(run, &stream, (uint32_t)run->lane->it * run->call->slice_bytes);
    return (struct place){stream.i, stream.skip};
}

/* One value of all that has arrived and `take`, to `store` and the slots of the sends. Between
 * pieces little is kept: the sums want a GPU's registers. */
MACHINE_FUNCTION void receive_reduce(const struct run *run, uint32_t pc)
{
    const struct plan_op *op = &run->plan->ops[pc];
    struct message message = message_at(run, run->lane->value_bytes, run->lane->it);
    if (!message.takes_part || message.bytes == 0 ||
        (op->nr_receive == 0 && op->take == PLAN_NONE)) {
        return;
    }
    struct place take = place_of(run, op, op->take != PLAN_NONE ? op->take : op->store);
    struct place store = place_of(run, op, op->store != PLAN_NONE ? op->store : op->take);
    uint32_t offset = 0;
    while (offset < slice_bytes(run, run->lane->value_bytes, run->lane->it)) {
        offset += reduce_piece(run, &run->plan->ops[pc], offset, &take, &store);
    }
}

/* ---- loops ---- */

/* As coll/chunk.h divides a channel's share: over loops, then over chunks, the first ones larger by
 * one. */
MACHINE_FUNCTION void begin_loop(const struct run *run)
{
    const struct plan_share *share = &run->call->share;
    struct plan_lane *lane = run->lane;
    uint64_t units = (share->count + share->unit - 1) / share->unit;
    uint64_t each = units / share->loops, larger = units % share->loops, loop = lane->loop;
    uint64_t mine = each + (loop < larger);
    lane->first = each * loop + (loop < larger ? loop : larger);
    lane->units = (uint32_t)(mine / run->plan->chunks);
    lane->more = (uint32_t)(mine % run->plan->chunks);
    lane->turn[0] = 0;
    lane->turn[1] = 0;
}

/* True: another iteration. */
MACHINE_FUNCTION int next_again(struct plan_lane *lane)
{
    int32_t it = lane->it + 1;
    MACHINE_SYNC();
    lane->it = it;
    return it < lane->end;
}

/* True: another turn. */
MACHINE_FUNCTION int repeat_again(struct plan_lane *lane, const struct plan_op *op)
{
    uint32_t nested = op->flags & PLAN_NESTED;
    uint32_t turn = (nested ? lane->turn[1] : lane->turn[0]) + 1;
    int again = turn < op->u.jump.times;
    turn = again ? turn : 0;
    MACHINE_SYNC();
    if (nested) {
        lane->turn[1] = turn;
    } else {
        lane->turn[0] = turn;
    }
    return again;
}

/* Always back to PLAN_LOOP; the interpreter leaves when no loop is left. */
MACHINE_FUNCTION int end_loop(struct plan_lane *lane)
{
    uint32_t loop = lane->loop + 1;
    MACHINE_SYNC();
    lane->loop = loop;
    return 1;
}

MACHINE_FUNCTION enum plan_status lane_advance(const struct run *run)
{
    struct plan_lane *lane = run->lane;
    uint32_t pc = lane->pc;
    enum plan_status status = PLAN_DONE;
    while (lane->loop < run->call->share.loops) {
        const struct plan_op *op = &run->plan->ops[pc];
        int ready = 1, jump = 0;
        MACHINE_FORGET();
        switch (op->kind) {
        case PLAN_LOOP:
            begin_loop(run);
            break;
        case PLAN_SLICES:
            step_begin(run, op);
            break;
        case PLAN_WAIT_FREE:
            ready = send_wait(run, op);
            break;
        case PLAN_COPY:
            send_copy(run, op);
            break;
        case PLAN_POST:
            send_post(run, op);
            break;
        case PLAN_WAIT_POST:
            ready = receive_wait(run, op);
            break;
        case PLAN_COMBINE:
            receive_reduce(run, pc);
            break;
        case PLAN_PUT:
            receive_place(run, op);
            break;
        case PLAN_FREE:
            receive_free(run, op);
            break;
        case PLAN_NEXT:
            jump = next_again(lane);
            break;
        case PLAN_DRAIN:
            ready = send_drain(run, op);
            break;
        case PLAN_REPEAT:
            jump = repeat_again(lane, op);
            break;
        default:
            jump = end_loop(lane);
            break;
        }
        if (!ready) {
            status = waiting(run);
            break;
        }
        if (!MACHINE_SPINS) {
            lane->cursor = 0;
        }
        pc = jump ? op->u.jump.to : pc + 1;
    }
    lane->pc = pc;
    return status;
}

#ifndef __CUDACC__
void plan_begin(const struct plan *plan, struct plan_lane *lane, uint32_t index)
{
    lane->lane = index;
    lane->pc = plan->first[index];
    lane->loop = 0;
    lane->cursor = 0;
}

enum plan_status plan_advance(const struct plan *plan, const struct plan_call *call,
                              struct plan_lane *lane)
{
    const struct run run = {plan, call, lane};
    return lane_advance(&run);
}

void plan_reduce(unsigned char *const *to, uint32_t nr_to, const unsigned char *const *from,
                 uint32_t nr_from, uint32_t bytes, enum plan_type type,
                 enum plan_reduction reduction)
{
    const struct reduce_job job = {to, from, nr_to, nr_from, 0, bytes};
    combine_piece(&job, type, reduction);
}

#define TYPE_BYTES(ENUM, name, element, work, wrapping, load, store) [ENUM] = sizeof(element),

uint32_t plan_type_bytes(enum plan_type type)
{
    static const uint32_t bytes[PLAN_TYPES] = {REDUCE_TYPES(TYPE_BYTES)};
    return bytes[type];
}

void plan_divide(void *values, uint64_t count, enum plan_type type, uint32_t ranks)
{
    reduce_divide(values, count, type, ranks);
}
#endif
