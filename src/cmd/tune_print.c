/* tune_print.c - the verdict first, then the lines, then the rest. */
#include "tune_print.h"

#include "units.h"

#include <math.h>
#include <string.h>

static const struct table_column line_columns[] = {
    {"collective", "collective", NULL, NULL, TABLE_TEXT, 12, 0, 0},
    {"group", "group", NULL, NULL, TABLE_TEXT, 8, 0, 0},
    {"first_bytes", "from", NULL, NULL, TABLE_TEXT, 8, 0, 0},
    {"last_bytes", "to", NULL, NULL, TABLE_TEXT, 8, 0, 0},
    {"choice", "choice", NULL, NULL, TABLE_TEXT, 12, 0, 0},
    {"default", "instead of", NULL, NULL, TABLE_TEXT, 12, 0, 0},
    {"gain_percent", "gain", "(%)", NULL, TABLE_NUMBER, 7, 1, 100},
    {"gain_low_percent", "from", "(%)", "interval", TABLE_NUMBER, 7, 1, 100},
    {"gain_high_percent", "to", "(%)", "interval", TABLE_NUMBER, 7, 1, 100},
    {"least_percent", "least", "(%)", NULL, TABLE_NUMBER, 7, 1, 100},
};

static const struct table_column point_columns[] = {
    {"collective", "collective", NULL, NULL, TABLE_TEXT, 14, 0, 0},
    {"group", "group", NULL, NULL, TABLE_TEXT, 8, 0, 0},
    {"bytes", "size", "(B)", NULL, TABLE_INTEGER, 9, 0, 0},
    {"default", "default", NULL, NULL, TABLE_TEXT, 12, 0, 0},
    {"default_us", "time", "(us)", NULL, TABLE_NUMBER, 10, 2, 1e6},
    {"choice", "choice", NULL, NULL, TABLE_TEXT, 12, 0, 0},
    {"choice_us", "time", "(us)", NULL, TABLE_NUMBER, 10, 2, 1e6},
    {"gain_percent", "gain", "(%)", NULL, TABLE_NUMBER, 7, 1, 100},
    {"gain_low_percent", "from", "(%)", "interval", TABLE_NUMBER, 7, 1, 100},
    {"gain_high_percent", "to", "(%)", "interval", TABLE_NUMBER, 7, 1, 100},
    {"pairs", "pairs", NULL, NULL, TABLE_INTEGER, 5, 0, 0},
    {"p", "p", NULL, NULL, TABLE_NUMBER, 8, 6, 0},
    {"proven", "proven", NULL, NULL, TABLE_INTEGER, 6, 0, 0},
    {"reason", "reason", NULL, NULL, TABLE_TEXT, 20, 0, 0},
};

#define NR(array) (sizeof(array) / sizeof *(array))

static void print_lines(const struct decision_table *table, FILE *out)
{
    char text[GROUP_TEXT], size[UNITS_TEXT];
    struct table *lines = table_make(line_columns, NR(line_columns));
    for (size_t r = 0; r < table->nr_rows; r++) {
        const struct decision_row *row = &table->rows[r];
        const char *before = table->points[row->first_point].default_choice;
        for (size_t i = 1; before && i < row->nr_points; i++) {
            const char *other = table->points[row->first_point + i].default_choice;
            before = other && !strcmp(before, other) ? before : "several";
        }
        table_add_row(lines);
        table_set_text(lines, 0, coll_name(row->collective));
        table_set_text(lines, 1, group_format(&row->group, text));
        table_set_text(lines, 2, units_format_bytes(row->first_bytes, size));
        table_set_text(lines, 3, units_format_bytes(row->last_bytes, size));
        table_set_text(lines, 4, row->choice.algorithm);
        table_set_text(lines, 5, before ? before : "default");
        table_set_number(lines, 6, row->gain.estimate);
        table_set_number(lines, 7, row->gain.low);
        table_set_number(lines, 8, row->gain.high);
        table_set_number(lines, 9, row->least_low);
    }
    table_print(lines, TABLE_AS_TEXT, "", out);
    table_free(lines);
}

static const char *first_not_raced(const struct decision_table *table)
{
    for (size_t i = 0; i < table->nr_points; i++) {
        if (isnan(table->points[i].default_seconds)) {
            return table->points[i].reason;
        }
    }
    return "";
}

void tune_print_summary(const struct decision_table *table, FILE *out)
{
    size_t faster = 0, proven = 0, raced = 0;
    for (size_t i = 0; i < table->nr_points; i++) {
        faster += table->points[i].choice.nr_settings > 0;
        proven += table->points[i].proven;
        raced += isnan(table->points[i].default_seconds) ? 0 : 1;
    }
    if (table->nr_rows) {
        fprintf(out, "%zu line%s proven: faster than the default (%s) in fresh launches\n\n",
                table->nr_rows, table->nr_rows == 1 ? "" : "s", table->default_is);
        print_lines(table, out);
        fprintf(out,
                "\ngain: time of the default / time of the choice - 1, over the range; interval: "
                "%zu pairs of\nfresh launches, exact signed-rank, all %zu sizes tested together "
                "hold a false one with a\nchance of at most %g; least: lower bound of the least "
                "sure size in the range.\n",
                table->pairs, table->lines_tested, table->alpha);
    } else if (table->interrupted) {
        fprintf(out, "stopped before anything was proven\n");
    } else {
        fprintf(out, "keep the default: nothing was proven faster than it (%s)\n",
                table->default_is);
    }
    fprintf(out,
            "%zu sizes raced: %zu looked faster, %zu went into confirmation, %zu were proven;\n"
            "all others keep the default.\n",
            raced, faster, table->lines_tested, proven);
    if (faster > table->lines_tested && !table->interrupted) {
        fprintf(out, "The budget had no room to confirm %zu of them: raise --budget.\n",
                faster - table->lines_tested);
    }
    if (raced < table->nr_points) {
        fprintf(out, "%zu sizes were not raced, the first because: %s (result.json has the rest)\n",
                table->nr_points - raced, first_not_raced(table));
    }
}

void tune_print_points(const struct decision_table *table, enum table_format format, FILE *out)
{
    char text[GROUP_TEXT];
    struct table *points = table_make(point_columns, NR(point_columns));
    for (size_t i = 0; i < table->nr_points; i++) {
        const struct decision_point *point = &table->points[i];
        table_add_row(points);
        table_set_text(points, 0, coll_name(point->key.collective));
        table_set_text(points, 1, group_format(&point->key.group, text));
        table_set_integer(points, 2, (int64_t)point->key.bytes);
        table_set_text(points, 3, point->default_choice ? point->default_choice : "default");
        table_set_number(points, 4, point->default_seconds);
        table_set_text(points, 5, point->choice.algorithm);
        table_set_number(points, 6, point->choice_seconds);
        table_set_number(points, 7, point->gain.estimate);
        table_set_number(points, 8, point->gain.low);
        table_set_number(points, 9, point->gain.high);
        table_set_integer(points, 10, (int64_t)point->pairs);
        table_set_number(points, 11, point->p);
        table_set_integer(points, 12, point->proven);
        table_set_text(points, 13, point->reason);
    }
    table_print(points, format, "", out);
    table_free(points);
}
