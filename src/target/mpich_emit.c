/* mpich_emit.c - which rows of a decision table go into MPICH's selection file, and the files.
 *
 * A selection file knows communicators by their size and whether one host holds all of it, not by
 * group: what was proven for one group and not for another of the same size is left out. Groups
 * over several hosts are left out too: nothing in the file says how many hosts a communicator has.
 */
#include "env_file.h"
#include "mpich_internal.h"

#include <stdlib.h>
#include <string.h>

/* Another group that MPICH cannot tell from the row's, and for which the choice is not proven
 * somewhere in the row's range. */
static const struct decision_point *find_conflict(const struct decision_table *table,
                                                  const struct decision_row *row)
{
    for (size_t i = 0; i < table->nr_points; i++) {
        const struct decision_point *point = &table->points[i];
        const struct group *group = &point->key.group;
        if (point->key.collective == row->collective && group->hosts == 1 &&
            group_ranks(group) == group_ranks(&row->group) && !group_equal(group, &row->group) &&
            point->key.bytes >= row->first_bytes && point->key.bytes <= row->last_bytes &&
            !(point->proven && candidate_equal(&point->choice, &row->choice))) {
            return point;
        }
    }
    return NULL;
}

/* The row as a graft; what is returned says why it cannot be one. */
static const char *make_graft(const struct decision_table *table, const struct decision_row *row,
                              struct arena *arena, struct mpich_graft *graft)
{
    const struct mpich_collective *collective = mpich_collective_find(row->collective);
    const struct mpich_algorithm *algorithm =
        collective && row->choice.nr_settings == 1
            ? mpich_algorithm_named(collective, row->choice.settings[0].value)
            : NULL;
    const struct mpich_call call = {.ranks = group_ranks(&row->group),
                                    .hosts = row->group.hosts,
                                    .count = UINT64_MAX,
                                    .commutative = true,
                                    .built_in = true};
    if (!algorithm) {
        return "no algorithm that a selection file can name";
    }
    if (row->group.hosts > 1) {
        return "several hosts: a selection file cannot ask how many hosts a communicator spans";
    }
    if (call.ranks < 2 || !mpich_algorithm_fits(algorithm, &call)) {
        return "not legal for this group";
    }
    if (row->first_bytes > INT32_MAX) {
        return "a selection file compares sizes only up to 2147483647 B";
    }
    const struct decision_point *conflict = find_conflict(table, row);
    if (conflict) {
        char group[GROUP_TEXT];
        return arena_printf(arena,
                            "not proven for %s too, which a selection file cannot tell from it",
                            group_format(&conflict->key.group, group));
    }
    *graft =
        (struct mpich_graft){collective, algorithm, call.ranks, row->first_bytes, row->last_bytes};
    return NULL;
}

/* Two groups of one size may have proven the same choice: one graft for both. */
static void add_graft(struct mpich_graft *grafts, size_t *nr, struct mpich_graft graft)
{
    for (size_t i = 0; i < *nr;) {
        const struct mpich_graft *other = &grafts[i];
        if (other->algorithm != graft.algorithm || other->ranks != graft.ranks ||
            other->first_bytes > graft.last_bytes || graft.first_bytes > other->last_bytes) {
            i++;
            continue;
        }
        if (other->first_bytes < graft.first_bytes) {
            graft.first_bytes = other->first_bytes;
        }
        if (other->last_bytes > graft.last_bytes) {
            graft.last_bytes = other->last_bytes;
        }
        grafts[i] = grafts[--*nr];
    }
    grafts[(*nr)++] = graft;
}

/* The tree's text. Never a multiple of a page long: MPICH maps the file and reads until a zero,
 * which only the page's unused rest guarantees. */
static const char *tree_text(const struct json *tree, struct arena *arena)
{
    char *text = json_to_text(tree, 2);
    size_t length = strlen(text) + 1;
    const char *whole = arena_printf(arena, "%s\n%s", text, length % 4096 == 0 ? "\n" : "");
    free(text);
    return whole;
}

static int emit_files(struct mpich_emission *emission, const struct json *tree,
                      const char *directory, struct arena *arena, struct emitted_file **files,
                      size_t *nr_files, struct error *error)
{
    if (env_file_path(directory, MPICH_TREE_FILE, arena, &emission->tree_path, error)) {
        return -1;
    }
    *files = arena_alloc(arena, 2, sizeof **files);
    (*files)[0] = (struct emitted_file){ENV_FILE_NAME, mpich_env_text(emission, arena)};
    (*files)[1] = (struct emitted_file){MPICH_TREE_FILE, tree_text(tree, arena)};
    *nr_files = 2;
    return 0;
}

static int need_tree(const struct library *library, struct error *error)
{
    if (library->tree) {
        return 0;
    }
    return error_set(
        error, EXIT_ABSENT,
        "the selection tree of %s %s is not known, and a selection file replaces it as "
        "a whole: name a complete file by %s",
        library->name, library->version, MPICH_FILE_VARIABLE);
}

static struct json *graft_tree(const struct library *library, const struct mpich_graft *grafts,
                               size_t nr, struct error *error)
{
    if (nr == 0) {
        return json_make_copy(library->tree);
    }
    if (mpich_tree_check(library->tree, error)) {
        error_prefix(error, "the selection in force (%s)", library->tree_source);
        return NULL;
    }
    struct json *tree = mpich_tree_overlay(library->tree, grafts, nr, error);
    if (tree && mpich_tree_check(tree, error)) {
        error_prefix(error, "the selection to be written");
        json_free(tree);
        return NULL;
    }
    return tree;
}

int mpich_emit(const struct library *library, const struct decision_table *table,
               const char *directory, struct arena *arena, struct emitted_file **files,
               size_t *nr_files, struct error *error)
{
    struct mpich_graft *grafts = arena_alloc(arena, table->nr_rows + 1, sizeof *grafts);
    const char **left_out = arena_alloc(arena, table->nr_rows + 1, sizeof *left_out);
    struct mpich_emission emission = {.library = library, .table = table, .left_out = left_out};
    size_t nr_grafts = 0;
    if (need_tree(library, error)) {
        return -1;
    }
    for (size_t i = 0; i < table->nr_rows; i++) {
        struct mpich_graft graft = {.ranks = 0};
        left_out[i] = make_graft(table, &table->rows[i], arena, &graft);
        if (!left_out[i]) {
            add_graft(grafts, &nr_grafts, graft);
            emission.nr_rows_in++;
        }
    }
    struct json *tree = graft_tree(library, grafts, nr_grafts, error);
    if (!tree) {
        return -1;
    }
    int result = emit_files(&emission, tree, directory, arena, files, nr_files, error);
    json_free(tree);
    return result;
}

int mpich_emit_self_test(const struct library *library, const struct decision_table *table,
                         const char *directory, struct arena *arena, struct emitted_file **files,
                         size_t *nr_files, struct error *error)
{
    struct mpich_emission emission = {
        .library = library,
        .table = table,
        .left_out = arena_alloc(arena, table->nr_rows + 1, sizeof(char *)),
        .nr_rows_in = table->nr_rows,
        .self_test = true,
    };
    return need_tree(library, error) ||
                   emit_files(&emission, library->tree, directory, arena, files, nr_files, error)
               ? -1
               : 0;
}
