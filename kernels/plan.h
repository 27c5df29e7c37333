/* plan.h - the plan: what a rank's interpreter executes, and all that it sees while doing so.
 *
 * A plan is one position's program, lowered (exec/lower.c) to 32-byte operations, one list a lane,
 * with loops kept as loops. Operands lie in one table of 32-byte entries, named by 16-bit index.
 * What depends on the call (buffers, bytes, loops) or on the ranks (position -> connection) lies in
 * `struct plan_call` and its tables, so that a plan's size grows neither with bytes nor with ranks.
 *
 * This header parses as C17 and as C++ (nvcc). It has types and the layout of a connection in
 * memory; interpreter.h has the functions.
 *
 * One step of a program becomes at most eleven operations, in this order; empty parts are dropped:
 *
 *     SLICES                         how many iterations; grants the store ranges of a push
 *   again:
 *     WAIT_FREE COPY POST            slice `it + lead` of every ranged send (pull: no COPY)
 *     WAIT_POST                      slice `it` of every receive
 *     WAIT_FREE                      of every peer that gets the value
 *     COMBINE (or PUT) POST FREE     slice `it`
 *     NEXT again
 *     DRAIN                          after pull sends: until every descriptor is freed
 *
 * Only WAIT_FREE, WAIT_POST and DRAIN may block. All others take their whole control flow from the
 * plan, the slice number and the tables, so all threads of a GPU block take the same way, and a CPU
 * thread may leave a lane at a wait that is not ready, serve another, and come back.
 *
 * Counters. Every connection has a number of slices posted and one of slices freed; both only grow,
 * by one a slice, and wrap at 2^32. Slice number q (from 0) lies in slot q mod slots. Sent is
 * posted when posted = q + 1; a wait is (int32_t)(counter - wanted) >= 0. Nothing is ever reset
 * between calls.
 */
#ifndef CCLTUNE_PLAN_H
#define CCLTUNE_PLAN_H

#include <stddef.h>
#include <stdint.h>

/* ---- the plan ---- */

#define PLAN_LANES_MOST 8
#define PLAN_LISTS_MOST 4                  /* lists of peers that one operation names */
#define PLAN_NONE       ((uint16_t)0xffff) /* no operand */

enum plan_buffer { PLAN_IN, PLAN_OUT, PLAN_SCRATCH, PLAN_BUFFERS };

/* index x -> base + move * outer + stride * (x mod size), mod never negative. */
struct plan_space {
    int32_t size, base, stride, move;
    int32_t unused[4];
};

/* Chunks of a buffer, as coll/schedule.h's sched_range. */
struct plan_range {
    uint16_t space; /* entry */
    uint8_t buffer; /* enum plan_buffer */
    uint8_t unused;
    int32_t first, run, gap, runs, last, move, per_peer;
};

/* Positions first .. first + count - 1 through a space, moved by `move` per inner repetition;
 * `lane` is the lane at the other end. */
struct plan_peers {
    uint16_t space; /* entry */
    uint8_t lane, unused;
    int32_t first, count, move;
    int32_t unused2[4];
};

union plan_entry {
    struct plan_space space;
    struct plan_range range;
    struct plan_peers peers;
};

enum plan_kind {
    PLAN_LOOP,      /* begins a lane's list: how this loop's chunks lie */
    PLAN_SLICES,    /* begins a step: iterations, lead; push: posts grants */
    PLAN_WAIT_FREE, /* until every peer of `send` has a free slot (push: and a grant) */
    PLAN_COPY,      /* ranges of `send` into their slots, slice it + lead */
    PLAN_POST, /* one more slice posted to every peer of `send` (pull: writes the descriptor) */
    PLAN_WAIT_POST, /* until every peer of `receive` has posted one more slice */
    PLAN_COMBINE,   /* reduce: received slices and `take` -> `store` and the slots of `send` */
    PLAN_PUT,       /* place: each received slice -> its own part of `store` */
    PLAN_FREE,      /* the received slots go back */
    PLAN_NEXT,      /* iteration + 1: back to jump.to, or on */
    PLAN_DRAIN,     /* until the peers of `send` have freed all that was posted */
    PLAN_REPEAT,    /* end of a repeat: back to jump.to until jump.times turns are done */
    PLAN_END,       /* ends it: back to jump.to, its PLAN_LOOP, until all loops are done */
    PLAN_KINDS
};

enum plan_flag {
    PLAN_PLACE = 1 << 0, /* each received message to its own store range; else they are reduced */
    PLAN_PULL = 1 << 1,  /* receivers read the sender's buffer: slots hold descriptors only */
    PLAN_PUSH = 1 << 2,  /* senders write the receiver's buffer, at the granted place */
    PLAN_VALUE = 1 << 3, /* `send` carries the step's value (slice `it`), else send_range; SLICES:
                          * the step has a value */
    PLAN_NESTED = 1 << 4 /* inside two repeats: inner = turn[1]; else inner = turn[0] */
};

