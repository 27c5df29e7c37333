/* connection.c - finding the ends, placing them, telling the peers, pointing plans at them. */
#include "connection.h"

#include "mpi_exec.h"
#include "walk.h"

#include <stdlib.h>
#include <string.h>

struct end { /* one end, while connections are made */
    uint32_t channel, lane, other_lane, position, peer, index, tag;
    bool sends;
    const struct transport *transport;
    size_t offset; /* in this rank's segment */
    unsigned char *memory, *far;
};

struct record { /* what a rank tells the peer of an end */
    uint32_t channel, lane, other_lane, sends, tag;
    uint32_t unused;
    uint64_t offset;
};

struct opening {
    const struct connection_request *request;
    struct connection_set *set;
    struct end *ends; /* malloc'ed */
    size_t nr, capacity;
    uint32_t lanes, ranks;
};

static struct plan_out *out_of(const struct opening *opening, const struct end *end)
{
    return &opening->set->channels[end->channel].outs[end->index];
}

static struct plan_in *in_of(const struct opening *opening, const struct end *end)
{
    return &opening->set->channels[end->channel].ins[end->index];
}

/* ---- which ends ---- */

static int choose_transport(const struct connection_request *request, struct end *end,
                            struct error *error)
{
    const struct transport *const *rows = transport_all();
    uint32_t here = request->hosts[request->me], there = request->hosts[end->peer];
    end->transport = request->only;
    if (end->peer == request->me) {
        end->transport = &transport_shm;
    } else if (!end->transport) {
        while (!(*rows)->reaches(here, there)) {
            rows++;
        }
        end->transport = *rows;
    } else if (!end->transport->reaches(here, there)) {
        return error_set(error, EXIT_INPUT,
                         "transport %s does not reach from rank %u to rank %u, "
                         "which is on another host: use mpi, or leave --transport out",
                         end->transport->name, request->me, end->peer);
    }
    return 0;
}

static int add_end(struct opening *opening, struct end end, struct error *error)
{
    end.peer = layout_rank(opening->request->layout, end.channel, end.position);
    if (choose_transport(opening->request, &end, error)) {
        return -1;
    }
    if (opening->nr == opening->capacity) {
        void *items = opening->ends;
        array_grow(&items, &opening->capacity, opening->nr, sizeof *opening->ends);
        opening->ends = items;
    }
    opening->ends[opening->nr++] = end;
    return 0;
}

/* The ends of a list of peers, those that are not known yet. */
static int find_in_list(struct opening *opening, uint32_t channel, uint32_t lane,
                        const struct sched_peers *peers, const struct walk_step *at, bool sends,
                        struct error *error)
{
    struct connection_channel *tables = &opening->set->channels[channel];
    uint32_t *table = sends ? tables->out_of : tables->in_of;
    uint32_t *nr = sends ? &tables->nr_outs : &tables->nr_ins;
    if (peers->group) {
        return error_set(error, EXIT_INPUT,
                         "a step speaks to a multicast group, which ranks on "
                         "CPUs do not have");
    }
    for (uint32_t k = 0; k < (uint32_t)peers->count; k++) {
        uint32_t position = walk_peer(peers, k, at);
        uint32_t *index =
            &table[(size_t)(lane * opening->lanes + peers->lane) * opening->ranks + position];
        if (*index == PLAN_NO_CONNECTION) {
            *index = (*nr)++;
            struct end end = {.channel = channel,
                              .lane = lane,
                              .other_lane = peers->lane,
                              .position = position,
                              .index = *index,
                              .sends = sends};
            if (add_end(opening, end, error)) {
                return -1;
            }
        }
    }
    return 0;
}

