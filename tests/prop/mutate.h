/* mutate.h - a row's programs, copied so that they can be changed, and random small changes:
 * another number, buffer, peer or way; something dropped, doubled or swapped; another order of
 * lanes.
 */
#ifndef TESTS_MUTATE_H
#define TESTS_MUTATE_H

#include "arena.h"
#include "prop/naive_run.h"
#include "schedule.h"

#include <string.h>

enum { ITEMS_MOST = 256, SPOILS = 4 /* mutations of one schedule, at most */ };

static uint32_t draw(uint64_t *random, uint32_t below)
{
    return (uint32_t)(naive_random(random) >> 11) % below;
}

/* ---- a schedule that can be changed ---- */

static struct sched_item *copy_items(struct arena *arena, const struct sched_item *items, size_t nr)
{
    struct sched_item *copy = arena_alloc(arena, nr + SPOILS, sizeof *copy); /* to duplicate some */
    for (size_t i = 0; i < nr; i++) {
        copy[i] = items[i];
        if (items[i].times > 0) {
            copy[i].items = copy_items(arena, items[i].items, items[i].nr);
        }
    }
    return copy;
}

static void copy_programs(struct arena *arena, struct schedule *schedule)
{
    uint32_t ranks = schedule->request.ranks;
    struct sched_program *programs = arena_alloc(arena, ranks, sizeof *programs);
    for (uint32_t p = 0; p < ranks; p++) {
        programs[p] = *sched_program(schedule, p, arena);
        for (uint32_t l = 0; l < programs[p].nr_lanes; l++) {
            struct sched_lane *lane = &programs[p].lanes[l];
            lane->items = copy_items(arena, lane->items, lane->nr);
        }
    }
    schedule->programs = programs;
}

struct spot { /* an item, in its list */
    struct sched_item *list;
    size_t *nr, at;
};

static size_t find_spots(struct sched_item *list, size_t *nr, struct spot *spots, size_t found)
{
    for (size_t i = 0; i < *nr && found < ITEMS_MOST; i++) {
        spots[found++] = (struct spot){list, nr, i};
        if (list[i].times > 0) {
            found = find_spots((struct sched_item *)(uintptr_t)list[i].items, &list[i].nr, spots,
                               found);
        }
    }
    return found;
}

/* ---- mutations ---- */

struct mutation {
    int kind;
    uint32_t lane, item, pick; /* which of the step's ranges or lists */
    int32_t delta;
    bool everywhere; /* in all positions, as a wrong row would have it */
    uint32_t position;
};

static struct sched_range *range_of(struct sched_step *step, uint32_t pick)
{
    struct sched_range *ranges[2 + SCHED_SENDS_MOST];
    uint32_t nr = 0;
    if (step->takes) {
        ranges[nr++] = &step->take;
    }
    if (step->stores) {
        ranges[nr++] = &step->store;
    }
    for (unsigned i = 0; i < step->nr_send; i++) {
        if (!step->send[i].value) {
            ranges[nr++] = &step->send[i].range;
        }
    }
    return nr ? ranges[pick % nr] : NULL;
}

static struct sched_peers *peers_of(struct sched_step *step, uint32_t pick)
{
    uint32_t nr = (uint32_t)step->nr_recv + step->nr_send;
    if (nr == 0) {
        return NULL;
    }
    pick %= nr;
    return pick < step->nr_recv ? &step->recv[pick] : &step->send[pick - step->nr_recv].peers;
}

static bool add_to(int32_t *field, int32_t delta)
{
    *field = (int32_t)((uint32_t)*field + (uint32_t)delta);
    return true;
}

/* Of a step. False: it has nothing of the kind. */
typedef bool mutate_step_fn(struct sched_step *step, const struct mutation *m);

#define OF_RANGE(name, field)                                                                      \
    static bool name(struct sched_step *step, const struct mutation *m)                            \
    {                                                                                              \
        struct sched_range *range = range_of(step, m->pick);                                       \
        return range && add_to(&range->field, m->delta);                                           \
    }
#define OF_PEERS(name, field)                                                                      \
    static bool name(struct sched_step *step, const struct mutation *m)                            \
    {                                                                                              \
        struct sched_peers *peers = peers_of(step, m->pick);                                       \
        return peers && add_to(&peers->field, m->delta);                                           \
    }

