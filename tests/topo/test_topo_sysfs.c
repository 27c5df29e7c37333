/* test_topo_sysfs.c - NICs and CPU limits out of made-up /sys and /proc trees. */
#include "topo_sysfs.h"

#include "file.h"

#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct arena arena; /* emptied after each test */

/* ---- trees ---- */

static int make_root(void **state)
{
    const char *parent = getenv("TMPDIR");
    char *root = arena_printf(&arena, "%s/ccltune-test-XXXXXX", parent ? parent : P_tmpdir);
    *state = mkdtemp(root);
    return *state == NULL;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status, (void)type, (void)where;
    return remove(path);
}

static int remove_root(void **state)
{
    int result = nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    arena_release(&arena);
    return result;
}

static void make_directory(const char *path)
{
    struct error error = ERROR_NONE;
    if (file_make_directory(path, &error) != 0) {
        fail_msg("%s", error.message);
    }
}

/* ROOT/path, with the directories above it. */
static void put(const char *root, const char *path, const char *text)
{
    const char *whole = arena_printf(&arena, "%s/%s", root, path);
    make_directory(arena_strndup(&arena, whole, (size_t)(strrchr(whole, '/') - whole)));
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* A device's directory with files "name=text", and the class's link to it. */
static void put_device(const char *root, const char *class, const char *device,
                       const char *const files[])
{
    for (size_t i = 0; files[i] != NULL; i++) {
        size_t name = strcspn(files[i], "=");
        put(root, arena_printf(&arena, "sys/devices/%s/%.*s", device, (int)name, files[i]),
            files[i] + name + 1);
    }
    make_directory(arena_printf(&arena, "%s/sys/class/%s", root, class));
    const char *link =
        arena_printf(&arena, "%s/sys/class/%s/%s", root, class, strrchr(device, '/') + 1);
    assert_int_equal(symlink(arena_printf(&arena, "../../devices/%s", device), link), 0);
}

static const struct topo_node *find(const struct topo_host_type *type, const char *name)
{
    for (size_t i = 0; i < type->nodes[TOPO_NIC].nr; i++) {
        const struct topo_node *nic = &type->nodes[TOPO_NIC].items[i];
        if (nic->name != NULL && strcmp(nic->name, name) == 0) {
            return nic;
        }
    }
    fail_msg("no NIC '%s'", name);
    return NULL;
}

static void assert_gigabits(const struct topo_node *nic, double gigabits)
{
    if (!(fabs(nic->bytes_per_second - gigabits * 1e9 / 8) < 1)) {
        fail_msg("%s: expected %g Gb/s, found %g", nic->name, gigabits,
                 nic->bytes_per_second * 8 / 1e9);
    }
}

/* ---- NICs ---- */

static void test_interfaces(void **state)
{
    const char *root = *state;
    put_device(
        root, "net", "pci0000:00/0000:00:03.0/virtio2/net/eth0",
        (const char *const[]){"ifindex=2\n", "type=1\n", "operstate=up\n", "speed=-1\n", NULL});
    put_device(
        root, "net", "pci0000:40/0000:41:00.0/0000:42:00.1/net/eth1",
        (const char *const[]){"ifindex=3\n", "type=1\n", "operstate=up\n", "speed=200000\n", NULL});
    put_device(root, "net", "pci0000:40/0000:43:00.0/net/eth2",
               (const char *const[]){"ifindex=4\n", "type=1\n", "operstate=down\n", NULL});
    put_device(
        root, "net", "virtual/net/docker0",
        (const char *const[]){"ifindex=5\n", "type=1\n", "operstate=up\n", "speed=10000\n", NULL});
    put_device(root, "net", "virtual/net/lo",
               (const char *const[]){"ifindex=1\n", "type=772\n", "operstate=unknown\n",
                                     "carrier=1\n", NULL});
    put(root, "sys/class/net/bonding_masters", "\n");

    struct topo_host_type type = topo_empty_host_type("t");
    topo_sysfs_add_nics(&arena, &type, root);
    assert_int_equal(type.nodes[TOPO_NIC].nr, 5);
    assert_string_equal(find(&type, "eth0")->pci, "0000:00:03.0");
    assert_int_equal(find(&type, "eth0")->state, TOPO_STATE_UP);
    assert_true(isnan(find(&type, "eth0")->bytes_per_second));
    assert_string_equal(find(&type, "eth1")->pci, "0000:42:00.1");
    assert_int_equal(find(&type, "eth1")->kind, TOPO_NIC_ETHERNET);
    assert_gigabits(find(&type, "eth1"), 200);
    assert_int_equal(find(&type, "eth2")->state, TOPO_STATE_DOWN);
    assert_true(isnan(find(&type, "eth2")->bytes_per_second));
    assert_int_equal(find(&type, "docker0")->kind, TOPO_NIC_VIRTUAL);
    assert_null(find(&type, "docker0")->pci);
    assert_int_equal(find(&type, "lo")->kind, TOPO_NIC_VIRTUAL);
    assert_int_equal(find(&type, "lo")->state, TOPO_STATE_UP);
}

static void test_rdma_devices(void **state)
{
    const char *root = *state;
    /* RoCE beside its interface; InfiniBand without one; one without a link; soft RoCE */
    put_device(
        root, "net", "pci0000:10/0000:11:00.0/net/eth0",
        (const char *const[]){"ifindex=2\n", "type=1\n", "operstate=up\n", "speed=100000\n", NULL});
    put_device(root, "infiniband", "pci0000:10/0000:11:00.0/infiniband/mlx5_0",
               (const char *const[]){"ports/1/state=4: ACTIVE\n", "ports/1/link_layer=Ethernet\n",
                                     "ports/1/rate=100 Gb/sec (4X EDR)\n", NULL});
    put_device(root, "infiniband", "pci0000:20/0000:21:00.0/infiniband/mlx5_1",
               (const char *const[]){"ports/1/state=1: DOWN\n", "ports/1/link_layer=InfiniBand\n",
                                     "ports/1/rate=2.5 Gb/sec (1X SDR)\n",
                                     "ports/2/state=4: ACTIVE\n", "ports/2/link_layer=InfiniBand\n",
                                     "ports/2/rate=400 Gb/sec (4X NDR)\n", NULL});
    put_device(root, "infiniband", "pci0000:30/0000:31:00.0/infiniband/mlx5_2",
               (const char *const[]){"ports/1/state=1: DOWN\n", "ports/1/link_layer=InfiniBand\n",
                                     "ports/1/rate=10 Gb/sec (4X SDR)\n", NULL});
    put_device(root, "infiniband", "virtual/infiniband/rxe0",
               (const char *const[]){"ports/1/state=4: ACTIVE\n", "ports/1/link_layer=Ethernet\n",
                                     "ports/1/rate=2.5 Gb/sec (1X SDR)\n", NULL});

    struct topo_host_type type = topo_empty_host_type("t");
    topo_sysfs_add_nics(&arena, &type, root);
    assert_int_equal(type.nodes[TOPO_NIC].nr, 4);
    assert_string_equal(find(&type, "eth0")->rdma, "mlx5_0");
    assert_int_equal(find(&type, "eth0")->kind, TOPO_NIC_ETHERNET);
    assert_gigabits(find(&type, "eth0"), 100);
    assert_null(find(&type, "mlx5_1")->rdma); /* it is its own name */
    assert_int_equal(find(&type, "mlx5_1")->kind, TOPO_NIC_INFINIBAND);
    assert_gigabits(find(&type, "mlx5_1"), 400);
    assert_int_equal(find(&type, "mlx5_2")->state, TOPO_STATE_DOWN);
    assert_true(isnan(find(&type, "mlx5_2")->bytes_per_second));
    assert_int_equal(find(&type, "rxe0")->kind, TOPO_NIC_VIRTUAL);
}

/* What hwloc has found is completed, not listed again. */
static void test_known_nics_are_completed(void **state)
{
    const char *root = *state;
    put_device(
        root, "net", "pci0000:10/0000:11:00.0/net/eth0",
        (const char *const[]){"ifindex=2\n", "type=1\n", "operstate=up\n", "speed=25000\n", NULL});
    put_device(
        root, "net", "pci0000:10/0000:12:00.0/net/eth1",
        (const char *const[]){"ifindex=3\n", "type=1\n", "operstate=up\n", "speed=10000\n", NULL});
    struct topo_host_type type = topo_empty_host_type("t");
    topo_add_node(&arena, &type, TOPO_NIC)->name = "eth0";
    topo_add_node(&arena, &type, TOPO_NIC)->pci = "0000:12:00.0";
    type.nodes[TOPO_NIC].items[0].device = "8086:1572";
    topo_sysfs_add_nics(&arena, &type, root);
    assert_int_equal(type.nodes[TOPO_NIC].nr, 2);
    assert_string_equal(type.nodes[TOPO_NIC].items[0].device, "8086:1572");
    assert_gigabits(&type.nodes[TOPO_NIC].items[0], 25);
    assert_string_equal(type.nodes[TOPO_NIC].items[1].name, "eth1");
}

static void test_nothing_there(void **state)
{
    struct topo_host_type type = topo_empty_host_type("t");
    topo_sysfs_add_nics(&arena, &type, *state);
    assert_int_equal(type.nodes[TOPO_NIC].nr, 0);
    assert_true(isnan(topo_sysfs_cpu_quota(*state)));
}

/* ---- limits ---- */

static void assert_quota(const char *root, double expected)
{
    double quota = topo_sysfs_cpu_quota(root);
    if (!(fabs(quota - expected) < 1e-9)) {
        fail_msg("expected %g CPUs, found %g", expected, quota);
    }
}

static void test_quota_of_version_2(void **state)
{
    const char *root = *state;
    put(root, "proc/self/cgroup", "0::/system.slice/job\n");
    put(root, "sys/fs/cgroup/system.slice/job/cpu.max", "max 100000\n");
    assert_true(isnan(topo_sysfs_cpu_quota(root)));
    put(root, "sys/fs/cgroup/system.slice/cpu.max", "350000 100000\n"); /* the group above */
    assert_quota(root, 3.5);
    put(root, "sys/fs/cgroup/system.slice/job/cpu.max", "150000 100000\n");
    assert_quota(root, 1.5);
}

/* A container sees its own limit at the root, and a path that is the host's. */
static void test_quota_in_a_container(void **state)
{
    const char *root = *state;
    put(root, "proc/self/cgroup", "0::/kubepods/pod7/abc\n");
    put(root, "sys/fs/cgroup/cpu.max", "200000 100000\n");
    assert_quota(root, 2);
}

static void test_quota_of_version_1(void **state)
{
    const char *root = *state;
    put(root, "proc/self/cgroup", "5:memory:/a\n4:cpu,cpuacct:/a/b\n3:cpuset:/\n");
    put(root, "sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
    put(root, "sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
    assert_true(isnan(topo_sysfs_cpu_quota(root)));
    put(root, "sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "50000\n");
    assert_quota(root, 0.5);
}

static void test_quota_of_nonsense(void **state)
{
    const char *root = *state;
    put(root, "proc/self/cgroup", "\nx\n0:\n::\n0::/a\n");
    put(root, "sys/fs/cgroup/a/cpu.max", "-5 0\n");
    put(root, "sys/fs/cgroup/cpu.max", "one two\n");
    assert_true(isnan(topo_sysfs_cpu_quota(root)));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_interfaces),
        TEST(test_rdma_devices),
        TEST(test_known_nics_are_completed),
        TEST(test_nothing_there),
        TEST(test_quota_of_version_2),
        TEST(test_quota_in_a_container),
        TEST(test_quota_of_version_1),
        TEST(test_quota_of_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
