/* schedule_page.c - one schedule on a page: where it comes from, its shape, its counts, its
 * programs.
 */
#include "schedule_page.h"

#include "json.h"
#include "sched_text.h"
#include "schedule_table.h"
#include "walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *collectives_text(unsigned collectives, struct arena *arena)
{
    const char *text = "";
    for (int c = 0; c < COLL_NR; c++) {
        if (collectives & 1U << c) {
            text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "",
                                coll_name((enum collective)c));
        }
    }
    return text;
}

enum { UNROLLED_RANKS_MOST = 4096, PROGRAM_LINES_MOST = 60 };

/* Beyond what can be unrolled, one position a role is counted, and rounds are not known. */
static int count_schedule(const struct schedule *schedule, struct walk_count *count,
                          struct error *error)
{
    return schedule->request.ranks > UNROLLED_RANKS_MOST ? walk_count_folded(schedule, count, error)
                                                         : walk_count_all(schedule, count, error);
}

/* "2x4"; "" without levels. */
static const char *levels_text(const struct sched_request *request, struct arena *arena)
{
    const char *text = "";
    for (uint32_t i = 0; i < request->nr_levels; i++) {
        text = arena_printf(arena, "%s%s%" PRIu32, text, i ? "x" : "", request->levels[i]);
    }
    return text;
}

static struct json *page_json(const struct schedule *schedule, const struct walk_count *count,
                              struct arena *arena)
{
    const struct algorithm *row = schedule->row;
    struct json *page = json_make_object();
    json_put_text(page, "algorithm", schedule->name);
    json_put_text(page, "what", row ? row->what : NULL);
    json_put_text(page, "paper", row ? row->paper : NULL);
    json_put_text(page, "needs", row ? schedule_needs(row->needs, arena) : NULL);
    json_put_text(page, "order_of_summation", row ? row->order : NULL);
    json_put_text(page, "collective", coll_name(schedule->request.collective));
    json_put_integer(page, "ranks", schedule->request.ranks);
    json_put_text(page, "levels",
                  schedule->request.nr_levels > 0 ? levels_text(&schedule->request, arena) : NULL);
    json_put_bool(page, "in_place", schedule->request.in_place);
    json_put_integer(page, "chunks", schedule->shape.chunks);
    json_put_integer(page, "scratch_chunks", schedule->shape.scratch);
    json_put_integer(page, "scratch_copies", schedule->shape.copies);
    json_put_integer(page, "lanes", schedule->shape.lanes);
    if (schedule->request.ranks <= UNROLLED_RANKS_MOST) {
        json_put_integer(page, "rounds", (int64_t)count->rounds);
    }
    json_put_integer(page, "messages", (int64_t)count->messages);
    json_put_integer(page, "chunks_sent", (int64_t)count->chunks_sent);
    json_put_integer(page, "most_chunks_sent", (int64_t)count->most_sent);
    json_put_number(page, "most_sent_messages", schedule_volume(schedule, count));
    json_put_integer(page, "chunks_reduced", (int64_t)count->chunks_reduced);
    json_put_integer(page, "program_steps", (int64_t)count->items);
    return page;
}

static void print_words(const struct schedule *schedule, FILE *out, struct arena *arena)
{
    const struct algorithm *row = schedule->row;
    if (!row) {
        fprintf(out, "%s (from a file)\n", schedule->name);
        return;
    }
    fprintf(out, "%s: %s\n", row->name, row->what);
    fprintf(out, "  %-12s %s\n", "from", row->paper);
    fprintf(out, "  %-12s %s\n", "serves", collectives_text(row->collectives, arena));
    fprintf(out, "  %-12s %s\n", "needs", schedule_needs(row->needs, arena));
    fprintf(out, "  %-12s %s\n", "sums up", row->order);
}

static void print_shape(const struct schedule *schedule, FILE *out)
{
    const struct sched_shape *shape = &schedule->shape;
    fprintf(out, "  %-12s %" PRIu32 " in each loop: %" PRIu32 " of in, %" PRIu32 " of out",
            "chunks", shape->chunks, sched_chunks(schedule, SCHED_IN),
            sched_chunks(schedule, SCHED_OUT));
    if (shape->scratch > 0) {
        fprintf(out, ", %" PRIu32 " of scratch in %" PRIu32 " cop%s", shape->scratch, shape->copies,
                shape->copies == 1 ? "y" : "ies");
    }
    fprintf(out, "\n  %-12s %" PRIu32 "\n", "lanes", shape->lanes);
    for (uint32_t i = 0; i < shape->nr_credits; i++) {
        fprintf(out, "  %-12s %" PRIu32 " tokens from lane %u to lane %u at the start\n", "credit",
                shape->credits[i].tokens, shape->credits[i].from_lane, shape->credits[i].to_lane);
    }
}

