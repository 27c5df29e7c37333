/* check_clock.c - vector clocks; stamps are shared until their actor does something new. */
#include "check_clock.h"

#include "arena.h"

#include <stdlib.h>
#include <string.h>

static uint32_t *clock_of(const struct check_clocks *clocks, uint32_t actor)
{
    return clocks->time + (size_t)actor * clocks->actors;
}

void check_clocks_begin(struct check_clocks *clocks, uint32_t actors, size_t stamps_most)
{
    *clocks = (struct check_clocks){.actors = actors, .stamps_most = stamps_most};
    clocks->time = calloc((size_t)actors * actors, sizeof *clocks->time);
    clocks->latest = calloc(actors, sizeof *clocks->latest);
    if (!clocks->time || !clocks->latest) {
        arena_out_of_memory();
    }
    for (uint32_t i = 0; i < actors; i++) {
        clock_of(clocks, i)[i] = 1; /* time 0 is before the run */
    }
}

void check_clocks_release(struct check_clocks *clocks)
{
    for (uint32_t i = 0; clocks->latest && i < clocks->actors; i++) {
        check_clock_drop(clocks, clocks->latest[i]);
    }
    while (clocks->spare) {
        struct check_stamp *next = clocks->spare->next;
        free(clocks->spare);
        clocks->spare = next;
    }
    free(clocks->latest);
    free(clocks->time);
}

static void forget_latest(struct check_clocks *clocks, uint32_t actor)
{
    check_clock_drop(clocks, clocks->latest[actor]);
    clocks->latest[actor] = NULL;
}

uint32_t check_clock_touch(struct check_clocks *clocks, uint32_t actor)
{
    forget_latest(clocks, actor);
    return clock_of(clocks, actor)[actor];
}

static struct check_stamp *new_stamp(struct check_clocks *clocks)
{
    struct check_stamp *stamp = clocks->spare;
    if (stamp) {
        clocks->spare = stamp->next;
        return stamp;
    }
    if (clocks->stamps == clocks->stamps_most) {
        return NULL;
    }
    clocks->stamps++;
    stamp = malloc(sizeof *stamp + clocks->actors * sizeof stamp->time[0]);
    if (!stamp) {
        arena_out_of_memory();
    }
    return stamp;
}

struct check_stamp *check_clock_stamp(struct check_clocks *clocks, uint32_t actor)
{
    struct check_stamp *stamp = clocks->latest[actor];
    if (!stamp) {
        stamp = new_stamp(clocks);
        if (!stamp) {
            return NULL;
        }
        stamp->actor = actor;
        stamp->references = 1; /* as the latest */
        memcpy(stamp->time, clock_of(clocks, actor), clocks->actors * sizeof stamp->time[0]);
        clocks->latest[actor] = stamp;
        clock_of(clocks, actor)[actor]++; /* what follows is not in it */
    }
    return check_clock_keep(stamp);
}

struct check_stamp *check_clock_keep(struct check_stamp *stamp)
{
    stamp->references++;
    return stamp;
}

void check_clock_drop(struct check_clocks *clocks, struct check_stamp *stamp)
{
    if (stamp && --stamp->references == 0) {
        stamp->next = clocks->spare;
        clocks->spare = stamp;
    }
}

static void merge(uint32_t *into, const uint32_t *from, uint32_t nr)
{
    for (uint32_t i = 0; i < nr; i++) {
        into[i] = into[i] > from[i] ? into[i] : from[i];
    }
}

void check_clock_acquire(struct check_clocks *clocks, uint32_t actor,
                         const struct check_stamp *stamp)
{
    /* Who has seen the actor at that time has seen all that it had seen. */
    if (!stamp || check_clock_seen(clocks, actor, stamp->actor, stamp->time[stamp->actor])) {
        return;
    }
    merge(clock_of(clocks, actor), stamp->time, clocks->actors);
    forget_latest(clocks, actor);
}

void check_clock_meet(struct check_clocks *clocks, uint32_t first, uint32_t nr, uint32_t actor)
{
    for (uint32_t i = first; i < first + nr; i++) {
        if (i != actor) {
            merge(clock_of(clocks, actor), clock_of(clocks, i), clocks->actors);
        }
    }
    forget_latest(clocks, actor);
}

void check_clock_part(struct check_clocks *clocks, uint32_t first, uint32_t nr, uint32_t actor)
{
    for (uint32_t i = first; i < first + nr; i++) {
        if (i != actor) {
            memcpy(clock_of(clocks, i), clock_of(clocks, actor),
                   clocks->actors * sizeof *clocks->time);
            forget_latest(clocks, i);
        }
    }
    for (uint32_t i = first; i < first + nr; i++) {
        clock_of(clocks, i)[i]++;
    }
}
