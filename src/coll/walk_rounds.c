/* walk_rounds.c - the longest chain of messages.
 *
 * The lanes of all positions run against each other without time and without windows: a lane goes
 * on until a message it waits for has not been sent, and is served again when one comes. What
 * travels is the number of rounds that led there.
 */
#include "walk.h"

#include <inttypes.h>

/* ---- messages under way: a hash of connections, first in, first out ---- */

struct message {
    uint64_t connection; /* lane of sender x lanes of all positions + lane of receiver */
    uint64_t rounds;
    struct message *next;
};

struct bucket {
    struct message *first, **end;
};

struct post {
    struct bucket *buckets;
    size_t nr, under_way; /* buckets, a power of two; messages in them */
    struct message *spare;
    struct arena *arena;
};

static void post_open(struct post *post, size_t nr)
{
    post->nr = nr;
    post->buckets = arena_alloc(post->arena, nr, sizeof *post->buckets);
    for (size_t i = 0; i < nr; i++) {
        post->buckets[i].end = &post->buckets[i].first;
    }
}

static struct bucket *post_bucket(const struct post *post, uint64_t connection)
{
    return &post->buckets[(connection * 0x9e3779b97f4a7c15U >> 20) & (post->nr - 1)];
}

static void bucket_append(struct bucket *bucket, struct message *message)
{
    message->next = NULL;
    *bucket->end = message;
    bucket->end = &message->next;
}

/* Twice the buckets; messages of a connection keep their order. */
static void post_grow(struct post *post)
{
    const struct bucket *old = post->buckets;
    size_t nr = post->nr;
    post_open(post, 2 * nr);
    for (size_t i = 0; i < nr; i++) {
        for (struct message *message = old[i].first, *next; message; message = next) {
            next = message->next;
            bucket_append(post_bucket(post, message->connection), message);
        }
    }
}

static void post_put(struct post *post, uint64_t connection, uint64_t rounds)
{
    struct message *message = post->spare;
    if (++post->under_way > post->nr) {
        post_grow(post);
    }
    if (message) {
        post->spare = message->next;
    } else {
        message = arena_alloc(post->arena, 1, sizeof *message);
    }
    *message = (struct message){.connection = connection, .rounds = rounds};
    bucket_append(post_bucket(post, connection), message);
}

static bool post_take(struct post *post, uint64_t connection, uint64_t *rounds)
{
    struct bucket *bucket = post_bucket(post, connection);
    struct message **at = &bucket->first;
    while (*at && (*at)->connection != connection) {
        at = &(*at)->next;
    }
    struct message *message = *at;
    if (!message) {
        return false;
    }
    *rounds = message->rounds;
    *at = message->next;
    if (bucket->end == &message->next) {
        bucket->end = at;
    }
    message->next = post->spare;
    post->spare = message;
    post->under_way--;
    return true;
}

/* ---- rounds: all lanes against each other ---- */

struct runner { /* a lane of a position */
    struct walk walk;
    struct walk_step at;
    uint64_t rounds;   /* that led to the end of the step before */
    uint64_t value;    /* ... and to what this step has received so far */
    uint64_t sent;     /* the latest message of this step */
    uint32_t received; /* lists x peers: how many messages of this step have come */
    uint64_t steps;
    bool waits, done;
    struct runner *next; /* in the queue of those to be served */
};

struct runs { /* of all lanes */
    const struct schedule *schedule;
    uint32_t lanes;
    struct runner *runners; /* [position * lanes + lane] */
    struct runner *first, **end;
    struct post post;
    uint64_t rounds; /* most of all */
};

static uint64_t connection_of(const struct runs *runs, uint64_t from, uint64_t to)
{
    return from * runs->schedule->request.ranks * runs->lanes + to;
}

static void runs_queue(struct runs *runs, struct runner *runner)
{
    runner->waits = false;
    runner->next = NULL;
    *runs->end = runner;
    runs->end = &runner->next;
}

static void send_list(struct runs *runs, uint64_t from, const struct sched_peers *peers,
                      const struct walk_step *at, uint64_t rounds)
{
    struct runner *sender = &runs->runners[from];
    for (uint32_t k = 0; k < (uint32_t)peers->count; k++) {
        uint32_t position = walk_peer(peers, k, at);
        uint64_t to = (uint64_t)position * runs->lanes + peers->lane;
        uint64_t arrival = rounds + (position != from / runs->lanes);
        post_put(&runs->post, connection_of(runs, from, to), arrival);
        sender->sent = arrival > sender->sent ? arrival : sender->sent;
        if (runs->runners[to].waits) {
            runs_queue(runs, &runs->runners[to]);
        }
    }
}

static void send_lists(struct runs *runs, uint64_t self, bool values, uint64_t rounds)
{
    const struct walk_step *at = &runs->runners[self].at;
    for (unsigned i = 0; i < at->step->nr_send; i++) {
        if (at->step->send[i].value == values) {
            send_list(runs, self, &at->step->send[i].peers, at, rounds);
        }
    }
}

