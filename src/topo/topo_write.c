/* topo_write.c - writes our YAML (its form: topo_yaml.c).
 *
 * A quantity is written in the unit people use for it with as few digits as read back to the very
 * same value. Cores with neighbouring numbers share a row. Members without a value are written as
 * "unknown" where a reader would look for them, and left out elsewhere.
 */
#include "topo_build.h"
#include "topo_field.h"

#include "number.h"
#include "units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- scalars ---- */

/* A text that YAML could take for something else, or we for a missing value, goes in quotes. */
static bool is_plain(const char *text)
{
    static const char *const words[] = {"unknown", "none", "all", "null", "true", "false",
                                        "yes",     "no",   "on",  "off",  NULL};
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            return false;
        }
    }
    size_t length = strlen(text);
    return length > 0 && isalpha((unsigned char)text[0]) && text[length - 1] != ' ' &&
           strspn(text,
                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ._()/+-@") ==
               length;
}

/* The character at `text` (UTF-8, which cfg and hwloc's reader have made sure of), and its bytes.
 */
static uint32_t decode(const char *text, size_t *length)
{
    const unsigned char *c = (const unsigned char *)text;
    *length = c[0] < 0x80 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    uint32_t character = *length == 1 ? c[0] : c[0] & (0x7fu >> *length);
    for (size_t i = 1; i < *length; i++) {
        character = character << 6 | (c[i] & 0x3fu);
    }
    return character;
}

/* Control characters, line breaks and the byte order mark do not survive in quotes. */
static bool needs_escape(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x2028 ||
           character == 0x2029 || character == 0xfeff || character == 0xfffe || character == 0xffff;
}

static void write_text(FILE *out, const char *text)
{
    if (is_plain(text)) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (size_t length; *text != '\0'; text += length) {
        uint32_t character = decode(text, &length);
        if (needs_escape(character)) {
            fprintf(out, "\\u%04x", character);
        } else {
            fprintf(out, "%s%.*s", *text == '"' || *text == '\\' ? "\\" : "", (int)length, text);
        }
    }
    fputc('"', out);
}

enum { DECIMALS_MAX = 20 };

struct unit {
    const char *name;
    double size; /* in base units */
};

typedef int parse_function(const char *text, double *value, struct error *error);

/* "25 GB/s" with as few decimals as parse back to exactly `value`; false if none do. */
static bool find_quantity(char *text, size_t size, double value, const struct unit *unit,
                          parse_function *parse)
{
    char number[NUMBER_TEXT];
    for (int decimals = 0; decimals <= DECIMALS_MAX; decimals++) {
        double back;
        struct error ignored = ERROR_NONE;
        snprintf(text, size, "%s %s", number_format(value / unit->size, decimals, number),
                 unit->name);
        if (parse(text, &back, &ignored) == 0 && back == value) {
            return true;
        }
    }
    return false;
}

/* In the first unit that can say it; the last can say anything. */
static void write_quantity(FILE *out, double value, const struct unit *units, parse_function *parse)
{
    char text[NUMBER_TEXT + 8] = "";
    for (const struct unit *unit = units; unit->name != NULL; unit++) {
        if (find_quantity(text, sizeof(text), value, unit, parse)) {
            break;
        }
    }
    fputs(text, out);
}

static const struct unit bandwidth_units[] = {{"GB/s", 1e9}, {"B/s", 1}, {NULL, 0}};
static const struct unit speed_units[] = {{"Gb/s", 1e9 / 8}, {"B/s", 1}, {NULL, 0}};
static const struct unit time_units[] = {{"us", 1e-6}, {"ns", 1e-9}, {"s", 1}, {NULL, 0}};

static void write_number(FILE *out, double value)
{
    char text[NUMBER_TEXT];
    double back;
    for (int decimals = 0; decimals <= DECIMALS_MAX; decimals++) {
        number_scan(number_format(value, decimals, text), &back);
        if (back == value) {
            break;
        }
    }
    fputs(text, out);
}

/* How many numbers from `start` on have the same distance, which goes to *step. A pair is a run
 * only of neighbours. */
static size_t find_run(const uint32_t *numbers, size_t nr, size_t start, uint32_t *step)
{
    *step = start + 1 < nr ? numbers[start + 1] - numbers[start] : 1;
    size_t end = start + 1;
    while (end < nr && numbers[end] > numbers[end - 1] &&
           numbers[end] - numbers[end - 1] == *step) {
        end++;
    }
    return end - start == 2 && *step > 1 ? 1 : end - start;
}

/* A list of numbers by runs as taskset takes them: 0-3, "0-62:2" (every second), "0-3,8"; in quotes
 * where YAML could take comma or colon for its own. */
