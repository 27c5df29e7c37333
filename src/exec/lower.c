/* lower.c - a program's items, one after the other, as operations; operands are kept once. */
#include "lower.h"

#include "walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MOST = PLAN_NONE };

struct lowering {
    const struct schedule *schedule;
    struct plan_op *ops; /* malloc'ed, as the next three */
    union plan_entry *entries;
    uint16_t *table; /* entry + 1 by hash; 0: free */
    size_t nr_ops, ops_room, nr_entries, entries_room;
    struct plan *plan;
    uint32_t turns[2]; /* of the repeats around the step at hand; 1 where there is none */
    unsigned depth;
    uint32_t lane;
    struct error *error;
};

/* ---- Entries ---- */

enum { TABLE = 1 << 17 }; /* twice as many as there can be entries */

static uint32_t hash_entry(const union plan_entry *entry)
{
    const unsigned char *bytes = (const unsigned char *)entry;
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < sizeof *entry; i++) {
        hash = (hash ^ bytes[i]) * 16777619U;
    }
    return hash;
}

/* The index of an entry equal to this one, which is added if there is none. */
static int add_entry(struct lowering *l, const union plan_entry *entry, uint16_t *index)
{
    uint32_t at = hash_entry(entry) % TABLE;
    for (; l->table[at]; at = (at + 1) % TABLE) {
        if (!memcmp(&l->entries[l->table[at] - 1], entry, sizeof *entry)) {
            *index = (uint16_t)(l->table[at] - 1);
            return 0;
        }
    }
    if (l->nr_entries >= ENTRIES_MOST) {
        return error_set(l->error, EXIT_INPUT,
                         "%s has more than %d different operands in a position's program: "
                         "a plan cannot hold it",
                         l->schedule->name, ENTRIES_MOST);
    }
    if (l->nr_entries == l->entries_room) {
        array_grow((void **)&l->entries, &l->entries_room, l->nr_entries, sizeof *l->entries);
    }
    l->entries[l->nr_entries] = *entry;
    *index = (uint16_t)l->nr_entries++;
    l->table[at] = (uint16_t)(*index + 1);
    return 0;
}

/* The interpreter computes indices in 32 bits. */
static int check_reach(struct lowering *l, int64_t reach, const char *what)
{
    if (reach <= INT32_MAX) {
        return 0;
    }
    return error_set(l->error, EXIT_INPUT,
                     "%s, lane %" PRIu32 ": %s reaches %" PRId64
                     ", beyond 2^31: a plan cannot hold it",
                     l->schedule->name, l->lane, what, reach);
}

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

static int add_space(struct lowering *l, const struct sched_space *space, uint16_t *index)
{
    if (space->size < 1) {
        return error_set(l->error, EXIT_INPUT,
                         "%s, lane %" PRIu32 ": a space of size %" PRId32 "; expected at least 1",
                         l->schedule->name, l->lane, space->size);
    }
    int64_t reach = magnitude(space->base) + magnitude(space->move) * l->turns[0] +
                    magnitude(space->stride) * space->size;
    union plan_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.space.size = space->size;
    entry.space.base = space->base;
    entry.space.stride = space->stride;
    entry.space.move = space->move;
    return check_reach(l, reach, "a space") ? -1 : add_entry(l, &entry, index);
}

static uint32_t inner_turns(const struct lowering *l)
{
    return l->depth == 2 ? l->turns[1] : l->turns[0];
}

/* peers: of the step, that the range is moved for */
static int add_range(struct lowering *l, const struct sched_range *range, uint32_t peers,
                     uint16_t *index)
{
    int64_t reach = magnitude(range->first) + magnitude(range->move) * inner_turns(l) +
                    magnitude(range->per_peer) * peers + magnitude(range->gap) * range->runs +
                    magnitude(range->run) * range->runs + magnitude(range->last);
    union plan_entry entry;
    memset(&entry, 0, sizeof entry);
    if (check_reach(l, reach, "a range") || add_space(l, &range->space, &entry.range.space)) {
        return -1;
    }
    entry.range.buffer = (uint8_t)range->buffer;
    entry.range.first = range->first;
    entry.range.run = range->run;
    entry.range.gap = range->gap;
    entry.range.runs = range->runs;
    entry.range.last = range->last;
    entry.range.move = range->move;
    entry.range.per_peer = range->per_peer;
    return add_entry(l, &entry, index);
}

