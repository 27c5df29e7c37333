/* topo_yaml.h - the parts of the YAML reader. Private to topo_yaml*.c. */
#ifndef CCLTUNE_TOPO_YAML_H
#define CCLTUNE_TOPO_YAML_H

#include "topo_build.h"
#include "topo_field.h"

#include "cfg.h"

struct topo_yaml {
    struct arena *arena;
    struct topo_host_type *type; /* being read */
    struct error *error;
};

/* The node must be a list; `form` is an example of a row for the error. */
int topo_yaml_expect_list(const struct topo_yaml *reader, const struct cfg_node *node,
                          const char *form);

/* topo_yaml_row.c: one member, or a whole row, of the tables in topo_field.h. Members that are not
 * there or "unknown" stay as they are. `more` are known keys that the caller reads (NULL-ended). */
int topo_yaml_field(const struct topo_yaml *reader, const struct topo_field *field,
                    const struct cfg_node *node, void *target);
int topo_yaml_row(const struct topo_yaml *reader, const struct topo_field *fields,
                  const char *const more[], const struct cfg_node *row, void *base);

/* topo_yaml_cpus.c: a number below TOPO_THREADS_MAX, moving *text behind it; "7" or "0-63"; the
 * keys `cores` (which comes first) and `usable_cpus`. */
bool topo_yaml_number(const char **text, uint32_t *value);
int topo_yaml_range(const struct topo_yaml *reader, const struct cfg_node *node,
                    struct topo_cores *cores);
int topo_yaml_cores(const struct topo_yaml *reader, const struct cfg_node *list);
int topo_yaml_usable_cpus(const struct topo_yaml *reader, const struct cfg_node *node);

#endif
