/* cfg.c - a YAML text becomes a tree of nodes; see cfg.h.
 *
 * libyaml's events are used, not its documents: a document accepts duplicate keys silently and an
 * alias to an ancestor becomes a circle. Recursion is bounded by NESTING_MOST.
 */
#include "cfg.h"

#include "file.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { NESTING_MOST = 64, FILE_MOST = 64 << 20 };

struct loader {
    struct arena *arena;
    const char *name; /* in the arena */
    const char *text;
    size_t length;
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    struct error *error;
};

/* ---- errors ---- */

/* libyaml says what it found; this says what is mostly behind it. */
static const struct hint {
    const char *problem, *mend;
} hints[] = {
    {"found character that cannot start any token",
     "indent with spaces, not tabs; quote a text that starts with @, ` or %"},
    {"mapping values are not allowed in this context",
     "check the indentation; quote a text that holds ': '"},
    {"found unexpected end of stream", "close the quote"},
    {"did not find expected ',' or ']'", "close the bracket"},
    {"did not find expected ',' or '}'", "close the brace"},
};

static const char *find_mend(const char *problem)
{
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        if (strcmp(hints[i].problem, problem) == 0) {
            return hints[i].mend;
        }
    }
    return "check the indentation, the quotes and the brackets";
}

/* Bytes that cannot be read have an offset and no mark. */
static int reader_error(struct loader *loader)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < loader->parser.problem_offset && i < loader->length; i++) {
        unsigned char byte = (unsigned char)loader->text[i];
        column = byte == '\n' ? 1 : column + ((byte & 0xC0) != 0x80);
        line += byte == '\n';
    }
    return error_set(loader->error, EXIT_INPUT,
                     "%s:%zu:%zu: not UTF-8 text: %s; write the file as UTF-8 "
                     "without control characters",
                     loader->name, line, column, loader->parser.problem);
}

static int parser_error(struct loader *loader)
{
    const yaml_parser_t *parser = &loader->parser;
    if (parser->error == YAML_MEMORY_ERROR) {
        arena_out_of_memory();
    }
    if (parser->error == YAML_READER_ERROR) {
        return reader_error(loader);
    }
    char context[128] = "";
    if (parser->context) {
        snprintf(context, sizeof context, " %s that starts at line %zu", parser->context,
                 parser->context_mark.line + 1);
    }
    return error_set(loader->error, EXIT_INPUT, "%s:%zu:%zu: not valid YAML: %s%s; %s",
                     loader->name, parser->problem_mark.line + 1, parser->problem_mark.column + 1,
                     parser->problem, context, find_mend(parser->problem));
}

/* ---- events ---- */

static int next_event(struct loader *loader)
{
    yaml_event_delete(&loader->event);
    return yaml_parser_parse(&loader->parser, &loader->event) ? 0 : parser_error(loader);
}

/* A node that holds no more than where the current event stands. */
static struct cfg_node make_node(const struct loader *loader)
{
    return (struct cfg_node){.file = loader->name,
                             .line = loader->event.start_mark.line + 1,
                             .column = loader->event.start_mark.column + 1};
}

/* Anchors, aliases and tags make a file mean other than what it says where one reads it. */
static int check_decoration(struct loader *loader)
{
    const yaml_event_t *event = &loader->event;
    const yaml_char_t *anchor = NULL, *tag = NULL;
    const struct cfg_node here = make_node(loader);
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return cfg_error(&here, loader->error,
                         "found the alias '*%.60s', expected a value; write the value out",
                         (const char *)event->data.alias.anchor);
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        break;
    default:
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        break;
    }
    if (anchor) {
        return cfg_error(&here, loader->error,
                         "found the anchor '&%.60s', expected a value; remove the anchor",
                         (const char *)anchor);
    }
    if (tag) {
        return cfg_error(&here, loader->error,
                         "found the tag '%.60s', expected a value; remove the tag",
                         (const char *)tag);
    }
    return 0;
}

static int copy_scalar(struct loader *loader, const char **text)
{
    const char *value = (const char *)loader->event.data.scalar.value;
    size_t length = loader->event.data.scalar.length;
    const struct cfg_node here = make_node(loader);
    if (memchr(value, '\0', length)) {
        return cfg_error(&here, loader->error,
                         "the text holds a zero byte (\\0), expected characters; remove it");
    }
    *text = arena_strndup(loader->arena, value, length);
    return 0;
}

/* ---- nodes ---- */

/* By key, then by place. */
static int compare_keys(const void *a, const void *b)
{
    const struct cfg_node *const *left = a, *const *right = b;
    int order = strcmp((*left)->key, (*right)->key);
    return order != 0 ? order : (*left > *right) - (*left < *right);
}

/* Sorted, because a hostile file can hold millions of keys. */
static int check_duplicates(struct loader *loader, const struct cfg_node *map)
{
    if (map->nr < 2) {
        return 0;
    }
    const struct cfg_node **sorted = calloc(map->nr, sizeof *sorted);
    if (!sorted) {
        arena_out_of_memory();
    }
    for (size_t i = 0; i < map->nr; i++) {
        sorted[i] = &map->items[i];
    }
    qsort(sorted, map->nr, sizeof *sorted, compare_keys);
    const struct cfg_node *first = NULL, *second = NULL;
    for (size_t i = 1; i < map->nr; i++) {
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0 && (!second || sorted[i] < second)) {
            first = sorted[i - 1];
            second = sorted[i];
        }
    }
    free(sorted);
    if (!second) {
        return 0;
    }
    return error_set(loader->error, EXIT_INPUT,
                     "%s:%zu:%zu: the key '%.60s' stands twice, first at line %zu; remove one",
                     loader->name, second->key_line, second->key_column, second->key,
                     first->key_line);
}

