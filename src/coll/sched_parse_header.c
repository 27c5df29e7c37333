/* sched_parse_header.c - the lines before the first position: one table of what they set. */
#include "sched_parse.h"

#include <inttypes.h>

enum { RANKS_MOST = 4096, COPIES_MOST = 1024, TOKENS_MOST = 1024 };

static int parse_word_of(struct parser *parser, const char *what, const char **text)
{
    struct parse_word word = parse_next(parser);
    if (word.length == 0 || word.length > 64) {
        return parse_fail(parser, word.column, "%s: expected one word of at most 64 characters",
                          what);
    }
    *text = arena_strndup(parser->arena, word.text, word.length);
    return 0;
}

static int parse_name(struct parser *parser)
{
    return parse_word_of(parser, "name", &parser->schedule->name);
}

static int parse_collective(struct parser *parser)
{
    const char *text = NULL;
    size_t column = (size_t)(parser->at - parser->begin) + 2;
    if (parse_word_of(parser, "collective", &text)) {
        return -1;
    }
    if (coll_parse(text, &parser->schedule->request.collective, parser->error)) {
        return error_prefix(parser->error, "%s:%zu:%zu", parser->name, parser->line, column);
    }
    return 0;
}

static int parse_in_place(struct parser *parser)
{
    static const char *const answers[] = {"no", "yes", NULL};
    struct parse_word word = parse_next(parser);
    int found = parse_find(word, answers);
    if (found < 0) {
        return parse_fail_unknown(parser, word, "answer", answers);
    }
    parser->schedule->request.in_place = found == 1;
    return 0;
}

static int parse_levels(struct parser *parser)
{
    struct sched_request *request = &parser->schedule->request;
    struct parse_word word = parse_next(parser);
    const char *at = word.text, *stop = word.text + word.length;
    for (;;) {
        int64_t number = 0;
        at = parse_scan(at, stop, &number);
        if (!at || number < 1 || number > RANKS_MOST || request->nr_levels == SCHED_LEVELS_MOST) {
            break;
        }
        request->levels[request->nr_levels++] = (uint32_t)number;
        if (at == stop && request->nr_levels > 1) {
            return 0;
        }
        if (at == stop || *at++ != 'x') {
            break;
        }
    }
    return parse_fail(parser, word.column,
                      "levels '%.*s': expected 2 or %d numbers, such as 2x4 (hosts x ranks per "
                      "host)",
                      (int)word.length, word.text, SCHED_LEVELS_MOST);
}

static int parse_credit(struct parser *parser)
{
    static const char *const words[] = {"from", "to", "tokens"};
    static const int32_t least[] = {0, 0, 1};
    static const int32_t most[] = {SCHED_LANES_MOST - 1, SCHED_LANES_MOST - 1, TOKENS_MOST};
    struct sched_shape *shape = &parser->schedule->shape;
    int32_t numbers[3] = {0};
    if (shape->nr_credits == SCHED_LANES_MOST) {
        return parse_fail(parser, 1, "more than %d credits", SCHED_LANES_MOST);
    }
    for (int i = 0; i < 3; i++) {
        struct parse_word word = parse_next(parser);
        if (!parse_is(word, words[i])) {
            return parse_fail(parser, word.column,
                              "expected '%s', as in 'credit from 1 to 0 tokens 2'", words[i]);
        }
        if (parse_number(parser, words[i], least[i], most[i], &numbers[i])) {
            return -1;
        }
    }
    shape->credits[shape->nr_credits++] = (struct sched_credit){.from_lane = (uint8_t)numbers[0],
                                                                .to_lane = (uint8_t)numbers[1],
                                                                .tokens = (uint32_t)numbers[2]};
    return 0;
}

