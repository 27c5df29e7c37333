/* stream.h - what an operation touches: its peers, its ranges as streams of bytes, its slices.
 *
 * A message is the stream of its range's chunks in order, cut every slice bytes whatever the chunks
 * are. All indices are computed in 32 bits, which the lowering has made sure of, but for places in
 * a buffer.
 */
#ifndef CCLTUNE_STREAM_H
#define CCLTUNE_STREAM_H

#include "machine.h"
#include "plan.h"

struct run { /* what every function needs */
    const struct plan *plan;
    const struct plan_call *call;
    struct plan_lane *lane;
};

/* ---- repetitions, peers, ranges ---- */

MACHINE_FUNCTION const union plan_entry *entry_of(const struct run *run, uint32_t index)
{
    return &run->plan->entries[index];
}

MACHINE_FUNCTION int32_t inner_of(const struct run *run, const struct plan_op *op)
{
    return (int32_t)(op->flags & PLAN_NESTED ? run->lane->turn[1] : run->lane->turn[0]);
}

/* In 32 bits, which the lowering has made sure of, as everywhere here but for places in a buffer.
 */
MACHINE_FUNCTION int32_t space_at(const struct run *run, uint32_t index, int32_t x)
{
    const struct plan_space *space = &entry_of(run, index)->space;
    if (x < 0 || x >= space->size) { /* division is slow and seldom needed */
        x %= space->size;
        x += x < 0 ? space->size : 0;
    }
    return space->base + space->move * (int32_t)run->lane->turn[0] + space->stride * x;
}

struct peer { /* the k-th peer of an operation */
    uint32_t list, in_list, connection;
};

MACHINE_FUNCTION struct peer peer_find(const struct run *run, const struct plan_op *op,
                                       const uint16_t *lists, const uint32_t *table, uint32_t k)
{
    struct peer peer = {0, k, 0};
    const struct plan_peers *peers = &entry_of(run, lists[0])->peers;
    while (peer.in_list >= (uint32_t)peers->count) {
        peer.in_list -= (uint32_t)peers->count;
        peers = &entry_of(run, lists[++peer.list])->peers;
    }
    int32_t x = peers->first + peers->move * inner_of(run, op) + (int32_t)peer.in_list;
    uint32_t position = (uint32_t)space_at(run, peers->space, x);
    uint32_t pair = run->lane->lane * run->plan->lanes + peers->lane;
    peer.connection = table[(uint64_t)pair * run->plan->ranks + position];
    return peer;
}

MACHINE_FUNCTION uint32_t peers_count(const struct run *run, const uint16_t *lists, uint32_t nr)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < nr; i++) {
        count += (uint32_t)entry_of(run, lists[i])->peers.count;
    }
    return count;
}

/* Chunks of a range; runs that begin at `last` or beyond have none, and the last one may end early.
 */
MACHINE_FUNCTION uint32_t range_length(const struct plan_range *range)
{
    if (range->last == 0) {
        return (uint32_t)range->run * (uint32_t)range->runs;
    }
    uint32_t length = 0;
    for (int32_t k = 0; k < range->runs; k++) {
        int32_t left = range->last - (range->first + k * range->gap);
        length += (uint32_t)(left <= 0 ? 0 : left < range->run ? left : range->run);
    }
    return length;
}

/* ---- a range as a stream of bytes ---- */

struct stream {
    const struct plan_range *range;
    int32_t first; /* before the space: of the first chunk for this peer and repetition */
    uint32_t i, length;
    uint32_t skip; /* bytes of chunk i that lie behind us */
};

struct chunk {
    uint32_t index; /* in the range's buffer */
    uint32_t part;  /* position */
    uint64_t first; /* element, from the start of its part */
    uint32_t bytes;
};

MACHINE_FUNCTION struct stream stream_open(const struct run *run, const struct plan_op *op,
                                           uint32_t range_entry, uint32_t peer)
{
    const struct plan_range *range = &entry_of(run, range_entry)->range;
    int32_t first =
        range->first + range->move * inner_of(run, op) + range->per_peer * (int32_t)peer;
    struct stream stream = {range, first, 0, range_length(range), 0};
    return stream;
}

/* As coll/chunk.h's chunk_locate; what does not depend on the chunk is kept by begin_loop. */
MACHINE_FUNCTION struct chunk stream_chunk(const struct run *run, const struct stream *stream)
{
    const struct plan_range *range = stream->range;
    const struct plan_lane *lane = run->lane;
    uint32_t within = stream->i;
    int32_t start = 0;
    if (stream->i >= (uint32_t)range->run) {
        within = stream->i % (uint32_t)range->run;
        start = (int32_t)(stream->i / (uint32_t)range->run) * range->gap;
    }
    struct chunk chunk;
    chunk.index = (uint32_t)space_at(run, range->space, stream->first + start + (int32_t)within);
    chunk.part = 0;
    uint32_t c = chunk.index;
    if (c >= run->plan->chunks) {
        chunk.part = c / run->plan->chunks;
        c %= run->plan->chunks;
    }
    uint32_t units = lane->units + (c < lane->more), unit = run->call->share.unit;
    chunk.first = lane->first + (uint64_t)c * lane->units + (c < lane->more ? c : lane->more);
    chunk.first *= unit;
    uint64_t left = run->call->share.count - chunk.first; /* the last unit may be short */
    uint64_t count = (uint64_t)units * unit;
    count = units == 0 ? 0 : left < count ? left : count;
    chunk.bytes = (uint32_t)count * run->call->element_bytes;
    chunk.first += run->call->share.first;
    return chunk;
}