OF_RANGE(range_first, first)
OF_RANGE(range_move, move)
OF_RANGE(range_run, run)
OF_RANGE(range_runs, runs)
OF_RANGE(range_per_peer, per_peer)
OF_RANGE(range_base, space.base)
OF_RANGE(range_size, space.size)
OF_RANGE(range_stride, space.stride)
OF_RANGE(range_turn, space.move)
OF_PEERS(peers_first, first)
OF_PEERS(peers_count, count)
OF_PEERS(peers_move, move)
OF_PEERS(peers_base, space.base)
OF_PEERS(peers_stride, space.stride)

static bool range_gap(struct sched_step *step, const struct mutation *m)
{
    struct sched_range *range = range_of(step, m->pick);
    return range && range->runs > 1 && add_to(&range->gap, m->delta);
}

static bool range_buffer(struct sched_step *step, const struct mutation *m)
{
    struct sched_range *range = range_of(step, m->pick);
    if (range) {
        range->buffer = (enum sched_buffer)((range->buffer + (m->delta & 1) + 1) % SCHED_BUFFERS);
    }
    return range;
}

static bool peers_lane(struct sched_step *step, const struct mutation *m)
{
    struct sched_peers *peers = peers_of(step, m->pick);
    if (peers) {
        peers->lane ^= 1;
    }
    return peers;
}

static bool peers_group(struct sched_step *step, const struct mutation *m)
{
    struct sched_peers *peers = peers_of(step, m->pick);
    if (peers) {
        peers->group = !peers->group;
    }
    return peers && peers->count > 1;
}

static bool step_via(struct sched_step *step, const struct mutation *m)
{
    step->via = (enum sched_via)((step->via + (m->delta & 1) + 1) % 3);
    return step->nr_recv + step->nr_send > 0;
}

static bool step_combine(struct sched_step *step, const struct mutation *m)
{
    (void)m;
    step->combine = step->combine == SCHED_PLACE ? SCHED_REDUCE : SCHED_PLACE;
    return true;
}

static bool step_takes(struct sched_step *step, const struct mutation *m)
{
    (void)m;
    if (!step->takes && !step->stores) {
        return false;
    }
    if (!step->takes) {
        step->take = step->store;
    }
    step->takes = !step->takes;
    return true;
}

static bool step_stores(struct sched_step *step, const struct mutation *m)
{
    (void)m;
    if (!step->takes && !step->stores) {
        return false;
    }
    if (!step->stores) {
        step->store = step->take;
    }
    step->stores = !step->stores;
    return true;
}

static bool send_drop(struct sched_step *step, const struct mutation *m)
{
    if (step->nr_send == 0) {
        return false;
    }
    step->send[m->pick % step->nr_send] = step->send[step->nr_send - 1];
    step->nr_send--;
    return true;
}

static bool receive_drop(struct sched_step *step, const struct mutation *m)
{
    if (step->nr_recv == 0) {
        return false;
    }
    step->recv[m->pick % step->nr_recv] = step->recv[step->nr_recv - 1];
    step->nr_recv--;
    return true;
}

static bool send_double(struct sched_step *step, const struct mutation *m)
{
    if (step->nr_send == 0 || step->nr_send == SCHED_SENDS_MOST) {
        return false;
    }
    step->send[step->nr_send] = step->send[m->pick % step->nr_send];
    step->nr_send++;
    return true;
}

static bool send_value(struct sched_step *step, const struct mutation *m)
{
    if (step->nr_send == 0) {
        return false;
    }
    struct sched_send *send = &step->send[m->pick % step->nr_send];
    if (send->value && !step->takes && !step->stores) {
        return false;
    }
    if (send->value) {
        send->range = step->stores ? step->store : step->take;
    }
    send->value = !send->value;
    return true;
}

/* Of a list of items. */
typedef bool mutate_spot_fn(struct spot *spot, const struct mutation *m);

static bool item_drop(struct spot *spot, const struct mutation *m)
{
    (void)m;
    memmove(spot->list + spot->at, spot->list + spot->at + 1,
            (*spot->nr - spot->at - 1) * sizeof *spot->list);
    --*spot->nr;
    return true;
}

