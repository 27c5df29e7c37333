/* runner_mpi.c - MPI's own collectives: `mpich` with its algorithm variables, `mpi` whatever it is
 * without settings.
 */
#include "mpi_control.h"
#include "mpi_exec.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mpi_state {
    struct controls controls; /* none for `mpi` */
    bool dirty;               /* is a control away from its start value? */
};

static MPI_Datatype type_of(enum datatype type)
{
    switch (type) {
    case TYPE_INT8:
        return MPI_INT8_T;
    case TYPE_UINT8:
        return MPI_UINT8_T;
    case TYPE_INT32:
        return MPI_INT32_T;
    case TYPE_UINT32:
        return MPI_UINT32_T;
    case TYPE_INT64:
        return MPI_INT64_T;
    case TYPE_UINT64:
        return MPI_UINT64_T;
    case TYPE_DOUBLE:
        return MPI_DOUBLE;
    case TYPE_FLOAT:
    case TYPE_HALF: /* accepts() refused them */
    case TYPE_BFLOAT16:
    case TYPE_NR:
        break;
    }
    return MPI_FLOAT;
}

static MPI_Op op_of(enum reduction reduction)
{
    switch (reduction) {
    case REDUCE_PROD:
        return MPI_PROD;
    case REDUCE_MIN:
        return MPI_MIN;
    case REDUCE_MAX:
        return MPI_MAX;
    case REDUCE_SUM:
    case REDUCE_AVG: /* accepts() refused it */
    case REDUCE_NR:
        break;
    }
    return MPI_SUM;
}

/* ---- one function a collective; "in place" as MPI spells it ---- */

static int call_allreduce(MPI_Comm comm, const struct call *c)
{
    return MPI_Allreduce(c->in_place ? MPI_IN_PLACE : c->send, c->recv, (int)c->count,
                         type_of(c->datatype), op_of(c->reduction), comm);
}

static int call_all_gather(MPI_Comm comm, const struct call *c)
{
    return MPI_Allgather(c->in_place ? MPI_IN_PLACE : c->send, (int)c->count, type_of(c->datatype),
                         c->recv, (int)c->count, type_of(c->datatype), comm);
}

static int call_reduce_scatter(MPI_Comm comm, const struct call *c)
{
    return MPI_Reduce_scatter_block(c->in_place ? MPI_IN_PLACE : c->send, c->recv, (int)c->count,
                                    type_of(c->datatype), op_of(c->reduction), comm);
}

static int call_broadcast(MPI_Comm comm, const struct call *c)
{
    return MPI_Bcast(c->recv, (int)c->count, type_of(c->datatype), (int)c->root, comm);
}

static int call_reduce(MPI_Comm comm, const struct call *c)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    const void *send = c->in_place ? c->recv : c->send;
    return MPI_Reduce(c->in_place && rank == (int)c->root ? MPI_IN_PLACE : send, c->recv,
                      (int)c->count, type_of(c->datatype), op_of(c->reduction), (int)c->root, comm);
}

static int call_all_to_all(MPI_Comm comm, const struct call *c)
{
    return MPI_Alltoall(c->send, (int)c->count, type_of(c->datatype), c->recv, (int)c->count,
                        type_of(c->datatype), comm);
}

static int (*const calls[COLL_NR])(MPI_Comm, const struct call *) = {
    [COLL_ALLREDUCE] = call_allreduce,
    [COLL_ALL_GATHER] = call_all_gather,
    [COLL_REDUCE_SCATTER] = call_reduce_scatter,
    [COLL_BROADCAST] = call_broadcast,
    [COLL_REDUCE] = call_reduce,
    [COLL_ALL_TO_ALL] = call_all_to_all,
};

/* MPICH 3.3 to 4.1 over ch4 reads a bad address where a root other than 0 reduces in place
 * (github.com/pmodels/mpich/issues/6540). */
static bool crashes(const struct call *call)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, major = 0, minor = 0;
    if (call->collective != COLL_REDUCE || !call->in_place || call->root == 0) {
        return false;
    }
    MPI_Get_library_version(text, &length);
    return sscanf(text, "MPICH Version: %d.%d", &major, &minor) == 2 && strstr(text, "ch4") &&
           (major == 3 || (major == 4 && minor < 2));
}

static int accepts(void *state, const struct call *call, struct error *error)
{
    (void)state;
    if (!calls[call->collective]) {
        return error_set(error, EXIT_INPUT,
                         "%s is not run with MPI here; there are allreduce, reduce-scatter, "
                         "all-gather, broadcast, reduce and all-to-all",
                         coll_name(call->collective));
    }
    if (call->datatype == TYPE_HALF || call->datatype == TYPE_BFLOAT16) {
        return error_set(error, EXIT_INPUT,
                         "datatype '%s': MPI's standard has no such type; use float for the same "
                         "number of elements, or int8 for the same bytes moved",
                         datatype_name(call->datatype));
    }
    if (coll_reduces(call->collective) && call->reduction == REDUCE_AVG) {
        return error_set(error, EXIT_INPUT,
                         "reduction 'avg': MPI has no such operation; use sum (the traffic is the "
                         "same)");
    }
    if (crashes(call)) {
        return error_set(error, EXIT_ABSENT,
                         "this MPICH crashes where a root other than 0 reduces in place (mended by "
                         "MPICH 4.2)");
    }
    if (call->count > INT_MAX) {
        return error_set(error, EXIT_INPUT,
                         "%llu elements: an MPI count ends at %d; use a wider "
                         "type (-d double) or a smaller size",
                         (unsigned long long)call->count, INT_MAX);
    }
    return 0;
}

