/* layout.c - who stands where, host by host.
 *
 * Channel c walks every host from local rank c on, so channels enter and leave a host at different
 * ranks and use different NICs. The root's host comes first, and the root before its neighbours;
 * they keep the order of the walk.
 */
#include "layout.h"

#include <inttypes.h>
#include <stdbool.h>

enum {
    RANKS_MOST = 1 << 20,
    CHANNELS_MOST = 1 << 10,
    PLACES_MOST = 1 << 26 /* ranks x channels */
};

static int check_sizes(uint32_t hosts, uint32_t ranks_per_host, uint32_t channels, uint32_t root,
                       struct error *error)
{
    uint64_t ranks = (uint64_t)hosts * ranks_per_host;
    if (ranks < 1 || ranks > RANKS_MOST) {
        return error_set(error, EXIT_INPUT,
                         "%" PRIu32 " hosts of %" PRIu32 " ranks: expected 1 to %d ranks in all",
                         hosts, ranks_per_host, RANKS_MOST);
    }
    if (channels < 1 || channels > CHANNELS_MOST || ranks * channels > PLACES_MOST) {
        return error_set(error, EXIT_INPUT,
                         "%" PRIu32 " channels of %" PRIu64 " ranks: expected 1 to %d channels, "
                         "and at most %d places in all",
                         channels, ranks, CHANNELS_MOST, PLACES_MOST);
    }
    if (root != LAYOUT_NO_ROOT && root >= ranks) {
        return error_set(error, EXIT_INPUT, "root %" PRIu32 ": expected a rank from 0 to %" PRIu64,
                         root, ranks - 1);
    }
    return 0;
}

/* Writes the local ranks of a host in the order of the walk: from `start` round, `leader` first. */
static void walk_host(uint32_t *ranks, uint32_t first, uint32_t nr, uint32_t start, uint32_t leader)
{
    uint32_t at = 0;
    if (leader < nr) {
        ranks[at++] = first + leader;
    }
    for (uint32_t i = 0; i < nr; i++) {
        uint32_t local = (start + i) % nr;
        if (local != leader) {
            ranks[at++] = first + local;
        }
    }
}

int layout_make(uint32_t hosts, uint32_t ranks_per_host, uint32_t channels, uint32_t root,
                struct arena *arena, struct layout *layout, struct error *error)
{
    if (check_sizes(hosts, ranks_per_host, channels, root, error)) {
        return -1;
    }
    uint32_t ranks = hosts * ranks_per_host;
    bool rooted = root != LAYOUT_NO_ROOT;
    uint32_t root_host = rooted ? root / ranks_per_host : 0;
    uint32_t root_local = rooted ? root % ranks_per_host : ranks_per_host;
    uint32_t *rank = arena_alloc(arena, (size_t)ranks * channels, sizeof *rank);
    uint32_t *position = arena_alloc(arena, (size_t)ranks * channels, sizeof *position);
    for (uint32_t c = 0; c < channels; c++) {
        uint32_t *of_channel = rank + (size_t)c * ranks;
        for (uint32_t h = 0; h < hosts; h++) {
            uint32_t host = (root_host + h) % hosts;
            walk_host(of_channel + h * ranks_per_host, host * ranks_per_host, ranks_per_host,
                      c % ranks_per_host, h == 0 ? root_local : ranks_per_host);
        }
        for (uint32_t p = 0; p < ranks; p++) {
            position[(size_t)c * ranks + of_channel[p]] = p;
        }
    }
    *layout = (struct layout){.ranks = ranks,
                              .channels = channels,
                              .hosts = hosts,
                              .ranks_per_host = ranks_per_host,
                              .rank = rank,
                              .position = position};
    return 0;
}
