/* sched_text.c - writes a schedule as text; the grammar stands in sched_parse.c.
 *
 * Positions whose programs are equal by text share a block. So that a ring is one block, peers and
 * the chunks that belong to positions are written from the position's own place, r, where that
 * makes two positions equal; a position that stays alone is written with plain numbers.
 */
#include "sched_text.h"

#include "walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    FILE *out;
    const struct schedule *schedule;
    uint32_t position;
    bool relative; /* write numbers from r */
};

static FILE *open_text(char **text, size_t *length)
{
    FILE *out = open_memstream(text, length);
    if (!out) {
        arena_out_of_memory();
    }
    return out;
}

static char *close_text(FILE *out, char **text)
{
    if (fclose(out) != 0) {
        arena_out_of_memory();
    }
    return *text;
}

/* ---- steps ---- */

/* An index where only its residue matters, as the number nearest to r or to 0. */
static void put_residue(const struct writer *writer, int32_t first, int32_t size, bool relative)
{
    int64_t from = relative ? writer->position : 0;
    int64_t residue = (first - from) % size;
    residue += residue < 0 ? size : 0;
    if (!relative) {
        fprintf(writer->out, " %" PRId64, residue);
        return;
    }
    residue -= residue > size / 2 ? size : 0;
    fprintf(writer->out, residue ? " r%+" PRId64 : " r", residue);
}

static void put_number(const struct writer *writer, const char *name, int32_t value, int32_t plain)
{
    if (value != plain) {
        fprintf(writer->out, " %s %" PRId32, name, value);
    }
}

static void put_space(const struct writer *writer, const struct sched_space *space, uint32_t size)
{
    put_number(writer, "mod", space->size, (int32_t)size);
    put_number(writer, "base", space->base, 0);
    put_number(writer, "stride", space->stride, 1);
    put_number(writer, "outer", space->move, 0);
}

static struct sched_space plain_space(uint32_t size)
{
    return (struct sched_space){.size = (int32_t)size, .stride = 1};
}

/* One that is always the same position needs no space but the plain one. */
static struct sched_peers plain_peers(const struct writer *writer, const struct sched_peers *peers)
{
    const struct sched_space *space = &peers->space;
    struct sched_peers plain = *peers;
    if (peers->count == 1 && space->move == 0 && (peers->move == 0 || space->size == 1)) {
        plain.first = walk_space(space, peers->first, 0);
        plain.move = 0;
        plain.space = plain_space(writer->schedule->request.ranks);
    }
    return plain;
}

static struct sched_range plain_range(const struct writer *writer, const struct sched_range *range)
{
    const struct sched_space *space = &range->space;
    bool stays = (range->move == 0 && range->per_peer == 0) || space->size == 1;
    if (walk_range_length(range) != 1 || space->move != 0 || !stays) {
        return *range;
    }
    return (struct sched_range){.buffer = range->buffer,
                                .space = plain_space(sched_chunks(writer->schedule, range->buffer)),
                                .first = walk_space(space, range->first, 0),
                                .run = 1,
                                .runs = 1};
}

static void put_peers(const struct writer *writer, const struct sched_peers *written)
{
    struct sched_peers peers = plain_peers(writer, written);
    uint32_t ranks = writer->schedule->request.ranks;
    bool own = peers.space.size == (int32_t)ranks;
    put_residue(writer, peers.first, peers.space.size, writer->relative && own);
    put_number(writer, "count", peers.count, 1);
    fputs(peers.group ? " group" : "", writer->out);
    put_number(writer, "lane", peers.lane, 0);
    put_number(writer, "move", peers.move, 0);
    put_space(writer, &peers.space, ranks);
}

static void put_range(const struct writer *writer, const struct sched_range *written)
{
    static const char *const buffers[SCHED_BUFFERS] = {"in", "out", "scratch"};
    struct sched_range plain = plain_range(writer, written), *range = &plain;
    if (range->runs == 0) {
        fputs(" token", writer->out);
        return;
    }
    fprintf(writer->out, " %s", buffers[range->buffer]);
    if (range->last != 0) {
        fprintf(writer->out, " %" PRId32, range->first);
    } else {
        bool own = range->buffer != SCHED_SCRATCH &&
                   range->space.size == (int32_t)writer->schedule->request.ranks;
        put_residue(writer, range->first, range->space.size, writer->relative && own);
    }
    put_number(writer, "run", range->run, 1);
    put_number(writer, "gap", range->gap, 0);
    put_number(writer, "runs", range->runs, 1);
    put_number(writer, "last", range->last, 0);
    put_number(writer, "move", range->move, 0);
    put_number(writer, "per-peer", range->per_peer, 0);
    put_space(writer, &range->space, sched_chunks(writer->schedule, range->buffer));
}

static void put_step(const struct writer *writer, const struct sched_step *step)
{
    static const char *const ways[] = {
        [SCHED_SLOT] = "", [SCHED_PULL] = " via pull", [SCHED_PUSH] = " via push"};
    fputs("step", writer->out);
    for (unsigned i = 0; i < step->nr_recv; i++) {
        fputs(" recv", writer->out);
        put_peers(writer, &step->recv[i]);
    }
    if (step->takes) {
        fputs(" take", writer->out);
        put_range(writer, &step->take);
    }
    if (step->stores) {
        fputs(step->combine == SCHED_PLACE ? " place" : " store", writer->out);
        put_range(writer, &step->store);
    }
    for (unsigned i = 0; i < step->nr_send; i++) {
        fputs(" send", writer->out);
        put_peers(writer, &step->send[i].peers);
        if (step->send[i].value) {
            fputs(" value", writer->out);
        } else {
            put_range(writer, &step->send[i].range);
        }
    }
    fputs(ways[step->via], writer->out);
    if (step->compute) {
        fprintf(writer->out, " compute %s", step->compute);
    }
    fputc('\n', writer->out);
}

