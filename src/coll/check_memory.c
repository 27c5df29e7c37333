/* check_memory.c - chunks slice by slice: what each holds, who touched it last, and whether whoever
 * touches it now has seen that.
 *
 * A position's memory is its user's (in and out, which share chunks in place) for each loop, and
 * its scratch for each copy. The caller counts as one more who reads and writes: when all lanes of
 * a position have ended a call, it reads out, and from then on all of the memory may be used for
 * something else, until the next call begins with new inputs. A peer that still reads or writes
 * there is a race.
 */
#include "check_internal.h"

#include <inttypes.h>
#include <stdlib.h>

void check_memory_begin(struct check *check)
{
    struct check_memory *memory = &check->memory;
    memory->cells = calloc((size_t)check->positions * memory->per_position, sizeof *memory->cells);
    if (!memory->cells) {
        arena_out_of_memory();
    }
    memory->nr_reads = 1;
}

/* ---- where ---- */

/* Only the root has an in of broadcast and scatter, and an out of reduce and gather. */
static bool has_buffer(const struct check *check, uint32_t position, enum sched_buffer buffer)
{
    switch (check->schedule->request.collective) {
    case COLL_BROADCAST:
    case COLL_SCATTER:
        return buffer != SCHED_IN || position == 0;
    case COLL_REDUCE:
    case COLL_GATHER:
        return buffer != SCHED_OUT || position == 0;
    default:
        return true;
    }
}

/* The first of a buffer's chunks in the user's memory. In place in and out begin together, but
 * where one of them has a part for every rank the other is that part. */
static uint32_t first_of(const struct check *check, uint32_t position, enum sched_buffer buffer)
{
    const struct schedule *schedule = check->schedule;
    uint32_t in = sched_chunks(schedule, SCHED_IN), out = sched_chunks(schedule, SCHED_OUT);
    if (!schedule->request.in_place) {
        return buffer == SCHED_OUT ? in : 0;
    }
    bool part = buffer == SCHED_IN ? in < out : out < in;
    return part ? position * schedule->shape.chunks : 0;
}

uint32_t check_memory_cell(const struct check *check, uint32_t position, enum sched_buffer buffer,
                           uint32_t chunk, uint32_t slice, uint32_t turn)
{
    const struct sched_shape *shape = &check->schedule->shape;
    const struct check_memory *memory = &check->memory;
    uint32_t loop = turn % check->options.loops, row;
    if (buffer == SCHED_SCRATCH) {
        row = check->options.loops * memory->user_chunks + loop % shape->copies * shape->scratch +
              chunk;
    } else {
        row = loop * memory->user_chunks + first_of(check, position, buffer) + chunk;
    }
    return position * memory->per_position + row * check->options.slices_per_chunk + slice;
}

bool check_memory_writable(const struct check *check, uint32_t position, enum sched_buffer buffer,
                           uint32_t chunk)
{
    if (buffer == SCHED_SCRATCH) {
        return true;
    }
    uint32_t at = first_of(check, position, buffer) + chunk;
    uint32_t out = first_of(check, position, SCHED_OUT);
    return has_buffer(check, position, SCHED_OUT) && at >= out &&
           at - out < sched_chunks(check->schedule, SCHED_OUT);
}

static bool is_scratch(const struct check *check, uint32_t cell)
{
    uint32_t within = cell % check->memory.per_position;
    return within / check->options.slices_per_chunk >=
           check->options.loops * check->memory.user_chunks;
}

/* ---- what happens there ---- */

static int fail_race(struct check *check, uint32_t cell, struct check_action now, bool writes,
                     struct check_action before, bool wrote)
{
    bool overrun = is_scratch(check, cell) && now.turn != before.turn && now.step != CHECK_CALLER &&
                   before.step != CHECK_CALLER;
    return check_fail(check, overrun ? FAULT_OVERRUN : FAULT_RACE,
                      "%s: %s %s it, %s %s it, and nothing says which comes first%s",
                      check_describe_cell(check, cell), check_describe(check, before),
                      wrote ? "writes" : "reads", check_describe(check, now),
                      writes ? "writes" : "reads",
                      overrun ? ": this copy of scratch is not free yet" : "");
}

