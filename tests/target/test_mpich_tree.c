/* test_mpich_tree.c - selection trees of MPICH: keys, lookups, the check, the way out of a library.
 */
#include "mpich_tree.h"

#include "target/mpich_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const char *looked_up(const struct json *tree, enum collective collective,
                             const struct mpich_query *query)
{
    static char leaf[MPICH_KEY_BYTES];
    if (mpich_tree_lookup(tree, mpich_collective_find(collective), query, leaf)) {
        return "none";
    }
    return leaf;
}

static struct mpich_query query_of(enum collective collective, uint32_t ranks, uint64_t bytes)
{
    return mpich_query_make(mpich_collective_find(collective), ranks, bytes, 4, MPICH_PARENT);
}

/* ---- keys ---- */

static void keys_of_mpich_are_read(void **state)
{
    static const struct {
        const char *key;
        enum mpich_property property;
        enum mpich_relation relation;
        int number, word;
    } rows[] = {
        {"comm_size<8", MPICH_COMM_SIZE, MPICH_BELOW, 8, -1},
        {"comm_size<=8", MPICH_COMM_SIZE, MPICH_AT_MOST, 8, -1},
        {" comm_size <= 8 ", MPICH_COMM_SIZE, MPICH_AT_MOST, 8, -1},
        {"comm_size=pow2", MPICH_COMM_SIZE, MPICH_IS, 0, MPICH_POW2},
        {"comm_size=any", MPICH_COMM_SIZE, MPICH_ANY, 0, -1},
        {"count<pow2", MPICH_COUNT, MPICH_BELOW_POW2, 0, -1},
        {"count<=7", MPICH_COUNT, MPICH_AT_MOST, 7, -1},
        {"total_msg_size<2147483647", MPICH_TOTAL_MSG_SIZE, MPICH_BELOW, INT32_MAX, -1},
        {"comm_hierarchy=node", MPICH_COMM_HIERARCHY, MPICH_IS, 0, MPICH_NODE},
        {"is_op_built_in=no", MPICH_OP_BUILT_IN, MPICH_IS, 0, MPICH_NO},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mpich_condition condition;
        struct error error = ERROR_NONE;
        assert_int_equal(mpich_condition_parse(rows[i].key, &condition, &error), 0);
        assert_int_equal(condition.property, rows[i].property);
        assert_int_equal(condition.relation, rows[i].relation);
        assert_int_equal(condition.number, rows[i].number);
        assert_int_equal(condition.word, rows[i].word);
    }
}

static void other_keys_are_refused_with_the_mend(void **state)
{
    static const struct {
        const char *key, *says;
    } rows[] = {
        {"comm_size=2", "<N, <=N, =pow2, =node_comm_size, =any"},
        {"com_size<8", "did you mean 'comm_size'"},
        {"comm_avg_ppn<2", "<=N"},
        {"comm_avg_ppn=any", "<=N"},
        {"is_commutative=any", "=yes, =no"},
        {"count<3", "<pow2"},
        {"avg_msg_size<=5000x", "another number"},
        {"avg_msg_size<=", "<N, <=N"},
        {"avg_msg_size<=-1", "<N, <=N"},
        {"avg_msg_size<=2147483648", "N up to 2147483647"},
        {"avg_msg_size<=99999999999999999999", "N up to 2147483647"},
        {"algorithm=", "=MPIR_NAME"},
        {"any", "comm_size<=8"},
        {"", "comm_size<=8"},
        {"composition=MPIDI_Bcast_intra_composition_alpha", "MPIR_CVAR_CH4_COLL_SELECTION"},
    };
    char longer[1000];
    struct mpich_condition condition;
    struct error error = ERROR_NONE;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(mpich_condition_parse(rows[i].key, &condition, &error), -1);
        assert_int_equal(error.status, EXIT_INPUT);
        if (!strstr(error.message, rows[i].says)) {
            fail_msg("'%s': no '%s' in '%s'", rows[i].key, rows[i].says, error.message);
        }
    }
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(mpich_condition_parse(longer, &condition, &error), -1);
}

