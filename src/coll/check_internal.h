/* check_internal.h - the parts of the checker (sched_check.h) among themselves.
 *
 *     check_form.c    is every index in its place, is it small enough to be run? Nothing else
 * trusts a schedule, which may come from a file check_match.c   has every receive its send, and the
 * same number of chunks? check_step.c    a step in its repetition: peers and chunks, looked up
 *     check_run.c     whose turn it is; from step to step, from loop to loop, from call to call
 *     check_order.c   the one order of a step
 *     check_slot.c    slots posted, taken and freed
 *     check_memory.c  chunks: who wrote what, who read it, was that ordered; the caller between
 * calls check_value.c   what a chunk holds check_clock.c   what happens before what check_fault.c
 * faults in words
 */
#ifndef CCLTUNE_CHECK_INTERNAL_H
#define CCLTUNE_CHECK_INTERNAL_H

#include "check_clock.h"
#include "check_value.h"
#include "sched_check.h"
#include "walk.h"

#define CHECK_CALLER UINT32_MAX /* as a step: the caller, between calls */

struct check_action { /* who did it, and when in its program */
    uint32_t actor;   /* position * lanes + lane */
    uint32_t step;    /* unrolled, of its lane; or CHECK_CALLER */
    uint32_t turn;    /* call * loops + loop */
};

struct check_access {
    struct check_action by;
    uint32_t time; /* of the actor's clock; 0: before the run */
};

struct check_read {
    struct check_access access;
    uint32_t next; /* 0: the last one */
};

struct check_cell { /* one slice of one chunk */
    uint32_t value;
    uint32_t reads; /* since it was written */
    struct check_access write;
};

struct check_memory {
    struct check_cell *cells;
    struct check_read *reads; /* from 1 on */
    size_t nr_reads, reads_capacity;
    uint32_t spare_read;
    uint32_t user_chunks;  /* of in and out together, per loop */
    uint32_t per_position; /* cells */
};

struct check_slot { /* one slice on its way */
    uint32_t value;
    uint32_t cell; /* pull: where it lies */
    struct check_stamp *stamp;
};

struct check_sent {  /* a message as its sender or its receiver writes it down */
    uint32_t chunks; /* 0: a token */
    uint32_t step;
    enum sched_via via;
};

struct check_messages { /* of one loop, in order */
    struct check_sent *items;
    uint32_t nr, capacity;
};

struct check_connection { /* from an actor to an actor */
    uint32_t from, to;
    struct check_messages sent, received;
    uint64_t send_mark, receive_mark;  /* the step that last named it */
    uint64_t posted, taken;            /* slices */
    struct check_slot *slots;          /* [window] */
    struct check_stamp **freed;        /* [window]: of the slots taken and not used again */
    const struct check_message *place; /* push: where the receiver wants it */
    const struct check_lane *receiver; /* who asks for that */
    struct check_stamp *place_stamp;
};

struct check_message { /* of the step at hand */
    struct check_connection *connection;
    const struct sched_range *range; /* NULL: the value, or a token */
    uint32_t first, chunks;          /* lane->chunks[first] ... */
    uint32_t slices;
    const struct check_message *place; /* push, from the first slice on */
    const struct check_lane *receiver;
};

struct check_list {
    struct check_message *items;
    size_t nr, capacity;
};

enum check_phase {
    CHECK_NEXT,    /* on to the next step */
    CHECK_SEND,    /* post the slices of ranges that lead */
    CHECK_RECEIVE, /* wait for a slice of every receive */
    CHECK_ROOM,    /* wait for a slot of every peer that gets the value */
    CHECK_COMBINE,
    CHECK_DRAIN /* pull: wait until every descriptor is freed */
};

enum check_wait {
    CHECK_RUNS,
    CHECK_FOR_SLICE,
    CHECK_FOR_ROOM,
    CHECK_FOR_PLACE,
    CHECK_FOR_DRAIN,
    CHECK_FOR_CALL
};

struct check_lane { /* an actor */
    uint32_t actor, position;
    const struct sched_lane *program;
    struct walk walk;
    struct walk_step at;
    uint32_t step, turn;
    bool over; /* all its calls are */
    enum check_phase phase;
    int64_t iteration;
    size_t cursor;
    struct check_list sends, values, receives; /* values: connections only */
    struct check_message take, store;
    uint32_t *chunks; /* indices */
    size_t nr_chunks, chunks_capacity;
    uint32_t send_slices, value_slices; /* the longest; 0: none at all */
    enum check_wait wait;
    struct check_connection *waits_on;
};

