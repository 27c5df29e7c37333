/* table.c - result tables: cells in base units, three ways to print them.
 *
 * Text is right-aligned under its titles, as nccl-tests prints, so that eyes and scripts used to
 * that find what they know. A row starts with two spaces; the mark of a head line ("#") takes the
 * place of the first, so columns stand under their titles with and without it.
 */
#include "table.h"

#include "arena.h"
#include "number.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct cell {
    bool filled;
    union {
        const char *text; /* belongs to the table's arena */
        int64_t integer;
        double number; /* shown, that is scaled */
    };
};

struct table {
    struct arena arena; /* holds this struct and the texts */
    const struct table_column *columns;
    size_t nr_columns, nr_rows, capacity;
    void *cells; /* nr_rows x nr_columns */
};

enum { GAP = 2 }; /* spaces in front of every column of text */

/* ---- filling ---- */

struct table *table_make(const struct table_column *columns, size_t nr_columns)
{
    struct arena arena = ARENA_EMPTY;
    struct table *table = arena_alloc(&arena, 1, sizeof *table);
    table->arena = arena;
    table->columns = columns;
    table->nr_columns = nr_columns;
    return table;
}

void table_free(struct table *table)
{
    if (table == NULL)
        return;
    free(table->cells);
    struct arena arena = table->arena; /* the table lies in it */
    arena_release(&arena);
}

static struct cell *table_cell(const struct table *table, size_t row, size_t column)
{
    return (struct cell *)table->cells + row * table->nr_columns + column;
}

void table_add_row(struct table *table)
{
    size_t size = table->nr_columns * sizeof(struct cell);
    array_grow(&table->cells, &table->capacity, table->nr_rows, size);
    memset(table_cell(table, table->nr_rows, 0), 0, size);
    table->nr_rows++;
}

/* The cell of the newest row. A cell of another type is a slip in the program, not in its input. */
static struct cell *fill_cell(struct table *table, size_t column, enum table_type type)
{
    assert(table->nr_rows > 0 && column < table->nr_columns);
    assert(table->columns[column].type == type);
    (void)type;
    struct cell *cell = table_cell(table, table->nr_rows - 1, column);
    cell->filled = true;
    return cell;
}

void table_set_text(struct table *table, size_t column, const char *text)
{
    fill_cell(table, column, TABLE_TEXT)->text = arena_strdup(&table->arena, text);
}

void table_set_integer(struct table *table, size_t column, int64_t value)
{
    fill_cell(table, column, TABLE_INTEGER)->integer = value;
}

void table_set_number(struct table *table, size_t column, double value)
{
    double scale = table->columns[column].scale;
    struct cell *cell = fill_cell(table, column, TABLE_NUMBER);
    cell->number = scale != 0 ? value * scale : value;
    cell->filled = isfinite(cell->number);
}

size_t table_rows(const struct table *table)
{
    return table->nr_rows;
}

/* What a cell shows, or NULL for an empty one. `buffer` has NUMBER_TEXT bytes. */
static const char *cell_text(const struct table *table, size_t row, size_t column, char *buffer)
{
    const struct cell *cell = table_cell(table, row, column);
    if (!cell->filled)
        return NULL;
    switch (table->columns[column].type) {
    case TABLE_TEXT:
        return cell->text;
    case TABLE_INTEGER:
        snprintf(buffer, NUMBER_TEXT, "%" PRId64, cell->integer);
        return buffer;
    case TABLE_NUMBER:
        return number_format(cell->number, table->columns[column].digits, buffer);
    }
    return NULL;
}

/* ---- text ---- */

/* Places on the screen: the bytes that continue a UTF-8 character take none. */
static size_t text_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static void widen(size_t *width, size_t needed)
{
    if (*width < needed)
        *width = needed;
}

/* The column behind the last one of the group that starts at `first`; no group is a group of one.
 */
static size_t group_end(const struct table *table, size_t first)
{
    const char *group = table->columns[first].group;
    size_t end = first + 1;
    while (group != NULL && end < table->nr_columns && table->columns[end].group != NULL &&
           strcmp(table->columns[end].group, group) == 0)
        end++;
    return end;
}

