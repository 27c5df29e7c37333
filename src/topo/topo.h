/* topo.h - the machine as a graph.
 *
 * A topology is a cluster: host types with counts. A host type is nodes (sockets, NUMA nodes,
 * caches, GPUs, switches, NICs), the cores with their hardware threads, and directed links. It is
 * never flattened: a thousand equal hosts are one type with count 1000.
 *
 * Nothing is guessed. What nobody said is unknown: NULL for texts, NaN for doubles, 0 for bytes and
 * lanes; text outputs say "unknown" (or "none"). What had to be assumed is listed in `notes`.
 *
 * Sources: this machine (hwloc for CPUs, memory, PCI; /sys/class/net and /sys/class/infiniband for
 * speed and state of NICs; cgroups for limits) and our YAML (see topo_yaml.c). Every text and array
 * belongs to the arena that the topology was loaded into.
 */
#ifndef CCLTUNE_TOPO_H
#define CCLTUNE_TOPO_H

#include "arena.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

enum topo_node_type {
    TOPO_SOCKET,
    TOPO_NUMA,
    TOPO_CACHE, /* a row of equal caches, see `shared_by` */
    TOPO_PCIE_SWITCH,
    TOPO_GPU,
    TOPO_NVSWITCH,
    TOPO_NIC,
    TOPO_NODE_TYPES
};

enum topo_nic_kind { TOPO_NIC_UNKNOWN, TOPO_NIC_ETHERNET, TOPO_NIC_INFINIBAND, TOPO_NIC_VIRTUAL };
enum topo_nic_state { TOPO_STATE_UNKNOWN, TOPO_STATE_UP, TOPO_STATE_DOWN };
enum topo_link_class { TOPO_LINK_CPU, TOPO_LINK_PCIE, TOPO_LINK_NVLINK, TOPO_LINK_NETWORK };

/* Their names in files and pages, by enum value, NULL-ended. */
extern const char *const topo_node_names[];
extern const char *const topo_nic_kind_names[];
extern const char *const topo_nic_state_names[];
extern const char *const topo_link_class_names[];

/* Cores first .. first + nr - 1 of the host; nr 0 = none (a NUMA node of memory only). Cores are
 * numbered so that those of a socket, a NUMA node or a cache are neighbours. */
struct topo_cores {
    uint32_t first, nr;
};

/* One node. Members that a type does not use are zero, NULL or NaN. */
struct topo_node {
    struct topo_cores cores;   /* socket, numa, cache */
    const char *model;         /* socket, gpu: what its maker calls it */
    uint64_t bytes;            /* numa: memory; cache: size of one */
    uint32_t level;            /* cache: 2, 3, ... */
    uint32_t shared_by;        /* cache: one for every so many of `cores` */
    const char *name;          /* nic: the system's name (eth0, mlx5_0) */
    const char *rdma;          /* nic: the RDMA device of the same card (mlx5_0), NULL = none */
    const char *pci;           /* gpu, switches, nic: address 0000:3b:00.0 */
    const char *device;        /* gpu, switches, nic: PCI vendor:device in hex, 15b3:1021 */
    double bytes_per_second;   /* nic: speed of the link, one direction */
    enum topo_nic_kind kind;   /* nic */
    enum topo_nic_state state; /* nic: has it a link? */
};

struct topo_nodes {
    struct topo_node *items;
    size_t nr;
};

/* One end of a link: the index-th node of a type; written numa0, nic1. */
struct topo_end {
    enum topo_node_type type;
    uint32_t index;
};

/* One direction of a connection. */
struct topo_link {
    struct topo_end from, to;
    enum topo_link_class class;
    double bytes_per_second;
    double seconds;  /* latency */
    double distance; /* cpu: the firmware's relative memory distance, 10 = local */
    uint32_t lanes;  /* PCIe lanes, NVLinks */
};

/* A hardware thread: what an operating system calls a CPU. */
struct topo_thread {
    uint32_t core;
    uint32_t cpu; /* the operating system's number, for pinning */
    bool usable;  /* allowed to this process by cgroup and affinity */
};

struct topo_host_type {
    const char *name;
    const char *kernel;       /* "Linux 6.1.0" */
    const char *architecture; /* "x86_64" */
    struct topo_nodes nodes[TOPO_NODE_TYPES];
    struct topo_link *links;
    size_t nr_links;
    struct topo_thread *threads; /* by core, then in the order of the core's threads */
    size_t nr_threads;
    uint32_t nr_cores;
    double quota_cpus; /* CPU time limit of the cgroup in CPUs; NaN = none */
};

struct topo_hosts {
    const struct topo_host_type *type;
    uint64_t count;
};

struct topo {
    const char *name;
    struct topo_hosts *hosts;
    size_t nr_hosts;
    struct topo_host_type *types;
    size_t nr_types;
    const char **notes; /* what was assumed or could not be seen, one sentence each */
    size_t nr_notes;
};

/* This machine through hwloc: one host of one type "local". Works with whatever is visible (in a
 * container, without /sys); only hwloc itself failing is an error (EXIT_SYSTEM). hwloc's variables
 * HWLOC_XMLFILE, HWLOC_SYNTHETIC and HWLOC_FSROOT put another machine in its place (EXIT_INPUT
 * where they cannot). */
int topo_load_local(struct arena *arena, struct topo *topo, struct error *error);

/* A topology file of any known form, or this machine for the word "local". *topo is untouched on
 * failure. Errors in the text: "file:line:col: ...", EXIT_INPUT. */
int topo_load_file(struct arena *arena, const char *path, struct topo *topo, struct error *error);

/* The same from memory; `name` stands for the file in errors. */
int topo_load_text(struct arena *arena, const char *text, size_t length, const char *name,
                   struct topo *topo, struct error *error);

/* The topology in our YAML, which loads back to an equal topology (notes become comments); or as
 * JSON with base units in the keys' names. Owned by the caller: free, json_free. */
char *topo_to_yaml(const struct topo *topo);
struct json *topo_to_json(const struct topo *topo);

/* 64 bits in hex over what decides performance: CPU model, sockets, NUMA, caches, cores, GPUs, NICs
 * and their speed. Not over names, addresses, order of devices, memory size, kernel, what this
 * process may use, or whether one of several equal NICs has lost its link. */
#define TOPO_FINGERPRINT_TEXT 17
char *topo_fingerprint(const struct topo *topo, char text[TOPO_FINGERPRINT_TEXT]);

/* One line for people: "1 x AMD EPYC, 2 cores (2 usable), 1 NUMA, L3 32 MiB". */
const char *topo_describe(struct arena *arena, const struct topo *topo);

/* How many ranks can run here with a core of their own: cores with a usable thread, and no more
 * than the whole CPUs of the quota (at least 1 if there is any core). */
uint32_t topo_usable_cores(const struct topo_host_type *type);

/* The NUMA node that a device hangs on by a direct link, or TOPO_NONE when unknown. */
#define TOPO_NONE UINT32_MAX
uint32_t topo_device_numa(const struct topo_host_type *type, struct topo_end device);

#endif