static void write_runs(FILE *out, const uint32_t *numbers, size_t nr)
{
    uint32_t step;
    const char *quote = find_run(numbers, nr, 0, &step) == nr && step == 1 ? "" : "\"";
    fputs(quote, out);
    for (size_t i = 0, run; i < nr; i += run) {
        run = find_run(numbers, nr, i, &step);
        fprintf(out, "%s%u", i > 0 ? "," : "", numbers[i]);
        if (run > 1) {
            fprintf(out, "-%u", numbers[i + run - 1]);
        }
        if (run > 1 && step > 1) {
            fprintf(out, ":%u", step);
        }
    }
    fputs(quote, out);
}

/* ---- members by table ---- */

static bool field_is_absent(const struct topo_field *field, const void *value)
{
    switch (field->form) {
    case TOPO_FIELD_TEXT:
        return *(const char *const *)value == NULL;
    case TOPO_FIELD_BYTES:
        return *(const uint64_t *)value == 0;
    case TOPO_FIELD_COUNT:
        return *(const uint32_t *)value == 0;
    case TOPO_FIELD_CORES:
        return ((const struct topo_cores *)value)->nr == 0;
    case TOPO_FIELD_CHOICE:
        return false;
    case TOPO_FIELD_BANDWIDTH:
    case TOPO_FIELD_SPEED:
    case TOPO_FIELD_SECONDS:
    case TOPO_FIELD_NUMBER:
        return isnan(*(const double *)value);
    }
    return true;
}

static void write_value(FILE *out, const struct topo_field *field, const void *value)
{
    char buffer[UNITS_TEXT];
    unsigned choice;
    const struct topo_cores *cores = value;
    switch (field->form) {
    case TOPO_FIELD_TEXT:
        write_text(out, *(const char *const *)value);
        break;
    case TOPO_FIELD_BYTES:
        fputs(units_format_bytes(*(const uint64_t *)value, buffer), out);
        break;
    case TOPO_FIELD_COUNT:
        fprintf(out, "%u", *(const uint32_t *)value);
        break;
    case TOPO_FIELD_CORES:
        fprintf(out, cores->nr == 1 ? "%u" : "%u-%u", cores->first, cores->first + cores->nr - 1);
        break;
    case TOPO_FIELD_CHOICE:
        memcpy(&choice, value, sizeof(choice));
        fputs(field->choices[choice], out);
        break;
    case TOPO_FIELD_BANDWIDTH:
        write_quantity(out, *(const double *)value, bandwidth_units, units_parse_bandwidth);
        break;
    case TOPO_FIELD_SPEED:
        write_quantity(out, *(const double *)value, speed_units, units_parse_bandwidth);
        break;
    case TOPO_FIELD_SECONDS:
        write_quantity(out, *(const double *)value, time_units, units_parse_duration);
        break;
    case TOPO_FIELD_NUMBER:
        write_number(out, *(const double *)value);
        break;
    }
}

/* "key: value" for all members of a row, after what stands there already. */
static void write_fields(FILE *out, const struct topo_field *fields, const void *base, bool first)
{
    for (const struct topo_field *field = fields; field->key != NULL; field++) {
        const void *value = topo_field_value(field, base);
        bool absent = field_is_absent(field, value);
        if (absent && field->silent) {
            continue;
        }
        fprintf(out, "%s%s: ", first ? "" : ", ", field->key);
        first = false;
        if (absent) {
            fputs(field->absent, out);
        } else {
            write_value(out, field, value);
        }
    }
}

/* ---- cores and threads ---- */

static size_t threads_of_core(const struct topo_host_type *type, size_t first_thread)
{
    size_t end = first_thread;
    while (end < type->nr_threads && type->threads[end].core == type->threads[first_thread].core) {
        end++;
    }
    return end - first_thread;
}