static size_t span_width(const size_t *widths, size_t first, size_t end)
{
    size_t width = 0;
    for (size_t i = first; i < end; i++)
        width += widths[i] + (i > first ? GAP : 0);
    return width;
}

/* The widths that the declaration and the head ask for. */
static size_t *head_widths(const struct table *table, struct arena *arena)
{
    size_t *widths = arena_alloc(arena, table->nr_columns, sizeof *widths);
    for (size_t i = 0; i < table->nr_columns; i++) {
        const struct table_column *column = &table->columns[i];
        widths[i] = column->width > 0 ? (size_t)column->width : 0;
        widen(&widths[i], text_width(column->title));
        widen(&widths[i], column->unit != NULL ? text_width(column->unit) : 0);
    }
    for (size_t first = 0, end; first < table->nr_columns; first = end) {
        end = group_end(table, first);
        const char *group = table->columns[first].group;
        size_t span = span_width(widths, first, end);
        if (group != NULL && text_width(group) > span)
            widths[end - 1] += text_width(group) - span;
    }
    return widths;
}

static void widen_to_rows(const struct table *table, size_t *widths)
{
    char buffer[NUMBER_TEXT];
    for (size_t row = 0; row < table->nr_rows; row++) {
        for (size_t i = 0; i < table->nr_columns; i++) {
            const char *text = cell_text(table, row, i, buffer);
            widen(&widths[i], text_width(text != NULL ? text : "N/A"));
        }
    }
}

/* A line that is being printed. Spaces are owed until text comes, so none are left at its end. */
struct line {
    FILE *out;
    size_t column;
};

/* Puts `text` so that it ends in front of `end`. Where the place is taken, one space divides. */
static void line_put(struct line *line, size_t end, const char *text)
{
    size_t width = text_width(text);
    if (width == 0)
        return;
    size_t spaces = end >= line->column + width ? end - line->column - width : 1;
    fprintf(line->out, "%*s%s", (int)spaces, "", text);
    line->column += spaces + width;
}

static struct line line_start(FILE *out, const char *mark)
{
    fputs(mark, out);
    return (struct line){out, text_width(mark)};
}

static void print_groups(const struct table *table, const size_t *widths, const char *mark,
                         FILE *out)
{
    struct line line = line_start(out, mark);
    size_t start = 0;
    for (size_t first = 0, end; first < table->nr_columns; first = end) {
        end = group_end(table, first);
        const char *group = table->columns[first].group;
        size_t span = span_width(widths, first, end);
        if (group != NULL) {
            size_t width = text_width(group);
            line_put(&line, start + GAP + (span - width) / 2 + width, group);
        }
        start += GAP + span;
    }
    fputc('\n', out);
}

static void print_titles(const struct table *table, const size_t *widths, const char *mark,
                         FILE *out, bool units)
{
    struct line line = line_start(out, mark);
    size_t end = 0;
    for (size_t i = 0; i < table->nr_columns; i++) {
        const struct table_column *column = &table->columns[i];
        const char *text = units ? column->unit : column->title;
        end += GAP + widths[i];
        line_put(&line, end, text != NULL ? text : "");
    }
    fputc('\n', out);
}

static void print_head(const struct table *table, const size_t *widths, const char *mark, FILE *out)
{
    bool groups = false, units = false;
    for (size_t i = 0; i < table->nr_columns; i++) {
        groups = groups || table->columns[i].group != NULL;
        units = units || table->columns[i].unit != NULL;
    }
    if (groups)
        print_groups(table, widths, mark, out);
    print_titles(table, widths, mark, out, false);
    if (units)
        print_titles(table, widths, mark, out, true);
}

static void print_row(const struct table *table, size_t row, const size_t *widths, FILE *out)
{
    char buffer[NUMBER_TEXT];
    struct line line = {out, 0};
    size_t end = 0;
    for (size_t i = 0; i < table->nr_columns; i++) {
        const char *text = cell_text(table, row, i, buffer);
        end += GAP + widths[i];
        line_put(&line, end, text != NULL ? text : "N/A");
    }
    fputc('\n', out);
}

