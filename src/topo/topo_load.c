/* topo_load.c - which reader takes a topology file: a table, asked row by row. */
#include "topo_build.h"

#include "file.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 64 << 20 };

struct loader {
    const char *name; /* for people */
    const char *word; /* given in place of a file, or NULL */
    bool (*sniff)(const char *text, size_t length);
    int (*load)(struct arena *arena, const char *text, size_t length, const char *name,
                struct topo *topo, struct error *error);
};

/* Whatever is not XML or JSON is taken for YAML, whose reader says best what is wrong with it. */
static bool sniff_yaml(const char *text, size_t length)
{
    size_t start = 0;
    while (start < length && strchr(" \t\r\n", text[start]) != NULL && text[start] != '\0') {
        start++;
    }
    return start == length || (text[start] != '<' && text[start] != '{');
}

static int load_local(struct arena *arena, const char *text, size_t length, const char *name,
                      struct topo *topo, struct error *error)
{
    (void)text, (void)length, (void)name;
    return topo_load_local(arena, topo, error);
}

static const struct loader loaders[] = {
    {"this machine", "local", NULL, load_local},
    {"ccltune YAML", NULL, sniff_yaml, topo_yaml_load},
};

enum { LOADERS = sizeof(loaders) / sizeof(*loaders) };

int topo_load_text(struct arena *arena, const char *text, size_t length, const char *name,
                   struct topo *topo, struct error *error)
{
    for (size_t i = 0; i < LOADERS; i++) {
        if (loaders[i].sniff != NULL && loaders[i].sniff(text, length)) {
            return loaders[i].load(arena, text, length, name, topo, error);
        }
    }
    return error_set(error, EXIT_INPUT,
                     "%s:1:1: not a topology that this version reads, expected ccltune YAML, which "
                     "`ccltune topo --local --format yaml` writes",
                     name);
}

int topo_load_file(struct arena *arena, const char *path, struct topo *topo, struct error *error)
{
    for (size_t i = 0; i < LOADERS; i++) {
        if (loaders[i].word != NULL && strcmp(loaders[i].word, path) == 0) {
            return loaders[i].load(arena, NULL, 0, path, topo, error);
        }
    }
    char *text;
    size_t length;
    if (file_read(path, FILE_MOST, &text, &length, error)) {
        return -1;
    }
    int failed = topo_load_text(arena, text, length, path, topo, error);
    free(text);
    return failed;
}