static bool item_double(struct spot *spot, const struct mutation *m)
{
    (void)m;
    memmove(spot->list + spot->at + 1, spot->list + spot->at,
            (*spot->nr - spot->at) * sizeof *spot->list);
    ++*spot->nr;
    return true;
}

static bool items_swap(struct spot *spot, const struct mutation *m)
{
    (void)m;
    if (spot->at + 1 == *spot->nr) {
        return false;
    }
    struct sched_item item = spot->list[spot->at];
    spot->list[spot->at] = spot->list[spot->at + 1];
    spot->list[spot->at + 1] = item;
    return true;
}

static bool repeat_times(struct spot *spot, const struct mutation *m)
{
    struct sched_item *item = &spot->list[spot->at];
    if (item->times == 0 || (int64_t)item->times + m->delta < 1) {
        return false;
    }
    item->times += (uint32_t)m->delta;
    return true;
}

/* Of a position: the order between two lanes is taken away on both sides. */
static bool is_token(const struct sched_step *step, uint32_t lane, bool sends)
{
    const struct sched_peers *peers = sends ? &step->send[0].peers : &step->recv[0];
    if (step->nr_send != sends || step->nr_recv == sends || peers->lane != lane) {
        return false;
    }
    return sends ? !step->send[0].value && step->send[0].range.runs == 0
                 : !step->takes && step->stores && step->store.runs == 0;
}

static bool drop_token(struct sched_lane *lane, uint32_t other, bool sends, bool really)
{
    for (size_t i = 0; i < lane->nr; i++) {
        if (lane->items[i].times == 0 && is_token(&lane->items[i].step, other, sends)) {
            struct spot spot = {(struct sched_item *)(uintptr_t)lane->items, &lane->nr, i};
            return really ? item_drop(&spot, NULL) : true;
        }
    }
    return false;
}

static bool tokens_drop(struct sched_program *program, const struct mutation *m)
{
    uint32_t from = m->lane % program->nr_lanes, to = m->pick % program->nr_lanes;
    struct sched_lane *sender = &program->lanes[from], *receiver = &program->lanes[to];
    return from != to && drop_token(sender, to, true, false) &&
           drop_token(receiver, from, false, true) && drop_token(sender, to, true, true);
}

/* Of all: the shape. */
typedef bool mutate_shape_fn(struct sched_shape *shape, const struct mutation *m);

static bool shape_credits(struct sched_shape *shape, const struct mutation *m)
{
    if (shape->nr_credits == 0 || (int64_t)shape->credits[0].tokens + m->delta < 0) {
        return false;
    }
    shape->credits[0].tokens += (uint32_t)m->delta;
    return true;
}

static bool shape_copies(struct sched_shape *shape, const struct mutation *m)
{
    if (shape->scratch == 0 || (int64_t)shape->copies + m->delta < 1) {
        return false;
    }
    shape->copies += (uint32_t)m->delta;
    return true;
}

/* Of a position: all that goes through slots is pulled or pushed. */
static bool all_via(struct sched_program *program, const struct mutation *m)
{
    bool changed = false;
    for (uint32_t l = 0; l < program->nr_lanes; l++) {
        struct spot spots[ITEMS_MOST];
        struct sched_lane *lane = &program->lanes[l];
        size_t nr = find_spots((struct sched_item *)(uintptr_t)lane->items, &lane->nr, spots, 0);
        for (size_t i = 0; i < nr; i++) {
            struct sched_step *step = &spots[i].list[spots[i].at].step;
            for (unsigned k = 0; k < step->nr_send; k++) {
                if (step->send[k].value) {
                    return false; /* it has no address */
                }
            }
            bool place = step->combine == SCHED_PLACE && m->pick % 2;
            step->via = place ? SCHED_PUSH : SCHED_PULL;
            changed = true;
        }
    }
    return changed;
}

