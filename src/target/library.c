/* library.c - what a library said of itself, from the job's hello. */
#include "target.h"

int library_from_json(const struct json *json, struct library *library, struct error *error)
{
    struct library read = {
        .name = json_get_text(json, "name", NULL),
        .version = json_get_text(json, "version", NULL),
        .device = json_get_text(json, "device", ""),
        .values = json_get(json, "values"),
        .tree = json_get(json, "tree"),
        .tree_source = json_get_text(json, "tree_source", ""),
        .spins = json_get_bool(json, "spins", false),
    };
    if (!read.name || !read.version) {
        return error_set(error, EXIT_SYSTEM, "the job did not say which library it runs");
    }
    *library = read;
    return 0;
}
