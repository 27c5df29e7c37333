/* sched_build.h - how a row writes its program: small words for steps, so that an algorithm file
 * reads like the algorithm.
 *
 * A *frame* says for whom a row's half is written: itself as a whole, or a sub-group and a part of
 * the message inside a hierarchy. Rows write positions 0..n-1 and chunks 0.. of their frame; the
 * frame's spaces rename them. So a hierarchy is made of other rows' words.
 *
 *     ring:  build_send(b, 0, next, build_range(f, SCHED_IN, r));
 *            build_repeat(b, 0, n - 2);
 *                build_receive(b, 0, prev); build_take(...); build_send_value(b, 0, next);
 *            build_end(b, 0);
 */
#ifndef CCLTUNE_SCHED_BUILD_H
#define CCLTUNE_SCHED_BUILD_H

#include "schedule.h"

struct sched_frame {
    uint32_t n, r;             /* ranks of the frame's group, and this position in it */
    struct sched_space group;  /* frame position -> position */
    struct sched_space chunks; /* frame chunk -> chunk */
    enum sched_buffer from;    /* where the input lies: in, or scratch inside a hierarchy */
    enum sched_buffer to;      /* where the result goes */
    uint8_t lane;              /* the frame's first lane */
};

/* The whole group and message: positions and `chunks` chunks as they are. */
struct sched_frame build_frame(const struct sched_request *request, uint32_t position,
                               uint32_t chunks);

/* Peers and ranges in the frame. Lanes are counted from the program's first everywhere, so a row
 * that may stand inside another adds frame->lane. Change .move, .count, .run ... afterwards where
 * needed. */
struct sched_peers build_peer(const struct sched_frame *frame, int32_t position, uint8_t lane);
struct sched_peers build_peers(const struct sched_frame *frame, int32_t first, int32_t count,
                               uint8_t lane);
struct sched_range build_range(const struct sched_frame *frame, enum sched_buffer buffer,
                               int32_t first);
struct sched_range build_runs(const struct sched_frame *frame, enum sched_buffer buffer,
                              int32_t first, int32_t run);

/* Begins a step at the end of a lane (or of the open repeat there) and returns it to be filled; it
 * stays valid until the next call of this lane. */
struct sched_step *build_step(struct sched_builder *builder, uint8_t lane);

/* Opens and closes a repeat in a lane. times = 0: the items inside are dropped. May nest once. */
void build_repeat(struct sched_builder *builder, uint8_t lane, uint32_t times);
void build_end(struct sched_builder *builder, uint8_t lane);

/* Words that fill a step. More than SCHED_SENDS_MOST lists is a bug in the row (abort). */
void step_receive(struct sched_step *step, struct sched_peers peers);
void step_take(struct sched_step *step, struct sched_range range);
void step_store(struct sched_step *step, struct sched_range range);
void step_send(struct sched_step *step, struct sched_peers peers, struct sched_range range);
void step_send_value(struct sched_step *step, struct sched_peers peers);
/* Whole steps that most rows need. */
void build_copy(struct sched_builder *builder, uint8_t lane, struct sched_range from,
                struct sched_range to);
/* A token from lane to lane of oneself: sent in `from`, awaited in `to`. */
void build_token(struct sched_builder *builder, const struct sched_frame *frame, uint8_t from,
                 uint8_t to);
void build_await(struct sched_builder *builder, const struct sched_frame *frame, uint8_t lane,
                 uint8_t from);

/* For sched_program: a builder that writes into `program`, and its end (repeats must be closed). */
struct sched_builder *build_begin(struct arena *arena, uint32_t lanes);
void build_finish(struct sched_builder *builder, struct sched_program *program);

#endif
