/* selection_probe.c - shows which algorithm MPICH ran, by the messages it sent.
 *
 *   selection_probe library            path of the MPI library, its version, the tree's collectives
 *   selection_probe emit DIR TARGET [COLLECTIVE RANKS FIRST LAST ALGORITHM]...   a target's files
 *   selection_probe check FILE         is it a selection file that MPICH would take?
 *   selection_probe call COLLECTIVE COUNT [OPERATION COMMUNICATOR PLACE ROOT]    (under mpiexec)
 *
 * MPICH tells nobody what it chose. But ch4:ucx sends through ucp_tag_send_nbx, and this program
 * has one of its own, which notes size and tag and sends on: sizes tell the algorithms apart, tags
 * the blocking from the non-blocking ones. `call` prints one line: each rank's messages, and
 * whether its result was right. Waiting gives the core away, for ranks may outnumber cores.
 */
#include "file.h"
#include "mpich_tree.h"
#include "target.h"

#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what UCX is asked for ---- */

enum { LOG_BYTES = 4096, TAG_MASK = 0xfff };

static struct {
    bool on;
    size_t length;
    char text[LOG_BYTES];
} sent;

void *ucp_tag_send_nbx(void *endpoint, const void *buffer, size_t count, uint64_t tag,
                       const void *parameters);

void *ucp_tag_send_nbx(void *endpoint, const void *buffer, size_t count, uint64_t tag,
                       const void *parameters)
{
    static void *(*real_send)(void *, const void *, size_t, uint64_t, const void *);
    if (!real_send) {
        *(void **)&real_send = dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
    }
    if (sent.on && sent.length < LOG_BYTES - 64) {
        sent.length += (size_t)snprintf(sent.text + sent.length, 64, " %zu@%llx", count,
                                        (unsigned long long)tag & TAG_MASK);
    }
    return real_send(endpoint, buffer, count, tag, parameters);
}

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*real_progress)(void *);
    if (!real_progress) {
        *(void **)&real_progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
    }
    unsigned done = real_progress(worker);
    if (done == 0) {
        sched_yield();
    }
    return done;
}

/* ---- one call ---- */

struct call {
    MPI_Comm comm;
    int rank, ranks, count, root;
    bool in_place;
    MPI_Op op;
    double *send, *recv; /* room for `ranks` parts */
};

static void run_allreduce(const struct call *c)
{
    MPI_Allreduce(c->in_place ? MPI_IN_PLACE : c->send, c->recv, c->count, MPI_DOUBLE, c->op,
                  c->comm);
}

static void run_allgather(const struct call *c)
{
    MPI_Allgather(c->in_place ? MPI_IN_PLACE : c->send, c->count, MPI_DOUBLE, c->recv, c->count,
                  MPI_DOUBLE, c->comm);
}

static void run_reduce_scatter_block(const struct call *c)
{
    MPI_Reduce_scatter_block(c->in_place ? MPI_IN_PLACE : c->send, c->recv, c->count, MPI_DOUBLE,
                             c->op, c->comm);
}

static void run_bcast(const struct call *c)
{
    MPI_Bcast(c->recv, c->count, MPI_DOUBLE, c->root, c->comm);
}

static void run_reduce(const struct call *c)
{
    MPI_Reduce(c->in_place && c->rank == c->root ? MPI_IN_PLACE : c->send, c->recv, c->count,
               MPI_DOUBLE, c->op, c->root, c->comm);
}

static void run_alltoall(const struct call *c)
{
    MPI_Alltoall(c->in_place ? MPI_IN_PLACE : c->send, c->count, MPI_DOUBLE, c->recv, c->count,
                 MPI_DOUBLE, c->comm);
}

/* Element i of part p on rank r: what is sent, and what is right afterwards for n ranks. */
static double sent_value(int r, int p, int i)
{
    return 1000 * r + 10 * p + i % 7;
}

static double sum_over_ranks(int n, int p, int i)
{
    return 1000.0 * n * (n - 1) / 2 + n * (10.0 * p + i % 7);
}

static double right_sum(const struct call *c, int p, int i)
{
    return sum_over_ranks(c->ranks, p, i);
}

static double right_own_sum(const struct call *c, int p, int i)
{
    return sum_over_ranks(c->ranks, c->rank + p, i);
}

static double right_gathered(const struct call *c, int p, int i)
{
    return sent_value(p, c->in_place ? p : 0, i);
}

static double right_root(const struct call *c, int p, int i)
{
    return sent_value(c->root, p, i);
}

static double right_exchanged(const struct call *c, int p, int i)
{
    return sent_value(p, c->rank, i);
}

