/* sched_parse.c - reads a schedule from text, strictly: every fault has its line and column.
 *
 * A line is one thing; two spaces of indentation a level; '#' begins a comment.
 *
 *     ccltune schedule 1                   the first line
 *     name ring                            what follows in any order, once each
 *     collective allreduce
 *     ranks 8
 *     in-place yes                         else no
 *     levels 2x4                           hosts x ranks per host, where the algorithm has levels
 *     chunks 8                             per part of in and out
 *     scratch 4                            chunks of one copy; else none
 *     copies 2                             of scratch; else 1
 *     lanes 2                              else 1
 *     credit from 1 to 0 tokens 2          tokens that lie between two lanes at the start
 *
 *     position 0-5,7                       every position once; r is the position's own number
 *       lane 0
 *         step recv r-1 take in r store out r send r+1 value
 *         repeat 6                         may hold repeats once
 *           step send r+1 in r-1 move -1
 *
 *     step   = step {recv PEERS} [take CHUNKS] [store CHUNKS | place CHUNKS]
 *              {send PEERS value | send PEERS CHUNKS} [via slot|pull|push] [compute NAME]
 *     PEERS  = N [count N] [group] [lane N] [move N] [SPACE]
 *     CHUNKS = token | in|out|scratch N [run N] [gap N] [runs N] [last N] [move N] [per-peer N]
 *              [SPACE]
 *     SPACE  = [mod N] [base N] [stride N] [outer N]
 *
 * PEERS are the positions N, N + 1, ... (count of them), modulo the ranks; `move` is added in every
 * turn of the innermost repeat. CHUNKS are `runs` runs of `run` chunks from N on, `gap` apart, none
 * from `last` on, modulo the buffer's chunks; `per-peer` is added for every peer after a list's
 * first. SPACE renames: x becomes base + stride * (x modulo mod) + outer * turn of the outermost
 * repeat. `store` takes the one value that all that is received and `take` make; `place` takes what
 * comes from each peer. A token is a message without chunks, `step` alone does nothing.
 *
 * A block that says r is read once for each of its positions; nothing is kept but programs.
 */
#include "sched_parse.h"

#include "file.h"
#include "sched_build.h"
#include "sched_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MOST = 64 << 20,  /* bytes */
    ITEMS_MOST = 100000,   /* of all positions */
    REPEAT_MOST = 1 << 24, /* product of nested repeats */
    INDENT = 2
};

/* ---- programs ---- */

struct block { /* a lane that is being read */
    struct sched_builder *builder;
    int lane; /* -1: none yet */
    unsigned lanes_seen;
    size_t depth;         /* open repeats */
    uint32_t times[2];    /* of each */
    bool repeat_is_empty; /* the last line opened a repeat */
};

static int close_repeats(const struct parser *parser, struct block *block, size_t depth)
{
    if (block->repeat_is_empty && depth < block->depth) {
        return parse_fail(parser, parser->indent + 1,
                          "the repeat before this line is empty: indent its items by two spaces");
    }
    for (; block->depth > depth; block->depth--) {
        build_end(block->builder, (uint8_t)block->lane);
    }
    return 0;
}

static int parse_lane_line(struct parser *parser, struct block *block)
{
    int32_t lane = 0;
    struct parse_word word = parse_next(parser);
    if (!parse_is(word, "lane")) {
        return parse_fail(parser, word.column, "'%.*s': expected 'lane N' here", (int)word.length,
                          word.text);
    }
    if (close_repeats(parser, block, 0) ||
        parse_number(parser, "lane", 0, (int64_t)parser->schedule->shape.lanes - 1, &lane)) {
        return -1;
    }
    if (block->lanes_seen & 1U << lane) {
        return parse_fail(parser, word.column, "lane %" PRId32 " is given twice", lane);
    }
    block->lanes_seen |= 1U << lane;
    block->lane = lane;
    return parse_line_end(parser);
}

