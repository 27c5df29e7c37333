/* fuzz_sched.c - any text as a schedule: a worded error, or programs that stay within their buffers
 * and are written and read back the same.
 */
#include "sched_text.h"

#include "walk.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS_MOST = 2000 }; /* walked in a lane */

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_range(const struct schedule *schedule, const struct sched_range *range,
                        uint32_t peer, const struct walk_step *at)
{
    uint32_t length = walk_range_length(range), chunks = sched_chunks(schedule, range->buffer);
    require(length <= chunks);
    for (uint32_t i = 0; i < length; i += 1 + length / 64) {
        require(walk_range_chunk(range, peer, i, at) < chunks);
    }
}

static void check_peers(const struct schedule *schedule, const struct sched_peers *peers,
                        const struct walk_step *at)
{
    uint32_t count = (uint32_t)peers->count;
    require(count >= 1 && count <= schedule->request.ranks);
    require(peers->lane < schedule->shape.lanes);
    for (uint32_t k = 0; k < count; k += 1 + count / 64) {
        require(walk_peer(peers, k, at) < schedule->request.ranks);
    }
}

static void check_step(const struct schedule *schedule, const struct walk_step *at)
{
    const struct sched_step *step = at->step;
    for (unsigned i = 0; i < step->nr_recv; i++) {
        check_peers(schedule, &step->recv[i], at);
    }
    for (unsigned i = 0; i < step->nr_send; i++) {
        check_peers(schedule, &step->send[i].peers, at);
        if (!step->send[i].value) {
            check_range(schedule, &step->send[i].range, 1, at);
        }
    }
    if (step->takes) {
        check_range(schedule, &step->take, 0, at);
    }
    if (step->stores) {
        check_range(schedule, &step->store, 1, at);
    }
}

static void check_programs(const struct schedule *schedule)
{
    for (uint32_t p = 0; p < schedule->request.ranks; p += 1 + schedule->request.ranks / 16) {
        const struct sched_program *program = sched_program(schedule, p, NULL);
        require(program->nr_lanes == schedule->shape.lanes);
        for (uint32_t lane = 0; lane < program->nr_lanes; lane++) {
            struct walk walk;
            struct walk_step at;
            walk_begin(&walk, &program->lanes[lane]);
            for (int i = 0; i < STEPS_MOST && walk_next(&walk, &at); i++) {
                check_step(schedule, &at);
            }
        }
    }
}

static void check_round_trip(const struct schedule *schedule)
{
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct schedule again;
    char *text = sched_dump(schedule);
    require(sched_load(&arena, text, strlen(text), "dumped", &again, &error) == 0);
    char *second = sched_dump(&again);
    require(strcmp(text, second) == 0);
    free(text);
    free(second);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct schedule schedule;
    if (sched_load(&arena, (const char *)data, size, "fuzz", &schedule, &error) == 0) {
        check_programs(&schedule);
        check_round_trip(&schedule);
    } else {
        require(error.status == EXIT_INPUT && error.message[0] != '\0');
    }
    arena_release(&arena);
    return 0;
}
