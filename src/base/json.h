/* json.h - JSON values: reading with a position in every error, writing whole or not at all.
 *
 * The only file that knows the library behind it (jansson) is json.c. A value is owned by the
 * value it was put into; a root is freed with json_free. Objects keep the order of insertion
 * (MPICH's selection files depend on it) and may not hold a key twice.
 */
#ifndef CCLTUNE_JSON_H
#define CCLTUNE_JSON_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json; /* opaque: one value */

/* ---- making ---- */
struct json *json_make_object(void);
struct json *json_make_array(void);
struct json *json_make_text(const char *text);
struct json *json_make_number(double value); /* NaN and infinities become null */
struct json *json_make_integer(int64_t value);
struct json *json_make_bool(bool value);
struct json *json_make_copy(const struct json *value); /* deep */
void json_free(struct json *value);                    /* NULL is fine */

/* Puts `value` under `key` (replacing what was there) or at the end of an array; takes it. */
void json_put(struct json *object, const char *key, struct json *value);
void json_append(struct json *array, struct json *value);
/* Short forms of json_put. A NULL text puts null. */
void json_put_text(struct json *object, const char *key, const char *text);
void json_put_number(struct json *object, const char *key, double value);
void json_put_integer(struct json *object, const char *key, int64_t value);
void json_put_bool(struct json *object, const char *key, bool value);
void json_put_numbers(struct json *object, const char *key, const double *values, size_t nr);

/* ---- looking (borrowed pointers; NULL or `otherwise` where absent or of another type) ---- */
const struct json *json_get(const struct json *object, const char *key);
const char *json_get_text(const struct json *object, const char *key, const char *otherwise);
double json_get_number(const struct json *object, const char *key, double otherwise);
int64_t json_get_integer(const struct json *object, const char *key, int64_t otherwise);
bool json_get_bool(const struct json *object, const char *key, bool otherwise);
size_t json_length(const struct json *array_or_object); /* 0 for other types */
const struct json *json_item(const struct json *array, size_t index);
double json_item_number(const struct json *array, size_t index, double otherwise);
bool json_is_object(const struct json *value);
/* Visits an object's members in order: *iterator starts as NULL; false at the end. */
bool json_next(const struct json *object, void **iterator, const char **key,
               const struct json **value);
/* The order of keys does not count. (Not json_equal: jansson exports that name.) */
bool json_is_equal(const struct json *a, const struct json *b);

/* ---- text ---- */
/* Parses one JSON text; `name` is used in errors ("name:line:col: ..."). Duplicate keys, trailing
 * text and nesting over 512 levels are errors. NULL on failure. Free with json_free. */
struct json *json_parse(const char *text, size_t length, const char *name, struct error *error);
/* The same from a file of at most 256 MiB. */
struct json *json_read_file(const char *path, struct error *error);
/* Text of a value, malloc'ed; indent 0 = one line. Numbers with 17 significant digits at most. */
char *json_to_text(const struct json *value, unsigned indent);

#endif
