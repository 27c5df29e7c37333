/* check_form.c - is a schedule well formed, and small enough to be run? The only part that does not
 * trust it: indices, counts and repeats may come from a file and be anything.
 *
 * What is checked once for a step as written down (numbers small enough that no index overflows)
 * comes before what is checked in each repetition (each index in its place).
 */
#include "check_internal.h"

#include <inttypes.h>

enum {
    POSITIONS_MOST = 4096,
    WINDOW_MOST = 256,
    SLICES_MOST = 256, /* of a chunk */
    TURNS_MOST = 64,   /* loops x calls */
    CELLS_MOST = 1 << 23,
    STEPS_MOST = 1 << 23, /* unrolled, of one loop */
    TIMES_MOST = 1 << 23, /* of a repeat, and of one in another */
    INDEX_MOST = 1 << 28  /* each term of an index: three of them stay below 2^31 */
};

static int form_options(struct check *check)
{
    const struct sched_check_options *options = &check->options;
    if (options->window < 2 || options->window > WINDOW_MOST ||
        (options->window & (options->window - 1)) != 0) {
        return check_fail(check, FAULT_MALFORMED,
                          "window %" PRIu32 ": expected a power of two from 2 to %d",
                          options->window, WINDOW_MOST);
    }
    if (options->slices_per_chunk < 1 || options->slices_per_chunk > SLICES_MOST) {
        return check_fail(check, FAULT_MALFORMED, "%" PRIu32 " slices a chunk: expected 1 to %d",
                          options->slices_per_chunk, SLICES_MOST);
    }
    if (options->loops < 1 || options->calls < 1 || options->loops > TURNS_MOST ||
        options->calls > TURNS_MOST || options->loops * options->calls > TURNS_MOST) {
        return check_fail(check, FAULT_MALFORMED,
                          "%" PRIu32 " loops x %" PRIu32 " calls: expected 1 to %d in all",
                          options->loops, options->calls, TURNS_MOST);
    }
    return 0;
}

static int form_request(struct check *check)
{
    const struct sched_request *request = &check->schedule->request;
    const struct sched_shape *shape = &check->schedule->shape;
    if ((unsigned)request->collective >= COLL_NR) {
        return check_fail(check, FAULT_MALFORMED, "collective %d: there is no such number",
                          (int)request->collective);
    }
    if (request->in_place && !coll_in_place(request->collective)) {
        return check_fail(check, FAULT_MALFORMED, "%s has no form in place",
                          coll_name(request->collective));
    }
    if (request->ranks < 1 || request->ranks > POSITIONS_MOST) {
        return check_fail(check, FAULT_MALFORMED,
                          "%" PRIu32 " ranks: expected 1 to %d (what holds for these is checked)",
                          request->ranks, POSITIONS_MOST);
    }
    if (shape->lanes < 1 || shape->lanes > SCHED_LANES_MOST) {
        return check_fail(check, FAULT_MALFORMED, "%" PRIu32 " lanes: expected 1 to %d",
                          shape->lanes, SCHED_LANES_MOST);
    }
    if (shape->chunks < 1 || shape->copies < 1) {
        return check_fail(check, FAULT_MALFORMED,
                          "%" PRIu32 " chunks and %" PRIu32
                          " copies of scratch: expected at least one of each",
                          shape->chunks, shape->copies);
    }
    return 0;
}

/* Memory of one position, in chunks; false: it does not fit. */
static bool count_cells(struct check *check)
{
    const struct sched_request *request = &check->schedule->request;
    const struct sched_shape *shape = &check->schedule->shape;
    if (shape->chunks > CELLS_MOST || shape->scratch > CELLS_MOST || shape->copies > CELLS_MOST) {
        return false;
    }
    uint64_t in = (uint64_t)sched_parts(request, SCHED_IN) * shape->chunks;
    uint64_t out = (uint64_t)sched_parts(request, SCHED_OUT) * shape->chunks;
    uint64_t user = !request->in_place ? in + out : in > out ? in : out;
    uint64_t rows = user * check->options.loops + (uint64_t)shape->scratch * shape->copies;
    if (rows > CELLS_MOST || rows * check->options.slices_per_chunk * request->ranks > CELLS_MOST) {
        return false;
    }
    check->memory.user_chunks = (uint32_t)user;
    check->memory.per_position = (uint32_t)rows * check->options.slices_per_chunk;
    return true;
}

