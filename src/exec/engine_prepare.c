/* engine_prepare.c - plan sets: found, or made from a schedule, a layout and connections. */
#include "chunk.h"
#include "engine_plan.h"
#include "exec_alive.h"
#include "lower.h"
#include "sched_check.h"
#include "sched_text.h"

#include <stdlib.h>
#include <string.h>

#define FILE_PREFIX "file:"
#define CHUNK_USUAL (256ULL << 10) /* bytes */

/* ---- the schedule ---- */

static bool is_file(const char *algorithm)
{
    return !strncmp(algorithm, FILE_PREFIX, strlen(FILE_PREFIX));
}

static void set_levels(const struct engine_choice *choice, const struct exec_group *group,
                       struct sched_request *request)
{
    const struct group *shape = &group->group;
    if (choice->nr_levels > 0) {
        memcpy(request->levels, choice->levels, sizeof request->levels);
        request->nr_levels = choice->nr_levels;
    } else if (shape->hosts > 1 && shape->ranks_per_host > 1) {
        request->levels[0] = shape->hosts;
        request->levels[1] = shape->ranks_per_host;
        request->nr_levels = 2;
    }
}

static int match_file(const struct engine_plan *plan, struct error *error)
{
    const struct sched_request *request = &plan->schedule.request;
    if (request->collective != plan->collective || request->ranks != plan->group->ranks ||
        request->in_place != plan->in_place) {
        return error_set(
            error, EXIT_INPUT, "%s is %s of %u ranks, %s; this call is %s of %u ranks, %s",
            plan->choice.algorithm, coll_name(request->collective), request->ranks,
            request->in_place ? "in place" : "out of place", coll_name(plan->collective),
            plan->group->ranks, plan->in_place ? "in place" : "out of place");
    }
    return 0;
}

/* Rows are proven by the tests; a file is proven here. */
static int prove_file(const struct engine_plan *plan, struct error *error)
{
    struct sched_check_options options = sched_check_usual;
    options.window = plan->choice.window;
    options.slices_per_chunk = (uint32_t)chunk_slices(plan->chunk_bytes, plan->choice.slice_bytes);
    return sched_check(&plan->schedule, &options, NULL, error);
}

static int load_schedule(struct engine_plan *plan, struct error *error)
{
    const char *algorithm = plan->choice.algorithm;
    struct sched_request request = {
        .collective = plan->collective, .ranks = plan->group->ranks, .in_place = plan->in_place};
    if (is_file(algorithm)) {
        return sched_load_file(&plan->arena, algorithm + strlen(FILE_PREFIX), &plan->schedule,
                               error) ||
               match_file(plan, error);
    }
    const struct algorithm *row = algorithm_find(algorithm, error);
    set_levels(&plan->choice, plan->group->group, &request);
    if (!row || sched_make(row, &request, &plan->schedule, error)) {
        return -1;
    }
    return row->needs & SCHED_NEEDS_GROUP_PEER
               ? error_set(error, EXIT_ABSENT,
                           "%s needs a switch that adds and copies (NVLink SHARP); ranks on CPUs "
                           "have none",
                           row->name)
               : 0;
}

/* As large as asked for; else as usual, as far as the window bears it. */
static int choose_chunk(struct engine_plan *plan, struct error *error)
{
    const struct engine_choice *choice = &plan->choice;
    uint64_t most = lower_chunk_most(&plan->schedule, &plan->channels[0].plan, choice->window,
                                     choice->slice_bytes);
    plan->chunk_bytes = choice->chunk_bytes  ? choice->chunk_bytes
                        : most < CHUNK_USUAL ? most
                                             : CHUNK_USUAL;
    return plan->chunk_bytes <= most
               ? 0
               : error_set(error, EXIT_INPUT,
                           "%s: a chunk of %llu bytes is too large for a window of %u slots of %u "
                           "bytes: at most %llu",
                           plan->schedule.name, (unsigned long long)plan->chunk_bytes,
                           choice->window, choice->slice_bytes, (unsigned long long)most);
}

/* ---- plans ---- */