/* ---- lookups ---- */

static void the_first_that_holds_is_entered(void **state)
{
    struct json *tree = sample_tree();
    struct mpich_query query = query_of(COLL_ALLREDUCE, 4, 16);
    (void)state;
    assert_string_equal(looked_up(tree, COLL_ALLREDUCE, &query),
                        "MPIR_Allreduce_intra_recursive_doubling");
    query = query_of(COLL_ALLREDUCE, 4, 20);
    assert_string_equal(looked_up(tree, COLL_ALLREDUCE, &query),
                        "MPIR_Allreduce_intra_reduce_scatter_allgather");
    query.count = 3; /* fewer than 4 = the power of two not over 4 */
    assert_string_equal(looked_up(tree, COLL_ALLREDUCE, &query),
                        "MPIR_Allreduce_intra_recursive_doubling");
    query = query_of(COLL_ALLREDUCE, 7, 20);
    query.built_in = false;
    assert_string_equal(looked_up(tree, COLL_ALLREDUCE, &query),
                        "MPIR_Allreduce_intra_recursive_doubling");
    query = query_of(COLL_ALLREDUCE, 4, 0);
    assert_string_equal(looked_up(tree, COLL_ALLREDUCE, &query), "MPIR_Allreduce_intra_smp");
    json_free(tree);
}

static void sizes_are_those_of_mpich(void **state)
{
    struct mpich_query query = query_of(COLL_ALL_GATHER, 4, 4096);
    (void)state;
    assert_int_equal(query.total_bytes, 4096);
    assert_int_equal(query.count, 256);
    query = query_of(COLL_ALL_TO_ALL, 4, 4096);
    assert_int_equal(query.avg_bytes, 1024);
    assert_int_equal(query.total_bytes, 4096);
    query = query_of(COLL_ALLREDUCE, 4, 4096);
    assert_int_equal(query.avg_bytes, 4096);
    assert_int_equal(query.total_bytes, 16384);
    assert_int_equal(query.count, 1024);
}

/* What was seen of MPICH 4.0.2 on one host: comm_size=node_comm_size holds for the user's
 * communicator only, comm_hierarchy=node for the inner one only. */
static void communicators_of_one_host_are_told_apart(void **state)
{
    struct json *tree =
        sample_parse("{\"collective=bcast\": {"
                     "\"comm_size=node_comm_size\": {\"algorithm=MPIR_Bcast_intra_user\": {}},"
                     "\"comm_hierarchy=node\": {\"algorithm=MPIR_Bcast_intra_inner\": {}},"
                     "\"comm_size=any\": {\"algorithm=MPIR_Bcast_intra_other\": {}}}}");
    struct mpich_query query = query_of(COLL_BROADCAST, 4, 64);
    (void)state;
    assert_string_equal(looked_up(tree, COLL_BROADCAST, &query), "MPIR_Bcast_intra_user");
    query.hierarchy = MPICH_NODE;
    assert_string_equal(looked_up(tree, COLL_BROADCAST, &query), "MPIR_Bcast_intra_inner");
    query.hierarchy = MPICH_PARENT;
    query.hosts = 2;
    assert_string_equal(looked_up(tree, COLL_BROADCAST, &query), "MPIR_Bcast_intra_other");
    query.hierarchy = MPICH_FLAT;
    query.hosts = 1;
    assert_string_equal(looked_up(tree, COLL_BROADCAST, &query), "MPIR_Bcast_intra_other");
    json_free(tree);
}

