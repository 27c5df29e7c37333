/* json.c - JSON values over jansson; see json.h.
 *
 * `struct json` is jansson's json_t under another name: the casts stand in two functions here and
 * nowhere else. Parsing is jansson's. Writing is ours, because jansson 2.14 prints 0.1 as
 * 0.10000000000000001 and we want the shortest digits that read back as the same number.
 */
#include "json.h"

#include "arena.h"
#include "file.h"

#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef json_is_object /* jansson's macro; ours is a function */

enum { NESTING_MOST = 512, FILE_MOST = 256 << 20 };

static json_t *inside(const struct json *value)
{
    return (json_t *)(uintptr_t)value;
}

/* What jansson made; it makes nothing only when memory is out. */
static struct json *outside(json_t *value)
{
    if (!value) {
        arena_out_of_memory();
    }
    return (struct json *)value;
}

/* ---- making ---- */

struct json *json_make_object(void)
{
    return outside(json_object());
}

struct json *json_make_array(void)
{
    return outside(json_array());
}

/* Text that is not UTF-8 (a host or file name may be) with U+FFFD for each byte that is wrong. */
static json_t *make_mended_text(const char *text)
{
    size_t length = strlen(text), nr = 0;
    char *mended = malloc(3 * length + 1);
    if (!mended) {
        arena_out_of_memory();
    }
    for (size_t i = 0; i < length;) {
        size_t taken = 0;
        for (size_t size = 1; size <= 4 && size <= length - i && taken == 0; size++) {
            json_t *character = json_stringn(text + i, size);
            taken = character ? size : 0;
            json_decref(character);
        }
        memcpy(mended + nr, taken > 0 ? text + i : "\xEF\xBF\xBD", taken > 0 ? taken : 3);
        nr += taken > 0 ? taken : 3;
        i += taken > 0 ? taken : 1;
    }
    json_t *value = json_stringn(mended, nr);
    free(mended);
    return value;
}

struct json *json_make_text(const char *text)
{
    json_t *value = json_string(text);
    return outside(value ? value : make_mended_text(text));
}

struct json *json_make_number(double value)
{
    return outside(isfinite(value) ? json_real(value) : json_null());
}

struct json *json_make_integer(int64_t value)
{
    return outside(json_integer(value));
}

struct json *json_make_bool(bool value)
{
    return outside(json_boolean(value));
}

struct json *json_make_copy(const struct json *value)
{
    return outside(json_deep_copy(inside(value)));
}

void json_free(struct json *value)
{
    json_decref(inside(value));
}

void json_put(struct json *object, const char *key, struct json *value)
{
    struct json *text = json_make_text(key);
    if (json_object_set_new(inside(object), json_string_value(inside(text)), inside(value)) != 0) {
        arena_out_of_memory();
    }
    json_free(text);
}

void json_append(struct json *array, struct json *value)
{
    if (json_array_append_new(inside(array), inside(value)) != 0) {
        arena_out_of_memory();
    }
}

void json_put_text(struct json *object, const char *key, const char *text)
{
    json_put(object, key, text ? json_make_text(text) : outside(json_null()));
}

void json_put_number(struct json *object, const char *key, double value)
{
    json_put(object, key, json_make_number(value));
}

void json_put_integer(struct json *object, const char *key, int64_t value)
{
    json_put(object, key, json_make_integer(value));
}

void json_put_bool(struct json *object, const char *key, bool value)
{
    json_put(object, key, json_make_bool(value));
}

void json_put_numbers(struct json *object, const char *key, const double *values, size_t nr)
{
    struct json *array = json_make_array();
    for (size_t i = 0; i < nr; i++) {
        json_append(array, json_make_number(values[i]));
    }
    json_put(object, key, array);
}

/* ---- looking ---- */

const struct json *json_get(const struct json *object, const char *key)
{
    return (const struct json *)json_object_get(inside(object), key);
}

const char *json_get_text(const struct json *object, const char *key, const char *otherwise)
{
    const json_t *value = inside(json_get(object, key));
    return json_is_string(value) ? json_string_value(value) : otherwise;
}

