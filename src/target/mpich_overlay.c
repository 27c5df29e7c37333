/* mpich_overlay.c - grafts proven choices into a selection tree, which stays the same elsewhere.
 *
 * MPICH has no comm_size=N and no and/or, so "N ranks of one host" is nested, the base (B) in all
 * other places:
 *
 *     comm_type=intra
 *       comm_size<=N-1                B
 *       comm_size<=N
 *         comm_size=node_comm_size    the user's communicator: all its ranks share a host
 *           is_commutative=yes
 *             is_op_built_in=yes
 *               avg_msg_size<FIRST    B
 *               avg_msg_size<=LAST    the graft (count<pow2: B, where it needs a count)
 *               avg_msg_size=any      B
 *             is_op_built_in=no       B
 *           is_commutative=no         B
 *         comm_hierarchy=node         the same, for bcast and reduce (mpich_algorithms.c says why)
 *         comm_size=any               B
 *       comm_size=any                 B
 *
 * Never comm_size<N: MPICH takes it for <= once another condition came before (seen). Where B is
 * nested deeper it is specialised: what the branch already says is taken out of it, which also
 * keeps that flaw out of B, and the tree shallow (MPICH's validation doubles with each level).
 */
#include "mpich_tree.h"

#include "arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place where a branch is built. */
struct branch {
    const struct json *base; /* B: of the collective, for intra communicators */
    const struct mpich_collective *collective;
    const struct mpich_graft *grafts; /* of one communicator size, sorted, not overlapping */
    size_t nr_grafts;
    struct mpich_query query; /* what the branch says, as far as `known` has it */
    unsigned known;
};

static void put_base(struct json *object, const char *key, const struct branch *branch)
{
    json_put(object, key, mpich_tree_specialise(branch->base, &branch->query, branch->known));
}

static struct json *make_leaf(const struct branch *branch, const struct mpich_algorithm *algorithm)
{
    char key[MPICH_KEY_BYTES];
    struct json *leaf = json_make_object();
    snprintf(key, sizeof key, "algorithm=%s", algorithm->leaf);
    json_put(leaf, key, json_make_object());
    if (!(algorithm->needs & MPICH_NEEDS_COUNT)) {
        return leaf;
    }
    struct json *object = json_make_object();
    put_base(object, "count<pow2", branch);
    json_put(object, "count=any", leaf);
    return object;
}

static struct json *make_sizes(const struct branch *branch)
{
    const char *size = branch->collective->sized_by_total ? "total_msg_size" : "avg_msg_size";
    struct json *object = json_make_object();
    char key[MPICH_KEY_BYTES];
    uint64_t next = 0; /* the first size not yet decided */
    bool closed = false;
    for (size_t i = 0; i < branch->nr_grafts; i++) {
        const struct mpich_graft *graft = &branch->grafts[i];
        struct json *leaf = make_leaf(branch, graft->algorithm);
        closed = graft->last_bytes == UINT64_MAX;
        if (graft->first_bytes > next) {
            snprintf(key, sizeof key, "%s<%llu", size, (unsigned long long)graft->first_bytes);
            put_base(object, key, branch);
        }
        next = graft->last_bytes < INT32_MAX ? graft->last_bytes : INT32_MAX;
        snprintf(key, sizeof key, closed ? "%s=any" : "%s<=%llu", size, (unsigned long long)next);
        json_put(object, key, leaf);
        next++;
    }
    if (!closed) {
        snprintf(key, sizeof key, "%s=any", size);
        put_base(object, key, branch);
    }
    return object;
}

/* The questions that come before the size, in order; the graft is for the calls that answer as
 * here. */
static const struct question {
    enum mpich_property property;
    size_t asked; /* where mpich_collective says that it may be asked */
    const char *ours, *others;
} questions[] = {
    {MPICH_SENDBUF_INPLACE, offsetof(struct mpich_collective, asks_in_place),
     "is_sendbuf_inplace=no", "is_sendbuf_inplace=yes"},
    {MPICH_COMMUTATIVE, offsetof(struct mpich_collective, asks_commutative), "is_commutative=yes",
     "is_commutative=no"},
    {MPICH_OP_BUILT_IN, offsetof(struct mpich_collective, asks_built_in), "is_op_built_in=yes",
     "is_op_built_in=no"},
};

enum { NR_QUESTIONS = sizeof questions / sizeof questions[0] };

/* The query's answers to our side of the questions are those of mpich_query_make; here they are
 * turned round for the others' side. */
static struct branch other_side(const struct branch *branch, enum mpich_property property)
{
    struct branch other = *branch;
    other.known |= 1U << property;
    other.query.in_place ^= property == MPICH_SENDBUF_INPLACE;
    other.query.commutative ^= property == MPICH_COMMUTATIVE;
    other.query.built_in ^= property == MPICH_OP_BUILT_IN;
    return other;
}

static struct json *make_questions(const struct branch *branch, size_t from)
{
    for (size_t i = from; i < NR_QUESTIONS; i++) {
        if (!*((const bool *)((const char *)branch->collective + questions[i].asked))) {
            continue;
        }
        struct json *object = json_make_object();
        struct branch ours = *branch;
        struct branch others = other_side(branch, questions[i].property);
        ours.known |= 1U << questions[i].property;
        json_put(object, questions[i].ours, make_questions(&ours, i + 1));
        put_base(object, questions[i].others, &others);
        return object;
    }
    return make_sizes(branch);
}

