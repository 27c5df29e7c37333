/* transfer.h - waiting for slices and slots, posting and freeing them.
 *
 * Peers are handled by different threads of a block. So a barrier stands between what one wrote and
 * another reads: each wait ends with one, and each step, post and free begins with one.
 */
#ifndef CCLTUNE_TRANSFER_H
#define CCLTUNE_TRANSFER_H

#include "stream.h"

/* ---- counters ---- */

/* Has the counter come to `wanted`? A GPU thread waits for it, or for the abort flag. */
MACHINE_FUNCTION int counter_reached(const struct run *run, const uint32_t *counter,
                                     uint32_t wanted)
{
    while ((int32_t)(machine_load_acquire(counter) - wanted) < 0) {
        if (!MACHINE_SPINS || machine_load_acquire(run->call->abort)) {
            return 0;
        }
        MACHINE_RELAX();
    }
    return 1;
}

/* Peers before k are ready; on a GPU nobody comes back to a wait. */
MACHINE_FUNCTION void park(const struct run *run, uint32_t k)
{
    if (!MACHINE_SPINS) {
        run->lane->cursor = k;
    }
}

/* Where a wait that is not ready leaves the lane. */
MACHINE_FUNCTION enum plan_status waiting(const struct run *run)
{
    return machine_load_acquire(run->call->abort) ? PLAN_ABORTED : PLAN_WAITING;
}

MACHINE_FUNCTION uint32_t slot_of(const struct run *run, uint32_t number)
{
    return number & (run->call->slots - 1);
}

/* ---- LL: data and flag in one word ---- */

MACHINE_FUNCTION uint32_t pairs_of(uint32_t bytes)
{
    return (bytes + 3) / 4;
}

MACHINE_FUNCTION void ll_pack(const struct run *run, const struct plan_out *out, uint32_t bytes)
{
    machine_pair *to = (machine_pair *)(void *)(out->slots + (uint64_t)slot_of(run, out->sent) *
                                                                 run->call->slot_bytes);
    const machine_word *from = (const machine_word *)(const void *)out->stage;
    uint64_t flag = (uint64_t)(out->sent + 1) << 32;
    for (uint32_t i = MACHINE_THREAD; i < pairs_of(bytes); i += MACHINE_THREADS) {
        machine_store_pair(&to[i], flag | from[i]);
    }
}

/* False where a word's flag is another slice's. */
MACHINE_FUNCTION int ll_unpack(const struct run *run, const struct plan_in *in, uint32_t bytes)
{
    const machine_pair *from =
        (const machine_pair *)(const void *)(in->slots + (uint64_t)slot_of(run, in->taken) *
                                                             run->call->slot_bytes);
    machine_word *to = (machine_word *)(void *)in->stage;
    for (uint32_t i = MACHINE_THREAD; i < pairs_of(bytes); i += MACHINE_THREADS) {
        uint64_t pair = machine_load_pair(&from[i]);
        while ((uint32_t)(pair >> 32) != in->taken + 1) {
            if (!MACHINE_SPINS || machine_load_acquire(run->call->abort)) {
                return 0;
            }
            pair = machine_load_pair(&from[i]);
        }
        to[i] = (uint32_t)pair;
    }
    return 1;
}

/* Flag words carry data; an empty slice, as a pull or a push, has none and goes by its counter. */
MACHINE_FUNCTION int packs(const struct plan_op *op, uint32_t protocol, uint32_t bytes)
{
    return protocol == PLAN_LL && !(op->flags & (PLAN_PULL | PLAN_PUSH)) && bytes > 0;
}

/* ---- sends ---- */

MACHINE_FUNCTION uint32_t sends_of(const struct run *run, const struct plan_op *op)
{
    return peers_count(run, op->send, op->nr_send);
}

/* Where this slice goes, when there is room for it; NULL when not. */
MACHINE_FUNCTION unsigned char *send_target(const struct run *run, const struct plan_op *op,
                                            const struct plan_out *out, int32_t slice)
{
    const struct plan_call *call = run->call;
    if (!counter_reached(run, out->freed, out->sent + 1 - call->slots)) {
        return NULL;
    }
    if (op->flags & PLAN_PUSH) {
        if (!counter_reached(run, out->granted, out->used + 1)) {
            return NULL;
        }
        const struct plan_descriptor *grant = &out->grants[slot_of(run, out->used)];
        return out->buffers[grant->buffer] + grant->offset + (uint32_t)slice * call->slice_bytes;
    }
    if (out->protocol == PLAN_LL) {
        return out->stage;
    }
    return out->slots + (uint64_t)slot_of(run, out->sent) * call->slot_bytes;
}