static int form_credits(struct check *check)
{
    const struct sched_shape *shape = &check->schedule->shape;
    if (shape->nr_credits > SCHED_LANES_MOST) {
        return check_fail(check, FAULT_MALFORMED, "%" PRIu32 " credits: expected at most %d",
                          shape->nr_credits, SCHED_LANES_MOST);
    }
    for (uint32_t i = 0; i < shape->nr_credits; i++) {
        const struct sched_credit *credit = &shape->credits[i];
        if (credit->from_lane >= shape->lanes || credit->to_lane >= shape->lanes) {
            return check_fail(check, FAULT_MALFORMED,
                              "credits from lane %u to lane %u: expected lanes below %" PRIu32,
                              credit->from_lane, credit->to_lane, shape->lanes);
        }
        if (credit->tokens > check->options.window) {
            return check_fail(
                check, FAULT_OVERRUN,
                "%" PRIu32 " credits from lane %u to lane %u: a connection has %" PRIu32
                " slots (the window)",
                credit->tokens, credit->from_lane, credit->to_lane, check->options.window);
        }
    }
    return 0;
}

int check_form_shape(struct check *check)
{
    if (form_options(check) || form_request(check) || form_credits(check)) {
        return -1;
    }
    if (!count_cells(check)) {
        return check_fail(check, FAULT_MALFORMED,
                          "too large to be checked: %" PRIu32 " ranks x (%" PRIu32
                          " chunks a part, %" PRIu32 " x %" PRIu32 " of scratch) x %" PRIu32
                          " slices are over %d slices in memory",
                          check->schedule->request.ranks, check->schedule->shape.chunks,
                          check->schedule->shape.copies, check->schedule->shape.scratch,
                          check->options.slices_per_chunk, CELLS_MOST);
    }
    return 0;
}

/* ---- a step as written down ---- */

struct written { /* where it stands, for messages */
    struct check *check;
    uint32_t position;
    unsigned lane;
    size_t number;  /* of the step in its lane, from 1 */
    uint64_t turns; /* repetitions of what encloses it */
};

static int fail_at(const struct written *at, const char *what)
{
    return check_fail(at->check, FAULT_MALFORMED, "position %" PRIu32 " lane %u step %zu: %s",
                      at->position, at->lane, at->number, what);
}

static bool small(int64_t x)
{
    return x >= -INDEX_MOST && x <= INDEX_MOST;
}

static bool space_small(const struct written *at, const struct sched_space *space)
{
    return space->size >= 1 && small(space->size) && small(space->base) &&
           small((int64_t)space->stride * (space->size - 1)) &&
           small(space->move * (int64_t)at->turns);
}

static int form_peers(const struct written *at, const struct sched_peers *peers)
{
    if (peers->count < 0 || (uint32_t)peers->count > at->check->positions) {
        return fail_at(at, "a list of peers is longer than the group");
    }
    if (!space_small(at, &peers->space)) {
        return fail_at(at, "the space of a list of peers is empty or its numbers are too large");
    }
    if (peers->lane >= at->check->lanes) {
        return fail_at(at, "a peer's lane is not there");
    }
    return 0;
}

/* A range no longer than its buffer: a longer one would hold a chunk twice. `last` may cut runs
 * off, so what is written down may be longer, within reason. */