static bool seen(const struct check *check, uint32_t actor, const struct check_access *access)
{
    return check_clock_seen(&check->clocks, actor, access->by.actor, access->time);
}

static int read_access(struct check *check, struct check_action action, uint32_t cell)
{
    struct check_memory *memory = &check->memory;
    struct check_cell *at = &memory->cells[cell];
    if (!seen(check, action.actor, &at->write)) {
        return fail_race(check, cell, action, false, at->write.by, true);
    }
    struct check_access access = {action, check_clock_touch(&check->clocks, action.actor)};
    if (at->reads != 0 && memory->reads[at->reads].access.by.actor == action.actor) {
        memory->reads[at->reads].access = access; /* the later one says it all */
        return 0;
    }
    uint32_t read = memory->spare_read;
    if (read != 0) {
        memory->spare_read = memory->reads[read].next;
    } else {
        void *items = memory->reads;
        array_grow(&items, &memory->reads_capacity, memory->nr_reads, sizeof *memory->reads);
        memory->reads = items;
        read = (uint32_t)memory->nr_reads++;
    }
    memory->reads[read] = (struct check_read){access, at->reads};
    at->reads = read;
    return 0;
}

static int write_access(struct check *check, struct check_action action, uint32_t cell)
{
    struct check_memory *memory = &check->memory;
    struct check_cell *at = &memory->cells[cell];
    if (!seen(check, action.actor, &at->write)) {
        return fail_race(check, cell, action, true, at->write.by, true);
    }
    while (at->reads != 0) {
        struct check_read *read = &memory->reads[at->reads];
        if (!seen(check, action.actor, &read->access)) {
            return fail_race(check, cell, action, true, read->access.by, false);
        }
        uint32_t next = read->next;
        read->next = memory->spare_read;
        memory->spare_read = at->reads;
        at->reads = next;
    }
    at->write = (struct check_access){action, check_clock_touch(&check->clocks, action.actor)};
    return 0;
}

int check_memory_read(struct check *check, const struct check_lane *by, uint32_t cell,
                      uint32_t *value)
{
    struct check_action action = check_action_of(by);
    const struct check_cell *at = &check->memory.cells[cell];
    if (read_access(check, action, cell)) {
        return -1;
    }
    if (at->value == CHECK_NOTHING) {
        return check_fail(check, FAULT_UNREAD, "%s: %s reads it, and nothing was written there",
                          check_describe_cell(check, cell), check_describe(check, action));
    }
    if (is_scratch(check, cell) && at->write.by.turn != by->turn) {
        return check_fail(check, at->write.by.turn > by->turn ? FAULT_OVERRUN : FAULT_UNREAD,
                          "%s: %s reads it, and finds what %s wrote in another loop",
                          check_describe_cell(check, cell), check_describe(check, action),
                          check_describe(check, at->write.by));
    }
    *value = at->value;
    return 0;
}

int check_memory_write(struct check *check, const struct check_lane *by, uint32_t cell,
                       uint32_t value)
{
    if (write_access(check, check_action_of(by), cell)) {
        return -1;
    }
    check->memory.cells[cell].value = value;
    return 0;
}

/* ---- the caller ---- */

static int too_many_values(struct check *check)
{
    return check_fail(check, FAULT_MALFORMED,
                      "too large to be checked: its chunks take too many different values");
}

int check_memory_call(struct check *check, uint32_t position, uint32_t call)
{
    uint32_t nr = sched_chunks(check->schedule, SCHED_IN), slices = check->options.slices_per_chunk;
    uint32_t loops = check->options.loops;
    if (!has_buffer(check, position, SCHED_IN)) {
        return 0;
    }
    for (uint32_t turn = call * loops; turn < (call + 1) * loops; turn++) {
        for (uint32_t chunk = 0; chunk < nr; chunk++) {
            uint32_t value =
                check_value_input(&check->values, (struct check_source){turn, chunk, position});
            uint32_t cell = check_memory_cell(check, position, SCHED_IN, chunk, 0, turn);
            if (value == CHECK_NOTHING) {
                return too_many_values(check);
            }
            for (uint32_t slice = 0; slice < slices; slice++) {
                check->memory.cells[cell + slice].value = value;
            }
        }
    }
    return 0;
}

