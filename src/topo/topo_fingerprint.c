/* topo_fingerprint.c - is this the same kind of machine?
 *
 * What decides performance is written down as canonical text, one line for each fact, and hashed
 * (FNV-1a, 64 bits, http://www.isthe.com/chongo/tech/comp/fnv, with a final mix since near texts
 * give near FNV values). Devices are sorted lines, so the order of buses does not count. The speed
 * of a NIC is that of the fastest of its model in the host: a link that is down does not say its
 * speed, and one lost link is not another machine. The first line names the text's version: change
 * the text, change the version.
 */
#include "topo.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lines of text in an arena, to be sorted. */
struct lines {
    struct arena *arena;
    void *items; /* const char ** */
    size_t nr, capacity;
};

static void add_line(struct lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_line(struct lines *lines, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    array_grow(&lines->items, &lines->capacity, lines->nr, sizeof(char *));
    ((const char **)lines->items)[lines->nr++] = arena_vprintf(lines->arena, format, arguments);
    va_end(arguments);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 33;
}

/* Hashes the lines from `first` on, sorted, each ended by a line feed; empties them. */
static uint64_t hash_sorted(struct lines *lines, const char *head)
{
    uint64_t hash = hash_text(UINT64_C(0xcbf29ce484222325), head);
    const char **items = lines->items;
    if (lines->nr > 0) {
        qsort(items, lines->nr, sizeof(*items), compare_lines);
    }
    for (size_t i = 0; i < lines->nr; i++) {
        hash = hash_text(hash_text(hash, items[i]), "\n");
    }
    lines->nr = 0;
    return mix(hash);
}

static const char *known(const char *text)
{
    return text != NULL ? text : "unknown";
}

/* ---- one host type ---- */

static void add_cpu_lines(struct lines *lines, const struct topo_host_type *type)
{
    const struct topo_nodes *sockets = &type->nodes[TOPO_SOCKET], *numa = &type->nodes[TOPO_NUMA];
    const struct topo_nodes *caches = &type->nodes[TOPO_CACHE];
    add_line(lines, "architecture %s", known(type->architecture));
    for (size_t i = 0; i < sockets->nr; i++) {
        const struct topo_node *socket = &sockets->items[i];
        add_line(lines, "socket %u+%u %s", socket->cores.first, socket->cores.nr,
                 known(socket->model));
    }
    for (size_t i = 0; i < numa->nr; i++) {
        add_line(lines, "numa %zu %u+%u", i, numa->items[i].cores.first, numa->items[i].cores.nr);
    }
    for (size_t i = 0; i < caches->nr; i++) {
        const struct topo_node *cache = &caches->items[i];
        add_line(lines, "cache %u %" PRIu64 " %u+%u/%u", cache->level, cache->bytes,
                 cache->cores.first, cache->cores.nr, cache->shared_by);
    }
}

/* One line for each run of cores with as many threads. */
static void add_core_lines(struct lines *lines, const struct topo_host_type *type)
{
    uint32_t run_first = 0, run_threads = 0;
    for (size_t i = 0; i < type->nr_threads;) {
        size_t end = i;
        while (end < type->nr_threads && type->threads[end].core == type->threads[i].core) {
            end++;
        }
        uint32_t core = type->threads[i].core, threads = (uint32_t)(end - i);
        if (threads != run_threads) {
            if (i > 0) {
                add_line(lines, "cores %u-%u x %u", run_first, core - 1, run_threads);
            }
            run_first = core;
            run_threads = threads;
        }
        i = end;
    }
    if (type->nr_cores > 0) {
        add_line(lines, "cores %u-%u x %u", run_first, type->nr_cores - 1, run_threads);
    }
}

static void add_distance_lines(struct lines *lines, const struct topo_host_type *type)
{
    for (size_t i = 0; i < type->nr_links; i++) {
        const struct topo_link *link = &type->links[i];
        if (link->class == TOPO_LINK_CPU && !isnan(link->distance)) {
            add_line(lines, "distance %s%u>%s%u %.0f", topo_node_names[link->from.type],
                     link->from.index, topo_node_names[link->to.type], link->to.index,
                     link->distance);
        }
    }
}

static bool same_model(const struct topo_node *a, const struct topo_node *b)
{
    return a->kind == b->kind && strcmp(known(a->device), known(b->device)) == 0;
}

/* In Mb/s; 0 = unknown. */
static double fastest_of_model(const struct topo_nodes *nics, const struct topo_node *model)
{
    double fastest = 0;
    for (size_t i = 0; i < nics->nr; i++) {
        if (same_model(&nics->items[i], model)) {
            fastest = fmax(fastest, nics->items[i].bytes_per_second * 8 / 1e6);
        }
    }
    return fastest;
}

/* Virtual interfaces come and go with containers and say nothing of the machine. */
static void add_device_lines(struct lines *lines, const struct topo_host_type *type)
{
    static const enum topo_node_type types[] = {TOPO_GPU, TOPO_NVSWITCH, TOPO_NIC};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        const struct topo_nodes *nodes = &type->nodes[types[i]];
        for (size_t j = 0; j < nodes->nr; j++) {
            const struct topo_node *node = &nodes->items[j];
            if (types[i] == TOPO_NIC && node->kind == TOPO_NIC_VIRTUAL) {
                continue;
            }
            uint32_t numa = topo_device_numa(type, (struct topo_end){types[i], (uint32_t)j});
            add_line(lines, "%s %s %s %s numa %d %.0f", topo_node_names[types[i]],
                     known(node->model), known(node->device), topo_nic_kind_names[node->kind],
                     numa == TOPO_NONE ? -1 : (int)numa,
                     types[i] == TOPO_NIC ? fastest_of_model(nodes, node) : 0);
        }
    }
}

static uint64_t hash_host_type(struct lines *lines, const struct topo_host_type *type)
{
    add_cpu_lines(lines, type);
    add_core_lines(lines, type);
    add_distance_lines(lines, type);
    add_device_lines(lines, type);
    return hash_sorted(lines, "ccltune host 1\n");
}

/* ---- the cluster ---- */

/* How many hosts in all are like those of row `row`; 0 when an earlier row has counted them. */
static uint64_t count_alike(const struct topo *topo, const uint64_t *hashes, size_t row)
{
    uint64_t count = 0;
    for (size_t i = 0; i < topo->nr_hosts; i++) {
        if (hashes[i] == hashes[row]) {
            if (i < row) {
                return 0;
            }
            count += topo->hosts[i].count;
        }
    }
    return count;
}

char *topo_fingerprint(const struct topo *topo, char text[TOPO_FINGERPRINT_TEXT])
{
    struct arena arena = ARENA_EMPTY;
    struct lines lines = {.arena = &arena};
    uint64_t *hashes = arena_alloc(&arena, topo->nr_hosts, sizeof(*hashes));
    for (size_t i = 0; i < topo->nr_hosts; i++) {
        hashes[i] = hash_host_type(&lines, topo->hosts[i].type);
    }
    for (size_t i = 0; i < topo->nr_hosts; i++) {
        uint64_t count = count_alike(topo, hashes, i);
        if (count > 0) {
            add_line(&lines, "%016" PRIx64 " x %" PRIu64, hashes[i], count);
        }
    }
    snprintf(text, TOPO_FINGERPRINT_TEXT, "%016" PRIx64,
             hash_sorted(&lines, "ccltune topology 1\n"));
    free(lines.items);
    arena_release(&arena);
    return text;
}