static int find_in_channel(struct opening *opening, uint32_t channel, struct error *error)
{
    const struct sched_program *program = opening->request->programs[channel];
    for (uint32_t lane = 0; lane < program->nr_lanes; lane++) {
        struct walk walk;
        struct walk_step at;
        walk_begin(&walk, &program->lanes[lane]);
        while (walk_next(&walk, &at)) {
            for (uint32_t i = 0; i < at.step->nr_send; i++) {
                if (find_in_list(opening, channel, lane, &at.step->send[i].peers, &at, true,
                                 error)) {
                    return -1;
                }
            }
            for (uint32_t i = 0; i < at.step->nr_recv; i++) {
                if (find_in_list(opening, channel, lane, &at.step->recv[i], &at, false, error)) {
                    return -1;
                }
            }
        }
    }
    return 0;
}

static int find_ends(struct opening *opening, struct error *error)
{
    struct connection_set *set = opening->set;
    size_t entries = (size_t)opening->lanes * opening->lanes * opening->ranks;
    uint32_t channels = opening->request->layout->channels;
    set->channels = arena_alloc(&set->arena, channels, sizeof *set->channels);
    for (uint32_t channel = 0; channel < channels; channel++) {
        struct connection_channel *tables = &set->channels[channel];
        tables->out_of = arena_alloc(&set->arena, entries, sizeof *tables->out_of);
        tables->in_of = arena_alloc(&set->arena, entries, sizeof *tables->in_of);
        memset(tables->out_of, 0xff, entries * sizeof *tables->out_of); /* PLAN_NO_CONNECTION */
        memset(tables->in_of, 0xff, entries * sizeof *tables->in_of);
        if (find_in_channel(opening, channel, error)) {
            return -1;
        }
        tables->outs = arena_alloc(&set->arena, tables->nr_outs + 1, sizeof *tables->outs);
        tables->ins = arena_alloc(&set->arena, tables->nr_ins + 1, sizeof *tables->ins);
        tables->out_peer = arena_alloc(&set->arena, tables->nr_outs + 1, sizeof(uint32_t));
        tables->in_peer = arena_alloc(&set->arena, tables->nr_ins + 1, sizeof(uint32_t));
    }
    return 0;
}

/* Where each end lies in this rank's segment, and the tags of what it receives. Returns the
 * segment's length. */
static size_t place_ends(struct opening *opening)
{
    const struct connection_request *request = opening->request;
    uint32_t *tags = arena_alloc(&opening->set->arena, opening->ranks, sizeof *tags);
    size_t at = plan_round(request->reserve);
    opening->set->shared = true;
    for (size_t i = 0; i < opening->nr; i++) {
        struct end *end = &opening->ends[i];
        opening->set->shared &= end->transport->shares;
        if (!end->sends) {
            end->tag = tags[end->peer]++;
        }
        if (!end->sends || !end->transport->shares) {
            end->offset = at;
            at += plan_connection_bytes(request->slots, opening->set->slot_bytes);
        }
    }
    return at;
}

/* ---- telling the peers ---- */

struct post { /* records sorted by peer, with MPI's counts and places in bytes */
    struct record *records;
    int *counts, *places;
};

static struct post make_post(struct arena *arena, uint32_t ranks)
{
    return (struct post){.counts = arena_alloc(arena, ranks, sizeof(int)),
                         .places = arena_alloc(arena, ranks, sizeof(int))};
}

static void place_post(struct arena *arena, struct post *post, uint32_t ranks)
{
    int at = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        post->places[rank] = at;
        at += post->counts[rank];
    }
    post->records = arena_alloc(arena, (size_t)at + 1, 1);
}

static int post_count(const struct post *post, uint32_t rank)
{
    return post->counts[rank] / (int)sizeof(struct record);
}

static struct record *post_of(const struct post *post, uint32_t rank)
{
    return post->records + post->places[rank] / (int)sizeof(struct record);
}

