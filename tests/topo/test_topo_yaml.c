/* test_topo_yaml.c - our YAML: what it says, what is refused and where, what is written. */
#include "topo.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAIR "tests/data/topo/pair.yaml"

static struct arena arena; /* emptied after each test */

static int clean(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct topo load_pair(void)
{
    struct error error = ERROR_NONE;
    struct topo topo = {0};
    if (topo_load_file(&arena, PAIR, &topo, &error) != 0) {
        fail_msg("%s", error.message);
    }
    return topo;
}

static void assert_near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-12 * fabs(expected))) {
        fail_msg("expected %.17g, found %.17g", expected, found);
    }
}

static void assert_same_double(double a, double b)
{
    if (!(a == b || (isnan(a) && isnan(b)))) {
        fail_msg("%.17g and %.17g differ", a, b);
    }
}

static void assert_same_text(const char *a, const char *b)
{
    if (a == NULL || b == NULL) {
        assert_ptr_equal(a, b);
    } else {
        assert_string_equal(a, b);
    }
}

static void assert_same_node(const struct topo_node *a, const struct topo_node *b)
{
    assert_int_equal(a->cores.first, b->cores.first);
    assert_int_equal(a->cores.nr, b->cores.nr);
    assert_same_text(a->model, b->model);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->level, b->level);
    assert_int_equal(a->shared_by, b->shared_by);
    assert_same_text(a->name, b->name);
    assert_same_text(a->rdma, b->rdma);
    assert_same_text(a->pci, b->pci);
    assert_same_text(a->device, b->device);
    assert_same_double(a->bytes_per_second, b->bytes_per_second);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->state, b->state);
}

static void assert_same_type(const struct topo_host_type *a, const struct topo_host_type *b)
{
    assert_same_text(a->name, b->name);
    assert_same_text(a->kernel, b->kernel);
    assert_same_text(a->architecture, b->architecture);
    assert_same_double(a->quota_cpus, b->quota_cpus);
    assert_int_equal(a->nr_cores, b->nr_cores);
    assert_int_equal(a->nr_threads, b->nr_threads);
    for (size_t i = 0; i < a->nr_threads; i++) {
        assert_memory_equal(&a->threads[i], &b->threads[i], offsetof(struct topo_thread, usable));
        assert_int_equal(a->threads[i].usable, b->threads[i].usable);
    }
    for (unsigned type = 0; type < TOPO_NODE_TYPES; type++) {
        assert_int_equal(a->nodes[type].nr, b->nodes[type].nr);
        for (size_t i = 0; i < a->nodes[type].nr; i++) {
            assert_same_node(&a->nodes[type].items[i], &b->nodes[type].items[i]);
        }
    }
    assert_int_equal(a->nr_links, b->nr_links);
    for (size_t i = 0; i < a->nr_links; i++) {
        assert_memory_equal(&a->links[i], &b->links[i],
                            offsetof(struct topo_link, bytes_per_second));
        assert_same_double(a->links[i].bytes_per_second, b->links[i].bytes_per_second);
        assert_same_double(a->links[i].seconds, b->links[i].seconds);
        assert_same_double(a->links[i].distance, b->links[i].distance);
        assert_int_equal(a->links[i].lanes, b->links[i].lanes);
    }
}

static void test_hosts_and_cpus(void **state)
{
    (void)state;
    struct topo topo = load_pair();
    assert_string_equal(topo.name, "pair: two kinds");
    assert_int_equal(topo.nr_hosts, 2);
    assert_int_equal(topo.hosts[0].count, 30);
    assert_ptr_equal(topo.hosts[1].type, &topo.types[1]);
    const struct topo_host_type *type = &topo.types[0];
    assert_string_equal(type->kernel, "Linux 6.1.0");
    assert_int_equal(type->nr_cores, 5);
    assert_int_equal(type->nr_threads, 9);
    assert_int_equal(type->threads[3].core, 1);
    assert_int_equal(type->threads[2].cpu, 2);
    assert_int_equal(type->threads[3].cpu, 3);
    assert_true(type->threads[1].usable && !type->threads[2].usable && type->threads[8].usable);
    assert_near(type->quota_cpus, 2.5);
    assert_int_equal(topo_usable_cores(type), 2); /* cores 0 and 4 */
    assert_null(type->nodes[TOPO_SOCKET].items[1].model);
    assert_int_equal(type->nodes[TOPO_NUMA].items[2].cores.nr, 0);
    assert_int_equal(type->nodes[TOPO_NUMA].items[1].bytes, 0);
    assert_int_equal(type->nodes[TOPO_CACHE].items[0].bytes, 32 << 20);
    assert_null(topo.types[1].kernel);
    assert_true(isnan(topo.types[1].quota_cpus));
}