static const struct {
    const char *name; /* MPICH's */
    void (*run)(const struct call *call);
    double (*right)(const struct call *call, int part, int i);
    bool all_parts; /* of the result, or one? */
    bool root_only; /* has a result */
    bool from_recv; /* the receive buffer is also what is sent */
} calls[] = {
    {"allreduce", run_allreduce, right_sum, false, false, false},
    {"allgather", run_allgather, right_gathered, true, false, false},
    {"reduce_scatter_block", run_reduce_scatter_block, right_own_sum, false, false, false},
    {"bcast", run_bcast, right_root, false, false, true},
    {"reduce", run_reduce, right_sum, false, true, false},
    {"alltoall", run_alltoall, right_exchanged, true, false, false},
};

enum { NR_CALLS = sizeof calls / sizeof calls[0] };

static void fill(struct call *c, bool from_recv)
{
    size_t nr = (size_t)c->count * (size_t)c->ranks;
    c->send = calloc(nr + 1, sizeof *c->send);
    c->recv = calloc(nr + 1, sizeof *c->recv);
    for (int p = 0; p < c->ranks; p++) {
        for (int i = 0; i < c->count; i++) {
            size_t at = (size_t)p * (size_t)c->count + (size_t)i;
            c->send[at] = sent_value(c->rank, p, i);
            c->recv[at] = c->in_place || from_recv ? c->send[at] : -1;
        }
    }
}

static bool is_right(const struct call *c, size_t which)
{
    bool right = true;
    if (calls[which].root_only && c->rank != c->root) {
        return true;
    }
    for (int p = 0; p < (calls[which].all_parts ? c->ranks : 1); p++) {
        for (int i = 0; i < c->count; i++) {
            double wanted = calls[which].right(c, p, i);
            double found = c->recv[(size_t)p * (size_t)c->count + (size_t)i];
            right = right && fabs(found - wanted) < 1e-6;
        }
    }
    return right;
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++) {
        ((double *)inout)[i] += ((double *)in)[i];
    }
}

static MPI_Op make_operation(const char *name)
{
    MPI_Op op = MPI_SUM;
    if (strcmp(name, "sum") != 0) {
        MPI_Op_create(add, strcmp(name, "user") == 0, &op); /* else "noncommutative" */
    }
    return op;
}

/* "world", "dup", "shared", "reversed", "splitN" (neighbours in N's), "firstN". */
static MPI_Comm make_communicator(const char *name)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int rank, number = atoi(name + 5);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(name, "dup")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    } else if (!strcmp(name, "shared")) {
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    } else if (!strcmp(name, "reversed")) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    } else if (!strncmp(name, "split", 5)) {
        MPI_Comm_split(MPI_COMM_WORLD, rank / number, rank, &comm);
    } else if (!strncmp(name, "first", 5)) {
        MPI_Comm_split(MPI_COMM_WORLD, rank < number ? 0 : MPI_UNDEFINED, rank, &comm);
    }
    return comm;
}

static void print_messages(int rank, int ranks)
{
    char *all = calloc((size_t)ranks, LOG_BYTES);
    MPI_Gather(sent.text, LOG_BYTES, MPI_CHAR, all, LOG_BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int r = 0; r < ranks && rank == 0; r++) {
        printf("%s%d:%s", r ? "; " : "", r, all + (size_t)r * LOG_BYTES);
    }
    if (rank == 0) {
        printf("\n");
    }
    free(all);
}

static int call(int argc, char **argv)
{
    const char *options[] = {"sum", "world", "out", "0"};
    struct call c = {.count = argc > 3 ? atoi(argv[3]) : 0};
    size_t which = 0;
    int rank, ranks;
    for (int i = 4; i < argc && i < 8; i++) {
        options[i - 4] = argv[i];
    }
    while (which < NR_CALLS && (argc < 4 || strcmp(calls[which].name, argv[2]) != 0)) {
        which++;
    }
    if (which == NR_CALLS) {
        return 2;
    }
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    c.op = make_operation(options[0]);
    c.comm = make_communicator(options[1]);
    c.in_place = !strcmp(options[2], "in");
    c.root = atoi(options[3]);
    if (c.comm != MPI_COMM_NULL) {
        MPI_Comm_rank(c.comm, &c.rank);
        MPI_Comm_size(c.comm, &c.ranks);
        fill(&c, calls[which].from_recv);
        MPI_Barrier(c.comm);
        sent.on = true;
        calls[which].run(&c);
        sent.on = false;
        if (!is_right(&c, which)) {
            snprintf(sent.text + sent.length, LOG_BYTES - sent.length, " WRONG");
        }
        free(c.send);
        free(c.recv);
    }
    print_messages(rank, ranks);
    MPI_Finalize();
    return 0;
}

