/* env_file.c - the text of tuned.env: one setting, and in comments what it rests on.
 *
 * `export NAME=value`, so that `source tuned.env` reaches the processes that follow; quotes only
 * where the path needs them, for readers that take them for a part of the value. All text from
 * outside goes through put_text, which keeps it in its line: the file is executed by a shell.
 */
#include "env_file.h"

#include "units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REFUSED_MOST = 40 }; /* lines on what was tested and not adopted */

/* Text of unknown origin, each control character as a blank. */
static void put_text(FILE *out, const char *text)
{
    for (; text && *text; text++) {
        fputc((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text, out);
    }
}

static void put_field(FILE *out, const char *name, const char *text)
{
    if (text && *text) {
        fprintf(out, "# %-14s ", name);
        put_text(out, text);
        fputc('\n', out);
    }
}

static void put_range(FILE *out, uint64_t first, uint64_t last)
{
    char text[UNITS_TEXT];
    fputs(units_format_bytes(first, text), out);
    if (last == UINT64_MAX) {
        fputs(" and more", out);
    } else if (last != first) {
        fprintf(out, "..%s", units_format_bytes(last, text));
    }
}

static void put_evidence(FILE *out, const struct decision_table *table)
{
    static const char *const words[] = {
        [EVIDENCE_PREDICTED] = "predicted, never measured",
        [EVIDENCE_SIMULATED] = "simulated, never measured",
        [EVIDENCE_MEASURED] = "measured here",
        [EVIDENCE_IN_TARGET] = "measured in this library",
    };
    fprintf(out, "# %-14s %s", "evidence:", words[table->evidence]);
    if (table->pairs > 0) {
        fprintf(out,
                "; %zu sizes tested in %zu pairs of fresh launches; chance of any false line in "
                "this file at most %g %%",
                table->lines_tested, table->pairs, 100 * table->alpha);
    }
    fputc('\n', out);
    if (table->interrupted) {
        fputs("#                stopped by the user before its end\n", out);
    }
}

static void put_head(FILE *out, const struct env_file *file)
{
    const struct decision_table *table = file->table;
    if (file->nr_rows_in > 0) {
        fprintf(out,
                "# %s settings that were faster here than what was in force.\n"
                "# Use:  source " ENV_FILE_NAME
                "   (before mpiexec, on the host where it is started)\n"
                "# Undo: unset %s\n#\n",
                file->title, file->variable);
    } else {
        fprintf(out, "# %s settings: none. What was in force stays so.\n#\n", file->title);
    }
    put_field(out, "made by:", table->tool_version);
    put_field(out, "date:", table->date);
    put_field(out, "library:", table->library);
    put_field(out, "", file->form);
    put_field(out, "machine:", table->machine);
    put_field(out, "topology:", table->fingerprint);
    put_field(out, "launch:", table->launch);
    put_field(out, "compared with:", table->default_is);
    fprintf(out, "# %-14s %llu\n", "seed:", (unsigned long long)table->seed);
    put_evidence(out, table);
    fputs("#\n", out);
}

/* "recursive_doubling or ring": what the library does by itself over a row. */
static void put_defaults(FILE *out, const struct decision_table *table,
                         const struct decision_row *row)
{
    const struct decision_point *points = table->points + row->first_point;
    size_t nr = 0;
    for (size_t i = 0; i < row->nr_points; i++) {
        bool seen = !points[i].default_choice;
        for (size_t j = 0; j < i && !seen; j++) {
            seen = points[j].default_choice &&
                   !strcmp(points[j].default_choice, points[i].default_choice);
        }
        if (!seen) {
            fputs(nr++ ? " or " : " instead of ", out);
            put_text(out, points[i].default_choice);
        }
    }
    fputs(nr ? "" : " instead of the default", out);
}

static void put_gain(FILE *out, const struct decision_table *table, const struct decision_row *row)
{
    const struct decision_point *weakest = NULL;
    double p = 0;
    size_t pairs = SIZE_MAX;
    char text[UNITS_TEXT];
    for (size_t i = 0; i < row->nr_points; i++) {
        const struct decision_point *point = &table->points[row->first_point + i];
        p = fmax(p, point->p);
        pairs = point->pairs < pairs ? point->pairs : pairs;
        if (!weakest || point->gain.low < weakest->gain.low) {
            weakest = point;
        }
    }
    if (!weakest || pairs == 0 || isnan(row->gain.estimate)) {
        fputs(": gain not confirmed", out);
        return;
    }
    fprintf(out,
            ": %+.1f %% [%.1f, %.1f] (%zu launch pairs, p <= %.2g; weakest size %s: at least "
            "%+.1f %%)",
            100 * row->gain.estimate, 100 * row->gain.low, 100 * row->gain.high, pairs, p,
            units_format_bytes(weakest->key.bytes, text), 100 * weakest->gain.low);
}

static void put_row_name(FILE *out, const struct decision_row *row)
{
    char group[GROUP_TEXT];
    fprintf(out, "# %s %s ", coll_name(row->collective), group_format(&row->group, group));
    put_range(out, row->first_bytes, row->last_bytes);
    fputs(": ", out);
    put_text(out, row->choice.algorithm);
}

static void put_rows(FILE *out, const struct env_file *file)
{
    for (size_t i = 0; i < file->table->nr_rows; i++) {
        const struct decision_row *row = &file->table->rows[i];
        if (!file->left_out[i]) {
            put_row_name(out, row);
            put_defaults(out, file->table, row);
            put_gain(out, file->table, row);
            fputc('\n', out);
        }
    }
}

static void put_refused_point(FILE *out, const struct decision_point *point)
{
    char group[GROUP_TEXT], bytes[UNITS_TEXT];
    fprintf(out, "#   %s %s %s: ", coll_name(point->key.collective),
            group_format(&point->key.group, group), units_format_bytes(point->key.bytes, bytes));
    put_text(out, point->choice.algorithm);
    fputs(": ", out);
    put_text(out, point->reason ? point->reason : "not proven");
    fputc('\n', out);
}

static void put_refused(FILE *out, const struct env_file *file)
{
    const struct decision_table *table = file->table;
    size_t nr = 0;
    for (size_t i = 0; i < table->nr_points; i++) {
        nr += table->points[i].choice.nr_settings > 0 && !table->points[i].proven;
    }
    if (nr == 0 && file->nr_rows_in == table->nr_rows) {
        return;
    }
    fputs("#\n# Tested and not adopted:\n", out);
    for (size_t i = 0; i < table->nr_rows; i++) {
        if (file->left_out[i]) {
            fputs("#   ", out);
            put_row_name(out, &table->rows[i]);
            fprintf(out, ": %s\n", file->left_out[i]);
        }
    }
    size_t shown = 0;
    for (size_t i = 0; i < table->nr_points && shown < REFUSED_MOST; i++) {
        if (table->points[i].choice.nr_settings > 0 && !table->points[i].proven) {
            put_refused_point(out, &table->points[i]);
            shown++;
        }
    }
    if (nr > shown) {
        fprintf(out, "#   and %zu more: see result.json\n", nr - shown);
    }
}

static void put_nothing(FILE *out, const struct decision_table *table)
{
    bool preferred = false;
    for (size_t i = 0; i < table->nr_points; i++) {
        preferred = preferred || table->points[i].choice.nr_settings > 0;
    }
    fprintf(out, "# Nothing to set: of %zu sizes tried, ", table->nr_points);
    fputs(preferred ? "none was proven to be faster with another choice.\n"
                    : "none was faster with another choice than the default.\n",
          out);
}

static void put_setting(FILE *out, const struct env_file *file)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._+:@%,-";
    bool quoted = strspn(file->path, plain) != strlen(file->path);
    fprintf(out, "export %s=", file->variable);
    fputs(quoted ? "'" : "", out);
    for (const char *c = file->path; *c; c++) {
        if (*c == '\'') {
            fputs("'\\''", out);
        } else {
            fputc(*c, out);
        }
    }
    fputs(quoted ? "'\n" : "\n", out);
}

