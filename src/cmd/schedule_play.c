/* schedule_play.c - plays one loop of a schedule on sets of contributions.
 *
 * All lanes are served in turn until none can go on. A ranged send takes a copy of its chunks when
 * the step begins, as the one order of a step wants it (schedule.h).
 */
#include "schedule_play.h"

#include "walk.h"

#include <stdlib.h>
#include <string.h>

struct mail {       /* a message under way */
    uint32_t from;  /* lane of a position */
    uint32_t round; /* latencies that led here */
    size_t message; /* in play; NO_MESSAGE: to oneself, or a token */
    const struct play_value *values;
    uint32_t nr;
    struct mail *next;
};

#define NO_MESSAGE SIZE_MAX

struct lane {
    struct walk walk;
    struct walk_step at;
    bool entered, over;
    uint32_t round; /* latencies that led here */
    uint32_t sent;  /* the latest round of a message of this step */
    struct mail **got;
    uint32_t nr_got;
    struct mail *inbox;
};

struct player {
    const struct schedule *schedule;
    struct arena *arena;
    struct play *play;
    uint32_t lanes;
    struct lane *lane;         /* [position * lanes + lane] */
    struct play_value *memory; /* [position][in, out, scratch] */
    uint32_t first[SCHED_BUFFERS], per_position;
};

/* ---- memory ---- */

/* In place, out and in begin together; where one has a part for every rank the other is that part.
 */
static struct play_value *cell(const struct player *player, uint32_t position,
                               enum sched_buffer buffer, uint32_t chunk)
{
    uint32_t in = sched_chunks(player->schedule, SCHED_IN);
    uint32_t out = sched_chunks(player->schedule, SCHED_OUT);
    if (player->schedule->request.in_place && buffer != SCHED_SCRATCH) {
        bool part = buffer == SCHED_IN ? in < out : out < in;
        chunk += part ? position * player->schedule->shape.chunks : 0;
        buffer = in < out ? SCHED_OUT : SCHED_IN;
    }
    return &player->memory[position * player->per_position + player->first[buffer] + chunk];
}

static bool has_input(enum collective collective, uint32_t position)
{
    return position == 0 || (collective != COLL_BROADCAST && collective != COLL_SCATTER);
}

static void hold(struct player *player, uint32_t position, uint32_t round, struct play_value value)
{
    struct play *play = player->play;
    if (value.from != 0) {
        void *items = play->held;
        array_grow(&items, &play->held_capacity, play->nr_held, sizeof *play->held);
        play->held = items;
        play->held[play->nr_held++] = (struct play_held){round, position, value};
    }
}

static void make_memory(struct player *player)
{
    const struct schedule *schedule = player->schedule;
    for (unsigned buffer = 0; buffer < SCHED_BUFFERS; buffer++) {
        player->first[buffer] = player->per_position;
        player->per_position += sched_chunks(schedule, (enum sched_buffer)buffer);
    }
    player->memory =
        arena_alloc(player->arena, (size_t)schedule->request.ranks * player->per_position + 1,
                    sizeof *player->memory);
    for (uint32_t p = 0; p < schedule->request.ranks; p++) {
        uint32_t nr =
            has_input(schedule->request.collective, p) ? sched_chunks(schedule, SCHED_IN) : 0;
        for (uint32_t chunk = 0; chunk < nr; chunk++) {
            struct play_value value = {UINT64_C(1) << p, chunk};
            *cell(player, p, SCHED_IN, chunk) = value;
            hold(player, p, 0, value);
        }
    }
}

/* A copy of a range for the k-th peer. */
static const struct play_value *read_range(struct player *player, uint32_t position,
                                           const struct sched_range *range, uint32_t k,
                                           const struct walk_step *at, uint32_t *nr)
{
    *nr = range ? walk_range_length(range) : 0;
    struct play_value *values = arena_alloc(player->arena, *nr + 1, sizeof *values);
    for (uint32_t i = 0; i < *nr; i++) {
        values[i] = *cell(player, position, range->buffer, walk_range_chunk(range, k, i, at));
    }
    return values;
}

/* ---- messages ---- */

