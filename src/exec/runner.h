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
    const void *send; /* equal to recv's place: in place */
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
    /* Runs the call on the group's communicator. */
    int (*call)(void *state, const struct exec_group *group, const struct call *call,
                struct error *error);
};

/* The row named `name`; the error lists the rows. */
const struct runner *runner_find(const char *name, struct error *error);

#endif