/* 32 bytes. Which fields a kind uses:
 *
 *               flags          send  send_range  receive  take store  jump
 *   SLICES      all             x        x          x       x    x
 *   WAIT_FREE   all             x        x
 *   COPY        NESTED          x        x
 *   POST        all             x        x
 *   WAIT_POST   all                                 x       x    x
 *   COMBINE     all             x                   x       x    x
 *   PUT         all                                 x            x
 *   FREE        PLACE, NESTED                       x            x
 *   NEXT, END                                                           x
 *   REPEAT      NESTED (is the inner one)                               x
 *   DRAIN       NESTED          x
 *
 * The value's chunks are `store`, else `take`; it is empty if there is neither. */
struct plan_op {
    uint8_t kind, flags;
    uint8_t nr_send, nr_receive;
    uint16_t take, store; /* entries, or PLAN_NONE */
    uint16_t send[PLAN_LISTS_MOST];
    uint16_t send_range[PLAN_LISTS_MOST];
    union {
        uint16_t receive[PLAN_LISTS_MOST];
        struct plan_jump {
            uint32_t to, times; /* operation of plan.ops; REPEAT: turns */
        } jump;
    } u;
};

struct plan {
    const struct plan_op *ops;
    const union plan_entry *entries;
    uint32_t nr_ops, nr_entries;
    uint32_t lanes;
    uint32_t first[PLAN_LANES_MOST];    /* first operation of each lane */
    uint32_t ranks;                     /* positions */
    uint32_t chunks;                    /* per part of in and out */
    uint32_t scratch, copies;           /* chunks of one copy of scratch; copies */
    uint32_t divided;                   /* bit b: buffer b has a part for every position */
    uint32_t most_receives, most_sends; /* peers of one step, over all its lists */
    uint32_t direct; /* has pull or push steps: peers' buffers must be reachable */
};

/* ---- connections ---- */

/* A connection joins (position, lane) to (position, lane), in one direction; to oneself too. Its
 * sender's end is a plan_out, its receiver's a plan_in; each end is used by one lane only, so
 * `sent` and `taken` are plain memory of that lane. To the interpreter all else is local memory:
 * where the transport does not share it, a proxy moves slots, descriptors and counters. */

enum plan_protocol {
    PLAN_SIMPLE, /* data in the slot, then posted + 1 */
    PLAN_LL /* 8-byte words, low half data, high half the slice's number + 1; posted is not used
             * unless proxied. Only for slots: pull and push use counters on any connection. Slots
             * start zeroed and are never used with another protocol. Tokens to oneself order
             * memory, so a connection to oneself is PLAN_SIMPLE. */
};

struct plan_descriptor {
    uint64_t offset; /* pull, push: bytes from the start of the owner's buffer */
    uint32_t buffer; /* pull, push: enum plan_buffer of the owner of the memory */
    uint32_t bytes;  /* of the slice; 0: empty. Written when proxied, or pull, or push */
};

struct plan_out {
    unsigned char *slots;                 /* plan_call.slots x plan_call.slot_bytes */
    struct plan_descriptor *descriptors;  /* one a slot */
    uint32_t *posted;                     /* written here, read by the receiver or a proxy */
    const uint32_t *freed;                /* read here, written by the receiver or a proxy */
    const struct plan_descriptor *grants; /* push: where to write; one a slot */
    const uint32_t *granted;              /* push: number of grants (messages) so far */
    unsigned char *stage;                 /* LL: slice_bytes of plain memory, owned by this end */
    unsigned char
        *buffers[PLAN_BUFFERS]; /* push: the receiver's buffers of this call, seen from here */
    uint32_t protocol;          /* enum plan_protocol */
    uint32_t proxied;           /* a proxy needs `posted` and descriptor.bytes of all slices */
    uint32_t sent;              /* slices posted so far */
    uint32_t used;              /* push: messages whose grant was used up */
};

struct plan_in {
    const unsigned char *slots;
    const struct plan_descriptor *descriptors;
    const uint32_t *posted;
    uint32_t *freed;
    struct plan_descriptor *grants;
    uint32_t *granted;
    unsigned char *stage;
    const unsigned char
        *buffers[PLAN_BUFFERS]; /* pull: the sender's buffers of this call, seen from here */
    uint32_t protocol;
    uint32_t unused;
    uint32_t taken; /* slices freed so far */
    uint32_t grants_made;
};

/* Credits: tokens that lie in a self connection when it is opened are sent = *posted = tokens;
 * nothing else. Connections carry a plan's credits from call to call, so another plan needs fresh
 * ones. */

/* How a connection lies in memory that both ends can address: a line for `posted` with the
 * descriptors behind it (one cache line moves both), a line for `freed`, one for `granted` with the
 * grants, and the slots. All zero when opened. */
#define PLAN_LINE 128

static inline size_t plan_round(size_t bytes)
{
    return (bytes + PLAN_LINE - 1) / PLAN_LINE * PLAN_LINE;
}