static size_t note_message(struct player *player, struct play_message message)
{
    struct play *play = player->play;
    void *items = play->messages;
    array_grow(&items, &play->messages_capacity, play->nr_messages, sizeof *play->messages);
    play->messages = items;
    play->messages[play->nr_messages] = message;
    play->rounds = message.round > play->rounds ? message.round : play->rounds;
    return play->nr_messages++;
}

static void post(struct player *player, uint32_t from, uint32_t position, uint8_t lane,
                 struct mail mail)
{
    uint32_t sender = from / player->lanes;
    struct mail *posted = arena_alloc(player->arena, 1, sizeof *posted);
    mail.from = from;
    mail.message = NO_MESSAGE;
    if (position != sender) {
        mail.round++;
        if (mail.nr > 0) {
            mail.message = note_message(player, (struct play_message){.round = mail.round,
                                                                      .from = sender,
                                                                      .to = position,
                                                                      .lane = lane,
                                                                      .values = mail.values,
                                                                      .nr = mail.nr});
        }
    }
    *posted = mail;
    struct lane *own = &player->lane[from];
    own->sent = mail.round > own->sent ? mail.round : own->sent;
    struct mail **end = &player->lane[position * player->lanes + lane].inbox;
    while (*end) {
        end = &(*end)->next;
    }
    *end = posted;
}

/* The step's sends: of ranges when it begins, of its value when that is there. */
static void send_all(struct player *player, uint32_t self, bool values, struct mail mail)
{
    const struct walk_step *at = &player->lane[self].at;
    for (unsigned i = 0; i < at->step->nr_send; i++) {
        const struct sched_send *send = &at->step->send[i];
        for (uint32_t k = 0; send->value == values && k < (uint32_t)send->peers.count; k++) {
            if (!values) {
                mail.values =
                    read_range(player, self / player->lanes, &send->range, k, at, &mail.nr);
            }
            post(player, self, walk_peer(&send->peers, k, at), send->peers.lane, mail);
        }
    }
}

static struct mail *take_from(struct lane *lane, uint32_t from)
{
    for (struct mail **at = &lane->inbox; *at; at = &(*at)->next) {
        struct mail *found = *at;
        if (found->from == from) {
            *at = found->next;
            found->next = NULL;
            return found;
        }
    }
    return NULL;
}

/* The k-th peer of all receive lists, as a lane of a position. */
static uint32_t sender_of(const struct player *player, const struct walk_step *at, uint32_t k)
{
    const struct sched_peers *peers = at->step->recv;
    while (k >= (uint32_t)peers->count) {
        k -= (uint32_t)peers->count;
        peers++;
    }
    return walk_peer(peers, k, at) * player->lanes + peers->lane;
}

/* ---- a step ---- */

static bool enter(struct player *player, uint32_t self)
{
    struct lane *lane = &player->lane[self];
    if (!walk_next(&lane->walk, &lane->at)) {
        lane->over = true;
        return false;
    }
    lane->entered = true;
    lane->nr_got = 0;
    lane->got = arena_alloc(player->arena, walk_receives(lane->at.step) + 1, sizeof *lane->got);
    send_all(player, self, false, (struct mail){.round = lane->round});
    return true;
}

static bool receive(const struct player *player, uint32_t self)
{
    struct lane *lane = &player->lane[self];
    while (lane->nr_got < walk_receives(lane->at.step)) {
        struct mail *mail = take_from(lane, sender_of(player, &lane->at, lane->nr_got));
        if (!mail) {
            return false;
        }
        lane->got[lane->nr_got++] = mail;
        lane->round = mail->round > lane->round ? mail->round : lane->round;
    }
    return true;
}

static void place(struct player *player, uint32_t self)
{
    struct lane *lane = &player->lane[self];
    const struct sched_range *store = &lane->at.step->store;
    for (uint32_t k = 0; k < lane->nr_got; k++) {
        const struct mail *mail = lane->got[k];
        uint32_t nr = walk_range_length(store);
        for (uint32_t i = 0; i < mail->nr && i < nr; i++) {
            uint32_t chunk = walk_range_chunk(store, k, i, &lane->at);
            *cell(player, self / player->lanes, store->buffer, chunk) = mail->values[i];
            hold(player, self / player->lanes, lane->round, mail->values[i]);
        }
    }
}