static int parse_repeat(struct parser *parser, struct block *block)
{
    int32_t times = 0;
    if (block->depth == 2) {
        return parse_fail(parser, parser->indent + 1,
                          "a repeat within a repeat within a repeat: they nest once");
    }
    if (parse_number(parser, "repeat", 1, REPEAT_MOST, &times)) {
        return -1;
    }
    if (block->depth == 1 && (uint64_t)block->times[0] * (uint64_t)times > REPEAT_MOST) {
        return parse_fail(parser, parser->indent + 1,
                          "%" PRIu32 " x %" PRId32 " repetitions: expected at most %d",
                          block->times[0], times, REPEAT_MOST);
    }
    build_repeat(block->builder, (uint8_t)block->lane, (uint32_t)times);
    block->times[block->depth++] = (uint32_t)times;
    block->repeat_is_empty = true;
    return parse_line_end(parser);
}

static int count_items(struct parser *parser, size_t more)
{
    parser->items += more;
    if (parser->items > ITEMS_MOST) {
        return parse_fail(parser, parser->indent + 1,
                          "more than %d steps and repeats, counted for every position", ITEMS_MOST);
    }
    return 0;
}

static int parse_item(struct parser *parser, struct block *block)
{
    static const char *const names[] = {"step", "repeat", NULL};
    size_t depth = parser->indent / INDENT - 2;
    struct parse_word word = parse_next(parser);
    if (depth > block->depth) {
        return parse_fail(parser, word.column, "indented by %zu spaces: expected %zu here",
                          parser->indent, (block->depth + 2) * INDENT);
    }
    if (close_repeats(parser, block, depth)) {
        return -1;
    }
    block->repeat_is_empty = false;
    int found = parse_find(word, names);
    if (found < 0) {
        return parse_fail_unknown(parser, word, "item", names);
    }
    if (count_items(parser, 1)) {
        return -1;
    }
    if (found == 1) {
        return parse_repeat(parser, block);
    }
    parser->outer_most = block->depth > 0 ? block->times[0] - 1 : 0;
    return parse_step(parser, build_step(block->builder, (uint8_t)block->lane));
}

/* A line of a block. */
static int parse_block_line(struct parser *parser, struct block *block)
{
    if (parser->indent % INDENT != 0) {
        return parse_fail(parser, parser->indent + 1,
                          "indented by %zu spaces: expected two for each level", parser->indent);
    }
    if (parser->indent == INDENT) {
        return parse_lane_line(parser, block);
    }
    if (block->lane < 0) {
        return parse_fail(parser, parser->indent + 1,
                          "expected 'lane N', indented by two spaces, before the first item");
    }
    return parse_item(parser, block);
}

/* The lines up to the next `position`, as the program of parser->position. */
static int parse_program(struct parser *parser, struct sched_program *program, bool *is_there)
{
    struct block block = {.builder = build_begin(parser->arena, parser->schedule->shape.lanes),
                          .lane = -1};
    parser->relative = false;
    for (;;) {
        if (parse_next_line(parser, is_there)) {
            return -1;
        }
        if (!*is_there || parser->indent == 0) {
            break;
        }
        if (parse_block_line(parser, &block)) {
            return -1;
        }
    }
    if (close_repeats(parser, &block, 0)) {
        return -1;
    }
    build_finish(block.builder, program);
    return 0;
}

/* ---- positions ---- */

/* One position or a range of them: marks those of the block. */
static const char *mark_positions(const struct parser *parser, const char *at, const char *stop,
                                  bool *in_block)
{
    int64_t first = 0, last = 0;
    at = parse_scan(at, stop, &first);
    last = first;
    if (at && at < stop && *at == '-') {
        at = parse_scan(at + 1, stop, &last);
    }
    if (!at || first < 0 || last < first || last >= parser->schedule->request.ranks) {
        return NULL;
    }
    for (int64_t p = first; p <= last; p++) {
        in_block[p] = true;
    }
    return at;
}

static int parse_positions(struct parser *parser, bool *in_block)
{
    struct parse_word word = parse_next(parser);
    const char *at = word.text, *stop = word.text + word.length;
    memset(in_block, 0, parser->schedule->request.ranks);
    do {
        at = mark_positions(parser, at, stop, in_block);
    } while (at && at < stop && *at++ == ',');
    if (!at || at != stop || at[-1] == ',') {
        return parse_fail(parser, word.column,
                          "positions '%.*s': expected numbers from 0 to %" PRIu32 ", such as 0-3,6",
                          (int)word.length, word.text, parser->schedule->request.ranks - 1);
    }
    return parse_line_end(parser);
}

