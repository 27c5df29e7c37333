/* check_fault.c - faults in words: what was found, where, and in which step of which repetition.
 *
 * Positions, lanes, chunks, slices and repetitions count from 0, as programs do; steps (as written
 * down in their lane), loops and calls from 1.
 */
#include "check_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { CYCLE_SHOWN = 3 }; /* lanes of a deadlock that are described */

const char *sched_fault_name(enum sched_fault fault)
{
    static const char *const names[] = {
        [FAULT_NONE] = "none",
        [FAULT_MALFORMED] = "malformed schedule",
        [FAULT_WRONG_RESULT] = "wrong result",
        [FAULT_UNMATCHED] = "unmatched message",
        [FAULT_DEADLOCK] = "deadlock",
        [FAULT_RACE] = "race",
        [FAULT_OVERRUN] = "overrun",
        [FAULT_UNREAD] = "uninitialised chunk",
    };
    return names[fault];
}

int check_fail(struct check *check, enum sched_fault fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_vprintf(&check->arena, format, arguments);
    va_end(arguments);
    check->fault = fault;
    error_set(check->error, EXIT_INPUT, "%s: %s", sched_fault_name(fault), text);
    if (check->schedule->name) {
        error_prefix(check->error, "%s", check->schedule->name);
    }
    return -1;
}

/* Steps written down before `step`, counting itself; 0: not in this list. */
static size_t number_of(const struct sched_item *items, size_t nr, const struct sched_step *step,
                        size_t *before)
{
    for (size_t i = 0; i < nr; i++) {
        if (items[i].times == 0) {
            ++*before;
            if (&items[i].step == step) {
                return *before;
            }
            continue;
        }
        size_t number = number_of(items[i].items, items[i].nr, step, before);
        if (number > 0) {
            return number;
        }
    }
    return 0;
}

const char *check_describe(struct check *check, struct check_action action)
{
    uint32_t position = action.actor / check->lanes, lane = action.actor % check->lanes;
    uint32_t call = action.turn / check->options.loops + 1;
    uint32_t loop = action.turn % check->options.loops + 1;
    if (action.step == CHECK_CALLER) {
        return arena_printf(&check->arena, "the caller of position %" PRIu32 " after call %" PRIu32,
                            position, call);
    }
    const struct sched_program *program = check->programs[position];
    struct walk_step at = {NULL, 0, 0};
    size_t before = 0;
    if (lane >= program->nr_lanes || sched_step(program, (uint8_t)lane, action.step, &at)) {
        return arena_printf(&check->arena, "position %" PRIu32 " lane %" PRIu32, position, lane);
    }
    const struct sched_lane *items = &program->lanes[lane];
    return arena_printf(&check->arena,
                        "position %" PRIu32 " lane %" PRIu32 " step %zu (repetition %" PRIu32
                        ".%" PRIu32 ", loop %" PRIu32 " of call %" PRIu32 ")",
                        position, lane, number_of(items->items, items->nr, at.step, &before),
                        at.outer, at.inner, loop, call);
}

const char *check_describe_cell(struct check *check, uint32_t cell)
{
    static const char *const names[] = {"in", "out", "scratch"};
    const struct check_memory *memory = &check->memory;
    const struct sched_shape *shape = &check->schedule->shape;
    uint32_t position = cell / memory->per_position, slices = check->options.slices_per_chunk;
    uint32_t row = cell % memory->per_position / slices, slice = cell % slices;
    uint32_t user = check->options.loops * memory->user_chunks;
    uint32_t in = sched_chunks(check->schedule, SCHED_IN);
    uint32_t out = sched_chunks(check->schedule, SCHED_OUT);
    if (row >= user) {
        return arena_printf(
            &check->arena,
            "scratch chunk %" PRIu32 " (copy %" PRIu32 ", slice %" PRIu32 ") of position %" PRIu32,
            (row - user) % shape->scratch, (row - user) / shape->scratch, slice, position);
    }
    uint32_t loop = row / memory->user_chunks, chunk = row % memory->user_chunks;
    bool in_place = check->schedule->request.in_place;
    bool is_out = in_place ? out >= in : chunk >= in;
    return arena_printf(
        &check->arena,
        "%s chunk %" PRIu32 " (loop %" PRIu32 ", slice %" PRIu32 ") of position %" PRIu32,
        names[is_out], is_out && !in_place ? chunk - in : chunk, loop + 1, slice, position);
}

/* ---- deadlock ---- */

/* The lane that would have to act for this one to go on. */
static const struct check_lane *awaited(const struct check *check, const struct check_lane *lane)
{
    if (lane->wait == CHECK_FOR_SLICE) {
        return &check->lane[lane->waits_on->from];
    }
    if (lane->wait != CHECK_FOR_CALL) {
        return &check->lane[lane->waits_on->to];
    }
    const struct check_lane *other = &check->lane[lane->position * check->lanes];
    while (other->wait == CHECK_FOR_CALL) {
        other++;
    }
    return other;
}

static const char *what_for(enum check_wait wait)
{
    switch (wait) {
    case CHECK_FOR_SLICE:
        return "a slice from";
    case CHECK_FOR_ROOM:
        return "a free slot from";
    case CHECK_FOR_PLACE:
        return "a place to push to from";
    case CHECK_FOR_DRAIN:
        return "its descriptors to be freed by";
    case CHECK_FOR_CALL:
        return "the end of the call of";
    case CHECK_RUNS:
        break;
    }
    return "nothing from";
}

static const char *describe_wait(struct check *check, const struct check_lane *lane)
{
    uint32_t other = awaited(check, lane)->actor;
    return arena_printf(&check->arena, "%s waits for %s position %" PRIu32 " lane %" PRIu32,
                        check_describe(check, check_action_of(lane)), what_for(lane->wait),
                        other / check->lanes, other % check->lanes);
}

/* Who waits for whom leads into a cycle within as many steps as there are lanes: since all messages
 * match (check_match.c), nobody waits for a lane that is over. */
int check_fail_deadlock(struct check *check)
{
    const struct check_lane *lane = check->lane;
    while (lane->over) {
        lane++;
    }
    for (uint32_t i = 0; i < check->actors; i++) {
        lane = awaited(check, lane);
    }
    const struct check_lane *first = lane;
    const char *text = describe_wait(check, lane);
    uint32_t nr = 1;
    for (lane = awaited(check, lane); lane != first; lane = awaited(check, lane)) {
        if (nr++ < CYCLE_SHOWN) {
            text = arena_printf(&check->arena, "%s, %s", text, describe_wait(check, lane));
        }
    }
    return check_fail(
        check, FAULT_DEADLOCK, "%s%s (window %" PRIu32 ", %" PRIu32 " slices a chunk)", text,
        nr > CYCLE_SHOWN ? arena_printf(&check->arena, " and so on, round %" PRIu32 " lanes", nr)
                         : "",
        check->options.window, check->options.slices_per_chunk);
}
