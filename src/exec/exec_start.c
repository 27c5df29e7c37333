/* exec_start.c - MPI up and down, who stands where, agreement, sharing, heartbeat. */
#include "exec_alive.h"
#include "mpi_exec.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int exec_mpi_failed(int code, const char *what, struct error *error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return error_set(error, EXIT_SYSTEM, "%s: MPI says: %s", what, text);
}

/* A launcher of another MPI leaves its own variables and this MPI starts n jobs of one rank. */
static int check_launcher(int ranks, struct error *error)
{
    static const struct {
        const char *variable, *launcher;
    } launchers[] = {
        {"OMPI_COMM_WORLD_SIZE", "Open MPI's mpiexec"},
        {"PMI_SIZE", "a Hydra or PMI launcher (MPICH's mpiexec)"},
        {"SLURM_NTASKS", "Slurm's srun"},
    };
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *text = getenv(launchers[i].variable);
        int promised = text ? atoi(text) : 0;
        bool is_step = i < 2 || getenv("SLURM_PROCID"); /* a batch script has NTASKS, no PROCID */
        if (promised > 1 && ranks == 1 && is_step) {
            MPI_Get_library_version(library, &length);
            library[strcspn(library, "\n,")] = 0;
            for (char *tab; (tab = strchr(library, '\t'));) {
                *tab = ' ';
            }
            bool mpich = strstr(library, "MPICH") != NULL;
            return error_set(error, EXIT_ABSENT,
                             "launched by %s, which says %d ranks (%s), but this program is built "
                             "with %s, which sees 1: launch it with %s, or rebuild with make "
                             "MPICC=... of the launcher's MPI",
                             launchers[i].launcher, promised, launchers[i].variable, library,
                             mpich ? "mpiexec.mpich -n N (MPICH's mpiexec)"
                                   : "mpiexec.openmpi -n N (its own mpiexec)");
        }
    }
    return 0;
}

static uint32_t reduce_u32(struct exec *exec, uint32_t value, MPI_Op op)
{
    uint32_t result = value;
    MPI_Allreduce(&value, &result, 1, MPI_UINT32_T, op, exec->world);
    return result;
}

/* Usable cores of this host: the union of its ranks' affinity masks. */
static uint32_t count_cores(struct exec *exec)
{
    cpu_set_t own, all;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof own, &own)) {
        return (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    }
    MPI_Allreduce(&own, &all, (int)sizeof own, MPI_BYTE, MPI_BOR, exec->node);
    return (uint32_t)CPU_COUNT(&all);
}

static void find_places(struct exec *exec)
{
    int rank, ranks, local, local_ranks, host = 0;
    MPI_Comm_rank(exec->world, &rank);
    MPI_Comm_size(exec->world, &ranks);
    MPI_Comm_split_type(exec->world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &exec->node);
    MPI_Comm_rank(exec->node, &local);
    MPI_Comm_size(exec->node, &local_ranks);
    MPI_Comm_split(exec->world, local == 0 ? 0 : MPI_UNDEFINED, rank, &exec->leaders);
    if (exec->leaders != MPI_COMM_NULL) {
        MPI_Comm_rank(exec->leaders, &host);
    }
    MPI_Bcast(&host, 1, MPI_INT, 0, exec->node);
    exec->here = (uint32_t)local_ranks;
    exec->world_of = calloc(exec->here, sizeof *exec->world_of);
    exec->beats = calloc(exec->here, sizeof *exec->beats);
    if (!exec->world_of || !exec->beats) {
        abort();
    }
    MPI_Allgather(&rank, 1, MPI_INT, exec->world_of, 1, MPI_INT, exec->node);
    exec->place = (struct exec_place){.rank = (uint32_t)rank,
                                      .ranks = (uint32_t)ranks,
                                      .host = (uint32_t)host,
                                      .local = (uint32_t)local};
    exec->place.hosts = reduce_u32(exec, (uint32_t)host, MPI_MAX) + 1;
    exec->place.local_ranks = reduce_u32(exec, (uint32_t)local_ranks, MPI_MIN);
    exec->place.most_local_ranks = reduce_u32(exec, (uint32_t)local_ranks, MPI_MAX);
    uint32_t cores = count_cores(exec);
    exec->place.cores = reduce_u32(exec, cores, MPI_MIN);
    exec->crowded = reduce_u32(exec, (uint32_t)local_ranks > cores, MPI_MAX);
}

