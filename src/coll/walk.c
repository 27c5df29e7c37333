/* walk.c - a program unrolled on demand: a cursor with a place and a turn for each depth. */
#include "walk.h"

void walk_begin(struct walk *walk, const struct sched_lane *lane)
{
    *walk = (struct walk){.items = {lane->items}, .nr = {lane->nr}};
}

/* At the end of a list: the repeat begins its next turn, or is left. */
static void walk_turn(struct walk *walk)
{
    unsigned d = walk->depth;
    const struct sched_item *repeat = &walk->items[d - 1][walk->at[d - 1]];
    walk->at[d] = 0;
    if (++walk->turn[d] >= repeat->times) {
        walk->depth--;
        walk->at[d - 1]++;
    }
}

bool walk_next(struct walk *walk, struct walk_step *step)
{
    for (;;) {
        unsigned d = walk->depth;
        if (walk->at[d] >= walk->nr[d]) {
            if (d == 0) {
                return false;
            }
            walk_turn(walk);
            continue;
        }
        const struct sched_item *item = &walk->items[d][walk->at[d]];
        if (item->times == 0) {
            walk->at[d]++;
            *step = (struct walk_step){&item->step, d ? walk->turn[1] : 0, d ? walk->turn[d] : 0};
            return true;
        }
        walk->depth = d + 1;
        walk->items[d + 1] = item->items;
        walk->nr[d + 1] = item->nr;
        walk->at[d + 1] = 0;
        walk->turn[d + 1] = 0;
    }
}

int sched_step(const struct sched_program *program, uint8_t lane, uint64_t i,
               struct walk_step *step)
{
    struct walk walk;
    struct walk_step at;
    walk_begin(&walk, &program->lanes[lane]);
    do {
        if (!walk_next(&walk, &at)) {
            return -1;
        }
    } while (i-- > 0);
    *step = at;
    return 0;
}

static uint64_t length_of_repeat(const struct sched_item *repeat)
{
    uint64_t length = 0;
    for (size_t i = 0; i < repeat->nr; i++) {
        const struct sched_item *item = &repeat->items[i];
        length += item->times == 0 ? 1 : item->times * (uint64_t)item->nr;
    }
    return length * repeat->times;
}

uint64_t walk_length(const struct sched_lane *lane)
{
    uint64_t length = 0;
    for (size_t i = 0; i < lane->nr; i++) {
        const struct sched_item *item = &lane->items[i];
        length += item->times == 0 ? 1 : length_of_repeat(item);
    }
    return length;
}

int32_t walk_space(const struct sched_space *space, int64_t x, uint32_t outer)
{
    int64_t residue = x % space->size;
    if (residue < 0) {
        residue += space->size;
    }
    return (int32_t)(space->base + (int64_t)space->move * outer + space->stride * residue);
}

uint32_t walk_peer(const struct sched_peers *peers, uint32_t k, const struct walk_step *at)
{
    int64_t x = peers->first + (int64_t)peers->move * at->inner + k;
    return (uint32_t)walk_space(&peers->space, x, at->outer);
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

uint32_t walk_range_length(const struct sched_range *range)
{
    int64_t whole = (int64_t)range->run * range->runs;
    int64_t span = (int64_t)range->last - range->first;
    if (range->last == 0) {
        return (uint32_t)whole;
    }
    if (span <= 0) {
        return 0;
    }
    if (range->gap <= 0) {
        return (uint32_t)lesser(span, whole); /* one run */
    }
    int64_t before = span / range->gap * range->run + lesser(span % range->gap, range->run);
    return (uint32_t)lesser(before, whole);
}

/* Division finds the run: with gap >= run, `last` cuts none but the last. */
uint32_t walk_range_chunk(const struct sched_range *range, uint32_t peer, uint32_t i,
                          const struct walk_step *at)
{
    int64_t run = i / (uint32_t)range->run, within = i % (uint32_t)range->run;
    int64_t x = range->first + run * range->gap + within + (int64_t)range->move * at->inner +
                (int64_t)range->per_peer * peer;
    return (uint32_t)walk_space(&range->space, x, at->outer);
}

const struct sched_range *walk_value(const struct sched_step *step)
{
    return step->stores ? &step->store : step->takes ? &step->take : NULL;
}

uint32_t walk_receives(const struct sched_step *step)
{
    uint32_t nr = 0;
    for (unsigned i = 0; i < step->nr_recv; i++) {
        nr += (uint32_t)step->recv[i].count;
    }
    return nr;
}

uint32_t walk_sends(const struct sched_step *step)
{
    uint32_t nr = 0;
    for (unsigned i = 0; i < step->nr_send; i++) {
        nr += (uint32_t)step->send[i].peers.count;
    }
    return nr;
}
