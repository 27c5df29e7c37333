/* engine_serve.c - the loop that serves lanes and proxies in turn, and what it says of a peer that
 * keeps it waiting.
 */
#include "engine_plan.h"
#include "exec_alive.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SPINS_BEFORE_YIELD 2000 /* some 0.1 ms: the peer may wait for this core */
#define SPINS_PER_LOOK     1024 /* at the clock */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- one round ---- */

struct round {
    bool done;    /* all lanes and proxies */
    bool moved;   /* something did something */
    bool aborted; /* the job is broken */
};

static bool same_place(const struct plan_lane *a, const struct plan_lane *b)
{
    return a->pc == b->pc && a->it == b->it && a->cursor == b->cursor && a->loop == b->loop &&
           a->turn[0] == b->turn[0] && a->turn[1] == b->turn[1];
}

static void serve_channel(struct engine_channel *channel, struct round *round)
{
    for (uint32_t i = 0; i < channel->plan.lanes; i++) {
        if (channel->status[i] == PLAN_DONE) {
            continue;
        }
        struct plan_lane before = channel->lanes[i];
        channel->status[i] = plan_advance(&channel->plan, &channel->call, &channel->lanes[i]);
        round->done &= channel->status[i] == PLAN_DONE;
        round->aborted |= channel->status[i] == PLAN_ABORTED;
        round->moved |= channel->status[i] == PLAN_DONE || !same_place(&before, &channel->lanes[i]);
    }
}

static struct round serve_once(struct engine_plan *plan)
{
    struct round round = {.done = true};
    for (uint32_t i = 0; i < plan->layout.channels; i++) {
        if (plan->channels[i].active) {
            serve_channel(&plan->channels[i], &round);
        }
    }
    for (size_t i = 0; i < plan->connections.nr_proxies; i++) {
        struct connection_proxy *proxy = &plan->connections.proxies[i];
        round.moved |= proxy->transport->poll(proxy->state);
        round.done = round.done && proxy->transport->settled(proxy->state);
    }
    return round;
}

/* ---- whom does a lane wait for? ---- */

struct suspect {
    const struct engine_channel *channel;
    uint32_t index, lane, other_lane, rank;
    const char *what;
};

static int64_t space_at(const struct plan_space *space, const struct plan_lane *lane, int64_t x)
{
    x %= space->size;
    x += x < 0 ? space->size : 0;
    return space->base + (int64_t)space->move * lane->turn[0] + space->stride * x;
}

/* The first peer of the operation's lists that is not ready. */
static bool find_suspect(const struct engine_plan *plan, uint32_t index, uint32_t lane_index,
                         struct suspect *suspect)
{
    const struct engine_channel *channel = &plan->channels[index];
    const struct plan_lane *lane = &channel->lanes[lane_index];
    const struct plan_op *op = &channel->plan.ops[lane->pc];
    bool receives = op->kind == PLAN_WAIT_POST;
    const uint16_t *lists = receives ? op->u.receive : op->send;
    uint32_t nr = receives ? op->nr_receive : op->nr_send, k = lane->cursor;
    int64_t inner = op->flags & PLAN_NESTED ? lane->turn[1] : lane->turn[0];
    if (op->kind != PLAN_WAIT_POST && op->kind != PLAN_WAIT_FREE && op->kind != PLAN_DRAIN) {
        return false;
    }
    for (uint32_t i = 0; i < nr; i++) {
        const struct plan_peers *peers = &channel->plan.entries[lists[i]].peers;
        if (k >= (uint32_t)peers->count) {
            k -= (uint32_t)peers->count;
            continue;
        }
        const struct plan_space *space = &channel->plan.entries[peers->space].space;
        int64_t position = space_at(space, lane, peers->first + peers->move * inner + k);
        *suspect = (struct suspect){.channel = channel,
                                    .index = index,
                                    .lane = lane_index,
                                    .other_lane = peers->lane,
                                    .rank = layout_rank(&plan->layout, index, (uint32_t)position),
                                    .what = receives ? "a slice from" : "a free slot at"};
        return true;
    }
    return false;
}

