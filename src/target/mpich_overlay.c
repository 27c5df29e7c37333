/* mpich_overlay.c - grafts proven choices into a selection tree, which stays the same elsewhere.
 *
 * MPICH has no comm_size=N and no and/or, so "N ranks of one host" is nested, the base (B) in all
 * other places:
 *
 *     comm_type=intra
 *       comm_size<=N-1                B
 *       comm_size<=N
 *         comm_size=node_comm_size    the user's communicator: all its ranks share a host
 *           avg_msg_size<=FIRST-1     B
 *           avg_msg_size<=LAST
 *             is_commutative=yes
 *               is_op_built_in=yes    the graft (count<pow2: B, where it needs a count)
 *               is_op_built_in=no     B
 *             is_commutative=no       B
 *           avg_msg_size=any          B
 *         comm_hierarchy=node         the same, for bcast and reduce (mpich_algorithms.c says why)
 *         comm_size=any               B
 *       comm_size=any                 B
 *
 * Never comm_size<N: MPICH takes it for <= once another condition came before (seen). Where B is
 * nested deeper it is specialised: what the branch already says is taken out of it, which also
 * keeps that flaw out of B, and the tree shallow (MPICH's validation doubles with each level).
 *
 * Conditions on the call cost about 10 ns each, at every call, a few percent of a small one; those
 * on the communicator are settled when it is made. So sizes are one list of ranges, graft and B
 * mixed, and a size outside the grafts passes hardly more conditions than in B.
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

/* What a call must answer besides its size; the graft is for the calls that answer as here. */
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

static bool is_open(const struct branch *branch, const struct question *question)
{
    return *((const bool *)((const char *)branch->collective + question->asked)) &&
           !(branch->known & 1U << question->property);
}

/* Either side of a question. The query's answers are ours from the start (mpich_query_make); they
 * are turned round for the others. */
static struct branch our_side(const struct branch *branch, enum mpich_property property)
{
    struct branch ours = *branch;
    ours.known |= 1U << property;
    return ours;
}

static struct branch other_side(const struct branch *branch, enum mpich_property property)
{
    struct branch other = our_side(branch, property);
    other.query.in_place ^= property == MPICH_SENDBUF_INPLACE;
    other.query.commutative ^= property == MPICH_COMMUTATIVE;
    other.query.built_in ^= property == MPICH_OP_BUILT_IN;
    return other;
}

/* The graft for calls of one range of sizes, behind the questions still open. */
static struct json *make_graft(const struct branch *branch, const struct mpich_algorithm *algorithm)
{
    for (size_t i = 0; i < NR_QUESTIONS; i++) {
        if (is_open(branch, &questions[i])) {
            struct json *object = json_make_object();
            struct branch ours = our_side(branch, questions[i].property);
            struct branch others = other_side(branch, questions[i].property);
            json_put(object, questions[i].ours, make_graft(&ours, algorithm));
            put_base(object, questions[i].others, &others);
            return object;
        }
    }
    return make_leaf(branch, algorithm);
}

/* ---- sizes: one list of ranges, so that a call passes as few conditions as it can ---- */

struct ends {        /* last sizes of the ranges, ascending after sort_ends */
    uint64_t *items; /* malloc'ed */
    size_t nr, capacity;
};

static void add_end(struct ends *ends, uint64_t last)
{
    if (ends->nr == ends->capacity) {
        array_grow((void **)&ends->items, &ends->capacity, ends->nr, sizeof *ends->items);
    }
    ends->items[ends->nr++] = last;
}

/* Every size at which the base may change its mind. */
static void add_base_ends(struct ends *ends, const struct json *object, enum mpich_property size)
{
    void *iterator = NULL;
    const char *key = NULL;
    const struct json *child = NULL;
    while (json_next(object, &iterator, &key, &child)) {
        struct mpich_condition condition;
        struct error ignored = ERROR_NONE;
        if (!mpich_condition_parse(key, &condition, &ignored) && condition.property == size &&
            condition.number >= 0) {
            if (condition.relation == MPICH_AT_MOST) {
                add_end(ends, (uint64_t)condition.number);
            } else if (condition.relation == MPICH_BELOW && condition.number > 0) {
                add_end(ends, (uint64_t)condition.number - 1);
            }
        }
        add_base_ends(ends, child, size);
    }
}