/* A line of the header: what reads it, or where its number goes. */
static const struct {
    const char *name;
    int (*read)(struct parser *parser);
    size_t offset; /* in struct schedule, of a uint32_t */
    int32_t least, most;
    bool needed;
} header[] = {
    {"name", parse_name, 0, 0, 0, true},
    {"collective", parse_collective, 0, 0, 0, true},
    {"ranks", NULL, offsetof(struct schedule, request.ranks), 1, RANKS_MOST, true},
    {"in-place", parse_in_place, 0, 0, 0, false},
    {"levels", parse_levels, 0, 0, 0, false},
    {"chunks", NULL, offsetof(struct schedule, shape.chunks), 1, PARSE_NUMBER_MOST, true},
    {"scratch", NULL, offsetof(struct schedule, shape.scratch), 0, PARSE_NUMBER_MOST, false},
    {"copies", NULL, offsetof(struct schedule, shape.copies), 1, COPIES_MOST, false},
    {"lanes", NULL, offsetof(struct schedule, shape.lanes), 1, SCHED_LANES_MOST, false},
    {"credit", parse_credit, 0, 0, 0, false},
};

enum { HEADER_NR = sizeof header / sizeof *header };

static int parse_header_line(struct parser *parser, struct parse_word word, unsigned *seen)
{
    const char *names[HEADER_NR + 2] = {NULL};
    for (size_t i = 0; i < HEADER_NR; i++) {
        names[i] = header[i].name;
    }
    names[HEADER_NR] = "position";
    int row = parse_find(word, names);
    if (row < 0 || row == HEADER_NR) {
        return parse_fail_unknown(parser, word, "line", names);
    }
    if (*seen & 1U << row && header[row].read != parse_credit) {
        return parse_fail(parser, word.column, "'%s' is given twice", names[row]);
    }
    *seen |= 1U << row;
    if (header[row].read) {
        return header[row].read(parser) || parse_line_end(parser) ? -1 : 0;
    }
    int32_t number = 0;
    if (parse_number(parser, names[row], header[row].least, header[row].most, &number)) {
        return -1;
    }
    *(uint32_t *)(void *)((char *)parser->schedule + header[row].offset) = (uint32_t)number;
    return parse_line_end(parser);
}

static int check_levels(const struct parser *parser)
{
    const struct sched_request *request = &parser->schedule->request;
    uint64_t product = 1;
    for (uint32_t i = 0; i < request->nr_levels; i++) {
        product *= request->levels[i];
    }
    if (request->nr_levels > 0 && product != request->ranks) {
        return parse_fail(parser, 1, "the levels have %" PRIu64 " ranks together, not %" PRIu32,
                          product, request->ranks);
    }
    return 0;
}

/* What no single line can show. */
static int check_header(const struct parser *parser, unsigned seen)
{
    const struct schedule *schedule = parser->schedule;
    for (size_t i = 0; i < HEADER_NR; i++) {
        if (header[i].needed && !(seen & 1U << i)) {
            return parse_fail(parser, 1, "the header has no line '%s ...'", header[i].name);
        }
    }
    for (uint32_t i = 0; i < schedule->shape.nr_credits; i++) {
        const struct sched_credit *credit = &schedule->shape.credits[i];
        if (credit->from_lane >= schedule->shape.lanes ||
            credit->to_lane >= schedule->shape.lanes) {
            return parse_fail(parser, 1, "credit from %u to %u: there are only %" PRIu32 " lanes",
                              credit->from_lane, credit->to_lane, schedule->shape.lanes);
        }
    }
    if (schedule->request.in_place && !coll_in_place(schedule->request.collective)) {
        return parse_fail(parser, 1, "%s has no form in place: leave 'in-place yes' out",
                          coll_name(schedule->request.collective));
    }
    if ((uint64_t)schedule->shape.chunks * schedule->request.ranks > PARSE_NUMBER_MOST) {
        return parse_fail(parser, 1, "chunks x ranks: expected at most %d", PARSE_NUMBER_MOST);
    }
    return check_levels(parser);
}

int parse_header(struct parser *parser)
{
    unsigned seen = 0;
    for (;;) {
        bool is_there = false;
        if (parse_next_line(parser, &is_there)) {
            return -1;
        }
        const char *before = parser->at;
        struct parse_word word = parse_next(parser);
        if (!is_there) {
            return parse_fail(parser, 1, "the text ends: expected a line 'position ...'");
        }
        if (parser->indent > 0) {
            return parse_fail(parser, word.column, "a line of the header is not indented");
        }
        if (parse_is(word, "position")) {
            parser->at = before;
            return check_header(parser, seen);
        }
        if (parse_header_line(parser, word, &seen)) {
            return -1;
        }
    }
}
