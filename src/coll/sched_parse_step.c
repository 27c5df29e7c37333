/* sched_parse_step.c - the words of one step; sched_parse.c has the grammar. */
#include "sched_parse.h"

#include "walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers with a name ---- */

struct modifier {
    const char *name;
    size_t offset; /* of an int32_t */
    int32_t least;
};

#define ANY_SIGN (-PARSE_NUMBER_MOST)
#define OF_SPACE(type)                                                                             \
    {"mod", offsetof(struct type, space.size), 1},                                                 \
        {"base", offsetof(struct type, space.base), ANY_SIGN},                                     \
        {"stride", offsetof(struct type, space.stride), ANY_SIGN},                                 \
    {                                                                                              \
        "outer", offsetof(struct type, space.move), ANY_SIGN                                       \
    }

static const struct modifier of_peers[] = {
    {"count", offsetof(struct sched_peers, count), 1},
    {"move", offsetof(struct sched_peers, move), ANY_SIGN},
    OF_SPACE(sched_peers),
    {0},
};

static const struct modifier of_range[] = {
    {"run", offsetof(struct sched_range, run), 1},
    {"gap", offsetof(struct sched_range, gap), ANY_SIGN},
    {"runs", offsetof(struct sched_range, runs), 1},
    {"last", offsetof(struct sched_range, last), 1},
    {"move", offsetof(struct sched_range, move), ANY_SIGN},
    {"per-peer", offsetof(struct sched_range, per_peer), ANY_SIGN},
    OF_SPACE(sched_range),
    {0},
};

/* Notes that `name` was given; `bit` of *seen is its own, since none may come twice. */
static int give_once(const struct parser *parser, struct parse_word word, unsigned bit,
                     unsigned *seen)
{
    if (*seen & bit) {
        return parse_fail(parser, word.column, "'%.*s' is given twice", (int)word.length,
                          word.text);
    }
    *seen |= bit;
    return 0;
}

/* Reads the next word if it is one of the modifiers, with its number. */
static int parse_modifier(struct parser *parser, const struct modifier *modifiers, void *object,
                          unsigned *seen, bool *found)
{
    const char *before = parser->at;
    struct parse_word word = parse_next(parser);
    for (unsigned i = 0; modifiers[i].name; i++) {
        if (parse_is(word, modifiers[i].name)) {
            *found = true;
            return give_once(parser, word, 1U << i, seen) ||
                           parse_number(parser, modifiers[i].name, modifiers[i].least,
                                        PARSE_NUMBER_MOST,
                                        (int32_t *)(void *)((char *)object + modifiers[i].offset))
                       ? -1
                       : 0;
        }
    }
    parser->at = before;
    *found = false;
    return 0;
}

/* 7, r, r+1 or r-1, where r is the position. */
static int parse_first(struct parser *parser, const char *what, int32_t *first, size_t *column)
{
    const char *before = parser->at;
    struct parse_word word = parse_next(parser);
    *column = word.column;
    if (word.length == 0 || *word.text != 'r') {
        parser->at = before;
        return parse_number(parser, what, ANY_SIGN, PARSE_NUMBER_MOST, first);
    }
    int64_t offset = 0;
    for (size_t i = 2; i < word.length && offset <= PARSE_NUMBER_MOST; i++) {
        char digit = word.text[i];
        offset = digit >= '0' && digit <= '9' ? offset * 10 + (digit - '0') : INT64_MAX / 2;
    }
    bool negative = word.length > 1 && word.text[1] == '-';
    bool sign = negative || (word.length > 1 && word.text[1] == '+');
    if (offset > PARSE_NUMBER_MOST || (word.length > 1 && !sign) || word.length == 2) {
        return parse_fail(parser, word.column,
                          "%s '%.*s': expected a number, or r, r+1, r-1 (r is the position)", what,
                          (int)word.length, word.text);
    }
    parser->relative = true;
    *first = (int32_t)(parser->position + (negative ? -offset : offset));
    return 0;
}

/* ---- peers and ranges ---- */

/* All that a space can reach lies in 0 .. nr - 1, so that nobody has to ask again. */
static int check_space(const struct parser *parser, size_t column, const struct sched_space *space,
                       uint32_t nr, const char *what)
{
    int64_t moved = (int64_t)space->move * parser->outer_most;
    int64_t reach = (int64_t)space->stride * (space->size - 1);
    int64_t least = space->base + (moved < 0 ? moved : 0) + (reach < 0 ? reach : 0);
    int64_t most = space->base + (moved > 0 ? moved : 0) + (reach > 0 ? reach : 0);
    if (least < 0 || most >= nr) {
        return parse_fail(parser, column,
                          "this reaches %s %" PRId64 " to %" PRId64 ", but there are 0 to %" PRId64
                          ": see mod, base, stride and outer",
                          what, least, most, (int64_t)nr - 1);
    }
    return 0;
}

