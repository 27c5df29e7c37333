/* naive_run.h - a second, naive reading of schedules: what the checker is held against.
 *
 * It shares no code with the checker. Each lane's loops are compiled to a flat list of the smallest
 * acts (wait for a slot, load a cell, post, ...), after DESIGN's one order of a step; then all
 * lanes are run act by act in random order, some of them starved. Cells count contributions; there
 * are no clocks and no proofs: what goes wrong goes wrong only if the order brings it out.
 */
#ifndef TESTS_NAIVE_RUN_H
#define TESTS_NAIVE_RUN_H

#include "sched_check.h"

#include <stdlib.h>
#include <string.h>

enum { NAIVE_SOURCES = 72, NAIVE_WINDOW = 8, NAIVE_LANES = 64, NAIVE_GRANTS = 16 };
enum { NAIVE_ACTS_MOST = 1 << 20 };

enum naive_outcome { NAIVE_RIGHT, NAIVE_WRONG, NAIVE_STUCK, NAIVE_INVALID };

struct naive_value {
    uint8_t bad;                  /* garbage, or of several loops */
    uint8_t turn;                 /* call * loops + loop + 1; 0: empty */
    uint8_t count[NAIVE_SOURCES]; /* [position * chunks of in + chunk] */
};

enum naive_kind {
    ACT_ROOM,    /* wait for a free slot */
    ACT_SLICE,   /* wait for a slice */
    ACT_GRANTED, /* wait for a grant, take it */
    ACT_EMPTY,   /* wait until all is freed */
    ACT_GRANT,   /* grant cells[first ..] */
    ACT_CLEAR,
    ACT_LOAD,     /* add a cell */
    ACT_ADD_SLOT, /* add the slice that came, or what it points to */
    ACT_STORE,
    ACT_PUT, /* store where the grant says */
    ACT_POST,
    ACT_POST_CELL, /* pull: only where it lies */
    ACT_POP,
    ACT_END /* of the call */
};

struct naive_act {
    enum naive_kind kind;
    uint32_t connection, cell; /* cell: or the number of a slice; or first of a grant's cells */
    uint32_t nr;               /* of a grant's cells */
};

struct naive_slot {
    bool points;
    uint32_t cell;
    struct naive_value value;
};

struct naive_connection {
    uint32_t from, to, credits;
    uint64_t posted, taken;
    struct naive_slot slots[NAIVE_WINDOW];
    const struct naive_act *grants[NAIVE_GRANTS], *granted;
    uint32_t nr_grants;
};

struct naive_lane {
    struct naive_act *acts;
    size_t nr, capacity, pc;
    uint32_t call;
    bool ended; /* the call, and others have not */
    struct naive_value sum;
};

struct naive {
    const struct schedule *schedule;
    struct sched_check_options options;
    uint32_t ranks, lanes, in, out, per_rank; /* chunks; cells of a rank */
    struct naive_lane lane[NAIVE_LANES];
    int16_t connection_of[NAIVE_LANES][NAIVE_LANES]; /* -1: none */
    struct naive_connection *connections;
    size_t nr_connections, connections_capacity;
    uint32_t *cells; /* of grants */
    size_t nr_cells, cells_capacity;
    struct naive_value *memory;
    bool invalid; /* does not compile, or came to what cannot be */
    bool wrong;
};

/* ---- indices ---- */

static inline long naive_space(const struct sched_space *space, long x, long outer)
{
    if (space->size <= 0) {
        return -1;
    }
    long residue = x % space->size;
    return space->base + space->move * outer +
           space->stride * (residue < 0 ? residue + space->size : residue);
}

struct naive_at {
    uint32_t position, lane, loop;
    long outer, inner;
};