static int load_node(struct loader *loader, size_t depth, struct cfg_node *node);

/* Fills the key and moves on to the value. */
static int load_key(struct loader *loader, struct cfg_node *child)
{
    const struct cfg_node here = make_node(loader);
    const char *key = NULL;
    if (loader->event.type == YAML_ALIAS_EVENT || loader->event.type == YAML_SCALAR_EVENT) {
        if (check_decoration(loader) != 0 || copy_scalar(loader, &key) != 0) {
            return -1;
        }
    }
    if (!key || key[0] == '\0') {
        return cfg_error(&here, loader->error, "%s, expected the name of a key; write it out",
                         key ? "empty key" : "a list or map as key");
    }
    if (next_event(loader) != 0) {
        return -1;
    }
    child->key = key;
    child->key_line = here.line;
    child->key_column = here.column;
    return 0;
}

/* The children up to the end of the list or map, in a malloc'ed array. */
static int load_children(struct loader *loader, size_t depth, bool is_map, void **children,
                         size_t *nr)
{
    size_t capacity = 0;
    for (;;) {
        if (next_event(loader) != 0) {
            return -1;
        }
        if (loader->event.type == YAML_SEQUENCE_END_EVENT ||
            loader->event.type == YAML_MAPPING_END_EVENT) {
            return 0;
        }
        struct cfg_node child = {0};
        if ((is_map && load_key(loader, &child) != 0) ||
            load_node(loader, depth + 1, &child) != 0) {
            return -1;
        }
        array_grow(children, &capacity, *nr, sizeof child);
        ((struct cfg_node *)*children)[(*nr)++] = child;
    }
}

static int load_container(struct loader *loader, size_t depth, struct cfg_node *node)
{
    void *children = NULL;
    size_t nr = 0;
    if (depth >= NESTING_MOST) {
        return cfg_error(node, loader->error,
                         "nested more than %d levels deep; check that it is the right file",
                         NESTING_MOST);
    }
    int result = load_children(loader, depth, node->type == CFG_MAP, &children, &nr);
    if (result == 0 && nr > 0) {
        struct cfg_node *items = arena_alloc(loader->arena, nr, sizeof *items);
        memcpy(items, children, nr * sizeof *items);
        node->items = items;
        node->nr = nr;
    }
    free(children);
    if (result == 0 && node->type == CFG_MAP) {
        result = check_duplicates(loader, node);
    }
    return result;
}

/* Loads the node that starts at the current event; the current event is its last afterwards. The
 * key in `node` stays. */
static int load_node(struct loader *loader, size_t depth, struct cfg_node *node)
{
    if (check_decoration(loader) != 0) {
        return -1;
    }
    const struct cfg_node here = make_node(loader);
    node->file = here.file;
    node->line = here.line;
    node->column = here.column;
    if (loader->event.type == YAML_SCALAR_EVENT) {
        node->type = CFG_TEXT;
        node->quoted = loader->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        return copy_scalar(loader, &node->text);
    }
    node->type = loader->event.type == YAML_MAPPING_START_EVENT ? CFG_MAP : CFG_LIST;
    return load_container(loader, depth, node);
}

/* ---- documents ---- */

static int empty_error(struct loader *loader)
{
    return error_set(loader->error, EXIT_INPUT,
                     "%s:1:1: empty, expected YAML such as 'key: value'; check how it was written",
                     loader->name);
}

static int load_document(struct loader *loader, struct cfg_node *root)
{
    /* stream start, then document start or stream end, then the root */
    if (next_event(loader) != 0 || next_event(loader) != 0) {
        return -1;
    }
    if (loader->event.type == YAML_STREAM_END_EVENT) {
        return empty_error(loader);
    }
    if (next_event(loader) != 0 || load_node(loader, 0, root) != 0) {
        return -1;
    }
    if (root->type == CFG_TEXT && !root->quoted && root->text[0] == '\0') {
        return empty_error(loader);
    }
    /* document end, stream end */
    if (next_event(loader) != 0 || next_event(loader) != 0) {
        return -1;
    }
    if (loader->event.type != YAML_STREAM_END_EVENT) {
        const struct cfg_node here = make_node(loader);
        return cfg_error(&here, loader->error,
                         "a second document starts, expected one; put it into a file of its own");
    }
    return 0;
}

int cfg_load_text(struct arena *arena, const char *text, size_t length, const char *name,
                  const struct cfg_node **root, struct error *error)
{
    struct loader loader = {.arena = arena, .text = text, .length = length, .error = error};
    if (!yaml_parser_initialize(&loader.parser)) {
        arena_out_of_memory();
    }
    /* Else a byte order mark would switch to UTF-16. */
    yaml_parser_set_encoding(&loader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&loader.parser, (const unsigned char *)text, length);
    loader.name = arena_strdup(arena, name);
    struct cfg_node *node = arena_alloc(arena, 1, sizeof *node);
    int result = load_document(&loader, node);
    yaml_event_delete(&loader.event);
    yaml_parser_delete(&loader.parser);
    if (result == 0) {
        *root = node;
    }
    return result;
}

int cfg_load_file(struct arena *arena, const char *path, const struct cfg_node **root,
                  struct error *error)
{
    char *text = NULL;
    size_t length = 0;
    if (file_read(path, FILE_MOST, &text, &length, error) != 0) {
        return -1;
    }
    int result = cfg_load_text(arena, text, length, path, root, error);
    free(text);
    return result;
}