static void test_devices_and_links(void **state)
{
    (void)state;
    struct topo topo = load_pair();
    const struct topo_host_type *cpu = &topo.types[0], *gpu = &topo.types[1];
    assert_near(cpu->nodes[TOPO_NIC].items[0].bytes_per_second, 2.5e9 / 8);
    assert_true(isnan(cpu->nodes[TOPO_NIC].items[1].bytes_per_second));
    assert_int_equal(cpu->nodes[TOPO_NIC].items[1].kind, TOPO_NIC_VIRTUAL);
    assert_int_equal(cpu->nr_links, 4);
    assert_int_equal(cpu->links[1].from.index, 1); /* the way back of a `between` */
    assert_near(cpu->links[1].distance, 21);
    assert_near(cpu->links[2].seconds, 0.5e-6);
    assert_int_equal(cpu->links[2].lanes, 16);
    assert_true(isnan(cpu->links[3].seconds));
    assert_int_equal(topo_device_numa(cpu, (struct topo_end){TOPO_NIC, 0}), 0);
    assert_int_equal(topo_device_numa(cpu, (struct topo_end){TOPO_NIC, 1}), TOPO_NONE);
    assert_string_equal(gpu->nodes[TOPO_GPU].items[0].model, "Example GPU 80GB");
    assert_string_equal(gpu->nodes[TOPO_GPU].items[1].model, "unknown"); /* quoted: a name */
    assert_int_equal(gpu->links[0].class, TOPO_LINK_NVLINK);
    assert_int_equal(gpu->links[0].lanes, 18);
}

static void test_description(void **state)
{
    (void)state;
    struct topo topo = load_pair();
    assert_string_equal(topo_describe(&arena, &topo),
                        "30 x (1 x Example, CPU #1 + 1 x unknown CPU, 5 cores (2 usable), 9 "
                        "hardware threads, 3 NUMA, L3 2 x 32 MiB, 1 NIC) + 2 x (unknown CPU, 0 "
                        "cores (0 usable), 1 NUMA, 2 GPUs, 1 NIC)");
}

static void test_round_trip(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    struct topo topo = load_pair(), back = {0};
    char before[TOPO_FINGERPRINT_TEXT], after[TOPO_FINGERPRINT_TEXT];
    char *text = topo_to_yaml(&topo);
    if (topo_load_text(&arena, text, strlen(text), "a.yaml", &back, &error) != 0) {
        fail_msg("%s\n%s", error.message, text);
    }
    assert_string_equal(topo.name, back.name);
    assert_int_equal(topo.nr_hosts, back.nr_hosts);
    assert_int_equal(topo.hosts[0].count, back.hosts[0].count);
    assert_int_equal(topo.nr_types, back.nr_types);
    for (size_t i = 0; i < topo.nr_types; i++) {
        assert_same_type(&topo.types[i], &back.types[i]);
    }
    assert_string_equal(topo_fingerprint(&topo, before), topo_fingerprint(&back, after));
    char *again = topo_to_yaml(&back);
    assert_string_equal(text, again);
    free(text);
    free(again);
}

/* Every text in a name comes back, whatever YAML makes of it. */
static void test_awkward_names(void **state)
{
    (void)state;
    static const char *const names[] = {"no",
                                        "1e3",
                                        "~",
                                        "a: b",
                                        "a #b",
                                        "- x",
                                        " x ",
                                        "[x",
                                        "{",
                                        "'",
                                        "\"\\",
                                        "&a",
                                        "*a",
                                        "!t",
                                        "%",
                                        "@x",
                                        "`",
                                        "x\ty",
                                        "x\ny",
                                        "\x01",
                                        "\x7f",
                                        "\xC2\x85",
                                        "\xE2\x80\xA8",
                                        "\xEF\xBB\xBF",
                                        "\xC3\xA9",
                                        "\xF0\x9F\x98\x80",
                                        "unknown",
                                        "none"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct error error = ERROR_NONE;
        struct topo topo = load_pair(), back = {0};
        topo.name = names[i];
        topo.types[0].kernel = names[i];
        topo.types[1].name = names[i];
        topo.types[1].nodes[TOPO_NIC].items[0].rdma = names[i];
        char *text = topo_to_yaml(&topo);
        if (topo_load_text(&arena, text, strlen(text), "a.yaml", &back, &error) != 0) {
            fail_msg("'%s': %s", names[i], error.message);
        }
        free(text);
        assert_string_equal(back.name, names[i]);
        assert_string_equal(back.types[0].kernel, names[i]);
        assert_string_equal(back.hosts[1].type->name, names[i]);
        assert_string_equal(back.types[1].nodes[TOPO_NIC].items[0].rdma, names[i]);
    }
}

