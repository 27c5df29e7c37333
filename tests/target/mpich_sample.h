/* mpich_sample.h - a complete selection tree for tests, made up in MPICH's form. */
#ifndef CCLTUNE_TESTS_MPICH_SAMPLE_H
#define CCLTUNE_TESTS_MPICH_SAMPLE_H

#include "error.h"
#include "json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The tuned collectives get conditions of every kind that MPICH's own tree has for them. */
static const char sample_text[] =
    "{\"collective=allreduce\": {"
    "  \"comm_type=intra\": {"
    "    \"avg_msg_size<=0\": {"
    "      \"is_commutative=yes\": {\"algorithm=MPIR_Allreduce_intra_smp\": {}},"
    "      \"is_commutative=no\": {\"algorithm=MPIR_Allreduce_intra_recursive_doubling\": {}}},"
    "    \"avg_msg_size<=16\": {\"algorithm=MPIR_Allreduce_intra_recursive_doubling\": {}},"
    "    \"avg_msg_size=any\": {"
    "      \"is_op_built_in=no\": {\"algorithm=MPIR_Allreduce_intra_recursive_doubling\": {}},"
    "      \"is_op_built_in=yes\": {"
    "        \"count<pow2\": {\"algorithm=MPIR_Allreduce_intra_recursive_doubling\": {}},"
    "        \"count=any\": {\"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather\": {}}}}},"
    "  \"comm_type=inter\": {\"algorithm=MPIR_Allreduce_inter_sample\": {}}},"
    " \"collective=allgather\": {"
    "  \"comm_type=intra\": {"
    "    \"comm_size=pow2\": {"
    "      \"total_msg_size<4096\": {\"algorithm=MPIR_Allgather_intra_recursive_doubling\": {}},"
    "      \"total_msg_size=any\": {\"algorithm=MPIR_Allgather_intra_ring\": {}}},"
    "    \"comm_size=any\": {\"algorithm=MPIR_Allgather_intra_brucks\": {}}},"
    "  \"comm_type=inter\": {\"algorithm=MPIR_Allgather_inter_sample\": {}}},"
    " \"collective=bcast\": {"
    "  \"comm_type=intra\": {"
    "    \"comm_size<8\": {"
    "      \"comm_hierarchy=parent\": {"
    "        \"avg_msg_size<=0\": {\"algorithm=MPIR_Bcast_intra_smp\": {}},"
    "        \"avg_msg_size=any\": {\"algorithm=MPIR_Bcast_intra_binomial\": {}}},"
    "      \"comm_hierarchy=any\": {\"algorithm=MPIR_Bcast_intra_binomial\": {}}},"
    "    \"comm_size=any\": {"
    "      \"avg_msg_size<=2048\": {\"algorithm=MPIR_Bcast_intra_binomial\": {}},"
    "      \"avg_msg_size=any\": {\"algorithm=MPIR_Bcast_intra_scatter_ring_allgather\": {}}}},"
    "  \"comm_type=inter\": {\"algorithm=MPIR_Bcast_inter_sample\": {}}},"
    " \"collective=reduce\": {"
    "  \"comm_type=intra\": {"
    "    \"comm_hierarchy=parent\": {\"algorithm=MPIR_Reduce_intra_binomial\": {}},"
    "    \"comm_hierarchy=any\": {"
    "      \"avg_msg_size<=1024\": {\"algorithm=MPIR_Reduce_intra_binomial\": {}},"
    "      \"avg_msg_size=any\": {\"algorithm=MPIR_Reduce_intra_reduce_scatter_gather\": {}}}},"
    "  \"comm_type=inter\": {\"algorithm=MPIR_Reduce_inter_sample\": {}}},"
    " \"collective=alltoall\": {"
    "  \"comm_type=intra\": {"
    "    \"is_sendbuf_inplace=yes\": {"
    "      \"algorithm=MPIR_Alltoall_intra_pairwise_sendrecv_replace\": {}},"
    "    \"is_sendbuf_inplace=no\": {"
    "      \"comm_size<8\": {\"algorithm=MPIR_Alltoall_intra_scattered\": {}},"
    "      \"comm_size=any\": {\"algorithm=MPIR_Alltoall_intra_pairwise\": {}}}},"
    "  \"comm_type=inter\": {\"algorithm=MPIR_Alltoall_inter_sample\": {}}}}";

/* All others have one leaf. */
static const char *const sample_others[] = {"allgatherv",
                                            "alltoallv",
                                            "alltoallw",
                                            "barrier",
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
                                            "reduce_scatter",
                                            "reduce_scatter_block",
                                            "scan",
                                            "scatter",
                                            "scatterv"};

/* A tree that must parse: for texts written in tests. */
static inline struct json *sample_parse(const char *text)
{
    struct error error = ERROR_NONE;
    struct json *json = json_parse(text, strlen(text), "sample", &error);
    if (!json) {
        fprintf(stderr, "# %s\n", error.message);
    }
    return json;
}

static inline struct json *sample_leaf(const char *algorithm)
{
    char key[200];
    struct json *leaf = json_make_object();
    snprintf(key, sizeof key, "algorithm=%s", algorithm);
    json_put(leaf, key, json_make_object());
    return leaf;
}

static inline struct json *sample_tree(void)
{
    struct json *tree = sample_parse(sample_text);
    for (size_t i = 0; i < sizeof sample_others / sizeof sample_others[0]; i++) {
        char key[80], algorithm[80];
        snprintf(key, sizeof key, "collective=%s", sample_others[i]);
        snprintf(algorithm, sizeof algorithm, "MPIR_%c%s_intra_sample",
                 toupper((unsigned char)sample_others[i][0]), sample_others[i] + 1);
        json_put(tree, key, sample_leaf(algorithm));
    }
    return tree;
}

#endif
