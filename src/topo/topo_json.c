/* topo_json.c - a topology as JSON: the members of topo_field.c with base units in their names. */
#include "topo_field.h"

#include "json.h"

#include <stdio.h>
#include <string.h>

static void put_field(struct json *object, const struct topo_field *field, const void *value)
{
    const char *key = field->json_key != NULL ? field->json_key : field->key;
    const struct topo_cores *cores = value;
    uint64_t count;
    unsigned choice;
    switch (field->form) {
    case TOPO_FIELD_TEXT:
        json_put_text(object, key, *(const char *const *)value);
        break;
    case TOPO_FIELD_BYTES:
    case TOPO_FIELD_COUNT:
        count =
            field->form == TOPO_FIELD_BYTES ? *(const uint64_t *)value : *(const uint32_t *)value;
        if (count > 0) {
            json_put_integer(object, key, (int64_t)count);
        } else {
            json_put_text(object, key, NULL);
        }
        break;
    case TOPO_FIELD_CORES:
        json_put_integer(object, "first_core", cores->first);
        json_put_integer(object, "nr_cores", cores->nr);
        break;
    case TOPO_FIELD_CHOICE:
        memcpy(&choice, value, sizeof(choice));
        json_put_text(object, key, field->choices[choice]);
        break;
    case TOPO_FIELD_BANDWIDTH:
    case TOPO_FIELD_SPEED:
    case TOPO_FIELD_SECONDS:
    case TOPO_FIELD_NUMBER:
        json_put_number(object, key, *(const double *)value); /* NaN becomes null */
        break;
    }
}

static struct json *make_row(const struct topo_field *fields, const void *base)
{
    struct json *row = json_make_object();
    for (const struct topo_field *field = fields; field->key != NULL; field++) {
        put_field(row, field, topo_field_value(field, base));
    }
    return row;
}

static struct json *make_nodes(const struct topo_section *section, const struct topo_nodes *nodes)
{
    struct json *list = json_make_array();
    for (size_t i = 0; i < nodes->nr; i++) {
        json_append(list, make_row(section->fields, &nodes->items[i]));
    }
    return list;
}

static void put_end(struct json *object, const char *key, struct topo_end end)
{
    char text[64];
    snprintf(text, sizeof(text), "%s%u", topo_node_names[end.type], end.index);
    json_put_text(object, key, text);
}

static struct json *make_links(const struct topo_host_type *type)
{
    struct json *list = json_make_array();
    for (size_t i = 0; i < type->nr_links; i++) {
        struct json *row = make_row(topo_link_fields, &type->links[i]);
        put_end(row, "from", type->links[i].from);
        put_end(row, "to", type->links[i].to);
        json_append(list, row);
    }
    return list;
}

static struct json *make_threads(const struct topo_host_type *type)
{
    struct json *list = json_make_array();
    for (size_t i = 0; i < type->nr_threads; i++) {
        struct json *row = json_make_object();
        json_put_integer(row, "cpu", type->threads[i].cpu);
        json_put_integer(row, "core", type->threads[i].core);
        json_put_bool(row, "usable", type->threads[i].usable);
        json_append(list, row);
    }
    return list;
}

static struct json *make_host_type(const struct topo_host_type *type)
{
    struct json *object = json_make_object();
    json_put_text(object, "kernel", type->kernel);
    json_put_text(object, "architecture", type->architecture);
    json_put_integer(object, "nr_cores", type->nr_cores);
    json_put_integer(object, "nr_usable_cores", topo_usable_cores(type));
    json_put_number(object, "quota_cpus", type->quota_cpus);
    for (unsigned i = 0; i < TOPO_NODE_TYPES; i++) {
        json_put(object, topo_sections[i].key, make_nodes(&topo_sections[i], &type->nodes[i]));
    }
    json_put(object, "links", make_links(type));
    json_put(object, "hardware_threads", make_threads(type));
    return object;
}

struct json *topo_to_json(const struct topo *topo)
{
    char fingerprint[TOPO_FINGERPRINT_TEXT];
    struct json *root = json_make_object(), *hosts = json_make_array();
    struct json *types = json_make_object(), *notes = json_make_array();
    json_put_integer(root, "ccltune", 1);
    json_put_text(root, "name", topo->name);
    json_put_text(root, "fingerprint", topo_fingerprint(topo, fingerprint));
    for (size_t i = 0; i < topo->nr_hosts; i++) {
        struct json *row = json_make_object();
        json_put_text(row, "type", topo->hosts[i].type->name);
        json_put_integer(row, "count", (int64_t)topo->hosts[i].count);
        json_append(hosts, row);
    }
    for (size_t i = 0; i < topo->nr_types; i++) {
        json_put(types, topo->types[i].name, make_host_type(&topo->types[i]));
    }
    for (size_t i = 0; i < topo->nr_notes; i++) {
        json_append(notes, json_make_text(topo->notes[i]));
    }
    json_put(root, "hosts", hosts);
    json_put(root, "types", types);
    json_put(root, "notes", notes);
    return root;
}
