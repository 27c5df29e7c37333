/* sched_build.c - words that append steps to a program.
 *
 * Every lane keeps a stack of open lists: the program's own and those of open repeats. A list grows
 * by doubling within the arena, so what it leaves behind is less than what it is.
 */
#include "sched_build.h"

#include <stdlib.h>
#include <string.h>

enum { NESTING = 3 }; /* the program, a repeat, a repeat in it */

struct open_list {
    struct sched_item *items;
    size_t nr, capacity;
    uint32_t times; /* of the repeat it becomes */
};

struct sched_builder {
    struct arena *arena;
    uint32_t lanes;
    struct {
        struct open_list open[NESTING];
        size_t depth;
    } lane[SCHED_LANES_MOST];
};

/* What only a wrong row can do ends the program: no input leads here. */
static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

struct sched_frame build_frame(const struct sched_request *request, uint32_t position,
                               uint32_t chunks)
{
    return (struct sched_frame){.n = request->ranks,
                                .r = position,
                                .group = {.size = (int32_t)request->ranks, .stride = 1},
                                .chunks = {.size = (int32_t)chunks, .stride = 1},
                                .from = SCHED_IN,
                                .to = SCHED_OUT};
}

struct sched_peers build_peer(const struct sched_frame *frame, int32_t position, uint8_t lane)
{
    return build_peers(frame, position, 1, lane);
}

struct sched_peers build_peers(const struct sched_frame *frame, int32_t first, int32_t count,
                               uint8_t lane)
{
    return (struct sched_peers){
        .space = frame->group, .first = first, .count = count, .lane = lane};
}

struct sched_range build_range(const struct sched_frame *frame, enum sched_buffer buffer,
                               int32_t first)
{
    return build_runs(frame, buffer, first, 1);
}

struct sched_range build_runs(const struct sched_frame *frame, enum sched_buffer buffer,
                              int32_t first, int32_t run)
{
    return (struct sched_range){
        .buffer = buffer, .space = frame->chunks, .first = first, .run = run, .runs = 1};
}

static struct sched_item *append(struct sched_builder *builder, uint8_t lane)
{
    require(lane < builder->lanes);
    struct open_list *list = &builder->lane[lane].open[builder->lane[lane].depth];
    if (list->nr == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 4;
        struct sched_item *items = arena_alloc(builder->arena, capacity, sizeof *items);
        if (list->nr > 0) {
            memcpy(items, list->items, list->nr * sizeof *items);
        }
        list->items = items;
        list->capacity = capacity;
    }
    return &list->items[list->nr++];
}

struct sched_step *build_step(struct sched_builder *builder, uint8_t lane)
{
    struct sched_item *item = append(builder, lane);
    *item = (struct sched_item){0};
    return &item->step;
}

void build_repeat(struct sched_builder *builder, uint8_t lane, uint32_t times)
{
    require(lane < builder->lanes && builder->lane[lane].depth + 1 < NESTING);
    builder->lane[lane].open[++builder->lane[lane].depth] = (struct open_list){.times = times};
}

void build_end(struct sched_builder *builder, uint8_t lane)
{
    require(lane < builder->lanes && builder->lane[lane].depth > 0);
    struct open_list closed = builder->lane[lane].open[builder->lane[lane].depth--];
    if (closed.times > 0 && closed.nr > 0) {
        *append(builder, lane) =
            (struct sched_item){.times = closed.times, .items = closed.items, .nr = closed.nr};
    }
}

void step_receive(struct sched_step *step, struct sched_peers peers)
{
    require(step->nr_recv < SCHED_SENDS_MOST);
    step->recv[step->nr_recv++] = peers;
}

void step_take(struct sched_step *step, struct sched_range range)
{
    step->takes = true;
    step->take = range;
}

void step_store(struct sched_step *step, struct sched_range range)
{
    step->stores = true;
    step->store = range;
}

void step_send(struct sched_step *step, struct sched_peers peers, struct sched_range range)
{
    require(step->nr_send < SCHED_SENDS_MOST);
    step->send[step->nr_send++] = (struct sched_send){.peers = peers, .range = range};
}

void step_send_value(struct sched_step *step, struct sched_peers peers)
{
    require(step->nr_send < SCHED_SENDS_MOST);
    step->send[step->nr_send++] = (struct sched_send){.peers = peers, .value = true};
}

void build_copy(struct sched_builder *builder, uint8_t lane, struct sched_range from,
                struct sched_range to)
{
    struct sched_step *step = build_step(builder, lane);
    step_take(step, from);
    step_store(step, to);
}

/* Oneself, whatever the frame is a part of. */
static struct sched_peers self_of(const struct sched_frame *frame, uint8_t lane)
{
    return build_peer(frame, (int32_t)frame->r, lane);
}

static struct sched_range no_chunks(const struct sched_frame *frame)
{
    struct sched_range range = build_range(frame, SCHED_IN, 0);
    range.runs = 0;
    return range;
}

void build_token(struct sched_builder *builder, const struct sched_frame *frame, uint8_t from,
                 uint8_t to)
{
    step_send(build_step(builder, from), self_of(frame, to), no_chunks(frame));
}

void build_await(struct sched_builder *builder, const struct sched_frame *frame, uint8_t lane,
                 uint8_t from)
{
    struct sched_step *step = build_step(builder, lane);
    step_receive(step, self_of(frame, from));
    step_store(step, no_chunks(frame));
}

struct sched_builder *build_begin(struct arena *arena, uint32_t lanes)
{
    require(lanes >= 1 && lanes <= SCHED_LANES_MOST);
    struct sched_builder *builder = arena_alloc(arena, 1, sizeof *builder);
    builder->arena = arena;
    builder->lanes = lanes;
    return builder;
}

void build_finish(struct sched_builder *builder, struct sched_program *program)
{
    *program = (struct sched_program){.nr_lanes = builder->lanes};
    for (uint32_t lane = 0; lane < builder->lanes; lane++) {
        require(builder->lane[lane].depth == 0);
        const struct open_list *list = &builder->lane[lane].open[0];
        program->lanes[lane] = (struct sched_lane){.items = list->items, .nr = list->nr};
    }
}
