/* thread_run.c - every rank's plans, all connections between them, and a loop that serves lanes. */
#include "thread_run.h"

#include "arena.h"
#include "interpreter.h"
#include "layout.h"
#include "lower.h"
#include "walk.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct thread_channel { /* of a rank */
    struct plan plan;
    struct plan_call call;
    struct plan_lane *lanes;
    uint32_t *out_of, *in_of;
    struct plan_out *outs;
    struct plan_in *ins;
    uint32_t *out_peer, *in_peer; /* [end] -> rank */
    uint32_t nr_outs, nr_ins;
    uint64_t scratch_total; /* bytes */
};

struct thread_rank {
    struct thread_run *run;
    uint32_t rank;
    struct thread_channel *channels;
    int result;
};

struct thread_run {
    struct thread_request request;
    struct arena arena;
    struct layout layout;
    const struct sched_program **programs; /* [position] */
    struct thread_rank *ranks;
    uint32_t abort;
};

/* Zeroed, at a multiple of PLAN_LINE. */
static void *alloc_lines(struct arena *arena, size_t bytes)
{
    unsigned char *memory = arena_alloc(arena, bytes + PLAN_LINE, 1);
    return memory + (PLAN_LINE - (uintptr_t)memory % PLAN_LINE) % PLAN_LINE;
}

static struct thread_channel *channel_at(struct thread_run *run, uint32_t channel,
                                         uint32_t position)
{
    return &run->ranks[layout_rank(&run->layout, channel, position)].channels[channel];
}

/* ---- Connections ---- */

struct end { /* of a connection */
    uint32_t position;
    uint8_t lane;
};

static uint32_t *find_end(uint32_t *table, const struct plan *plan, uint8_t lane, struct end other)
{
    uint64_t pair = (uint64_t)lane * plan->lanes + other.lane;
    return &table[pair * plan->ranks + other.position];
}

static void connect_ends(struct thread_run *run, uint32_t channel, struct end from, struct end to)
{
    const struct thread_request *request = &run->request;
    struct thread_channel *sender = channel_at(run, channel, from.position);
    struct thread_channel *receiver = channel_at(run, channel, to.position);
    uint32_t *out = find_end(sender->out_of, &sender->plan, from.lane, to);
    uint32_t *in = find_end(receiver->in_of, &receiver->plan, to.lane, from);
    if (*out != PLAN_NO_CONNECTION) {
        return;
    }
    *out = sender->nr_outs++;
    *in = receiver->nr_ins++;
    sender->out_peer[*out] = layout_rank(&run->layout, channel, to.position);
    receiver->in_peer[*in] = layout_rank(&run->layout, channel, from.position);
    struct plan_out *o = &sender->outs[*out];
    struct plan_in *i = &receiver->ins[*in];
    size_t slot_bytes = plan_slot_bytes(request->slice_bytes, request->protocol);
    plan_connection_place(
        alloc_lines(&run->arena, plan_connection_bytes(request->slots, slot_bytes)), request->slots,
        o, i);
    o->protocol = i->protocol = from.position == to.position ? PLAN_SIMPLE : request->protocol;
    o->stage = alloc_lines(&run->arena, request->slice_bytes);
    i->stage = alloc_lines(&run->arena, request->slice_bytes);
}

typedef void end_visitor(struct thread_run *run, uint32_t channel, struct end from, struct end to);

/* Every connection that a position's program names, at either end. */
static void visit_ends(struct thread_run *run, uint32_t channel, uint32_t position,
                       end_visitor *visit)
{
    const struct sched_program *program = run->programs[position];
    for (uint8_t lane = 0; lane < program->nr_lanes; lane++) {
        struct end me = {position, lane};
        struct walk walk;
        struct walk_step at;
        walk_begin(&walk, &program->lanes[lane]);
        while (walk_next(&walk, &at)) {
            for (unsigned i = 0; i < at.step->nr_send; i++) {
                const struct sched_peers *peers = &at.step->send[i].peers;
                for (uint32_t k = 0; k < (uint32_t)peers->count; k++) {
                    visit(run, channel, me, (struct end){walk_peer(peers, k, &at), peers->lane});
                }
            }
            for (unsigned i = 0; i < at.step->nr_recv; i++) {
                const struct sched_peers *peers = &at.step->recv[i];
                for (uint32_t k = 0; k < (uint32_t)peers->count; k++) {
                    visit(run, channel, (struct end){walk_peer(peers, k, &at), peers->lane}, me);
                }
            }
        }
    }
}

