/* topo_yaml_cpus.c - cores and the operating system's CPU numbers in our YAML. */
#include "topo_yaml.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers and ranges ---- */

/* Digits only, below the limit; moves *text behind them. */
bool topo_yaml_number(const char **text, uint32_t *value)
{
    if (**text < '0' || **text > '9') {
        return false;
    }
    uint32_t sum = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        sum = sum * 10 + (uint32_t)(**text - '0');
        if (sum >= TOPO_THREADS_MAX) {
            return false;
        }
    }
    *value = sum;
    return true;
}

/* "7" or "0-63". */
static bool parse_range(const char **text, uint32_t *first, uint32_t *last)
{
    if (!topo_yaml_number(text, first)) {
        return false;
    }
    *last = *first;
    if (**text == '-') {
        (*text)++;
        return topo_yaml_number(text, last) && *last >= *first;
    }
    return true;
}

int topo_yaml_range(const struct topo_yaml *reader, const struct cfg_node *node,
                    struct topo_cores *cores)
{
    const char *text;
    uint32_t first, last;
    if (cfg_read_text(node, &text, reader->error)) {
        return -1;
    }
    const char *rest = text;
    if (!parse_range(&rest, &first, &last) || *rest != '\0') {
        return cfg_error(node, reader->error,
                         "%s: expected a range of cores such as 0-63 or a core's number, found "
                         "'%.40s'",
                         node->key != NULL ? node->key : "cores", text);
    }
    *cores = (struct topo_cores){first, last - first + 1};
    return 0;
}

/* The ":2" behind a range, where there is one. */
static bool parse_step(const char **text, uint32_t *step)
{
    *step = 1;
    if (**text != ':') {
        return true;
    }
    (*text)++;
    return topo_yaml_number(text, step) && *step > 0;
}

/* A list of CPU numbers, "0-3,8,10-30:2": at most `room` of them into `cpus`. */
static int read_cpus(const struct topo_yaml *reader, const struct cfg_node *node, uint32_t *cpus,
                     size_t room, size_t *nr)
{
    const char *text;
    uint32_t first, last, step;
    if (cfg_read_text(node, &text, reader->error)) {
        return -1;
    }
    *nr = 0;
    for (const char *rest = text;; rest++) {
        if (!parse_range(&rest, &first, &last) || !parse_step(&rest, &step) ||
            (*rest != ',' && *rest != '\0')) {
            return cfg_error(
                node, reader->error,
                "expected CPU numbers below %u such as 0-3 or \"0-3,8\" or \"0-62:2\", "
                "found '%.40s'",
                TOPO_THREADS_MAX, text);
        }
        if ((last - first) / step + 1 > room - *nr) {
            return cfg_error(node, reader->error,
                             "the list '%.40s' names more CPUs than the %zu expected here", text,
                             room);
        }
        for (uint32_t cpu = first; cpu <= last; cpu += step) {
            cpus[(*nr)++] = cpu;
        }
        if (*rest == '\0') {
            return 0;
        }
    }
}

/* ---- cores ---- */

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Every CPU number stands for one thread. */
static int check_cpus(const struct topo_yaml *reader, const struct cfg_node *list)
{
    const struct topo_host_type *type = reader->type;
    uint32_t *cpus = arena_alloc(reader->arena, type->nr_threads, sizeof(*cpus));
    for (size_t i = 0; i < type->nr_threads; i++) {
        cpus[i] = type->threads[i].cpu;
    }
    qsort(cpus, type->nr_threads, sizeof(*cpus), compare_numbers);
    for (size_t i = 1; i < type->nr_threads; i++) {
        if (cpus[i] == cpus[i - 1]) {
            return cfg_error(list, reader->error,
                             "CPU %u is named twice; each hardware thread has its own number",
                             cpus[i]);
        }
    }
    return 0;
}

