/* topo_yaml.c - reads our YAML.
 *
 *     ccltune: 1
 *     name: node7
 *     hosts:
 *       - {type: local, count: 1}
 *     types:
 *       local:
 *         kernel: Linux 6.1.0
 *         architecture: x86_64
 *         sockets:
 *           - {model: AMD EPYC 7763 64-Core Processor, cores: 0-63}
 *         numa:
 *           - {cores: 0-63, memory: 256 GiB}
 *         caches:                     # one of 32 MiB for every 8 of the cores
 *           - {level: 3, size: 32 MiB, cores: 0-63, shared_by: 8}
 *         cores:                      # CPU numbers of their first threads, second threads
 *           - {cores: 0-63, cpus: [0-63, 64-127]}
 *         usable_cpus: 0-127          # all (the default), none, or a list
 *         quota_cpus: 16              # none (the default) or a number of CPUs
 *         gpus:
 *           - {model: unknown, pci: "0000:3b:00.0", device: "10de:2330"}
 *         nics:
 *           - {name: eth0, kind: ethernet, speed: 200 Gb/s, link: up, pci: "0000:41:00.0"}
 *         links:                      # both ways; `from: numa0, to: nic0` is one way
 *           - {between: [numa0, nic0], class: pcie, bandwidth: 31.5 GB/s, latency: 0.5 us}
 *
 * What is left out is unknown. Which keys a row has is said by the tables in topo_field.c.
 */
#include "topo_yaml.h"

#include <string.h>

int topo_yaml_expect_list(const struct topo_yaml *reader, const struct cfg_node *node,
                          const char *form)
{
    if (node->type != CFG_LIST) {
        return cfg_error(node, reader->error,
                         "%s: expected a list with one row for each, such as %s", node->key, form);
    }
    if (node->nr > TOPO_ROWS_MAX) {
        return cfg_error(node, reader->error, "%s: expected at most %u rows, found %zu", node->key,
                         TOPO_ROWS_MAX, node->nr);
    }
    return 0;
}

/* ---- nodes ---- */

/* What the tables cannot say about a row. */
static int check_node(const struct topo_yaml *reader, enum topo_node_type node_type,
                      const struct topo_node *node, const struct cfg_node *row)
{
    const struct topo_host_type *type = reader->type;
    uint32_t end = node->cores.first + node->cores.nr;
    if (end > type->nr_cores) {
        return cfg_error(row, reader->error,
                         "core %u is named here, but 'cores' describes %u cores (0 to %u)", end - 1,
                         type->nr_cores, type->nr_cores == 0 ? 0 : type->nr_cores - 1);
    }
    if (node_type == TOPO_CACHE && (node->cores.nr == 0 || node->cores.nr % node->shared_by != 0)) {
        return cfg_error(row, reader->error,
                         "shared_by: %u does not divide the %u cores of the row; give the odd "
                         "caches a row of their own",
                         node->shared_by, node->cores.nr);
    }
    const struct topo_nodes *sockets = &type->nodes[TOPO_SOCKET];
    if (node_type == TOPO_SOCKET && sockets->nr > 1) {
        const struct topo_cores *before = &sockets->items[sockets->nr - 2].cores;
        if (node->cores.first < before->first + before->nr) {
            return cfg_error(row, reader->error,
                             "core %u belongs to the socket before already; sockets are listed in "
                             "the order of their cores and share none",
                             node->cores.first);
        }
    }
    return 0;
}

static int read_nodes(const struct topo_yaml *reader, const struct topo_section *section,
                      const struct cfg_node *list)
{
    static const char *const no_more[] = {NULL};
    if (topo_yaml_expect_list(reader, list, "- {...}")) {
        return -1;
    }
    for (size_t i = 0; i < list->nr; i++) {
        const struct cfg_node *row = &list->items[i];
        struct topo_node *node = topo_add_node(reader->arena, reader->type, section->type);
        if (topo_yaml_row(reader, section->fields, no_more, row, node) ||
            check_node(reader, section->type, node, row)) {
            return -1;
        }
    }
    return 0;
}

static int read_quota(const struct topo_yaml *reader, const struct cfg_node *node)
{
    static const struct topo_field field = {"quota_cpus", NULL, TOPO_FIELD_NUMBER, 0, "none",
                                            NULL,         true};
    return topo_yaml_field(reader, &field, node, &reader->type->quota_cpus);
}

/* ---- links ---- */