enum { SEEN_GROUP = 1 << 30, SEEN_LANE = 1 << 29 };

/* `group` and `lane N` of a peer list. */
static int parse_peer_word(struct parser *parser, struct sched_peers *peers, unsigned *seen,
                           bool *found)
{
    const char *before = parser->at;
    struct parse_word word = parse_next(parser);
    int32_t lane = 0;
    *found = true;
    if (parse_is(word, "group")) {
        peers->group = true;
        return give_once(parser, word, SEEN_GROUP, seen);
    }
    if (!parse_is(word, "lane")) {
        parser->at = before;
        *found = false;
        return 0;
    }
    if (give_once(parser, word, SEEN_LANE, seen) ||
        parse_number(parser, "lane", 0, (int64_t)parser->schedule->shape.lanes - 1, &lane)) {
        return -1;
    }
    peers->lane = (uint8_t)lane;
    return 0;
}

static int parse_peers(struct parser *parser, struct sched_peers *peers)
{
    uint32_t ranks = parser->schedule->request.ranks;
    size_t column = 0;
    unsigned seen = 0;
    bool found = true, word_found = false;
    *peers = (struct sched_peers){.count = 1, .space = {.size = (int32_t)ranks, .stride = 1}};
    if (parse_first(parser, "peer", &peers->first, &column)) {
        return -1;
    }
    while (found || word_found) {
        if (parse_peer_word(parser, peers, &seen, &word_found) ||
            parse_modifier(parser, of_peers, peers, &seen, &found)) {
            return -1;
        }
    }
    if (peers->count > (int32_t)ranks) {
        return parse_fail(parser, column, "count %" PRId32 ": there are only %" PRIu32 " ranks",
                          peers->count, ranks);
    }
    return check_space(parser, column, &peers->space, ranks, "positions");
}

static int check_range(const struct parser *parser, size_t column, const struct sched_range *range)
{
    uint32_t chunks = sched_chunks(parser->schedule, range->buffer);
    if (range->last > 0 && range->runs > 1 && range->gap < range->run) {
        return parse_fail(parser, column,
                          "runs that overlap cannot be cut by 'last': expected a gap of %" PRId32
                          " or more, found %" PRId32,
                          range->run, range->gap);
    }
    int64_t length = (int64_t)range->run * range->runs;
    if (range->last > 0 && length < PARSE_NUMBER_MOST) {
        length = walk_range_length(range);
    }
    if (length > chunks) {
        return parse_fail(parser, column,
                          "%" PRId64 " chunks of a buffer that has %" PRIu32
                          ": run x runs must not be more",
                          length, chunks);
    }
    return check_space(parser, column, &range->space, chunks, "chunks");
}

/* What follows `take`, `store` or `place`, and the peers of a `send`: a buffer, or `token`. */
static int parse_range(struct parser *parser, struct sched_range *range)
{
    static const char *const buffers[] = {"in", "out", "scratch", "token", NULL};
    struct parse_word word = parse_next(parser);
    int buffer = parse_find(word, buffers);
    if (buffer < 0) {
        return parse_fail_unknown(parser, word, "buffer", buffers);
    }
    *range = (struct sched_range){.run = 1, .runs = 1, .space = {.size = 1, .stride = 1}};
    if (buffer == SCHED_BUFFERS) {
        range->runs = 0;
        return 0;
    }
    range->buffer = (enum sched_buffer)buffer;
    range->space.size = (int32_t)sched_chunks(parser->schedule, range->buffer);
    if (range->space.size == 0) {
        return parse_fail(parser, word.column,
                          "this schedule has no scratch: add a line 'scratch CHUNKS'");
    }
    size_t column = 0;
    unsigned seen = 0;
    bool found = true;
    if (parse_first(parser, "chunk", &range->first, &column)) {
        return -1;
    }
    while (found) {
        if (parse_modifier(parser, of_range, range, &seen, &found)) {
            return -1;
        }
    }
    return check_range(parser, column, range);
}

/* ---- the step ---- */

