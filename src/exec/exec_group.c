/* exec_group.c - communicators of groups, made once and kept. */
#include "mpi_exec.h"

int exec_find_group(struct exec *exec, const struct group *group, struct exec_group **found,
                    struct error *error)
{
    for (size_t i = 0; i < exec->nr_groups; i++) {
        if (group_equal(&exec->groups[i].group, group)) {
            *found = &exec->groups[i];
            return 0;
        }
    }
    if (exec->nr_groups == EXEC_GROUPS_KEPT) {
        return error_set(error, EXIT_INPUT, "more than %d groups in one job: split the run",
                         EXEC_GROUPS_KEPT);
    }
    const struct exec_place *place = &exec->place;
    if (group_fits(group, place->hosts, place->local_ranks, error)) {
        return -1;
    }
    struct exec_group *made = &exec->groups[exec->nr_groups];
    uint32_t index = 0, position = 0;
    bool in = place->local < place->local_ranks &&
              group_place(group, place->host, place->local, place->local_ranks, &index, &position);
    *made = (struct exec_group){.group = *group, .comm = MPI_COMM_NULL, .position = position};
    int code =
        MPI_Comm_split(exec->world, in ? (int)index : MPI_UNDEFINED, (int)position, &made->comm);
    if (code != MPI_SUCCESS) {
        return exec_mpi_failed(code, "making a communicator for a group", error);
    }
    exec->nr_groups++;
    *found = made;
    return 0;
}
