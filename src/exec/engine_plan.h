/* engine_plan.h - the inside of the engine, for its files. */
#ifndef CCLTUNE_ENGINE_PLAN_H
#define CCLTUNE_ENGINE_PLAN_H

#include "connection.h"
#include "engine.h"
#include "interpreter.h"

struct engine_group { /* what the engine knows of a communicator */
    const struct exec_group *group;
    uint32_t me, ranks;
    uint32_t *hosts, *locals;      /* [rank]: malloc'ed */
    struct symmetric user, staged; /* buffers handed out; where plain buffers are copied to */
    uint64_t user_half, staged_bytes;
};

struct engine_channel {
    struct plan plan;
    struct plan_call call;
    struct plan_lane *lanes; /* [plan.lanes] */
    enum plan_status *status;
    bool active; /* has it a share of this call? */
};

struct engine_plan {
    /* the key */
    struct engine_group *group;
    struct engine_choice choice;
    enum collective collective;
    bool in_place;
    uint32_t root;
    /* what it stands for */
    struct arena arena;
    struct schedule schedule;
    struct layout layout;
    struct engine_channel *channels; /* [layout.channels] */
    struct connection_set connections;
    bool direct;
    uint64_t chunk_bytes; /* the largest chunk of a call */
    /* the buffers that connections were last aimed at */
    const unsigned char *aimed_in, *aimed_out;
    uint64_t aimed_part; /* bytes */
    struct engine_plan *next;
};

struct engine {
    struct exec *exec;
    struct engine_group *groups; /* [EXEC_GROUPS_KEPT]; malloc'ed, its places are kept */
    size_t nr_groups;
    struct engine_plan *plans; /* newest first */
    double patience;           /* seconds */
};

/* The group as the engine knows it; collective at first use. */
struct engine_group *engine_find_group(struct engine *engine, const struct exec_group *group);
void engine_free_group(struct engine_group *group);
/* Makes sure of so much staging memory on every rank. Collective when it must grow. */
int engine_stage(struct engine *engine, struct engine_group *group, uint64_t bytes,
                 struct error *error);

/* Serves all lanes and proxies until the call is done; -1: a peer left its part undone. */
int engine_serve(struct engine *engine, struct engine_plan *plan, struct error *error);

#endif