/* "nic0" -> that node, which must exist. */
static int read_end(const struct topo_yaml *reader, const struct cfg_node *node,
                    struct topo_end *end)
{
    const char *text;
    if (cfg_read_text(node, &text, reader->error)) {
        return -1;
    }
    for (unsigned type = 0; type < TOPO_NODE_TYPES; type++) {
        size_t length = strlen(topo_node_names[type]);
        const char *rest = text + length;
        uint32_t index;
        if (strncmp(text, topo_node_names[type], length) == 0 && topo_yaml_number(&rest, &index) &&
            *rest == '\0') {
            size_t nr = reader->type->nodes[type].nr;
            if (index >= nr) {
                return cfg_error(node, reader->error,
                                 "'%s' does not exist: this host type has %zu in '%s', counted "
                                 "from 0",
                                 text, nr, topo_sections[type].key);
            }
            *end = (struct topo_end){type, index};
            return 0;
        }
    }
    return cfg_error(node, reader->error,
                     "expected a node such as numa0, gpu1 or nic2 (type and number from 0), found "
                     "'%.40s'",
                     text);
}

static int read_link(const struct topo_yaml *reader, const struct cfg_node *row)
{
    static const char *const ends[] = {"between", "from", "to", NULL};
    struct topo_link link = topo_unknown_link((struct topo_end){0}, (struct topo_end){0}, 0);
    if (topo_yaml_row(reader, topo_link_fields, ends, row, &link)) {
        return -1;
    }
    const struct cfg_node *between = cfg_get(row, "between");
    const struct cfg_node *from = cfg_get(row, "from"), *to = cfg_get(row, "to");
    bool both_ways = between != NULL && from == NULL && to == NULL && between->type == CFG_LIST &&
                     between->nr == 2;
    if (both_ways) {
        from = &between->items[0];
        to = &between->items[1];
    } else if (between != NULL || from == NULL || to == NULL) {
        return cfg_error(row, reader->error,
                         "expected the ends as 'between: [numa0, nic0]' (both ways) or as 'from: "
                         "numa0, to: nic0' (one way)");
    }
    if (read_end(reader, from, &link.from) || read_end(reader, to, &link.to)) {
        return -1;
    }
    if (link.from.type == link.to.type && link.from.index == link.to.index) {
        return cfg_error(row, reader->error, "a link joins two different nodes, found %s%u twice",
                         topo_node_names[link.from.type], link.from.index);
    }
    if (both_ways) {
        topo_add_both_ways(reader->arena, reader->type, link);
    } else {
        topo_add_link(reader->arena, reader->type, link);
    }
    return 0;
}

static int read_links(const struct topo_yaml *reader, const struct cfg_node *list)
{
    if (topo_yaml_expect_list(reader, list, "- {between: [numa0, nic0], class: pcie}")) {
        return -1;
    }
    for (size_t i = 0; i < list->nr; i++) {
        if (read_link(reader, &list->items[i])) {
            return -1;
        }
    }
    return 0;
}

/* ---- a host type ---- */

static int read_text_key(const struct topo_yaml *reader, const struct cfg_node *map,
                         const char *key, const char **text)
{
    const struct topo_field field = {key, NULL, TOPO_FIELD_TEXT, 0, "unknown", NULL, false};
    const struct cfg_node *node = cfg_get(map, key);
    return node == NULL ? 0 : topo_yaml_field(reader, &field, node, text);
}

/* Keys in the order in which they depend on each other, whatever the order in the file. */
static int read_host_type(const struct topo_yaml *reader, const struct cfg_node *map)
{
    const char *known[TOPO_NODE_TYPES + 7] = {"kernel",      "architecture", "cores",
                                              "usable_cpus", "quota_cpus",   "links"};
    for (unsigned i = 0; i < TOPO_NODE_TYPES; i++) {
        known[6 + i] = topo_sections[i].key;
    }
    if (cfg_check_keys(map, known, reader->error) ||
        read_text_key(reader, map, "kernel", &reader->type->kernel) ||
        read_text_key(reader, map, "architecture", &reader->type->architecture)) {
        return -1;
    }
    const struct {
        const char *key;
        int (*read)(const struct topo_yaml *, const struct cfg_node *);
    } cpu_keys[] = {{"cores", topo_yaml_cores},
                    {"usable_cpus", topo_yaml_usable_cpus},
                    {"quota_cpus", read_quota}};
    for (size_t i = 0; i < sizeof(cpu_keys) / sizeof(*cpu_keys); i++) {
        const struct cfg_node *node = cfg_get(map, cpu_keys[i].key);
        if (node != NULL && cpu_keys[i].read(reader, node)) {
            return -1;
        }
    }
    for (unsigned i = 0; i < TOPO_NODE_TYPES; i++) {
        const struct cfg_node *list = cfg_get(map, topo_sections[i].key);
        if (list != NULL && read_nodes(reader, &topo_sections[i], list)) {
            return -1;
        }
    }
    const struct cfg_node *links = cfg_get(map, "links");
    return links == NULL ? 0 : read_links(reader, links);
}