static double number_of(const json_t *value, double otherwise)
{
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

double json_get_number(const struct json *object, const char *key, double otherwise)
{
    return number_of(inside(json_get(object, key)), otherwise);
}

int64_t json_get_integer(const struct json *object, const char *key, int64_t otherwise)
{
    const json_t *value = inside(json_get(object, key));
    if (json_is_integer(value)) {
        return json_integer_value(value);
    }
    /* Other writers put whole numbers as 1e9 or 64.0; up to 2^53 that is exact. */
    double real = json_is_real(value) ? json_real_value(value) : NAN;
    return fabs(real) <= 0x1p53 && floor(real) == real ? (int64_t)real : otherwise;
}

bool json_get_bool(const struct json *object, const char *key, bool otherwise)
{
    const json_t *value = inside(json_get(object, key));
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

size_t json_length(const struct json *array_or_object)
{
    const json_t *value = inside(array_or_object);
    return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}

const struct json *json_item(const struct json *array, size_t index)
{
    return (const struct json *)json_array_get(inside(array), index);
}

double json_item_number(const struct json *array, size_t index, double otherwise)
{
    return number_of(inside(json_item(array, index)), otherwise);
}

bool json_is_object(const struct json *value)
{
    return value && json_typeof(inside(value)) == JSON_OBJECT;
}

bool json_next(const struct json *object, void **iterator, const char **key,
               const struct json **value)
{
    json_t *members = inside(object);
    *iterator = *iterator ? json_object_iter_next(members, *iterator) : json_object_iter(members);
    if (!*iterator) {
        return false;
    }
    *key = json_object_iter_key(*iterator);
    *value = (const struct json *)json_object_iter_value(*iterator);
    return true;
}

bool json_is_equal(const struct json *a, const struct json *b)
{
    return json_equal(inside(a), inside(b)) != 0;
}

/* ---- reading text ---- */

/* Refuses deep nesting before jansson recurses into it. Columns count characters, as jansson's. */
static int check_nesting(const char *text, size_t length, const char *name, struct error *error)
{
    size_t line = 1, column = 0, depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        column += ((unsigned char)c & 0xC0) != 0x80;
        if (c == '\n') {
            line++;
            column = 0;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (in_string && c == '\\') {
            column += i + 1 < length;
            i++;
        } else if (!in_string && (c == '[' || c == '{') && ++depth > NESTING_MOST) {
            return error_set(error, EXIT_INPUT,
                             "%s:%zu:%zu: nested more than %d levels deep; "
                             "check that it is the right file",
                             name, line, column, NESTING_MOST);
        } else if (!in_string && (c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return 0;
}

struct json *json_parse(const char *text, size_t length, const char *name, struct error *error)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* byte order mark, as Windows programs write it */
    if (length >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0) {
        text += strlen(mark);
        length -= strlen(mark);
    }
    if (length == 0) {
        error_set(error, EXIT_INPUT, "%s:1:1: empty, expected JSON; check how it was written",
                  name);
        return NULL;
    }
    if (check_nesting(text, length, name, error) != 0) {
        return NULL;
    }
    json_error_t cause;
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &cause);
    if (!value && json_error_code(&cause) == json_error_out_of_memory) {
        arena_out_of_memory();
    }
    if (!value) {
        error_set(error, EXIT_INPUT, "%s:%d:%d: not valid JSON: %s", name, cause.line,
                  cause.column > 0 ? cause.column : 1, cause.text);
        return NULL;
    }
    return outside(value);
}

struct json *json_read_file(const char *path, struct error *error)
{
    char *text = NULL;
    size_t length = 0;
    if (file_read(path, FILE_MOST, &text, &length, error) != 0) {
        return NULL;
    }
    struct json *value = json_parse(text, length, path, error);
    free(text);
    return value;
}

/* ---- writing text ---- */

struct writer {
    void *bytes; /* malloc'ed */
    size_t nr, capacity;
    unsigned indent; /* spaces a level; 0 = one line */
};

static void write_bytes(struct writer *writer, const char *bytes, size_t nr)
{
    array_grow(&writer->bytes, &writer->capacity, writer->nr + nr, 1);
    memcpy((char *)writer->bytes + writer->nr, bytes, nr);
    writer->nr += nr;
}

static void write_string(struct writer *writer, const char *string)
{
    write_bytes(writer, string, strlen(string));
}

static void write_text(struct writer *writer, const char *text)
{
    write_string(writer, "\"");
    for (const char *c = text; *c; c++) {
        char escape[8];
        if (*c == '"' || *c == '\\') {
            snprintf(escape, sizeof escape, "\\%c", *c);
        } else if (*c == '\n') {
            snprintf(escape, sizeof escape, "\\n");
        } else if ((unsigned char)*c < 0x20) {
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*c);
        } else {
            write_bytes(writer, c, 1);
            continue;
        }
        write_string(writer, escape);
    }
    write_string(writer, "\"");
}

/* The fewest digits that read back as the same number; 17 always do. A point or an exponent keeps
 * it a real. */
static void write_real(struct writer *writer, double value)
{
    char digits[32];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) {
            break;
        }
    }
    write_string(writer, digits);
    if (!strpbrk(digits, ".e")) {
        write_string(writer, ".0");
    }
}

