/* schedule_draw.c - draws what schedule_play.c played.
 *
 * Columns are positions and rows are rounds, so that a look down a column follows one position and
 * a look along a row sees what is under way at once. Under the messages of a round stands what each
 * position has in hand then, one character a chunk. Where the columns do not fit into a terminal,
 * only messages are shown, side by side.
 */
#include "schedule_draw.h"

#include "schedule_picture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 120,
    ROUND_WIDTH = 7,
    INDENT = 4,
    CHUNKS_SHOWN = 32 /* of what is in hand */
};

struct drawing {
    const struct schedule *schedule;
    const struct play *play;
    const struct picture_cell *cells; /* as in struct picture */
    struct arena *arena;
    FILE *out;
    uint32_t ranks;
    uint32_t chunks; /* in hand: how many are told apart; 0: it is not shown */
    uint32_t needed; /* ... and from how many positions each has to come */
    int width;       /* of a column; 0: columns do not fit */
};

/* ---- what is in hand ---- */

/* Which character of a position's line a value belongs to; `chunks` or more: none. */
static uint64_t place_of(const struct drawing *drawing, uint32_t position, struct play_value value)
{
    const struct schedule *schedule = drawing->schedule;
    if (schedule->request.collective == COLL_ALL_TO_ALL) {
        uint32_t chunks = schedule->shape.chunks;
        uint64_t source = (uint32_t)__builtin_ctzll(value.from);
        return value.chunk / chunks == position ? source * chunks + value.chunk % chunks
                                                : UINT64_MAX;
    }
    return picture_name(schedule, value);
}

static void choose_in_hand(struct drawing *drawing)
{
    const struct schedule *schedule = drawing->schedule;
    uint32_t in = sched_chunks(schedule, SCHED_IN), out = sched_chunks(schedule, SCHED_OUT);
    drawing->chunks = in > out ? in : out;
    if (schedule->request.collective == COLL_SEND_RECV) {
        drawing->chunks = in * drawing->ranks;
    }
    if (drawing->chunks > CHUNKS_SHOWN) {
        drawing->chunks = 0;
    }
    drawing->needed = coll_reduces(schedule->request.collective) ? drawing->ranks : 1;
}

static char mark_of(unsigned contributions, unsigned needed)
{
    static const char digits[] = ".123456789abcdefghijklmnopqrstuvwxyz";
    return contributions >= needed             ? '#'
           : contributions < sizeof digits - 1 ? digits[contributions]
                                               : '+';
}

/* most[position * chunks + chunk]: from how many positions the best sum had in hand has come. */
static void count_in_hand(const struct drawing *drawing, uint32_t round, unsigned *most)
{
    for (size_t i = 0; i < drawing->play->nr_held; i++) {
        const struct play_held *held = &drawing->play->held[i];
        uint64_t place = place_of(drawing, held->position, held->value);
        unsigned contributions = (unsigned)__builtin_popcountll(held->value.from);
        if (held->round == round && place < drawing->chunks) {
            unsigned *at = &most[held->position * drawing->chunks + place];
            *at = contributions > *at ? contributions : *at;
        }
    }
}

/* ---- rows of text ---- */

/* Ranks of one host of the outermost level stand side by side. */
static const char *gap_before(const struct drawing *drawing, uint32_t position)
{
    const struct sched_request *request = &drawing->schedule->request;
    bool hosts = request->nr_levels > 1 && request->levels[0] > 1;
    return hosts && position > 0 && position % (request->ranks / request->levels[0]) == 0 ? " | "
                                                                                          : "  ";
}

/* A line of columns: blanks wait until something follows them. */
struct line {
    const struct drawing *drawing;
    int blanks;
};

static void put_text(struct line *line, const char *text, int width)
{
    int length = (int)strlen(text);
    if (length > 0) {
        fprintf(line->drawing->out, "%*s%s", line->blanks, "", text);
        line->blanks = 0;
    }
    line->blanks += width > length ? width - length : 0;
}

static struct line begin_line(const struct drawing *drawing, const char *label)
{
    struct line line = {drawing, 0};
    put_text(&line, label, ROUND_WIDTH);
    return line;
}

static void put_column(struct line *line, uint32_t position, const char *text)
{
    const struct drawing *drawing = line->drawing;
    const char *gap = position > 0 ? gap_before(drawing, position) : "";
    put_text(line, *gap && gap[1] == '|' ? gap : "", (int)strlen(gap));
    put_text(line, text, drawing->width);
    if (position + 1 == drawing->ranks) {
        fputc('\n', drawing->out);
    }
}

static void put_heads(const struct drawing *drawing)
{
    struct line line = begin_line(drawing, "round");
    for (uint32_t p = 0; p < drawing->ranks; p++) {
        put_column(&line, p, arena_printf(drawing->arena, "%" PRIu32, p));
    }
}

static void put_in_hand(const struct drawing *drawing, const char *label, const unsigned *most)
{
    if (drawing->chunks == 0) {
        return;
    }
    struct line line = begin_line(drawing, label);
    for (uint32_t p = 0; p < drawing->ranks; p++) {
        char text[CHUNKS_SHOWN + 1] = "";
        for (uint32_t c = 0; c < drawing->chunks; c++) {
            text[c] = mark_of(most[p * drawing->chunks + c], drawing->needed);
        }
        put_column(&line, p, text);
    }
}

static void put_messages(const struct drawing *drawing, uint32_t round)
{
    const struct picture_cell *cells = &drawing->cells[(size_t)round * drawing->ranks];
    size_t lines = 0;
    for (uint32_t p = 0; p < drawing->ranks; p++) {
        lines = cells[p].nr > lines ? cells[p].nr : lines;
    }
    for (size_t i = 0; i < lines; i++) {
        struct line line =
            begin_line(drawing, i == 0 ? arena_printf(drawing->arena, "%" PRIu32, round) : "");
        for (uint32_t p = 0; p < drawing->ranks; p++) {
            put_column(&line, p, i < cells[p].nr ? cells[p].lines[i] : "");
        }
    }
}

