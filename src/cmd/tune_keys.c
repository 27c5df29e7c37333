/* tune_keys.c - options to keys. */
#include "tune_keys.h"

#include <stdlib.h>
#include <string.h>

#define ELEMENT_BYTES 4 /* float: what trials are measured with */
#define SIZES_MOST    63

static const enum collective usual[] = {COLL_ALLREDUCE, COLL_REDUCE_SCATTER, COLL_ALL_GATHER,
                                        COLL_BROADCAST, COLL_REDUCE,         COLL_ALL_TO_ALL};

static bool is_usual(enum collective collective)
{
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (usual[i] == collective) {
            return true;
        }
    }
    return false;
}

static int read_collectives(const struct option_list *list, bool wanted[COLL_NR],
                            struct arena *arena, struct error *error)
{
    for (size_t i = 0; list->nr == 0 && i < sizeof usual / sizeof *usual; i++) {
        wanted[usual[i]] = true;
    }
    for (size_t i = 0; i < list->nr; i++) {
        char *names = arena_strdup(arena, list->items[i]), *name;
        while ((name = strsep(&names, ","))) {
            enum collective collective;
            if (coll_parse(name, &collective, error)) {
                return error_prefix(error, "--coll");
            }
            if (!is_usual(collective)) {
                return error_set(error, EXIT_INPUT,
                                 "--coll: %s is not tuned; there are allreduce, reduce-scatter, "
                                 "all-gather, broadcast, reduce and all-to-all",
                                 coll_name(collective));
            }
            wanted[collective] = true;
        }
    }
    return 0;
}

static int read_groups(const struct tune_keys_request *request, struct arena *arena,
                       struct group **groups, size_t *nr, struct error *error)
{
    const struct option_list *list = request->groups;
    *nr = list->nr ? list->nr : 1;
    *groups = arena_alloc(arena, *nr, sizeof **groups);
    if (list->nr == 0) {
        **groups = (struct group){.name = "all",
                                  .hosts = request->hosts,
                                  .ranks_per_host = request->ranks_per_host,
                                  .stride = 1,
                                  .concurrent = 1};
    }
    for (size_t i = 0; i < list->nr; i++) {
        struct group *group = &(*groups)[i];
        if (group_parse(list->items[i], group, error) ||
            group_fits(group, request->hosts, request->ranks_per_host, error)) {
            return error_prefix(error, "--group");
        }
        for (size_t j = 0; j < i; j++) {
            if (group_equal(group, &(*groups)[j])) {
                return error_set(error, EXIT_INPUT, "--group %s is given twice", list->items[i]);
            }
        }
        if (group_ranks(group) < 2) {
            return error_set(error, EXIT_INPUT, "--group %s has one rank: nothing to tune",
                             list->items[i]);
        }
    }
    return 0;
}

int tune_keys_make(const struct tune_keys_request *request, struct arena *arena, struct key **keys,
                   size_t *nr, struct error *error)
{
    bool wanted[COLL_NR] = {false};
    struct group *groups;
    size_t nr_groups;
    if (read_collectives(request->collectives, wanted, arena, error) ||
        read_groups(request, arena, &groups, &nr_groups, error)) {
        return -1;
    }
    if (request->hosts * request->ranks_per_host < 2) {
        return error_set(error, EXIT_INPUT,
                         "the launch has one rank: nothing to tune; launch at least two");
    }
    *keys = arena_alloc(arena, COLL_NR * nr_groups * SIZES_MOST, sizeof **keys);
    *nr = 0;
    for (int c = 0; c < COLL_NR; c++) {
        for (size_t g = 0; wanted[c] && g < nr_groups; g++) {
            uint32_t ranks = group_ranks(&groups[g]);
            uint64_t before = 0;
            for (uint64_t size = request->first; size <= request->last;) {
                uint64_t count = coll_count((enum collective)c, size, ELEMENT_BYTES, ranks);
                uint64_t bytes = coll_bytes((enum collective)c, count, ELEMENT_BYTES, ranks);
                if (bytes > before) {
                    (*keys)[(*nr)++] = (struct key){
                        .collective = (enum collective)c, .group = groups[g], .bytes = bytes};
                    before = bytes;
                }
                if (size > request->last / request->factor) {
                    break;
                }
                size *= request->factor;
            }
        }
    }
    return *nr ? 0
               : error_set(error, EXIT_INPUT,
                           "no size between %llu and %llu bytes gives every rank "
                           "an element",
                           (unsigned long long)request->first, (unsigned long long)request->last);
}