static int lay_out(struct engine_plan *plan, struct error *error)
{
    const struct group *shape = &plan->group->group->group;
    uint32_t root = coll_rooted(plan->collective) ? plan->root : LAYOUT_NO_ROOT;
    uint32_t hosts = shape->hosts, ranks_per_host = shape->ranks_per_host;
    if (plan->collective == COLL_SEND_RECV) {
        ranks_per_host = 1; /* the next position must be the next rank, in every channel */
        hosts = plan->group->ranks;
    }
    return layout_make(hosts, ranks_per_host, plan->choice.channels, root, &plan->arena,
                       &plan->layout, error);
}

static int lower_channels(struct engine_plan *plan, const struct sched_program **programs,
                          struct error *error)
{
    for (uint32_t i = 0; i < plan->layout.channels; i++) {
        uint32_t position = layout_position(&plan->layout, i, plan->group->me);
        programs[i] = sched_program(&plan->schedule, position, &plan->arena);
        if (lower_program(&plan->schedule, programs[i], &plan->arena, &plan->channels[i].plan,
                          error)) {
            return -1;
        }
        plan->direct |= plan->channels[i].plan.direct != 0;
    }
    return 0;
}

static int make_plans(struct engine *engine, struct engine_plan *plan,
                      const struct sched_program **programs, struct error *error)
{
    if (load_schedule(plan, error) || lay_out(plan, error)) {
        return -1;
    }
    plan->channels = arena_alloc(&plan->arena, plan->layout.channels, sizeof *plan->channels);
    if (lower_channels(plan, programs, error) || choose_chunk(plan, error) ||
        (is_file(plan->choice.algorithm) && prove_file(plan, error))) {
        return -1;
    }
    return plan->direct ? engine_check_direct(engine, plan->group->group, &plan->choice, error) : 0;
}

/* ---- everything that a call does not change ---- */

static uint64_t scratch_chunk(const struct engine_plan *plan)
{
    return plan_round(plan->chunk_bytes + 16); /* a chunk is rounded up to a unit of 16 bytes */
}

static uint64_t scratch_channel(const struct engine_plan *plan)
{
    return plan->schedule.shape.scratch * (uint64_t)plan->schedule.shape.copies *
           scratch_chunk(plan);
}

static void set_call(struct engine *engine, struct engine_plan *plan, uint32_t index)
{
    struct engine_channel *channel = &plan->channels[index];
    const struct connection_channel *connections = &plan->connections.channels[index];
    const struct symmetric *segment = &plan->connections.segment;
    struct plan_call *call = &channel->call;
    *call = (struct plan_call){
        .scratch_bytes = scratch_chunk(plan),
        .part = plan->layout.rank + (size_t)index * plan->layout.ranks,
        .slots = plan->choice.window,
        .slice_bytes = plan->choice.slice_bytes,
        .slot_bytes = plan->connections.slot_bytes,
        .outs = connections->outs,
        .ins = connections->ins,
        .out_of = connections->out_of,
        .in_of = connections->in_of,
        .abort = (const uint32_t *)&engine->exec->shared[engine->exec->place.local]->broken.flag,
    };
    call->buffers[PLAN_SCRATCH] = segment->of[segment->me] + index * scratch_channel(plan);
    channel->lanes = arena_alloc(&plan->arena, channel->plan.lanes, sizeof *channel->lanes);
    channel->status = arena_alloc(&plan->arena, channel->plan.lanes, sizeof *channel->status);
    for (uint32_t lane = 0; lane < channel->plan.lanes; lane++) {
        channel->lanes[lane].lane = lane;
        channel->lanes[lane].sources = arena_alloc(&plan->arena, channel->plan.most_receives + 2U,
                                                   sizeof *channel->lanes->sources);
        channel->lanes[lane].targets = arena_alloc(&plan->arena, channel->plan.most_sends + 2U,
                                                   sizeof *channel->lanes->targets);
    }
}

/* Scratch lies at the same place in every rank's segment. */
static void aim_scratch(struct engine_plan *plan, uint32_t index)
{
    struct connection_channel *ends = &plan->connections.channels[index];
    unsigned char *const *of = plan->connections.segment.of;
    size_t offset = index * scratch_channel(plan);
    for (uint32_t i = 0; i < ends->nr_outs; i++) {
        unsigned char *base = of[ends->out_peer[i]];
        ends->outs[i].buffers[PLAN_SCRATCH] = base ? base + offset : NULL;
    }
    for (uint32_t i = 0; i < ends->nr_ins; i++) {
        unsigned char *base = of[ends->in_peer[i]];
        ends->ins[i].buffers[PLAN_SCRATCH] = base ? base + offset : NULL;
    }
}

