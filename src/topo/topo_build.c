/* topo_build.c - growing a host type, element by element.
 *
 * Arrays live in the arena and double when their length is a power of two, so they need no
 * capacity of their own; what is left behind goes with the arena.
 */
#include "topo_build.h"

#include <math.h>
#include <string.h>

void *topo_grow(struct arena *arena, void *items, size_t nr, size_t size)
{
    bool full = (nr & (nr - 1)) == 0; /* 0, 1, 2, 4, 8, ... */
    if (!full) {
        return items;
    }
    void *moved = arena_alloc(arena, nr == 0 ? 1 : 2 * nr, size);
    if (nr > 0) {
        memcpy(moved, items, nr * size);
    }
    return moved;
}

struct topo_host_type topo_empty_host_type(const char *name)
{
    return (struct topo_host_type){.name = name, .quota_cpus = NAN};
}

struct topo_node *topo_add_node(struct arena *arena, struct topo_host_type *type,
                                enum topo_node_type node_type)
{
    struct topo_nodes *nodes = &type->nodes[node_type];
    nodes->items = topo_grow(arena, nodes->items, nodes->nr, sizeof(*nodes->items));
    struct topo_node *node = &nodes->items[nodes->nr++];
    *node = (struct topo_node){.bytes_per_second = NAN};
    return node;
}

struct topo_link topo_unknown_link(struct topo_end from, struct topo_end to,
                                   enum topo_link_class class)
{
    return (struct topo_link){
        .from = from,
        .to = to,
        .class = class,
        .bytes_per_second = NAN,
        .seconds = NAN,
        .distance = NAN,
    };
}

struct topo_link *topo_add_link(struct arena *arena, struct topo_host_type *type,
                                struct topo_link link)
{
    type->links = topo_grow(arena, type->links, type->nr_links, sizeof(*type->links));
    type->links[type->nr_links] = link;
    return &type->links[type->nr_links++];
}

void topo_add_both_ways(struct arena *arena, struct topo_host_type *type, struct topo_link link)
{
    topo_add_link(arena, type, link);
    struct topo_end from = link.from;
    link.from = link.to;
    link.to = from;
    topo_add_link(arena, type, link);
}

void topo_add_thread(struct arena *arena, struct topo_host_type *type, struct topo_thread thread)
{
    type->threads = topo_grow(arena, type->threads, type->nr_threads, sizeof(*type->threads));
    type->threads[type->nr_threads++] = thread;
    if (type->nr_cores <= thread.core) {
        type->nr_cores = thread.core + 1;
    }
}

void topo_add_note(struct arena *arena, struct topo *topo, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    topo->notes = topo_grow(arena, topo->notes, topo->nr_notes, sizeof(*topo->notes));
    topo->notes[topo->nr_notes++] = arena_vprintf(arena, format, arguments);
    va_end(arguments);
}
