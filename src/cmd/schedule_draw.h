/* schedule_draw.h - a schedule as a picture in text: who sends which chunk to whom, round by round,
 * and what each position has in hand after each. */
#ifndef CCLTUNE_SCHEDULE_DRAW_H
#define CCLTUNE_SCHEDULE_DRAW_H

#include "schedule.h"

#include <stdio.h>

/* Up to PLAY_POSITIONS_MOST positions (schedule_play.h); more are an error. Every index of the
 * schedule must be in its place. */
int schedule_draw(const struct schedule *schedule, FILE *out, struct error *error);

#endif
