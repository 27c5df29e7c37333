/* cfg.h - strict YAML: every value knows its file, line and column, and nothing is ignored.
 *
 * The only file that includes yaml.h is cfg.c. A document is loaded into a tree of nodes in one
 * arena. Refused with file:line:col, what was found, what was expected and the mend: duplicate
 * keys, aliases and anchors, tags, several documents, nesting over 64, files over 64 MiB, bytes
 * that are not UTF-8. A reader takes what it knows by key and then asks cfg_check_keys for the
 * rest.
 */
#ifndef CCLTUNE_CFG_H
#define CCLTUNE_CFG_H

#include "arena.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cfg_type { CFG_TEXT, CFG_LIST, CFG_MAP };

struct cfg_node {
    enum cfg_type type;
    const char *file;             /* for errors */
    size_t line, column;          /* 1-based */
    const char *key;              /* its key when the parent is a map, else NULL */
    size_t key_line, key_column;  /* where the key stands */
    const char *text;             /* CFG_TEXT: the scalar */
    bool quoted;                  /* CFG_TEXT: written in quotes */
    const struct cfg_node *items; /* CFG_LIST, CFG_MAP: nr children in the order written */
    size_t nr;
};

/* Loads a file or a text. The tree belongs to `arena`; *root is untouched on failure. An empty
 * document is an error. */
int cfg_load_file(struct arena *arena, const char *path, const struct cfg_node **root,
                  struct error *error);
int cfg_load_text(struct arena *arena, const char *text, size_t length, const char *name,
                  const struct cfg_node **root, struct error *error);

/* The child under `key`, or NULL. */
const struct cfg_node *cfg_get(const struct cfg_node *map, const char *key);

/* Fails when `map` is not a map or holds a key not in `known` (NULL-ended): the message names the
 * nearest known key, or lists them. */
int cfg_check_keys(const struct cfg_node *map, const char *const known[], struct error *error);

/* Typed reading; the node must be a scalar. Errors read "file:line:col: key: expected a
 * bandwidth with a unit such as 25 GB/s, found '25'". */
int cfg_read_text(const struct cfg_node *node, const char **text, struct error *error);
int cfg_read_count(const struct cfg_node *node, uint64_t *value, struct error *error);
int cfg_read_number(const struct cfg_node *node, double *value, struct error *error);
int cfg_read_bool(const struct cfg_node *node, bool *value, struct error *error);
int cfg_read_bytes(const struct cfg_node *node, uint64_t *bytes, struct error *error);
int cfg_read_bandwidth(const struct cfg_node *node, double *bytes_per_second, struct error *error);
int cfg_read_duration(const struct cfg_node *node, double *seconds, struct error *error);

/* Words an error at a node: "file:line:col: " in front; status EXIT_INPUT; returns -1. */
int cfg_error(const struct cfg_node *node, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
