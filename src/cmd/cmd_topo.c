/* cmd_topo.c - `ccltune topo`: what machine is this, or what does this file describe? */
#include "commands.h"

#include "arena.h"
#include "file.h"
#include "json.h"
#include "option.h"
#include "topo.h"
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct topo_options {
    bool local;
    bool fingerprint;
    const char *format;
    const char *output;
};

static const struct option_row rows[] = {
    {0, "local", OPTION_FLAG, NULL, "look at this machine (as without FILE)",
     offsetof(struct topo_options, local), NULL},
    {0, "format", OPTION_CHOICE, "table|yaml|json",
     "table is for reading; yaml is the form that FILE has", offsetof(struct topo_options, format),
     "table"},
    {'o', "output", OPTION_TEXT, "FILE", "write to FILE, whole or not at all",
     offsetof(struct topo_options, output), NULL},
    {0, "fingerprint", OPTION_FLAG, NULL,
     "print only the fingerprint: equal for machines of equal performance",
     offsetof(struct topo_options, fingerprint), NULL},
    {0, NULL, OPTION_END, NULL, NULL, 0, NULL}};

static const struct option_command command = {
    "topo", "[options] [FILE]", "Shows a machine: CPUs, memory, caches, GPUs, NICs, links.",
    "  ccltune topo                                this machine on a page\n"
    "  ccltune topo --format yaml -o node7.yaml    keep it\n"
    "  ccltune topo node7.yaml                     look at it elsewhere\n",
    rows};

/* ---- the page ---- */

static const char *cores_text(struct arena *arena, struct topo_cores cores)
{
    return cores.nr == 0 ? "no cores"
           : cores.nr == 1
               ? arena_printf(arena, "core %u", cores.first)
               : arena_printf(arena, "cores %u-%u", cores.first, cores.first + cores.nr - 1);
}

static const char *bytes_text(struct arena *arena, uint64_t bytes)
{
    char text[UNITS_TEXT];
    if (bytes >= 1u << 30) {
        return arena_printf(arena, "%.1f GiB", (double)bytes / (1u << 30));
    }
    return bytes == 0 ? "size unknown" : arena_strdup(arena, units_format_bytes(bytes, text));
}

static const char *speed_text(struct arena *arena, double bytes_per_second)
{
    return isnan(bytes_per_second) ? "unknown"
                                   : arena_printf(arena, "%.4g Gb/s", bytes_per_second * 8 / 1e9);
}

static const char *known(const char *text)
{
    return text != NULL ? text : "unknown";
}

static void print_cpu_row(FILE *out, const char *what, const char *cores, const char *text)
{
    fprintf(out, *text != '\0' ? "  %-9s %-14s %s\n" : "  %-9s %s%s\n", what, cores, text);
}

static void print_unknown(FILE *out, const struct topo_nodes *nodes, const char *what)
{
    if (nodes->nr == 0) {
        print_cpu_row(out, what, "unknown", "");
    }
}

/* Runs of usable cores, "0-3, 8". */
static const char *usable_text(struct arena *arena, const struct topo_host_type *type)
{
    const char *text = "";
    bool *usable = arena_alloc(arena, type->nr_cores, sizeof(*usable));
    for (size_t i = 0; i < type->nr_threads; i++) {
        usable[type->threads[i].core] |= type->threads[i].usable;
    }
    for (uint32_t i = 0, end; i < type->nr_cores; i = end) {
        for (end = i; end < type->nr_cores && usable[end]; end++) {
        }
        if (end > i) {
            text = arena_printf(arena, "%s%s%u", text, *text != '\0' ? ", " : "", i);
            text = end - i > 1 ? arena_printf(arena, "%s-%u", text, end - 1) : text;
        }
        end = end > i ? end : i + 1;
    }
    return *text != '\0' ? arena_printf(arena, "cores %s", text) : "no cores";
}