static int add_peers(struct lowering *l, const struct sched_peers *peers, uint16_t *index)
{
    if (peers->group) {
        return error_set(l->error, EXIT_INPUT,
                         "%s, lane %" PRIu32
                         ": a group peer needs multicast hardware, which ranks on CPUs have not",
                         l->schedule->name, l->lane);
    }
    int64_t reach =
        magnitude(peers->first) + magnitude(peers->move) * inner_turns(l) + peers->count;
    union plan_entry entry;
    memset(&entry, 0, sizeof entry);
    if (check_reach(l, reach, "a list of peers") ||
        add_space(l, &peers->space, &entry.peers.space)) {
        return -1;
    }
    entry.peers.lane = peers->lane;
    entry.peers.first = peers->first;
    entry.peers.count = peers->count;
    entry.peers.move = peers->move;
    return add_entry(l, &entry, index);
}

/* ---- Operations ---- */

static struct plan_op *add_op(struct lowering *l, const struct plan_op *op)
{
    if (l->nr_ops == l->ops_room) {
        array_grow((void **)&l->ops, &l->ops_room, l->nr_ops, sizeof *l->ops);
    }
    l->ops[l->nr_ops] = *op;
    return &l->ops[l->nr_ops++];
}

static void add_jump(struct lowering *l, enum plan_kind kind, uint8_t flags, size_t to,
                     uint32_t times)
{
    struct plan_op op;
    memset(&op, 0, sizeof op);
    op.kind = (uint8_t)kind;
    op.flags = flags;
    op.take = op.store = PLAN_NONE;
    op.u.jump.to = (uint32_t)to;
    op.u.jump.times = times;
    add_op(l, &op);
}

/* What the operations of a step are made from. */
struct parts {
    struct plan_op base; /* flags, take, store, receives; no sends */
    uint8_t via;         /* PLAN_PULL, PLAN_PUSH or 0 */
    struct sends {
        uint8_t nr;
        uint16_t peers[PLAN_LISTS_MOST], ranges[PLAN_LISTS_MOST];
    } ranged, values;
    bool copies; /* some ranged send has chunks */
};

enum { SENDS = 1, RECEIVES = 2 };

/* One operation: the step's lists that it needs, no others, so that equal steps read equal. */
static void add_part(struct lowering *l, const struct parts *parts, enum plan_kind kind,
                     const struct sends *sends, unsigned uses, uint8_t flags)
{
    struct plan_op op = parts->base;
    op.kind = (uint8_t)kind;
    op.flags |= flags;
    if (uses & SENDS) {
        op.nr_send = sends->nr;
        memcpy(op.send, sends->peers, sizeof op.send);
        memcpy(op.send_range, sends->ranges, sizeof op.send_range);
    }
    if (!(uses & RECEIVES)) {
        op.nr_receive = 0;
        op.take = op.store = PLAN_NONE;
        memset(&op.u, 0, sizeof op.u);
    }
    add_op(l, &op);
}

static int refuse(struct lowering *l, const char *why)
{
    return error_set(l->error, EXIT_INPUT, "%s, lane %" PRIu32 ": %s", l->schedule->name, l->lane,
                     why);
}

/* A descriptor names one piece of memory. */
static bool is_one_piece(const struct sched_range *range)
{
    return walk_range_length(range) <= 1;
}

static int check_step(struct lowering *l, const struct sched_step *step)
{
    bool place = step->combine == SCHED_PLACE;
    if (step->compute) {
        return error_set(l->error, EXIT_INPUT,
                         "%s, lane %" PRIu32 ": operator '%s' is not one that the engine has",
                         l->schedule->name, l->lane, step->compute);
    }
    if (place && step->takes) {
        return refuse(l, "a step that places cannot take as well");
    }
    for (unsigned i = 0; i < step->nr_send; i++) {
        if (place && step->send[i].value) {
            return refuse(l, "a step that places has no value to send");
        }
        if (!step->send[i].value && step->via == SCHED_PULL &&
            !is_one_piece(&step->send[i].range)) {
            return refuse(l, "a pull of several chunks in one message: give each its own message");
        }
    }
    if (step->via == SCHED_PUSH && step->nr_recv > 0 && !(place && step->stores)) {
        return refuse(l, "a push must be placed");
    }
    if (step->via == SCHED_PUSH && step->nr_recv > 0 && !is_one_piece(&step->store)) {
        return refuse(l, "a push of several chunks in one message: give each its own message");
    }
    return 0;
}

