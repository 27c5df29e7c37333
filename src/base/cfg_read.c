/* cfg_read.c - typed reading of YAML nodes; see cfg.h.
 *
 * YAML's own guesses at types are not used: "no" is a text, and what a value is follows from who
 * reads it. Quotes do not matter, except that an empty text must be written as "".
 */
#include "cfg.h"

#include "number.h"
#include "units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const type_names[] = {
    [CFG_TEXT] = "a value", [CFG_LIST] = "a list", [CFG_MAP] = "a map"};

/* ---- errors ---- */

int cfg_error(const struct cfg_node *node, struct error *error, const char *format, ...)
{
    char message[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return error_set(error, EXIT_INPUT, "%s:%zu:%zu: %s", node->file, node->line, node->column,
                     message);
}

/* Puts the place and the key in front of an error that knows neither. */
static int prefix_place(const struct cfg_node *node, struct error *error)
{
    const char *key = node->key ? node->key : "";
    return cfg_error(node, error, "%.60s%s%s", key, node->key ? ": " : "", error->message);
}

static int expected_error(const struct cfg_node *node, struct error *error, const char *expected)
{
    if (node->type != CFG_TEXT) {
        error_set(error, EXIT_INPUT, "expected %s, found %s", expected, type_names[node->type]);
    } else if (node->text[0] == '\0') {
        error_set(error, EXIT_INPUT, "expected %s, found nothing", expected);
    } else {
        error_set(error, EXIT_INPUT, "expected %s, found '%.60s'", expected, node->text);
    }
    return prefix_place(node, error);
}

/* ---- maps ---- */

const struct cfg_node *cfg_get(const struct cfg_node *map, const char *key)
{
    for (size_t i = 0; map->type == CFG_MAP && i < map->nr; i++) {
        if (strcmp(map->items[i].key, key) == 0) {
            return &map->items[i];
        }
    }
    return NULL;
}

static bool is_known(const char *key, const char *const known[])
{
    for (size_t i = 0; known[i]; i++) {
        if (strcmp(key, known[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void list_keys(const char *const known[], char *list, size_t size)
{
    size_t length = 0;
    list[0] = '\0';
    for (size_t i = 0; known[i] && length < size; i++) {
        int added = snprintf(list + length, size - length, "%s%s", i > 0 ? ", " : "", known[i]);
        length += added > 0 ? (size_t)added : 0;
    }
}

int cfg_check_keys(const struct cfg_node *map, const char *const known[], struct error *error)
{
    char list[512];
    list_keys(known, list, sizeof list);
    if (map->type != CFG_MAP) {
        error_set(error, EXIT_INPUT, "expected a map with keys of: %s; found %s", list,
                  type_names[map->type]);
        return prefix_place(map, error);
    }
    for (size_t i = 0; i < map->nr; i++) {
        const struct cfg_node *child = &map->items[i];
        if (!is_known(child->key, known)) {
            const struct cfg_node place = {
                .file = child->file, .line = child->key_line, .column = child->key_column};
            const char *nearest = error_nearest(child->key, known);
            return nearest ? cfg_error(&place, error, "unknown key '%.60s'; did you mean '%s'?",
                                       child->key, nearest)
                           : cfg_error(&place, error, "unknown key '%.60s', expected one of: %s",
                                       child->key, list);
        }
    }
    return 0;
}

/* ---- scalars ---- */

int cfg_read_text(const struct cfg_node *node, const char **text, struct error *error)
{
    if (node->type != CFG_TEXT || (node->text[0] == '\0' && !node->quoted)) {
        return expected_error(node, error, "a text");
    }
    *text = node->text;
    return 0;
}

int cfg_read_count(const struct cfg_node *node, uint64_t *value, struct error *error)
{
    uint64_t count = 0;
    bool fits = true;
    const char *digit = node->type == CFG_TEXT ? node->text : "";
    bool is_empty = *digit == '\0';
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        fits = fits && !__builtin_mul_overflow(count, 10, &count) &&
               !__builtin_add_overflow(count, (uint64_t)(*digit - '0'), &count);
    }
    if (is_empty || *digit != '\0') {
        return expected_error(node, error, "a whole number such as 8");
    }
    if (!fits) {
        return expected_error(node, error, "a whole number below 2^64");
    }
    *value = count;
    return 0;
}

int cfg_read_number(const struct cfg_node *node, double *value, struct error *error)
{
    double number = 0;
    const char *text = node->type == CFG_TEXT ? node->text : "";
    bool is_negative = *text == '-';
    const char *end = number_scan(text + is_negative, &number);
    if (!end || *end != '\0' || !isfinite(number)) {
        return expected_error(node, error, "a number such as 0.85");
    }
    *value = is_negative ? -number : number;
    return 0;
}

int cfg_read_bool(const struct cfg_node *node, bool *value, struct error *error)
{
    const char *text = node->type == CFG_TEXT ? node->text : "";
    bool is_true = strcmp(text, "true") == 0;
    if (!is_true && strcmp(text, "false") != 0) {
        return expected_error(node, error, "true or false");
    }
    *value = is_true;
    return 0;
}

int cfg_read_bytes(const struct cfg_node *node, uint64_t *bytes, struct error *error)
{
    if (node->type != CFG_TEXT) {
        return expected_error(node, error, "a size with a unit such as 4 MiB");
    }
    return units_parse_bytes(node->text, bytes, error) == 0 ? 0 : prefix_place(node, error);
}

int cfg_read_bandwidth(const struct cfg_node *node, double *bytes_per_second, struct error *error)
{
    if (node->type != CFG_TEXT) {
        return expected_error(node, error, "a bandwidth with a unit such as 25 GB/s");
    }
    return units_parse_bandwidth(node->text, bytes_per_second, error) == 0
               ? 0
               : prefix_place(node, error);
}

int cfg_read_duration(const struct cfg_node *node, double *seconds, struct error *error)
{
    if (node->type != CFG_TEXT) {
        return expected_error(node, error, "a time with a unit such as 1.3 us");
    }
    return units_parse_duration(node->text, seconds, error) == 0 ? 0 : prefix_place(node, error);
}
