/* check_order.c - the one order of a step, which simulator and engine keep too (schedule.h).
 *
 * Each part first waits for all it needs and then does all it has to, as a block of threads would:
 * no part of a schedule may need a freer order than that.
 */
#include "check_internal.h"

static uint32_t cell_of(const struct check *check, const struct check_lane *lane,
                        const struct check_message *message, int64_t slice)
{
    uint32_t slices = check->options.slices_per_chunk, u = (uint32_t)slice;
    return check_memory_cell(check, lane->position, message->range->buffer,
                             lane->chunks[message->first + u / slices], u % slices, lane->turn);
}

/* ---- the parts of a step ---- */

static bool has_slice(const struct check_message *message, int64_t slice)
{
    return slice >= 0 && slice < message->slices;
}

/* Push: the place that the receiver offers on entering its step, once a message. */
static bool has_place(struct check *check, const struct check_lane *lane,
                      struct check_message *message)
{
    struct check_connection *connection = message->connection;
    if (lane->at.step->via != SCHED_PUSH || message->place) {
        return true;
    }
    if (!connection->place) {
        return false;
    }
    check_clock_acquire(&check->clocks, lane->actor, connection->place_stamp);
    check_clock_drop(&check->clocks, connection->place_stamp);
    message->place = connection->place;
    message->receiver = connection->receiver;
    connection->place_stamp = NULL;
    connection->place = NULL;
    return true;
}

/* A pulled slice is read later, by its receiver. */
static int send_slice(struct check *check, const struct check_lane *lane,
                      const struct check_message *message, int64_t slice)
{
    enum sched_via via = lane->at.step->via;
    uint32_t value = CHECK_NOTHING, cell = 0;
    if (message->chunks > 0) {
        cell = cell_of(check, lane, message, slice);
        if (via != SCHED_PULL && check_memory_read(check, lane, cell, &value)) {
            return -1;
        }
    }
    if (message->chunks > 0 && via == SCHED_PUSH) {
        uint32_t there = cell_of(check, message->receiver, message->place, slice);
        if (check_memory_write(check, lane, there, value)) {
            return -1;
        }
    }
    return check_slot_post(check, lane, message->connection, value, cell);
}

enum check_result check_order_send(struct check *check, struct check_lane *lane)
{
    int64_t slice = lane->iteration + check->options.window - 1;
    for (; lane->cursor < lane->sends.nr; lane->cursor++) {
        struct check_message *message = &lane->sends.items[lane->cursor];
        if (!has_slice(message, slice)) {
            continue;
        }
        if (!has_place(check, lane, message)) {
            return check_slot_wait(lane, CHECK_FOR_PLACE, message->connection);
        }
        if (!check_slot_room(check, lane, message->connection)) {
            return check_slot_wait(lane, CHECK_FOR_ROOM, message->connection);
        }
    }
    for (size_t i = 0; i < lane->sends.nr; i++) {
        if (has_slice(&lane->sends.items[i], slice) &&
            send_slice(check, lane, &lane->sends.items[i], slice)) {
            return CHECK_FAULT;
        }
    }
    lane->cursor = 0;
    lane->phase = CHECK_RECEIVE;
    return CHECK_GOES_ON;
}

enum check_result check_order_receive(struct check *check, struct check_lane *lane)
{
    for (; lane->cursor < lane->receives.nr; lane->cursor++) {
        const struct check_message *message = &lane->receives.items[lane->cursor];
        struct check_connection *connection = message->connection;
        if (!has_slice(message, lane->iteration)) {
            continue;
        }
        if (connection->posted == connection->taken) {
            return check_slot_wait(lane, CHECK_FOR_SLICE, connection);
        }
        check_clock_acquire(&check->clocks, lane->actor,
                            check_slot_at(check, connection, connection->taken)->stamp);
    }
    lane->cursor = 0;
    lane->phase = CHECK_ROOM;
    return CHECK_GOES_ON;
}

enum check_result check_order_room(struct check *check, struct check_lane *lane)
{
    for (; lane->cursor < lane->values.nr; lane->cursor++) {
        const struct check_message *message = &lane->values.items[lane->cursor];
        if (has_slice(message, lane->iteration) &&
            !check_slot_room(check, lane, message->connection)) {
            return check_slot_wait(lane, CHECK_FOR_ROOM, message->connection);
        }
    }
    lane->cursor = 0;
    lane->phase = CHECK_COMBINE;
    return CHECK_GOES_ON;
}

