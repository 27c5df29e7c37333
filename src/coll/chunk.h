/* chunk.h - from elements to channels, loops and chunks: the one place that divides.
 *
 * A part of `count` elements is divided over channels, a channel's share over loops, a loop over
 * the chunks of a part; always equal with a remainder, so that sizes differ by one unit at most.
 * Unit: as many elements as fill 16 bytes, or one element where that would leave chunks empty.
 */
#ifndef CCLTUNE_CHUNK_H
#define CCLTUNE_CHUNK_H

#include <stdint.h>

struct chunk_plan {        /* of one call, one channel */
    uint64_t first, count; /* elements of each part that this channel handles */
    uint32_t loops;  /* >= 1, also for no elements: an empty call is one loop of empty chunks */
    uint32_t chunks; /* per part and loop */
    uint32_t unit;   /* elements */
};

struct chunk_span { /* elements, counted from the start of the part */
    uint64_t first, count;
};

/* The plan of channel `channel` of `channels` for parts of `count` elements of 1 to 16 bytes each;
 * `chunks` per part and loop. `most` = largest chunk in bytes (rounded up to a unit). */
struct chunk_plan chunk_plan_make(uint64_t count, uint32_t element_bytes, uint32_t channels,
                                  uint32_t channel, uint32_t chunks, uint64_t most);

/* Where chunk c of a part lies in a loop. */
struct chunk_span chunk_locate(const struct chunk_plan *plan, uint32_t loop, uint32_t chunk);

/* Slices of a message of `bytes`: max(1, ceil(bytes / slice)). An empty message is one empty slice.
 */
static inline uint64_t chunk_slices(uint64_t bytes, uint64_t slice)
{
    return bytes == 0 ? 1 : (bytes + slice - 1) / slice;
}

#endif