/* First pass: how many ends there are, counted once by marking the tables. */
static void count_ends(struct thread_run *run, uint32_t channel, struct end from, struct end to)
{
    struct thread_channel *sender = channel_at(run, channel, from.position);
    struct thread_channel *receiver = channel_at(run, channel, to.position);
    uint32_t *out = find_end(sender->out_of, &sender->plan, from.lane, to);
    sender->nr_outs += *out == PLAN_NO_CONNECTION;
    receiver->nr_ins += *out == PLAN_NO_CONNECTION;
    *out = 0;
}

static void make_credits(struct thread_run *run, struct thread_channel *channel, uint32_t position)
{
    const struct sched_shape *shape = &run->request.schedule->shape;
    for (uint32_t i = 0; i < shape->nr_credits; i++) {
        const struct sched_credit *credit = &shape->credits[i];
        uint32_t index = *find_end(channel->out_of, &channel->plan, credit->from_lane,
                                   (struct end){position, credit->to_lane});
        if (index != PLAN_NO_CONNECTION) {
            channel->outs[index].sent = credit->tokens;
            *channel->outs[index].posted = credit->tokens;
        }
    }
}

static void connect_channel(struct thread_run *run, uint32_t channel)
{
    uint32_t ranks = run->layout.ranks;
    for (uint32_t p = 0; p < ranks; p++) {
        struct thread_channel *mine = channel_at(run, channel, p);
        size_t entries = (size_t)mine->plan.lanes * mine->plan.lanes * ranks;
        mine->out_of = arena_alloc(&run->arena, entries, sizeof(uint32_t));
        mine->in_of = arena_alloc(&run->arena, entries, sizeof(uint32_t));
        memset(mine->out_of, 0xff, entries * sizeof(uint32_t));
        memset(mine->in_of, 0xff, entries * sizeof(uint32_t));
    }
    for (uint32_t p = 0; p < ranks; p++) {
        visit_ends(run, channel, p, count_ends);
    }
    for (uint32_t p = 0; p < ranks; p++) {
        struct thread_channel *mine = channel_at(run, channel, p);
        size_t entries = (size_t)mine->plan.lanes * mine->plan.lanes * ranks;
        mine->outs = arena_alloc(&run->arena, mine->nr_outs + 1, sizeof *mine->outs);
        mine->ins = arena_alloc(&run->arena, mine->nr_ins + 1, sizeof *mine->ins);
        mine->out_peer = arena_alloc(&run->arena, mine->nr_outs + 1, sizeof(uint32_t));
        mine->in_peer = arena_alloc(&run->arena, mine->nr_ins + 1, sizeof(uint32_t));
        memset(mine->out_of, 0xff, entries * sizeof(uint32_t));
        mine->nr_outs = mine->nr_ins = 0;
    }
    for (uint32_t p = 0; p < ranks; p++) {
        visit_ends(run, channel, p, connect_ends);
    }
    for (uint32_t p = 0; p < ranks; p++) {
        make_credits(run, channel_at(run, channel, p), p);
    }
}

/* ---- Calls ---- */

static void make_call(struct thread_run *run, uint32_t channel, struct thread_channel *mine)
{
    const struct thread_request *request = &run->request;
    struct plan *plan = &mine->plan;
    uint32_t bytes = plan_type_bytes(request->type);
    uint64_t most = lower_chunk_most(request->schedule, plan, request->slots, request->slice_bytes);
    most = request->chunk_bytes > 0 && request->chunk_bytes < most ? request->chunk_bytes : most;
    struct chunk_plan chunks =
        chunk_plan_make(request->count, bytes, request->channels, channel, plan->chunks, most);
    uint64_t scratch_bytes = lower_scratch_bytes(&chunks, bytes);
    mine->call = (struct plan_call){
        .part_elements = request->count,
        .scratch_bytes = scratch_bytes,
        .share = lower_share(&chunks),
        .part = run->layout.rank + (size_t)channel * run->layout.ranks,
        .type = request->type,
        .reduction = request->reduction,
        .element_bytes = bytes,
        .slots = request->slots,
        .slice_bytes = request->slice_bytes,
        .slot_bytes = (uint32_t)plan_slot_bytes(request->slice_bytes, request->protocol),
        .outs = mine->outs,
        .ins = mine->ins,
        .out_of = mine->out_of,
        .in_of = mine->in_of,
        .abort = &run->abort,
    };
    mine->scratch_total = scratch_bytes * plan->scratch * plan->copies;
    mine->call.buffers[PLAN_SCRATCH] = alloc_lines(&run->arena, mine->scratch_total);
    mine->lanes = arena_alloc(&run->arena, plan->lanes, sizeof *mine->lanes);
    for (uint32_t i = 0; i < plan->lanes; i++) {
        struct plan_lane *lane = &mine->lanes[i];
        lane->sources = arena_alloc(&run->arena, plan->most_receives + 1, sizeof *lane->sources);
        lane->targets = arena_alloc(&run->arena, plan->most_sends + 1, sizeof *lane->targets);
    }
}

