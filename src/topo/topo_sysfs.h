/* topo_sysfs.h - what Linux says beyond hwloc: network interfaces and CPU time limits.
 *
 * All paths start at `root`: "" for this system, a made-up tree in tests. What is not there is
 * unknown; nothing here fails. Private to src/topo.
 */
#ifndef CCLTUNE_TOPO_SYSFS_H
#define CCLTUNE_TOPO_SYSFS_H

#include "topo_build.h"

/* The first line of a small file, without its end; false where it cannot be read or is empty. */
bool topo_sysfs_line(char *line, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds what ROOT/sys/class/net and ROOT/sys/class/infiniband know: speed and state of the NICs
 * that `type` has already, found by name or PCI address, and further NICs. */
void topo_sysfs_add_nics(struct arena *arena, struct topo_host_type *type, const char *root);

/* The limit on this process' CPU time in CPUs (the least over its cgroup and those above, version
 * 1 or 2), or NaN. */
double topo_sysfs_cpu_quota(const char *root);

#endif
