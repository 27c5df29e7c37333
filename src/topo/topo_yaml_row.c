/* topo_yaml_row.c - rows of our YAML, read by the tables in topo_field.c. */
#include "topo_yaml.h"

#include <string.h>

static int read_choice(const struct topo_yaml *reader, const struct topo_field *field,
                       const struct cfg_node *node, void *target)
{
    const char *text;
    if (cfg_read_text(node, &text, reader->error)) {
        return -1;
    }
    for (unsigned i = 0; field->choices[i] != NULL; i++) {
        if (strcmp(field->choices[i], text) == 0) {
            memcpy(target, &i, sizeof(i)); /* an enum without negative values is unsigned int */
            return 0;
        }
    }
    char *list = arena_strdup(reader->arena, field->choices[0]);
    for (unsigned i = 1; field->choices[i] != NULL; i++) {
        list = arena_printf(reader->arena, "%s, %s", list, field->choices[i]);
    }
    return cfg_error(node, reader->error, "%s: expected one of %s; found '%.40s'", field->key, list,
                     text);
}

static int read_lanes(const struct topo_yaml *reader, const struct cfg_node *node, uint32_t *count)
{
    uint64_t value;
    if (cfg_read_count(node, &value, reader->error)) {
        return -1;
    }
    if (value == 0 || value >= TOPO_THREADS_MAX) {
        return cfg_error(node, reader->error, "%s: expected a count from 1 to %u, found %llu",
                         node->key, TOPO_THREADS_MAX - 1, (unsigned long long)value);
    }
    *count = (uint32_t)value;
    return 0;
}

/* What can be true of a machine; outside, a unit was mistaken. */
static const struct {
    int (*read)(const struct cfg_node *, double *, struct error *);
    double least, most;
    const char *expected;
} doubles[] = {
    [TOPO_FIELD_BANDWIDTH] = {cfg_read_bandwidth, 1, 1e18, "from 1 B/s to 10^18 B/s"},
    [TOPO_FIELD_SPEED] = {cfg_read_bandwidth, 1, 1e18, "from 1 B/s to 10^18 B/s"},
    [TOPO_FIELD_SECONDS] = {cfg_read_duration, 1e-12, 1e3, "from 0.001 ns to 1000 s"},
    [TOPO_FIELD_NUMBER] = {cfg_read_number, 1e-3, 1e6, "from 0.001 to 1000000"},
};

static int read_double(const struct topo_yaml *reader, const struct topo_field *field,
                       const struct cfg_node *node, double *value)
{
    if (doubles[field->form].read(node, value, reader->error)) {
        return -1;
    }
    if (*value < doubles[field->form].least || *value > doubles[field->form].most) {
        return cfg_error(node, reader->error,
                         "%s: expected a value %s, found '%.40s'; write '%s' where there is none",
                         field->key, doubles[field->form].expected, node->text, field->absent);
    }
    return 0;
}

int topo_yaml_field(const struct topo_yaml *reader, const struct topo_field *field,
                    const struct cfg_node *node, void *target)
{
    bool absent = node->type == CFG_TEXT && !node->quoted && field->absent != NULL &&
                  field->form != TOPO_FIELD_CHOICE && strcmp(node->text, field->absent) == 0;
    if (absent) {
        return 0;
    }
    switch (field->form) {
    case TOPO_FIELD_TEXT:
        return cfg_read_text(node, target, reader->error);
    case TOPO_FIELD_BYTES:
        return cfg_read_bytes(node, target, reader->error);
    case TOPO_FIELD_COUNT:
        return read_lanes(reader, node, target);
    case TOPO_FIELD_CORES:
        return topo_yaml_range(reader, node, target);
    case TOPO_FIELD_CHOICE:
        return read_choice(reader, field, node, target);
    case TOPO_FIELD_BANDWIDTH:
    case TOPO_FIELD_SPEED:
    case TOPO_FIELD_SECONDS:
    case TOPO_FIELD_NUMBER:
        return read_double(reader, field, node, target);
    }
    return cfg_error(node, reader->error, "%s: a form that the reader does not know", field->key);
}

/* Fills `base` from a row; `more` are known keys that the caller reads itself (NULL-ended). */
int topo_yaml_row(const struct topo_yaml *reader, const struct topo_field *fields,
                  const char *const more[], const struct cfg_node *row, void *base)
{
    const char *known[2 * TOPO_FIELDS_MAX] = {NULL};
    size_t nr = 0;
    for (; more[nr] != NULL; nr++) {
        known[nr] = more[nr];
    }
    for (const struct topo_field *field = fields; field->key != NULL; field++) {
        known[nr++] = field->key;
    }
    if (cfg_check_keys(row, known, reader->error)) {
        return -1;
    }
    for (const struct topo_field *field = fields; field->key != NULL; field++) {
        const struct cfg_node *node = cfg_get(row, field->key);
        if (node == NULL && field->absent == NULL) {
            return cfg_error(row, reader->error, "the key '%s' is missing in this row; add it",
                             field->key);
        }
        if (node != NULL && topo_yaml_field(reader, field, node, topo_field_target(field, base))) {
            return -1;
        }
    }
    return 0;
}
