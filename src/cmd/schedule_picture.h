/* schedule_picture.h - what a picture of a schedule says in each of its cells: the messages of one
 * position in one round. */
#ifndef CCLTUNE_SCHEDULE_PICTURE_H
#define CCLTUNE_SCHEDULE_PICTURE_H

#include "schedule_play.h"

struct picture_cell { /* a line for each kind of message: "0 -c3-> 1", "0 =c3=> 1..3,5" */
    const char **lines;
    size_t nr, capacity;
};

struct picture {
    const struct schedule *schedule;
    const struct play *play;
    struct arena *arena;
    struct picture_cell *cells; /* [round * ranks + position], rounds 0 .. play->rounds */
};

/* Fills the cells; the rest is given. */
void picture_make(struct picture *picture);
void picture_free(struct picture *picture);

/* Length of the longest line. */
int picture_widest(const struct picture *picture);

/* The number of a value in the message, wherever it lies: its chunk; of an all-to-all
 * sender x chunks of `in` + chunk. `from` may not be 0. */
uint64_t picture_name(const struct schedule *schedule, struct play_value value);

#endif