/* comm_size<N is taken for <=N once a condition on the call came before (seen). */
static void mpichs_flaw_is_followed(void **state)
{
    static const struct {
        const char *key, *leaf;
    } rows[] = {
        {"comm_hierarchy=parent", "MPIR_Allreduce_intra_other"},
        {"comm_size<=9", "MPIR_Allreduce_intra_other"},
        {"is_node_consecutive=yes", "MPIR_Allreduce_intra_other"},
        {"avg_msg_size=any", "MPIR_Allreduce_intra_below"},
        {"is_commutative=yes", "MPIR_Allreduce_intra_below"},
        {"count=any", "MPIR_Allreduce_intra_below"},
    };
    struct mpich_query query = query_of(COLL_ALLREDUCE, 4, 64);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "{\"collective=allreduce\": {\"%s\": {"
                 "\"comm_size<4\": {\"algorithm=MPIR_Allreduce_intra_below\": {}},"
                 "\"comm_size=any\": {\"algorithm=MPIR_Allreduce_intra_other\": {}}}}}",
                 rows[i].key);
        struct json *tree = sample_parse(text);
        assert_string_equal(looked_up(tree, COLL_ALLREDUCE, &query), rows[i].leaf);
        json_free(tree);
    }
}

static void broken_trees_have_no_answer(void **state)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "3",
        "{\"collective=allreduce\": 3}",
        "{\"collective=allreduce\": {}}",
        "{\"collective=allreduce\": {\"what\": {}}}",
        "{\"collective=allreduce\": {\"comm_size=any\": 7}}",
        "{\"collective=allreduce\": {\"comm_size<=1\": {\"algorithm=MPIR_Allreduce_a\": {}}}}"};
    struct mpich_query query = query_of(COLL_ALLREDUCE, 4, 64);
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct json *tree = sample_parse(texts[i]);
        assert_string_equal(looked_up(tree, COLL_ALLREDUCE, &query), "none");
        json_free(tree);
    }
}

/* ---- the check ---- */

static void a_complete_tree_passes(void **state)
{
    struct error error = ERROR_NONE;
    struct json *tree = sample_tree();
    (void)state;
    if (mpich_tree_check(tree, &error)) {
        fail_msg("%s", error.message);
    }
    json_free(tree);
}

static void assert_flaw(const struct json *tree, const char *says)
{
    struct error error = ERROR_NONE;
    assert_int_equal(mpich_tree_check(tree, &error), -1);
    assert_int_equal(error.status, EXIT_INPUT);
    if (!strstr(error.message, says)) {
        fail_msg("no '%s' in '%s'", says, error.message);
    }
}

static void flaws_are_named_with_their_place(void **state)
{
#define LEAF "{\"algorithm=MPIR_Bcast_intra_binomial\": {}}"
    static const struct {
        const char *bcast, *says;
    } rows[] = {
        {"{\"comm_size=2\": " LEAF "}", "collective=bcast: unknown key 'comm_size=2'"},
        {"{\"comm_type=intra\": {\"comm_size<8\": " LEAF "}, \"comm_type=inter\": " LEAF "}",
         "collective=bcast / comm_type=intra: nothing catches what 'comm_size<8' leaves"},
        {"{\"comm_type=intra\": " LEAF "}", "nothing catches what 'comm_type=intra' leaves"},
        {"{\"comm_size=any\": " LEAF ", \"comm_size<=8\": " LEAF "}", "stands after =any"},
        {"{\"is_node_consecutive=yes\": " LEAF ", \"comm_size<=8\": " LEAF "}", "nothing catches"},
        {"{}", "collective=bcast: empty"},
        {"{\"comm_size=any\": {}}", "collective=bcast / comm_size=any: empty"},
        {"{\"comm_size=any\": 5}", "'comm_size=any' holds no object"},
        {"7", "'collective=bcast' holds no object"},
        {"{\"is_commutative=yes\": " LEAF ", \"is_commutative=no\": " LEAF "}",
         "'is_commutative=yes' is not defined for bcast"},
        {"{\"is_sendbuf_inplace=yes\": " LEAF ", \"is_sendbuf_inplace=no\": " LEAF "}",
         "not defined for bcast"},
        {"{\"algorithm=MPIR_Reduce_intra_binomial\": {}}", "not one of bcast"},
        {"{\"algorithm=MPIDI_POSIX_mpi_bcast_release_gather\": {}}", "not one of bcast"},
        {"{\"comm_size<=4\": " LEAF ", \"algorithm=MPIR_Bcast_intra_binomial\": {}}",
         "has siblings"},
        {"{\"collective=reduce\": " LEAF "}", "inside another collective"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct json *tree = sample_tree();
        json_put(tree, "collective=bcast", sample_parse(rows[i].bcast));
        assert_flaw(tree, rows[i].says);
        json_free(tree);
    }
}

static void complements_catch_all(void **state)
{
    static const char *const texts[] = {
        "{\"is_node_consecutive=no\": " LEAF ", \"comm_size<=8\": " LEAF
        ", \"is_node_consecutive=yes\": " LEAF "}",
        "{\"comm_hierarchy=parent\": " LEAF ", \"comm_hierarchy=node\": " LEAF
        ", \"comm_hierarchy=flat\": " LEAF ", \"comm_hierarchy=node_roots\": " LEAF "}",
        "{\"algorithm=MPIR_Bcast_allcomm_nb\": {\"k=2\": {}}}",
    };
    struct error error = ERROR_NONE;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct json *tree = sample_tree();
        json_put(tree, "collective=bcast", sample_parse(texts[i]));
        if (mpich_tree_check(tree, &error)) {
            fail_msg("%s", error.message);
        }
        json_free(tree);
    }
}