/* Chunks of a range; the number of cells, which lie in `cells`. Out of range: invalid. */
static inline uint32_t naive_cells(struct naive *n, const struct naive_at *at,
                                   const struct sched_range *range, long peer, uint32_t *cells,
                                   uint32_t most)
{
    uint32_t nr = 0, slices = n->options.slices_per_chunk;
    const struct sched_shape *shape = &n->schedule->shape;
    bool in_place = n->schedule->request.in_place;
    long size = range->buffer == SCHED_IN    ? n->in
                : range->buffer == SCHED_OUT ? n->out
                                             : shape->scratch;
    for (long k = 0; k < range->runs; k++) {
        for (long x = 0; x < range->run; x++) {
            long first = range->first + k * range->gap + x;
            if (range->last && first >= range->last) {
                continue;
            }
            long chunk = naive_space(
                &range->space, first + range->move * at->inner + range->per_peer * peer, at->outer);
            if (chunk < 0 || chunk >= size || nr + slices > most) {
                n->invalid = true;
                return 0;
            }
            uint32_t user = in_place ? (n->in > n->out ? n->in : n->out) : n->in + n->out;
            long row = at->loop * user + chunk;
            if (range->buffer == SCHED_SCRATCH) {
                row = n->options.loops * user + at->loop % shape->copies * shape->scratch + chunk;
            } else if (!in_place) {
                row += range->buffer == SCHED_OUT ? n->in : 0;
            } else if (n->in < n->out && range->buffer == SCHED_IN) {
                row += at->position * n->in;
            } else if (n->out < n->in && range->buffer == SCHED_OUT) {
                row += at->position * n->out;
            }
            for (uint32_t s = 0; s < slices; s++) {
                cells[nr++] = at->position * n->per_rank + (uint32_t)row * slices + s;
            }
        }
    }
    return nr;
}

/* ---- compiling ---- */

static inline void naive_act(struct naive *n, const struct naive_at *at, enum naive_kind kind,
                             uint32_t connection, uint32_t cell, uint32_t nr)
{
    struct naive_lane *lane = &n->lane[at->position * n->lanes + at->lane];
    if (lane->nr == NAIVE_ACTS_MOST) {
        n->invalid = true;
        return;
    }
    void *acts = lane->acts;
    array_grow(&acts, &lane->capacity, lane->nr, sizeof *lane->acts);
    lane->acts = acts;
    lane->acts[lane->nr++] = (struct naive_act){kind, connection, cell, nr};
}

static inline uint32_t naive_connect(struct naive *n, uint32_t from, uint32_t to)
{
    if (n->connection_of[from][to] < 0) {
        void *items = n->connections;
        array_grow(&items, &n->connections_capacity, n->nr_connections, sizeof *n->connections);
        n->connections = items;
        n->connection_of[from][to] = (int16_t)n->nr_connections;
        memset(&n->connections[n->nr_connections], 0, sizeof *n->connections);
        n->connections[n->nr_connections].from = from;
        n->connections[n->nr_connections++].to = to;
    }
    return (uint32_t)n->connection_of[from][to];
}

enum { NAIVE_PEERS = 32, NAIVE_CELLS = 256 };

struct naive_message {
    uint32_t connection, nr, slices; /* cells; 0: a token of one slice */
    uint32_t cells[NAIVE_CELLS];
};

struct naive_messages {
    struct naive_message at[NAIVE_PEERS];
    uint32_t nr, slices; /* of the longest */
};

static inline struct naive_message *naive_add(struct naive *n, struct naive_messages *list,
                                              const struct naive_at *at,
                                              const struct sched_peers *peers, long k, bool sends)
{
    long position =
        naive_space(&peers->space, peers->first + peers->move * at->inner + k, at->outer);
    if (position < 0 || position >= n->ranks || peers->lane >= n->lanes ||
        list->nr == NAIVE_PEERS) {
        n->invalid = true;
        return NULL;
    }
    struct naive_message *message = &list->at[list->nr++];
    uint32_t me = at->position * n->lanes + at->lane;
    uint32_t other = (uint32_t)position * n->lanes + peers->lane;
    message->connection = sends ? naive_connect(n, me, other) : naive_connect(n, other, me);
    message->nr = 0;
    return message;
}

static inline void naive_sized(struct naive_messages *list, struct naive_message *message)
{
    message->slices = message->nr ? message->nr : 1;
    if (message->slices > list->slices) {
        list->slices = message->slices;
    }
}

