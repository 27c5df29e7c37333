/* test_topo_local.c - machines as hwloc shows them: made-up ones by its variables, and this one. */
#include "topo.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const variables[] = {"HWLOC_SYNTHETIC", "HWLOC_XMLFILE", "HWLOC_FSROOT"};

static struct arena arena; /* emptied after each test */

static int clean(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        unsetenv(variables[i]);
    }
    arena_release(&arena);
    return 0;
}

static struct topo load(void)
{
    struct error error = ERROR_NONE;
    struct topo topo = {0};
    if (topo_load_local(&arena, &topo, &error) != 0) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(topo.nr_hosts, 1);
    assert_int_equal(topo.hosts[0].count, 1);
    return topo;
}

static struct topo load_with(const char *variable, const char *value)
{
    setenv(variable, value, 1);
    return load();
}

static void assert_cores(struct topo_cores cores, uint32_t first, uint32_t nr)
{
    if (cores.first != first || cores.nr != nr) {
        fail_msg("expected cores %u+%u, found %u+%u", first, nr, cores.first, cores.nr);
    }
}

static void assert_near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected))) {
        fail_msg("expected %.17g, found %.17g", expected, found);
    }
}

/* Written and read back, it is the same in every word and by fingerprint. */
static void assert_round_trip(const struct topo *topo)
{
    struct error error = ERROR_NONE;
    struct topo back = {0};
    char before[TOPO_FINGERPRINT_TEXT], after[TOPO_FINGERPRINT_TEXT];
    char *text = topo_to_yaml(topo);
    if (topo_load_text(&arena, text, strlen(text), "a.yaml", &back, &error) != 0) {
        fail_msg("%s\n%s", error.message, text);
    }
    char *again = topo_to_yaml(&back);
    assert_string_equal(strstr(text, "ccltune: 1"), strstr(again, "ccltune: 1"));
    assert_string_equal(topo_fingerprint(topo, before), topo_fingerprint(&back, after));
    free(text);
    free(again);
}

static void test_synthetic_machine(void **state)
{
    (void)state;
    struct topo topo = load_with("HWLOC_SYNTHETIC", "pack:2 numa:2 l3:1 core:8 pu:2");
    const struct topo_host_type *type = topo.hosts[0].type;
    assert_string_equal(type->name, "local");
    assert_int_equal(type->nr_cores, 32);
    assert_int_equal(type->nr_threads, 64);
    assert_int_equal(topo_usable_cores(type), 32);
    assert_int_equal(type->nodes[TOPO_SOCKET].nr, 2);
    assert_cores(type->nodes[TOPO_SOCKET].items[1].cores, 16, 16);
    assert_null(type->nodes[TOPO_SOCKET].items[1].model);
    assert_int_equal(type->nodes[TOPO_NUMA].nr, 4);
    assert_cores(type->nodes[TOPO_NUMA].items[2].cores, 16, 8);
    assert_int_equal(type->nodes[TOPO_CACHE].nr, 1); /* four caches in one row */
    assert_cores(type->nodes[TOPO_CACHE].items[0].cores, 0, 32);
    assert_int_equal(type->nodes[TOPO_CACHE].items[0].shared_by, 8);
    assert_int_equal(type->nr_links, 4 * 3);
    assert_true(isnan(type->links[0].bytes_per_second));
    assert_null(type->kernel);
    assert_string_equal(topo_describe(&arena, &topo),
                        "2 x unknown CPU, 32 cores (32 usable), 64 hardware threads, 4 NUMA, "
                        "L3 4 x 16 MiB");
    assert_true(topo.nr_notes > 0);
    assert_round_trip(&topo);
}

/* Cores are not known: each hardware thread counts, and it is said. */
static void test_machine_without_cores(void **state)
{
    (void)state;
    struct topo topo = load_with("HWLOC_SYNTHETIC", "numa:1 pu:6");
    assert_int_equal(topo.types[0].nr_cores, 6);
    assert_int_equal(topo.types[0].nodes[TOPO_SOCKET].nr, 0);
    assert_non_null(strstr(topo.notes[0], "counted as a core"));
    assert_string_equal(topo_describe(&arena, &topo), "unknown CPU, 6 cores (6 usable), 1 NUMA");
    assert_round_trip(&topo);
}