MACHINE_FUNCTION uint32_t stream_bytes(const struct run *run, struct stream stream)
{
    uint32_t bytes = 0;
    for (; stream.i < stream.length; stream.i++) {
        bytes += stream_chunk(run, &stream).bytes;
    }
    return bytes;
}

/* Moves to byte `at` of a stream that is at its start. */
MACHINE_FUNCTION void stream_seek(const struct run *run, struct stream *stream, uint32_t at)
{
    stream->skip = at;
    while (stream->i < stream->length) {
        uint32_t bytes = stream_chunk(run, stream).bytes;
        if (stream->skip < bytes) {
            break;
        }
        stream->skip -= bytes;
        stream->i++;
    }
}

struct piece { /* of memory */
    unsigned char *at;
    uint32_t bytes;
};

/* Where the stream's next bytes lie in one piece: the rest of a chunk, none of an empty one. */
MACHINE_FUNCTION struct piece stream_piece(const struct run *run, const struct stream *stream)
{
    const struct plan_call *call = run->call;
    struct chunk chunk = stream_chunk(run, stream);
    uint32_t buffer = stream->range->buffer;
    uint64_t offset;
    if (buffer == PLAN_SCRATCH) {
        uint32_t copy = run->lane->loop % run->plan->copies;
        offset = (uint64_t)(copy * run->plan->scratch + chunk.index) * call->scratch_bytes;
    } else {
        uint64_t part = run->plan->divided >> buffer & 1 ? call->part[chunk.part] : 0;
        offset = (part * call->part_elements + chunk.first) * call->element_bytes;
    }
    struct piece piece = {call->buffers[buffer] + offset + stream->skip,
                          chunk.bytes - stream->skip};
    return piece;
}

MACHINE_FUNCTION uint64_t offset_in_buffer(const struct run *run, const struct stream *stream)
{
    struct piece piece = stream_piece(run, stream);
    return (uint64_t)(piece.at - run->call->buffers[stream->range->buffer]);
}

MACHINE_FUNCTION void stream_advance(struct stream *stream, uint32_t bytes, uint32_t piece_bytes)
{
    stream->skip += bytes;
    if (bytes == piece_bytes) {
        stream->i++;
        stream->skip = 0;
    }
}

/* ---- slices ---- */

MACHINE_FUNCTION int32_t slices_of(const struct run *run, uint32_t bytes)
{
    uint32_t slice = run->call->slice_bytes;
    return bytes <= slice ? 1 : (int32_t)((bytes + slice - 1) / slice);
}

/* Bytes of a slice of a message of `bytes`. */
MACHINE_FUNCTION uint32_t slice_bytes(const struct run *run, uint32_t bytes, int32_t slice)
{
    uint32_t left = bytes - (uint32_t)slice * run->call->slice_bytes;
    return left < run->call->slice_bytes ? left : run->call->slice_bytes;
}

struct message { /* what one peer of an operation gets or sends */
    uint32_t bytes;
    int32_t slice; /* the one that this iteration is for */
    int32_t takes_part;
};

MACHINE_FUNCTION struct message message_at(const struct run *run, uint32_t bytes, int32_t slice)
{
    struct message message = {bytes, slice, slice >= 0 && slice < slices_of(run, bytes)};
    return message;
}

MACHINE_FUNCTION struct message message_sent(const struct run *run, const struct plan_op *op,
                                             const struct peer *peer)
{
    if (op->flags & PLAN_VALUE) {
        return message_at(run, run->lane->value_bytes, run->lane->it);
    }
    struct stream stream = stream_open(run, op, op->send_range[peer->list], peer->in_list);
    return message_at(run, stream_bytes(run, stream), run->lane->it + run->lane->lead);
}

MACHINE_FUNCTION struct message message_received(const struct run *run, const struct plan_op *op,
                                                 const struct peer *peer)
{
    if (!(op->flags & PLAN_PLACE)) {
        return message_at(run, run->lane->value_bytes, run->lane->it);
    }
    uint32_t bytes = 0;
    if (op->store != PLAN_NONE) {
        bytes = stream_bytes(run, stream_open(run, op, op->store, peer->in_list));
    }
    return message_at(run, bytes, run->lane->it);
}

#endif