/* A buffer of a rank, as its peers see it in this process: the same address. */
static void aim(struct thread_run *run, uint32_t rank, uint32_t buffer, uint32_t channel)
{
    unsigned char *at = run->ranks[rank].channels[channel].call.buffers[buffer];
    for (uint32_t r = 0; r < run->layout.ranks; r++) {
        struct thread_channel *peer = &run->ranks[r].channels[channel];
        for (uint32_t i = 0; i < peer->nr_outs; i++) {
            if (peer->out_peer[i] == rank) {
                peer->outs[i].buffers[buffer] = at;
            }
        }
        for (uint32_t i = 0; i < peer->nr_ins; i++) {
            if (peer->in_peer[i] == rank) {
                peer->ins[i].buffers[buffer] = at;
            }
        }
    }
}

void thread_run_set_buffers(struct thread_run *run, uint32_t rank, void *in, void *out)
{
    for (uint32_t c = 0; c < run->request.channels; c++) {
        struct plan_call *call = &run->ranks[rank].channels[c].call;
        call->buffers[PLAN_IN] = in;
        call->buffers[PLAN_OUT] = out;
        aim(run, rank, PLAN_IN, c);
        aim(run, rank, PLAN_OUT, c);
    }
}

/* ---- Opening and closing ---- */

static int check_request(const struct thread_request *request, struct error *error)
{
    uint32_t ranks = request->schedule->request.ranks;
    if (request->slots < 2 || request->slots & (request->slots - 1)) {
        return error_set(error, EXIT_INPUT,
                         "a window of %" PRIu32 " slots: expected a power of two, "
                         "at least 2",
                         request->slots);
    }
    if (request->slice_bytes == 0 || request->slice_bytes % 16) {
        return error_set(error, EXIT_INPUT,
                         "slices of %" PRIu32 " bytes: expected a multiple of 16",
                         request->slice_bytes);
    }
    if ((uint64_t)request->hosts * request->ranks_per_host != ranks) {
        return error_set(error, EXIT_INPUT,
                         "%" PRIu32 " hosts of %" PRIu32 " ranks for a schedule of %" PRIu32,
                         request->hosts, request->ranks_per_host, ranks);
    }
    return 0;
}

static int lower_ranks(struct thread_run *run, struct error *error)
{
    uint32_t ranks = run->layout.ranks, channels = run->request.channels;
    run->ranks = arena_alloc(&run->arena, ranks, sizeof *run->ranks);
    run->programs = arena_alloc(&run->arena, ranks, sizeof *run->programs);
    for (uint32_t r = 0; r < ranks; r++) {
        run->programs[r] = sched_program(run->request.schedule, r, &run->arena);
        run->ranks[r] = (struct thread_rank){
            .run = run,
            .rank = r,
            .channels = arena_alloc(&run->arena, channels, sizeof(struct thread_channel))};
    }
    for (uint32_t r = 0; r < ranks; r++) {
        for (uint32_t c = 0; c < channels; c++) {
            uint32_t position = layout_position(&run->layout, c, r);
            if (lower_program(run->request.schedule, run->programs[position], &run->arena,
                              &run->ranks[r].channels[c].plan, error)) {
                return -1;
            }
        }
    }
    return 0;
}

static int make_run(struct thread_run *run, struct error *error)
{
    const struct thread_request *request = &run->request;
    enum collective collective = request->schedule->request.collective;
    uint32_t root = coll_rooted(collective) ? request->root : LAYOUT_NO_ROOT;
    bool in_line = collective == COLL_SEND_RECV; /* the next position is the next rank */
    uint32_t hosts = in_line ? request->hosts * request->ranks_per_host : request->hosts;
    uint32_t ranks_per_host = in_line ? 1 : request->ranks_per_host;
    if (check_request(request, error) ||
        layout_make(hosts, ranks_per_host, request->channels, root, &run->arena, &run->layout,
                    error) ||
        lower_ranks(run, error)) {
        return -1;
    }
    for (uint32_t c = 0; c < request->channels; c++) {
        connect_channel(run, c);
        for (uint32_t r = 0; r < run->layout.ranks; r++) {
            make_call(run, c, &run->ranks[r].channels[c]);
        }
        for (uint32_t r = 0; r < run->layout.ranks; r++) {
            aim(run, r, PLAN_SCRATCH, c);
        }
    }
    return 0;
}

