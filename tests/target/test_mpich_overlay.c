/* test_mpich_overlay.c - a tree with grafts equals its base for every call that they do not cover.
 *
 * Random trees, grafts and calls, by seed: inside a graft's communicator size, host, operation and
 * byte range the graft's algorithm answers, everywhere else exactly the base's leaf.
 */
#include "mpich_tree.h"

#include "stats.h"
#include "target/mpich_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const enum collective tuned[] = {COLL_ALLREDUCE, COLL_REDUCE_SCATTER, COLL_ALL_GATHER,
                                        COLL_BROADCAST, COLL_REDUCE,         COLL_ALL_TO_ALL};

enum { NR_TUNED = sizeof tuned / sizeof tuned[0], SIZE_MOST = 70, RANKS_MOST = 12 };

static uint32_t below(uint64_t *random, uint32_t limit)
{
    return (uint32_t)(stats_random_next(random) % limit);
}

/* ---- random trees ---- */

/* A condition that may be asked of the collective; `catches` gets the key that ends the list. */
static void random_key(uint64_t *random, const struct mpich_collective *c, char *key,
                       const char **catches)
{
    static const char *const hierarchies[] = {"parent", "node_roots", "node", "flat"};
    static const char *const relations[] = {"<", "<="};
    const char *relation = relations[below(random, 2)];
    uint32_t ranks = below(random, RANKS_MOST), size = below(random, SIZE_MOST);
    *catches = "comm_size=any";
    switch (below(random, 9)) {
    case 0:
    case 1:
        snprintf(key, MPICH_KEY_BYTES, "comm_size%s%u", relation, ranks);
        return;
    case 2:
        snprintf(key, MPICH_KEY_BYTES, "comm_hierarchy=%s", hierarchies[below(random, 4)]);
        *catches = "comm_hierarchy=any";
        return;
    case 3:
        snprintf(key, MPICH_KEY_BYTES, "comm_size=%s", ranks % 2 ? "pow2" : "node_comm_size");
        return;
    case 4:
        if (c->asks_commutative) {
            snprintf(key, MPICH_KEY_BYTES, "is_commutative=%s", ranks % 2 ? "yes" : "no");
            return;
        }
        break;
    case 5:
        if (c->asks_built_in || c->asks_in_place) {
            snprintf(key, MPICH_KEY_BYTES, "%s=%s",
                     c->asks_built_in ? "is_op_built_in" : "is_sendbuf_inplace",
                     ranks % 2 ? "yes" : "no");
            return;
        }
        break;
    case 6:
        if (!c->asks_in_place) {
            snprintf(key, MPICH_KEY_BYTES, ranks % 2 ? "count<pow2" : "count<=%u", size / 4);
            *catches = "count=any";
            return;
        }
        break;
    }
    snprintf(key, MPICH_KEY_BYTES, "%s%s%u", c->sized_by_total ? "total_msg_size" : "avg_msg_size",
             relation, size);
    *catches = c->sized_by_total ? "total_msg_size=any" : "avg_msg_size=any";
}

/* Each leaf has a name of its own, so that equal answers are the same leaf. */
static struct json *random_leaf(const struct mpich_collective *c, unsigned *leaves)
{
    char name[MPICH_KEY_BYTES];
    snprintf(name, sizeof name, "MPIR_%c%s_intra_leaf%u", toupper((unsigned char)c->name[0]),
             c->name + 1, (*leaves)++);
    return sample_leaf(name);
}

static struct json *random_object(uint64_t *random, const struct mpich_collective *c,
                                  unsigned depth, unsigned *leaves)
{
    struct json *object = json_make_object();
    const char *catches = "comm_size=any";
    uint32_t siblings = below(random, 4);
    if (depth == 0 || siblings == 0) {
        json_free(object);
        return random_leaf(c, leaves);
    }
    for (uint32_t i = 0; i < siblings; i++) {
        char key[MPICH_KEY_BYTES];
        random_key(random, c, key, &catches);
        if (!json_get(object, key)) {
            json_put(object, key, random_object(random, c, depth - 1, leaves));
        }
    }
    json_put(object, catches, random_object(random, c, depth - 1, leaves));
    return object;
}

static struct json *random_tree(uint64_t *random)
{
    struct json *tree = sample_tree();
    unsigned leaves = 0;
    for (size_t i = 0; i < NR_TUNED; i++) {
        const struct mpich_collective *c = mpich_collective_find(tuned[i]);
        char key[MPICH_KEY_BYTES];
        struct json *object = random_object(random, c, 4, &leaves);
        if (below(random, 2)) {
            struct json *by_type = json_make_object();
            json_put(by_type, "comm_type=inter", random_leaf(c, &leaves));
            json_put(by_type, "comm_type=intra", object);
            object = by_type;
        }
        snprintf(key, sizeof key, "collective=%s", c->name);
        json_put(tree, key, object);
    }
    return tree;
}

/* ---- random grafts and calls ---- */