MACHINE_FUNCTION int send_wait(const struct run *run, const struct plan_op *op)
{
    uint32_t nr = sends_of(run, op);
    int stuck = 0;
    for (uint32_t k = run->lane->cursor + MACHINE_THREAD; k < nr; k += MACHINE_THREADS) {
        struct peer peer = peer_find(run, op, op->send, run->call->out_of, k);
        struct message message = message_sent(run, op, &peer);
        if (message.takes_part) {
            struct plan_out *out = &run->call->outs[peer.connection];
            unsigned char *target = send_target(run, op, out, message.slice);
            run->lane->targets[k + 1] = target;
            stuck = target == NULL;
        }
        if (stuck) {
            park(run, k);
            break;
        }
    }
    return !MACHINE_ANY(stuck);
}

/* What goes with a slice: how much it is, and for a pull where it lies. */
MACHINE_FUNCTION void send_describe(const struct run *run, const struct plan_op *op,
                                    const struct plan_out *out, const struct peer *peer,
                                    const struct message *message)
{
    struct plan_descriptor *descriptor = &out->descriptors[slot_of(run, out->sent)];
    descriptor->bytes = (uint32_t)slice_bytes(run, message->bytes, message->slice);
    if (op->flags & PLAN_PULL && message->bytes > 0) {
        struct stream stream = stream_open(run, op, op->send_range[peer->list], peer->in_list);
        descriptor->buffer = stream.range->buffer;
        descriptor->offset =
            offset_in_buffer(run, &stream) + (uint32_t)message->slice * run->call->slice_bytes;
    }
}

/* LL: all threads pack one peer's slice after the other. */
MACHINE_FUNCTION void send_pack(const struct run *run, const struct plan_op *op, uint32_t nr)
{
    for (uint32_t k = 0; k < nr; k++) {
        struct peer peer = peer_find(run, op, op->send, run->call->out_of, k);
        const struct plan_out *out = &run->call->outs[peer.connection];
        if (out->protocol != PLAN_LL) {
            continue;
        }
        struct message message = message_sent(run, op, &peer);
        if (message.takes_part && packs(op, out->protocol, message.bytes)) {
            ll_pack(run, out, slice_bytes(run, message.bytes, message.slice));
        }
    }
}

MACHINE_FUNCTION void send_post(const struct run *run, const struct plan_op *op)
{
    uint32_t nr = sends_of(run, op);
    MACHINE_SYNC();
    send_pack(run, op, nr);
    MACHINE_SYNC();
    for (uint32_t k = MACHINE_THREAD; k < nr; k += MACHINE_THREADS) {
        struct peer peer = peer_find(run, op, op->send, run->call->out_of, k);
        struct plan_out *out = &run->call->outs[peer.connection];
        struct message message = message_sent(run, op, &peer);
        if (!message.takes_part) {
            continue;
        }
        if (out->proxied || op->flags & PLAN_PULL) {
            send_describe(run, op, out, &peer, &message);
        }
        out->sent++;
        if (op->flags & PLAN_PUSH && message.slice + 1 == slices_of(run, message.bytes)) {
            out->used++;
        }
        if (out->proxied || !packs(op, out->protocol, message.bytes)) {
            machine_store_release(out->posted, out->sent);
        }
    }
}

MACHINE_FUNCTION int send_drain(const struct run *run, const struct plan_op *op)
{
    uint32_t nr = sends_of(run, op);
    int stuck = 0;
    for (uint32_t k = run->lane->cursor + MACHINE_THREAD; k < nr; k += MACHINE_THREADS) {
        struct peer peer = peer_find(run, op, op->send, run->call->out_of, k);
        const struct plan_out *out = &run->call->outs[peer.connection];
        if (!counter_reached(run, out->freed, out->sent)) {
            stuck = 1;
            park(run, k);
            break;
        }
    }
    return !MACHINE_ANY(stuck);
}

