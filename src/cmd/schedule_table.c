/* schedule_table.c - algorithms in numbers, side by side.
 *
 * Everything is counted from the programs. The volume is what the busiest position sends, in
 * messages: chunks sent over the chunks of the larger buffer, so a ring's allreduce has 2(n-1)/n.
 */
#include "schedule_table.h"

#include "walk.h"

#include <inttypes.h>

/* ---- words and numbers of a schedule ---- */

const char *schedule_needs(unsigned needs, struct arena *arena)
{
    static const struct {
        unsigned need;
        const char *text;
    } words[] = {{SCHED_NEEDS_POWER_OF_TWO, "ranks a power of two"},
                 {SCHED_NEEDS_HIERARCHY, "levels"},
                 {SCHED_NEEDS_GROUP_PEER, "multicast"},
                 {SCHED_NEEDS_DIRECT, "direct access"},
                 {SCHED_NEEDS_COMMUTATIVE, "commutative op"}};
    const char *text = "";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (needs & words[i].need) {
            text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "", words[i].text);
        }
    }
    return *text ? text : "nothing";
}

double schedule_volume(const struct schedule *schedule, const struct walk_count *count)
{
    uint32_t in = sched_chunks(schedule, SCHED_IN), out = sched_chunks(schedule, SCHED_OUT);
    return (double)count->most_sent / (in > out ? in : out);
}

/* ---- the table ---- */

enum {
    ALGORITHM,
    COLLECTIVE,
    RANKS,
    ROUNDS,
    VOLUME,
    MESSAGES,
    ADDITIONS,
    CHUNKS,
    SCRATCH,
    COPIES,
    LANES,
    ITEMS,
    NEEDS,
    ORDER,
    WHAT,
    PAPER,
    WHY_NOT,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [ALGORITHM] = {.key = "algorithm", .title = "algorithm"},
    [COLLECTIVE] = {.key = "collective", .title = "collective"},
    [RANKS] = {.key = "ranks", .title = "ranks", .type = TABLE_INTEGER},
    [ROUNDS] = {.key = "rounds", .title = "rounds", .type = TABLE_INTEGER},
    [VOLUME] = {.key = "most_sent_messages", .title = "volume", .type = TABLE_NUMBER, .digits = 4},
    [MESSAGES] = {.key = "messages", .title = "messages", .type = TABLE_INTEGER},
    [ADDITIONS] = {.key = "chunks_reduced", .title = "additions", .type = TABLE_INTEGER},
    [CHUNKS] = {.key = "chunks", .title = "chunks", .type = TABLE_INTEGER},
    [SCRATCH] = {.key = "scratch_chunks", .title = "scratch", .type = TABLE_INTEGER},
    [COPIES] = {.key = "scratch_copies", .title = "copies", .type = TABLE_INTEGER},
    [LANES] = {.key = "lanes", .title = "lanes", .type = TABLE_INTEGER},
    [ITEMS] = {.key = "program_steps", .title = "steps", .type = TABLE_INTEGER},
    [NEEDS] = {.key = "needs", .title = "needs"},
    [ORDER] = {.key = "order_of_summation", .title = "order"},
    [WHAT] = {.key = "what", .title = "what"},
    [PAPER] = {.key = "paper", .title = "paper"},
    [WHY_NOT] = {.key = "why_not", .title = "why not"},
};

static void set_counts(struct table *table, const struct schedule *schedule,
                       const struct walk_count *count)
{
    table_set_integer(table, ROUNDS, (int64_t)count->rounds);
    table_set_number(table, VOLUME, schedule_volume(schedule, count));
    table_set_integer(table, MESSAGES, (int64_t)count->messages);
    table_set_integer(table, ADDITIONS, (int64_t)count->chunks_reduced);
    table_set_integer(table, CHUNKS, schedule->shape.chunks);
    table_set_integer(table, SCRATCH, schedule->shape.scratch);
    table_set_integer(table, COPIES, schedule->shape.copies);
    table_set_integer(table, LANES, schedule->shape.lanes);
    table_set_integer(table, ITEMS, (int64_t)count->items);
}

static void add_record(struct table *table, const struct algorithm *row,
                       const struct sched_request *request, struct arena *arena)
{
    struct schedule schedule;
    struct walk_count count;
    struct error why = ERROR_NONE;
    table_add_row(table);
    table_set_text(table, ALGORITHM, row->name);
    table_set_text(table, COLLECTIVE, coll_name(request->collective));
    table_set_integer(table, RANKS, request->ranks);
    table_set_text(table, NEEDS, schedule_needs(row->needs, arena));
    table_set_text(table, ORDER, row->order);
    table_set_text(table, WHAT, row->what);
    table_set_text(table, PAPER, row->paper);
    if (sched_make(row, request, &schedule, &why) || walk_count_all(&schedule, &count, &why)) {
        table_set_text(table, WHY_NOT, why.message);
    } else {
        set_counts(table, &schedule, &count);
    }
}

