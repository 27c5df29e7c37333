/* fuzz_mpich_tree.c - selection trees from anywhere: out of a "library", through check, lookup and
 * overlay. A tree that passes the check must answer every call, and still with grafts. */
#include "mpich_tree.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const enum collective tuned[] = {COLL_ALLREDUCE, COLL_REDUCE_SCATTER, COLL_ALL_GATHER,
                                        COLL_BROADCAST, COLL_REDUCE,         COLL_ALL_TO_ALL};

enum { NR_TUNED = sizeof tuned / sizeof tuned[0] };

static void look_up_all(const struct json *tree, bool must_answer)
{
    for (size_t i = 0; i < NR_TUNED; i++) {
        const struct mpich_collective *collective = mpich_collective_find(tuned[i]);
        for (uint32_t ranks = 1; ranks < 10; ranks += 3) {
            char leaf[MPICH_KEY_BYTES];
            struct mpich_query query =
                mpich_query_make(collective, ranks, (uint64_t)ranks << (4 * i), 4,
                                 (enum mpich_hierarchy)((ranks + i) % 4));
            query.commutative = ranks != 4;
            query.built_in = ranks == 1;
            if (mpich_tree_lookup(tree, collective, &query, leaf) && must_answer) {
                abort();
            }
        }
    }
}

static void graft_all(const struct json *tree)
{
    struct mpich_graft grafts[2 * NR_TUNED];
    struct error error = ERROR_NONE;
    for (size_t i = 0; i < NR_TUNED; i++) {
        const struct mpich_collective *collective = mpich_collective_find(tuned[i]);
        grafts[2 * i] = (struct mpich_graft){collective, &collective->algorithms[1], 4, 8, 64};
        grafts[2 * i + 1] =
            (struct mpich_graft){collective, &collective->algorithms[0], 3, 100, UINT64_MAX};
    }
    struct json *grafted = mpich_tree_overlay(tree, grafts, 2 * NR_TUNED, &error);
    if (!grafted) {
        abort();
    }
    look_up_all(grafted, true);
    json_free(grafted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = ERROR_NONE;
    struct json *tree = json_parse((const char *)data, size, "input", &error);
    if (tree) {
        bool whole = mpich_tree_check(tree, &error) == 0;
        look_up_all(tree, whole);
        if (whole) {
            graft_all(tree);
        }
        json_free(tree);
    }
    tree = mpich_tree_extract((const char *)data, size, "input", &error);
    if (tree) {
        look_up_all(tree, mpich_tree_check(tree, &error) == 0);
        json_free(tree);
    }
    return 0;
}
