/* topo_field.h - the members of nodes and links as data: one table, read by the YAML reader, the
 * YAML writer and the JSON writer, so that none of them can forget a member. Private to src/topo.
 */
#ifndef CCLTUNE_TOPO_FIELD_H
#define CCLTUNE_TOPO_FIELD_H

#include "topo.h"

enum topo_field_form {
    TOPO_FIELD_TEXT,      /* const char *; NULL is the word in `absent` */
    TOPO_FIELD_BYTES,     /* uint64_t; 0 is absent */
    TOPO_FIELD_COUNT,     /* uint32_t; 0 is absent */
    TOPO_FIELD_CORES,     /* struct topo_cores; nr 0 is absent */
    TOPO_FIELD_CHOICE,    /* an enum by name */
    TOPO_FIELD_BANDWIDTH, /* double bytes per second, written in GB/s; NaN is absent */
    TOPO_FIELD_SPEED,     /* the same, written in Gb/s as networks are */
    TOPO_FIELD_SECONDS,   /* double; NaN is absent */
    TOPO_FIELD_NUMBER     /* double; NaN is absent */
};

struct topo_field {
    const char *key;      /* in YAML, where the value carries the unit */
    const char *json_key; /* in JSON, where the key does; NULL = the same */
    enum topo_field_form form;
    size_t offset;              /* in struct topo_node or struct topo_link */
    const char *absent;         /* how "no value" is written; NULL = the value is compulsory */
    const char *const *choices; /* TOPO_FIELD_CHOICE */
    bool silent;                /* left out of files when absent */
};

#define TOPO_FIELDS_MAX 8

/* One list in a host type: how its rows look. `fields` ends with a NULL key. */
struct topo_section {
    const char *key; /* "nics" */
    enum topo_node_type type;
    struct topo_field fields[TOPO_FIELDS_MAX];
};

/* By enum topo_node_type, TOPO_NODE_TYPES of them. */
extern const struct topo_section topo_sections[];

/* What a link says besides its ends; ends with a NULL key. */
extern const struct topo_field topo_link_fields[];

/* Addresses of a field's value: static inline for type safety at the casts' only place. */
static inline const void *topo_field_value(const struct topo_field *field, const void *base)
{
    return (const char *)base + field->offset;
}

static inline void *topo_field_target(const struct topo_field *field, void *base)
{
    return (char *)base + field->offset;
}

#endif
