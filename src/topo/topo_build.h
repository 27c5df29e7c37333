/* topo_build.h - for readers of topologies: how a host type grows. Private to src/topo. */
#ifndef CCLTUNE_TOPO_BUILD_H
#define CCLTUNE_TOPO_BUILD_H

#include "topo.h"

/* More than this in one file or host type is taken for a slip, and keeps work in bounds. */
#define TOPO_THREADS_MAX 65536u
#define TOPO_ROWS_MAX    16384u
#define TOPO_HOSTS_MAX   1000000000u

/* Room for one more element behind the `nr` that `items` holds; returns the (moved) array. */
void *topo_grow(struct arena *arena, void *items, size_t nr, size_t size);

/* An empty host type: everything unknown. */
struct topo_host_type topo_empty_host_type(const char *name);

/* Appends; what comes back is all unknown and stays valid until the next one is added. */
struct topo_node *topo_add_node(struct arena *arena, struct topo_host_type *type,
                                enum topo_node_type node_type);
struct topo_link *topo_add_link(struct arena *arena, struct topo_host_type *type,
                                struct topo_link link);
void topo_add_thread(struct arena *arena, struct topo_host_type *type, struct topo_thread thread);

/* Appends a link and its reverse. */
void topo_add_both_ways(struct arena *arena, struct topo_host_type *type, struct topo_link link);

/* A link of which only ends and class are known. */
struct topo_link topo_unknown_link(struct topo_end from, struct topo_end to,
                                   enum topo_link_class class);

void topo_add_note(struct arena *arena, struct topo *topo, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Our YAML; see topo_yaml.c. */
int topo_yaml_load(struct arena *arena, const char *text, size_t length, const char *name,
                   struct topo *topo, struct error *error);

#endif
