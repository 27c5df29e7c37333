/* topo_describe.c - what a topology comes to: counts, and one line for people. */
#include "topo.h"

#include "units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

uint32_t topo_usable_cores(const struct topo_host_type *type)
{
    uint32_t usable = 0;
    for (size_t i = 0; i < type->nr_threads;) {
        uint32_t core = type->threads[i].core;
        bool any = false;
        for (; i < type->nr_threads && type->threads[i].core == core; i++) {
            any = any || type->threads[i].usable;
        }
        usable += any;
    }
    if (usable > 1 && type->quota_cpus < usable) { /* false for no quota, which is NaN */
        usable = type->quota_cpus < 2 ? 1 : (uint32_t)type->quota_cpus;
    }
    return usable;
}

uint32_t topo_device_numa(const struct topo_host_type *type, struct topo_end device)
{
    for (size_t i = 0; i < type->nr_links; i++) {
        const struct topo_link *link = &type->links[i];
        if (link->from.type == TOPO_NUMA && link->to.type == device.type &&
            link->to.index == device.index) {
            return link->from.index;
        }
    }
    return TOPO_NONE;
}

/* ---- the line ---- */

static bool same_model(const struct topo_node *a, const struct topo_node *b)
{
    return (a->model == NULL && b->model == NULL) ||
           (a->model != NULL && b->model != NULL && strcmp(a->model, b->model) == 0);
}

/* "2 x AMD EPYC 7763", several where sockets differ. */
static const char *describe_sockets(struct arena *arena, const struct topo_nodes *sockets)
{
    const char *text = "";
    for (size_t i = 0, end; i < sockets->nr; i = end) {
        end = i + 1;
        while (end < sockets->nr && same_model(&sockets->items[i], &sockets->items[end])) {
            end++;
        }
        const char *model = sockets->items[i].model;
        text = arena_printf(arena, "%s%s%zu x %s", text, i > 0 ? " + " : "", end - i,
                            model != NULL ? model : "unknown CPU");
    }
    return sockets->nr > 0 ? text : "unknown CPU";
}

/* "L3 8 x 32 MiB": the caches of the largest level there is. */
static const char *describe_cache(struct arena *arena, const struct topo_nodes *caches)
{
    char size[UNITS_TEXT];
    const struct topo_node *last = NULL;
    uint32_t nr = 0;
    for (size_t i = 0; i < caches->nr; i++) {
        const struct topo_node *cache = &caches->items[i];
        if (last == NULL || cache->level > last->level) {
            last = cache;
            nr = 0;
        }
        if (cache->level == last->level && cache->bytes == last->bytes) {
            nr += cache->cores.nr / cache->shared_by;
        }
    }
    if (last == NULL) {
        return "";
    }
    const char *bytes = last->bytes > 0 ? units_format_bytes(last->bytes, size) : "unknown size";
    return nr == 1 ? arena_printf(arena, ", L%u %s", last->level, bytes)
                   : arena_printf(arena, ", L%u %u x %s", last->level, nr, bytes);
}

static const char *describe_devices(struct arena *arena, const struct topo_host_type *type)
{
    size_t nr_nics = 0, nr_gpus = type->nodes[TOPO_GPU].nr;
    for (size_t i = 0; i < type->nodes[TOPO_NIC].nr; i++) {
        nr_nics += type->nodes[TOPO_NIC].items[i].kind != TOPO_NIC_VIRTUAL;
    }
    const char *gpus =
        nr_gpus == 0 ? "" : arena_printf(arena, ", %zu GPU%s", nr_gpus, nr_gpus > 1 ? "s" : "");
    return nr_nics == 0
               ? gpus
               : arena_printf(arena, "%s, %zu NIC%s", gpus, nr_nics, nr_nics > 1 ? "s" : "");
}

static const char *describe_host_type(struct arena *arena, const struct topo_host_type *type)
{
    const char *threads = type->nr_threads == type->nr_cores
                              ? ""
                              : arena_printf(arena, ", %zu hardware threads", type->nr_threads);
    return arena_printf(arena, "%s, %u core%s (%u usable)%s, %zu NUMA%s%s",
                        describe_sockets(arena, &type->nodes[TOPO_SOCKET]), type->nr_cores,
                        type->nr_cores == 1 ? "" : "s", topo_usable_cores(type), threads,
                        type->nodes[TOPO_NUMA].nr, describe_cache(arena, &type->nodes[TOPO_CACHE]),
                        describe_devices(arena, type));
}

const char *topo_describe(struct arena *arena, const struct topo *topo)
{
    const char *text = "";
    for (size_t i = 0; i < topo->nr_hosts; i++) {
        const struct topo_hosts *hosts = &topo->hosts[i];
        const char *host = describe_host_type(arena, hosts->type);
        if (topo->nr_hosts > 1 || hosts->count > 1) {
            host = arena_printf(arena, "%llu x (%s)", (unsigned long long)hosts->count, host);
        }
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? " + " : "", host);
    }
    return text;
}