/* The k-th peer of all receive lists, as a lane. */
static uint64_t sender_of(const struct runs *runs, const struct walk_step *at, uint32_t k)
{
    const struct sched_peers *peers = at->step->recv;
    while (k >= (uint32_t)peers->count) {
        k -= (uint32_t)peers->count;
        peers++;
    }
    return (uint64_t)walk_peer(peers, k, at) * runs->lanes + peers->lane;
}

/* Takes what has come for the step; false: more is to come. */
static bool receive_all(struct runs *runs, uint64_t self)
{
    struct runner *runner = &runs->runners[self];
    uint32_t nr = walk_receives(runner->at.step);
    for (; runner->received < nr; runner->received++) {
        uint64_t rounds = 0;
        uint64_t from = sender_of(runs, &runner->at, runner->received);
        if (!post_take(&runs->post, connection_of(runs, from, self), &rounds)) {
            return false;
        }
        runner->value = rounds > runner->value ? rounds : runner->value;
    }
    return true;
}

/* The next step, up to its receives; false: the lane is done. */
static bool enter_step(struct runs *runs, uint64_t self)
{
    struct runner *runner = &runs->runners[self];
    if (!walk_next(&runner->walk, &runner->at)) {
        runner->done = true;
        return false;
    }
    runner->steps++;
    runner->received = 0;
    runner->value = runner->sent = runner->rounds;
    send_lists(runs, self, false, runner->rounds);
    return true;
}

static void serve(struct runs *runs, uint64_t self)
{
    struct runner *runner = &runs->runners[self];
    bool entered = runner->steps > 0;
    while (entered || enter_step(runs, self)) {
        entered = false;
        if (!receive_all(runs, self)) {
            runner->waits = true;
            return;
        }
        send_lists(runs, self, true, runner->value);
        runner->rounds = runner->sent > runner->value ? runner->sent : runner->value;
        runs->rounds = runner->rounds > runs->rounds ? runner->rounds : runs->rounds;
    }
}

static void put_credits(struct runs *runs)
{
    const struct sched_shape *shape = &runs->schedule->shape;
    for (uint32_t p = 0; p < runs->schedule->request.ranks; p++) {
        for (uint32_t i = 0; i < shape->nr_credits; i++) {
            uint64_t from = (uint64_t)p * runs->lanes + shape->credits[i].from_lane;
            uint64_t to = (uint64_t)p * runs->lanes + shape->credits[i].to_lane;
            for (uint32_t t = 0; t < shape->credits[i].tokens; t++) {
                post_put(&runs->post, connection_of(runs, from, to), 0);
            }
        }
    }
}

static int check_done(const struct runs *runs, struct error *error)
{
    size_t nr = (size_t)runs->schedule->request.ranks * runs->lanes;
    for (size_t i = 0; i < nr; i++) {
        const struct runner *runner = &runs->runners[i];
        if (!runner->done) {
            uint64_t from = sender_of(runs, &runner->at, runner->received);
            return error_set(error, EXIT_INPUT,
                             "schedule %s: step %" PRIu64 " of position %zu, lane %zu, waits for a "
                             "message from position %" PRIu64 ", lane %" PRIu64
                             " that is never sent",
                             runs->schedule->name, runner->steps, i / runs->lanes, i % runs->lanes,
                             from / runs->lanes, from % runs->lanes);
        }
    }
    return 0;
}

int walk_rounds(const struct schedule *schedule, uint64_t *rounds, struct error *error)
{
    struct arena arena = ARENA_EMPTY;
    struct runs runs = {.schedule = schedule, .lanes = schedule->shape.lanes};
    size_t nr = (size_t)schedule->request.ranks * runs.lanes;
    runs.runners = arena_alloc(&arena, nr, sizeof *runs.runners);
    runs.post.arena = &arena;
    post_open(&runs.post, 1024);
    runs.end = &runs.first;
    put_credits(&runs);
    for (uint32_t p = 0; p < schedule->request.ranks; p++) {
        const struct sched_program *program = sched_program(schedule, p, &arena);
        for (uint32_t lane = 0; lane < runs.lanes; lane++) {
            struct runner *runner = &runs.runners[(size_t)p * runs.lanes + lane];
            walk_begin(&runner->walk, &program->lanes[lane]);
            runs_queue(&runs, runner);
        }
    }
    while (runs.first) {
        struct runner *runner = runs.first;
        runs.first = runner->next;
        if (!runs.first) {
            runs.end = &runs.first;
        }
        serve(&runs, (uint64_t)(runner - runs.runners));
    }
    int result = check_done(&runs, error);
    *rounds = runs.rounds;
    arena_release(&arena);
    return result;
}
