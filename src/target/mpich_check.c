/* mpich_check.c - would MPICH take this tree? Its own answer is an abort without a place.
 *
 * Each rule was seen to abort MPICH 4.0.2: in MPI_Init an unknown key, siblings without a
 * catch-all, siblings after =any, an empty object, nesting over 32 (its JSON reader gives up and
 * the tree is not initialised); at the first call a missing collective, a yes without a no, an
 * algorithm of another collective, a size or property that is not defined for the collective.
 */
#include "mpich_tree.h"

#include "units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LEVELS_MOST = 32, PLACE_BYTES = 400 };

/* All that MPICH 4.0.2 looks up. */
static const char *const names[] = {"allgather",
                                    "allgatherv",
                                    "allreduce",
                                    "alltoall",
                                    "alltoallv",
                                    "alltoallw",
                                    "barrier",
                                    "bcast",
                                    "exscan",
                                    "gather",
                                    "gatherv",
                                    "iallgather",
                                    "iallgatherv",
                                    "iallreduce",
                                    "ialltoall",
                                    "ialltoallv",
                                    "ialltoallw",
                                    "ibarrier",
                                    "ibcast",
                                    "iexscan",
                                    "igather",
                                    "igatherv",
                                    "ineighbor_allgather",
                                    "ineighbor_allgatherv",
                                    "ineighbor_alltoall",
                                    "ineighbor_alltoallv",
                                    "ineighbor_alltoallw",
                                    "ireduce",
                                    "ireduce_scatter",
                                    "ireduce_scatter_block",
                                    "iscan",
                                    "iscatter",
                                    "iscatterv",
                                    "neighbor_allgather",
                                    "neighbor_allgatherv",
                                    "neighbor_alltoall",
                                    "neighbor_alltoallv",
                                    "neighbor_alltoallw",
                                    "reduce",
                                    "reduce_scatter",
                                    "reduce_scatter_block",
                                    "scan",
                                    "scatter",
                                    "scatterv",
                                    NULL};

struct place {
    const char *collective; /* "bcast" */
    char text[PLACE_BYTES]; /* "collective=bcast / comm_type=intra" */
    unsigned level;         /* of nesting; the root is 1 */
};

static struct place below(const struct place *place, const char *key)
{
    struct place inner = *place;
    size_t length = strlen(inner.text);
    snprintf(inner.text + length, sizeof inner.text - length, "%s%.100s", length ? " / " : "", key);
    inner.level++;
    return inner;
}

/* Is the property defined for the collective? Known for those that were tried. */
static int check_defined(const struct mpich_condition *condition, const struct place *place,
                         const char *key, struct error *error)
{
    const struct mpich_collective *known = mpich_collective_named(place->collective);
    if (!known || condition->relation == MPICH_ANY) {
        return 0;
    }
    bool is_alltoall = known->collective == COLL_ALL_TO_ALL;
    bool defined = true;
    switch ((int)condition->property) {
    case MPICH_AVG_MSG_SIZE:
        defined = !known->sized_by_total || is_alltoall;
        break;
    case MPICH_COUNT:
        defined = !is_alltoall;
        break;
    case MPICH_COMMUTATIVE:
        defined = known->asks_commutative;
        break;
    case MPICH_OP_BUILT_IN:
        defined = known->asks_built_in;
        break;
    case MPICH_SENDBUF_INPLACE:
        defined = known->asks_in_place;
        break;
    case MPICH_BLOCK_REGULAR:
        defined = false;
        break;
    }
    if (!defined) {
        return error_set(error, EXIT_INPUT,
                         "%s: '%s' is not defined for %s: its first call would abort; ask for "
                         "something else%s",
                         place->text, key, known->name,
                         condition->property == MPICH_AVG_MSG_SIZE ? " (total_msg_size)" : "");
    }
    return 0;
}

/* "MPIR_Reduce_scatter_block_" begins the algorithms of reduce_scatter_block. */
static bool is_of_collective(const char *algorithm, const char *collective)
{
    static const char *const kinds[] = {"_intra_", "_inter_", "_allcomm_"};
    size_t length = strlen(collective);
    if (strncmp(algorithm, "MPIR_", 5) || toupper((unsigned char)collective[0]) != algorithm[5] ||
        strncmp(algorithm + 6, collective + 1, length - 1)) {
        return false;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!strncmp(algorithm + 5 + length, kinds[i], strlen(kinds[i]))) {
            return true;
        }
    }
    return false;
}

static int check_leaf(const struct mpich_condition *leaf, const struct json *object,
                      const struct place *place, struct error *error)
{
    if (json_length(object) != 1) {
        return error_set(error, EXIT_INPUT,
                         "%s: 'algorithm=%s' has siblings, which MPICH would drop; leave it alone "
                         "in its object",
                         place->text, leaf->name);
    }
    if (!is_of_collective(leaf->name, place->collective)) {
        return error_set(
            error, EXIT_INPUT,
            "%s: 'algorithm=%s' is not one of %s: its first call would abort; expected "
            "MPIR_%c%s_...",
            place->text, leaf->name, place->collective,
            toupper((unsigned char)place->collective[0]), place->collective + 1);
    }
    return 0;
}