static int share_memory(struct exec *exec, struct error *error)
{
    int local_ranks, code;
    void *mine;
    MPI_Comm_size(exec->node, &local_ranks);
    code = MPI_Win_allocate_shared(sizeof(struct exec_shared), EXEC_LINE, MPI_INFO_NULL, exec->node,
                                   &mine, &exec->window);
    if (code != MPI_SUCCESS) {
        return exec_mpi_failed(code, "sharing memory between the ranks of a host", error);
    }
    memset(mine, 0, sizeof(struct exec_shared));
    exec->shared = calloc((size_t)local_ranks, sizeof *exec->shared);
    if (!exec->shared) {
        abort();
    }
    for (int rank = 0; rank < local_ranks; rank++) {
        MPI_Aint size;
        int unit;
        void *base;
        MPI_Win_shared_query(exec->window, rank, &size, &unit, &base);
        exec->shared[rank] = base;
    }
    MPI_Barrier(exec->node);
    return 0;
}

/* Memory that MPI allocates and frees inside a collective stays with the process, as it does in a
 * job that has run for a while. With glibc's defaults a fresh process may give it back to the
 * kernel and fault it in again at every call, or not, by the accident of what it allocated before:
 * seen to change a 256 KiB reduce by 60 %, and with it the winner, between two runs of one
 * benchmark. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the most it takes */
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_TOP_PAD, 16 << 20);
#endif
}

int exec_start(int *argc, char ***argv, struct exec **exec, struct error *error)
{
    int provided, ranks;
    keep_memory();
    struct exec *made = calloc(1, sizeof *made);
    if (!made) {
        abort();
    }
    int code = MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    if (code != MPI_SUCCESS) {
        free(made);
        return error_set(error, EXIT_SYSTEM, "MPI_Init failed with code %d", code);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (check_launcher(ranks, error)) {
        MPI_Finalize();
        free(made);
        return -1;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &made->world);
    find_places(made);
    if (share_memory(made, error)) {
        MPI_Finalize();
        free(made);
        return -1;
    }
    *exec = made;
    return 0;
}

static void close_library(struct exec *exec)
{
    if (exec->runner) {
        exec->runner->close(exec->runner_state);
        exec->runner = NULL;
    }
}

static void stop_mpi(struct exec *exec)
{
    for (size_t i = 0; i < exec->nr_groups; i++) {
        if (exec->groups[i].comm != MPI_COMM_NULL) {
            MPI_Comm_free(&exec->groups[i].comm);
        }
    }
    MPI_Win_free(&exec->window);
    if (exec->leaders != MPI_COMM_NULL) {
        MPI_Comm_free(&exec->leaders);
    }
    MPI_Comm_free(&exec->node);
    MPI_Comm_free(&exec->world);
    MPI_Finalize();
}

void exec_stop(struct exec *exec)
{
    if (!exec) {
        return;
    }
    exec_alive_stop(exec);
    close_library(exec);
    if (!exec_is_broken(exec)) { /* else a peer would be waited for that never comes */
        stop_mpi(exec);
    }
    free(exec->world_of);
    free(exec->beats);
    free(exec->shared);
    free(exec);
}

void exec_die(int status)
{
    _exit(status); /* the launcher sees a rank leave without MPI_Finalize and ends the others */
}

struct exec_place exec_place(const struct exec *exec)
{
    return exec->place;
}

int exec_open_library(struct exec *exec, const char *name, struct error *error)
{
    close_library(exec);
    exec->runner = runner_find(name, error);
    if (!exec->runner) {
        return -1;
    }
    int failed = exec->runner->open(exec, &exec->runner_state, error);
    if (failed) {
        exec->runner = NULL;
    }
    return exec_agree(exec, failed, error);
}

bool exec_library_spins(const struct exec *exec)
{
    return exec->runner->spins;
}

struct json *exec_describe_library(struct exec *exec)
{
    return exec->place.rank == 0 ? exec->runner->describe(exec->runner_state) : NULL;
}

struct json *exec_describe_hosts(struct exec *exec)
{
    enum { NAME = 256 };
    char own[NAME] = "";
    char *all = NULL;
    struct json *list = NULL;
    gethostname(own, NAME - 1);
    if (exec->leaders == MPI_COMM_NULL) {
        return NULL;
    }
    if (exec->place.rank == 0) {
        all = calloc(exec->place.hosts, NAME);
        if (!all) {
            abort();
        }
    }
    MPI_Gather(own, NAME, MPI_CHAR, all, NAME, MPI_CHAR, 0, exec->leaders);
    if (exec->place.rank == 0) {
        list = json_make_array();
        for (uint32_t host = 0; host < exec->place.hosts; host++) {
            json_append(list, json_make_text(all + (size_t)host * NAME));
        }
    }
    free(all);
    return list;
}

void exec_allreduce(struct exec *exec, void *values, int nr, MPI_Datatype type, MPI_Op op)
{
    MPI_Request request;
    int done = 0;
    if (!exec->crowded) {
        MPI_Allreduce(MPI_IN_PLACE, values, nr, type, op, exec->world);
        return;
    }
    MPI_Iallreduce(MPI_IN_PLACE, values, nr, type, op, exec->world, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            sched_yield();
        }
    }
}