/* The block behind a `position` line: once, or for each of its positions. */
static int parse_block(struct parser *parser, struct sched_program *programs, bool *in_block,
                       bool *is_there)
{
    struct parser begin = *parser;
    const struct sched_program *shared = NULL;
    size_t items_of_shared = 0;
    for (uint32_t p = 0; p < parser->schedule->request.ranks; p++) {
        if (!in_block[p]) {
            continue;
        }
        if (programs[p].nr_lanes > 0) {
            return parse_fail(&begin, 1, "position %" PRIu32 " is given twice", p);
        }
        if (shared) {
            programs[p] = *shared;
            if (count_items(parser, items_of_shared)) {
                return -1;
            }
            continue;
        }
        size_t items_before = parser->items;
        parser->next = begin.next;
        parser->line = begin.line;
        parser->position = p;
        if (parse_program(parser, &programs[p], is_there)) {
            return -1;
        }
        shared = parser->relative ? NULL : &programs[p];
        items_of_shared = parser->items - items_before;
    }
    return 0;
}

static int parse_blocks(struct parser *parser)
{
    uint32_t ranks = parser->schedule->request.ranks;
    struct sched_program *programs = arena_alloc(parser->arena, ranks, sizeof *programs);
    bool *in_block = arena_alloc(parser->arena, ranks, sizeof *in_block);
    bool is_there = true;
    while (is_there) {
        struct parse_word word = parse_next(parser);
        if (!parse_is(word, "position")) {
            return parse_fail(parser, word.column, "'%.*s': expected a line 'position ...'",
                              (int)word.length, word.text);
        }
        if (parse_positions(parser, in_block) ||
            parse_block(parser, programs, in_block, &is_there)) {
            return -1;
        }
    }
    for (uint32_t p = 0; p < ranks; p++) {
        if (programs[p].nr_lanes == 0) {
            return parse_fail(parser, 1,
                              "position %" PRIu32 " is missing: expected all from 0 to %" PRIu32, p,
                              ranks - 1);
        }
    }
    parser->schedule->programs = programs;
    return 0;
}

/* ---- the whole ---- */

static int parse_first_line(struct parser *parser)
{
    bool is_there = false;
    if (parse_next_line(parser, &is_there)) {
        return -1;
    }
    struct parse_word one = parse_next(parser), two = parse_next(parser),
                      version = parse_next(parser);
    if (!is_there || parser->indent > 0 || !parse_is(one, "ccltune") ||
        !parse_is(two, "schedule")) {
        return parse_fail(parser, 1, "this is no schedule: its first line is 'ccltune schedule 1'");
    }
    if (!parse_is(version, "1")) {
        return parse_fail(parser, version.column, "version '%.*s': this program reads 1",
                          (int)version.length, version.text);
    }
    return parse_line_end(parser);
}

static int parse_all(struct parser *parser)
{
    return parse_first_line(parser) || parse_header(parser) || parse_blocks(parser) ? -1 : 0;
}

int sched_load(struct arena *arena, const char *text, size_t length, const char *name,
               struct schedule *schedule, struct error *error)
{
    struct schedule read = {.shape = {.copies = 1, .lanes = 1}};
    struct parser parser = {.name = name,
                            .end = text + length,
                            .next = text,
                            .schedule = &read,
                            .arena = arena,
                            .error = error};
    if (length > TEXT_MOST) {
        return error_set(error, EXIT_INPUT, "%s: %zu bytes: expected at most %d", name, length,
                         TEXT_MOST);
    }
    if (parse_all(&parser)) {
        return -1;
    }
    *schedule = read;
    return 0;
}

int sched_load_file(struct arena *arena, const char *path, struct schedule *schedule,
                    struct error *error)
{
    char *text = NULL;
    size_t length = 0;
    if (file_read(path, TEXT_MOST, &text, &length, error)) {
        return -1;
    }
    int result = sched_load(arena, text, length, path, schedule, error);
    free(text);
    return result;
}