static int run_call(void *state, const struct exec_group *group, const struct call *call,
                    struct error *error)
{
    (void)state;
    int code = calls[call->collective](group->comm, call);
    return code == MPI_SUCCESS ? 0 : exec_mpi_failed(code, coll_name(call->collective), error);
}

/* ---- what the library says of itself ---- */

static int note_library_path(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    if (info->dlpi_name && strstr(info->dlpi_name, "libmpi")) {
        snprintf(path, 4096, "%s", info->dlpi_name);
        return 1;
    }
    return 0;
}

/* "MPICH Version: 4.0.2 MPICH Release date: ... MPICH Device: ch4:ucx" -> the word after `label`.
 */
static void word_after(const char *text, const char *label, char *word, size_t capacity)
{
    const char *at = strstr(text, label);
    size_t nr = 0;
    if (at) {
        at += strlen(label);
        at += strspn(at, " \t:v");
        nr = strcspn(at, " \t\n,");
        nr = nr < capacity ? nr : capacity - 1;
        memcpy(word, at, nr);
    }
    word[nr] = 0;
}

static struct json *describe(void *state)
{
    struct mpi_state *mpi = state;
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "", path[4096] = "", version[64], device[64];
    int length = 0;
    MPI_Get_library_version(text, &length);
    bool mpich = strstr(text, "MPICH") != NULL;
    word_after(text, mpich ? "MPICH Version" : "Open MPI", version, sizeof version);
    word_after(text, "MPICH Device", device, sizeof device);
    dl_iterate_phdr(note_library_path, path);
    struct json *object = json_make_object();
    json_put_text(object, "name", mpich ? "MPICH" : strstr(text, "Open MPI") ? "Open MPI" : "MPI");
    json_put_text(object, "version", version);
    json_put_text(object, "device", device);
    json_put_text(object, "path", path);
    json_put(object, "values", control_describe(&mpi->controls));
    json_put_bool(object, "spins", true); /* both do unless told otherwise */
    return object;
}

/* ---- rows ---- */

static int open_any(struct exec *exec, void **state, struct error *error)
{
    (void)exec;
    (void)error;
    *state = calloc(1, sizeof(struct mpi_state));
    if (!*state) {
        abort();
    }
    return 0;
}

static void close_any(void *state)
{
    struct mpi_state *mpi = state;
    if (mpi->controls.items) {
        control_close(&mpi->controls);
    }
    free(mpi);
}

static int open_mpich(struct exec *exec, void **state, struct error *error)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    if (!strstr(text, "MPICH")) {
        text[strcspn(text, ",\n")] = 0;
        return error_set(error, EXIT_ABSENT,
                         "library mpich: this program is built with %s; build it with "
                         "make MPICC=mpicc.mpich, or use --library mpi",
                         text);
    }
    open_any(exec, state, error);
    struct mpi_state *mpi = *state;
    if (control_open(&mpi->controls, "_INTRA_ALGORITHM", error)) {
        free(mpi);
        return -1;
    }
    return 0;
}

static int apply(void *state, const struct candidate *candidate, struct error *error)
{
    struct mpi_state *mpi = state;
    if (mpi->dirty && control_restore(&mpi->controls, error)) {
        return -1;
    }
    mpi->dirty = false;
    for (size_t i = 0; i < candidate->nr_settings; i++) {
        const struct setting *setting = &candidate->settings[i];
        if (setting->scope == SCOPE_PROCESS) {
            continue; /* in force since the launch */
        }
        if (setting->scope != SCOPE_CALL) {
            return error_set(error, EXIT_ABSENT, "%s cannot be changed in a running job",
                             setting->name);
        }
        mpi->dirty = true;
        if (control_write(&mpi->controls, setting->name, setting->value, error)) {
            return -1;
        }
    }
    return 0;
}

const struct runner runner_mpich = {
    .name = "mpich",
    .what = "MPICH's collectives; algorithms by control variables",
    .spins = true,
    .open = open_mpich,
    .close = close_any,
    .describe = describe,
    .accepts = accepts,
    .apply = apply,
    .call = run_call,
};

const struct runner runner_mpi = {
    .name = "mpi",
    .what = "the collectives of whatever MPI this is, as they are",
    .spins = true,
    .open = open_any,
    .close = close_any,
    .describe = describe,
    .accepts = accepts,
    .apply = apply,
    .call = run_call,
};