/* `first`: the lowest rank that failed; its error is everyone's. */
static int share_error(MPI_Comm comm, int first, struct error *error)
{
    if (first == INT32_MAX) {
        return 0;
    }
    struct error told = *error;
    MPI_Bcast(&told, (int)sizeof told, MPI_BYTE, first, comm);
    *error = told;
    return -1;
}

int exec_agree_over(MPI_Comm comm, int failed, struct error *error)
{
    int rank, first;
    MPI_Comm_rank(comm, &rank);
    rank = failed ? rank : INT32_MAX;
    MPI_Allreduce(&rank, &first, 1, MPI_INT, MPI_MIN, comm);
    return share_error(comm, first, error);
}

int exec_agree(struct exec *exec, int failed, struct error *error)
{
    int first = failed ? (int)exec->place.rank : INT32_MAX;
    exec_allreduce(exec, &first, 1, MPI_INT, MPI_MIN);
    return share_error(exec->world, first, error);
}

/* Completes a request, sleeping more and more rarely disturbed: a waiting rank must not take the
 * core from whoever thinks. */
static void wait_quietly(MPI_Request *request)
{
    struct timespec pause = {0, 50000};
    int done = 0;
    for (unsigned tries = 0; !done; tries++) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (!done && tries > 1000) {
            nanosleep(&pause, NULL);
            pause.tv_nsec = pause.tv_nsec < 1000000 ? pause.tv_nsec * 2 : pause.tv_nsec;
        }
    }
}

void exec_share_text(struct exec *exec, char **text)
{
    uint64_t length = exec->place.rank == 0 ? strlen(*text) + 1 : 0;
    MPI_Request request;
    MPI_Ibcast(&length, 1, MPI_UINT64_T, 0, exec->world, &request);
    wait_quietly(&request);
    if (exec->place.rank != 0) {
        *text = malloc(length);
        if (!*text) {
            abort();
        }
    }
    for (uint64_t at = 0; at < length;) {
        int piece = length - at > (1 << 30) ? 1 << 30 : (int)(length - at);
        MPI_Bcast(*text + at, piece, MPI_CHAR, 0, exec->world);
        at += (uint64_t)piece;
    }
}

int exec_check_cores(const struct exec *exec, bool spins, bool oversubscribe, struct error *error)
{
    if (!spins || oversubscribe || exec->place.most_local_ranks <= exec->place.cores) {
        return 0;
    }
    return error_set(error, EXIT_NO,
                     "%u ranks on a host with %u usable core%s: this MPI library spins while it "
                     "waits, so every call would take milliseconds and no figure would mean "
                     "anything; launch at most %u, or add --oversubscribe to do it all the same",
                     exec->place.most_local_ranks, exec->place.cores,
                     exec->place.cores == 1 ? "" : "s", exec->place.cores);
}

void exec_beat(struct exec *exec)
{
    atomic_fetch_add_explicit(&exec->shared[0]->beat.flag, 1, memory_order_relaxed);
}

struct watch {
    struct exec_shared *leader;
    double seconds;
};

static void *watch_beat(void *argument)
{
    struct watch watch = *(struct watch *)argument;
    const struct timespec second = {1, 0};
    unsigned seen = 0;
    double silent = 0;
    free(argument);
    for (;;) {
        unsigned now = atomic_load_explicit(&watch.leader->beat.flag, memory_order_relaxed);
        silent = now == seen ? silent + 1 : 0;
        seen = now;
        if (silent > watch.seconds) {
            exec_die(EXIT_SYSTEM);
        }
        nanosleep(&second, NULL);
    }
    return NULL;
}

int exec_watch(struct exec *exec, double seconds, struct error *error)
{
    pthread_t thread;
    struct watch *watch = malloc(sizeof *watch);
    if (!watch) {
        abort();
    }
    if (exec->place.host != 0 || exec->place.local == 0) {
        free(watch); /* rank 0 beats; other hosts' ranks are ended by their launcher */
        return 0;
    }
    *watch = (struct watch){exec->shared[0], seconds};
    int code = pthread_create(&thread, NULL, watch_beat, watch);
    if (code) {
        free(watch);
        return error_errno(error, code, "starting the thread that watches rank 0");
    }
    pthread_detach(thread);
    return 0;
}