static bool is_container(const json_t *value)
{
    return json_is_array(value) || json_typeof(value) == JSON_OBJECT;
}

/* Lists of plain values (samples, sizes) stay on one line at any indent. */
static bool is_one_line(const struct writer *writer, const json_t *value)
{
    bool plain = json_is_array(value);
    for (size_t i = 0; plain && i < json_array_size(value); i++) {
        plain = !is_container(json_array_get(value, i));
    }
    return writer->indent == 0 || plain;
}

static void write_break(struct writer *writer, bool one_line, size_t level)
{
    for (size_t i = 0; !one_line && i < level * writer->indent + 1; i++) {
        write_string(writer, i == 0 ? "\n" : " ");
    }
}

static void write_value(struct writer *writer, const json_t *value, size_t level);

static void write_container(struct writer *writer, const json_t *value, size_t level)
{
    const struct json *container = (const struct json *)value, *member = NULL;
    bool one_line = is_one_line(writer, value), is_object = json_is_object(container);
    size_t nr = json_length(container);
    void *iterator = NULL;
    const char *key = NULL;
    write_string(writer, is_object ? "{" : "[");
    for (size_t i = 0; i < nr; i++) {
        write_string(writer, i == 0 ? "" : one_line ? ", " : ",");
        write_break(writer, one_line, level + 1);
        if (is_object && json_next(container, &iterator, &key, &member)) {
            write_text(writer, key);
            write_string(writer, ": ");
        } else {
            member = json_item(container, i);
        }
        write_value(writer, inside(member), level + 1);
    }
    write_break(writer, one_line || nr == 0, level);
    write_string(writer, is_object ? "}" : "]");
}

static void write_value(struct writer *writer, const json_t *value, size_t level)
{
    char digits[32];
    switch (json_typeof(value)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        write_container(writer, value, level);
        break;
    case JSON_STRING:
        write_text(writer, json_string_value(value));
        break;
    case JSON_INTEGER:
        snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        write_string(writer, digits);
        break;
    case JSON_REAL:
        write_real(writer, json_real_value(value));
        break;
    case JSON_TRUE:
        write_string(writer, "true");
        break;
    case JSON_FALSE:
        write_string(writer, "false");
        break;
    case JSON_NULL:
        write_string(writer, "null");
        break;
    }
}

char *json_to_text(const struct json *value, unsigned indent)
{
    struct writer writer = {.indent = indent};
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* 1.5 is never 1,5 */
    locale_t before = uselocale(c_locale);
    write_value(&writer, inside(value), 0);
    uselocale(before);
    freelocale(c_locale);
    write_bytes(&writer, "", 1);
    return writer.bytes;
}