static const struct {
    const char *name;
    mutate_step_fn *step;
    mutate_spot_fn *spot;
    bool (*program)(struct sched_program *, const struct mutation *);
    mutate_shape_fn *shape;
} kinds[] = {
    {"range.first", range_first, NULL, NULL, NULL},
    {"range.move", range_move, NULL, NULL, NULL},
    {"range.run", range_run, NULL, NULL, NULL},
    {"range.runs", range_runs, NULL, NULL, NULL},
    {"range.gap", range_gap, NULL, NULL, NULL},
    {"range.per_peer", range_per_peer, NULL, NULL, NULL},
    {"range.space.base", range_base, NULL, NULL, NULL},
    {"range.space.size", range_size, NULL, NULL, NULL},
    {"range.space.stride", range_stride, NULL, NULL, NULL},
    {"range.space.move", range_turn, NULL, NULL, NULL},
    {"range.buffer", range_buffer, NULL, NULL, NULL},
    {"peers.first", peers_first, NULL, NULL, NULL},
    {"peers.count", peers_count, NULL, NULL, NULL},
    {"peers.move", peers_move, NULL, NULL, NULL},
    {"peers.space.base", peers_base, NULL, NULL, NULL},
    {"peers.space.stride", peers_stride, NULL, NULL, NULL},
    {"peers.lane", peers_lane, NULL, NULL, NULL},
    {"peers.group", peers_group, NULL, NULL, NULL},
    {"via", step_via, NULL, NULL, NULL},
    {"combine", step_combine, NULL, NULL, NULL},
    {"take", step_takes, NULL, NULL, NULL},
    {"store", step_stores, NULL, NULL, NULL},
    {"send dropped", send_drop, NULL, NULL, NULL},
    {"receive dropped", receive_drop, NULL, NULL, NULL},
    {"send doubled", send_double, NULL, NULL, NULL},
    {"value or range", send_value, NULL, NULL, NULL},
    {"item dropped", NULL, item_drop, NULL, NULL},
    {"item doubled", NULL, item_double, NULL, NULL},
    {"items swapped", NULL, items_swap, NULL, NULL},
    {"repeat.times", NULL, repeat_times, NULL, NULL},
    {"all via", NULL, NULL, all_via, NULL},
    {"tokens dropped", NULL, NULL, tokens_drop, NULL},
    {"credits", NULL, NULL, NULL, shape_credits},
    {"copies", NULL, NULL, NULL, shape_copies},
};
/* Those from "all via" on change what is ordered, the rest mostly what is moved. */
enum { KINDS = sizeof kinds / sizeof *kinds, ORDER_KINDS = 4 };

static bool mutate_position(struct sched_program *program, const struct mutation *m)
{
    if (kinds[m->kind].program) {
        return kinds[m->kind].program(program, m);
    }
    struct spot spots[ITEMS_MOST];
    struct sched_lane *lane = &program->lanes[m->lane % program->nr_lanes];
    size_t nr = find_spots((struct sched_item *)(uintptr_t)lane->items, &lane->nr, spots, 0);
    if (nr == 0) {
        return false;
    }
    struct spot *spot = &spots[m->item % nr];
    if (kinds[m->kind].spot) {
        return kinds[m->kind].spot(spot, m);
    }
    struct sched_item *item = &spot->list[spot->at];
    mutate_step_fn *step = kinds[m->kind].step;
    bool moves = step == range_move || step == range_turn || step == peers_move;
    if (item->times > 0 || (moves && spot->list == lane->items)) {
        return false; /* nothing moves outside repeats */
    }
    return step(&item->step, m);
}

static bool mutate(struct schedule *schedule, const struct mutation *m)
{
    struct sched_program *programs = (struct sched_program *)(uintptr_t)schedule->programs;
    bool everywhere = m->everywhere || kinds[m->kind].program == all_via, changed = false;
    if (kinds[m->kind].shape) {
        return kinds[m->kind].shape(&schedule->shape, m);
    }
    for (uint32_t p = 0; p < schedule->request.ranks; p++) {
        if (everywhere || p == m->position % schedule->request.ranks) {
            changed = mutate_position(&programs[p], m) || changed;
        }
    }
    return changed;
}

static struct mutation draw_mutation(int kind, int32_t delta, uint64_t *random)
{
    return (struct mutation){.kind = kind,
                             .lane = draw(random, SCHED_LANES_MOST),
                             .item = draw(random, 60),
                             .pick = draw(random, 60),
                             .delta = delta,
                             .everywhere = draw(random, 2),
                             .position = draw(random, 60)};
}

#endif
