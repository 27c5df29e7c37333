/* schedule_picture.c - messages in words: chunks get the names that a reader of the collective
 * would give them, whatever buffer they lie in.
 */
#include "schedule_picture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_SHOWN = 4 }; /* of chunks in one message */

/* ---- chunks, named ---- */

/* A value's name as a number: the chunk of the message that it belongs to; for all-to-all
 * sender x chunks + chunk of `in`. */
uint64_t picture_name(const struct schedule *schedule, struct play_value value)
{
    uint32_t source = (uint32_t)__builtin_ctzll(value.from);
    switch (schedule->request.collective) {
    case COLL_ALL_GATHER:
    case COLL_GATHER:
    case COLL_SEND_RECV:
    case COLL_ALL_TO_ALL:
        return (uint64_t)source * sched_chunks(schedule, SCHED_IN) + value.chunk;
    default:
        return value.chunk;
    }
}

static int compare_names(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

/* "c" for a chunk of the message; of an all-to-all its sender, a for position 0, b for 1. */
static const char *prefix_of(const struct picture *picture, uint64_t name)
{
    uint64_t sender = name / sched_chunks(picture->schedule, SCHED_IN);
    return picture->schedule->request.collective != COLL_ALL_TO_ALL ? "c"
           : sender < 26 ? arena_printf(picture->arena, "%c", (int)('a' + sender))
                         : arena_printf(picture->arena, "%" PRIu64 ">", sender);
}

/* "c0..2,5", "a1,3,b0": names in order, neighbours as one run; of an all-to-all only those of one
 * sender. */
static const char *names_text(const struct picture *picture, const uint64_t *names, uint32_t nr)
{
    bool by_sender = picture->schedule->request.collective == COLL_ALL_TO_ALL;
    uint64_t in = by_sender ? sched_chunks(picture->schedule, SCHED_IN) : UINT64_MAX;
    const char *text = "";
    uint32_t runs = 0;
    for (uint32_t i = 0, end; i < nr; i = end) {
        for (end = i + 1; end < nr && names[end] == names[end - 1] + 1 && names[end] % in != 0;) {
            end++;
        }
        if (runs++ == RUNS_SHOWN) {
            return arena_printf(picture->arena, "%s,+%" PRIu32, text, nr - i);
        }
        bool same = i > 0 && names[i] / in == names[i - 1] / in;
        text = arena_printf(picture->arena, "%s%s%s%" PRIu64, text, *text ? "," : "",
                            same ? "" : prefix_of(picture, names[i]), names[i] % in);
        if (end - i > 1) {
            text = arena_printf(picture->arena, "%s%s%" PRIu64, text, end - i == 2 ? "," : "..",
                                names[end - 1] % in);
        }
    }
    return text;
}

static const char *chunks_text(const struct picture *picture, const struct play_value *values,
                               uint32_t nr)
{
    uint64_t *names = arena_alloc(picture->arena, nr, sizeof *names);
    uint32_t known = 0, distinct = 0;
    for (uint32_t i = 0; i < nr; i++) {
        if (values[i].from != 0) {
            names[known++] = picture_name(picture->schedule, values[i]);
        }
    }
    qsort(names, known, sizeof *names, compare_names);
    for (uint32_t i = 0; i < known; i++) {
        if (i == 0 || names[i] != names[distinct - 1]) {
            names[distinct++] = names[i];
        }
    }
    const char *text = names_text(picture, names, distinct);
    return known == nr ? text
                       : arena_printf(picture->arena, "%s%s?", text, *text != '\0' ? "," : "");
}

/* ---- messages ---- */

static bool same_content(const struct play_message *a, const struct play_message *b)
{
    return a->nr == b->nr && memcmp(a->values, b->values, a->nr * sizeof *a->values) == 0;
}

/* "1", "1..3,5": the positions that get the same as `message`; marks their messages as shown. */
static const char *receivers_text(const struct picture *picture, size_t message, bool *shown)
{
    const struct play *play = picture->play;
    const struct play_message *one = &play->messages[message];
    uint64_t to = 0;
    for (size_t i = message; i < play->nr_messages; i++) {
        const struct play_message *other = &play->messages[i];
        if (!shown[i] && other->from == one->from && other->round == one->round &&
            other->added == one->added && same_content(one, other) &&
            !(to & UINT64_C(1) << other->to)) {
            shown[i] = true;
            to |= UINT64_C(1) << other->to;
        }
    }
    const char *text = "";
    for (uint32_t p = 0, end; p < picture->schedule->request.ranks; p = end) {
        end = p + 1;
        if (!(to & UINT64_C(1) << p)) {
            continue;
        }
        while (end < picture->schedule->request.ranks && to & UINT64_C(1) << end) {
            end++;
        }
        text = arena_printf(picture->arena, "%s%s%" PRIu32, text, *text ? "," : "", p);
        text = end - p == 1 ? text
                            : arena_printf(picture->arena, "%s%s%" PRIu32, text,
                                           end - p == 2 ? "," : "..", end - 1);
    }
    return text;
}

void picture_make(struct picture *picture)
{
    const struct play *play = picture->play;
    bool *shown = arena_alloc(picture->arena, play->nr_messages + 1, sizeof *shown);
    picture->cells =
        arena_alloc(picture->arena, ((size_t)play->rounds + 1) * picture->schedule->request.ranks,
                    sizeof *picture->cells);
    for (size_t i = 0; i < play->nr_messages; i++) {
        const struct play_message *message = &play->messages[i];
        if (shown[i]) {
            continue;
        }
        const char *chunks = chunks_text(picture, message->values, message->nr);
        const char *to = receivers_text(picture, i, shown);
        struct picture_cell *cell =
            &picture->cells[message->round * picture->schedule->request.ranks + message->from];
        void *lines = cell->lines;
        array_grow(&lines, &cell->capacity, cell->nr, sizeof *cell->lines);
        cell->lines = lines;
        cell->lines[cell->nr++] = arena_printf(
            picture->arena, message->added ? "%" PRIu32 " -%s-> %s" : "%" PRIu32 " =%s=> %s",
            message->from, chunks, to);
    }
}

void picture_free(struct picture *picture)
{
    for (size_t i = 0; i < ((size_t)picture->play->rounds + 1) * picture->schedule->request.ranks;
         i++) {
        free(picture->cells[i].lines);
    }
}

int picture_widest(const struct picture *picture)
{
    size_t widest = 0;
    for (size_t i = 0; i < ((size_t)picture->play->rounds + 1) * picture->schedule->request.ranks;
         i++) {
        for (size_t line = 0; line < picture->cells[i].nr; line++) {
            size_t length = strlen(picture->cells[i].lines[line]);
            widest = length > widest ? length : widest;
        }
    }
    return (int)widest;
}