/* ---- receives ---- */

MACHINE_FUNCTION uint32_t receives_of(const struct run *run, const struct plan_op *op)
{
    return peers_count(run, op->u.receive, op->nr_receive);
}

struct order {      /* of the operands of a sum: late peers, `take`, the others */
    uint32_t count; /* peers of the first list */
    uint32_t late;  /* the first of them whose index wraps to the start of the space */
    uint32_t takes;
};

/* Ascending by index in the first list's space, `take` standing just before its first peer; so all
 * ranks that add up the same operands (list: the next one, and so on round) do so in the same
 * order. */
MACHINE_FUNCTION struct order order_of(const struct run *run, const struct plan_op *op)
{
    struct order order = {0, 0, op->take != PLAN_NONE};
    if (op->nr_receive > 0) {
        const struct plan_peers *peers = &entry_of(run, op->u.receive[0])->peers;
        int32_t size = entry_of(run, peers->space)->space.size;
        int32_t first = (peers->first + peers->move * inner_of(run, op)) % size;
        first += first < 0 ? size : 0;
        int32_t late = first == 0 ? 0 : size - first;
        order.count = (uint32_t)peers->count;
        order.late = late < peers->count ? (uint32_t)late : order.count;
    }
    return order;
}

MACHINE_FUNCTION uint32_t order_take(const struct order *order)
{
    return order->count - order->late;
}

MACHINE_FUNCTION uint32_t order_peer(const struct order *order, uint32_t k)
{
    if (k >= order->count) {
        return k + order->takes;
    }
    return k >= order->late ? k - order->late : order_take(order) + order->takes + k;
}

/* Where the slice lies; NULL when it is not there yet. */
MACHINE_FUNCTION const unsigned char *receive_source(const struct run *run,
                                                     const struct plan_op *op,
                                                     const struct plan_in *in, uint32_t bytes)
{
    if (!counter_reached(run, in->posted, in->taken + 1)) {
        return NULL;
    }
    uint32_t slot = slot_of(run, in->taken);
    if (op->flags & PLAN_PULL && bytes > 0) {
        const struct plan_descriptor *descriptor = &in->descriptors[slot];
        return in->buffers[descriptor->buffer] + descriptor->offset;
    }
    return in->slots + (uint64_t)slot * run->call->slot_bytes;
}

/* Peers one after the other for LL, whose words all threads read; else a thread each. */
MACHINE_FUNCTION int receive_wait(const struct run *run, const struct plan_op *op)
{
    struct plan_lane *lane = run->lane;
    uint32_t nr = receives_of(run, op);
    struct order order = order_of(run, op);
    int stuck = 0;
    MACHINE_SYNC();
    for (uint32_t k = lane->cursor; k < nr && !stuck; k++) {
        struct peer peer = peer_find(run, op, op->u.receive, run->call->in_of, k);
        const struct plan_in *in = &run->call->ins[peer.connection];
        struct message message = message_received(run, op, &peer);
        int mine = k % MACHINE_THREADS == MACHINE_THREAD;
        int unpacks = packs(op, in->protocol, message.bytes);
        if (!message.takes_part || !(mine || unpacks)) {
            continue;
        }
        const unsigned char *source = in->stage;
        if (!unpacks) {
            source = receive_source(run, op, in, message.bytes);
        } else if (!ll_unpack(run, in, slice_bytes(run, message.bytes, message.slice))) {
            source = NULL;
        }
        if (mine) {
            lane->sources[op->flags & PLAN_PLACE ? k : order_peer(&order, k)] = source;
        }
        stuck = source == NULL;
        park(run, k);
    }
    return !MACHINE_ANY(stuck);
}

MACHINE_FUNCTION void receive_free(const struct run *run, const struct plan_op *op)
{
    uint32_t nr = receives_of(run, op);
    MACHINE_SYNC();
    for (uint32_t k = MACHINE_THREAD; k < nr; k += MACHINE_THREADS) {
        struct peer peer = peer_find(run, op, op->u.receive, run->call->in_of, k);
        if (message_received(run, op, &peer).takes_part) {
            struct plan_in *in = &run->call->ins[peer.connection];
            in->taken++;
            machine_store_release(in->freed, in->taken);
        }
    }
}

#endif