static void exchange_records(struct opening *opening, struct post *mine, struct post *theirs)
{
    struct arena *arena = &opening->set->arena;
    MPI_Comm comm = opening->request->comm;
    int *filled = arena_alloc(arena, opening->ranks, sizeof *filled);
    *mine = make_post(arena, opening->ranks);
    *theirs = make_post(arena, opening->ranks);
    for (size_t i = 0; i < opening->nr; i++) {
        mine->counts[opening->ends[i].peer] += (int)sizeof(struct record);
    }
    place_post(arena, mine, opening->ranks);
    for (size_t i = 0; i < opening->nr; i++) {
        const struct end *end = &opening->ends[i];
        post_of(mine, end->peer)[filled[end->peer]++] =
            (struct record){.channel = end->channel,
                            .lane = end->lane,
                            .other_lane = end->other_lane,
                            .sends = end->sends,
                            .tag = end->tag,
                            .offset = end->offset};
    }
    MPI_Alltoall(mine->counts, 1, MPI_INT, theirs->counts, 1, MPI_INT, comm);
    place_post(arena, theirs, opening->ranks);
    MPI_Alltoallv(mine->records, mine->counts, mine->places, MPI_BYTE, theirs->records,
                  theirs->counts, theirs->places, MPI_BYTE, comm);
}

static const struct record *find_record(const struct post *theirs, const struct end *end)
{
    const struct record *records = post_of(theirs, end->peer);
    for (int i = 0; i < post_count(theirs, end->peer); i++) {
        if (records[i].channel == end->channel && records[i].lane == end->other_lane &&
            records[i].other_lane == end->lane && records[i].sends != end->sends) {
            return &records[i];
        }
    }
    return NULL;
}

/* Each end finds its other end; there must be no other ends. */
static int match_ends(struct opening *opening, struct error *error)
{
    const struct symmetric *segment = &opening->set->segment;
    struct post mine, theirs;
    exchange_records(opening, &mine, &theirs);
    for (size_t i = 0; i < opening->nr; i++) {
        struct end *end = &opening->ends[i];
        const struct record *other = find_record(&theirs, end);
        if (!other || post_count(&mine, end->peer) != post_count(&theirs, end->peer)) {
            return error_set(
                error, EXIT_INPUT,
                "the schedule is not of one piece: what position %u of channel %u %s "
                "rank %u has no other end there",
                layout_position(opening->request->layout, end->channel, opening->request->me),
                end->channel, end->sends ? "sends to" : "expects from", end->peer);
        }
        end->tag = end->sends ? other->tag : end->tag;
        end->memory = segment->of[segment->me] + end->offset;
        end->far = segment->of[end->peer] ? segment->of[end->peer] + other->offset : NULL;
        if (end->sends && end->transport->shares) {
            end->memory = end->far;
        }
    }
    return 0;
}

/* ---- pointing at them ---- */

static void point_end(struct opening *opening, const struct end *end)
{
    const struct connection_request *request = opening->request;
    struct connection_channel *tables = &opening->set->channels[end->channel];
    bool ll = request->protocol == PLAN_LL && end->transport->pairs && end->peer != request->me;
    uint32_t protocol = ll ? PLAN_LL : PLAN_SIMPLE;
    unsigned char *stage =
        ll ? arena_alloc(&opening->set->arena, 1, request->slice_bytes + 16U) : NULL;
    if (end->sends) {
        struct plan_out *out = out_of(opening, end);
        plan_connection_place(end->memory, request->slots, out, NULL);
        out->stage = stage;
        out->protocol = protocol;
        out->proxied = !end->transport->shares;
        tables->out_peer[end->index] = end->peer;
    } else {
        struct plan_in *in = in_of(opening, end);
        plan_connection_place(end->memory, request->slots, NULL, in);
        in->stage = stage;
        in->protocol = protocol;
        tables->in_peer[end->index] = end->peer;
    }
}

