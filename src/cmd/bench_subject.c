/* bench_subject.c - libraries and algorithms of the command line as subjects. */
#include "bench_subject.h"

#include "schedule.h"

#include <stdio.h>
#include <string.h>

#define ENGINE "engine"

struct list { /* texts between commas */
    const char **items;
    size_t nr;
};

static struct list split(const char *text, struct arena *arena)
{
    struct list list = {arena_alloc(arena, strlen(text) + 1, sizeof *list.items), 0};
    for (;;) {
        size_t length = strcspn(text, ",");
        if (length > 0) {
            list.items[list.nr++] = arena_strndup(arena, text, length);
        }
        if (text[length] == 0) {
            return list;
        }
        text += length + 1;
    }
}

static struct list list_algorithms(const char *text, struct arena *arena)
{
    if (strcmp(text, "all")) {
        return split(text, arena);
    }
    struct list list = {NULL, 0};
    const struct algorithm *const *rows = algorithm_all();
    while (rows[list.nr]) {
        list.nr++;
    }
    list.items = arena_alloc(arena, list.nr, sizeof *list.items);
    for (size_t i = 0; i < list.nr; i++) {
        list.items[i] = rows[i]->name;
    }
    return list;
}

/* Of the engine: all that the options say, and the algorithm, which may be NULL. */
static struct bench_subject engine_subject(const struct bench_options *options,
                                           const char *algorithm, struct arena *arena)
{
    char patience[32];
    snprintf(patience, sizeof patience, "%.9gs", options->patience);
    const struct setting given[] = {
        {"algo", algorithm, SCOPE_CALL},
        {"proto", options->protocol, SCOPE_CALL},
        {"channels", options->channels, SCOPE_CALL},
        {"chunk", options->chunk, SCOPE_CALL},
        {"slice", options->slice, SCOPE_CALL},
        {"window", options->window, SCOPE_CALL},
        {"levels", options->levels, SCOPE_CALL},
        {"transport", options->transport, SCOPE_CALL},
        {"patience", arena_strdup(arena, patience), SCOPE_CALL},
    };
    size_t nr = 0;
    struct setting *settings = arena_alloc(arena, sizeof given / sizeof *given, sizeof *settings);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (given[i].value) {
            settings[nr++] = given[i];
        }
    }
    const char *name = algorithm ? algorithm : "by size";
    return (struct bench_subject){
        .library = ENGINE,
        .candidate = {.algorithm = name, .settings = settings, .nr_settings = nr},
        .about = arena_printf(
            arena, "algorithm %s, protocol %s, channels %s, chunk %s, buffers %s%s%s", name,
            options->protocol, options->channels, options->chunk ? options->chunk : "as usual",
            options->buffers, options->transport ? ", transport " : "",
            options->transport ? options->transport : ""),
    };
}

static int refuse_engine_options(const struct bench_options *options, struct error *error)
{
    return options->algorithms ? error_set(error, EXIT_INPUT,
                                           "--algo %s: that is an algorithm of the engine: add "
                                           "--library engine",
                                           options->algorithms)
                               : 0;
}

int bench_subjects(const struct bench_options *options, struct arena *arena,
                   struct bench_subject **subjects, size_t *nr, struct error *error)
{
    struct list libraries = split(options->libraries, arena), algorithms = {NULL, 0};
    bool engine = false;
    if (options->algorithms) {
        algorithms = list_algorithms(options->algorithms, arena);
    }
    struct bench_subject *made =
        arena_alloc(arena, libraries.nr * (algorithms.nr + 1) + 1, sizeof *made);
    *nr = 0;
    for (size_t i = 0; i < libraries.nr; i++) {
        const char *library = libraries.items[i];
        if (strcmp(library, ENGINE)) {
            made[(*nr)++] =
                (struct bench_subject){.library = library, .candidate = candidate_default};
            continue;
        }
        engine = true;
        if (algorithms.nr == 0) {
            made[(*nr)++] = engine_subject(options, NULL, arena);
        }
        for (size_t k = 0; k < algorithms.nr; k++) {
            made[(*nr)++] = engine_subject(options, algorithms.items[k], arena);
        }
    }
    *subjects = made;
    if (*nr == 0) {
        return error_set(error, EXIT_INPUT, "--library names none: expected mpich, mpi or engine");
    }
    return engine ? 0 : refuse_engine_options(options, error);
}