struct naive_step {
    struct naive_messages sends, values, receives;
    struct naive_message take, store;
};

static inline void naive_peers(struct naive *n, const struct naive_at *at,
                               const struct sched_step *step, struct naive_step *out)
{
    for (unsigned i = 0; i < step->nr_send && !n->invalid; i++) {
        const struct sched_send *send = &step->send[i];
        struct naive_messages *list = send->value ? &out->values : &out->sends;
        for (long k = 0; k < send->peers.count && !n->invalid; k++) {
            struct naive_message *message = naive_add(n, list, at, &send->peers, k, true);
            if (message && !send->value) {
                message->nr = naive_cells(n, at, &send->range, send->peers.group ? 0 : k,
                                          message->cells, NAIVE_CELLS);
                naive_sized(list, message);
            }
        }
    }
    for (unsigned i = 0; i < step->nr_recv && !n->invalid; i++) {
        for (long k = 0; k < step->recv[i].count && !n->invalid; k++) {
            struct naive_message *message =
                naive_add(n, &out->receives, at, &step->recv[i], k, false);
            if (message && step->combine == SCHED_PLACE) {
                message->nr = step->stores
                                  ? naive_cells(n, at, &step->store, k, message->cells, NAIVE_CELLS)
                                  : 0;
            } else if (message) {
                const struct naive_message *value = step->stores ? &out->store : &out->take;
                memcpy(message->cells, value->cells, sizeof value->cells);
                message->nr = value->nr;
            }
            if (message) {
                naive_sized(&out->receives, message);
            }
        }
    }
}

static inline void naive_sends(struct naive *n, const struct naive_at *at,
                               const struct sched_step *step, const struct naive_step *s, long u)
{
    for (uint32_t i = 0; i < s->sends.nr; i++) {
        if (u < s->sends.at[i].slices) {
            if (step->via == SCHED_PUSH && u == 0) {
                naive_act(n, at, ACT_GRANTED, s->sends.at[i].connection, 0, 0);
            }
            naive_act(n, at, ACT_ROOM, s->sends.at[i].connection, 0, 0);
        }
    }
    for (uint32_t i = 0; i < s->sends.nr; i++) {
        const struct naive_message *m = &s->sends.at[i];
        if (u >= m->slices) {
            continue;
        }
        naive_act(n, at, ACT_CLEAR, 0, 0, 0);
        if (m->nr && step->via == SCHED_PULL) {
            naive_act(n, at, ACT_POST_CELL, m->connection, m->cells[u], 0);
            continue;
        }
        if (m->nr) {
            naive_act(n, at, ACT_LOAD, 0, m->cells[u], 0);
        }
        if (m->nr && step->via == SCHED_PUSH) {
            naive_act(n, at, ACT_PUT, m->connection, (uint32_t)u, 0);
        }
        naive_act(n, at, ACT_POST, m->connection, 0, 0);
    }
}

static inline void naive_combine(struct naive *n, const struct naive_at *at,
                                 const struct sched_step *step, const struct naive_step *s, long it)
{
    const struct naive_messages *receives = &s->receives;
    bool place = step->combine == SCHED_PLACE;
    for (uint32_t i = 0; i < receives->nr; i++) {
        if (it < receives->at[i].slices) {
            naive_act(n, at, ACT_SLICE, receives->at[i].connection, 0, 0);
        }
    }
    for (uint32_t i = 0; i < s->values.nr; i++) {
        naive_act(n, at, ACT_ROOM, s->values.at[i].connection, 0, 0);
    }
    naive_act(n, at, ACT_CLEAR, 0, 0, 0);
    for (uint32_t i = 0; i < receives->nr; i++) {
        const struct naive_message *m = &receives->at[i];
        if (it >= m->slices || (place && step->via == SCHED_PUSH)) {
            continue;
        }
        if (place) {
            naive_act(n, at, ACT_CLEAR, 0, 0, 0);
        }
        naive_act(n, at, ACT_ADD_SLOT, m->connection, 0, 0);
        if (place && m->nr) {
            naive_act(n, at, ACT_STORE, 0, m->cells[it], 0);
        }
    }
    if (!place && it < s->take.nr) {
        naive_act(n, at, ACT_LOAD, 0, s->take.cells[it], 0);
    }
    if (!place && it < s->store.nr) {
        naive_act(n, at, ACT_STORE, 0, s->store.cells[it], 0);
    }
    for (uint32_t i = 0; i < s->values.nr; i++) {
        naive_act(n, at, ACT_POST, s->values.at[i].connection, 0, 0);
    }
    for (uint32_t i = 0; i < receives->nr; i++) {
        if (it < receives->at[i].slices) {
            naive_act(n, at, ACT_POP, receives->at[i].connection, 0, 0);
        }
    }
}

