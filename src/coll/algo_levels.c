/* algo_levels.c - a hierarchy out of parts: up through the levels, across the top, down again.
 *
 *     lane   0               1               2          3            4
 *            reduce-scatter  reduce-scatter  allreduce  all-gather   all-gather
 *            level 2         level 1         level 0    level 1      level 2
 *            ^ token         token >         token >    token >
 *            '------------ scratch is free --'
 *
 * Each stage is a lane. Tokens hand a loop from lane to lane. Sums wait in scratch, of which there
 * are two copies, so that two loops are under way; the token that gives one back starts with two
 * credits.
 *
 * A position is a number with a digit per level, outermost first, and so is the index of a chunk;
 * so the chunks of a level lie as far apart as its positions. A stage of level l repeats for every
 * combination of the digits above l, with the digits below equal to its own: these it has
 * after the stages before. The outer row cuts its part into as many pieces as it likes.
 */
#include "algo_parts.h"

enum { STAGES_MOST = 2 * SCHED_LEVELS_MOST - 1 };

struct stage {
    enum collective does;
    uint32_t level; /* 0: outermost */
    uint8_t lane, lanes;
};

struct stages {
    struct stage at[STAGES_MOST];
    uint32_t nr, top; /* top: the one of level 0 */
    uint32_t lanes;
    bool scratch; /* sums wait there between the stages */
};

/* The way up, across, and down; a reduce-scatter ends at the top, an all-gather begins there. */
static struct stages stages_of(const struct sched_request *request, const struct hierarchy *rows)
{
    enum collective does = request->collective;
    struct stages s = {.scratch = does != COLL_ALL_GATHER};
    for (uint32_t level = request->nr_levels - 1; level > 0 && does != COLL_ALL_GATHER; level--) {
        s.at[s.nr++] = (struct stage){COLL_REDUCE_SCATTER, level, 0, 1};
    }
    s.top = s.nr++;
    s.at[s.top] =
        (struct stage){does, 0, 0, does == COLL_ALLREDUCE ? (uint8_t)rows->outer->lanes : 1};
    for (uint32_t level = 1; level < request->nr_levels && does != COLL_REDUCE_SCATTER; level++) {
        s.at[s.nr++] = (struct stage){COLL_ALL_GATHER, level, 0, 1};
    }
    for (uint32_t i = 0; i < s.nr; i++) {
        s.at[i].lane = (uint8_t)s.lanes;
        s.lanes += s.at[i].lanes;
    }
    return s;
}

/* Pieces into which the outer row cuts a part. */
static uint32_t pieces_of(const struct sched_request *request, const struct hierarchy *rows)
{
    bool free = request->collective == COLL_ALLREDUCE;
    return free ? rows->outer->chunks(request->levels[0]) : request->levels[0];
}

/* How far positions of a level lie apart. */
static uint32_t stride_of(const struct sched_request *request, uint32_t level)
{
    uint32_t stride = 1;
    for (uint32_t l = request->nr_levels - 1; l > level; l--) {
        stride *= request->levels[l];
    }
    return stride;
}

/* The group of a position in a level, and its chunks; chunks.move goes to the next combination of
 * the digits above. */
static struct sched_frame level_frame(const struct sched_request *request,
                                      const struct hierarchy *rows, uint32_t position,
                                      uint32_t level)
{
    int32_t size = (int32_t)request->levels[level], at = (int32_t)position;
    int32_t stride = (int32_t)stride_of(request, level), digit = at / stride % size;
    struct sched_frame f = {
        .n = (uint32_t)size,
        .r = (uint32_t)digit,
        .group = {.size = size, .base = at - digit * stride, .stride = stride},
        .chunks = {.size = size, .base = at % stride, .stride = stride, .move = size * stride}};
    if (level == 0) {
        f.chunks.size = (int32_t)pieces_of(request, rows);
        f.chunks.move = 0;
    }
    return f;
}

