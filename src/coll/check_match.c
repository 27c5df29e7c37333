/* check_match.c - every receive has its send, and the other way round, with as many chunks and by
 * the same way.
 *
 * A connection is first in, first out, and every loop runs the same program, so the messages of one
 * loop can be held against each other in order, without running anything. (Credits are tokens that
 * lie in front of the first loop's: a connection that has them carries tokens only.)
 */
#include "check_internal.h"

#include <inttypes.h>
#include <string.h>

enum { SLICES_IN_FLIGHT_MOST = 1 << 22 }; /* connections x window */

/* Slices x clock entries: some 10 s of work. */
static const uint64_t work_most = UINT64_C(1) << 34;

static void note(struct check *check, struct check_messages *messages, struct check_sent message)
{
    if (messages->nr == messages->capacity) {
        uint32_t capacity = messages->capacity ? 2 * messages->capacity : 2;
        struct check_sent *items = arena_alloc(&check->arena, capacity, sizeof *items);
        if (messages->nr > 0) {
            memcpy(items, messages->items, messages->nr * sizeof *items);
        }
        messages->items = items;
        messages->capacity = capacity;
    }
    messages->items[messages->nr++] = message;
}

static uint64_t note_list(struct check *check, const struct check_lane *lane,
                          const struct check_list *list, bool sends, enum sched_via via)
{
    uint64_t slices = 0;
    for (size_t i = 0; i < list->nr; i++) {
        const struct check_message *message = &list->items[i];
        struct check_connection *connection = message->connection;
        note(check, sends ? &connection->sent : &connection->received,
             (struct check_sent){message->chunks, lane->step, via});
        slices += message->slices;
    }
    return slices;
}

/* One loop of a lane: its steps are well formed, its messages written down. */
static int match_lane(struct check *check, struct check_lane *lane)
{
    walk_begin(&lane->walk, lane->program);
    for (lane->step = 0; walk_next(&lane->walk, &lane->at); lane->step++) {
        if (check_form_step(check, lane) || check_step_resolve(check, lane)) {
            return -1;
        }
        enum sched_via via = lane->at.step->via;
        check->events += lane->value_slices + /* a value goes by slot: it lies nowhere */
                         note_list(check, lane, &lane->values, true, SCHED_SLOT) +
                         note_list(check, lane, &lane->sends, true, via) +
                         note_list(check, lane, &lane->receives, false, via);
        if (check->events * check->turns * (check->actors + 64) > work_most ||
            check->nr_connections * check->options.window > SLICES_IN_FLIGHT_MOST) {
            return check_fail(check, FAULT_MALFORMED,
                              "too large to be checked: over %" PRIu64
                              " slices sent or received in a loop of %" PRIu32
                              " lanes, or over %d slots",
                              work_most / check->turns / (check->actors + 64), check->actors,
                              SLICES_IN_FLIGHT_MOST);
        }
    }
    return 0;
}

static const char *describe(struct check *check, uint32_t actor, const struct check_sent *message)
{
    return check_describe(check, (struct check_action){actor, message->step, 0});
}

static int match_message(struct check *check, const struct check_connection *connection, uint32_t i)
{
    static const char *const ways[] = {"through slots", "by pull", "by push"};
    const struct check_messages *sent = &connection->sent, *received = &connection->received;
    if (i >= sent->nr || i >= received->nr) {
        bool missing = i >= sent->nr;
        return check_fail(check, FAULT_UNMATCHED,
                          "%s %s position %" PRIu32 " lane %" PRIu32 ", which %s %" PRIu32
                          " messages a loop, not %" PRIu32,
                          missing ? describe(check, connection->to, &received->items[i])
                                  : describe(check, connection->from, &sent->items[i]),
                          missing ? "receives from" : "sends to",
                          (missing ? connection->from : connection->to) / check->lanes,
                          (missing ? connection->from : connection->to) % check->lanes,
                          missing ? "sends it" : "takes from it", missing ? sent->nr : received->nr,
                          missing ? received->nr : sent->nr);
    }
    const struct check_sent *out = &sent->items[i], *in = &received->items[i];
    if (out->chunks != in->chunks) {
        return check_fail(check, FAULT_UNMATCHED,
                          "%s sends %" PRIu32 " chunks, %s expects %" PRIu32 " in this message",
                          describe(check, connection->from, out), out->chunks,
                          describe(check, connection->to, in), in->chunks);
    }
    bool token = out->chunks == 0 && out->via != SCHED_PUSH && in->via != SCHED_PUSH;
    if (!token && out->via != in->via) {
        return check_fail(check, FAULT_UNMATCHED, "%s sends %s, %s receives %s%s",
                          describe(check, connection->from, out), ways[out->via],
                          describe(check, connection->to, in), ways[in->via],
                          out->via == SCHED_SLOT ? " (a value always goes through slots)" : "");
    }
    return 0;
}

static int match_connection(struct check *check, const struct check_connection *connection)
{
    uint32_t nr = connection->sent.nr > connection->received.nr ? connection->sent.nr
                                                                : connection->received.nr;
    for (uint32_t i = 0; i < nr; i++) {
        if (match_message(check, connection, i)) {
            return -1;
        }
    }
    return 0;
}

static int match_credits(struct check *check, uint32_t position, const struct sched_credit *credit)
{
    uint32_t first = position * check->lanes;
    const struct check_connection *connection =
        check_connect(check, first + credit->from_lane, first + credit->to_lane);
    for (uint32_t i = 0; i < connection->sent.nr && credit->tokens > 0; i++) {
        if (connection->sent.items[i].chunks > 0) {
            return check_fail(check, FAULT_UNMATCHED,
                              "%s sends chunks where credits are: only tokens can go there",
                              describe(check, connection->from, &connection->sent.items[i]));
        }
    }
    return 0;
}

int check_match_all(struct check *check)
{
    for (uint32_t i = 0; i < check->actors; i++) {
        if (match_lane(check, &check->lane[i])) {
            return -1;
        }
    }
    for (size_t i = 0; i < check->connections_size; i++) {
        if (check->connections[i] && match_connection(check, check->connections[i])) {
            return -1;
        }
    }
    for (uint32_t position = 0; position < check->positions; position++) {
        for (uint32_t i = 0; i < check->schedule->shape.nr_credits; i++) {
            if (match_credits(check, position, &check->schedule->shape.credits[i])) {
                return -1;
            }
        }
    }
    return 0;
}