/* ---- the target's files ---- */

static int complain(const struct error *error)
{
    fprintf(stderr, "selection_probe: %s\n", error->message);
    return (int)error->status;
}

static const char *library_path(void)
{
    int (*function)(int *, char ***) = MPI_Init;
    void *address = NULL;
    Dl_info info;
    memcpy(&address, &function, sizeof address);
    return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

static int library(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    struct error error = ERROR_NONE;
    MPI_Get_library_version(version, &length);
    struct json *tree = mpich_tree_extract_file(library_path(), &error);
    if (!tree || mpich_tree_check(tree, &error)) {
        json_free(tree);
        return complain(&error);
    }
    printf("%s\n%zu\n%.*s\n", library_path(), json_length(tree), (int)strcspn(version, "\n"),
           version);
    json_free(tree);
    return 0;
}

/* One row of the table, with one point, from five words. */
static int make_row(struct decision_table *table, size_t i, char **words, struct error *error)
{
    struct decision_row *row = &table->rows[i];
    struct decision_point *point = &table->points[i];
    if (coll_parse(words[0], &row->collective, error)) {
        return -1;
    }
    struct setting *setting = arena_alloc(&table->arena, 1, sizeof *setting);
    *setting = (struct setting){"MPIR_CVAR_INTRA_ALGORITHM", words[4], SCOPE_CALL};
    row->group = (struct group){"g", 1, (uint32_t)atoi(words[1]), 1, 1};
    row->first_bytes = strtoull(words[2], NULL, 10);
    row->last_bytes = strtoull(words[3], NULL, 10);
    row->choice = (struct candidate){words[4], setting, 1};
    row->gain = (struct interval){0.2, 0.1, 0.3, 0.95};
    row->first_point = i;
    row->nr_points = 1;
    *point = (struct decision_point){.key = {row->collective, row->group, row->first_bytes, false},
                                     .choice = row->choice,
                                     .gain = row->gain,
                                     .p = 0.001,
                                     .pairs = 11,
                                     .proven = true};
    return 0;
}

static int write_files(const struct target *target, const struct decision_table *table,
                       const char *directory, struct arena *arena, struct error *error)
{
    struct json *tree = mpich_tree_extract_file(library_path(), error);
    struct library described = {
        .name = "MPICH", .version = table->version, .tree = tree, .tree_source = "built-in"};
    struct emitted_file *files = NULL;
    size_t nr = 0;
    int result = !tree || file_make_directory(directory, error) ||
                 target->emit(&described, table, directory, arena, &files, &nr, error);
    for (size_t i = 0; i < nr && !result; i++) {
        char *path = file_join(directory, files[i].name);
        result = file_write(path, files[i].text, strlen(files[i].text), error);
        free(path);
    }
    json_free(tree);
    return result ? -1 : 0;
}

static int emit(int argc, char **argv)
{
    struct error error = ERROR_NONE;
    struct arena arena = ARENA_EMPTY;
    size_t nr = argc > 4 ? (size_t)(argc - 4) / 5 : 0;
    const struct target *target = argc > 3 ? target_find(argv[3], &error) : NULL;
    struct decision_table table = {.library = "MPICH",
                                   .version = MPICH_VERIFIED_VERSION,
                                   .tool_version = "probe",
                                   .evidence = EVIDENCE_IN_TARGET,
                                   .alpha = 0.05};
    bool bad = !target;
    table.rows = arena_alloc(&table.arena, nr + 1, sizeof *table.rows);
    table.points = arena_alloc(&table.arena, nr + 1, sizeof *table.points);
    table.nr_rows = table.nr_points = nr;
    for (size_t i = 0; i < nr && !bad; i++) {
        bad = make_row(&table, i, argv + 4 + 5 * i, &error);
    }
    bad = bad || write_files(target, &table, argv[2], &arena, &error);
    arena_release(&arena);
    decision_release(&table);
    return bad ? complain(&error) : 0;
}

static int check(const char *path)
{
    struct error error = ERROR_NONE;
    struct json *tree = json_read_file(path, &error);
    bool bad = !tree || mpich_tree_check(tree, &error);
    json_free(tree);
    return bad ? complain(&error) : 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "library")) {
        return library();
    }
    if (!strcmp(what, "emit") && argc > 3) {
        return emit(argc, argv);
    }
    if (!strcmp(what, "check") && argc == 3) {
        return check(argv[2]);
    }
    if (!strcmp(what, "call")) {
        return call(argc, argv);
    }
    fprintf(stderr, "usage: see the head of selection_probe.c\n");
    return 2;
}