/* One row for neighbouring cores with the same number of threads; returns where the next starts. */
static size_t write_core_row(FILE *out, const struct topo_host_type *type, size_t start)
{
    size_t per_core = threads_of_core(type, start), end = start;
    while (end < type->nr_threads && threads_of_core(type, end) == per_core) {
        end += per_core;
    }
    size_t nr_cores = (end - start) / per_core;
    struct arena scratch = ARENA_EMPTY;
    uint32_t *cpus = arena_alloc(&scratch, nr_cores, sizeof(*cpus));
    struct topo_cores cores = {type->threads[start].core, (uint32_t)nr_cores};
    static const struct topo_field field = {"cores", NULL, TOPO_FIELD_CORES, 0, NULL, NULL, false};
    fputs("      - {cores: ", out);
    write_value(out, &field, &cores);
    fputs(", cpus: [", out);
    for (size_t thread = 0; thread < per_core; thread++) {
        for (size_t i = 0; i < nr_cores; i++) {
            cpus[i] = type->threads[start + i * per_core + thread].cpu;
        }
        fputs(thread > 0 ? ", " : "", out);
        write_runs(out, cpus, nr_cores);
    }
    fputs("]}\n", out);
    arena_release(&scratch);
    return end;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void write_usable_cpus(FILE *out, const struct topo_host_type *type)
{
    struct arena scratch = ARENA_EMPTY;
    uint32_t *cpus = arena_alloc(&scratch, type->nr_threads, sizeof(*cpus));
    size_t nr = 0;
    for (size_t i = 0; i < type->nr_threads; i++) {
        if (type->threads[i].usable) {
            cpus[nr++] = type->threads[i].cpu;
        }
    }
    fputs("    usable_cpus: ", out);
    if (nr == type->nr_threads) {
        fputs("all", out);
    } else if (nr == 0) {
        fputs("none", out);
    } else {
        qsort(cpus, nr, sizeof(*cpus), compare_numbers);
        write_runs(out, cpus, nr);
    }
    fputc('\n', out);
    arena_release(&scratch);
}

/* ---- links ---- */

static bool same_end(struct topo_end a, struct topo_end b)
{
    return a.type == b.type && a.index == b.index;
}

static bool same_or_both_unknown(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool is_reverse(const struct topo_link *a, const struct topo_link *b)
{
    return same_end(a->from, b->to) && same_end(a->to, b->from) && a->class == b->class &&
           same_or_both_unknown(a->bytes_per_second, b->bytes_per_second) &&
           same_or_both_unknown(a->seconds, b->seconds) &&
           same_or_both_unknown(a->distance, b->distance) && a->lanes == b->lanes;
}

static void write_links(FILE *out, const struct topo_host_type *type)
{
    fputs(type->nr_links > 0 ? "    links:\n" : "    links: []\n", out);
    for (size_t i = 0; i < type->nr_links; i++) {
        const struct topo_link *link = &type->links[i];
        bool both_ways = i + 1 < type->nr_links && is_reverse(link, link + 1);
        fprintf(out,
                both_ways ? "      - {between: [%s%u, %s%u], " : "      - {from: %s%u, to: %s%u, ",
                topo_node_names[link->from.type], link->from.index, topo_node_names[link->to.type],
                link->to.index);
        write_fields(out, topo_link_fields, link, true);
        fputs("}\n", out);
        i += both_ways;
    }
}

/* ---- the whole ---- */

static void write_nodes(FILE *out, const struct topo_section *section,
                        const struct topo_nodes *nodes)
{
    if (nodes->nr == 0) {
        fprintf(out, "    %s: []\n", section->key);
        return;
    }
    fprintf(out, "    %s:\n", section->key);
    for (size_t i = 0; i < nodes->nr; i++) {
        fputs("      - {", out);
        write_fields(out, section->fields, &nodes->items[i], true);
        fputs("}\n", out);
    }
}

static void write_key_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, "    %s: ", key);
    if (text == NULL) {
        fputs("unknown", out);
    } else {
        write_text(out, text);
    }
    fputc('\n', out);
}

static void write_host_type(FILE *out, const struct topo_host_type *type)
{
    fputs("  ", out);
    write_text(out, type->name);
    fputs(":\n", out);
    write_key_text(out, "kernel", type->kernel);
    write_key_text(out, "architecture", type->architecture);
    for (unsigned i = 0; i <= TOPO_CACHE; i++) {
        write_nodes(out, &topo_sections[i], &type->nodes[i]);
    }
    fputs(type->nr_threads > 0
              ? "    cores: # for each range the CPU numbers of its first threads, second threads\n"
              : "    cores: []\n",
          out);
    for (size_t i = 0; i < type->nr_threads;) {
        i = write_core_row(out, type, i);
    }
    write_usable_cpus(out, type);
    fputs("    quota_cpus: ", out);
    if (isnan(type->quota_cpus)) {
        fputs("none", out);
    } else {
        write_number(out, type->quota_cpus);
    }
    fputc('\n', out);
    for (unsigned i = TOPO_CACHE + 1; i < TOPO_NODE_TYPES; i++) {
        write_nodes(out, &topo_sections[i], &type->nodes[i]);
    }
    write_links(out, type);
}

char *topo_to_yaml(const struct topo *topo)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL) {
        arena_out_of_memory();
    }
    fputs("# A machine as ccltune sees it; `ccltune topo FILE` shows it as a page.\n"
          "# What is not stated is unknown.\n",
          out);
    for (size_t i = 0; i < topo->nr_notes; i++) {
        fprintf(out, "# Note: %s\n", topo->notes[i]);
    }
    fputs("ccltune: 1\nname: ", out);
    write_text(out, topo->name);
    fputs("\nhosts:\n", out);
    for (size_t i = 0; i < topo->nr_hosts; i++) {
        fputs("  - {type: ", out);
        write_text(out, topo->hosts[i].type->name);
        fprintf(out, ", count: %llu}\n", (unsigned long long)topo->hosts[i].count);
    }
    fputs("types:\n", out);
    for (size_t i = 0; i < topo->nr_types; i++) {
        write_host_type(out, &topo->types[i]);
    }
    if (fclose(out) != 0) {
        arena_out_of_memory();
    }
    return text;
}