static int compare_ends(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static void add_graft_ends(struct ends *ends, const struct branch *branch)
{
    for (size_t i = 0; i < branch->nr_grafts; i++) {
        const struct mpich_graft *graft = &branch->grafts[i];
        if (graft->first_bytes > 0) {
            add_end(ends, graft->first_bytes - 1);
        }
        if (graft->last_bytes != UINT64_MAX) {
            add_end(ends, graft->last_bytes < INT32_MAX ? graft->last_bytes : INT32_MAX);
        }
    }
    if (ends->nr) {
        qsort(ends->items, ends->nr, sizeof *ends->items, compare_ends);
    }
}

/* What calls get whose size lies in a range without ends inside, `first` being in it. */
static struct json *make_range(const struct branch *branch, enum mpich_property size,
                               uint64_t first)
{
    struct branch at = *branch;
    at.known |= 1U << size;
    at.query.avg_bytes = at.query.total_bytes = first;
    for (size_t i = 0; i < branch->nr_grafts; i++) {
        const struct mpich_graft *graft = &branch->grafts[i];
        bool to_the_end = graft->last_bytes == UINT64_MAX;
        uint64_t last = graft->last_bytes < INT32_MAX ? graft->last_bytes : INT32_MAX;
        if (first >= graft->first_bytes && (to_the_end || first <= last)) {
            return make_graft(&at, graft->algorithm);
        }
    }
    return mpich_tree_specialise(branch->base, &at.query, at.known);
}

/* Where the base does not look at the size, a first condition on it costs 30 ns (an eighth of a
 * small bcast); count costs a fifth of that. Few elements cannot reach the first graft: they go to
 * the base at once. Elements are taken to have 16 bytes at most; larger ones (derived types) may
 * miss a graft, and then get what the base says. Takes `sizes`. */
static struct json *put_behind_count(const struct branch *branch, struct json *sizes)
{
    enum { LARGEST_ELEMENT = 16 };
    uint64_t most = branch->grafts[0].first_bytes / LARGEST_ELEMENT;
    char key[MPICH_KEY_BYTES];
    if (!branch->collective->asks_count || most < 2 || most > INT32_MAX) {
        return sizes;
    }
    struct json *object = json_make_object();
    snprintf(key, sizeof key, "count<=%llu", (unsigned long long)most - 1);
    put_base(object, key, branch);
    json_put(object, "count=any", sizes);
    return object;
}

/* Neighbouring ranges with the same answer become one. */
static struct json *make_sizes(const struct branch *branch)
{
    bool by_total = branch->collective->sized_by_total;
    enum mpich_property size = by_total ? MPICH_TOTAL_MSG_SIZE : MPICH_AVG_MSG_SIZE;
    const char *name = by_total ? "total_msg_size" : "avg_msg_size";
    struct json *object = json_make_object();
    struct ends ends = {NULL, 0, 0};
    char key[MPICH_KEY_BYTES];
    struct json *rest = mpich_tree_specialise(branch->base, &branch->query, branch->known);
    add_base_ends(&ends, rest, size);
    json_free(rest);
    bool base_asks = ends.nr > 0;
    add_graft_ends(&ends, branch);
    struct json *range = make_range(branch, size, 0);
    for (size_t i = 0; i < ends.nr; i++) {
        struct json *next = make_range(branch, size, ends.items[i] + 1);
        if (json_is_equal(range, next)) {
            json_free(next);
            continue;
        }
        snprintf(key, sizeof key, "%s<=%llu", name, (unsigned long long)ends.items[i]);
        json_put(object, key, range);
        range = next;
    }
    snprintf(key, sizeof key, "%s=any", name);
    json_put(object, key, range);
    free(ends.items);
    return base_asks ? object : put_behind_count(branch, object);
}

/* Calls on one communicator: a question that the base begins with is asked first here too, since
 * every call has to pass it anyway; otherwise sizes come first, and only grafted ranges ask. */
static struct json *make_call(const struct branch *branch)
{
    struct json *rest = mpich_tree_specialise(branch->base, &branch->query, branch->known);
    struct mpich_condition first = {.property = MPICH_NR_PROPERTIES};
    struct error ignored = ERROR_NONE;
    void *iterator = NULL;
    const char *key = NULL;
    const struct json *child = NULL;
    if (json_next(rest, &iterator, &key, &child) && mpich_condition_parse(key, &first, &ignored)) {
        first.property = MPICH_NR_PROPERTIES;
    }
    json_free(rest);
    for (size_t i = 0; i < NR_QUESTIONS; i++) {
        if (questions[i].property == first.property && is_open(branch, &questions[i])) {
            struct json *object = json_make_object();
            struct branch ours = our_side(branch, first.property);
            struct branch others = other_side(branch, first.property);
            json_put(object, questions[i].ours, make_call(&ours));
            put_base(object, questions[i].others, &others);
            return object;
        }
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
    json_put(object, "comm_size=node_comm_size", make_call(&inner));
    if (branch->collective->on_node_comm) {
        inner.query.hierarchy = MPICH_NODE;
        json_put(object, "comm_hierarchy=node", make_call(&inner));
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
