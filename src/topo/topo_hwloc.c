/* topo_hwloc.c - this machine (or one that HWLOC_XMLFILE and the like put in its place) by hwloc.
 *
 * Cores are numbered in hwloc's logical order, in which those of any socket, NUMA node or cache are
 * neighbours. CPUs that the cgroup forbids are shown too, as not usable. Devices are taken from the
 * PCI listing by class and vendor. Back ends that start GPU drivers or open displays are switched
 * off, since every rank of a job runs this; so is pciaccess, which loses memory and lists what
 * hwloc reads from Linux itself.
 */
#include "topo_build.h"
#include "topo_sysfs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <hwloc.h>

struct reading {
    hwloc_topology_t hwloc;
    struct arena *arena;
    struct topo *topo;
    struct topo_host_type *type;
    hwloc_obj_type_t core_type; /* HWLOC_OBJ_CORE, or PU where no cores are known */
};

/* Which PCI devices are what; vendor 0 = any. The first row that fits counts. */
static const struct {
    unsigned class, class_mask, vendor;
    enum topo_node_type type;
} pci_classes[] = {
    {0x0302, 0xffff, 0, TOPO_GPU},           /* 3D controller */
    {0x0300, 0xffff, 0x10de, TOPO_GPU},      /* VGA by NVIDIA; others' are mostly for consoles */
    {0x0300, 0xffff, 0x1002, TOPO_GPU},      /* VGA by AMD */
    {0x0380, 0xffff, 0x1002, TOPO_GPU},      /* other display: Instinct */
    {0x1200, 0xffff, 0x1002, TOPO_GPU},      /* accelerator: Instinct */
    {0x0680, 0xffff, 0x10de, TOPO_NVSWITCH}, /* other bridge by NVIDIA */
    {0x0200, 0xff00, 0, TOPO_NIC},           /* network */
    {0x0c06, 0xffff, 0, TOPO_NIC},           /* InfiniBand */
};

/* ---- texts ---- */

/* Readable ASCII with single spaces, whatever the firmware wrote; NULL if nothing remains. */
static const char *clean_text(struct arena *arena, const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    char *clean = arena_strdup(arena, text);
    size_t length = 0;
    for (const char *c = text; *c != '\0'; c++) {
        bool space = *c == ' ' || (*c >= '\t' && *c <= '\r');
        if (!space) {
            clean[length++] = *c > ' ' && *c < 0x7f ? *c : '?';
        } else if (length > 0 && clean[length - 1] != ' ') {
            clean[length++] = ' ';
        }
    }
    while (length > 0 && clean[length - 1] == ' ') {
        length--;
    }
    clean[length] = '\0';
    return length > 0 ? clean : NULL;
}

static const char *info(const struct reading *reading, hwloc_obj_t object, const char *name)
{
    return clean_text(reading->arena, hwloc_obj_get_info_by_name(object, name));
}

/* ---- CPUs ---- */

/* Cores that have a thread in `cpuset`. */
static struct topo_cores find_cores(const struct reading *reading, hwloc_const_cpuset_t cpuset)
{
    struct topo_cores cores = {0, 0};
    for (uint32_t i = 0; i < reading->type->nr_cores; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_type(reading->hwloc, reading->core_type, i);
        if (hwloc_bitmap_intersects(core->cpuset, cpuset)) {
            cores.first = cores.nr == 0 ? i : cores.first;
            cores.nr = i - cores.first + 1;
        }
    }
    return cores;
}

/* CPUs that cgroup and affinity leave to this process. For another machine only the first is known.
 */
static hwloc_bitmap_t find_usable(const struct reading *reading)
{
    hwloc_bitmap_t usable = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(reading->hwloc));
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    if (usable == NULL || bound == NULL) {
        arena_out_of_memory();
    }
    if (hwloc_topology_is_thissystem(reading->hwloc) &&
        hwloc_get_cpubind(reading->hwloc, bound, HWLOC_CPUBIND_THREAD) == 0) {
        hwloc_bitmap_and(usable, usable, bound);
    }
    hwloc_bitmap_free(bound);
    return usable;
}

