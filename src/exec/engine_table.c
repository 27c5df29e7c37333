/* engine_table.c - reading a table, with the row in every error; looking a call up. */
#include "engine_table.h"

#include <string.h>

#define ROWS_MOST 4096 /* far more than any tuning writes */

/* Copied into the arena. */
static int read_settings(const struct json *json, struct arena *arena, struct candidate *choice,
                         struct error *error)
{
    const char *name;
    const struct json *value;
    bool names_algorithm = false;
    struct setting *settings = arena_alloc(arena, json_length(json) + 1, sizeof *settings);
    *choice = (struct candidate){"by table", settings, 0};
    for (void *at = NULL; json_next(json, &at, &name, &value);) {
        const char *text = json_get_text(json, name, NULL);
        if (!text) {
            return error_set(error, EXIT_INPUT, "setting %s: expected a text such as \"64K\"",
                             name);
        }
        settings[choice->nr_settings++] =
            (struct setting){arena_strdup(arena, name), arena_strdup(arena, text), SCOPE_CALL};
        names_algorithm |= !strcmp(name, "algo");
    }
    return names_algorithm ? 0
                           : error_set(error, EXIT_INPUT,
                                       "settings: expected an object that names an algorithm, "
                                       "such as {\"algo\": \"ring\"}");
}

static int read_row(const struct json *json, struct arena *arena, struct engine_table_row *row,
                    struct error *error)
{
    const char *collective = json_get_text(json, "collective", NULL);
    const char *group = json_get_text(json, "group", NULL);
    int64_t first = json_get_integer(json, "first_bytes", -1);
    int64_t last = json_get_integer(json, "last_bytes", -1);
    if (!collective || !group) {
        return error_set(error, EXIT_INPUT, "expected the texts collective and group");
    }
    if (coll_parse(collective, &row->collective, error) || group_parse(group, &row->group, error)) {
        return -1;
    }
    if (first < 0 || last < first) {
        return error_set(error, EXIT_INPUT,
                         "expected whole numbers first_bytes and last_bytes, the last not below "
                         "the first, found %lld and %lld",
                         (long long)first, (long long)last);
    }
    row->first_bytes = (uint64_t)first;
    row->last_bytes = (uint64_t)last;
    return read_settings(json_get(json, "settings"), arena, &row->choice, error);
}

static int check_overlap(const struct engine_table *table, size_t i, struct error *error)
{
    const struct engine_table_row *row = &table->rows[i];
    for (size_t k = 0; k < i; k++) {
        const struct engine_table_row *other = &table->rows[k];
        if (other->collective == row->collective && group_equal(&other->group, &row->group) &&
            other->first_bytes <= row->last_bytes && row->first_bytes <= other->last_bytes) {
            return error_set(
                error, EXIT_INPUT, "it says something else than row %zu for %s of %llu bytes",
                k + 1, coll_name(row->collective),
                (unsigned long long)(row->first_bytes > other->first_bytes ? row->first_bytes
                                                                           : other->first_bytes));
        }
    }
    return 0;
}

static int read_rows(const struct json *json, struct engine_table *table, struct error *error)
{
    const struct json *rows = json_get(json, "rows");
    size_t nr = json_length(rows);
    struct json *none = json_make_array();
    bool is_list = json_item(rows, 0) || json_is_equal(rows, none);
    json_free(none);
    if (json_get_integer(json, "ccltune_engine_table", 0) != 1 || !is_list || nr > ROWS_MOST) {
        return error_set(error, EXIT_INPUT,
                         "not an engine table of this version: expected \"ccltune_engine_table\": "
                         "1 and a list \"rows\" of at most %d",
                         ROWS_MOST);
    }
    table->rows = arena_alloc(&table->arena, nr + 1, sizeof *table->rows);
    for (; table->nr < nr; table->nr++) {
        if (read_row(json_item(rows, table->nr), &table->arena, &table->rows[table->nr], error) ||
            check_overlap(table, table->nr, error)) {
            return error_prefix(error, "row %zu", table->nr + 1);
        }
    }
    return 0;
}

int engine_table_parse(const char *text, size_t length, const char *name,
                       struct engine_table *table, struct error *error)
{
    *table = (struct engine_table){.arena = ARENA_EMPTY};
    struct json *json = json_parse(text, length, name, error);
    if (!json) {
        return -1;
    }
    int failed = read_rows(json, table, error);
    json_free(json);
    return failed ? error_prefix(error, "%s", name) : 0;
}

const struct engine_table_row *engine_table_find(const struct engine_table *table,
                                                 enum collective collective,
                                                 const struct group *group, uint64_t bytes)
{
    for (size_t i = 0; i < table->nr; i++) {
        const struct engine_table_row *row = &table->rows[i];
        if (row->collective == collective && group_equal(&row->group, group) &&
            bytes >= row->first_bytes && bytes <= row->last_bytes) {
            return row;
        }
    }
    return NULL;
}