/* The step's value: all that was received and `take`, chunk by chunk. */
static struct play_value *combine(struct player *player, uint32_t self, uint32_t nr)
{
    const struct lane *lane = &player->lane[self];
    const struct sched_step *step = lane->at.step;
    struct play_value *values = arena_alloc(player->arena, nr + 1, sizeof *values);
    for (uint32_t i = 0; i < nr; i++) {
        if (step->takes && i < walk_range_length(&step->take)) {
            values[i] = *cell(player, self / player->lanes, step->take.buffer,
                              walk_range_chunk(&step->take, 0, i, &lane->at));
        }
        for (uint32_t k = 0; k < lane->nr_got; k++) {
            const struct mail *mail = lane->got[k];
            if (i < mail->nr) {
                values[i].chunk = mail->values[i].from ? mail->values[i].chunk : values[i].chunk;
                values[i].from |= mail->values[i].from;
            }
        }
    }
    return values;
}

static void reduce(struct player *player, uint32_t self)
{
    struct lane *lane = &player->lane[self];
    const struct sched_step *step = lane->at.step;
    const struct sched_range *range = walk_value(step);
    uint32_t nr = range ? walk_range_length(range) : 0, position = self / player->lanes;
    struct play_value *values = combine(player, self, nr);
    for (uint32_t k = 0; k < lane->nr_got; k++) {
        if (lane->got[k]->message != NO_MESSAGE) {
            player->play->messages[lane->got[k]->message].added = lane->nr_got + step->takes > 1;
        }
    }
    for (uint32_t i = 0; i < nr; i++) {
        if (step->stores) {
            *cell(player, position, range->buffer, walk_range_chunk(range, 0, i, &lane->at)) =
                values[i];
        }
        hold(player, position, lane->round, values[i]);
    }
    send_all(player, self, true, (struct mail){.round = lane->round, .values = values, .nr = nr});
}

/* Goes on as far as it can; did anything happen? */
static bool serve(struct player *player, uint32_t self)
{
    struct lane *lane = &player->lane[self];
    bool moved = false;
    while (!lane->over) {
        uint32_t before = lane->nr_got;
        bool was_in = lane->entered;
        if (!was_in && !enter(player, self)) {
            break;
        }
        bool all = receive(player, self);
        moved = moved || !was_in || all || lane->nr_got > before;
        if (!all) {
            break;
        }
        if (lane->at.step->combine == SCHED_PLACE) {
            place(player, self);
        } else {
            reduce(player, self);
        }
        lane->entered = false;
        lane->round = lane->sent > lane->round ? lane->sent : lane->round;
    }
    return moved;
}

/* ---- the whole ---- */

static void make_lanes(struct player *player)
{
    const struct sched_shape *shape = &player->schedule->shape;
    uint32_t ranks = player->schedule->request.ranks;
    player->lane = arena_alloc(player->arena, (size_t)ranks * player->lanes, sizeof *player->lane);
    for (uint32_t p = 0; p < ranks; p++) {
        const struct sched_program *program = sched_program(player->schedule, p, player->arena);
        for (uint32_t i = 0; i < player->lanes; i++) {
            walk_begin(&player->lane[p * player->lanes + i].walk, &program->lanes[i]);
        }
        for (uint32_t i = 0; i < shape->nr_credits; i++) {
            for (uint32_t t = 0; t < shape->credits[i].tokens; t++) {
                post(player, p * player->lanes + shape->credits[i].from_lane, p,
                     shape->credits[i].to_lane, (struct mail){0});
            }
        }
    }
}

void play_schedule(const struct schedule *schedule, struct arena *arena, struct play *play)
{
    struct player player = {
        .schedule = schedule, .arena = arena, .play = play, .lanes = schedule->shape.lanes};
    *play = (struct play){.over = true};
    make_memory(&player);
    make_lanes(&player);
    uint32_t nr = schedule->request.ranks * player.lanes;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < nr; i++) {
            moved = serve(&player, i) || moved;
        }
    }
    for (uint32_t i = 0; i < nr; i++) {
        play->over = play->over && player.lane[i].over;
    }
}

void play_free(struct play *play)
{
    free(play->messages);
    free(play->held);
    *play = (struct play){0};
}