static void print_text(const struct table *table, const char *mark, FILE *out)
{
    struct arena arena = ARENA_EMPTY;
    size_t *widths = head_widths(table, &arena);
    widen_to_rows(table, widths);
    print_head(table, widths, mark, out);
    for (size_t row = 0; row < table->nr_rows; row++)
        print_row(table, row, widths, out);
    arena_release(&arena);
}

void table_print_head(const struct table *table, const char *head_mark, FILE *out)
{
    struct arena arena = ARENA_EMPTY;
    print_head(table, head_widths(table, &arena), head_mark, out);
    arena_release(&arena);
}

void table_print_last_row(const struct table *table, FILE *out)
{
    if (table->nr_rows == 0)
        return;
    struct arena arena = ARENA_EMPTY;
    print_row(table, table->nr_rows - 1, head_widths(table, &arena), out);
    arena_release(&arena);
}

/* ---- JSON and CSV ---- */

struct json *table_to_json(const struct table *table)
{
    struct json *rows = json_make_array();
    for (size_t row = 0; row < table->nr_rows; row++) {
        struct json *object = json_make_object();
        for (size_t i = 0; i < table->nr_columns; i++) {
            const struct cell *cell = table_cell(table, row, i);
            const char *key = table->columns[i].key;
            if (!cell->filled)
                json_put_text(object, key, NULL); /* null */
            else if (table->columns[i].type == TABLE_TEXT)
                json_put_text(object, key, cell->text);
            else if (table->columns[i].type == TABLE_INTEGER)
                json_put_integer(object, key, cell->integer);
            else
                json_put_number(object, key, cell->number);
        }
        json_append(rows, object);
    }
    return rows;
}

static void print_json(const struct table *table, FILE *out)
{
    struct json *rows = table_to_json(table);
    char *text = json_to_text(rows, 2);
    fprintf(out, "%s\n", text);
    free(text);
    json_free(rows);
}

/* Quoted as RFC 4180 says, where it must be. An empty text is "", an empty cell is nothing. */
static void print_csv_field(const char *text, FILE *out)
{
    bool plain = *text != '\0' && strpbrk(text, ",\"\r\n") == NULL && text[0] != ' ' &&
                 text[strlen(text) - 1] != ' ';
    if (plain) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void print_csv_row(const struct table *table, size_t row, FILE *out)
{
    char buffer[NUMBER_TEXT];
    for (size_t i = 0; i < table->nr_columns; i++) {
        const char *text = cell_text(table, row, i, buffer);
        if (i > 0)
            fputc(',', out);
        if (text != NULL)
            print_csv_field(text, out);
    }
    fputc('\n', out);
}

/* Lines end in '\n' alone, as every tool on these machines expects. */
static void print_csv(const struct table *table, FILE *out)
{
    for (size_t i = 0; i < table->nr_columns; i++) {
        if (i > 0)
            fputc(',', out);
        print_csv_field(table->columns[i].key, out);
    }
    fputc('\n', out);
    for (size_t row = 0; row < table->nr_rows; row++)
        print_csv_row(table, row, out);
}

void table_print(const struct table *table, enum table_format format, const char *head_mark,
                 FILE *out)
{
    switch (format) {
    case TABLE_AS_TEXT:
        print_text(table, head_mark, out);
        break;
    case TABLE_AS_JSON:
        print_json(table, out);
        break;
    case TABLE_AS_CSV:
        print_csv(table, out);
        break;
    }
}

int table_parse_format(const char *text, enum table_format *format, struct error *error)
{
    static const char *const names[] = {
        [TABLE_AS_TEXT] = "table", [TABLE_AS_JSON] = "json", [TABLE_AS_CSV] = "csv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) == 0) {
            *format = (enum table_format)i;
            return 0;
        }
    }
    return error_set(error, EXIT_INPUT, "unknown format '%.60s': expected table, json or csv",
                     text);
}
