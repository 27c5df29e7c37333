/* chunk.c - equal shares with a remainder, three times: channels, loops, chunks. */
#include "chunk.h"

enum {
    ALIGN_BYTES = 16
}; /* the widest load; chunks that begin at multiples of it are copied fast */

/* The share `i` of `n` shares of `count` things: the first ones are larger by one. */
static struct chunk_span share(uint64_t count, uint64_t n, uint64_t i)
{
    uint64_t each = count / n, larger = count % n;
    return (struct chunk_span){.first = each * i + (i < larger ? i : larger),
                               .count = each + (i < larger)};
}

static uint64_t units_of(uint64_t elements, uint32_t unit)
{
    return elements / unit + (elements % unit > 0);
}

/* A span of units as elements; the last unit of all may be short. */
static struct chunk_span elements_of(struct chunk_span units, uint32_t unit, uint64_t count)
{
    uint64_t first = units.first * unit, end = (units.first + units.count) * unit;
    first = first < count ? first : count;
    end = end < count ? end : count;
    return (struct chunk_span){.first = first, .count = end - first};
}

/* Whole units of 16 bytes, unless some chunk would then be empty for want of units. */
static uint32_t choose_unit(uint64_t count, uint32_t element_bytes, uint32_t pieces)
{
    uint32_t unit = ALIGN_BYTES / element_bytes;
    return unit > 1 && count / unit >= pieces ? unit : 1;
}

struct chunk_plan chunk_plan_make(uint64_t count, uint32_t element_bytes, uint32_t channels,
                                  uint32_t channel, uint32_t chunks, uint64_t most)
{
    uint32_t unit = choose_unit(count, element_bytes, channels * chunks);
    uint64_t unit_bytes = (uint64_t)unit * element_bytes;
    uint64_t units_most = most / unit_bytes + (most % unit_bytes > 0 || most == 0);
    struct chunk_span units = share(units_of(count, unit), channels, channel);
    struct chunk_span elements = elements_of(units, unit, count);

    uint64_t each = units.count / chunks + (units.count % chunks > 0); /* units a chunk, one loop */
    uint64_t loops = each / units_most + (each % units_most > 0);
    loops = loops < 1 ? 1 : loops < UINT32_MAX ? loops : UINT32_MAX;
    return (struct chunk_plan){.first = elements.first,
                               .count = elements.count,
                               .loops = (uint32_t)loops,
                               .chunks = chunks,
                               .unit = unit};
}

struct chunk_span chunk_locate(const struct chunk_plan *plan, uint32_t loop, uint32_t chunk)
{
    struct chunk_span in_loop = share(units_of(plan->count, plan->unit), plan->loops, loop);
    struct chunk_span in_chunk = share(in_loop.count, plan->chunks, chunk);
    in_chunk.first += in_loop.first;
    struct chunk_span span = elements_of(in_chunk, plan->unit, plan->count);
    span.first += plan->first;
    return span;
}
