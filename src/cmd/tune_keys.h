/* tune_keys.h - the keys of a tuning: collectives x groups x sizes, as the ranks can run them. */
#ifndef CCLTUNE_TUNE_KEYS_H
#define CCLTUNE_TUNE_KEYS_H

#include "arena.h"
#include "candidate.h"
#include "option.h"

struct tune_keys_request {
    const struct option_list *collectives; /* names, or lists a,b; empty: those of MPI */
    const struct option_list *groups;      /* texts; empty: all ranks */
    uint64_t first, last, factor;
    uint32_t hosts, ranks_per_host; /* of the launch */
};

/* Sizes are what can be run exactly with float elements (a divided collective rounds down to whole
 * parts); sizes that round to nothing or to the one before are left out. Sorted by collective,
 * group, bytes; arena-owned. A group that does not fit the launch is an error. */
int tune_keys_make(const struct tune_keys_request *request, struct arena *arena, struct key **keys,
                   size_t *nr, struct error *error);

#endif
