/* engine.h - runs schedules on the ranks of this job: one schedule, lowered to a plan per channel,
 * its lanes and proxies served in turn by the calling thread.
 *
 * A *plan set* is what one candidate needs for one kind of call: plans, connections, scratch. It is
 * made at first use and kept. Every function that names a group is collective over its ranks.
 */
#ifndef CCLTUNE_ENGINE_H
#define CCLTUNE_ENGINE_H

#include "mpi_exec.h"
#include "plan.h"
#include "schedule.h"
#include "transport.h"

struct engine;      /* this rank's part of it; opaque */
struct engine_plan; /* a plan set; opaque, belongs to the engine */

struct engine_choice {     /* a candidate of the engine */
    const char *algorithm; /* a row's name, or "file:PATH" */
    enum plan_protocol protocol;
    uint32_t channels;
    uint32_t window;      /* slots of a connection, a power of two >= 2 */
    uint32_t slice_bytes; /* a multiple of 16 */
    uint64_t chunk_bytes; /* the largest chunk; longer messages take more loops. 0: as usual */
    uint32_t levels[SCHED_LEVELS_MOST], nr_levels; /* 0: as the group lies on hosts */
    const struct transport *transport;             /* NULL: the best one for each pair */
};

int engine_open(struct exec *exec, struct engine **engine, struct error *error);
void engine_close(struct engine *engine);

/* Seconds that a peer may leave its part undone before a call gives up. */
void engine_set_patience(struct engine *engine, double seconds);

/* Two buffers of `bytes` that the group's ranks on this host can address: calls on them are direct.
 * They last until the next request of this group, or the engine's end. */
int engine_take_buffers(struct engine *engine, const struct exec_group *group, uint64_t bytes,
                        void **send, void **recv, struct error *error);

/* Can all ranks of the group address each other's memory? -1: no, `error` says between whom not. */
int engine_check_direct(struct engine *engine, const struct exec_group *group,
                        const struct engine_choice *choice, struct error *error);

/* Makes, or finds, the plan set of a candidate for calls like this one (its counts and buffers may
 * differ). Fails with EXIT_INPUT or EXIT_ABSENT, on all ranks alike, when it cannot serve them. */
int engine_prepare(struct engine *engine, const struct exec_group *group,
                   const struct engine_choice *choice, const struct call *call,
                   struct engine_plan **plan, struct error *error);

/* Runs a call; NCCL's conventions for buffers: in place, all-gather and gather take their input
 * from, reduce-scatter and scatter leave their result at, the rank's own part of `recv`. After a
 * failure the job is broken (exec_is_broken), and one rank's error has the reason, the others'
 * no message. */
int engine_run(struct engine *engine, struct engine_plan *plan, const struct call *call,
               struct error *error);

#endif