const char *env_file_text(const struct env_file *file, struct arena *arena)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) {
        arena_out_of_memory();
    }
    put_head(out, file);
    if (file->warning) {
        fprintf(out, "# %s\n", file->warning);
    }
    if (file->nr_rows_in > 0) {
        put_rows(out, file);
        fputs(file->validity, out);
    } else {
        put_nothing(out, file->table);
    }
    put_refused(out, file);
    if (file->nr_rows_in > 0) {
        put_setting(out, file);
    }
    if (fclose(out) != 0) {
        arena_out_of_memory();
    }
    const char *owned = arena_strdup(arena, text);
    free(text);
    return owned;
}

int env_file_path(const char *directory, const char *name, struct arena *arena, const char **path,
                  struct error *error)
{
    const char *base = "";
    if (directory[0] != '/') {
        char *here = getcwd(NULL, 0);
        if (!here) {
            return error_set(error, EXIT_SYSTEM,
                             "the current directory cannot be named: give an absolute path "
                             "instead of '%s'",
                             directory);
        }
        base = arena_printf(arena, "%s/", strcmp(here, "/") ? here : "");
        free(here);
    }
    size_t length = strlen(directory);
    bool ends = length > 0 && directory[length - 1] == '/';
    *path = arena_printf(arena, "%s%s%s%s", base, directory, ends || !length ? "" : "/", name);
    if (strpbrk(*path, "\n\r")) {
        return error_set(error, EXIT_INPUT,
                         "the directory's name holds a line break, which no env file can; choose "
                         "another");
    }
    return 0;
}