/* What lies in the slot, or where its descriptor points. */
static int receive_value(struct check *check, const struct check_lane *lane,
                         const struct check_message *message, uint32_t *value)
{
    const struct check_connection *connection = message->connection;
    const struct check_slot *slot = check_slot_at(check, connection, connection->taken);
    if (message->chunks > 0 && lane->at.step->via == SCHED_PULL) {
        return check_memory_read(check, lane, slot->cell, value);
    }
    *value = slot->value;
    return 0;
}

static int add_value(struct check *check, uint32_t *sum, uint32_t value)
{
    if (value == CHECK_NOTHING) {
        return 0;
    }
    *sum = *sum == CHECK_NOTHING ? value : check_value_sum(&check->values, *sum, value);
    return *sum != CHECK_NOTHING
               ? 0
               : check_fail(check, FAULT_MALFORMED,
                            "too large to be checked: its chunks take too many different values");
}

static int reduce(struct check *check, const struct check_lane *lane)
{
    uint32_t sum = CHECK_NOTHING, value;
    for (size_t i = 0; i < lane->receives.nr; i++) {
        if (receive_value(check, lane, &lane->receives.items[i], &value) ||
            add_value(check, &sum, value)) {
            return -1;
        }
    }
    if (lane->take.chunks > 0) {
        uint32_t cell = cell_of(check, lane, &lane->take, lane->iteration);
        if (check_memory_read(check, lane, cell, &value) || add_value(check, &sum, value)) {
            return -1;
        }
    }
    if (lane->store.chunks > 0 &&
        check_memory_write(check, lane, cell_of(check, lane, &lane->store, lane->iteration), sum)) {
        return -1;
    }
    for (size_t i = 0; i < lane->values.nr; i++) {
        if (check_slot_post(check, lane, lane->values.items[i].connection, sum, 0)) {
            return -1;
        }
    }
    return 0;
}

/* A pushed slice is in its place already. */
static int place(struct check *check, const struct check_lane *lane)
{
    uint32_t value;
    for (size_t i = 0; i < lane->receives.nr; i++) {
        const struct check_message *message = &lane->receives.items[i];
        if (!has_slice(message, lane->iteration) || message->chunks == 0 ||
            lane->at.step->via == SCHED_PUSH) {
            continue;
        }
        if (receive_value(check, lane, message, &value) ||
            check_memory_write(check, lane, cell_of(check, lane, message, lane->iteration),
                               value)) {
            return -1;
        }
    }
    return 0;
}

enum check_result check_order_combine(struct check *check, struct check_lane *lane)
{
    if (lane->iteration >= 0 && lane->iteration < lane->value_slices) {
        int failed =
            lane->at.step->combine == SCHED_PLACE ? place(check, lane) : reduce(check, lane);
        for (size_t i = 0; i < lane->receives.nr && !failed; i++) {
            if (has_slice(&lane->receives.items[i], lane->iteration)) {
                failed = check_slot_take(check, lane, lane->receives.items[i].connection);
            }
        }
        if (failed) {
            return CHECK_FAULT;
        }
    }
    lane->iteration++;
    int64_t sends_end = (int64_t)lane->send_slices - (check->options.window - 1);
    bool more = lane->iteration < lane->value_slices || lane->iteration < sends_end;
    lane->phase = more ? CHECK_SEND : lane->at.step->via == SCHED_PULL ? CHECK_DRAIN : CHECK_NEXT;
    return CHECK_GOES_ON;
}

enum check_result check_order_drain(struct check *check, struct check_lane *lane)
{
    for (; lane->cursor < lane->sends.nr; lane->cursor++) {
        struct check_connection *connection = lane->sends.items[lane->cursor].connection;
        if (connection->posted != connection->taken) {
            return check_slot_wait(lane, CHECK_FOR_DRAIN, connection);
        }
        uint64_t latest = connection->posted - 1;
        check_clock_acquire(&check->clocks, lane->actor,
                            connection->freed[latest & (check->options.window - 1)]);
    }
    lane->cursor = 0;
    lane->phase = CHECK_NEXT;
    return CHECK_GOES_ON;
}
