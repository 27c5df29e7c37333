/* topo_sysfs.c - NICs by /sys/class: names, kind, speed, state, RDMA devices.
 *
 * An interface without a device below /sys/devices other than virtual/ is virtual: loopback,
 * bridges, veth pairs, bonds, tunnels. The speed in /sys/class/net is Mb/s, and -1, 0 or an error
 * where the driver does not know. An RDMA port says "400 Gb/sec (4X NDR)"; without a link it says
 * some default, so its rate counts only while it is active.
 */
#include "topo_sysfs.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LINE_SIZE = 256, PATH_SIZE = 1024, PCI_LENGTH = 12 /* 0000:3b:00.0 */ };

bool topo_sysfs_line(char *line, size_t size, const char *format, ...)
{
    char path[PATH_SIZE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(path, sizeof(path), format, arguments);
    va_end(arguments);
    FILE *file = length > 0 && (size_t)length < sizeof(path) ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return false;
    }
    bool read = fgets(line, (int)size, file) != NULL;
    fclose(file);
    if (read) {
        line[strcspn(line, "\n")] = '\0';
    }
    return read && line[0] != '\0';
}

/* ---- names ---- */

static int skip_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The entries of a directory by name, so that the order is the same each time. */
static size_t list_directory(struct arena *arena, const char *path, const char ***names)
{
    struct dirent **entries;
    int nr = scandir(path, &entries, skip_hidden, versionsort);
    if (nr < 0) {
        return 0;
    }
    *names = arena_alloc(arena, (size_t)nr, sizeof(**names));
    for (int i = 0; i < nr; i++) {
        (*names)[i] = arena_strdup(arena, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return (size_t)nr;
}

/* The last part of a device's path that is a PCI address, or NULL (virtio has parts behind it). */
static const char *find_pci(struct arena *arena, const char *device_path)
{
    const char *found = NULL;
    for (const char *part = strchr(device_path, '/'); part != NULL; part = strchr(part, '/')) {
        unsigned domain, bus, device, function;
        part++;
        size_t length = strcspn(part, "/");
        if (length >= PCI_LENGTH &&
            sscanf(part, "%4x:%2x:%2x.%1x", &domain, &bus, &device, &function) == 4) {
            found = arena_strndup(arena, part, length);
        }
    }
    return found;
}

static bool same_text(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* ---- network interfaces ---- */

/* The NIC of this name, or one at the same address whose name hwloc did not see. */
static struct topo_node *find_nic(const struct topo_nodes *nics, const char *name, const char *pci)
{
    for (size_t i = 0; i < nics->nr; i++) {
        if (same_text(nics->items[i].name, name)) {
            return &nics->items[i];
        }
    }
    for (size_t i = 0; i < nics->nr; i++) {
        if (nics->items[i].name == NULL && same_text(nics->items[i].pci, pci)) {
            return &nics->items[i];
        }
    }
    return NULL;
}

static enum topo_nic_kind read_kind(const char *directory, const char *real_path)
{
    char line[LINE_SIZE];
    if (strstr(real_path, "/devices/virtual/") != NULL) {
        return TOPO_NIC_VIRTUAL;
    }
    if (!topo_sysfs_line(line, sizeof(line), "%s/type", directory)) {
        return TOPO_NIC_UNKNOWN;
    }
    int hardware = atoi(line); /* ARPHRD_ETHER, ARPHRD_INFINIBAND */
    return hardware == 1    ? TOPO_NIC_ETHERNET
           : hardware == 32 ? TOPO_NIC_INFINIBAND
                            : TOPO_NIC_UNKNOWN;
}

/* Drivers that do not keep operstate leave it "unknown"; then the carrier tells. */
static enum topo_nic_state read_state(const char *directory)
{
    char line[LINE_SIZE];
    if (topo_sysfs_line(line, sizeof(line), "%s/operstate", directory) &&
        strcmp(line, "unknown") != 0) {
        return strcmp(line, "up") == 0 ? TOPO_STATE_UP : TOPO_STATE_DOWN;
    }
    if (topo_sysfs_line(line, sizeof(line), "%s/carrier", directory)) {
        return strcmp(line, "1") == 0 ? TOPO_STATE_UP : TOPO_STATE_DOWN;
    }
    return TOPO_STATE_UNKNOWN;
}

static double read_speed(const char *directory)
{
    char line[LINE_SIZE];
    if (!topo_sysfs_line(line, sizeof(line), "%s/speed", directory)) {
        return NAN;
    }
    long megabits = strtol(line, NULL, 10);
    return megabits > 0 && megabits < 1000000000 ? (double)megabits * 1e6 / 8 : NAN;
}

static void add_interface(struct arena *arena, struct topo_host_type *type, const char *directory,
                          const char *name)
{
    char line[LINE_SIZE], *real_path = realpath(directory, NULL);
    /* the bonding driver keeps a file among the interfaces */
    if (real_path == NULL || !topo_sysfs_line(line, sizeof(line), "%s/ifindex", directory)) {
        free(real_path);
        return;
    }
    const char *pci = find_pci(arena, real_path);
    struct topo_node *nic = find_nic(&type->nodes[TOPO_NIC], name, pci);
    if (nic == NULL) {
        nic = topo_add_node(arena, type, TOPO_NIC);
        nic->pci = pci;
    }
    nic->name = arena_strdup(arena, name);
    nic->kind = read_kind(directory, real_path);
    nic->state = read_state(directory);
    nic->bytes_per_second = read_speed(directory);
    free(real_path);
}

/* ---- RDMA devices ---- */

/* The NIC that is this RDMA device, is known to go with it, or sits at the same PCI address. */
static struct topo_node *find_rdma_nic(const struct topo_nodes *nics, const char *name,
                                       const char *pci)
{
    for (size_t i = 0; i < nics->nr; i++) {
        struct topo_node *nic = &nics->items[i];
        if (same_text(nic->name, name) || same_text(nic->rdma, name)) {
            return nic;
        }
    }
    for (size_t i = 0; i < nics->nr; i++) {
        struct topo_node *nic = &nics->items[i];
        if (same_text(nic->pci, pci) && nic->rdma == NULL) {
            return nic;
        }
    }
    return NULL;
}

/* One port's words; false where there is no such port. */
static bool read_port(const char *device, const char *port, struct topo_node *nic)
{
    char line[LINE_SIZE];
    if (!topo_sysfs_line(line, sizeof(line), "%s/ports/%s/state", device, port)) {
        return false;
    }
    bool active = strstr(line, "ACTIVE") != NULL; /* "4: ACTIVE" */
    bool infiniband = topo_sysfs_line(line, sizeof(line), "%s/ports/%s/link_layer", device, port) &&
                      strcasecmp(line, "InfiniBand") == 0;
    nic->kind = infiniband ? TOPO_NIC_INFINIBAND : TOPO_NIC_ETHERNET;
    nic->state = active ? TOPO_STATE_UP : TOPO_STATE_DOWN;
    char *end;
    if (active && topo_sysfs_line(line, sizeof(line), "%s/ports/%s/rate", device, port)) {
        double gigabits = strtod(line, &end);
        bool known = gigabits > 0 && strncmp(end, " Gb/sec", 7) == 0;
        nic->bytes_per_second = known ? gigabits * 1e9 / 8 : nic->bytes_per_second;
    }
    return true;
}

static void add_rdma_device(struct arena *arena, struct topo_host_type *type, const char *device,
                            const char *name)
{
    char *real_path = realpath(device, NULL);
    const char *pci = real_path != NULL ? find_pci(arena, real_path) : NULL;
    bool is_virtual = real_path != NULL && strstr(real_path, "/devices/virtual/") != NULL;
    free(real_path);
    struct topo_node *nic = find_rdma_nic(&type->nodes[TOPO_NIC], name, pci);
    if (nic == NULL) {
        nic = topo_add_node(arena, type, TOPO_NIC);
        nic->name = arena_strdup(arena, name);
        nic->pci = pci;
    }
    if (!same_text(nic->name, name)) {
        nic->rdma = arena_strdup(arena, name);
    }
    const char **ports = NULL;
    size_t nr = list_directory(arena, arena_printf(arena, "%s/ports", device), &ports);
    for (size_t i = 0; i < nr; i++) {
        if (read_port(device, ports[i], nic) && nic->state == TOPO_STATE_UP) {
            break; /* the first active port speaks for the device */
        }
    }
    nic->kind = is_virtual ? TOPO_NIC_VIRTUAL : nic->kind; /* soft RoCE */
}

void topo_sysfs_add_nics(struct arena *arena, struct topo_host_type *type, const char *root)
{
    static const struct {
        const char *directory;
        void (*add)(struct arena *, struct topo_host_type *, const char *, const char *);
    } classes[] = {{"/sys/class/net", add_interface}, {"/sys/class/infiniband", add_rdma_device}};
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
        const char *directory = arena_printf(arena, "%s%s", root, classes[i].directory);
        const char **names = NULL;
        size_t nr = list_directory(arena, directory, &names);
        for (size_t j = 0; j < nr; j++) {
            classes[i].add(arena, type, arena_printf(arena, "%s/%s", directory, names[j]),
                           names[j]);
        }
    }
}
