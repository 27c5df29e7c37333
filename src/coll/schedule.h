/* schedule.h - what moves when: the one schedule that model, simulator and engine share (DESIGN 4).
 *
 * A schedule is size-free and chunk-indexed. Each position of a group has a *program* per lane: a
 * loop nest that handles one *loop* over the message; a longer message repeats the loop, pipelined.
 *
 *     items = step | repeat n { items }                    a repeat may hold repeats once
 *     step  = receive from peers, combine, store, send, all slice by slice
 *
 * Nothing in a program grows with the ranks but what the algorithm itself needs (log n steps of
 * an exchange). Programs speak of *positions*; which rank stands where is the layout's business
 * (layout.h), and so one program serves every channel.
 *
 * Chunks. Every buffer of a loop is an array of chunks of equal size (the last ones may be an
 * element shorter, coll/chunk.h). `in` and `out` have parts: one, or one per rank where the
 * collective divides (the out of all-gather, the in of reduce-scatter, ...). Each part has `chunks`
 * chunks: index = part * chunks + c,        part = a position (the layout turns it into a rank)
 * `scratch` has `scratch` chunks, in `copies` copies: loop L uses copy L mod copies.
 *
 * One order within a step, for checker, simulator and engine alike: with lead = window - 1,
 * iteration it = -lead, -lead + 1, ... first posts slice it + lead of every ranged send (after
 * waiting for a free slot), then waits for slice `it` of every receive and for a free slot of every
 * peer that gets the value, combines, stores, posts the value, frees the slots. A send or receive
 * without such a slice sits the iteration out. So an exchange is one step and cannot deadlock at
 * any window.
 */
#ifndef CCLTUNE_SCHEDULE_H
#define CCLTUNE_SCHEDULE_H

#include "arena.h"
#include "collective.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* index x -> base + move * outer + stride * (x mod size); mod is never negative. `outer` is the
 * turn of the outermost repeat around the step, the inner repetition that of the innermost
 * (walk.h). */
struct sched_space {
    int32_t size, base, stride, move;
};

enum sched_buffer { SCHED_IN, SCHED_OUT, SCHED_SCRATCH, SCHED_BUFFERS };

/* Chunks of a buffer: `runs` runs of `run` chunks whose starts lie `gap` apart, none from `last` on
 * (last counts before space and moves are applied, and needs gap >= run; 0: no limit), the whole
 * moved by `move` per inner repetition and by `per_peer` per peer of the step. runs = 0: no chunk
 * at all, the message is a token. */
struct sched_range {
    enum sched_buffer buffer;
    struct sched_space space;
    int32_t first, run, gap, runs, last, move, per_peer;
};

/* Positions first, first + 1, ... (`count` of them), each moved by `move` per inner repetition, of
 * the lane `lane`. A peer equal to oneself orders lanes. `group`: the first position stands for all
 * of them at once (a multicast or in-fabric group): a send reaches every member, a receive waits
 * for every member. */
struct sched_peers {
    struct sched_space space;
    int32_t first, count, move;
    uint8_t lane;
    bool group;
};

struct sched_send {
    struct sched_peers peers;
    bool value; /* the step's value; else `range` */
    struct sched_range range;
};

enum sched_combine {
    SCHED_REDUCE, /* what arrives from all peers and `take` become one value */
    SCHED_PLACE   /* what arrives from peer p goes to `store` of p (per_peer) */
};

enum sched_via {
    SCHED_SLOT, /* copied through the connection's slots */
    SCHED_PULL, /* the sender posts a descriptor; the receiver reads its buffer, then frees */
    SCHED_PUSH  /* place only: the receiver posts where; the sender writes there, then posts */
};

#define SCHED_SENDS_MOST 4 /* lists of peers in one step; a list may have any number of peers */

struct sched_step {
    struct sched_peers recv[SCHED_SENDS_MOST];
    struct sched_send send[SCHED_SENDS_MOST];
    uint8_t nr_recv, nr_send;
    enum sched_combine combine;
    enum sched_via via;
    bool takes, stores;
    struct sched_range take, store;
    const char *compute; /* NULL; or the name of an operator from `take` to `store` */
};

