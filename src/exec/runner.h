/* runner.h - a library whose collectives are run: one row each. */
#ifndef CCLTUNE_RUNNER_H
#define CCLTUNE_RUNNER_H

#include "candidate.h"
#include "datatype.h"
#include "error.h"
#include "json.h"

#include <stdbool.h>
#include <stdint.h>

struct exec;

struct call { /* one collective call as this rank makes it */
    enum collective collective;
    const void *send; /* in place: not looked at */
    void *recv;
    uint64_t count; /* coll_count(): of one part where the collective divides */
    enum datatype datatype;
    enum reduction reduction;
    uint32_t root;
    bool in_place;
};

struct exec_group;

struct runner {
    const char *name;
    const char *what;
    bool spins; /* more ranks than cores make its figures meaningless */
    /* NCCL's buffers: a broadcast has an input of its own, in place a reduce-scatter or scatter
     * leaves its result at the rank's own part. Else MPI's. */
    bool as_nccl;
    /* Is the library here? Says what is, if not. */
    int (*open)(struct exec *exec, void **state, struct error *error);
    void (*close)(void *state);
    /* See exec_describe_library; not collective. */
    struct json *(*describe)(void *state);
    /* Can it do this at all? The error is the reason; not collective. */
    int (*accepts)(void *state, const struct call *call, struct error *error);
    /* Makes the candidate's settings of scope call take effect; the default takes them back.
     * Settings of scope process were made at launch. Not collective, same on all ranks. */
    int (*apply)(void *state, const struct candidate *candidate, struct error *error);
    /* Readies the settings in force for calls like this one; fails with EXIT_INPUT or EXIT_ABSENT
     * when they cannot serve them, on all ranks of the group alike. Collective over the group;
     * NULL: nothing to do. */
    int (*prepare)(void *state, const struct exec_group *group, const struct call *call,
                   struct error *error);
    /* Two buffers that are registered with the library, until the next request. Collective over
     * the group; NULL: it knows no such memory. */
    int (*take_buffers)(void *state, const struct exec_group *group, uint64_t bytes, void **send,
                        void **recv, struct error *error);
    /* Runs the call on the group's communicator. */
    int (*call)(void *state, const struct exec_group *group, const struct call *call,
                struct error *error);
};

extern const struct runner runner_mpich, runner_mpi, runner_engine;

/* The row named `name`; the error lists the rows. */
const struct runner *runner_find(const char *name, struct error *error);

#endif