struct check {
    const struct schedule *schedule;
    struct sched_check_options options;
    struct arena arena; /* programs, connections, words of a fault */
    const struct sched_program **programs;
    uint32_t positions, lanes, actors, turns;
    struct check_lane *lane;               /* [actor] */
    struct check_connection **connections; /* hash table by (from, to) */
    size_t nr_connections, connections_size;
    uint64_t steps_begun;   /* a mark for each */
    uint64_t steps, events; /* of one loop: steps, and slices sent, received or combined */
    struct check_memory memory;
    struct check_values values;
    struct check_clocks clocks;
    uint32_t *ready; /* actors */
    uint32_t nr_ready, nr_over;
    uint32_t *finished; /* [position]: lanes that have ended the call */
    uint64_t random;
    enum sched_fault fault;
    struct error *error;
};

/* check_fault.c. check_fail returns -1. What describes an action belongs to the arena. */
int check_fail(struct check *check, enum sched_fault fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *check_describe(struct check *check, struct check_action action);
const char *check_describe_cell(struct check *check, uint32_t cell);
int check_fail_deadlock(struct check *check);

/* check_form.c: sizes first, then programs, then every step of a lane in each repetition. */
int check_form_shape(struct check *check);
int check_form_program(struct check *check, uint32_t position);
int check_form_step(struct check *check, const struct check_lane *lane);

/* check_match.c */
int check_match_all(struct check *check);

/* check_step.c: fills sends, values, receives, take and store of the lane's step. */
struct check_connection *check_connect(struct check *check, uint32_t from, uint32_t to);
int check_step_resolve(struct check *check, struct check_lane *lane);
static inline struct check_action check_action_of(const struct check_lane *lane)
{
    return (struct check_action){lane->actor, lane->step, lane->turn};
}

/* check_memory.c. A cell is a slice of a chunk in the loop of `turn`. */
void check_memory_begin(struct check *check);
uint32_t check_memory_cell(const struct check *check, uint32_t position, enum sched_buffer buffer,
                           uint32_t chunk, uint32_t slice, uint32_t turn);
int check_memory_read(struct check *check, const struct check_lane *by, uint32_t cell,
                      uint32_t *value);
int check_memory_write(struct check *check, const struct check_lane *by, uint32_t cell,
                       uint32_t value);
/* May the schedule store into that chunk? */
bool check_memory_writable(const struct check *check, uint32_t position, enum sched_buffer buffer,
                           uint32_t chunk);
/* The caller of a position: its inputs of a call; its turn between calls, when `last` was the last
 * of the lanes to end one: reads the outputs, then uses all memory for something else. */
int check_memory_call(struct check *check, uint32_t position, uint32_t call);
int check_memory_caller(struct check *check, const struct check_lane *last);

/* check_slot.c. A lane that waits is woken by who posts or frees on that connection. */
enum check_result { CHECK_FAULT = -1, CHECK_WAITS, CHECK_GOES_ON };
enum check_result check_slot_wait(struct check_lane *lane, enum check_wait wait,
                                  struct check_connection *connection);
void check_slot_ready(struct check *check, struct check_lane *lane);
void check_slot_wake(struct check *check, uint32_t actor,
                     const struct check_connection *connection);
struct check_slot *check_slot_at(const struct check *check,
                                 const struct check_connection *connection, uint64_t nr);
bool check_slot_room(struct check *check, const struct check_lane *lane,
                     const struct check_connection *connection);
int check_slot_stamp(struct check *check, const struct check_lane *lane, struct check_stamp **made);
int check_slot_post(struct check *check, const struct check_lane *lane,
                    struct check_connection *connection, uint32_t value, uint32_t cell);
int check_slot_take(struct check *check, const struct check_lane *lane,
                    struct check_connection *connection);

/* check_order.c: the phases of a step */
enum check_result check_order_send(struct check *check, struct check_lane *lane);
enum check_result check_order_receive(struct check *check, struct check_lane *lane);
enum check_result check_order_room(struct check *check, struct check_lane *lane);
enum check_result check_order_combine(struct check *check, struct check_lane *lane);
enum check_result check_order_drain(struct check *check, struct check_lane *lane);

/* check_run.c */
int check_run(struct check *check);

#endif
