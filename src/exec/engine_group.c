/* engine_group.c - what the engine knows of a communicator: who is where, which memory is shared.
 */
#include "engine_plan.h"

#include <stdlib.h>
#include <string.h>

struct engine_group *engine_find_group(struct engine *engine, const struct exec_group *group)
{
    for (size_t i = 0; i < engine->nr_groups; i++) {
        if (engine->groups[i].group == group) {
            return &engine->groups[i];
        }
    }
    struct engine_group *made = &engine->groups[engine->nr_groups++];
    int me, ranks;
    MPI_Comm_rank(group->comm, &me);
    MPI_Comm_size(group->comm, &ranks);
    size_t nr = (size_t)ranks;
    *made = (struct engine_group){.group = group,
                                  .me = (uint32_t)me,
                                  .ranks = (uint32_t)ranks,
                                  .hosts = calloc(nr, sizeof(uint32_t)),
                                  .locals = calloc(nr, sizeof(uint32_t))};
    if (!made->hosts || !made->locals) {
        abort();
    }
    const struct exec_place *place = &engine->exec->place;
    MPI_Allgather(&place->host, 1, MPI_UINT32_T, made->hosts, 1, MPI_UINT32_T, group->comm);
    MPI_Allgather(&place->local, 1, MPI_UINT32_T, made->locals, 1, MPI_UINT32_T, group->comm);
    return made;
}

void engine_free_group(struct engine_group *group)
{
    symmetric_free(&group->user);
    symmetric_free(&group->staged);
    free(group->hosts);
    free(group->locals);
}

/* A larger one than there is; half as much more, so that growing sizes do not each need their own.
 */
static int make_segment(struct engine *engine, const struct engine_group *group, uint64_t bytes,
                        struct symmetric *segment, struct error *error)
{
    symmetric_free(segment);
    return symmetric_make(group->group->comm, engine->exec->place.host, bytes, SYMMETRIC_BEST,
                          segment, error);
}

int engine_take_buffers(struct engine *engine, const struct exec_group *group, uint64_t bytes,
                        void **send, void **recv, struct error *error)
{
    struct engine_group *known = engine_find_group(engine, group);
    uint64_t half = plan_round(bytes + PLAN_LINE);
    if (known->user_half < half) {
        known->user_half = 0;
        if (make_segment(engine, known, 2 * half, &known->user, error)) {
            return -1;
        }
        known->user_half = half;
    }
    /* what was aimed at the old place is aimed anew */
    for (struct engine_plan *plan = engine->plans; plan; plan = plan->next) {
        plan->aimed_in = NULL;
    }
    *send = known->user.of[known->me];
    *recv = known->user.of[known->me] + known->user_half;
    return 0;
}

int engine_stage(struct engine *engine, struct engine_group *group, uint64_t bytes,
                 struct error *error)
{
    if (group->staged_bytes < bytes) {
        group->staged_bytes = 0;
        if (make_segment(engine, group, bytes + bytes / 2, &group->staged, error)) {
            return -1;
        }
        group->staged_bytes = bytes + bytes / 2;
        for (struct engine_plan *plan = engine->plans; plan; plan = plan->next) {
            plan->aimed_in = NULL;
        }
    }
    return 0;
}

int engine_check_direct(struct engine *engine, const struct exec_group *group,
                        const struct engine_choice *choice, struct error *error)
{
    const struct engine_group *known = engine_find_group(engine, group);
    if (choice->transport && !choice->transport->shares) {
        return error_set(error, EXIT_INPUT,
                         "it reads and writes its peers' buffers, which transport %s does not "
                         "give; use --transport shm or another algorithm",
                         choice->transport->name);
    }
    for (uint32_t rank = 0; rank < known->ranks; rank++) {
        if (known->hosts[rank] != known->hosts[known->me]) {
            return error_set(error, EXIT_INPUT,
                             "it reads and writes its peers' buffers, and the group lies on "
                             "several hosts; use another algorithm");
        }
    }
    return 0;
}
