/* mpich_tree.c - walking a selection tree as MPICH does: asked for a call, or decided in part. */
#include "mpich_tree.h"

#include <stdio.h>
#include <string.h>

enum { EVERYTHING_KNOWN = (1 << MPICH_NR_PROPERTIES) - 1, NESTING_MOST = 64 };

struct mpich_query mpich_query_make(const struct mpich_collective *collective, uint32_t ranks,
                                    uint64_t bytes, uint32_t element_bytes,
                                    enum mpich_hierarchy hierarchy)
{
    uint64_t part = coll_divided(collective->collective) ? bytes / ranks : bytes;
    return (struct mpich_query){
        .comm_size = ranks,
        .hosts = 1,
        .hierarchy = hierarchy,
        .count = part / element_bytes,
        .avg_bytes = part,
        .total_bytes = part * ranks,
        .commutative = true,
        .built_in = true,
    };
}

/* Enters the first sibling that holds, until a leaf. */
static int descend(const struct json *object, const struct mpich_query *query, char *leaf)
{
    struct error ignored = ERROR_NONE;
    bool late = false;
    const struct json *child = NULL;
    for (void *iterator = NULL; object; object = child) {
        const char *key = NULL;
        bool entered = false;
        iterator = NULL;
        while (!entered && json_next(object, &iterator, &key, &child)) {
            struct mpich_condition condition;
            if (mpich_condition_parse(key, &condition, &ignored)) {
                return -1;
            }
            if (condition.property == MPICH_ALGORITHM) {
                memcpy(leaf, condition.name, MPICH_KEY_BYTES);
                return 0;
            }
            entered =
                mpich_condition_holds(&condition, query, EVERYTHING_KNOWN, late) == MPICH_HOLDS;
            late = late || !mpich_condition_is_fixed(&condition);
        }
        if (!entered || !json_is_object(child)) {
            return -1;
        }
    }
    return -1;
}

int mpich_tree_lookup(const struct json *tree, const struct mpich_collective *collective,
                      const struct mpich_query *query, char *leaf)
{
    char key[MPICH_KEY_BYTES];
    snprintf(key, sizeof key, "collective=%s", collective->name);
    const struct json *object = json_get(tree, key);
    return json_is_object(object) ? descend(object, query, leaf) : -1;
}

/* Puts what remains of `object`'s siblings into a new object. A sibling that is known to hold ends
 * them: alone it takes the place of the whole object, else it becomes a catch-all. */
static struct json *specialise(const struct json *object, const struct mpich_query *query,
                               unsigned known, bool late, unsigned depth)
{
    struct json *out = json_make_object();
    struct error ignored = ERROR_NONE;
    void *iterator = NULL;
    const char *key = NULL;
    const struct json *child = NULL;
    while (depth < NESTING_MOST && json_next(object, &iterator, &key, &child)) {
        struct mpich_condition condition;
        enum mpich_truth truth = MPICH_UNKNOWN;
        bool is_leaf = true;
        if (!mpich_condition_parse(key, &condition, &ignored)) {
            is_leaf = condition.property == MPICH_ALGORITHM;
            truth = mpich_condition_holds(&condition, query, is_leaf ? 0 : known, late);
            late = late || (!is_leaf && !mpich_condition_is_fixed(&condition));
        }
        if (truth == MPICH_FAILS) {
            continue;
        }
        struct json *rest =
            is_leaf ? json_make_copy(child) : specialise(child, query, known, late, depth + 1);
        if (truth == MPICH_HOLDS && json_length(out) == 0) {
            json_free(out);
            return rest;
        }
        bool catches_all = truth == MPICH_HOLDS && condition.relation != MPICH_ANY;
        json_put(out, catches_all ? "comm_size=any" : key, rest);
        if (truth == MPICH_HOLDS) {
            break;
        }
    }
    return out;
}

struct json *mpich_tree_specialise(const struct json *object, const struct mpich_query *query,
                                   unsigned known)
{
    return specialise(object, query, known, false, 0);
}