static int form_range(const struct written *at, const struct sched_range *range)
{
    if ((unsigned)range->buffer >= SCHED_BUFFERS) {
        return fail_at(at, "a range is in no buffer");
    }
    int64_t chunks = sched_chunks(at->check->schedule, range->buffer);
    if (range->run < 0 || range->runs < 0 || range->last < 0) {
        return fail_at(at, "run, runs and last of a range cannot be negative");
    }
    if (range->runs == 0) {
        return 0;
    }
    if (range->run > chunks || range->runs > chunks ||
        (int64_t)range->run * range->runs > 4 * chunks || walk_range_length(range) > chunks) {
        return fail_at(at, "a range has more chunks than its buffer");
    }
    if (range->last > 0 && range->runs > 1 && range->gap < range->run) {
        return fail_at(at, "last needs runs in order: a gap of at least the run");
    }
    if (!space_small(at, &range->space)) {
        return fail_at(at, "the space of a range is empty or its numbers are too large");
    }
    return 0;
}

static int form_value(const struct written *at, const struct sched_step *step, bool value_sent)
{
    uint32_t take = step->takes ? walk_range_length(&step->take) : 0;
    uint32_t store = step->stores ? walk_range_length(&step->store) : 0;
    if (step->combine == SCHED_PLACE) {
        if (step->takes || value_sent) {
            return fail_at(at, "place neither takes nor sends a value");
        }
        return walk_receives(step) > 0 && !step->stores
                   ? fail_at(at, "place needs a range to store to")
                   : 0;
    }
    if (step->via == SCHED_PUSH) {
        return fail_at(at, "push is for place only");
    }
    if (step->takes && step->stores && take != store) {
        return fail_at(at, "take and store have different numbers of chunks");
    }
    if (store > 0 && !step->takes && walk_receives(step) == 0) {
        return fail_at(at, "nothing is received or taken that could be stored");
    }
    return 0;
}

static int form_written_step(const struct written *at, const struct sched_step *step)
{
    bool value_sent = false;
    if (step->compute) {
        return fail_at(at, "what a compute step does cannot be proven");
    }
    if (step->nr_recv > SCHED_SENDS_MOST || step->nr_send > SCHED_SENDS_MOST ||
        (unsigned)step->combine > SCHED_PLACE || (unsigned)step->via > SCHED_PUSH) {
        return fail_at(at, "lists, combine or via are out of range");
    }
    for (unsigned i = 0; i < step->nr_recv; i++) {
        if (form_peers(at, &step->recv[i])) {
            return -1;
        }
        if (step->recv[i].group && step->combine == SCHED_PLACE) {
            return fail_at(at, "place cannot tell the members of a group apart");
        }
    }
    for (unsigned i = 0; i < step->nr_send; i++) {
        value_sent = value_sent || step->send[i].value;
        if (form_peers(at, &step->send[i].peers) ||
            (!step->send[i].value && form_range(at, &step->send[i].range))) {
            return -1;
        }
    }
    if ((step->takes && form_range(at, &step->take)) ||
        (step->stores && form_range(at, &step->store))) {
        return -1;
    }
    return form_value(at, step, value_sent);
}

/* ---- a program ---- */

static int form_items(struct written *at, const struct sched_item *items, size_t nr, unsigned depth)
{
    for (size_t i = 0; i < nr; i++) {
        const struct sched_item *item = &items[i];
        at->number += item->times == 0 || item->nr == 0;
        if (item->times == 0) {
            if (form_written_step(at, &item->step)) {
                return -1;
            }
            continue;
        }
        uint64_t outside = at->turns;
        at->turns *= item->times;
        if (depth + 1 >= WALK_DEPTH) {
            return fail_at(at, "a repeat may hold repeats, but no deeper");
        }
        if (at->turns > TIMES_MOST || item->nr == 0) {
            return fail_at(at, item->nr == 0 ? "a repeat of nothing"
                                             : "it is repeated more than 8388608 times");
        }
        if (form_items(at, item->items, item->nr, depth + 1)) {
            return -1;
        }
        at->turns = outside;
    }
    return 0;
}