/* Calls on communicators of just this size. */
static struct json *make_hosts(const struct branch *branch)
{
    struct json *object = json_make_object();
    struct branch inner = *branch;
    inner.known |= 1U << MPICH_COMM_HIERARCHY;
    inner.query.hierarchy = MPICH_PARENT;
    json_put(object, "comm_size=node_comm_size", make_questions(&inner, 0));
    if (branch->collective->on_node_comm) {
        inner.query.hierarchy = MPICH_NODE;
        json_put(object, "comm_hierarchy=node", make_questions(&inner, 0));
    }
    put_base(object, "comm_size=any", branch);
    return object;
}

/* All sizes of communicators; the grafts are sorted by ranks. */
static struct json *make_comm_sizes(const struct json *base, const struct mpich_graft *grafts,
                                    size_t nr)
{
    struct json *object = json_make_object();
    char key[MPICH_KEY_BYTES];
    uint32_t done = 0; /* communicators up to this size are decided */
    for (size_t i = 0, next; i < nr; i = next) {
        uint32_t ranks = grafts[i].ranks;
        for (next = i + 1; next < nr && grafts[next].ranks == ranks; next++) {
        }
        if (ranks > done + 1) {
            snprintf(key, sizeof key, "comm_size<=%u", ranks - 1);
            json_put(object, key, json_make_copy(base));
        }
        struct branch branch = {
            .base = base,
            .collective = grafts[i].collective,
            .grafts = grafts + i,
            .nr_grafts = next - i,
            .query = mpich_query_make(grafts[i].collective, ranks, 0, 1, MPICH_PARENT),
            .known = 1U << MPICH_COMM_SIZE,
        };
        snprintf(key, sizeof key, "comm_size<=%u", ranks);
        json_put(object, key, make_hosts(&branch));
        done = ranks;
    }
    json_put(object, "comm_size=any", json_make_copy(base));
    return object;
}

/* The collective's object with the grafts. Its base may begin with comm_type or not. */
static struct json *make_collective(const struct json *base, const struct mpich_graft *grafts,
                                    size_t nr)
{
    struct json *object = json_make_object();
    struct error ignored = ERROR_NONE;
    struct mpich_condition condition;
    const struct json *child = NULL;
    const char *key = NULL;
    void *iterator = NULL;
    bool by_type = json_next(base, &iterator, &key, &child) &&
                   !mpich_condition_parse(key, &condition, &ignored) &&
                   condition.property == MPICH_COMM_TYPE;
    if (!by_type) {
        json_put(object, "comm_type=intra", make_comm_sizes(base, grafts, nr));
        json_put(object, "comm_type=inter", json_make_copy(base));
        return object;
    }
    iterator = NULL;
    while (json_next(base, &iterator, &key, &child)) {
        bool intra = !mpich_condition_parse(key, &condition, &ignored) &&
                     condition.property == MPICH_COMM_TYPE && condition.word == MPICH_INTRA;
        json_put(object, key, intra ? make_comm_sizes(child, grafts, nr) : json_make_copy(child));
    }
    return object;
}

static int compare_grafts(const void *left, const void *right)
{
    const struct mpich_graft *a = left, *b = right;
    if (a->collective != b->collective) {
        return a->collective->collective < b->collective->collective ? -1 : 1;
    }
    if (a->ranks != b->ranks) {
        return a->ranks < b->ranks ? -1 : 1;
    }
    return a->first_bytes < b->first_bytes ? -1 : a->first_bytes > b->first_bytes;
}

static int check_graft(const struct mpich_graft *graft, const struct mpich_graft *previous,
                       struct error *error)
{
    unsigned long long first = graft->first_bytes, last = graft->last_bytes;
    const char *name = graft->collective->name;
    if (graft->ranks < 2 || graft->ranks > INT32_MAX || first > last) {
        return error_set(error, EXIT_INPUT,
                         "%s of %u ranks, %llu to %llu bytes: expected two ranks or more and a "
                         "range that does not end before it begins",
                         name, graft->ranks, first, last);
    }
    if (first > INT32_MAX) {
        return error_set(error, EXIT_INPUT,
                         "%s from %llu bytes: a selection file of MPICH compares sizes up to %d; "
                         "leave the row out",
                         name, first, INT32_MAX);
    }
    if (previous && previous->collective == graft->collective && previous->ranks == graft->ranks &&
        first <= previous->last_bytes) {
        return error_set(error, EXIT_INPUT,
                         "%s of %u ranks: two rows cover %llu bytes; expected one choice a size",
                         name, graft->ranks, first);
    }
    return 0;
}

struct json *mpich_tree_overlay(const struct json *base, const struct mpich_graft *grafts,
                                size_t nr_grafts, struct error *error)
{
    struct mpich_graft *sorted = calloc(nr_grafts + 1, sizeof *sorted);
    struct json *tree = json_make_copy(base);
    if (!sorted) {
        arena_out_of_memory();
    }
    for (size_t i = 0; i < nr_grafts; i++) {
        sorted[i] = grafts[i];
    }
    qsort(sorted, nr_grafts, sizeof *sorted, compare_grafts);
    for (size_t i = 0, next; i < nr_grafts && tree; i = next) {
        char key[MPICH_KEY_BYTES];
        bool bad = false;
        for (next = i; next < nr_grafts && sorted[next].collective == sorted[i].collective && !bad;
             next++) {
            bad = check_graft(&sorted[next], next > i ? &sorted[next - 1] : NULL, error);
        }
        if (bad) {
            json_free(tree);
            tree = NULL;
            break;
        }
        snprintf(key, sizeof key, "collective=%s", sorted[i].collective->name);
        json_put(tree, key, make_collective(json_get(base, key), sorted + i, next - i));
    }
    free(sorted);
    return tree;
}
