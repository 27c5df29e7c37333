/* check_clock.h - what happens before what: a vector clock for each actor (a lane of a position).
 *
 * An actor's clock says how much of each other actor's past it has seen. A stamp is a clock at one
 * moment, sent along with a message or a freed slot. All waits of a schedule are for a known
 * message or slot, so what happens before what is the same in every interleaving: two accesses that
 * are unordered in the one run the checker makes are unordered in all, and the other way round.
 */
#ifndef CCLTUNE_CHECK_CLOCK_H
#define CCLTUNE_CHECK_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check_stamp {
    struct check_stamp *next; /* among spare ones */
    uint32_t references, actor;
    uint32_t time[];
};

struct check_clocks {
    uint32_t actors;
    uint32_t *time;              /* [actor * actors + other]; [actor * actors + actor]: now */
    struct check_stamp **latest; /* of each actor: good until something happens */
    struct check_stamp *spare;
    size_t stamps, stamps_most;
};

/* At most `stamps_most` stamps at a time. */
void check_clocks_begin(struct check_clocks *clocks, uint32_t actors, size_t stamps_most);
void check_clocks_release(struct check_clocks *clocks);

/* The actor touches memory: the time of that. */
uint32_t check_clock_touch(struct check_clocks *clocks, uint32_t actor);

/* Has `actor` seen what `other` did at `time`? */
static inline bool check_clock_seen(const struct check_clocks *clocks, uint32_t actor,
                                    uint32_t other, uint32_t time)
{
    return time <= clocks->time[(size_t)actor * clocks->actors + other];
}

/* The actor's past up to now, for others to acquire; NULL when there are too many. Each is dropped
 * as often as it was made or kept. */
struct check_stamp *check_clock_stamp(struct check_clocks *clocks, uint32_t actor);
struct check_stamp *check_clock_keep(struct check_stamp *stamp);
void check_clock_drop(struct check_clocks *clocks, struct check_stamp *stamp);
void check_clock_acquire(struct check_clocks *clocks, uint32_t actor,
                         const struct check_stamp *stamp);

/* Actors first .. first + nr - 1 meet: `actor`, one of them, now knows all their pasts ... */
void check_clock_meet(struct check_clocks *clocks, uint32_t first, uint32_t nr, uint32_t actor);
/* ... and after what it does then they part, all knowing it. */
void check_clock_part(struct check_clocks *clocks, uint32_t first, uint32_t nr, uint32_t actor);

#endif
