/* check_step.c - a step in its repetition: which connections, which chunks.
 *
 * A member of a group is a peer like any other, but that all members have the same range: the
 * group is one peer.
 */
#include "check_internal.h"

#include <stdlib.h>

/* ---- connections ---- */

static size_t place_of(const struct check *check, uint32_t from, uint32_t to)
{
    uint64_t hash = ((uint64_t)from << 32 | to) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 32) & (check->connections_size - 1);
    while (check->connections[at] &&
           (check->connections[at]->from != from || check->connections[at]->to != to)) {
        at = (at + 1) & (check->connections_size - 1);
    }
    return at;
}

static void grow_connections(struct check *check)
{
    struct check_connection **old = check->connections;
    size_t nr = check->connections_size;
    check->connections_size = nr ? 2 * nr : 256;
    check->connections = calloc(check->connections_size, sizeof(struct check_connection *));
    if (!check->connections) {
        arena_out_of_memory();
    }
    for (size_t i = 0; i < nr; i++) {
        if (old[i]) {
            check->connections[place_of(check, old[i]->from, old[i]->to)] = old[i];
        }
    }
    free(old);
}

struct check_connection *check_connect(struct check *check, uint32_t from, uint32_t to)
{
    if (2 * (check->nr_connections + 1) > check->connections_size) {
        grow_connections(check);
    }
    size_t at = place_of(check, from, to);
    if (!check->connections[at]) {
        struct check_connection *connection = arena_alloc(&check->arena, 1, sizeof *connection);
        *connection = (struct check_connection){.from = from, .to = to};
        check->connections[at] = connection;
        check->nr_connections++;
    }
    return check->connections[at];
}

/* ---- chunks ---- */

static void resolve_range(struct check_lane *lane, const struct sched_range *range, uint32_t peer,
                          struct check_message *message)
{
    message->range = range;
    message->first = (uint32_t)lane->nr_chunks;
    message->chunks = range ? walk_range_length(range) : 0;
    for (uint32_t i = 0; i < message->chunks; i++) {
        void *chunks = lane->chunks;
        array_grow(&chunks, &lane->chunks_capacity, lane->nr_chunks, sizeof *lane->chunks);
        lane->chunks = chunks;
        lane->chunks[lane->nr_chunks++] = walk_range_chunk(range, peer, i, &lane->at);
    }
}

static uint32_t slices_of(const struct check *check, uint32_t chunks)
{
    return chunks == 0 ? 1 : chunks * check->options.slices_per_chunk;
}

static struct check_message *add(struct check_list *list)
{
    void *items = list->items;
    array_grow(&items, &list->capacity, list->nr, sizeof *list->items);
    list->items = items;
    list->items[list->nr] = (struct check_message){0};
    return &list->items[list->nr++];
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* ---- peers ---- */

/* A connection twice in one step would mix two messages slice by slice. */
static int add_peer(struct check *check, const struct check_lane *lane, struct check_list *list,
                    uint32_t other, bool sends, struct check_message **message)
{
    struct check_connection *connection =
        sends ? check_connect(check, lane->actor, other) : check_connect(check, other, lane->actor);
    uint64_t *mark = sends ? &connection->send_mark : &connection->receive_mark;
    if (*mark == check->steps_begun) {
        return check_fail(check, FAULT_MALFORMED, "%s %s position %u lane %u twice: once is enough",
                          check_describe(check, check_action_of(lane)),
                          sends ? "sends to" : "receives from", other / check->lanes,
                          other % check->lanes);
    }
    *mark = check->steps_begun;
    *message = add(list);
    (*message)->connection = connection;
    return 0;
}

static int resolve_send(struct check *check, struct check_lane *lane, const struct sched_send *send)
{
    for (uint32_t k = 0; k < (uint32_t)send->peers.count; k++) {
        uint32_t other = walk_peer(&send->peers, k, &lane->at) * check->lanes + send->peers.lane;
        struct check_list *list = send->value ? &lane->values : &lane->sends;
        struct check_message *message;
        if (add_peer(check, lane, list, other, true, &message)) {
            return -1;
        }
        if (send->value) {
            const struct sched_range *value = walk_value(lane->at.step);
            message->chunks = value ? walk_range_length(value) : 0;
        } else {
            resolve_range(lane, &send->range, send->peers.group ? 0 : k, message);
        }
        message->slices = slices_of(check, message->chunks);
        if (!send->value) {
            lane->send_slices = larger(lane->send_slices, message->slices);
        }
    }
    return 0;
}

static int resolve_receive(struct check *check, struct check_lane *lane,
                           const struct sched_peers *peers)
{
    const struct sched_step *step = lane->at.step;
    for (uint32_t k = 0; k < (uint32_t)peers->count; k++) {
        uint32_t other = walk_peer(peers, k, &lane->at) * check->lanes + peers->lane;
        struct check_message *message;
        if (add_peer(check, lane, &lane->receives, other, false, &message)) {
            return -1;
        }
        if (step->combine == SCHED_PLACE) {
            resolve_range(lane, &step->store, k, message);
        } else {
            const struct sched_range *value = walk_value(step);
            message->chunks = value ? walk_range_length(value) : 0;
        }
        message->slices = slices_of(check, message->chunks);
        lane->value_slices = larger(lane->value_slices, message->slices);
    }
    return 0;
}

int check_step_resolve(struct check *check, struct check_lane *lane)
{
    const struct sched_step *step = lane->at.step;
    check->steps_begun++;
    lane->nr_chunks = 0;
    lane->sends.nr = lane->values.nr = lane->receives.nr = 0;
    lane->send_slices = lane->value_slices = 0;
    for (unsigned i = 0; i < step->nr_send; i++) {
        if (resolve_send(check, lane, &step->send[i])) {
            return -1;
        }
    }
    for (unsigned i = 0; i < step->nr_recv; i++) {
        if (resolve_receive(check, lane, &step->recv[i])) {
            return -1;
        }
    }
    if (step->combine == SCHED_REDUCE) {
        resolve_range(lane, step->takes ? &step->take : NULL, 0, &lane->take);
        resolve_range(lane, step->stores ? &step->store : NULL, 0, &lane->store);
        if (step->takes || step->stores || lane->values.nr > 0) {
            lane->value_slices =
                larger(lane->value_slices,
                       slices_of(check, larger(lane->take.chunks, lane->store.chunks)));
        }
    }
    return 0;
}
