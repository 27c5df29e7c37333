/* candidate.c - identity and JSON form of candidates and keys. */
#include "candidate.h"

#include <string.h>

const struct candidate candidate_default = {"default", NULL, 0};

static const char *const scope_names[] = {
    [SCOPE_CALL] = "call",
    [SCOPE_COMMUNICATOR] = "communicator",
    [SCOPE_PROCESS] = "process",
    [SCOPE_HOST] = "host",
};

const char *candidate_id(const struct candidate *candidate, struct arena *arena)
{
    if (candidate->nr_settings == 0) {
        return "default";
    }
    const char *id = "";
    for (size_t i = 0; i < candidate->nr_settings; i++) {
        const struct setting *s = &candidate->settings[i];
        id = arena_printf(arena, "%s%s%s=%s", id, i ? " " : "", s->name, s->value);
    }
    return id;
}

bool candidate_equal(const struct candidate *a, const struct candidate *b)
{
    if (a->nr_settings != b->nr_settings) {
        return false;
    }
    for (size_t i = 0; i < a->nr_settings; i++) {
        if (strcmp(a->settings[i].name, b->settings[i].name) ||
            strcmp(a->settings[i].value, b->settings[i].value)) {
            return false;
        }
    }
    return true;
}

struct json *candidate_to_json(const struct candidate *candidate)
{
    struct json *object = json_make_object();
    struct json *settings = json_make_array();
    for (size_t i = 0; i < candidate->nr_settings; i++) {
        struct json *setting = json_make_object();
        json_put_text(setting, "name", candidate->settings[i].name);
        json_put_text(setting, "value", candidate->settings[i].value);
        json_put_text(setting, "scope", scope_names[candidate->settings[i].scope]);
        json_append(settings, setting);
    }
    json_put_text(object, "algorithm", candidate->algorithm);
    json_put(object, "settings", settings);
    return object;
}

static int setting_from_json(const struct json *json, struct arena *arena, struct setting *setting,
                             struct error *error)
{
    const char *name = json_get_text(json, "name", NULL);
    const char *value = json_get_text(json, "value", NULL);
    const char *scope = json_get_text(json, "scope", NULL);
    if (!name || !value || !scope) {
        return error_set(error, EXIT_INPUT, "a setting needs the texts name, value and scope");
    }
    for (int i = SCOPE_CALL; i <= SCOPE_HOST; i++) {
        if (!strcmp(scope, scope_names[i])) {
            *setting = (struct setting){arena_strdup(arena, name), arena_strdup(arena, value),
                                        (enum setting_scope)i};
            return 0;
        }
    }
    return error_set(error, EXIT_INPUT,
                     "setting %s: scope '%s': expected call, communicator, process or host", name,
                     scope);
}

/* Is it an array? An empty one has the length of anything that is none. */
static bool is_array(const struct json *json)
{
    struct json *empty = json_make_array();
    bool is = json_item(json, 0) || json_is_equal(json, empty);
    json_free(empty);
    return is;
}

int candidate_from_json(const struct json *json, struct arena *arena, struct candidate *candidate,
                        struct error *error)
{
    const char *algorithm = json_get_text(json, "algorithm", NULL);
    const struct json *list = json_get(json, "settings");
    if (!algorithm || !is_array(list)) {
        return error_set(error, EXIT_INPUT, "a candidate needs an algorithm and a settings list");
    }
    size_t nr = json_length(list);
    struct setting *settings = arena_alloc(arena, nr + 1, sizeof *settings);
    for (size_t i = 0; i < nr; i++) {
        if (setting_from_json(json_item(list, i), arena, &settings[i], error)) {
            return -1;
        }
    }
    *candidate = (struct candidate){arena_strdup(arena, algorithm), settings, nr};
    return 0;
}

bool key_equal(const struct key *a, const struct key *b)
{
    return a->collective == b->collective && group_equal(&a->group, &b->group) &&
           a->bytes == b->bytes && a->registered == b->registered;
}

struct json *key_to_json(const struct key *key)
{
    char group[GROUP_TEXT];
    struct json *object = json_make_object();
    json_put_text(object, "collective", coll_name(key->collective));
    json_put_text(object, "group", group_format(&key->group, group));
    json_put_integer(object, "bytes", (int64_t)key->bytes);
    json_put_bool(object, "registered", key->registered);
    return object;
}

int key_from_json(const struct json *json, struct key *key, struct error *error)
{
    const char *collective = json_get_text(json, "collective", NULL);
    const char *group = json_get_text(json, "group", NULL);
    int64_t bytes = json_get_integer(json, "bytes", -1);
    if (!collective || !group || bytes < 0) {
        return error_set(error, EXIT_INPUT, "a key needs collective, group and bytes (>= 0)");
    }
    struct key read = {.bytes = (uint64_t)bytes,
                       .registered = json_get_bool(json, "registered", false)};
    if (coll_parse(collective, &read.collective, error) || group_parse(group, &read.group, error)) {
        return -1;
    }
    *key = read;
    return 0;
}