/* Neighbours of another size are a row of their own. */
static void test_caches_of_two_kinds(void **state)
{
    (void)state;
    struct topo topo = load_with("HWLOC_SYNTHETIC", "pack:1 l2:4(size=2097152) core:2 pu:1");
    assert_int_equal(topo.types[0].nodes[TOPO_CACHE].nr, 1);
    assert_int_equal(topo.types[0].nodes[TOPO_CACHE].items[0].level, 2);
    assert_int_equal(topo.types[0].nodes[TOPO_CACHE].items[0].bytes, 2097152);
    assert_int_equal(topo.types[0].nodes[TOPO_CACHE].items[0].shared_by, 2);
    assert_cores(topo.types[0].nodes[TOPO_CACHE].items[0].cores, 0, 8);
}

static void test_xml_cpus(void **state)
{
    (void)state;
    struct topo topo = load_with("HWLOC_XMLFILE", "tests/data/topo/two-sockets.xml");
    const struct topo_host_type *type = topo.hosts[0].type;
    assert_string_equal(topo.name, "two-sockets");
    assert_string_equal(type->kernel, "Linux 6.1.0");
    assert_string_equal(type->architecture, "x86_64");
    assert_string_equal(type->nodes[TOPO_SOCKET].items[0].model, "Example CPU 9000 @ 2.0GHz");
    assert_int_equal(type->nr_cores, 4);
    assert_int_equal(type->nr_threads, 8);
    assert_int_equal(type->threads[7].cpu, 7);
    assert_int_equal(type->threads[7].core, 3);
    assert_false(type->threads[7].usable); /* not in the allowed set */
    assert_true(type->threads[6].usable);
    assert_int_equal(topo_usable_cores(type), 4);
    assert_int_equal(type->nodes[TOPO_NUMA].nr, 3);
    assert_int_equal(type->nodes[TOPO_NUMA].items[0].bytes, 4ull << 30);
    assert_cores(type->nodes[TOPO_NUMA].items[1].cores, 2, 2);
    assert_int_equal(type->nodes[TOPO_CACHE].nr, 2);
    assert_near(type->links[0].distance, 21);
    assert_near(type->links[2].distance, 40);
    assert_round_trip(&topo);
}

static void test_xml_devices(void **state)
{
    (void)state;
    struct topo topo = load_with("HWLOC_XMLFILE", "tests/data/topo/two-sockets.xml");
    const struct topo_host_type *type = topo.hosts[0].type;
    const struct topo_nodes *gpus = &type->nodes[TOPO_GPU], *nics = &type->nodes[TOPO_NIC];
    assert_int_equal(gpus->nr, 1); /* the console's graphics is none */
    assert_string_equal(gpus->items[0].pci, "0000:81:00.0");
    assert_string_equal(gpus->items[0].device, "10de:2330");
    assert_null(gpus->items[0].model);
    assert_int_equal(topo_device_numa(type, (struct topo_end){TOPO_GPU, 0}), 1);
    assert_int_equal(nics->nr, 3);
    assert_string_equal(nics->items[0].name, "ib0");
    assert_string_equal(nics->items[0].rdma, "mlx5_0");
    assert_int_equal(nics->items[0].kind, TOPO_NIC_INFINIBAND);
    assert_int_equal(nics->items[0].state, TOPO_STATE_UNKNOWN);
    assert_true(isnan(nics->items[0].bytes_per_second));
    assert_string_equal(nics->items[1].name, "ib1");
    assert_null(nics->items[1].rdma);
    assert_null(nics->items[2].name); /* no driver */
    assert_int_equal(topo_device_numa(type, (struct topo_end){TOPO_NIC, 1}), 0);
    const struct topo_link *last = &type->links[type->nr_links - 2];
    assert_int_equal(last->to.type, TOPO_GPU);
    assert_near(last->bytes_per_second, 63.015e9);
    assert_true(isnan(last->seconds));
}