struct sched_item { /* a step, or a repeat of items */
    uint32_t times; /* 0: a step */
    struct sched_step step;
    const struct sched_item *items;
    size_t nr;
};

#define SCHED_LANES_MOST 8

struct sched_lane {
    const struct sched_item *items;
    size_t nr;
};

struct sched_program { /* of one position */
    struct sched_lane lanes[SCHED_LANES_MOST];
    uint32_t nr_lanes;
};

struct sched_credit { /* tokens that lie in a self connection when the run starts */
    uint8_t from_lane, to_lane;
    uint32_t tokens;
};

/* What is the same for all positions. */
struct sched_shape {
    uint32_t chunks;  /* per part of in and out */
    uint32_t scratch; /* chunks of one copy of scratch; 0: none */
    uint32_t copies;  /* of scratch, >= 1 */
    uint32_t lanes;
    struct sched_credit credits[SCHED_LANES_MOST];
    uint32_t nr_credits;
};

#define SCHED_LEVELS_MOST 3

struct sched_request { /* what is asked of an algorithm */
    enum collective collective;
    uint32_t ranks;
    bool in_place;
    uint32_t
        levels[SCHED_LEVELS_MOST]; /* outermost first: {hosts, ranks per host}; product = ranks */
    uint32_t nr_levels;            /* 0: flat */
    const char *inner, *outer;     /* rows that a hierarchy is made of; NULL: its defaults */
};
/* In a rooted collective position 0 is the root: the layout puts it there. */

enum sched_needs {
    SCHED_NEEDS_POWER_OF_TWO = 1 << 0,
    SCHED_NEEDS_HIERARCHY = 1 << 1,
    SCHED_NEEDS_GROUP_PEER = 1 << 2, /* NVSwitch multicast or in-fabric reduction */
    SCHED_NEEDS_DIRECT = 1 << 3,     /* peers' registered buffers can be addressed */
    SCHED_NEEDS_COMMUTATIVE = 1 << 4
};

struct sched_builder; /* sched_build.h */

/* One algorithm: a file and a row of this table. What a row states twice can disagree, so all else
 * is counted from its programs. */
struct algorithm {
    const char *name; /* "ring" */
    const char *what; /* one sentence */
    const char *paper;
    unsigned collectives; /* 1 << enum collective */
    unsigned needs;       /* of enum sched_needs */
    /* Why not? The error names it; NULL: whatever `needs` and `collectives` say. */
    int (*fits)(const struct sched_request *request, struct error *error);
    void (*shape)(const struct sched_request *request, struct sched_shape *shape);
    /* Adds the steps of `position`. */
    void (*emit)(struct sched_builder *builder, const struct sched_request *request,
                 uint32_t position);
    /* The lowest position whose program is the same up to renaming of positions and chunks. */
    uint32_t (*role)(const struct sched_request *request, uint32_t position);
    const char *order; /* of summation: "ring order from the owner on", ... */
};

/* The table, NULL-ended, and a row by name (the error names the nearest). */
const struct algorithm *const *algorithm_all(void);
const struct algorithm *algorithm_find(const char *name, struct error *error);

struct schedule {
    const struct algorithm *row; /* NULL: read from a file */
    const char *name;
    struct sched_request request;
    struct sched_shape shape;
    const struct sched_program *programs; /* of a file: one per position; else NULL */
};

/* Makes a schedule of a row; fails with the reason when the row cannot serve the request. */
int sched_make(const struct algorithm *row, const struct sched_request *request,
               struct schedule *schedule, struct error *error);

/* The program of a position: emitted now (arena-owned) or the file's. */
const struct sched_program *sched_program(const struct schedule *schedule, uint32_t position,
                                          struct arena *arena);

/* Parts of a buffer: 1 or ranks; chunks in it. `in` of a receiver-only position counts all the
 * same. */
uint32_t sched_parts(const struct sched_request *request, enum sched_buffer buffer);
uint32_t sched_chunks(const struct schedule *schedule, enum sched_buffer buffer);

#endif