static int gather_sends(struct lowering *l, const struct sched_step *step, struct parts *parts)
{
    for (unsigned i = 0; i < step->nr_send; i++) {
        const struct sched_send *send = &step->send[i];
        struct sends *sends = send->value ? &parts->values : &parts->ranged;
        uint16_t *range = &sends->ranges[sends->nr];
        if (add_peers(l, &send->peers, &sends->peers[sends->nr]) ||
            (!send->value && add_range(l, &send->range, (uint32_t)send->peers.count, range))) {
            return -1;
        }
        sends->nr++;
        parts->copies = parts->copies || (!send->value && walk_range_length(&send->range) > 0);
    }
    return 0;
}

static int gather_parts(struct lowering *l, const struct sched_step *step, struct parts *parts)
{
    struct plan_op *base = &parts->base;
    uint32_t receives = walk_receives(step), sends = walk_sends(step);
    memset(parts, 0, sizeof *parts);
    base->take = base->store = PLAN_NONE;
    base->flags = (uint8_t)((step->combine == SCHED_PLACE ? PLAN_PLACE : 0) |
                            (l->depth == 2 ? PLAN_NESTED : 0));
    parts->via = step->via == SCHED_PULL ? PLAN_PULL : step->via == SCHED_PUSH ? PLAN_PUSH : 0;
    base->nr_receive = step->nr_recv;
    for (unsigned i = 0; i < step->nr_recv; i++) {
        if (add_peers(l, &step->recv[i], &base->u.receive[i])) {
            return -1;
        }
    }
    if ((step->takes && add_range(l, &step->take, receives, &base->take)) ||
        (step->stores && add_range(l, &step->store, receives, &base->store))) {
        return -1;
    }
    struct plan *plan = l->plan;
    plan->most_receives = receives > plan->most_receives ? receives : plan->most_receives;
    plan->most_sends = sends > plan->most_sends ? sends : plan->most_sends;
    plan->direct |= parts->via != 0;
    return gather_sends(l, step, parts);
}

static int lower_step(struct lowering *l, const struct sched_step *step)
{
    struct parts parts;
    if (check_step(l, step) || gather_parts(l, step, &parts)) {
        return -1;
    }
    const struct sends *ranged = &parts.ranged, *values = &parts.values;
    bool receives = step->nr_recv > 0, place = step->combine == SCHED_PLACE;
    bool value = !place && (receives || step->takes || step->stores || values->nr > 0);
    if (!value && !receives && ranged->nr == 0) {
        return 0;
    }
    add_part(l, &parts, PLAN_SLICES, ranged, SENDS | RECEIVES,
             (uint8_t)(parts.via | (value ? PLAN_VALUE : 0)));
    size_t again = l->nr_ops;
    if (ranged->nr > 0) {
        add_part(l, &parts, PLAN_WAIT_FREE, ranged, SENDS, parts.via);
        if (parts.via != PLAN_PULL && parts.copies) {
            add_part(l, &parts, PLAN_COPY, ranged, SENDS, parts.via);
        }
        add_part(l, &parts, PLAN_POST, ranged, SENDS, parts.via);
    }
    if (receives) {
        add_part(l, &parts, PLAN_WAIT_POST, ranged, RECEIVES, parts.via);
    }
    if (values->nr > 0) {
        add_part(l, &parts, PLAN_WAIT_FREE, values, SENDS, PLAN_VALUE);
    }
    if (value && (step->stores || values->nr > 0)) {
        add_part(l, &parts, PLAN_COMBINE, values, SENDS | RECEIVES, 0);
    }
    if (place && receives && step->stores && parts.via != PLAN_PUSH) {
        add_part(l, &parts, PLAN_PUT, ranged, RECEIVES, 0);
    }
    if (values->nr > 0) {
        add_part(l, &parts, PLAN_POST, values, SENDS, PLAN_VALUE);
    }
    if (receives) {
        add_part(l, &parts, PLAN_FREE, ranged, RECEIVES, parts.via);
    }
    add_jump(l, PLAN_NEXT, 0, again, 0);
    if (parts.via == PLAN_PULL && ranged->nr > 0) {
        add_part(l, &parts, PLAN_DRAIN, ranged, SENDS, parts.via);
    }
    return 0;
}

/* ---- Items ---- */

static int lower_items(struct lowering *l, const struct sched_item *items, size_t nr)
{
    for (size_t i = 0; i < nr; i++) {
        const struct sched_item *item = &items[i];
        if (item->times == 0) {
            if (lower_step(l, &item->step)) {
                return -1;
            }
            continue;
        }
        if (l->depth == 2) {
            return refuse(l, "repeats may nest once");
        }
        size_t first = l->nr_ops;
        l->turns[l->depth++] = item->times;
        int failed = lower_items(l, item->items, item->nr);
        l->turns[--l->depth] = 1;
        if (failed) {
            return -1;
        }
        if (item->times > 1 && l->nr_ops > first) {
            add_jump(l, PLAN_REPEAT, l->depth == 1 ? PLAN_NESTED : 0, first, item->times);
        }
    }
    return 0;
}