/* What hwloc cannot use is an error, not a silent look at another machine. */
static void test_broken_variables(void **state)
{
    (void)state;
    static const char *const broken[][2] = {{"HWLOC_XMLFILE", "tests/data/topo/truncated.xml"},
                                            {"HWLOC_XMLFILE", "tests/data/topo/no-such-file.xml"},
                                            {"HWLOC_SYNTHETIC", "pack:two"}};
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        struct error error = ERROR_NONE;
        struct topo topo = {.name = "untouched"};
        setenv(broken[i][0], broken[i][1], 1);
        int result = topo_load_local(&arena, &topo, &error);
        unsetenv(broken[i][0]);
        assert_int_equal(result, -1);
        assert_non_null(strstr(error.message, broken[i][0]));
        assert_string_equal(topo.name, "untouched");
    }
}

/* As in a chroot: no /sys, no /proc. */
static void test_empty_file_system(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    char *path = arena_printf(&arena, "%s/ccltune-test-XXXXXX", parent ? parent : P_tmpdir);
    assert_non_null(mkdtemp(path));
    struct topo topo = load_with("HWLOC_FSROOT", path);
    rmdir(path);
    assert_true(topo.types[0].nr_threads >= 1);
    assert_int_equal(topo.types[0].nodes[TOPO_NIC].nr, 0);
    assert_round_trip(&topo);
}

static void test_this_machine(void **state)
{
    (void)state;
    struct topo topo = load();
    const struct topo_host_type *type = topo.hosts[0].type;
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    size_t usable = 0;
    for (size_t i = 0; i < type->nr_threads; i++) {
        usable += type->threads[i].usable;
        assert_int_equal(type->threads[i].usable, CPU_ISSET(type->threads[i].cpu, &set) != 0);
    }
    assert_int_equal(usable, CPU_COUNT(&set));
    assert_true(topo_usable_cores(type) >= 1 && topo_usable_cores(type) <= type->nr_cores);
    assert_int_equal(strncmp(type->kernel, "Linux ", 6), 0);
    size_t loopbacks = 0;
    for (size_t i = 0; i < type->nodes[TOPO_NIC].nr; i++) {
        const struct topo_node *nic = &type->nodes[TOPO_NIC].items[i];
        if (nic->name != NULL && strcmp(nic->name, "lo") == 0) {
            loopbacks++;
            assert_int_equal(nic->kind, TOPO_NIC_VIRTUAL);
        }
    }
    assert_int_equal(loopbacks, access("/sys/class/net/lo", F_OK) == 0);
    assert_round_trip(&topo);
}

/* A rank that its launcher has bound may use one core, on the same machine as before. */
static void test_affinity(void **state)
{
    (void)state;
    cpu_set_t before, one;
    char all_cpus[TOPO_FINGERPRINT_TEXT], one_cpu[TOPO_FINGERPRINT_TEXT];
    struct topo topo = load();
    topo_fingerprint(&topo, all_cpus);
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &before)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    topo = load();
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    assert_int_equal(topo_usable_cores(&topo.types[0]), 1);
    assert_string_equal(topo_fingerprint(&topo, one_cpu), all_cpus);
}

static void test_word_local(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    struct topo topo = {0};
    setenv("HWLOC_SYNTHETIC", "pack:1 core:3 pu:1", 1);
    assert_int_equal(topo_load_file(&arena, "local", &topo, &error), 0);
    assert_int_equal(topo.types[0].nr_cores, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_synthetic_machine, clean),
        cmocka_unit_test_teardown(test_machine_without_cores, clean),
        cmocka_unit_test_teardown(test_caches_of_two_kinds, clean),
        cmocka_unit_test_teardown(test_xml_cpus, clean),
        cmocka_unit_test_teardown(test_xml_devices, clean),
        cmocka_unit_test_teardown(test_broken_variables, clean),
        cmocka_unit_test_teardown(test_empty_file_system, clean),
        cmocka_unit_test_teardown(test_this_machine, clean),
        cmocka_unit_test_teardown(test_affinity, clean),
        cmocka_unit_test_teardown(test_word_local, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