static int parse_recv(struct parser *parser, struct parse_word word, struct sched_step *step)
{
    if (step->nr_recv == SCHED_SENDS_MOST) {
        return parse_fail(parser, word.column, "a step has at most %d times 'recv'",
                          SCHED_SENDS_MOST);
    }
    return parse_peers(parser, &step->recv[step->nr_recv++]);
}

static int parse_send(struct parser *parser, struct parse_word word, struct sched_step *step)
{
    if (step->nr_send == SCHED_SENDS_MOST) {
        return parse_fail(parser, word.column, "a step has at most %d times 'send'",
                          SCHED_SENDS_MOST);
    }
    struct sched_send *send = &step->send[step->nr_send++];
    if (parse_peers(parser, &send->peers)) {
        return -1;
    }
    const char *before = parser->at;
    send->value = parse_is(parse_next(parser), "value");
    if (send->value) {
        return 0;
    }
    parser->at = before;
    return parse_range(parser, &send->range);
}

static int parse_take(struct parser *parser, struct parse_word word, struct sched_step *step)
{
    if (step->takes) {
        return parse_fail(parser, word.column, "'take' is given twice");
    }
    step->takes = true;
    return parse_range(parser, &step->take);
}

static int parse_store(struct parser *parser, struct parse_word word, struct sched_step *step)
{
    if (step->stores) {
        return parse_fail(parser, word.column, "a step has one 'store' or one 'place'");
    }
    step->stores = true;
    step->combine = parse_is(word, "place") ? SCHED_PLACE : SCHED_REDUCE;
    return parse_range(parser, &step->store);
}

static int parse_via(struct parser *parser, struct parse_word word, struct sched_step *step)
{
    static const char *const ways[] = {"slot", "pull", "push", NULL};
    if (step->via != SCHED_SLOT) {
        return parse_fail(parser, word.column, "'via' is given twice");
    }
    struct parse_word way = parse_next(parser);
    int found = parse_find(way, ways);
    if (found < 0) {
        return parse_fail_unknown(parser, way, "way", ways);
    }
    step->via = (enum sched_via)found;
    return 0;
}

static int parse_compute(struct parser *parser, struct parse_word word, struct sched_step *step)
{
    if (step->compute) {
        return parse_fail(parser, word.column, "'compute' is given twice");
    }
    struct parse_word operator= parse_next(parser);
    if (operator.length == 0) {
        return parse_fail(parser, operator.column, "'compute': expected the name of an operator");
    }
    step->compute = arena_strndup(parser->arena, operator.text, operator.length);
    return 0;
}

static int check_step(const struct parser *parser, const struct sched_step *step)
{
    bool sends_value = false;
    for (unsigned i = 0; i < step->nr_send; i++) {
        sends_value |= step->send[i].value;
    }
    if (step->nr_recv > 0 && !step->takes && !step->stores) {
        return parse_fail(parser, parser->indent + 1,
                          "what this step receives goes nowhere: say 'take', 'store' or 'place' "
                          "('store token' where nothing is in it)");
    }
    if (sends_value && !step->takes && !step->stores) {
        return parse_fail(parser, parser->indent + 1,
                          "this step has no value to send: say 'take' or 'store'");
    }
    if (step->stores && !step->takes && step->nr_recv == 0) {
        return parse_fail(parser, parser->indent + 1,
                          "this step has nothing to store: say 'recv' or 'take'");
    }
    if (step->combine == SCHED_PLACE && (step->takes || sends_value || step->nr_recv == 0)) {
        return parse_fail(parser, parser->indent + 1,
                          "'place' needs 'recv', and goes neither with 'take' nor with 'value'");
    }
    if (step->compute && (!step->takes || !step->stores || step->nr_recv || step->nr_send)) {
        return parse_fail(parser, parser->indent + 1,
                          "'compute' needs 'take' and 'store', and nothing else");
    }
    return 0;
}

int parse_step(struct parser *parser, struct sched_step *step)
{
    static const char *const names[] = {"recv", "take", "store",   "place",
                                        "send", "via",  "compute", NULL};
    static int (*const parts[])(struct parser *, struct parse_word, struct sched_step *) = {
        parse_recv, parse_take, parse_store, parse_store, parse_send, parse_via, parse_compute};
    struct parse_word word;
    while ((word = parse_next(parser)).length > 0) {
        int part = parse_find(word, names);
        if (part < 0) {
            return parse_fail_unknown(parser, word, "word in a step", names);
        }
        if (parts[part](parser, word, step)) {
            return -1;
        }
    }
    return check_step(parser, step);
}