/* ---- a position ---- */

static void put_items(const struct writer *writer, const struct sched_item *items, size_t nr,
                      int indent)
{
    for (size_t i = 0; i < nr; i++) {
        fprintf(writer->out, "%*s", indent, "");
        if (items[i].times == 0) {
            put_step(writer, &items[i].step);
        } else {
            fprintf(writer->out, "repeat %" PRIu32 "\n", items[i].times);
            put_items(writer, items[i].items, items[i].nr, indent + 2);
        }
    }
}

static char *program_text(const struct schedule *schedule, uint32_t position, bool relative)
{
    char *text = NULL;
    size_t length = 0;
    struct arena arena = ARENA_EMPTY;
    struct writer writer = {open_text(&text, &length), schedule, position, relative};
    const struct sched_program *program = sched_program(schedule, position, &arena);
    for (uint32_t lane = 0; lane < program->nr_lanes; lane++) {
        if (program->lanes[lane].nr > 0) {
            fprintf(writer.out, "  lane %" PRIu32 "\n", lane);
            put_items(&writer, program->lanes[lane].items, program->lanes[lane].nr, 4);
        }
    }
    arena_release(&arena);
    return close_text(writer.out, &text);
}

/* ---- positions that share a text ---- */

struct of_position {
    uint32_t position;
    char *text;
};

static int compare_texts(const void *a, const void *b)
{
    const struct of_position *one = a, *other = b;
    int order = strcmp(one->text, other->text);
    return order ? order : (one->position > other->position) - (one->position < other->position);
}

/* first[p] = the lowest position with the text of p. */
static void find_equal(struct of_position *all, uint32_t nr, uint32_t *first, bool *shared)
{
    qsort(all, nr, sizeof *all, compare_texts);
    for (uint32_t i = 0; i < nr; i++) {
        bool same = i > 0 && strcmp(all[i].text, all[i - 1].text) == 0;
        first[all[i].position] = same ? first[all[i - 1].position] : all[i].position;
        if (same) {
            shared[first[all[i].position]] = true;
        }
    }
}

/* "0-3,6": the positions whose text is that of `lowest`. */
static void put_positions(FILE *out, const uint32_t *first, uint32_t nr, uint32_t lowest)
{
    const char *before = "position ";
    for (uint32_t p = lowest; p < nr; p++) {
        if (first[p] != lowest) {
            continue;
        }
        uint32_t end = p;
        while (end + 1 < nr && first[end + 1] == lowest) {
            end++;
        }
        fprintf(out, "%s%" PRIu32, before, p);
        if (end > p) {
            fprintf(out, "-%" PRIu32, end);
        }
        before = ",";
        p = end;
    }
    fputc('\n', out);
}

static void put_programs(FILE *out, const struct schedule *schedule)
{
    uint32_t nr = schedule->request.ranks;
    struct arena arena = ARENA_EMPTY;
    struct of_position *all = arena_alloc(&arena, nr, sizeof *all);
    uint32_t *first = arena_alloc(&arena, nr, sizeof *first);
    bool *shared = arena_alloc(&arena, nr, sizeof *shared);
    for (uint32_t p = 0; p < nr; p++) {
        all[p] = (struct of_position){p, program_text(schedule, p, true)};
    }
    find_equal(all, nr, first, shared);
    for (uint32_t p = 0; p < nr; p++) {
        if (first[p] == p) {
            char *text = program_text(schedule, p, shared[p]);
            fputc('\n', out);
            put_positions(out, first, nr, p);
            fputs(text, out);
            free(text);
        }
    }
    for (uint32_t p = 0; p < nr; p++) {
        free(all[p].text);
    }
    arena_release(&arena);
}

static void put_header(FILE *out, const struct schedule *schedule)
{
    const struct sched_request *request = &schedule->request;
    const struct sched_shape *shape = &schedule->shape;
    fprintf(out, "ccltune schedule 1\nname %s\ncollective %s\nranks %" PRIu32 "\n", schedule->name,
            coll_name(request->collective), request->ranks);
    fputs(request->in_place ? "in-place yes\n" : "", out);
    for (uint32_t i = 0; i < request->nr_levels; i++) {
        fprintf(out, "%s%" PRIu32, i ? "x" : "levels ", request->levels[i]);
    }
    fputs(request->nr_levels ? "\n" : "", out);
    fprintf(out, "chunks %" PRIu32 "\n", shape->chunks);
    if (shape->scratch > 0) {
        fprintf(out, "scratch %" PRIu32 "\n", shape->scratch);
    }
    if (shape->copies > 1) {
        fprintf(out, "copies %" PRIu32 "\n", shape->copies);
    }
    fprintf(out, "lanes %" PRIu32 "\n", shape->lanes);
    for (uint32_t i = 0; i < shape->nr_credits; i++) {
        fprintf(out, "credit from %u to %u tokens %" PRIu32 "\n", shape->credits[i].from_lane,
                shape->credits[i].to_lane, shape->credits[i].tokens);
    }
}

char *sched_dump(const struct schedule *schedule)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_text(&text, &length);
    put_header(out, schedule);
    put_programs(out, schedule);
    return close_text(out, &text);
}