/* ---- the cluster ---- */

static int read_types(struct arena *arena, const struct cfg_node *map, struct topo *topo,
                      struct error *error)
{
    if (map->type != CFG_MAP || map->nr == 0 || map->nr > TOPO_ROWS_MAX) {
        return cfg_error(
            map, error, "types: expected 1 to %u host types by name, as in 'types: {local: {...}}'",
            TOPO_ROWS_MAX);
    }
    topo->types = arena_alloc(arena, map->nr, sizeof(*topo->types));
    for (size_t i = 0; i < map->nr; i++) {
        const struct cfg_node *node = &map->items[i];
        struct topo_yaml reader = {arena, &topo->types[i], error};
        topo->types[i] = topo_empty_host_type(node->key);
        if (read_host_type(&reader, node)) {
            return -1;
        }
    }
    topo->nr_types = map->nr;
    return 0;
}

static int read_hosts_row(const struct cfg_node *row, const struct topo *topo,
                          struct topo_hosts *hosts, struct error *error)
{
    static const char *const known[] = {"type", "count", NULL};
    const char *name;
    if (cfg_check_keys(row, known, error)) {
        return -1;
    }
    const struct cfg_node *type = cfg_get(row, "type"), *count = cfg_get(row, "count");
    if (type == NULL || count == NULL) {
        return cfg_error(row, error, "expected both keys, as in {type: local, count: 1}");
    }
    if (cfg_read_text(type, &name, error) || cfg_read_count(count, &hosts->count, error)) {
        return -1;
    }
    if (hosts->count == 0 || hosts->count > TOPO_HOSTS_MAX) {
        return cfg_error(count, error, "count: expected 1 to %u hosts, found %s", TOPO_HOSTS_MAX,
                         count->text);
    }
    for (size_t i = 0; i < topo->nr_types; i++) {
        if (strcmp(topo->types[i].name, name) == 0) {
            hosts->type = &topo->types[i];
            return 0;
        }
    }
    return cfg_error(type, error,
                     "the host type '%.60s' is not described under 'types' (there: '%.60s'%s)",
                     name, topo->types[0].name, topo->nr_types > 1 ? ", ..." : "");
}

static int read_hosts(struct arena *arena, const struct cfg_node *list, struct topo *topo,
                      struct error *error)
{
    if (list->type != CFG_LIST || list->nr == 0 || list->nr > TOPO_ROWS_MAX) {
        return cfg_error(list, error,
                         "hosts: expected 1 to %u rows such as '- {type: local, count: 1}'",
                         TOPO_ROWS_MAX);
    }
    topo->hosts = arena_alloc(arena, list->nr, sizeof(*topo->hosts));
    topo->nr_hosts = list->nr;
    for (size_t i = 0; i < list->nr; i++) {
        if (read_hosts_row(&list->items[i], topo, &topo->hosts[i], error)) {
            return -1;
        }
    }
    return 0;
}

static int read_version(const struct cfg_node *node, struct error *error)
{
    uint64_t version;
    if (cfg_read_count(node, &version, error)) {
        return -1;
    }
    if (version != 1) {
        return cfg_error(node, error,
                         "expected 'ccltune: 1', found version %llu; this program "
                         "reads version 1 alone",
                         (unsigned long long)version);
    }
    return 0;
}

int topo_yaml_load(struct arena *arena, const char *text, size_t length, const char *name,
                   struct topo *topo, struct error *error)
{
    static const char *const known[] = {"ccltune", "name", "hosts", "types", NULL};
    const struct cfg_node *root;
    struct topo read = {0};
    if (cfg_load_text(arena, text, length, name, &root, error) ||
        cfg_check_keys(root, known, error)) {
        return -1;
    }
    for (size_t i = 0; known[i] != NULL; i++) {
        if (cfg_get(root, known[i]) == NULL) {
            return cfg_error(root, error,
                             "the key '%s' is missing; a topology has 'ccltune: 1', 'name', "
                             "'hosts' and 'types'",
                             known[i]);
        }
    }
    if (read_version(cfg_get(root, "ccltune"), error) ||
        cfg_read_text(cfg_get(root, "name"), &read.name, error) ||
        read_types(arena, cfg_get(root, "types"), &read, error) ||
        read_hosts(arena, cfg_get(root, "hosts"), &read, error)) {
        return -1;
    }
    *topo = read;
    return 0;
}
