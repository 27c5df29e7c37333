/* schedule.c - a row asked for one request: whether it can serve it, its shape and its programs. */
#include "schedule.h"

#include "sched_build.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    RANKS_MOST = 1 << 20, /* positions and chunks of a row stay far from 2^31 */
    CHUNKS_MOST = INT32_MAX
};

/* Which buffers have a part for every rank. */
static const struct {
    bool in, out;
} divided[COLL_NR] = {
    [COLL_ALLREDUCE] = {false, false}, [COLL_REDUCE_SCATTER] = {true, false},
    [COLL_ALL_GATHER] = {false, true}, [COLL_BROADCAST] = {false, false},
    [COLL_REDUCE] = {false, false},    [COLL_ALL_TO_ALL] = {true, true},
    [COLL_GATHER] = {false, true},     [COLL_SCATTER] = {true, false},
    [COLL_SEND_RECV] = {false, false},
};

uint32_t sched_parts(const struct sched_request *request, enum sched_buffer buffer)
{
    bool by_rank = (buffer == SCHED_IN && divided[request->collective].in) ||
                   (buffer == SCHED_OUT && divided[request->collective].out);
    return by_rank ? request->ranks : 1;
}

uint32_t sched_chunks(const struct schedule *schedule, enum sched_buffer buffer)
{
    if (buffer == SCHED_SCRATCH) {
        return schedule->shape.scratch;
    }
    return sched_parts(&schedule->request, buffer) * schedule->shape.chunks;
}

static int check_ranks(const struct sched_request *request, struct error *error)
{
    if (request->ranks < 1 || request->ranks > RANKS_MOST) {
        return error_set(error, EXIT_INPUT, "%" PRIu32 " ranks: expected 1 to %d", request->ranks,
                         RANKS_MOST);
    }
    if (request->in_place && !coll_in_place(request->collective)) {
        return error_set(error, EXIT_INPUT, "%s has no form in place: ask for it out of place",
                         coll_name(request->collective));
    }
    return 0;
}

static int check_levels(const struct sched_request *request, struct error *error)
{
    uint64_t product = 1;
    if (request->nr_levels > SCHED_LEVELS_MOST) {
        return error_set(error, EXIT_INPUT, "%" PRIu32 " levels: expected at most %d",
                         request->nr_levels, SCHED_LEVELS_MOST);
    }
    for (uint32_t i = 0; i < request->nr_levels; i++) {
        if (request->levels[i] < 1 || request->levels[i] > RANKS_MOST) {
            return error_set(error, EXIT_INPUT,
                             "level %" PRIu32 " has %" PRIu32 " members: expected 1 to %d", i + 1,
                             request->levels[i], RANKS_MOST);
        }
        product *= request->levels[i];
    }
    if (request->nr_levels > 0 && product != request->ranks) {
        return error_set(error, EXIT_INPUT,
                         "the levels have %" PRIu64 " ranks together, the group %" PRIu32
                         ": they must be the same",
                         product, request->ranks);
    }
    return 0;
}

static int set_wrong_collective(const struct algorithm *row, enum collective asked,
                                struct error *error)
{
    char list[256];
    size_t length = 0;
    list[0] = 0;
    for (int c = 0; c < COLL_NR; c++) {
        if (row->collectives & 1U << c && length < sizeof list) {
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%s",
                                       length ? ", " : "", coll_name((enum collective)c));
        }
    }
    return error_set(error, EXIT_INPUT, "%s has no %s: it is for %s", row->name, coll_name(asked),
                     list);
}

static int check_needs(const struct algorithm *row, const struct sched_request *request,
                       struct error *error)
{
    if (!(row->collectives & 1U << request->collective)) {
        return set_wrong_collective(row, request->collective, error);
    }
    if (row->needs & SCHED_NEEDS_POWER_OF_TWO && request->ranks & (request->ranks - 1)) {
        return error_set(error, EXIT_INPUT,
                         "%s needs a power of two as number of ranks, not %" PRIu32, row->name,
                         request->ranks);
    }
    if (row->needs & SCHED_NEEDS_HIERARCHY && request->nr_levels < 2) {
        return error_set(error, EXIT_INPUT,
                         "%s needs a hierarchy: give it as hosts x ranks per host, such as "
                         "--levels 2x4",
                         row->name);
    }
    return 0;
}

int sched_make(const struct algorithm *row, const struct sched_request *request,
               struct schedule *schedule, struct error *error)
{
    if (check_ranks(request, error) || check_levels(request, error) ||
        check_needs(row, request, error) || (row->fits && row->fits(request, error))) {
        return -1;
    }
    struct schedule made = {.row = row,
                            .name = row->name,
                            .request = *request,
                            .shape = {.chunks = 1, .copies = 1, .lanes = 1}};
    row->shape(request, &made.shape);
    if ((uint64_t)made.shape.chunks * request->ranks > CHUNKS_MOST) {
        return error_set(error, EXIT_INPUT,
                         "%s for %" PRIu32 " ranks has %" PRIu64
                         " chunks: expected fewer than 2^31, so fewer ranks",
                         row->name, request->ranks, (uint64_t)made.shape.chunks * request->ranks);
    }
    *schedule = made;
    return 0;
}

const struct sched_program *sched_program(const struct schedule *schedule, uint32_t position,
                                          struct arena *arena)
{
    if (schedule->programs) {
        return &schedule->programs[position];
    }
    struct sched_program *program = arena_alloc(arena, 1, sizeof *program);
    struct sched_builder *builder = build_begin(arena, schedule->shape.lanes);
    schedule->row->emit(builder, &schedule->request, position);
    build_finish(builder, program);
    return program;
}