int check_form_program(struct check *check, uint32_t position)
{
    const struct sched_program *program = check->programs[position];
    if (program->nr_lanes > check->lanes) {
        return check_fail(check, FAULT_MALFORMED,
                          "position %" PRIu32 " has %" PRIu32 " lanes: expected at most %" PRIu32,
                          position, program->nr_lanes, check->lanes);
    }
    for (uint32_t lane = 0; lane < program->nr_lanes; lane++) {
        struct written at = {check, position, lane, 0, 1};
        if (form_items(&at, program->lanes[lane].items, program->lanes[lane].nr, 0)) {
            return -1;
        }
        check->steps += walk_length(&program->lanes[lane]);
        if (check->steps > STEPS_MOST) {
            return check_fail(check, FAULT_MALFORMED,
                              "too large to be checked: over %d steps in a loop", STEPS_MOST);
        }
    }
    return 0;
}

/* ---- a step in a repetition ---- */

static int fail_index(struct check *check, const struct check_lane *lane, const char *what,
                      uint32_t index, uint32_t most)
{
    return check_fail(check, FAULT_MALFORMED, "%s: %s %" PRId32 ": expected 0 to %" PRId64,
                      check_describe(check, check_action_of(lane)), what, (int32_t)index,
                      (int64_t)most - 1);
}

static int form_peer_indices(struct check *check, const struct check_lane *lane,
                             const struct sched_peers *peers)
{
    for (uint32_t k = 0; k < (uint32_t)peers->count; k++) {
        uint32_t position = walk_peer(peers, k, &lane->at);
        if (position >= check->positions) {
            return fail_index(check, lane, "a peer at position", position, check->positions);
        }
    }
    return 0;
}

static int form_chunk_indices(struct check *check, const struct check_lane *lane,
                              const struct sched_range *range, uint32_t peer, bool stored)
{
    uint32_t nr = walk_range_length(range), most = sched_chunks(check->schedule, range->buffer);
    for (uint32_t i = 0; i < nr; i++) {
        uint32_t chunk = walk_range_chunk(range, peer, i, &lane->at);
        if (chunk >= most) {
            return fail_index(check, lane, stored ? "stores to chunk" : "reads chunk", chunk, most);
        }
        if (stored && !check_memory_writable(check, lane->position, range->buffer, chunk)) {
            return check_fail(check, FAULT_MALFORMED,
                              "%s stores to %s chunk %" PRIu32
                              ", which is not its to write: a schedule stores to out and scratch, "
                              "and only the root has the out of a reduce or gather",
                              check_describe(check, check_action_of(lane)),
                              range->buffer == SCHED_IN ? "in" : "out", chunk);
        }
    }
    return 0;
}

/* Ranges that differ for each peer, for each peer. */
static int form_peer_ranges(struct check *check, const struct check_lane *lane,
                            const struct sched_range *range, const struct sched_peers *peers,
                            bool stored)
{
    uint32_t nr = peers->group || range->per_peer == 0 ? peers->count > 0 : (uint32_t)peers->count;
    for (uint32_t peer = 0; peer < nr; peer++) {
        if (form_chunk_indices(check, lane, range, peer, stored)) {
            return -1;
        }
    }
    return 0;
}

int check_form_step(struct check *check, const struct check_lane *lane)
{
    const struct sched_step *step = lane->at.step;
    for (unsigned i = 0; i < step->nr_send; i++) {
        const struct sched_send *send = &step->send[i];
        if (form_peer_indices(check, lane, &send->peers) ||
            (!send->value && form_peer_ranges(check, lane, &send->range, &send->peers, false))) {
            return -1;
        }
    }
    for (unsigned i = 0; i < step->nr_recv; i++) {
        if (form_peer_indices(check, lane, &step->recv[i]) ||
            (step->combine == SCHED_PLACE &&
             form_peer_ranges(check, lane, &step->store, &step->recv[i], true))) {
            return -1;
        }
    }
    if (step->combine == SCHED_PLACE) {
        return 0;
    }
    return (step->takes && form_chunk_indices(check, lane, &step->take, 0, false)) ||
                   (step->stores && form_chunk_indices(check, lane, &step->store, 0, true))
               ? -1
               : 0;
}