static void print_counts(const struct schedule *schedule, const struct walk_count *count, FILE *out)
{
    if (schedule->request.ranks <= UNROLLED_RANKS_MOST) {
        fprintf(out, "  %-12s %" PRIu64 "\n", "rounds", count->rounds);
    }
    fprintf(out, "  %-12s %" PRIu64 " in all, %" PRIu64 " chunks\n", "messages", count->messages,
            count->chunks_sent);
    fprintf(out, "  %-12s %" PRIu64 " chunks sent by the busiest rank: %.4g x the message\n",
            "volume", count->most_sent, schedule_volume(schedule, count));
    fprintf(out, "  %-12s %" PRIu64 " of a chunk\n", "additions", count->chunks_reduced);
    fprintf(out, "  %-12s %" PRIu64 " written down for a rank, %" PRIu64 " carried out by all\n",
            "steps", count->items, count->steps);
}

static void print_block(const char *block, size_t length, FILE *out)
{
    unsigned lines = 0;
    for (const char *line = block; line < block + length; lines++) {
        size_t width = strcspn(line, "\n");
        if (lines == PROGRAM_LINES_MOST) {
            fputs("  ... (--dump has all of it)\n", out);
            return;
        }
        fprintf(out, width > 0 ? "  %.*s\n" : "%.*s\n", (int)width, line);
        line += width + (line[width] != '\0');
    }
}

/* The programs, which are the text form's blocks "position 0-3 ...". Of positions that do the same
 * with other peers and chunks only the first is shown. */
static void print_programs(const struct schedule *schedule, FILE *out)
{
    const struct algorithm *row = schedule->row;
    struct arena arena = ARENA_EMPTY;
    bool *shown = arena_alloc(&arena, schedule->request.ranks, sizeof *shown);
    size_t left_out = 0;
    char *text = sched_dump(schedule);
    const char *block = strstr(text, "\nposition ");
    while (block) {
        const char *next = strstr(block + 1, "\nposition ");
        size_t length = next ? (size_t)(next - block) : strlen(block);
        uint32_t lowest = (uint32_t)strtoul(block + strlen("\nposition "), NULL, 10);
        uint32_t role = row && row->role ? row->role(&schedule->request, lowest) : lowest;
        left_out += shown[role];
        if (!shown[role]) {
            print_block(block + 1, length - 1, out);
        }
        shown[role] = true;
        block = next;
    }
    if (left_out > 0) {
        fprintf(out, "  %zu more differ from these in peers and chunks only (--dump has all)\n",
                left_out);
    }
    free(text);
    arena_release(&arena);
}

int schedule_print_page(const struct schedule *schedule, enum table_format format, FILE *out,
                        struct error *error)
{
    const struct sched_request *request = &schedule->request;
    struct walk_count count;
    struct arena arena = ARENA_EMPTY;
    if (count_schedule(schedule, &count, error)) {
        return -1;
    }
    if (format == TABLE_AS_JSON) {
        struct json *page = page_json(schedule, &count, &arena);
        char *text = json_to_text(page, 2);
        fprintf(out, "%s\n", text);
        free(text);
        json_free(page);
    } else {
        print_words(schedule, out, &arena);
        fprintf(out, "\n%s on %" PRIu32 " ranks%s%s", coll_name(request->collective),
                request->ranks, request->nr_levels > 0 ? " as " : "", levels_text(request, &arena));
        fputs(request->in_place ? ", in place\n" : ", out of place\n", out);
        print_shape(schedule, out);
        print_counts(schedule, &count, out);
        fputs("\nprogram (r: the own position; ccltune schedule --help names the words)\n", out);
        if (request->ranks <= UNROLLED_RANKS_MOST) {
            print_programs(schedule, out);
        } else {
            fprintf(out, "  (shown for up to %d ranks)\n", UNROLLED_RANKS_MOST);
        }
    }
    arena_release(&arena);
    return 0;
}