static int connect(struct engine *engine, struct engine_plan *plan,
                   const struct sched_program *const *programs, struct error *error)
{
    const struct connection_request request = {
        .schedule = &plan->schedule,
        .layout = &plan->layout,
        .programs = programs,
        .me = plan->group->me,
        .hosts = plan->group->hosts,
        .only = plan->choice.transport,
        .protocol = plan->choice.protocol,
        .slots = plan->choice.window,
        .slice_bytes = plan->choice.slice_bytes,
        .reserve = plan->layout.channels * scratch_channel(plan),
        .seed = plan->chunk_bytes + plan->layout.channels,
        .comm = plan->group->group->comm,
    };
    if (connection_open(&request, &plan->connections, error)) {
        return -1;
    }
    for (uint32_t i = 0; i < plan->layout.channels; i++) {
        set_call(engine, plan, i);
        aim_scratch(plan, i);
    }
    return 0;
}

/* ---- found or made ---- */

static bool same_choice(const struct engine_choice *a, const struct engine_choice *b)
{
    return !strcmp(a->algorithm, b->algorithm) && a->protocol == b->protocol &&
           a->channels == b->channels && a->window == b->window &&
           a->slice_bytes == b->slice_bytes && a->chunk_bytes == b->chunk_bytes &&
           a->transport == b->transport && a->nr_levels == b->nr_levels &&
           !memcmp(a->levels, b->levels, sizeof a->levels);
}

static struct engine_plan *find_plan(const struct engine *engine, const struct engine_group *group,
                                     const struct engine_choice *choice, const struct call *call)
{
    struct engine_plan *plan = engine->plans;
    while (plan && !(plan->group == group && plan->collective == call->collective &&
                     plan->in_place == call->in_place && plan->root == call->root &&
                     same_choice(&plan->choice, choice))) {
        plan = plan->next;
    }
    return plan;
}

int engine_prepare(struct engine *engine, const struct exec_group *group,
                   const struct engine_choice *choice, const struct call *call,
                   struct engine_plan **found, struct error *error)
{
    struct engine_group *known = engine_find_group(engine, group);
    *found = find_plan(engine, known, choice, call);
    if (*found) {
        return 0;
    }
    struct engine_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        abort();
    }
    plan->group = known;
    plan->choice = *choice;
    plan->choice.algorithm = arena_strdup(&plan->arena, choice->algorithm);
    plan->collective = call->collective;
    plan->in_place = call->in_place;
    plan->root = call->root;
    const struct sched_program **programs =
        arena_alloc(&plan->arena, choice->channels, sizeof *programs);
    int failed = exec_agree_over(group->comm, make_plans(engine, plan, programs, error), error) ||
                 connect(engine, plan, programs, error);
    if (failed) {
        arena_release(&plan->arena);
        free(plan);
        return -1;
    }
    plan->next = engine->plans;
    engine->plans = plan;
    *found = plan;
    return 0;
}

static void free_plan(struct engine_plan *plan, bool broken)
{
    connection_close(&plan->connections, broken);
    arena_release(&plan->arena);
    free(plan);
}

int engine_open(struct exec *exec, struct engine **engine, struct error *error)
{
    struct engine *made = calloc(1, sizeof *made);
    if (!made || !(made->groups = calloc(EXEC_GROUPS_KEPT, sizeof *made->groups))) {
        abort();
    }
    made->exec = exec;
    made->patience = 10;
    if (exec_alive_start(exec, 0, NULL, NULL, error)) {
        free(made->groups);
        free(made);
        return -1;
    }
    *engine = made;
    return 0;
}

void engine_close(struct engine *engine)
{
    bool broken = exec_is_broken(engine->exec);
    while (engine->plans) {
        struct engine_plan *plan = engine->plans;
        engine->plans = plan->next;
        free_plan(plan, broken);
    }
    for (size_t i = 0; i < engine->nr_groups; i++) {
        engine_free_group(&engine->groups[i]);
    }
    free(engine->groups);
    free(engine);
}

void engine_set_patience(struct engine *engine, double seconds)
{
    engine->patience = seconds;
}