static void put_columns(const struct drawing *drawing)
{
    unsigned *most =
        arena_alloc(drawing->arena, (size_t)drawing->ranks * drawing->chunks + 1, sizeof *most);
    put_heads(drawing);
    count_in_hand(drawing, 0, most);
    put_in_hand(drawing, "start", most);
    for (uint32_t round = 1; round <= drawing->play->rounds; round++) {
        put_messages(drawing, round);
        count_in_hand(drawing, round, most);
        put_in_hand(drawing, "", most);
    }
}

/* Too wide for columns: the messages of a round one after the other. */
static void put_lists(const struct drawing *drawing, int widest)
{
    for (uint32_t round = 1; round <= drawing->play->rounds; round++) {
        struct line line = {drawing, 0};
        int column = 0;
        fprintf(drawing->out, "round %" PRIu32, round);
        for (uint32_t p = 0; p < drawing->ranks; p++) {
            const struct picture_cell *cell = &drawing->cells[(size_t)round * drawing->ranks + p];
            for (size_t i = 0; i < cell->nr; i++) {
                if (column == 0 || column + widest > WIDTH) {
                    line.blanks = column = INDENT;
                    fputc('\n', drawing->out);
                }
                put_text(&line, cell->lines[i], widest + 2);
                column += widest + 2;
            }
        }
        fputc('\n', drawing->out);
    }
}

/* ---- the page ---- */

static bool any_message(const struct play *play, bool added)
{
    for (size_t i = 0; i < play->nr_messages; i++) {
        if (play->messages[i].added == added) {
            return true;
        }
    }
    return false;
}

static void put_legend(const struct drawing *drawing)
{
    const struct schedule *schedule = drawing->schedule;
    const struct sched_request *request = &schedule->request;
    bool adds = coll_reduces(request->collective),
         shown = drawing->width > 0 && drawing->chunks > 0;
    fprintf(drawing->out,
            "%s: %s on %" PRIu32 " position%s%s; one loop, a longer message repeats it\n\n",
            schedule->name, coll_name(request->collective), request->ranks,
            request->ranks == 1 ? "" : "s", request->in_place ? ", in place" : "");
    if (any_message(drawing->play, true)) {
        fputs("  0 -c3-> 1   0 sends chunk 3 to 1, which adds it\n", drawing->out);
    }
    if (any_message(drawing->play, false)) {
        fputs(request->collective == COLL_ALL_TO_ALL
                  ? "  0 =a3=> 1   0 sends 1 what a (position 0) has for 3\n"
                  : "  0 =c3=> 1   0 sends chunk 3 to 1, which keeps it or passes it on as it is\n",
              drawing->out);
    }
    if (shown && adds) {
        fprintf(drawing->out,
                "  12.#        in hand then, a mark a chunk: a sum over 1, over 2, nothing, all "
                "%" PRIu32 "\n",
                drawing->ranks);
    } else if (shown) {
        fputs("  .#          in hand then, a mark a chunk: not there, there\n", drawing->out);
    }
    fprintf(drawing->out, "  A message stands in the first round that it can be sent in.%s\n\n",
            shown ? "" : "\n  With fewer --ranks this also shows what each position has in hand.");
}

static void put_total(const struct drawing *drawing)
{
    const struct play *play = drawing->play;
    const struct sched_request *request = &drawing->schedule->request;
    uint32_t per_host = request->nr_levels > 1 ? request->ranks / request->levels[0] : 0;
    size_t across = 0;
    for (size_t i = 0; per_host > 0 && i < play->nr_messages; i++) {
        across += play->messages[i].from / per_host != play->messages[i].to / per_host;
    }
    fprintf(drawing->out, "\n%" PRIu32 " round%s, %zu messages", play->rounds,
            play->rounds == 1 ? "" : "s", play->nr_messages);
    if (per_host > 0) {
        fprintf(drawing->out, ", %zu of them between hosts (|)", across);
    }
    fputs(play->over ? "\n" : "; then it is stuck\n", drawing->out);
}

static void draw(struct drawing *drawing, int widest)
{
    choose_in_hand(drawing);
    int column = widest > (int)drawing->chunks ? widest : (int)drawing->chunks;
    bool fits = ROUND_WIDTH + (int)drawing->ranks * (column + 2) <= WIDTH;
    drawing->width = fits ? column : 0;
    put_legend(drawing);
    if (fits) {
        put_columns(drawing);
    } else {
        put_lists(drawing, widest);
    }
    put_total(drawing);
}

int schedule_draw(const struct schedule *schedule, FILE *out, struct error *error)
{
    struct play play;
    struct arena arena = ARENA_EMPTY;
    if (schedule->request.ranks > PLAY_POSITIONS_MOST) {
        return error_set(error, EXIT_INPUT,
                         "a picture has at most %d positions, not %" PRIu32
                         ": fewer --ranks show the same pattern",
                         PLAY_POSITIONS_MOST, schedule->request.ranks);
    }
    play_schedule(schedule, &arena, &play);
    struct picture picture = {.schedule = schedule, .play = &play, .arena = &arena};
    picture_make(&picture);
    struct drawing drawing = {.schedule = schedule,
                              .play = &play,
                              .cells = picture.cells,
                              .arena = &arena,
                              .out = out,
                              .ranks = schedule->request.ranks};
    draw(&drawing, picture_widest(&picture));
    picture_free(&picture);
    play_free(&play);
    arena_release(&arena);
    return 0;
}
