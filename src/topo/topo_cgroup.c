/* topo_cgroup.c - the limit that cgroups put on CPU time (docker --cpus, Kubernetes limits).
 *
 * /proc/self/cgroup names the group: "0::/path" in version 2, "4:cpu,cpuacct:/path" in version 1.
 * In a container the path is often not below the mounted tree, so that every part of it that is
 * missing counts as no limit, and the mount's root is looked at last.
 */
#include "topo_sysfs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 512, PATH_SIZE = 1024 };

/* Version 2: "200000 100000" or "max 100000", in us. */
static double read_quota_2(const char *directory)
{
    char line[LINE_SIZE];
    double quota, period;
    bool limited = topo_sysfs_line(line, sizeof(line), "%s/cpu.max", directory) &&
                   sscanf(line, "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0;
    return limited ? quota / period : NAN;
}

/* Version 1: two files, -1 = no limit. */
static double read_quota_1(const char *directory)
{
    char quota_line[LINE_SIZE], period_line[LINE_SIZE];
    if (!topo_sysfs_line(quota_line, sizeof(quota_line), "%s/cpu.cfs_quota_us", directory) ||
        !topo_sysfs_line(period_line, sizeof(period_line), "%s/cpu.cfs_period_us", directory)) {
        return NAN;
    }
    double quota = atof(quota_line), period = atof(period_line);
    return quota > 0 && period > 0 ? quota / period : NAN;
}

/* The least over a group and all above it. */
static double least_quota(const char *mount, const char *group, double (*read)(const char *))
{
    char path[PATH_SIZE];
    int length = snprintf(path, sizeof(path), "%s%s", mount, group);
    double least = NAN;
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return NAN;
    }
    for (char *end = path + length; end >= path + strlen(mount); end--) {
        if (*end == '\0' || *end == '/') {
            *end = '\0';
            least = fmin(least, read(path)); /* fmin prefers the one that is not NaN */
        }
    }
    return least;
}

/* Does a list such as "cpu,cpuacct" name the CPU controller? */
static bool names_cpu(char *controllers)
{
    char *rest;
    for (char *name = strtok_r(controllers, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (strcmp(name, "cpu") == 0) {
            return true;
        }
    }
    return false;
}

/* One line of /proc/self/cgroup. */
static double quota_of_line(const char *root, char *line)
{
    static const char *const mounts[] = {"cpu", "cpu,cpuacct", "cpuacct,cpu"};
    char mount[PATH_SIZE], *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL) {
        return NAN;
    }
    *group++ = '\0';
    controllers++;
    if (controllers[0] == '\0') {
        snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup", root);
        return least_quota(mount, group, read_quota_2);
    }
    double least = NAN;
    bool cpu = names_cpu(controllers);
    for (size_t i = 0; cpu && i < sizeof(mounts) / sizeof(*mounts); i++) {
        snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/%s", root, mounts[i]);
        least = fmin(least, least_quota(mount, group, read_quota_1));
    }
    return least;
}

double topo_sysfs_cpu_quota(const char *root)
{
    char path[PATH_SIZE], line[LINE_SIZE];
    int length = snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    FILE *file = length > 0 && (size_t)length < sizeof(path) ? fopen(path, "re") : NULL;
    double least = NAN;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        least = fmin(least, quota_of_line(root, line));
    }
    if (file != NULL) {
        fclose(file);
    }
    return least;
}