/* Does the last of the siblings catch all that the others left? */
struct siblings {
    unsigned words[MPICH_NR_PROPERTIES]; /* seen, as masks of 1 << word */
    bool closed;                         /* by =any */
    bool complete;
};

static void note_sibling(struct siblings *seen, const struct mpich_condition *condition)
{
    seen->closed = condition->relation == MPICH_ANY;
    seen->complete = seen->closed;
    if (condition->relation == MPICH_IS) {
        unsigned *words = &seen->words[condition->property];
        *words |= 1U << condition->word;
        seen->complete = *words == mpich_condition_all_words(condition);
    }
}

static int check_object(const struct json *object, const struct place *place, struct error *error);

static int check_member(const char *key, const struct json *object, const struct json *child,
                        const struct place *place, struct siblings *seen, struct error *error)
{
    struct mpich_condition condition;
    if (seen->closed) {
        return error_set(error, EXIT_INPUT,
                         "%s: '%s' stands after =any: MPI_Init would abort; =any must come last",
                         place->text, key);
    }
    if (mpich_condition_parse(key, &condition, error)) {
        return error_prefix(error, "%s", place->text);
    }
    if (!json_is_object(child)) {
        return error_set(error, EXIT_INPUT, "%s: '%s' holds no object; expected {...}", place->text,
                         key);
    }
    if (condition.property == MPICH_COLLECTIVE) {
        return error_set(error, EXIT_INPUT,
                         "%s: '%s' stands inside another collective; move it to the top",
                         place->text, key);
    }
    if (condition.property == MPICH_ALGORITHM) {
        seen->complete = true;
        return check_leaf(&condition, object, place, error);
    }
    note_sibling(seen, &condition);
    struct place inner = below(place, key);
    return check_defined(&condition, place, key, error) || check_object(child, &inner, error) ? -1
                                                                                              : 0;
}

static int check_object(const struct json *object, const struct place *place, struct error *error)
{
    struct siblings seen = {.complete = false};
    void *iterator = NULL;
    const char *key = NULL, *last = NULL;
    const struct json *child = NULL;
    if (place->level >= LEVELS_MOST) { /* the leaf's own object is one more */
        return error_set(error, EXIT_INPUT,
                         "%.200s...: nested over %d levels, where MPICH's reader gives up; put "
                         "conditions side by side",
                         place->text, LEVELS_MOST);
    }
    while (json_next(object, &iterator, &key, &child)) {
        if (check_member(key, object, child, place, &seen, error)) {
            return -1;
        }
        last = key;
    }
    if (!last) {
        return error_set(error, EXIT_INPUT,
                         "%s: empty: MPI_Init would abort; expected \"algorithm=MPIR_...\": {}",
                         place->text);
    }
    if (!seen.complete) {
        return error_set(error, EXIT_INPUT,
                         "%s: nothing catches what '%s' leaves: MPICH would abort; add a last "
                         "sibling comm_size=any, or the opposite of a yes, no, intra or inter",
                         place->text, last);
    }
    return 0;
}

static int check_complete(const struct json *tree, struct error *error)
{
    char key[MPICH_KEY_BYTES];
    for (size_t i = 0; names[i]; i++) {
        snprintf(key, sizeof key, "collective=%s", names[i]);
        if (!json_get(tree, key)) {
            return error_set(error, EXIT_INPUT,
                             "no '%s': its first call would abort; a selection file replaces the "
                             "built-in one as a whole, so copy that collective from it",
                             key);
        }
    }
    return 0;
}

static bool is_name(const char *name)
{
    for (size_t i = 0; names[i]; i++) {
        if (!strcmp(names[i], name)) {
            return true;
        }
    }
    return false;
}

static int check_collective(const char *key, const struct json *child, struct error *error)
{
    struct mpich_condition condition;
    if (mpich_condition_parse(key, &condition, error)) {
        return -1;
    }
    if (condition.property != MPICH_COLLECTIVE || !is_name(condition.name)) {
        const char *nearest = error_nearest(condition.name, names);
        return error_set(error, EXIT_INPUT,
                         "'%s' is not a collective of MPICH: MPI_Init would abort; expected "
                         "\"collective=%s\": {...}",
                         key, nearest ? nearest : "allreduce");
    }
    struct place place = {.collective = condition.name, .level = 1};
    place = below(&place, key);
    if (!json_is_object(child)) {
        return error_set(error, EXIT_INPUT, "'%s' holds no object; expected {...}", key);
    }
    return check_object(child, &place, error);
}

int mpich_tree_check(const struct json *tree, struct error *error)
{
    void *iterator = NULL;
    const char *key = NULL;
    const struct json *child = NULL;
    if (!json_is_object(tree)) {
        return error_set(error, EXIT_INPUT,
                         "not a selection tree: expected {\"collective=allreduce\": {...}, ...}");
    }
    while (json_next(tree, &iterator, &key, &child)) {
        if (check_collective(key, child, error)) {
            return -1;
        }
    }
    return check_complete(tree, error);
}
