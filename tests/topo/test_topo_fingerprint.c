/* test_topo_fingerprint.c - what makes it another machine, and what does not. */
#include "topo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A machine with two equal NICs and a lone one; the tests change a word of it. */
static const char base[] =
    "ccltune: 1\n"
    "name: node1\n"
    "hosts: [{type: local, count: 4}]\n"
    "types:\n"
    "  local:\n"
    "    kernel: Linux 6.1.0\n"
    "    architecture: x86_64\n"
    "    sockets: [{model: Example 9000, cores: 0-3}, {model: Example 9000, cores: 4-7}]\n"
    "    numa: [{cores: 0-3, memory: 8 GiB}, {cores: 4-7, memory: 8 GiB}]\n"
    "    caches: [{level: 3, size: 32 MiB, cores: 0-7, shared_by: 4}]\n"
    "    cores: [{cores: 0-7, cpus: [0-7, 8-15]}]\n"
    "    usable_cpus: all\n"
    "    quota_cpus: none\n"
    "    gpus: [{model: Example GPU, pci: \"0000:01:00.0\", device: \"10de:2330\"}]\n"
    "    nics:\n"
    "    - {name: a0, kind: infiniband, speed: 200 Gb/s, link: up, device: \"15b3:1021\"}\n"
    "    - {name: a1, kind: infiniband, speed: 200 Gb/s, link: up, device: \"15b3:1021\"}\n"
    "    - {name: b0, kind: ethernet, speed: 10 Gb/s, link: up, device: \"8086:1572\"}\n"
    "    - {name: lo, kind: virtual}\n"
    "    links:\n"
    "    - {between: [numa0, numa1], class: cpu, distance: 21}\n"
    "    - {between: [numa0, gpu0], class: pcie, bandwidth: 64 GB/s}\n"
    "    - {between: [numa0, nic0], class: pcie, bandwidth: 64 GB/s}\n"
    "    - {between: [numa0, nic1], class: pcie, bandwidth: 64 GB/s}\n";

/* The fingerprint with every `from` in the text replaced by `to`. */
static void fingerprint_of(const char *from, const char *to, char text[TOPO_FINGERPRINT_TEXT])
{
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct topo topo;
    const char *changed = "", *rest = base;
    for (const char *found; from != NULL && (found = strstr(rest, from)) != NULL;) {
        changed = arena_printf(&arena, "%s%.*s%s", changed, (int)(found - rest), rest, to);
        rest = found + strlen(from);
    }
    if (from != NULL && rest == base) {
        fail_msg("'%s' is not in the text", from);
    }
    changed = arena_printf(&arena, "%s%s", changed, rest);
    if (topo_load_text(&arena, changed, strlen(changed), "a.yaml", &topo, &error) != 0) {
        fail_msg("'%s' for '%s': %s", to, from, error.message);
    }
    topo_fingerprint(&topo, text);
    arena_release(&arena);
}

struct change {
    const char *from, *to;
};

static void check_changes(const struct change *changes, size_t nr, bool same)
{
    char before[TOPO_FINGERPRINT_TEXT], after[TOPO_FINGERPRINT_TEXT];
    fingerprint_of(NULL, NULL, before);
    for (size_t i = 0; i < nr; i++) {
        fingerprint_of(changes[i].from, changes[i].to, after);
        if ((strcmp(before, after) == 0) != same) {
            fail_msg("'%s' for '%s' makes it %s machine", changes[i].to, changes[i].from,
                     same ? "another" : "the same");
        }
    }
}

static void test_another_machine(void **state)
{
    (void)state;
    static const struct change changes[] = {
        {"x86_64", "aarch64"},
        {"model: Example 9000, cores: 4-7", "model: Example 9001, cores: 4-7"},
        {"sockets: [{model: Example 9000, cores: 0-3}, {model: Example 9000, cores: 4-7}]",
         "sockets: [{model: Example 9000, cores: 0-7}]"},
        {"numa: [{cores: 0-3, memory: 8 GiB}, {cores: 4-7, memory: 8 GiB}]",
         "numa: [{cores: 0-7, memory: 8 GiB}, {cores: none, memory: 8 GiB}]"},
        {"size: 32 MiB", "size: 16 MiB"},
        {"shared_by: 4", "shared_by: 8"},
        {"cpus: [0-7, 8-15]", "cpus: [0-7]"},
        {"Example GPU", "Another GPU"},
        {"10de:2330", "10de:2331"},
        {"15b3:1021", "15b3:1023"},
        {"200 Gb/s", "400 Gb/s"},
        {"kind: ethernet, speed: 10 Gb/s", "kind: ethernet, speed: 25 Gb/s"},
        {"distance: 21", "distance: 32"},
        {"[numa0, gpu0]", "[numa1, gpu0]"},
        {"count: 4", "count: 5"},
    };
    check_changes(changes, sizeof(changes) / sizeof(*changes), false);
}

static void test_the_same_machine(void **state)
{
    (void)state;
    static const struct change changes[] = {
        {"node1", "node2"},
        {"local", "other"},
        {"Linux 6.1.0", "Linux 6.12.9"},
        {"memory: 8 GiB", "memory: 8388000 KiB"},
        {"usable_cpus: all", "usable_cpus: 3"},
        {"quota_cpus: none", "quota_cpus: 2"},
        {"cpus: [0-7, 8-15]", "cpus: [\"0-14:2\", \"1-15:2\"]"},
        {"0000:01:00.0", "0000:81:00.0"},
        {"name: a0", "name: ibs7"},
        {"    - {name: lo, kind: virtual}\n", ""},
        /* a link that is down has no speed; its equal tells */
        {"- {name: a1, kind: infiniband, speed: 200 Gb/s, link: up",
         "- {name: a1, kind: infiniband, speed: unknown, link: down"},
        /* the slots' order */
        {"    - {name: a0, kind: infiniband, speed: 200 Gb/s, link: up, device: \"15b3:1021\"}\n"
         "    - {name: a1, kind: infiniband, speed: 200 Gb/s, link: up, device: \"15b3:1021\"}\n",
         "    - {name: a1, kind: infiniband, speed: 200 Gb/s, link: up, device: \"15b3:1021\"}\n"
         "    - {name: a0, kind: infiniband, speed: 200 Gb/s, link: up, device: \"15b3:1021\"}\n"},
        {"bandwidth: 64 GB/s", "bandwidth: 2 GB/s"}, /* a PCIe link at rest is slower */
        {"[{type: local, count: 4}]", "[{type: local, count: 1}, {type: local, count: 3}]"},
    };
    check_changes(changes, sizeof(changes) / sizeof(*changes), true);
}

/* Results on disk carry it: it must not change by accident. Computed apart from this program, from
 * the text that topo_fingerprint.c describes. */
static void test_known_value(void **state)
{
    (void)state;
    char text[TOPO_FINGERPRINT_TEXT];
    fingerprint_of(NULL, NULL, text);
    assert_string_equal(text, "86196b9df28e6168");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_machine),
        cmocka_unit_test(test_the_same_machine),
        cmocka_unit_test(test_known_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