/* Ranges of one communicator size follow each other, with or without a gap. */
static size_t random_grafts(uint64_t *random, struct mpich_graft *grafts)
{
    size_t nr = 0;
    for (size_t i = 0; i < NR_TUNED; i++) {
        const struct mpich_collective *c = mpich_collective_find(tuned[i]);
        for (uint32_t ranks = 2; ranks < RANKS_MOST; ranks += 1 + below(random, 6)) {
            uint64_t next = below(random, 20);
            for (uint32_t ranges = below(random, 3); ranges > 0; ranges--) {
                uint64_t last = next + below(random, 30);
                bool endless = ranges == 1 && below(random, 4) == 0;
                size_t algorithm = below(random, (uint32_t)c->nr_algorithms);
                grafts[nr++] = (struct mpich_graft){c, &c->algorithms[algorithm], ranks, next,
                                                    endless ? UINT64_MAX : last};
                next = last + 1 + below(random, 2) * 5;
            }
        }
    }
    return nr;
}

static struct mpich_query random_query(uint64_t *random)
{
    uint32_t ranks = 1 + below(random, RANKS_MOST + 2);
    uint64_t count = below(random, SIZE_MOST), element = below(random, 2) ? 1 : 4;
    return (struct mpich_query){
        .comm_size = ranks,
        .hosts = 1 + below(random, 4) / 3,
        .hierarchy = (enum mpich_hierarchy)(below(random, 2) ? below(random, 4) : MPICH_PARENT),
        .count = count / element,
        .avg_bytes = count / element * element,
        .total_bytes = count / element * element * (below(random, 2) ? ranks : 1),
        .commutative = below(random, 4) > 0,
        .built_in = below(random, 4) > 0,
        .in_place = below(random, 4) == 0,
    };
}

/* What the graft says of itself (mpich_tree.h), in words of its own. */
static bool covers(const struct mpich_graft *graft, const struct mpich_query *query)
{
    const struct mpich_collective *c = graft->collective;
    uint64_t bytes = c->sized_by_total ? query->total_bytes : query->avg_bytes;
    bool on_host = (query->hierarchy == MPICH_PARENT && query->hosts == 1) ||
                   (query->hierarchy == MPICH_NODE && c->on_node_comm);
    bool legal = !(graft->algorithm->needs & MPICH_NEEDS_COUNT) ||
                 query->count >= mpich_power_of_two_below(query->comm_size);
    return query->comm_size == graft->ranks && on_host && bytes >= graft->first_bytes &&
           bytes <= graft->last_bytes && legal && (query->commutative || !c->asks_commutative) &&
           (query->built_in || !c->asks_built_in) && (!query->in_place || !c->asks_in_place);
}

static const char *expected_leaf(const struct json *base, const struct mpich_collective *c,
                                 const struct mpich_query *query, const struct mpich_graft *grafts,
                                 size_t nr, char *leaf)
{
    for (size_t i = 0; i < nr; i++) {
        if (grafts[i].collective == c && covers(&grafts[i], query)) {
            return grafts[i].algorithm->leaf;
        }
    }
    return mpich_tree_lookup(base, c, query, leaf) ? "none" : leaf;
}

static void check_seed(uint64_t seed, size_t *inside)
{
    struct mpich_graft grafts[200];
    struct error error = ERROR_NONE;
    uint64_t random = seed;
    struct json *base = random_tree(&random);
    size_t nr = random_grafts(&random, grafts);
    if (mpich_tree_check(base, &error)) {
        fail_msg("seed %llu: the base: %s", (unsigned long long)seed, error.message);
    }
    struct json *tree = mpich_tree_overlay(base, grafts, nr, &error);
    if (!tree || mpich_tree_check(tree, &error)) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    }
    for (int i = 0; i < 3000; i++) {
        const struct mpich_collective *c = mpich_collective_find(tuned[i % NR_TUNED]);
        struct mpich_query query = random_query(&random);
        char found[MPICH_KEY_BYTES] = "none", leaf[MPICH_KEY_BYTES];
        const char *expected = expected_leaf(base, c, &query, grafts, nr, leaf);
        mpich_tree_lookup(tree, c, &query, found);
        if (strcmp(found, expected) != 0) {
            char *text = json_to_text(tree, 1);
            fail_msg("seed %llu call %d: %s on %u ranks, %llu bytes: %s, expected %s\n%s",
                     (unsigned long long)seed, i, c->name, query.comm_size,
                     (unsigned long long)query.avg_bytes, found, expected, text);
        }
        *inside += expected != leaf;
    }
    json_free(tree);
    json_free(base);
}

static void the_tree_is_the_base_elsewhere(void **state)
{
    size_t inside = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        check_seed(seed, &inside);
    }
    assert_true(inside > 5000); /* the grafts were asked for, too */
}

/* ---- single cases ---- */

static struct mpich_graft graft_of(enum collective collective, const char *algorithm,
                                   uint32_t ranks, uint64_t first, uint64_t last)
{
    const struct mpich_collective *c = mpich_collective_find(collective);
    return (struct mpich_graft){c, mpich_algorithm_named(c, algorithm), ranks, first, last};
}