/* Bytes of a slot for a slice: LL needs twice as much and one word for an empty slice. */
static inline size_t plan_slot_bytes(size_t slice_bytes, enum plan_protocol protocol)
{
    size_t words = slice_bytes / 4 + 1;
    return plan_round(protocol == PLAN_LL ? 8 * words : slice_bytes);
}

static inline size_t plan_ring_bytes(uint32_t slots)
{
    return plan_round(16 + slots * sizeof(struct plan_descriptor));
}

static inline size_t plan_connection_bytes(uint32_t slots, size_t slot_bytes)
{
    return 2 * plan_ring_bytes(slots) + PLAN_LINE + slots * slot_bytes;
}

/* Points the ends (either may be NULL) into a connection's memory, aligned to PLAN_LINE. Leaves
 * stage, buffers, protocol, proxied and the own counters as they are. */
static inline void plan_connection_place(void *memory, uint32_t slots, struct plan_out *out,
                                         struct plan_in *in)
{
    unsigned char *at = (unsigned char *)memory;
    uint32_t *posted = (uint32_t *)(void *)at;
    struct plan_descriptor *descriptors = (struct plan_descriptor *)(void *)(at + 16);
    at += plan_ring_bytes(slots);
    uint32_t *granted = (uint32_t *)(void *)at;
    struct plan_descriptor *grants = (struct plan_descriptor *)(void *)(at + 16);
    at += plan_ring_bytes(slots);
    uint32_t *freed = (uint32_t *)(void *)at;
    at += PLAN_LINE;
    if (out) {
        out->slots = at;
        out->descriptors = descriptors;
        out->posted = posted;
        out->freed = freed;
        out->grants = grants;
        out->granted = granted;
    }
    if (in) {
        in->slots = at;
        in->descriptors = descriptors;
        in->posted = posted;
        in->freed = freed;
        in->grants = grants;
        in->granted = granted;
    }
}

/* ---- a call ---- */

enum plan_type {
    PLAN_INT8,
    PLAN_UINT8,
    PLAN_INT32,
    PLAN_INT64,
    PLAN_FLOAT16,
    PLAN_BFLOAT16,
    PLAN_FLOAT32,
    PLAN_FLOAT64,
    PLAN_TYPES
};

/* Average is a sum in the plan; whoever runs it divides `out` afterwards (plan_divide). */
enum plan_reduction { PLAN_SUM, PLAN_PROD, PLAN_MIN, PLAN_MAX, PLAN_REDUCTIONS };

/* What a channel handles of each part: coll/chunk.h's chunk_plan, divided by the same rule. */
struct plan_share {
    uint64_t first, count; /* elements of each part */
    uint32_t loops;
    uint32_t unit; /* elements */
};

#define PLAN_NO_CONNECTION UINT32_MAX

/* One rank's call on one channel; read-only while it runs, shared by its lanes. */
struct plan_call {
    unsigned char *buffers[PLAN_BUFFERS]; /* own in, out, scratch (of this channel) */
    uint64_t part_elements;               /* from the start of a part to the next one's */
    uint64_t scratch_bytes;               /* from a chunk of scratch to the next one's */
    struct plan_share share;
    const uint32_t *part;     /* [position] -> place of its part in a divided buffer: the rank */
    uint32_t type, reduction; /* enum plan_type, plan_reduction */
    uint32_t element_bytes;
    uint32_t slots;       /* of a connection: the window, a power of two */
    uint32_t slice_bytes; /* a multiple of 16 */
    uint32_t slot_bytes;  /* from a slot to the next, >= plan_slot_bytes() */
    struct plan_out *outs;
    struct plan_in *ins;
    /* [(own lane * lanes + other lane) * ranks + position] -> index in outs, ins, or
     * PLAN_NO_CONNECTION */
    const uint32_t *out_of, *in_of;
    const uint32_t *abort; /* not 0: every wait ends in PLAN_ABORTED */
};

/* Where a lane stands; all zero before its first call, then kept. One thread (block) at a time. */
struct plan_lane {
    uint32_t lane;    /* which */
    uint32_t pc;      /* operation */
    uint32_t turn[2]; /* of the outer and the inner repeat */
    uint32_t loop;
    int32_t it;           /* iteration of the step: slice of its receives and value */
    int32_t lead;         /* ranged sends are at slice it + lead */
    int32_t end;          /* iterations end here */
    uint32_t cursor;      /* peers of this wait that are ready */
    uint32_t value_bytes; /* of the step's value */
    uint32_t units, more; /* units of a chunk; the first `more` chunks have one more */
    uint64_t first;       /* unit of the share where the loop begins */
    /* what the waits have found: where each operand of the sum lies, in its order, and (behind
     * `store`) where the slice of each send goes; plan.most_receives + 1 and plan.most_sends + 1
     * entries, given by whoever runs the lane */
    const unsigned char **sources;
    unsigned char **targets;
};

enum plan_status { PLAN_WAITING, PLAN_DONE, PLAN_ABORTED };

#endif