/* The first lane that waits for another rank. */
static bool find_waiting(const struct engine_plan *plan, struct suspect *suspect)
{
    for (uint32_t i = 0; i < plan->layout.channels; i++) {
        for (uint32_t lane = 0; plan->channels[i].active && lane < plan->channels[i].plan.lanes;
             lane++) {
            if (plan->channels[i].status[lane] != PLAN_DONE &&
                find_suspect(plan, i, lane, suspect) && suspect->rank != plan->group->me) {
                return true;
            }
        }
    }
    return false;
}

static bool is_alive(const struct engine_plan *plan, struct exec *exec, uint32_t rank)
{
    const struct engine_group *group = plan->group;
    return group->hosts[rank] == exec->place.host && exec_alive_ask(exec, group->locals[rank]);
}

static int word_stall(const struct engine_plan *plan, struct exec *exec, double seconds,
                      const struct suspect *suspect, bool alive, struct error *error)
{
    return error_set(error, EXIT_SYSTEM,
                     "rank %u %s: rank %u has waited %.3g s for %s it (%s of %s, channel %u, lane "
                     "%u to lane %u)",
                     suspect->rank, alive ? "lives but does not do its part" : "has stopped",
                     exec->place.rank, seconds, suspect->what, plan->schedule.name,
                     coll_name(plan->collective), suspect->index, suspect->lane,
                     suspect->other_lane);
}

/* Time is up once a peer that this rank waits for shows no life, or after twice the patience: a
 * living peer waits for another, whose own neighbour will name it. */
static int judge(struct engine *engine, const struct engine_plan *plan, double idle,
                 struct error *error)
{
    struct suspect suspect;
    if (!find_waiting(plan, &suspect)) {
        return idle < 2 * engine->patience
                   ? 0
                   : error_set(error, EXIT_SYSTEM, "rank %u could not pass on its data for %.3g s",
                               engine->exec->place.rank, idle);
    }
    bool alive = is_alive(plan, engine->exec, suspect.rank);
    if (alive && idle < 2 * engine->patience) {
        return 0;
    }
    return word_stall(plan, engine->exec, idle, &suspect, alive, error);
}

/* ---- the loop ---- */

struct patience {
    unsigned spins; /* since something moved */
    double since;   /* when they began; 0: not looked yet */
    double asked;   /* when peers' lives were last looked at */
};

/* One idle round; -1: waited long enough. */
static int wait_a_little(struct engine *engine, const struct engine_plan *plan,
                         struct patience *patience, struct error *error)
{
    if (engine->exec->crowded || ++patience->spins > SPINS_BEFORE_YIELD) {
        patience->spins += engine->exec->crowded;
        sched_yield();
    } else {
        relax();
    }
    if (patience->spins % SPINS_PER_LOOK) {
        return 0;
    }
    double time = now();
    if (patience->since == 0) {
        patience->since = time;
        patience->asked = time;
    } else if (time - patience->asked > 1) { /* a beat comes every quarter of a second */
        patience->asked = time;
        double idle = time - patience->since;
        struct suspect suspect;
        if (idle < engine->patience) {
            if (find_waiting(plan, &suspect)) { /* so that the next answer is fresh */
                is_alive(plan, engine->exec, suspect.rank);
            }
            return 0;
        }
        return judge(engine, plan, idle, error);
    }
    return 0;
}

int engine_serve(struct engine *engine, struct engine_plan *plan, struct error *error)
{
    struct patience patience = {0};
    for (;;) {
        struct round round = serve_once(plan);
        if (round.aborted) {
            return error_set(error, EXIT_SYSTEM, "%s", ""); /* another rank says why */
        }
        if (round.done) {
            return 0;
        }
        if (round.moved) {
            patience = (struct patience){0};
        } else if (wait_a_little(engine, plan, &patience, error)) {
            return exec_break(engine->exec) ? -1 : error_set(error, EXIT_SYSTEM, "%s", "");
        }
    }
}
