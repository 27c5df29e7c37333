/* layout.h - which rank stands at which position, per channel.
 *
 * Channels differ by layout, not by algorithm. Channel c of a group over several hosts enters and
 * leaves each host at another local rank, so that all NICs are used; position 0 is the root.
 */
#ifndef CCLTUNE_LAYOUT_H
#define CCLTUNE_LAYOUT_H

#include "arena.h"
#include "error.h"

#include <stddef.h>
#include <stdint.h>

struct layout {
    uint32_t ranks, channels;
    uint32_t hosts, ranks_per_host; /* as far as it is regular; else hosts = 1 */
    const uint32_t *rank;           /* [channel * ranks + position] -> rank */
    const uint32_t *position;       /* [channel * ranks + rank] -> position */
};

#define LAYOUT_NO_ROOT UINT32_MAX

/* hosts x ranks_per_host ranks, numbered host by host. Channel c starts each host at local rank
 * c mod ranks_per_host and walks round it; the order of hosts is kept, so hierarchical rows find a
 * host's ranks side by side. With a root, its host comes first and the root stands before the
 * others of its host: position 0 of every channel. Arena-owned. */
int layout_make(uint32_t hosts, uint32_t ranks_per_host, uint32_t channels, uint32_t root,
                struct arena *arena, struct layout *layout, struct error *error);

static inline uint32_t layout_rank(const struct layout *layout, uint32_t channel, uint32_t position)
{
    return layout->rank[(size_t)channel * layout->ranks + position];
}

static inline uint32_t layout_position(const struct layout *layout, uint32_t channel, uint32_t rank)
{
    return layout->position[(size_t)channel * layout->ranks + rank];
}

#endif