static void no_grafts_change_nothing(void **state)
{
    struct error error = ERROR_NONE;
    struct json *base = sample_tree();
    struct json *tree = mpich_tree_overlay(base, NULL, 0, &error);
    (void)state;
    assert_true(json_is_equal(tree, base));
    json_free(tree);
    json_free(base);
}

static void the_form_is_the_documented_one(void **state)
{
    static const char form[] =
        "{\"comm_type=intra\": {"
        " \"comm_size<=1\": BASE,"
        " \"comm_size<=2\": {"
        "  \"comm_size=node_comm_size\": {"
        "   \"total_msg_size<=63\": {\"algorithm=MPIR_Allgather_intra_brucks\": {}},"
        "   \"total_msg_size<=1024\": {\"algorithm=MPIR_Allgather_intra_ring\": {}},"
        "   \"total_msg_size=any\": {\"algorithm=MPIR_Allgather_intra_brucks\": {}}},"
        "  \"comm_size=any\": {\"algorithm=MPIR_Allgather_intra_brucks\": {}}},"
        " \"comm_size=any\": BASE},"
        "\"comm_type=inter\": {\"algorithm=MPIR_Allgather_inter_a\": {}}}";
    static const char base_text[] =
        "{\"comm_size<2\": {\"algorithm=MPIR_Allgather_intra_ring\": {}},"
        " \"comm_size=any\": {\"algorithm=MPIR_Allgather_intra_brucks\": {}}}";
    struct mpich_graft graft = graft_of(COLL_ALL_GATHER, "ring", 2, 64, 1024);
    struct error error = ERROR_NONE;
    char expected_text[4000] = "";
    size_t nr = 0;
    (void)state;
    for (const char *c = form; *c; c++) {
        bool is_base = !strncmp(c, "BASE", 4);
        nr += (size_t)snprintf(expected_text + nr, sizeof expected_text - nr, "%.*s",
                               is_base ? (int)sizeof base_text : 1, is_base ? base_text : c);
        c += is_base ? 3 : 0;
    }
    struct json *base = json_make_object(), *by_type = json_make_object();
    json_put(by_type, "comm_type=intra", sample_parse(base_text));
    json_put(by_type, "comm_type=inter", sample_leaf("MPIR_Allgather_inter_a"));
    json_put(base, "collective=allgather", by_type);
    struct json *tree = mpich_tree_overlay(base, &graft, 1, &error);
    struct json *expected = sample_parse(expected_text);
    char *one = json_to_text(json_get(tree, "collective=allgather"), 1);
    char *other = json_to_text(expected, 1);
    assert_string_equal(one, other);
    free(one);
    free(other);
    json_free(expected);
    json_free(tree);
    json_free(base);
}

/* MPICH compares with an int. */
static void sizes_over_an_int_are_not_written(void **state)
{
    struct mpich_graft graft = graft_of(COLL_BROADCAST, "nb", 2, 64, UINT64_C(1) << 40);
    struct error error = ERROR_NONE;
    struct json *base = sample_tree();
    (void)state;
    struct json *tree = mpich_tree_overlay(base, &graft, 1, &error);
    char *text = json_to_text(tree, 0);
    assert_non_null(strstr(text, "avg_msg_size<=2147483647\""));
    assert_int_equal(mpich_tree_check(tree, &error), 0);
    free(text);
    json_free(tree);
    graft.first_bytes = UINT64_C(1) << 31;
    assert_null(mpich_tree_overlay(base, &graft, 1, &error));
    assert_non_null(strstr(error.message, "2147483647"));
    json_free(base);
}

static void impossible_grafts_are_refused(void **state)
{
    struct mpich_graft grafts[] = {graft_of(COLL_REDUCE, "nb", 2, 64, 128),
                                   graft_of(COLL_ALLREDUCE, "nb", 2, 8, 16),
                                   graft_of(COLL_REDUCE, "binomial", 2, 128, 256)};
    struct error error = ERROR_NONE;
    struct json *base = sample_tree();
    (void)state;
    assert_null(mpich_tree_overlay(base, grafts, 3, &error));
    assert_non_null(strstr(error.message, "two rows cover 128 bytes"));
    grafts[2].ranks = 1;
    assert_null(mpich_tree_overlay(base, grafts, 3, &error));
    grafts[2].ranks = 3;
    grafts[2].last_bytes = 100;
    assert_null(mpich_tree_overlay(base, grafts, 3, &error));
    grafts[2].last_bytes = 300;
    struct json *tree = mpich_tree_overlay(base, grafts, 3, &error);
    assert_non_null(tree);
    json_free(tree);
    json_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_is_the_base_elsewhere),
        cmocka_unit_test(no_grafts_change_nothing),
        cmocka_unit_test(the_form_is_the_documented_one),
        cmocka_unit_test(sizes_over_an_int_are_not_written),
        cmocka_unit_test(impossible_grafts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
