/* schedule_play.h - one loop of a schedule, played chunk by chunk, for whoever wants to look at it.
 *
 * Without time and without windows: a lane goes on until a message it waits for has not been sent.
 * What comes out is every message with its round (as walk.h counts rounds) and what it carried, and
 * what each position got hold of in which round.
 */
#ifndef CCLTUNE_SCHEDULE_PLAY_H
#define CCLTUNE_SCHEDULE_PLAY_H

#include "schedule.h"

#define PLAY_POSITIONS_MOST 64

/* What a chunk holds: chunk `chunk` of the inputs of the positions in `from`, a bit each. from 0:
 * nothing was ever written there. */
struct play_value {
    uint64_t from;
    uint32_t chunk;
};

struct play_message { /* to another position; not a token */
    uint32_t round, from, to;
    uint8_t lane; /* of the receiver */
    bool added;   /* the receiver adds it to others; else it keeps or passes it as it is */
    const struct play_value *values;
    uint32_t nr;
};

struct play_held {
    uint32_t round, position; /* from this round on */
    struct play_value value;
};

struct play {
    struct play_message *messages;
    size_t nr_messages, messages_capacity;
    struct play_held *held;
    size_t nr_held, held_capacity;
    uint32_t rounds;
    bool over; /* all lanes came to their end; else the schedule is stuck */
};

/* At most PLAY_POSITIONS_MOST positions; every index must be in its place (sched_check finds no
 * malformed schedule). Values belong to the arena; the rest ends with play_free. */
void play_schedule(const struct schedule *schedule, struct arena *arena, struct play *play);
void play_free(struct play *play);

#endif