static void print_cpus(FILE *out, struct arena *arena, const struct topo_host_type *type)
{
    const struct topo_nodes *nodes = type->nodes;
    fputs("CPU\n", out);
    print_unknown(out, &nodes[TOPO_SOCKET], "sockets");
    print_unknown(out, &nodes[TOPO_NUMA], "numa");
    print_unknown(out, &nodes[TOPO_CACHE], "caches");
    for (size_t i = 0; i < nodes[TOPO_SOCKET].nr; i++) {
        const struct topo_node *socket = &nodes[TOPO_SOCKET].items[i];
        print_cpu_row(out, arena_printf(arena, "socket %zu", i), cores_text(arena, socket->cores),
                      known(socket->model));
    }
    for (size_t i = 0; i < nodes[TOPO_NUMA].nr; i++) {
        const struct topo_node *numa = &nodes[TOPO_NUMA].items[i];
        print_cpu_row(out, arena_printf(arena, "numa %zu", i), cores_text(arena, numa->cores),
                      bytes_text(arena, numa->bytes));
    }
    for (size_t i = 0; i < nodes[TOPO_CACHE].nr; i++) {
        const struct topo_node *cache = &nodes[TOPO_CACHE].items[i];
        const char *size = bytes_text(arena, cache->bytes);
        print_cpu_row(out, arena_printf(arena, "L%u", cache->level),
                      cores_text(arena, cache->cores),
                      cache->shared_by == 1
                          ? arena_printf(arena, "%s for each core", size)
                          : arena_printf(arena, "%s for every %u cores", size, cache->shared_by));
    }
}

static void print_threads(FILE *out, struct arena *arena, const struct topo_host_type *type)
{
    const char *limit =
        isnan(type->quota_cpus)
            ? ""
            : arena_printf(arena, ", CPU time limited to %.4g CPUs", type->quota_cpus);
    print_cpu_row(out, "threads", cores_text(arena, (struct topo_cores){0, type->nr_cores}),
                  arena_printf(arena, "%zu in all", type->nr_threads));
    print_cpu_row(out, "usable", usable_text(arena, type),
                  arena_printf(arena, "%u of %u, a core for each rank%s", topo_usable_cores(type),
                               type->nr_cores, limit));
}

/* A line for each NUMA node with the firmware's relative distances to others, where it says them.
 */
static void print_distances(FILE *out, struct arena *arena, const struct topo_host_type *type)
{
    for (uint32_t i = 0; i < type->nodes[TOPO_NUMA].nr; i++) {
        const char *text = "";
        for (size_t j = 0; j < type->nr_links; j++) {
            const struct topo_link *link = &type->links[j];
            if (link->from.type == TOPO_NUMA && link->from.index == i &&
                link->to.type == TOPO_NUMA && !isnan(link->distance)) {
                text = arena_printf(arena, "%s  %u: %g", text, link->to.index, link->distance);
            }
        }
        if (*text != '\0') {
            fprintf(out, "  distance from numa %u (10) to%s\n", i, text);
        }
    }
}

static const char *numa_text(struct arena *arena, const struct topo_host_type *type,
                             enum topo_node_type node_type, size_t index)
{
    uint32_t numa = topo_device_numa(type, (struct topo_end){node_type, (uint32_t)index});
    return numa == TOPO_NONE ? "unknown" : arena_printf(arena, "%u", numa);
}

static void print_nics(FILE *out, struct arena *arena, const struct topo_host_type *type)
{
    static const char form[] = "  %-14s %-11s %-10s %-8s %-8s %-13s %-10s %s\n";
    const struct topo_nodes *nics = &type->nodes[TOPO_NIC];
    const char *virtual_names = "";
    bool any = false;
    for (size_t i = 0; i < nics->nr; i++) {
        const struct topo_node *nic = &nics->items[i];
        if (nic->kind == TOPO_NIC_VIRTUAL) {
            virtual_names = arena_printf(arena, "%s %s", virtual_names, known(nic->name));
            continue;
        }
        if (!any) {
            fputs("NICs\n", out);
            fprintf(out, form, "name", "kind", "speed", "link", "NUMA", "PCI", "device", "RDMA");
        }
        any = true;
        fprintf(out, form, known(nic->name), topo_nic_kind_names[nic->kind],
                speed_text(arena, nic->bytes_per_second), topo_nic_state_names[nic->state],
                numa_text(arena, type, TOPO_NIC, i), known(nic->pci), known(nic->device),
                nic->rdma != NULL ? nic->rdma : "none");
    }
    if (!any) {
        fputs("NICs: none seen\n", out);
    }
    if (*virtual_names != '\0') {
        fprintf(out, "  virtual:%s\n", virtual_names);
    }
}