static void add_threads(struct reading *reading)
{
    hwloc_topology_t hwloc = reading->hwloc;
    bool cores_known = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_CORE) > 0;
    reading->core_type = cores_known ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    if (!cores_known) {
        topo_add_note(reading->arena, reading->topo,
                      "the system does not tell which hardware threads share a core; each is "
                      "counted as a core");
    }
    hwloc_bitmap_t usable = find_usable(reading);
    int nr = hwloc_get_nbobjs_by_type(hwloc, reading->core_type);
    for (int i = 0; i < nr; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_type(hwloc, reading->core_type, (unsigned)i);
        hwloc_obj_t thread = NULL;
        while ((thread = hwloc_get_next_obj_inside_cpuset_by_type(hwloc, core->cpuset, HWLOC_OBJ_PU,
                                                                  thread)) != NULL) {
            struct topo_thread added = {.core = (uint32_t)i,
                                        .cpu = thread->os_index,
                                        .usable = hwloc_bitmap_isset(usable, thread->os_index)};
            topo_add_thread(reading->arena, reading->type, added);
        }
    }
    hwloc_bitmap_free(usable);
}

/* What the maker calls the CPU; ARM systems often have numbers alone. */
static const char *find_cpu_model(const struct reading *reading, hwloc_obj_t object)
{
    const char *model = info(reading, object, "CPUModel");
    const char *implementer = info(reading, object, "CPUImplementer");
    const char *part = info(reading, object, "CPUPart");
    if (model == NULL && implementer != NULL && part != NULL) {
        model = arena_printf(reading->arena, "ARM implementer %s part %s", implementer, part);
    }
    return model;
}

static void add_sockets(struct reading *reading)
{
    int nr = hwloc_get_nbobjs_by_type(reading->hwloc, HWLOC_OBJ_PACKAGE);
    for (int i = 0; i < nr; i++) {
        hwloc_obj_t package = hwloc_get_obj_by_type(reading->hwloc, HWLOC_OBJ_PACKAGE, (unsigned)i);
        struct topo_node *socket = topo_add_node(reading->arena, reading->type, TOPO_SOCKET);
        socket->cores = find_cores(reading, package->cpuset);
        socket->model = find_cpu_model(reading, package);
        if (socket->model == NULL) {
            socket->model = find_cpu_model(reading, hwloc_get_root_obj(reading->hwloc));
        }
    }
    if (nr <= 0) {
        topo_add_note(reading->arena, reading->topo,
                      "the system does not tell its sockets and CPU "
                      "model; is /sys mounted?");
    }
}

static void add_numa_nodes(struct reading *reading)
{
    int nr = hwloc_get_nbobjs_by_type(reading->hwloc, HWLOC_OBJ_NUMANODE);
    for (int i = 0; i < nr; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(reading->hwloc, HWLOC_OBJ_NUMANODE, (unsigned)i);
        struct topo_node *numa = topo_add_node(reading->arena, reading->type, TOPO_NUMA);
        numa->cores = find_cores(reading, object->cpuset);
        numa->bytes = object->attr->numanode.local_memory;
    }
}

/* A cache like the row before it and next to it joins that row. */
static void add_cache(struct reading *reading, hwloc_obj_t cache)
{
    struct topo_cores cores = find_cores(reading, cache->cpuset);
    struct topo_nodes *rows = &reading->type->nodes[TOPO_CACHE];
    struct topo_node *row = rows->nr > 0 ? &rows->items[rows->nr - 1] : NULL;
    if (cores.nr == 0) {
        return;
    }
    if (row != NULL && row->level == cache->attr->cache.depth &&
        row->bytes == cache->attr->cache.size && row->shared_by == cores.nr &&
        row->cores.first + row->cores.nr == cores.first) {
        row->cores.nr += cores.nr;
        return;
    }
    row = topo_add_node(reading->arena, reading->type, TOPO_CACHE);
    row->level = cache->attr->cache.depth;
    row->bytes = cache->attr->cache.size;
    row->cores = cores;
    row->shared_by = cores.nr;
}