/* What the collective says that a chunk of out must hold. */
static uint32_t wanted(struct check *check, uint32_t position, uint32_t chunk, uint32_t turn)
{
    uint32_t chunks = check->schedule->shape.chunks;
    uint32_t part = chunk / chunks, within = chunk % chunks, mine = position * chunks + chunk;
    struct check_source source = {turn, chunk, 0};
    switch (check->schedule->request.collective) {
    case COLL_ALLREDUCE:
    case COLL_REDUCE:
        return check_value_everybody(&check->values, turn, chunk);
    case COLL_REDUCE_SCATTER:
        return check_value_everybody(&check->values, turn, mine);
    case COLL_ALL_GATHER:
    case COLL_GATHER:
        source = (struct check_source){turn, within, part};
        break;
    case COLL_ALL_TO_ALL:
        source = (struct check_source){turn, position * chunks + within, part};
        break;
    case COLL_SCATTER:
        source.chunk = mine;
        break;
    case COLL_SEND_RECV: /* to the next position, as nccl-tests has it */
        source.position = (position + check->positions - 1) % check->positions;
        break;
    case COLL_BROADCAST:
    case COLL_NR:
        break;
    }
    return check_value_input(&check->values, source);
}

static int check_chunk(struct check *check, uint32_t position, uint32_t chunk, uint32_t turn)
{
    uint32_t expected = wanted(check, position, chunk, turn);
    if (expected == CHECK_NOTHING) {
        return too_many_values(check);
    }
    for (uint32_t slice = 0; slice < check->options.slices_per_chunk; slice++) {
        uint32_t cell = check_memory_cell(check, position, SCHED_OUT, chunk, slice, turn);
        uint32_t held = check->memory.cells[cell].value;
        if (held != expected) {
            char what[512];
            check_value_compare(&check->values, held, expected, check->options.loops, what,
                                sizeof what);
            return check_fail(check, FAULT_WRONG_RESULT, "%s after call %" PRIu32 ": it %s",
                              check_describe_cell(check, cell), turn / check->options.loops + 1,
                              what);
        }
    }
    return 0;
}

static int check_outputs(struct check *check, const struct check_lane *last)
{
    uint32_t loops = check->options.loops, call = last->turn / loops;
    uint32_t nr = sched_chunks(check->schedule, SCHED_OUT);
    if (!has_buffer(check, last->position, SCHED_OUT)) {
        return 0;
    }
    for (uint32_t turn = call * loops; turn < (call + 1) * loops; turn++) {
        for (uint32_t chunk = 0; chunk < nr; chunk++) {
            if (check_chunk(check, last->position, chunk, turn)) {
                return -1;
            }
        }
    }
    return 0;
}

int check_memory_caller(struct check *check, const struct check_lane *last)
{
    struct check_memory *memory = &check->memory;
    uint32_t first = last->position * memory->per_position;
    uint32_t lanes = last->position * check->lanes, call = last->turn / check->options.loops;
    struct check_action caller = {last->actor, CHECK_CALLER, last->turn};
    check_clock_meet(&check->clocks, lanes, check->lanes, last->actor);
    for (uint32_t cell = first; cell < first + memory->per_position; cell++) {
        if (write_access(check, caller, cell)) {
            return -1;
        }
    }
    if (check_outputs(check, last)) {
        return -1;
    }
    for (uint32_t cell = first; cell < first + memory->per_position; cell++) {
        memory->cells[cell].value = CHECK_NOTHING;
    }
    check_clock_part(&check->clocks, lanes, check->lanes, last->actor);
    return call + 1 < check->options.calls ? check_memory_call(check, last->position, call + 1) : 0;
}