static inline void naive_grants(struct naive *n, const struct naive_at *at,
                                const struct naive_messages *receives)
{
    for (uint32_t i = 0; i < receives->nr; i++) {
        const struct naive_message *m = &receives->at[i];
        naive_act(n, at, ACT_GRANT, m->connection, (uint32_t)n->nr_cells, m->nr);
        for (uint32_t k = 0; k < m->nr; k++) {
            void *cells = n->cells;
            array_grow(&cells, &n->cells_capacity, n->nr_cells, sizeof *n->cells);
            n->cells = cells;
            n->cells[n->nr_cells++] = m->cells[k];
        }
    }
}

static inline void naive_compile_step(struct naive *n, const struct naive_at *at,
                                      const struct sched_step *step)
{
    static struct naive_step s;
    s.sends.nr = s.values.nr = s.receives.nr = s.take.nr = s.store.nr = 0;
    s.sends.slices = s.values.slices = s.receives.slices = 0;
    if (step->combine == SCHED_REDUCE) {
        s.take.nr = step->takes ? naive_cells(n, at, &step->take, 0, s.take.cells, NAIVE_CELLS) : 0;
        s.store.nr =
            step->stores ? naive_cells(n, at, &step->store, 0, s.store.cells, NAIVE_CELLS) : 0;
    }
    naive_peers(n, at, step, &s);
    if (n->invalid) {
        return;
    }
    long lead = (long)n->options.window - 1, slices = s.receives.slices;
    long value = step->stores ? s.store.nr : s.take.nr;
    if (step->combine == SCHED_REDUCE && slices == 0 && s.values.nr > 0 && value == 0) {
        value = 1; /* a token */
    }
    slices = slices > value ? slices : value;
    if (step->via == SCHED_PUSH) {
        naive_grants(n, at, &s.receives);
    }
    for (long it = -lead; it < slices || it + lead < s.sends.slices; it++) {
        naive_sends(n, at, step, &s, it + lead);
        if (it >= 0 && it < slices) {
            naive_combine(n, at, step, &s, it);
        }
    }
    for (uint32_t i = 0; i < s.sends.nr && step->via == SCHED_PULL; i++) {
        naive_act(n, at, ACT_EMPTY, s.sends.at[i].connection, 0, 0);
    }
}

static inline void naive_compile_items(struct naive *n, struct naive_at at,
                                       const struct sched_item *items, size_t nr, int depth)
{
    for (size_t i = 0; i < nr && !n->invalid; i++) {
        if (items[i].times == 0) {
            naive_compile_step(n, &at, &items[i].step);
        }
        for (uint32_t t = 0; t < items[i].times && !n->invalid; t++) {
            struct naive_at inside = at;
            inside.inner = t;
            inside.outer = depth == 0 ? (long)t : at.outer;
            naive_compile_items(n, inside, items[i].items, items[i].nr, depth + 1);
        }
    }
}