/* Level 2 and above; the first level is the core's own matter. From the outside in. */
static void add_caches(struct reading *reading)
{
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE,
                                             HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        int nr = hwloc_get_nbobjs_by_type(reading->hwloc, types[i]);
        for (int j = 0; j < nr; j++) {
            add_cache(reading, hwloc_get_obj_by_type(reading->hwloc, types[i], (unsigned)j));
        }
    }
}

/* ---- links between NUMA nodes ---- */

/* The firmware's distance between two NUMA nodes by logical number, or NaN. */
static double find_distance(struct hwloc_distances_s *distances, unsigned from, unsigned to)
{
    for (unsigned i = 0; distances != NULL && i < distances->nbobjs; i++) {
        for (unsigned j = 0; j < distances->nbobjs; j++) {
            hwloc_obj_t a = distances->objs[i], b = distances->objs[j];
            if (a != NULL && b != NULL && a->logical_index == from && b->logical_index == to) {
                return (double)distances->values[i * distances->nbobjs + j];
            }
        }
    }
    return NAN;
}

static void add_numa_links(struct reading *reading)
{
    struct hwloc_distances_s *distances = NULL;
    unsigned found = 1;
    if (hwloc_distances_get_by_type(reading->hwloc, HWLOC_OBJ_NUMANODE, &found, &distances,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
        found == 0) {
        distances = NULL;
    }
    unsigned nr = (unsigned)reading->type->nodes[TOPO_NUMA].nr;
    for (unsigned i = 0; i < nr; i++) {
        for (unsigned j = i + 1; j < nr; j++) {
            struct topo_link there = topo_unknown_link(
                (struct topo_end){TOPO_NUMA, i}, (struct topo_end){TOPO_NUMA, j}, TOPO_LINK_CPU);
            struct topo_link back = topo_unknown_link(there.to, there.from, TOPO_LINK_CPU);
            there.distance = find_distance(distances, i, j);
            back.distance = find_distance(distances, j, i);
            topo_add_link(reading->arena, reading->type, there);
            topo_add_link(reading->arena, reading->type, back);
        }
    }
    if (distances != NULL) {
        hwloc_distances_release(reading->hwloc, distances);
    }
}

/* ---- devices ---- */

/* The NUMA node that an object hangs on: the one of the fewest cores (then the first: DRAM comes
 * before high-bandwidth memory) that is next to all cores the object is next to. TOPO_NONE where
 * some of these cores have another node nearer. */
static uint32_t find_numa(const struct reading *reading, hwloc_obj_t device)
{
    hwloc_const_cpuset_t near = hwloc_get_non_io_ancestor_obj(reading->hwloc, device)->cpuset;
    hwloc_obj_t best = NULL, numa = NULL;
    while ((numa = hwloc_get_next_obj_by_type(reading->hwloc, HWLOC_OBJ_NUMANODE, numa)) != NULL) {
        if (!hwloc_bitmap_intersects(near, numa->cpuset)) {
            continue;
        }
        if (!hwloc_bitmap_isincluded(near, numa->cpuset)) {
            return TOPO_NONE;
        }
        if (best == NULL || hwloc_bitmap_weight(numa->cpuset) < hwloc_bitmap_weight(best->cpuset)) {
            best = numa;
        }
    }
    return best != NULL ? best->logical_index : TOPO_NONE;
}

static void link_device(struct reading *reading, hwloc_obj_t device, struct topo_end end)
{
    uint32_t numa = find_numa(reading, device);
    if (numa == TOPO_NONE) {
        return;
    }
    struct topo_link link =
        topo_unknown_link((struct topo_end){TOPO_NUMA, numa}, end, TOPO_LINK_PCIE);
    if (device->attr->pcidev.linkspeed > 0) {
        /* hwloc's GB/s of lanes and generation, a float: digits beyond it are noise */
        link.bytes_per_second = round((double)device->attr->pcidev.linkspeed * 1e3) * 1e6;
    }
    topo_add_both_ways(reading->arena, reading->type, link);
}

static struct topo_node *add_device(struct reading *reading, hwloc_obj_t device,
                                    enum topo_node_type node_type)
{
    const struct hwloc_pcidev_attr_s *pci = &device->attr->pcidev;
    struct topo_end end = {node_type, (uint32_t)reading->type->nodes[node_type].nr};
    struct topo_node *node = topo_add_node(reading->arena, reading->type, node_type);
    node->pci = arena_printf(reading->arena, "%04x:%02x:%02x.%01x", pci->domain, pci->bus, pci->dev,
                             pci->func);
    node->device = arena_printf(reading->arena, "%04x:%04x", pci->vendor_id, pci->device_id);
    link_device(reading, device, end);
    return node;
}

/* One NIC for each network interface of the card; the RDMA device goes with the first. */
static void add_nics(struct reading *reading, hwloc_obj_t device)
{
    struct topo_node *first = add_device(reading, device, TOPO_NIC);
    const char *rdma = NULL;
    first->kind =
        device->attr->pcidev.class_id == 0x0200 ? TOPO_NIC_ETHERNET
        : device->attr->pcidev.class_id == 0x0207 || device->attr->pcidev.class_id == 0x0c06
            ? TOPO_NIC_INFINIBAND
            : TOPO_NIC_UNKNOWN;
    struct topo_node *last = first;
    for (hwloc_obj_t child = device->io_first_child; child != NULL; child = child->next_sibling) {
        if (child->type != HWLOC_OBJ_OS_DEVICE) {
            continue;
        }
        if (child->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS && rdma == NULL) {
            rdma = clean_text(reading->arena, child->name);
        } else if (child->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK) {
            enum topo_nic_kind kind = last->kind;
            last = last->name == NULL ? last : add_device(reading, device, TOPO_NIC);
            last->kind = kind;
            last->name = clean_text(reading->arena, child->name);
        }
    }
    const struct topo_nodes *nics = &reading->type->nodes[TOPO_NIC];
    for (size_t i = 0; rdma != NULL && i < nics->nr; i++) {
        if (strcmp(nics->items[i].pci, last->pci) == 0) {
            const char **name =
                nics->items[i].name == NULL ? &nics->items[i].name : &nics->items[i].rdma;
            *name = rdma;
            break;
        }
    }
}

static void add_devices(struct reading *reading)
{
    hwloc_obj_t device = NULL;
    while ((device = hwloc_get_next_pcidev(reading->hwloc, device)) != NULL) {
        const struct hwloc_pcidev_attr_s *pci = &device->attr->pcidev;
        for (size_t i = 0; i < sizeof(pci_classes) / sizeof(*pci_classes); i++) {
            if ((pci->class_id & pci_classes[i].class_mask) != pci_classes[i].class ||
                (pci_classes[i].vendor != 0 && pci_classes[i].vendor != pci->vendor_id)) {
                continue;
            }
            if (pci_classes[i].type == TOPO_NIC) {
                add_nics(reading, device);
            } else {
                add_device(reading, device, pci_classes[i].type);
            }
            break;
        }
    }
}

/* ---- the machine ---- */

static void name_machine(struct reading *reading)
{
    hwloc_obj_t root = hwloc_get_root_obj(reading->hwloc);
    const char *system = info(reading, root, "OSName"), *release = info(reading, root, "OSRelease");
    const char *architecture = info(reading, root, "Architecture");
    const char *host = info(reading, root, "HostName");
    struct utsname names;
    if (hwloc_topology_is_thissystem(reading->hwloc) && uname(&names) == 0) {
        system = clean_text(reading->arena, names.sysname);
        release = clean_text(reading->arena, names.release);
        architecture = clean_text(reading->arena, names.machine);
        host = clean_text(reading->arena, names.nodename);
    }
    reading->topo->name = host != NULL ? host : "unnamed machine";
    reading->type->architecture = architecture;
    if (system != NULL && release != NULL) {
        reading->type->kernel = arena_printf(reading->arena, "%s %s", system, release);
    }
}

static void add_what_only_this_system_knows(struct reading *reading)
{
    if (!hwloc_topology_is_thissystem(reading->hwloc)) {
        topo_add_note(reading->arena, reading->topo,
                      "hwloc was told (HWLOC_XMLFILE, HWLOC_SYNTHETIC or HWLOC_FSROOT) to describe "
                      "another machine; speed and state of NICs are not known");
        return;
    }
    if (access("/sys/class/net", F_OK) != 0) {
        topo_add_note(reading->arena, reading->topo,
                      "/sys is not visible here; without it NICs, GPUs and memory are not known");
    }
    topo_sysfs_add_nics(reading->arena, reading->type, "");
    reading->type->quota_cpus = topo_sysfs_cpu_quota("");
}

static void read_machine(struct reading *reading)
{
    name_machine(reading);
    add_threads(reading);
    add_sockets(reading);
    add_numa_nodes(reading);
    add_caches(reading);
    add_numa_links(reading);
    add_devices(reading);
    add_what_only_this_system_knows(reading);
}

static int load_hwloc(hwloc_topology_t *hwloc)
{
    static const char *const unwanted[] = {"gl",   "opencl",    "cuda", "nvml",
                                           "rsmi", "levelzero", "pci"};
    if (hwloc_topology_init(hwloc) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(unwanted) / sizeof(*unwanted); i++) {
        /* fails harmlessly where there is no such back end */
        hwloc_topology_set_components(*hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      unwanted[i]);
    }
    if (hwloc_topology_set_io_types_filter(*hwloc, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
        hwloc_topology_set_flags(*hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
        hwloc_topology_load(*hwloc) != 0) {
        int cause = errno;
        hwloc_topology_destroy(*hwloc);
        errno = cause;
        return -1;
    }
    return 0;
}

/* hwloc passes silently to this machine when it cannot use what a variable asks for. */
static int check_variables(hwloc_topology_t hwloc, struct error *error)
{
    static const char *const variables[] = {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC"};
    if (!hwloc_topology_is_thissystem(hwloc) || getenv("HWLOC_THISSYSTEM") != NULL) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && value[0] != '\0') {
            return error_set(error, EXIT_INPUT,
                             "hwloc cannot use %s='%.200s', expected the description of a machine; "
                             "mend it, or unset it to see this machine",
                             variables[i], value);
        }
    }
    return 0;
}

int topo_load_local(struct arena *arena, struct topo *topo, struct error *error)
{
    hwloc_topology_t hwloc;
    if (load_hwloc(&hwloc) != 0) {
        return error_errno(error, errno,
                           "hwloc could not describe this machine; check that HWLOC_XMLFILE, "
                           "HWLOC_SYNTHETIC and HWLOC_FSROOT are unset or right");
    }
    if (check_variables(hwloc, error) != 0) {
        hwloc_topology_destroy(hwloc);
        return -1;
    }
    struct topo local = {.nr_types = 1, .nr_hosts = 1};
    local.types = arena_alloc(arena, 1, sizeof(*local.types));
    local.hosts = arena_alloc(arena, 1, sizeof(*local.hosts));
    local.types[0] = topo_empty_host_type("local");
    local.hosts[0] = (struct topo_hosts){&local.types[0], 1};
    struct reading reading = {
        .hwloc = hwloc, .arena = arena, .topo = &local, .type = &local.types[0]};
    read_machine(&reading);
    hwloc_topology_destroy(hwloc);
    *topo = local;
    return 0;
}
