/* table.h - result tables: text, JSON and CSV from one description of the columns.
 *
 * Values are kept in base units (seconds, bytes, bytes per second, ratios); a column says how it
 * is shown. CSV and JSON use `key`, whose name carries the unit; text uses `title` and `unit`.
 */
#ifndef CCLTUNE_TABLE_H
#define CCLTUNE_TABLE_H

#include "error.h"
#include "json.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum table_type { TABLE_TEXT, TABLE_INTEGER, TABLE_NUMBER };
enum table_format { TABLE_AS_TEXT, TABLE_AS_JSON, TABLE_AS_CSV };

struct table_column {
    const char *key;   /* "oop_time_us" */
    const char *title; /* "time" */
    const char *unit;  /* "(us)"; NULL = none */
    const char *group; /* heading over several columns ("out-of-place"); NULL = none */
    enum table_type type;
    int width;    /* least width in text; columns grow to what they hold */
    int digits;   /* decimals of a number in text and CSV; JSON keeps all digits */
    double scale; /* shown = value x scale (1e6 for us); 0 means 1 */
};

struct table; /* opaque */

/* `columns` is borrowed and must outlive the table. Free with table_free. */
struct table *table_make(const struct table_column *columns, size_t nr_columns);
void table_free(struct table *table);

/* Appends a row, then fills its cells by column index. A cell never filled prints as "N/A" in
 * text, empty in CSV, null in JSON; NaN is the same. Text is copied. */
void table_add_row(struct table *table);
void table_set_text(struct table *table, size_t column, const char *text);
void table_set_integer(struct table *table, size_t column, int64_t value);
void table_set_number(struct table *table, size_t column, double value);
size_t table_rows(const struct table *table);

/* Prints head and rows. Text lines of the head start with `head_mark` ("#" or ""). */
void table_print(const struct table *table, enum table_format format, const char *head_mark,
                 FILE *out);
/* For tables that appear as they are measured: the head alone, then the newest row alone, with
 * the columns' declared widths. Text only. */
void table_print_head(const struct table *table, const char *head_mark, FILE *out);
void table_print_last_row(const struct table *table, FILE *out);
/* An array of objects, one per row. Free with json_free. */
struct json *table_to_json(const struct table *table);

/* "table", "json", "csv" -> format. */
int table_parse_format(const char *text, enum table_format *format, struct error *error);

#endif