static void sizes_not_defined_are_flaws(void **state)
{
    struct json *tree = sample_tree();
    (void)state;
    json_put(tree, "collective=allgather",
             sample_parse("{\"avg_msg_size<=8\": {\"algorithm=MPIR_Allgather_intra_ring\": {}},"
                          "\"avg_msg_size=any\": {\"algorithm=MPIR_Allgather_intra_ring\": {}}}"));
    assert_flaw(tree, "ask for something else (total_msg_size)");
    json_free(tree);
    tree = sample_tree();
    json_put(tree, "collective=reduce_scatter_block",
             sample_parse(
                 "{\"is_op_built_in=yes\": {\"algorithm=MPIR_Reduce_scatter_block_intra_a\": {}},"
                 "\"is_op_built_in=no\": {\"algorithm=MPIR_Reduce_scatter_block_intra_a\": {}}}"));
    assert_flaw(tree, "not defined for reduce_scatter_block");
    json_free(tree);
}

static void partial_files_are_flaws(void **state)
{
    struct json *tree = sample_parse(sample_text);
    (void)state;
    assert_flaw(tree, "no 'collective=allgatherv'");
    json_put(tree, "collective=allredcue", sample_leaf("MPIR_Allreduce_intra_smp"));
    assert_flaw(tree, "\"collective=allreduce\"");
    json_free(tree);
    tree = sample_parse("{}");
    assert_flaw(tree, "no 'collective=");
    json_free(tree);
    tree = sample_parse("[1]");
    assert_flaw(tree, "not a selection tree");
    json_free(tree);
    tree = sample_parse("{\"comm_size=any\": {}}");
    assert_flaw(tree, "not a collective");
    json_free(tree);
}

/* MPICH's JSON reader takes 32 levels, with the root and the leaf's empty object. */
static void nesting_ends_where_mpich_gives_up(void **state)
{
    (void)state;
    for (int levels = 32; levels <= 33; levels++) {
        struct json *tree = sample_tree(), *inner = sample_leaf("MPIR_Bcast_intra_binomial");
        struct error error = ERROR_NONE;
        for (int i = 3; i < levels; i++) {
            struct json *outer = json_make_object();
            json_put(outer, "comm_size=any", inner);
            inner = outer;
        }
        json_put(tree, "collective=bcast", inner);
        if (levels == 33) {
            assert_flaw(tree, "nested over 32 levels");
        } else if (mpich_tree_check(tree, &error)) {
            fail_msg("%s", error.message);
        }
        json_free(tree);
    }
}

/* ---- out of a library ---- */

struct bytes {
    char data[1 << 16];
    size_t length;
};

/* Appends a text and, if wanted, the zero that ends it. */
static void put(struct bytes *bytes, const char *text, bool ended)
{
    memcpy(bytes->data + bytes->length, text, strlen(text));
    bytes->length += strlen(text);
    if (ended) {
        bytes->data[bytes->length++] = 0;
    }
}