static void print_records(const struct sched_request *request, enum collective wanted,
                          enum table_format format, FILE *out)
{
    struct arena arena = ARENA_EMPTY;
    struct table *table = table_make(columns, COLUMNS);
    struct sched_request asked = *request;
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        for (int c = 0; c < COLL_NR; c++) {
            asked.collective = (enum collective)c;
            asked.in_place = request->in_place && coll_in_place(asked.collective);
            if ((*row)->collectives & 1U << c && (wanted == COLL_NR || (int)wanted == c)) {
                add_record(table, *row, &asked, &arena);
            }
        }
    }
    table_print(table, format, "", out);
    table_free(table);
    arena_release(&arena);
}

/* ---- the table as text: a row and a collective is "rounds/volume" ---- */

/* Heads of the columns, on two lines so that they are no wider than what stands under them. */
static const char *const heads[COLL_NR][2] = {
    [COLL_ALLREDUCE] = {"all-", "reduce"},  [COLL_REDUCE_SCATTER] = {"reduce-", "scatter"},
    [COLL_ALL_GATHER] = {"all-", "gather"}, [COLL_BROADCAST] = {"broad-", "cast"},
    [COLL_REDUCE] = {"", "reduce"},         [COLL_ALL_TO_ALL] = {"all-", "to-all"},
    [COLL_GATHER] = {"", "gather"},         [COLL_SCATTER] = {"", "scatter"},
    [COLL_SEND_RECV] = {"send-", "recv"},
};

enum { NAME_WIDTH = 16, CELL_WIDTH = 9 };

static bool is_shown(enum collective wanted, int c)
{
    return wanted == COLL_NR || (int)wanted == c;
}

/* "14/1.75"; "no" with the reason in *why. */
static const char *cell_text(const struct algorithm *row, const struct sched_request *request,
                             struct arena *arena, const char **why)
{
    struct schedule schedule;
    struct walk_count count;
    struct error error = ERROR_NONE;
    if (!(row->collectives & 1U << request->collective)) {
        return "-";
    }
    if (sched_make(row, request, &schedule, &error) || walk_count_all(&schedule, &count, &error)) {
        *why = arena_strdup(arena, error.message);
        return "no";
    }
    return arena_printf(arena, "%" PRIu64 "/%.3g", count.rounds,
                        schedule_volume(&schedule, &count));
}

static void print_heads(enum collective wanted, FILE *out)
{
    for (int line = 0; line < 2; line++) {
        fprintf(out, "%-*s", NAME_WIDTH, line == 1 ? "algorithm" : "");
        for (int c = 0; c < COLL_NR; c++) {
            if (is_shown(wanted, c)) {
                fprintf(out, " %*s", CELL_WIDTH, heads[c][line]);
            }
        }
        fputc('\n', out);
    }
}

static void print_row(const struct algorithm *row, const struct sched_request *request,
                      enum collective wanted, FILE *out, struct arena *arena, const char **why)
{
    struct sched_request asked = *request;
    fprintf(out, "%-*s", NAME_WIDTH, row->name);
    for (int c = 0; c < COLL_NR; c++) {
        asked.collective = (enum collective)c;
        asked.in_place = request->in_place && coll_in_place(asked.collective);
        if (is_shown(wanted, c)) {
            fprintf(out, " %*s", CELL_WIDTH, cell_text(row, &asked, arena, why));
        }
    }
    fputc('\n', out);
}

static void print_notes(FILE *out, struct arena *arena)
{
    fprintf(out, "\n%-*s  %-44s  %s\n", NAME_WIDTH, "algorithm", "needs", "order of summation");
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        fprintf(out, "%-*s  %-44s  %s\n", NAME_WIDTH, (*row)->name,
                schedule_needs((*row)->needs, arena), (*row)->order);
    }
    fprintf(out, "\n%-*s  %s\n", NAME_WIDTH, "algorithm", "what it does; where it comes from");
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        fprintf(out, "%-*s  %s\n%-*s    %s\n", NAME_WIDTH, (*row)->name, (*row)->what, NAME_WIDTH,
                "", (*row)->paper);
    }
}

static void print_matrix(const struct sched_request *request, enum collective wanted, FILE *out)
{
    struct arena arena = ARENA_EMPTY;
    const char *refused = "";
    fprintf(out,
            "on %" PRIu32 " ranks%s: rounds of latency / volume (what the busiest rank sends, in "
            "messages)\n\n",
            request->ranks, request->in_place ? ", in place" : "");
    print_heads(wanted, out);
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        const char *why = NULL;
        print_row(*row, request, wanted, out, &arena, &why);
        refused = why ? arena_printf(&arena, "%s  no: %s\n", refused, why) : refused;
    }
    fputs(refused, out);
    print_notes(out, &arena);
    arena_release(&arena);
}

int schedule_print_table(const struct sched_request *request, enum collective wanted,
                         enum table_format format, FILE *out, struct error *error)
{
    enum { TABLE_RANKS_MOST = 1024 };
    if (request->ranks < 1 || request->ranks > TABLE_RANKS_MOST) {
        return error_set(error, EXIT_INPUT,
                         "%" PRIu32 " ranks: the table counts every message, so expected 1 to %d; "
                         "ask for one algorithm",
                         request->ranks, TABLE_RANKS_MOST);
    }
    if (format == TABLE_AS_TEXT) {
        print_matrix(request, wanted, out);
    } else {
        print_records(request, wanted, format, out);
    }
    return 0;
}
