/* check_run.c - all lanes of all positions, each in the one order of a step (schedule.h), in any
 * order among themselves: a lane runs until it has to wait, and who makes true what it waits for
 * wakes it.
 *
 * One order of lanes is enough. What a wait is for does not depend on it: the k-th slice of a
 * connection, the k-th slot freed. So values that go through slots are the same in every
 * interleaving, a deadlock is one in every interleaving, and memory is where interleavings could
 * differ: there every access must have seen the one before (check_memory.c).
 */
#include "check_internal.h"

#include <stdlib.h>

/* ---- from step to step ---- */

/* On entering a push step the receiver says where it wants what comes. */
static int offer_places(struct check *check, struct check_lane *lane)
{
    for (size_t i = 0; i < lane->receives.nr; i++) {
        struct check_connection *connection = lane->receives.items[i].connection;
        connection->place = &lane->receives.items[i];
        connection->receiver = lane;
        if (check_slot_stamp(check, lane, &connection->place_stamp)) {
            return -1;
        }
        check_slot_wake(check, connection->from, connection);
    }
    return 0;
}

static enum check_result enter_step(struct check *check, struct check_lane *lane)
{
    if (check_step_resolve(check, lane)) {
        return CHECK_FAULT;
    }
    if (lane->at.step->via == SCHED_PUSH && offer_places(check, lane)) {
        return CHECK_FAULT;
    }
    lane->iteration = lane->sends.nr > 0 ? 1 - (int64_t)check->options.window : 0;
    lane->cursor = 0;
    lane->phase = CHECK_SEND;
    return CHECK_GOES_ON;
}

/* The last lane of a position to end a call lets the caller act, and all go on. */
static enum check_result end_call(struct check *check, struct check_lane *lane)
{
    uint32_t position = lane->position;
    if (++check->finished[position] < check->lanes) {
        return check_slot_wait(lane, CHECK_FOR_CALL, NULL);
    }
    check->finished[position] = 0;
    if (check_memory_caller(check, lane)) {
        return CHECK_FAULT;
    }
    for (uint32_t i = position * check->lanes; i < (position + 1) * check->lanes; i++) {
        struct check_lane *one = &check->lane[i];
        one->turn++;
        one->over = one->turn == check->turns;
        check->nr_over += one->over;
        if (one != lane && !one->over) {
            check_slot_ready(check, one);
        }
    }
    return lane->over ? CHECK_WAITS : CHECK_GOES_ON;
}

static enum check_result run_next(struct check *check, struct check_lane *lane)
{
    if (walk_next(&lane->walk, &lane->at)) {
        lane->step++;
        return enter_step(check, lane);
    }
    walk_begin(&lane->walk, lane->program);
    lane->step = UINT32_MAX; /* before the first */
    if ((lane->turn + 1) % check->options.loops == 0) {
        return end_call(check, lane);
    }
    lane->turn++;
    return CHECK_GOES_ON;
}

static int run_lane(struct check *check, struct check_lane *lane)
{
    static enum check_result (*const phases[])(struct check *, struct check_lane *) = {
        [CHECK_NEXT] = run_next,
        [CHECK_SEND] = check_order_send,
        [CHECK_RECEIVE] = check_order_receive,
        [CHECK_ROOM] = check_order_room,
        [CHECK_COMBINE] = check_order_combine,
        [CHECK_DRAIN] = check_order_drain,
    };
    for (;;) {
        enum check_result result = phases[lane->phase](check, lane);
        if (result != CHECK_GOES_ON) {
            return result == CHECK_FAULT ? -1 : 0;
        }
    }
}

/* ---- the whole ---- */

static uint32_t draw(struct check *check, uint32_t below)
{
    check->random = check->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((check->random >> 33) % below);
}

static int put_credits(struct check *check, uint32_t position)
{
    const struct sched_shape *shape = &check->schedule->shape;
    for (uint32_t i = 0; i < shape->nr_credits; i++) {
        const struct sched_credit *credit = &shape->credits[i];
        uint32_t first = position * check->lanes;
        struct check_connection *connection =
            check_connect(check, first + credit->from_lane, first + credit->to_lane);
        connection->posted += credit->tokens;
        if (connection->posted > check->options.window) {
            return check_fail(check, FAULT_OVERRUN,
                              "the credits from lane %u to lane %u are more than a connection's %u "
                              "slots (the window)",
                              credit->from_lane, credit->to_lane, check->options.window);
        }
    }
    return 0;
}

static int begin(struct check *check)
{
    uint32_t window = check->options.window;
    for (uint32_t position = 0; position < check->positions; position++) {
        if (put_credits(check, position) || check_memory_call(check, position, 0)) {
            return -1;
        }
    }
    for (size_t i = 0; i < check->connections_size; i++) {
        struct check_connection *connection = check->connections[i];
        if (connection) {
            connection->slots = arena_alloc(&check->arena, window, sizeof *connection->slots);
            connection->freed = arena_alloc(&check->arena, window, sizeof(struct check_stamp *));
        }
    }
    for (uint32_t i = 0; i < check->actors; i++) {
        struct check_lane *lane = &check->lane[i];
        walk_begin(&lane->walk, lane->program);
        lane->step = UINT32_MAX;
        lane->phase = CHECK_NEXT;
        check_slot_ready(check, lane);
    }
    return 0;
}

int check_run(struct check *check)
{
    if (begin(check)) {
        return -1;
    }
    while (check->nr_ready > 0) {
        uint32_t i = draw(check, check->nr_ready);
        struct check_lane *lane = &check->lane[check->ready[i]];
        check->ready[i] = check->ready[--check->nr_ready];
        if (run_lane(check, lane)) {
            return -1;
        }
    }
    return check->nr_over == check->actors ? 0 : check_fail_deadlock(check);
}