static void print_gpus(FILE *out, struct arena *arena, const struct topo_host_type *type)
{
    static const char form[] = "  %-14s %-8s %-13s %s\n";
    const struct topo_nodes *gpus = &type->nodes[TOPO_GPU];
    fputs(gpus->nr == 0 ? "GPUs: none seen\n" : "GPUs\n", out);
    for (size_t i = 0; i < gpus->nr; i++) {
        const struct topo_node *gpu = &gpus->items[i];
        if (i == 0) {
            fprintf(out, form, "model", "NUMA", "PCI", "device");
        }
        fprintf(out, form, known(gpu->model), numa_text(arena, type, TOPO_GPU, i), known(gpu->pci),
                known(gpu->device));
    }
}

static void print_page(FILE *out, struct arena *arena, const struct topo *topo)
{
    char fingerprint[TOPO_FINGERPRINT_TEXT];
    fprintf(out, "%s: %s\nfingerprint %s\n", topo->name, topo_describe(arena, topo),
            topo_fingerprint(topo, fingerprint));
    for (size_t i = 0; i < topo->nr_hosts; i++) {
        const struct topo_host_type *type = topo->hosts[i].type;
        fprintf(out, "\n%s: %llu host%s, %s, kernel %s\n", type->name,
                (unsigned long long)topo->hosts[i].count, topo->hosts[i].count == 1 ? "" : "s",
                type->architecture != NULL ? type->architecture : "architecture unknown",
                known(type->kernel));
        print_cpus(out, arena, type);
        print_threads(out, arena, type);
        print_distances(out, arena, type);
        print_nics(out, arena, type);
        print_gpus(out, arena, type);
    }
    for (size_t i = 0; i < topo->nr_notes; i++) {
        fprintf(out, "%snote: %s\n", i == 0 ? "\n" : "", topo->notes[i]);
    }
}

/* ---- the command ---- */

static void print_result(FILE *out, struct arena *arena, const struct topo *topo,
                         const struct topo_options *options)
{
    char fingerprint[TOPO_FINGERPRINT_TEXT];
    char *text = NULL;
    if (options->fingerprint) {
        fprintf(out, "%s\n", topo_fingerprint(topo, fingerprint));
    } else if (strcmp(options->format, "yaml") == 0) {
        text = topo_to_yaml(topo);
        fputs(text, out);
    } else if (strcmp(options->format, "json") == 0) {
        struct json *json = topo_to_json(topo);
        text = json_to_text(json, 2);
        json_free(json);
        fprintf(out, "%s\n", text);
    } else {
        print_page(out, arena, topo);
    }
    free(text);
}

/* To standard output, or whole into a file. Not being able to write is the system's failure,
 * whatever its cause. */
static int deliver(struct arena *arena, const struct topo *topo, const struct topo_options *options,
                   struct error *error)
{
    char *text = NULL;
    size_t length = 0;
    if (options->output == NULL) {
        print_result(stdout, arena, topo, options);
        return fflush(stdout) != 0 ? error_errno(error, errno, "cannot write to standard output")
                                   : 0;
    }
    FILE *out = open_memstream(&text, &length);
    if (out == NULL) {
        arena_out_of_memory();
    }
    print_result(out, arena, topo, options);
    if (fclose(out) != 0) {
        arena_out_of_memory();
    }
    int failed = file_write(options->output, text, length, error);
    free(text);
    return failed;
}

static int run(struct arena *arena, const char *path, const struct topo_options *options,
               struct error *error)
{
    struct topo topo;
    int failed = path != NULL ? topo_load_file(arena, path, &topo, error)
                              : topo_load_local(arena, &topo, error);
    return failed ? -1 : deliver(arena, &topo, options, error);
}

int cmd_topo(int argc, char **argv, struct error *error)
{
    struct topo_options options;
    struct arena arena = ARENA_EMPTY;
    int argc_left;
    bool help_wanted;
    if (option_parse(&command, argc, argv, &options, &argc_left, &help_wanted, error)) {
        return (int)error->status;
    }
    if (help_wanted) {
        option_print_help(&command, stdout);
        return EXIT_OK;
    }
    if (argc_left > 2 || (argc_left == 2 && options.local)) {
        error_set(error, EXIT_INPUT, "expected one FILE or --local, found %s '%.60s'",
                  options.local ? "both --local and" : "a second file,",
                  argv[options.local ? 1 : 2]);
        return (int)error->status;
    }
    int failed = run(&arena, argc_left == 2 ? argv[1] : NULL, &options, error);
    arena_release(&arena);
    return failed ? (int)error->status : EXIT_OK;
}