/* The tokens that lie in connections to oneself from the start. */
static void lay_credits(struct opening *opening)
{
    const struct connection_request *request = opening->request;
    const struct sched_shape *shape = &request->schedule->shape;
    for (uint32_t channel = 0; channel < request->layout->channels; channel++) {
        struct connection_channel *tables = &opening->set->channels[channel];
        uint32_t position = layout_position(request->layout, channel, request->me);
        for (uint32_t i = 0; i < shape->nr_credits; i++) {
            uint32_t pair =
                shape->credits[i].from_lane * opening->lanes + shape->credits[i].to_lane;
            uint32_t index = tables->out_of[(size_t)pair * opening->ranks + position];
            if (index != PLAN_NO_CONNECTION) {
                tables->outs[index].sent = shape->credits[i].tokens;
                *tables->outs[index].posted = shape->credits[i].tokens;
            }
        }
    }
}

/* ---- proxies ---- */

static int open_proxy(struct opening *opening, const struct transport *transport,
                      struct error *error)
{
    const struct connection_request *request = opening->request;
    struct connection_set *set = opening->set;
    struct transport_end *ends = arena_alloc(&set->arena, opening->nr + 1, sizeof *ends);
    struct transport_job job = {.comm = request->comm,
                                .ends = ends,
                                .slots = request->slots,
                                .slot_bytes = set->slot_bytes,
                                .seed = request->seed};
    for (size_t i = 0; i < opening->nr; i++) {
        const struct end *end = &opening->ends[i];
        if (end->transport == transport) {
            ends[job.nr++] = (struct transport_end){.peer = end->peer,
                                                    .tag = end->tag,
                                                    .out = end->sends ? out_of(opening, end) : NULL,
                                                    .in = end->sends ? NULL : in_of(opening, end),
                                                    .far = end->far};
        }
    }
    struct connection_proxy *proxy = &set->proxies[set->nr_proxies];
    proxy->transport = transport;
    if (transport->open(&job, &proxy->state, error)) {
        return -1;
    }
    set->nr_proxies++;
    return 0;
}

/* A transport is opened on all ranks when one of them needs it. */
static int open_proxies(struct opening *opening, struct error *error)
{
    const struct transport *const *rows = transport_all();
    for (size_t row = 0; rows[row]; row++) {
        int used = 0, somewhere = 0;
        if (!rows[row]->open) {
            continue;
        }
        for (size_t i = 0; i < opening->nr; i++) {
            used |= opening->ends[i].transport == rows[row];
        }
        MPI_Allreduce(&used, &somewhere, 1, MPI_INT, MPI_MAX, opening->request->comm);
        if (somewhere && open_proxy(opening, rows[row], error)) {
            return -1;
        }
    }
    return 0;
}

static int open_all(struct opening *opening, struct error *error)
{
    const struct connection_request *request = opening->request;
    struct connection_set *set = opening->set;
    if (exec_agree_over(request->comm, find_ends(opening, error), error) ||
        symmetric_make(request->comm, request->hosts[request->me], place_ends(opening),
                       SYMMETRIC_BEST, &set->segment, error) ||
        exec_agree_over(request->comm, match_ends(opening, error), error)) {
        return -1;
    }
    for (size_t i = 0; i < opening->nr; i++) {
        point_end(opening, &opening->ends[i]);
    }
    lay_credits(opening);
    return exec_agree_over(request->comm, open_proxies(opening, error), error);
}

int connection_open(const struct connection_request *request, struct connection_set *set,
                    struct error *error)
{
    *set = (struct connection_set){
        .slot_bytes = (uint32_t)plan_slot_bytes(request->slice_bytes, request->protocol)};
    struct opening opening = {.request = request,
                              .set = set,
                              .lanes = request->schedule->shape.lanes,
                              .ranks = request->layout->ranks};
    int failed = open_all(&opening, error);
    free(opening.ends);
    if (failed) {
        connection_close(set, true);
    }
    return failed;
}

void connection_close(struct connection_set *set, bool broken)
{
    for (size_t i = 0; i < set->nr_proxies; i++) {
        set->proxies[i].transport->close(set->proxies[i].state, broken);
    }
    symmetric_free(&set->segment);
    arena_release(&set->arena);
    *set = (struct connection_set){0};
}