/* Combinations of the digits above a level. */
static uint32_t turns_of(const struct sched_request *request, const struct hierarchy *rows,
                         uint32_t level)
{
    uint32_t turns = pieces_of(request, rows);
    for (uint32_t l = 1; l < level; l++) {
        turns *= request->levels[l];
    }
    return turns;
}

static void emit_work(struct sched_builder *b, const struct sched_request *request,
                      const struct hierarchy *rows, const struct stage *stage,
                      const struct sched_frame *f)
{
    const struct algorithm_part *part = stage->level > 0 ? rows->inner : rows->outer;
    if (stage->does == COLL_ALLREDUCE) {
        part->allreduce(b, f);
    } else if (stage->does == COLL_ALL_GATHER) {
        part->all_gather(b, f);
    } else if (stage->level > 0) {
        step_store(part->reduce_scatter(b, f), build_range(f, f->to, (int32_t)f->r));
    } else { /* the top of a reduce-scatter: this is the result */
        struct sched_frame own = build_frame(request, 0, 1);
        step_store(part->reduce_scatter(b, f), build_range(&own, SCHED_OUT, 0));
    }
}

static void emit_stage(struct sched_builder *b, const struct sched_request *request,
                       const struct hierarchy *rows, const struct stage *stage, uint32_t position)
{
    struct sched_frame f = level_frame(request, rows, position, stage->level);
    f.lane = stage->lane;
    f.from = stage->lane == 0 ? SCHED_IN : SCHED_SCRATCH;
    f.to = stage->does == COLL_REDUCE_SCATTER ? SCHED_SCRATCH : SCHED_OUT;
    if (stage->level == 0) {
        emit_work(b, request, rows, stage, &f);
        return;
    }
    build_repeat(b, f.lane, turns_of(request, rows, stage->level));
    emit_work(b, request, rows, stage, &f);
    build_end(b, f.lane);
}

void levels_emit(struct sched_builder *b, const struct sched_request *request, uint32_t position,
                 const struct hierarchy *rows)
{
    struct stages s = stages_of(request, rows);
    struct sched_frame me = build_frame(request, position, request->ranks);
    struct sched_frame own = build_frame(request, position, 1);
    uint8_t top = s.at[s.top].lane;
    if (s.scratch) {
        build_await(b, &me, 0, top);
    } else {
        build_own_part(b, request, build_range(&own, SCHED_IN, 0),
                       build_range(&me, SCHED_OUT, (int32_t)position));
    }
    for (uint32_t i = 0; i < s.nr; i++) {
        uint8_t first = s.at[i].lane, last = (uint8_t)(first + s.at[i].lanes - 1);
        if (i > 0) {
            build_await(b, &me, first, (uint8_t)(first - 1));
        }
        emit_stage(b, request, rows, &s.at[i], position);
        if (i == s.top && s.scratch) {
            build_token(b, &me, top, 0);
        }
        if (i + 1 < s.nr) {
            build_token(b, &me, last, (uint8_t)(last + 1));
        }
    }
}

void levels_shape(const struct sched_request *request, struct sched_shape *shape,
                  const struct hierarchy *rows)
{
    struct stages s = stages_of(request, rows);
    uint32_t all = pieces_of(request, rows) * stride_of(request, 0);
    shape->chunks = request->collective == COLL_ALLREDUCE ? all : 1;
    shape->lanes = s.lanes;
    if (s.scratch) {
        shape->scratch = all;
        shape->copies = 2;
        shape->nr_credits = 1;
        shape->credits[0] = (struct sched_credit){s.at[s.top].lane, 0, shape->copies};
    }
}

uint32_t levels_role(const struct sched_request *request, uint32_t position,
                     const struct hierarchy *rows)
{
    uint32_t role = 0;
    for (uint32_t level = 0; level < request->nr_levels; level++) {
        uint32_t size = request->levels[level], stride = stride_of(request, level);
        uint32_t digit = position / stride % size;
        role += stride * (level > 0 ? rows->inner->role(COLL_REDUCE_SCATTER, size, digit)
                                    : rows->outer->role(request->collective, size, digit));
    }
    return role;
}