static inline struct naive *naive_make(const struct schedule *schedule,
                                       const struct sched_check_options *options)
{
    struct naive *n = calloc(1, sizeof *n);
    const struct sched_request *request = &schedule->request;
    n->schedule = schedule;
    n->options = *options;
    n->ranks = request->ranks;
    n->lanes = schedule->shape.lanes;
    n->in = sched_chunks(schedule, SCHED_IN);
    n->out = sched_chunks(schedule, SCHED_OUT);
    uint32_t user = request->in_place ? (n->in > n->out ? n->in : n->out) : n->in + n->out;
    n->per_rank = (user * options->loops + schedule->shape.scratch * schedule->shape.copies) *
                  options->slices_per_chunk;
    n->memory = calloc((size_t)n->per_rank * n->ranks, sizeof *n->memory);
    memset(n->connection_of, -1, sizeof n->connection_of);
    for (uint32_t p = 0; p < n->ranks; p++) {
        for (uint32_t l = 0; l < n->lanes; l++) {
            for (uint32_t loop = 0; loop < options->loops; loop++) {
                const struct sched_lane *lane = &schedule->programs[p].lanes[l];
                naive_compile_items(n, (struct naive_at){p, l, loop, 0, 0}, lane->items,
                                    l < schedule->programs[p].nr_lanes ? lane->nr : 0, 0);
            }
            naive_act(n, &(struct naive_at){p, l, 0, 0, 0}, ACT_END, 0, 0, 0);
        }
        for (uint32_t i = 0; i < schedule->shape.nr_credits; i++) {
            const struct sched_credit *credit = &schedule->shape.credits[i];
            uint32_t c =
                naive_connect(n, p * n->lanes + credit->from_lane, p * n->lanes + credit->to_lane);
            n->connections[c].credits += credit->tokens;
            n->invalid = n->invalid || n->connections[c].credits > options->window;
        }
    }
    return n;
}

static inline void naive_free(struct naive *n)
{
    for (uint32_t i = 0; i < n->ranks * n->lanes; i++) {
        free(n->lane[i].acts);
    }
    free(n->connections);
    free(n->cells);
    free(n->memory);
    free(n);
}

/* ---- the caller ---- */

static inline bool naive_root_only(const struct naive *n, bool out)
{
    enum collective c = n->schedule->request.collective;
    return out ? c == COLL_REDUCE || c == COLL_GATHER : c == COLL_BROADCAST || c == COLL_SCATTER;
}

static inline uint32_t naive_first(struct naive *n, uint32_t p, enum sched_buffer buffer,
                                   uint32_t loop, uint32_t chunk)
{
    uint32_t cells[NAIVE_WINDOW * NAIVE_CELLS];
    struct naive_at at = {p, 0, loop, 0, 0};
    struct sched_range range = {.buffer = buffer,
                                .space = {INT32_MAX, 0, 1, 0},
                                .first = (int32_t)chunk,
                                .run = 1,
                                .runs = 1};
    naive_cells(n, &at, &range, 0, cells, NAIVE_CELLS);
    return cells[0];
}

static inline void naive_inputs(struct naive *n, uint32_t p, uint32_t call)
{
    for (uint32_t i = 0; i < n->per_rank; i++) {
        n->memory[p * n->per_rank + i] = (struct naive_value){.bad = 1};
    }
    if (naive_root_only(n, false) && p > 0) {
        return;
    }
    for (uint32_t loop = 0; loop < n->options.loops; loop++) {
        for (uint32_t c = 0; c < n->in; c++) {
            uint32_t cell = naive_first(n, p, SCHED_IN, loop, c);
            for (uint32_t s = 0; s < n->options.slices_per_chunk; s++) {
                struct naive_value *v = &n->memory[cell + s];
                *v = (struct naive_value){.turn = (uint8_t)(call * n->options.loops + loop + 1)};
                v->count[p * n->in + c] = 1;
            }
        }
    }
}

