/* mpich_target.c - MPICH as a target: candidates are algorithms of one collective, by name.
 *
 * They are tried by control variables, which can be set per call, and taken away as a selection
 * file, which can say sizes. Groups over several hosts have no candidates: what would be found
 * could not be written down (mpich_emit.c).
 */
#include "env_file.h"
#include "mpich_internal.h"

#include <stdlib.h>
#include <string.h>

/* Of the measured calls (float32). Only needs on the number of elements depend on it, and where
 * another type has fewer the file asks for the count itself. */
enum { ELEMENT_BYTES = 4 };

/* The leaf that the library takes by itself. On one host the question may be put on either of two
 * communicators (mpich_algorithms.c); where the answers differ it is not known. */
static int find_default(const struct library *library, const struct mpich_collective *collective,
                        const struct key *key, char *leaf)
{
    static const enum mpich_hierarchy hierarchies[] = {MPICH_PARENT, MPICH_NODE};
    size_t nr = collective->on_node_comm ? 2 : 1;
    for (size_t i = 0; i < nr; i++) {
        char found[MPICH_KEY_BYTES];
        struct mpich_query query = mpich_query_make(collective, group_ranks(&key->group),
                                                    key->bytes, ELEMENT_BYTES, hierarchies[i]);
        if (!library->tree || mpich_tree_lookup(library->tree, collective, &query, found) ||
            (i > 0 && strcmp(found, leaf) != 0)) {
            return -1;
        }
        memcpy(leaf, found, sizeof found);
    }
    return 0;
}

/* A control variable of the user wins over any selection file: what would be compared is it with
 * itself, and the file would say otherwise. */
static int mpich_check_environment(const struct key *keys, size_t nr, struct error *error)
{
    for (size_t i = 0; i < nr; i++) {
        const struct mpich_collective *collective = mpich_collective_find(keys[i].collective);
        const char *value = collective ? getenv(collective->variable) : NULL;
        if (value && *value && strcmp(value, "auto")) {
            return error_set(error, EXIT_INPUT,
                             "%s=%s is set and wins over any selection file, so nothing can be "
                             "proven: unset it",
                             collective->variable, value);
        }
    }
    return 0;
}

static bool is_tunable(const struct key *key)
{
    return key->group.hosts == 1 && group_ranks(&key->group) > 1;
}

static const char *mpich_default_choice(const struct library *library, const struct key *key,
                                        struct arena *arena)
{
    const struct mpich_collective *collective = mpich_collective_find(key->collective);
    char leaf[MPICH_KEY_BYTES];
    if (!collective || !is_tunable(key) || find_default(library, collective, key, leaf)) {
        return NULL;
    }
    const struct mpich_algorithm *algorithm = mpich_algorithm_of_leaf(collective, leaf);
    return algorithm ? algorithm->name : arena_strdup(arena, leaf);
}

/* Does the library name the value among the legal ones of the collective's control variable? */
static bool library_knows(const struct library *library, const struct mpich_collective *collective,
                          const char *value)
{
    const struct json *values = json_get(library->values, collective->variable);
    struct json *wanted = json_make_text(value);
    bool known = false;
    for (size_t i = 0; i < json_length(values) && !known; i++) {
        known = json_is_equal(json_item(values, i), wanted);
    }
    json_free(wanted);
    return known;
}

static int mpich_candidates(const struct library *library, const struct key *key,
                            struct arena *arena, struct candidate **list, size_t *nr,
                            struct error *error)
{
    const struct mpich_collective *collective = mpich_collective_find(key->collective);
    char leaf[MPICH_KEY_BYTES];
    (void)error;
    *list = NULL;
    *nr = 0;
    if (!collective || !is_tunable(key)) {
        return 0;
    }
    const struct mpich_call call = {
        .ranks = group_ranks(&key->group),
        .hosts = key->group.hosts,
        .count = coll_count(key->collective, key->bytes, ELEMENT_BYTES, group_ranks(&key->group)),
        .commutative = true,
        .built_in = true,
    };
    bool default_known = find_default(library, collective, key, leaf) == 0;
    *list = arena_alloc(arena, collective->nr_algorithms, sizeof **list);
    for (size_t i = 0; i < collective->nr_algorithms; i++) {
        const struct mpich_algorithm *algorithm = &collective->algorithms[i];
        if (!library_knows(library, collective, algorithm->name) ||
            !mpich_algorithm_fits(algorithm, &call) ||
            (default_known && !strcmp(leaf, algorithm->leaf))) {
            continue;
        }
        struct setting *setting = arena_alloc(arena, 1, sizeof *setting);
        *setting = (struct setting){collective->variable, algorithm->name, SCOPE_CALL};
        (*list)[(*nr)++] = (struct candidate){algorithm->name, setting, 1};
    }
    return 0;
}

/* The default's own algorithm, forced like any candidate. */
static struct candidate mpich_race_reference(const struct library *library, const struct key *key,
                                             struct arena *arena)
{
    const struct mpich_collective *collective = mpich_collective_find(key->collective);
    const char *name = mpich_default_choice(library, key, arena);
    if (!collective || !name || !library_knows(library, collective, name)) {
        return candidate_default;
    }
    struct setting *setting = arena_alloc(arena, 1, sizeof *setting);
    *setting = (struct setting){collective->variable, name, SCOPE_CALL};
    return (struct candidate){"default", setting, 1};
}

static int mpich_load_settings(const char *directory, struct arena *arena,
                               struct candidate *candidate, struct error *error)
{
    const char *path = NULL;
    if (env_file_path(directory, MPICH_TREE_FILE, arena, &path, error)) {
        return -1;
    }
    struct setting *setting = arena_alloc(arena, 1, sizeof *setting);
    *setting = (struct setting){MPICH_FILE_VARIABLE, path, SCOPE_PROCESS};
    *candidate = (struct candidate){"selection file", setting, 1};
    return 0;
}

/* As many candidates as mpich has, each of them the default in disguise. */
static int self_test_candidates(const struct library *library, const struct key *key,
                                struct arena *arena, struct candidate **list, size_t *nr,
                                struct error *error)
{
    if (mpich_candidates(library, key, arena, list, nr, error)) {
        return -1;
    }
    for (size_t i = 0; i < *nr; i++) {
        struct setting *setting = arena_alloc(arena, 1, sizeof *setting);
        *setting = (struct setting){(*list)[i].settings[0].name, "auto", SCOPE_CALL};
        (*list)[i] = (struct candidate){arena_printf(arena, "aa-%zu", i + 1), setting, 1};
    }
    return 0;
}

const struct target target_mpich = {
    .name = "mpich",
    .what = "MPICH's algorithm of each collective, by size and group",
    .runner = "mpich",
    .check_environment = mpich_check_environment,
    .candidates = mpich_candidates,
    .default_choice = mpich_default_choice,
    .race_reference = mpich_race_reference,
    .emit = mpich_emit,
    .load_settings = mpich_load_settings,
};

const struct target target_mpich_aa = {
    .name = "mpich-aa",
    .what = "self-test: MPICH's default against itself, where every proposed line is false",
    .runner = "mpich",
    .check_environment = mpich_check_environment,
    .candidates = self_test_candidates,
    .default_choice = mpich_default_choice,
    .emit = mpich_emit_self_test,
    .load_settings = mpich_load_settings,
};