/* Speeds and times come back to the last bit. */
static void test_exact_quantities(void **state)
{
    (void)state;
    static const double speeds[] = {1,       12500000000.0, 31507692307.692307,
                                    1e9 / 3, 4.5e11,        1e17 / 7};
    static const double times[] = {1e-12, 1.3e-6, 1e-7, 2.5e-9, 1};
    struct error error = ERROR_NONE;
    for (size_t i = 0; i < 6; i++) {
        struct topo topo = load_pair(), back = {0};
        topo.types[0].links[2].bytes_per_second = speeds[i];
        topo.types[0].links[2].seconds = times[i % 5];
        topo.types[0].nodes[TOPO_NIC].items[0].bytes_per_second = speeds[i];
        char *text = topo_to_yaml(&topo);
        if (topo_load_text(&arena, text, strlen(text), "a.yaml", &back, &error) != 0) {
            fail_msg("%s", error.message);
        }
        free(text);
        assert_same_type(&topo.types[0], &back.types[0]);
    }
}

#define HEAD "ccltune: 1\nname: x\nhosts: [{type: t, count: 1}]\ntypes:\n  t:\n"

/* Each says where, what was found and what is right. */
static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *part;
    } refused[] = {
        {"", "a.yaml:1:1: ", "empty"},
        {"x", "a.yaml:1:1: ", "expected a map"},
        {"<topology version=\"2.0\">", "a.yaml:1:1: ", "not a topology"},
        {"{\"ccltune\": 1}", "a.yaml:1:1: ", "not a topology"},
        {"ccltune: 1\nname: x\n", "a.yaml:1:1: ", "'hosts' is missing"},
        {"ccltune: 2\nname: x\nhosts: []\ntypes: {}\n", "a.yaml:1:10: ", "version 2"},
        {"ccltune: 1\nname: x\nhost: []\n", "a.yaml:3:1: ", "did you mean 'hosts'?"},
        {"ccltune: 1\nname: x\nhosts: []\ntypes: {t: {}}\n", "a.yaml:3:8: ", "expected 1 to"},
        {"ccltune: 1\nname: x\nhosts: [{type: t, count: 1}]\ntypes: {}\n",
         "a.yaml:4:8: ", "host types by name"},
        {"ccltune: 1\nname: x\nhosts: [{type: u, count: 1}]\ntypes: {t: {}}\n",
         "a.yaml:3:16: ", "'u' is not described"},
        {"ccltune: 1\nname: x\nhosts: [{type: t, count: 0}]\ntypes: {t: {}}\n",
         "a.yaml:3:26: ", "found 0"},
        {"ccltune: 1\nname: x\nhosts: [{type: t}]\ntypes: {t: {}}\n", "a.yaml:3:9: ", "both keys"},
        {HEAD "    core: []\n", "a.yaml:6:5: ", "did you mean 'cores'?"},
        {HEAD "    cores: 4\n", "a.yaml:6:12: ", "expected a list"},
        {HEAD "    cores: [{cores: 0-3}]\n", "a.yaml:6:13: ", "both keys"},
        {HEAD "    cores: [{cores: 1-3, cpus: [0-2]}]\n", "a.yaml:6:21: ", "start with core 0"},
        {HEAD "    cores: [{cores: 3-1, cpus: [0-2]}]\n", "a.yaml:6:21: ", "range of cores"},
        {HEAD "    cores: [{cores: 0-1, cpus: [0-2]}]\n", "a.yaml:6:33: ", "more CPUs"},
        {HEAD "    cores: [{cores: 0-3, cpus: [0-2]}]\n",
         "a.yaml:6:33: ", "expected 4 CPU numbers"},
        {HEAD "    cores: [{cores: 0-1, cpus: [0-1, 1-2]}]\n", "a.yaml:6:12: ", "CPU 1 is named"},
        {HEAD "    cores: [{cores: 0-1, cpus: [\"0-2:0\"]}]\n", "a.yaml:6:33: ", "CPU numbers"},
        {HEAD "    cores: [{cores: 0-99999, cpus: [0]}]\n", "a.yaml:6:21: ", "range of cores"},
        {HEAD "    cores: [{cores: 0-1, cpus: []}]\n", "a.yaml:6:32: ", "hardware threads"},
        {HEAD "    cores: [{cores: 0-1, cpus: [0-1]}]\n    usable_cpus: 1-2\n",
         "a.yaml:7:18: ", "usable_cpus"},
        {HEAD "    cores: [{cores: 0-1, cpus: [0-1]}]\n    quota_cpus: 0\n",
         "a.yaml:7:17: ", "quota_cpus"},
        {HEAD "    sockets: [{model: a, cores: 0-1}]\n", "a.yaml:6:15: ", "core 1 is named"},
        {HEAD "    cores: [{cores: 0-1, cpus: [0-1]}]\n    sockets: [{cores: 0-1}, {cores: 1}]\n",
         "a.yaml:7:29: ", "socket before"},
        {HEAD "    cores: [{cores: 0-2, cpus: [0-2]}]\n    caches: [{level: 3, cores: 0-2, "
              "shared_by: 2}]\n",
         "a.yaml:7:14: ", "does not divide"},
        {HEAD "    caches: [{level: 3, shared_by: 1}]\n", "a.yaml:6:14: ", "does not divide"},
        {HEAD "    caches: [{level: 3}]\n", "a.yaml:6:14: ", "'shared_by' is missing"},
        {HEAD "    numa: [{memory: 4}]\n", "a.yaml:6:21: ", "no unit"},
        {HEAD "    nics: [{name: a, speed: 25}]\n", "a.yaml:6:29: ", "no unit"},
        {HEAD "    nics: [{name: a, speed: 0 Gb/s}]\n", "a.yaml:6:29: ", "write 'unknown'"},
        {HEAD "    nics: [{name: a, link: maybe}]\n", "a.yaml:6:28: ", "unknown, up, down"},
        {HEAD "    nics: [{name: a, name: b}]\n", "a.yaml:6:22: ", "twice"},
        {HEAD "    nics: [{spede: a}]\n", "a.yaml:6:13: ", "expected one of: name, kind"},
        {HEAD "    nics: [a]\n", "a.yaml:6:12: ", "expected a map"},
        {HEAD "    links: [{class: pcie, between: [numa0, nic0]}]\n",
         "a.yaml:6:37: ", "'numa0' does not exist"},
        {HEAD "    numa: [{}]\n    links: [{class: pcie, between: [numa0, numa0]}]\n",
         "a.yaml:7:13: ", "two different nodes"},
        {HEAD "    numa: [{}]\n    links: [{class: pcie, between: [numa0, cpu1]}]\n",
         "a.yaml:7:44: ", "expected a node"},
        {HEAD "    numa: [{}, {}]\n    links: [{class: pcie, from: numa0}]\n",
         "a.yaml:7:13: ", "between: [numa0, nic0]"},
        {HEAD "    numa: [{}, {}]\n    links: [{between: [numa0, numa1]}]\n",
         "a.yaml:7:13: ", "'class' is missing"},
        {HEAD "    numa: [{}, {}]\n    links: [{class: usb, between: [numa0, numa1]}]\n",
         "a.yaml:7:21: ", "cpu, pcie, nvlink, network"},
        {HEAD
         "    numa: [{}, {}]\n    links: [{class: cpu, between: [numa0, numa1], latency: 1}]\n",
         "a.yaml:7:60: ", "no unit"},
        {HEAD "    numa: [{}, {}]\n    links: [{class: cpu, between: [numa0, numa1], lanes: 0}]\n",
         "a.yaml:7:58: ", "from 1"},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct error error = ERROR_NONE;
        struct topo topo = {.name = "untouched"};
        const char *text = refused[i].text;
        int result = topo_load_text(&arena, text, strlen(text), "a.yaml", &topo, &error);
        if (result != -1 || error.status != EXIT_INPUT ||
            strncmp(error.message, refused[i].place, strlen(refused[i].place)) != 0 ||
            strstr(error.message, refused[i].part) == NULL) {
            fail_msg("'%s': expected '%s...%s', found '%s'", text, refused[i].place,
                     refused[i].part, error.message);
        }
        assert_string_equal(topo.name, "untouched");
    }
}

/* A file that says nothing about its host loads as one of which nothing is known. */
static void test_little_is_enough(void **state)
{
    (void)state;
    const char *text = "ccltune: 1\nname: x\nhosts: [{type: t, count: 1}]\ntypes: {t: {}}\n";
    struct error error = ERROR_NONE;
    struct topo topo = {0};
    assert_int_equal(topo_load_text(&arena, text, strlen(text), "a.yaml", &topo, &error), 0);
    assert_int_equal(topo_usable_cores(&topo.types[0]), 0);
    assert_string_equal(topo_describe(&arena, &topo), "unknown CPU, 0 cores (0 usable), 0 NUMA");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_hosts_and_cpus, clean),
        cmocka_unit_test_teardown(test_devices_and_links, clean),
        cmocka_unit_test_teardown(test_description, clean),
        cmocka_unit_test_teardown(test_round_trip, clean),
        cmocka_unit_test_teardown(test_awkward_names, clean),
        cmocka_unit_test_teardown(test_exact_quantities, clean),
        cmocka_unit_test_teardown(test_refusals, clean),
        cmocka_unit_test_teardown(test_little_is_enough, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