/* One row: a range of cores and, for each thread number, the list of their CPUs. */
static int read_core_row(const struct topo_yaml *reader, const struct cfg_node *row)
{
    static const char *const known[] = {"cores", "cpus", NULL};
    struct topo_host_type *type = reader->type;
    struct topo_cores cores;
    if (cfg_check_keys(row, known, reader->error)) {
        return -1;
    }
    const struct cfg_node *range = cfg_get(row, "cores"), *cpus = cfg_get(row, "cpus");
    if (range == NULL || cpus == NULL) {
        return cfg_error(row, reader->error,
                         "expected both keys, as in {cores: 0-3, cpus: [0-3, 4-7]}");
    }
    if (topo_yaml_range(reader, range, &cores) ||
        topo_yaml_expect_list(reader, cpus, "[0-3, 4-7]")) {
        return -1;
    }
    if (cores.first != type->nr_cores) {
        return cfg_error(range, reader->error,
                         "expected the range to start with core %u, found core %u; cores are "
                         "listed once, in order, without gaps",
                         type->nr_cores, cores.first);
    }
    if (cpus->nr == 0 || cpus->nr * cores.nr > TOPO_THREADS_MAX - type->nr_threads) {
        return cfg_error(cpus, reader->error, "expected 1 to %u hardware threads in all, found %zu",
                         TOPO_THREADS_MAX, type->nr_threads + cpus->nr * cores.nr);
    }
    uint32_t *numbers = arena_alloc(reader->arena, cpus->nr * cores.nr, sizeof(*numbers));
    for (size_t i = 0; i < cpus->nr; i++) {
        size_t nr;
        if (read_cpus(reader, &cpus->items[i], numbers + i * cores.nr, cores.nr, &nr)) {
            return -1;
        }
        if (nr != cores.nr) {
            return cfg_error(&cpus->items[i], reader->error,
                             "expected %u CPU numbers, one for each core of the row, found %zu",
                             cores.nr, nr);
        }
    }
    for (uint32_t core = 0; core < cores.nr; core++) {
        for (size_t i = 0; i < cpus->nr; i++) {
            topo_add_thread(
                reader->arena, type,
                (struct topo_thread){cores.first + core, numbers[i * cores.nr + core], true});
        }
    }
    return 0;
}

int topo_yaml_cores(const struct topo_yaml *reader, const struct cfg_node *list)
{
    if (topo_yaml_expect_list(reader, list, "- {cores: 0-3, cpus: [0-3, 4-7]}")) {
        return -1;
    }
    for (size_t i = 0; i < list->nr; i++) {
        if (read_core_row(reader, &list->items[i])) {
            return -1;
        }
    }
    return check_cpus(reader, list);
}

int topo_yaml_usable_cpus(const struct topo_yaml *reader, const struct cfg_node *node)
{
    struct topo_host_type *type = reader->type;
    const char *text;
    if (cfg_read_text(node, &text, reader->error)) {
        return -1;
    }
    if (strcmp(text, "all") == 0) {
        return 0;
    }
    for (size_t i = 0; i < type->nr_threads; i++) {
        type->threads[i].usable = false;
    }
    if (strcmp(text, "none") == 0) {
        return 0;
    }
    size_t nr;
    uint32_t *cpus = arena_alloc(reader->arena, type->nr_threads + 1, sizeof(*cpus));
    if (read_cpus(reader, node, cpus, type->nr_threads, &nr)) {
        return -1;
    }
    qsort(cpus, nr, sizeof(*cpus), compare_numbers);
    size_t found = 0;
    for (size_t i = 0; i < type->nr_threads; i++) {
        type->threads[i].usable =
            bsearch(&type->threads[i].cpu, cpus, nr, sizeof(*cpus), compare_numbers) != NULL;
        found += type->threads[i].usable;
    }
    if (found != nr) {
        return cfg_error(node, reader->error,
                         "usable_cpus: %zu numbers are given, but only %zu of them are CPUs of "
                         "'cores', each named once",
                         nr, found);
    }
    return 0;
}
