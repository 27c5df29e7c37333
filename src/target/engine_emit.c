/* engine_emit.c - the decided rows as the engine's table, and the env file that names it.
 *
 * The engine knows a group as the tuner does, so every row can be said. The table holds nothing but
 * them: what is not in it the engine decides as before.
 */
#include "engine_internal.h"
#include "env_file.h"

#include <stdlib.h>
#include <string.h>

static struct json *row_to_json(const struct decision_row *row)
{
    char group[GROUP_TEXT];
    struct json *object = json_make_object(), *settings = json_make_object();
    bool open = row->last_bytes > INT64_MAX; /* JSON has no larger whole number */
    json_put_text(object, "collective", coll_name(row->collective));
    json_put_text(object, "group", group_format(&row->group, group));
    json_put_integer(object, "first_bytes", (int64_t)row->first_bytes);
    json_put_integer(object, "last_bytes", open ? INT64_MAX : (int64_t)row->last_bytes);
    for (size_t i = 0; i < row->choice.nr_settings; i++) {
        json_put_text(settings, row->choice.settings[i].name, row->choice.settings[i].value);
    }
    json_put(object, "settings", settings);
    return object;
}

static const char *table_text(const struct decision_table *table, struct arena *arena)
{
    struct json *whole = json_make_object(), *rows = json_make_array();
    for (size_t i = 0; i < table->nr_rows; i++) {
        json_append(rows, row_to_json(&table->rows[i]));
    }
    json_put_integer(whole, "ccltune_engine_table", 1);
    json_put_text(whole, "made_by", table->tool_version);
    json_put_text(whole, "date", table->date);
    json_put_text(whole, "library", table->library);
    json_put_text(whole, "topology", table->fingerprint);
    json_put(whole, "rows", rows);
    char *text = json_to_text(whole, 2);
    const char *owned = arena_printf(arena, "%s\n", text);
    free(text);
    json_free(whole);
    return owned;
}

int engine_emit(const struct library *library, const struct decision_table *table,
                const char *directory, struct arena *arena, struct emitted_file **files,
                size_t *nr_files, struct error *error)
{
    (void)library;
    const char *path = NULL;
    if (env_file_path(directory, ENGINE_TABLE_FILE, arena, &path, error)) {
        return -1;
    }
    const struct env_file env = {
        .title = "ccltune engine",
        .variable = ENGINE_TABLE_VARIABLE,
        .path = path,
        .table = table,
        .left_out = arena_alloc(arena, table->nr_rows + 1, sizeof(char *)),
        .nr_rows_in = table->nr_rows,
        .validity = "#\n# Valid for just these groups and the sizes above, measured on sums of "
                    "float32 out of place;\n# everything else is decided as before. An algorithm "
                    "that a command names wins over the table.\n",
    };
    *files = arena_alloc(arena, 2, sizeof **files);
    (*files)[0] = (struct emitted_file){ENV_FILE_NAME, env_file_text(&env, arena)};
    (*files)[1] = (struct emitted_file){ENGINE_TABLE_FILE, table_text(table, arena)};
    *nr_files = 2;
    return 0;
}