int thread_run_open(const struct thread_request *request, struct thread_run **run,
                    struct error *error)
{
    struct thread_run *made = calloc(1, sizeof *made);
    if (!made) {
        arena_out_of_memory();
    }
    made->request = *request;
    if (make_run(made, error)) {
        thread_run_close(made);
        return -1;
    }
    *run = made;
    return 0;
}

void thread_run_close(struct thread_run *run)
{
    if (run) {
        arena_release(&run->arena);
        free(run);
    }
}

/* ---- Running ---- */

struct served { /* over all lanes of a rank */
    bool done, moved, aborted;
};

static void serve_lane(struct thread_channel *channel, struct plan_lane *lane,
                       struct served *served)
{
    struct plan_lane before = *lane;
    enum plan_status status = plan_advance(&channel->plan, &channel->call, lane);
    served->done = served->done && status == PLAN_DONE;
    served->aborted = served->aborted || status == PLAN_ABORTED;
    served->moved = served->moved || before.pc != lane->pc || before.it != lane->it ||
                    before.cursor != lane->cursor || before.loop != lane->loop ||
                    before.turn[0] != lane->turn[0] || before.turn[1] != lane->turn[1];
}

static int serve_rank(struct thread_run *run, struct thread_rank *rank)
{
    for (;;) {
        struct served served = {.done = true};
        for (uint32_t c = 0; c < run->request.channels; c++) {
            struct thread_channel *channel = &rank->channels[c];
            for (uint32_t i = 0; i < channel->plan.lanes; i++) {
                serve_lane(channel, &channel->lanes[i], &served);
            }
        }
        if (served.done || served.aborted) {
            return served.done ? 0 : -1;
        }
        if (!served.moved && run->request.yields) {
            sched_yield();
        }
    }
}

static void divide(const struct thread_run *run, const struct thread_rank *rank)
{
    enum collective collective = run->request.schedule->request.collective;
    bool has =
        coll_reduces(collective) && (!coll_rooted(collective) || rank->rank == run->request.root);
    if (run->request.average && has) {
        plan_divide(rank->channels->call.buffers[PLAN_OUT], run->request.count, run->request.type,
                    run->layout.ranks);
    }
}

int thread_run_rank(struct thread_run *run, uint32_t rank)
{
    struct thread_rank *mine = &run->ranks[rank];
    for (uint32_t c = 0; c < run->request.channels; c++) {
        for (uint32_t i = 0; i < mine->channels[c].plan.lanes; i++) {
            plan_begin(&mine->channels[c].plan, &mine->channels[c].lanes[i], i);
        }
    }
    mine->result = serve_rank(run, mine);
    if (mine->result == 0) {
        divide(run, mine);
    }
    return mine->result;
}

void thread_run_abort(struct thread_run *run)
{
    __atomic_store_n(&run->abort, 1, __ATOMIC_RELEASE);
}

static void *run_thread(void *argument)
{
    struct thread_rank *rank = argument;
    thread_run_rank(rank->run, rank->rank);
    return NULL;
}

static int join_all(struct thread_run *run, const pthread_t *threads, uint32_t nr, double seconds)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (time_t)seconds + 1;
    int late = -1;
    for (uint32_t r = 0; r < nr; r++) {
        if (late >= 0) {
            pthread_join(threads[r], NULL);
        } else if (pthread_timedjoin_np(threads[r], NULL, &end)) {
            late = (int)r;
            thread_run_abort(run);
            pthread_join(threads[r], NULL);
        }
    }
    return late;
}

int thread_run_all(struct thread_run *run, double seconds, struct error *error)
{
    uint32_t ranks = run->layout.ranks, started = 0;
    pthread_t *threads = arena_alloc(&run->arena, ranks, sizeof *threads);
    while (started < ranks &&
           !pthread_create(&threads[started], NULL, run_thread, &run->ranks[started])) {
        started++;
    }
    if (started < ranks) {
        thread_run_abort(run);
    }
    int late = join_all(run, threads, started, seconds);
    if (started < ranks) {
        return error_set(error, EXIT_SYSTEM, "no thread for rank %" PRIu32 " of %" PRIu32, started,
                         ranks);
    }
    if (late >= 0) {
        return error_set(error, EXIT_SYSTEM, "%s: rank %d did not finish within %g s",
                         run->request.schedule->name, late, seconds);
    }
    return 0;
}