static inline struct naive_value naive_wanted(const struct naive *n, uint32_t p, uint32_t c,
                                              uint32_t turn)
{
    struct naive_value v = {.turn = (uint8_t)(turn + 1)};
    uint32_t chunks = n->schedule->shape.chunks, in = n->in, part = c / chunks, w = c % chunks;
    switch (n->schedule->request.collective) {
    case COLL_ALLREDUCE:
    case COLL_REDUCE:
    case COLL_REDUCE_SCATTER:
        for (uint32_t r = 0; r < n->ranks; r++) {
            v.count[r * in + (in > n->out ? p * chunks + c : c)] = 1;
        }
        break;
    case COLL_ALL_GATHER:
    case COLL_GATHER:
        v.count[part * in + w] = 1;
        break;
    case COLL_BROADCAST:
        v.count[c] = 1;
        break;
    case COLL_SCATTER:
        v.count[p * chunks + c] = 1;
        break;
    case COLL_ALL_TO_ALL:
        v.count[part * in + p * chunks + w] = 1;
        break;
    default:
        v.count[(p + n->ranks - 1) % n->ranks * in + c] = 1;
        break;
    }
    return v;
}

static inline void naive_check_outputs(struct naive *n, uint32_t p, uint32_t call)
{
    for (uint32_t loop = 0; loop < n->options.loops; loop++) {
        for (uint32_t c = 0; c < n->out && !(naive_root_only(n, true) && p > 0); c++) {
            struct naive_value v = naive_wanted(n, p, c, call * n->options.loops + loop);
            uint32_t cell = naive_first(n, p, SCHED_OUT, loop, c);
            for (uint32_t s = 0; s < n->options.slices_per_chunk; s++) {
                n->wrong = n->wrong || memcmp(&v, &n->memory[cell + s], sizeof v) != 0;
            }
        }
    }
}

/* ---- running ---- */

static inline void naive_sum(struct naive_value *sum, const struct naive_value *v)
{
    sum->bad |= v->bad | (sum->turn && v->turn && sum->turn != v->turn);
    sum->turn = sum->turn ? sum->turn : v->turn;
    for (int i = 0; i < NAIVE_SOURCES; i++) {
        int count = sum->count[i] + v->count[i];
        sum->count[i] = (uint8_t)(count < 200 ? count : 200);
    }
}

static inline bool naive_end(struct naive *n, uint32_t actor)
{
    uint32_t p = actor / n->lanes;
    struct naive_lane *lanes = &n->lane[p * n->lanes];
    if (n->lane[actor].ended) {
        return false;
    }
    n->lane[actor].ended = true;
    for (uint32_t i = 0; i < n->lanes; i++) {
        if (!lanes[i].ended) {
            return true;
        }
    }
    uint32_t call = n->lane[actor].call;
    naive_check_outputs(n, p, call);
    if (call + 1 < n->options.calls) {
        naive_inputs(n, p, call + 1);
    }
    for (uint32_t i = 0; i < n->lanes; i++) {
        lanes[i].ended = false;
        lanes[i].pc = call + 1 < n->options.calls ? 0 : lanes[i].nr;
        lanes[i].call++;
    }
    return true;
}

static inline bool naive_must_wait(const struct naive *n, enum naive_kind kind,
                                   const struct naive_connection *c)
{
    switch (kind) {
    case ACT_ROOM:
        return c->posted - c->taken >= n->options.window;
    case ACT_SLICE:
        return c->posted == c->taken;
    case ACT_EMPTY:
        return c->posted != c->taken;
    case ACT_GRANTED:
        return c->nr_grants == 0;
    default:
        return false;
    }
}

