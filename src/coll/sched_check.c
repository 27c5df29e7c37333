/* sched_check.c - the checker as a whole; its parts are listed in check_internal.h. */
#include "sched_check.h"

#include "check_internal.h"

#include <stdlib.h>

enum { STAMP_BYTES_MOST = 1 << 30, CLOCK_ENTRIES_MOST = 1 << 27 };

/* Chunks of three slices and a window of four: as large as a ring's chunk may be. */
const struct sched_check_options sched_check_usual = {
    .window = 4, .slices_per_chunk = 3, .loops = 3, .calls = 2, .seed = 1};

static const struct sched_lane no_steps;

static int begin(struct check *check)
{
    check->positions = check->schedule->request.ranks;
    check->lanes = check->schedule->shape.lanes;
    check->actors = check->positions * check->lanes;
    check->turns = check->options.loops * check->options.calls;
    check->random = check->options.seed;
    if ((uint64_t)check->actors * check->actors > CLOCK_ENTRIES_MOST) {
        return check_fail(check, FAULT_MALFORMED,
                          "too large to be checked: %u ranks x %u lanes, expected at most 11585",
                          check->positions, check->lanes);
    }
    check->programs =
        arena_alloc(&check->arena, check->positions, sizeof(const struct sched_program *));
    check->lane = arena_alloc(&check->arena, check->actors, sizeof *check->lane);
    check->ready = arena_alloc(&check->arena, check->actors, sizeof *check->ready);
    check->finished = arena_alloc(&check->arena, check->positions, sizeof *check->finished);
    check_values_begin(&check->values, check->positions);
    check_clocks_begin(&check->clocks, check->actors,
                       STAMP_BYTES_MOST / (check->actors * sizeof(uint32_t)));
    check_memory_begin(check);
    return 0;
}

static int read_programs(struct check *check)
{
    for (uint32_t position = 0; position < check->positions; position++) {
        const struct sched_program *program =
            sched_program(check->schedule, position, &check->arena);
        check->programs[position] = program;
        if (check_form_program(check, position)) {
            return -1;
        }
        for (uint32_t lane = 0; lane < check->lanes; lane++) {
            uint32_t actor = position * check->lanes + lane;
            check->lane[actor] = (struct check_lane){
                .actor = actor,
                .position = position,
                .program = lane < program->nr_lanes ? &program->lanes[lane] : &no_steps};
        }
    }
    return 0;
}

static void release(struct check *check)
{
    for (uint32_t i = 0; check->lane && i < check->actors; i++) {
        free(check->lane[i].sends.items);
        free(check->lane[i].values.items);
        free(check->lane[i].receives.items);
        free(check->lane[i].chunks);
    }
    for (size_t i = 0; i < check->connections_size; i++) {
        struct check_connection *connection = check->connections[i];
        for (uint32_t k = 0; connection && connection->slots && k < check->options.window; k++) {
            check_clock_drop(&check->clocks, connection->slots[k].stamp);
            check_clock_drop(&check->clocks, connection->freed[k]);
        }
        if (connection) {
            check_clock_drop(&check->clocks, connection->place_stamp);
        }
    }
    free(check->connections);
    free(check->memory.cells);
    free(check->memory.reads);
    check_values_release(&check->values);
    check_clocks_release(&check->clocks);
    arena_release(&check->arena);
}

int sched_check(const struct schedule *schedule, const struct sched_check_options *options,
                enum sched_fault *fault, struct error *error)
{
    struct check check = {.schedule = schedule, .options = *options, .error = error};
    int failed = check_form_shape(&check) || begin(&check) || read_programs(&check) ||
                 check_match_all(&check) || check_run(&check);
    if (fault) {
        *fault = check.fault;
    }
    release(&check);
    return failed ? -1 : 0;
}