static const char device_tree[] =
    "{\"collective=bcast\":{\"composition=MPIDI_a\":{}},\"collective=reduce\":{"
    "\"composition=MPIDI_a\":{}},\"collective=scan\":{\"composition=MPIDI_a\":{}},"
    "\"collective=exscan\":{\"algorithm=MPIR_Exscan_intra_a\":{}}}";

static void the_largest_tree_of_algorithms_is_found(void **state)
{
    static struct bytes bytes;
    struct error error = ERROR_NONE;
    struct json *sample = sample_tree();
    char *text = json_to_text(sample, 0);
    (void)state;
    bytes.length = 0;
    put(&bytes, "\177ELF rubbish {\"collective=", true);
    put(&bytes, device_tree, true);
    put(&bytes, "{\"collective=bcast\":{\"algorithm=MPIR_Bcast_a\":{}}}", true);
    put(&bytes, text, true);
    put(&bytes, "{\"collective=barrier\":{\"algorithm=MPIR_Barrier_a\":{}}}", true);
    put(&bytes, "tail", false);
    struct json *tree = mpich_tree_extract(bytes.data, bytes.length, "made up", &error);
    assert_non_null(tree);
    assert_true(json_is_equal(tree, sample));
    assert_int_equal(json_length(tree), 44);
    json_free(tree);

    char path[] = "/tmp/test_mpich_tree.XXXXXX";
    int descriptor = mkstemp(path);
    assert_int_equal(write(descriptor, bytes.data, bytes.length), (ssize_t)bytes.length);
    close(descriptor);
    tree = mpich_tree_extract_file(path, &error);
    unlink(path);
    assert_non_null(tree);
    assert_true(json_is_equal(tree, sample));
    json_free(tree);
    json_free(sample);
    free(text);
}

static void hostile_files_hold_no_tree(void **state)
{
    static struct bytes bytes;
    struct error error = ERROR_NONE;
    (void)state;
    bytes.length = 0;
    put(&bytes, device_tree, true);
    put(&bytes, "{\"collective=bcast\":{\"algorithm=MPIR_Bcast_a\":{}}", true); /* not closed */
    put(&bytes, "{\"collective=bcast\":{\"algorithm=MPIR_Bcast_a\":\"\xff\"}}", true);
    for (int i = 0; i < 2000; i++) {
        put(&bytes, "{\"collective=", i % 2);
    }
    put(&bytes, "{\"collective=bcast\":{\"algorithm=MPIR_Bcast_a\":{}}}", false); /* no zero */
    assert_null(mpich_tree_extract(bytes.data, bytes.length, "hostile.so", &error));
    assert_int_equal(error.status, EXIT_ABSENT);
    assert_non_null(strstr(error.message, "hostile.so: no selection tree"));
    assert_null(mpich_tree_extract("", 0, "empty", &error));
    assert_null(mpich_tree_extract_file("/nonexistent/libmpich.so", &error));
    assert_non_null(strstr(error.message, "/nonexistent/libmpich.so"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_mpich_are_read),
        cmocka_unit_test(other_keys_are_refused_with_the_mend),
        cmocka_unit_test(the_first_that_holds_is_entered),
        cmocka_unit_test(sizes_are_those_of_mpich),
        cmocka_unit_test(communicators_of_one_host_are_told_apart),
        cmocka_unit_test(mpichs_flaw_is_followed),
        cmocka_unit_test(broken_trees_have_no_answer),
        cmocka_unit_test(a_complete_tree_passes),
        cmocka_unit_test(flaws_are_named_with_their_place),
        cmocka_unit_test(complements_catch_all),
        cmocka_unit_test(sizes_not_defined_are_flaws),
        cmocka_unit_test(partial_files_are_flaws),
        cmocka_unit_test(nesting_ends_where_mpich_gives_up),
        cmocka_unit_test(the_largest_tree_of_algorithms_is_found),
        cmocka_unit_test(hostile_files_hold_no_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