/* One act of a lane; false: it cannot. */
static inline bool naive_act_once(struct naive *n, uint32_t actor)
{
    struct naive_lane *lane = &n->lane[actor];
    if (lane->pc == lane->nr) {
        return false;
    }
    const struct naive_act *act = &lane->acts[lane->pc];
    struct naive_connection *c = n->connections ? &n->connections[act->connection] : NULL;
    uint32_t window = n->options.window;
    if (naive_must_wait(n, act->kind, c)) {
        return false;
    }
    switch (act->kind) {
    case ACT_END:
        return naive_end(n, actor);
    case ACT_ROOM:
    case ACT_SLICE:
    case ACT_EMPTY:
        break;
    case ACT_GRANTED:
        c->granted = c->grants[0];
        c->nr_grants--;
        memmove(c->grants, c->grants + 1, c->nr_grants * sizeof c->grants[0]);
        break;
    case ACT_GRANT:
        if (c->nr_grants == NAIVE_GRANTS) {
            n->invalid = true;
            return false;
        }
        c->grants[c->nr_grants++] = act;
        break;
    case ACT_CLEAR:
        memset(&lane->sum, 0, sizeof lane->sum);
        break;
    case ACT_LOAD:
        naive_sum(&lane->sum, &n->memory[act->cell]);
        break;
    case ACT_ADD_SLOT: {
        const struct naive_slot *slot = &c->slots[c->taken % window];
        naive_sum(&lane->sum, slot->points ? &n->memory[slot->cell] : &slot->value);
        break;
    }
    case ACT_STORE:
        n->memory[act->cell] = lane->sum;
        break;
    case ACT_PUT:
        if (act->cell >= c->granted->nr) {
            n->invalid = true;
            return false;
        }
        n->memory[n->cells[c->granted->cell + act->cell]] = lane->sum;
        break;
    case ACT_POST:
    case ACT_POST_CELL:
        n->invalid = n->invalid || c->posted - c->taken >= window;
        c->slots[c->posted++ % window] =
            (struct naive_slot){act->kind == ACT_POST_CELL, act->cell, lane->sum};
        break;
    case ACT_POP:
        n->invalid = n->invalid || c->posted == c->taken;
        c->taken++;
        break;
    }
    lane->pc++;
    return true;
}

static inline uint64_t naive_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A turn for one lane that can act, those not starved first: up to `burst` acts. */
static inline bool naive_turn(struct naive *n, uint64_t *random, uint64_t starved, uint32_t burst)
{
    uint32_t lanes = n->ranks * n->lanes, start = (uint32_t)(naive_random(random) % lanes);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t k = 0; k < lanes; k++) {
            uint32_t actor = (start + k) % lanes;
            if ((starved >> actor & 1) != (uint64_t)pass || !naive_act_once(n, actor)) {
                continue;
            }
            uint32_t left = (uint32_t)(naive_random(random) % burst);
            while (left-- > 0 && naive_act_once(n, actor)) {
            }
            return true;
        }
    }
    return false;
}

static inline enum naive_outcome naive_run(struct naive *n, uint64_t seed)
{
    static const uint32_t bursts[] = {1, 3, 12, 60};
    uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) + 88172645463325252;
    uint64_t starved = seed % 3 ? naive_random(&random) & naive_random(&random) : 0;
    uint32_t burst = bursts[seed % 4];
    for (uint32_t i = 0; i < n->ranks * n->lanes; i++) {
        n->lane[i].pc = n->lane[i].call = 0;
        n->lane[i].ended = false;
    }
    for (size_t i = 0; i < n->nr_connections; i++) {
        struct naive_connection *c = &n->connections[i];
        c->posted = c->credits;
        c->taken = c->nr_grants = 0;
        memset(c->slots, 0, sizeof c->slots);
    }
    n->wrong = false;
    for (uint32_t p = 0; p < n->ranks && !n->invalid; p++) {
        naive_inputs(n, p, 0);
    }
    while (!n->invalid && naive_turn(n, &random, starved, burst)) {
        if (naive_random(&random) % 64 == 0 && seed % 3 == 2) {
            starved = naive_random(&random) & naive_random(&random);
        }
    }
    if (n->invalid) {
        n->invalid = false; /* of this run only */
        return NAIVE_INVALID;
    }
    for (uint32_t i = 0; i < n->ranks * n->lanes; i++) {
        if (n->lane[i].pc < n->lane[i].nr) {
            return NAIVE_STUCK;
        }
    }
    for (size_t i = 0; i < n->nr_connections; i++) {
        if (n->connections[i].posted - n->connections[i].taken != n->connections[i].credits) {
            return NAIVE_INVALID; /* a message nobody took */
        }
    }
    return n->wrong ? NAIVE_WRONG : NAIVE_RIGHT;
}

#endif