static int lower_lane(struct lowering *l, const struct sched_lane *lane)
{
    size_t first = l->nr_ops;
    l->plan->first[l->lane] = (uint32_t)first;
    add_jump(l, PLAN_LOOP, 0, 0, 0);
    if (lower_items(l, lane->items, lane->nr)) {
        return -1;
    }
    add_jump(l, PLAN_END, 0, first, 0);
    return 0;
}

static void *keep(struct arena *arena, const void *items, size_t nr, size_t size)
{
    void *kept = arena_alloc(arena, nr ? nr : 1, size);
    if (nr > 0) {
        memcpy(kept, items, nr * size);
    }
    return kept;
}

static int lower_lanes(struct lowering *l, const struct sched_program *program, struct arena *arena)
{
    for (l->lane = 0; l->lane < program->nr_lanes; l->lane++) {
        if (lower_lane(l, &program->lanes[l->lane])) {
            return -1;
        }
    }
    l->plan->ops = keep(arena, l->ops, l->nr_ops, sizeof *l->ops);
    l->plan->entries = keep(arena, l->entries, l->nr_entries, sizeof *l->entries);
    l->plan->nr_ops = (uint32_t)l->nr_ops;
    l->plan->nr_entries = (uint32_t)l->nr_entries;
    return 0;
}

int lower_program(const struct schedule *schedule, const struct sched_program *program,
                  struct arena *arena, struct plan *plan, struct error *error)
{
    struct plan made = {.lanes = program->nr_lanes,
                        .ranks = schedule->request.ranks,
                        .chunks = schedule->shape.chunks,
                        .scratch = schedule->shape.scratch,
                        .copies = schedule->shape.copies};
    for (enum sched_buffer b = SCHED_IN; b <= SCHED_OUT; b++) {
        made.divided |= (uint32_t)(sched_parts(&schedule->request, b) > 1) << b;
    }
    struct lowering l = {.schedule = schedule,
                         .table = calloc(TABLE, sizeof(uint16_t)),
                         .plan = &made,
                         .turns = {1, 1},
                         .error = error};
    if (!l.table) {
        arena_out_of_memory();
    }
    int failed = lower_lanes(&l, program, arena);
    free(l.table);
    free(l.entries);
    free(l.ops);
    if (failed) {
        return -1;
    }
    *plan = made;
    return 0;
}

int lower_plan(const struct schedule *schedule, uint32_t position, struct arena *arena,
               struct plan *plan, struct error *error)
{
    return lower_program(schedule, sched_program(schedule, position, arena), arena, plan, error);
}

uint64_t lower_bytes(const struct plan *plan)
{
    return plan->nr_ops * sizeof(struct plan_op) + plan->nr_entries * sizeof(union plan_entry);
}

/* ---- What a call needs ---- */

enum { MESSAGE_BYTES_MOST = 1 << 30 };

uint64_t lower_chunk_most(const struct schedule *schedule, const struct plan *plan, uint32_t slots,
                          uint32_t slice_bytes)
{
    /* Chunks in one message: no more than a buffer has, on any position. */
    uint64_t chunks = sched_chunks(schedule, SCHED_IN);
    chunks =
        sched_chunks(schedule, SCHED_OUT) > chunks ? sched_chunks(schedule, SCHED_OUT) : chunks;
    chunks = plan->scratch > chunks ? plan->scratch : chunks;
    uint64_t window = (uint64_t)(slots - 1) * slice_bytes, most = MESSAGE_BYTES_MOST / chunks;
    return window < most ? window : most;
}

struct plan_share lower_share(const struct chunk_plan *chunks)
{
    return (struct plan_share){.first = chunks->first,
                               .count = chunks->count,
                               .loops = chunks->loops,
                               .unit = chunks->unit};
}

uint64_t lower_scratch_bytes(const struct chunk_plan *chunks, uint32_t element_bytes)
{
    uint64_t units = chunks->count / chunks->unit + (chunks->count % chunks->unit > 0);
    uint64_t per_loop = units / chunks->loops + (units % chunks->loops > 0);
    uint64_t per_chunk = per_loop / chunks->chunks + (per_loop % chunks->chunks > 0);
    return plan_round(per_chunk * chunks->unit * element_bytes);
}
