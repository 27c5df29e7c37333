/* measure.c - check, warm up, then alternate blocks; the file is that order and nothing else. */
#include "measure.h"

#include "mpi_exec.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define BLOCK_SECONDS 100e-6
#define BLOCK_CALLS   32
#define CANARY_ROUNDS 200

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct bench { /* one request in progress */
    struct exec *exec;
    const struct measure_request *request;
    const struct exec_group *group;
    bool in;            /* does this rank take part? */
    uint32_t me, ranks; /* position in the group, its size */
    uint64_t count;     /* of one part */
    uint64_t in_elements, out_elements;
    unsigned char *send, *recv;
    uint64_t larger; /* bytes of each */
    bool registered; /* they belong to the library */
    struct pattern *pattern;
    uint32_t element; /* bytes */
    bool in_place_works;
};

/* How many elements a rank's input and output have. */
static void size_buffers(struct bench *bench)
{
    enum collective c = bench->request->key->collective;
    uint64_t whole = bench->count * (coll_divided(c) ? bench->ranks : 1);
    bench->in_elements = c == COLL_ALL_GATHER || c == COLL_GATHER ? bench->count : whole;
    bench->out_elements = c == COLL_REDUCE_SCATTER || c == COLL_SCATTER ? bench->count : whole;
}

/* Buffers come from the kernel, not from the heap: what MPI allocates for itself must not depend on
 * their sizes. */
static unsigned char *take_buffer(uint64_t bytes)
{
    void *memory =
        mmap(NULL, bytes + 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    memset(memory, 0, bytes + 64); /* touch it: page faults belong to nobody's time */
    return memory;
}

static void give_buffer(unsigned char *memory, uint64_t bytes)
{
    if (memory) {
        munmap(memory, bytes + 64);
    }
}

/* The library's own where the key asks for registered ones and it has such; else plain memory. */
static int take_buffers(struct bench *bench, struct error *error)
{
    const struct runner *runner = bench->exec->runner;
    bench->registered = bench->request->key->registered && runner->take_buffers;
    if (bench->registered) {
        void *send = NULL, *recv = NULL;
        int failed = bench->in && runner->take_buffers(bench->exec->runner_state, bench->group,
                                                       bench->larger, &send, &recv, error);
        bench->send = send;
        bench->recv = recv;
        return failed;
    }
    bench->send = take_buffer(bench->larger);
    bench->recv = take_buffer(bench->larger);
    if (!bench->send || !bench->recv) {
        return error_set(error, EXIT_SYSTEM, "no memory for two buffers of %llu bytes",
                         (unsigned long long)bench->larger);
    }
    return 0;
}

static void give_buffers(struct bench *bench)
{
    if (!bench->registered) {
        give_buffer(bench->send, bench->larger);
        give_buffer(bench->recv, bench->larger);
    }
}

/* Of this rank within a buffer that has one part a rank. */
static unsigned char *own_part(const struct bench *bench, unsigned char *buffer)
{
    return buffer + bench->me * bench->count * bench->element;
}

/* In place, where the input lies inside the receive buffer. MPI's reduce-scatter takes its whole
 * input there and leaves its part at the front. */
static void *input_place(const struct bench *bench, bool in_place)
{
    enum collective c = bench->request->key->collective;
    if (c == COLL_BROADCAST && !bench->exec->runner->as_nccl) {
        return bench->recv;
    }
    if (!in_place) {
        return bench->send;
    }
    return c == COLL_ALL_GATHER || c == COLL_GATHER ? own_part(bench, bench->recv) : bench->recv;
}

static const void *result_place(const struct bench *bench, bool in_place)
{
    enum collective c = bench->request->key->collective;
    bool own =
        in_place && bench->exec->runner->as_nccl && (c == COLL_REDUCE_SCATTER || c == COLL_SCATTER);
    return own ? own_part(bench, bench->recv) : bench->recv;
}

static void write_input(struct bench *bench, bool in_place)
{
    enum collective c = bench->request->key->collective;
    if ((c == COLL_BROADCAST || c == COLL_SCATTER) && bench->me != bench->request->root) {
        return;
    }
    pattern_fill(bench->pattern, bench->me, 0, input_place(bench, in_place), bench->in_elements);
}

static struct call call_of(const struct bench *bench, bool in_place)
{
    return (struct call){
        .collective = bench->request->key->collective,
        .send = bench->send,
        .recv = bench->recv,
        .count = bench->count,
        .datatype = bench->request->datatype,
        .reduction = bench->request->reduction,
        .root = bench->request->root,
        .in_place = in_place,
    };
}

static int call_once(struct bench *bench, bool in_place, struct error *error)
{
    struct exec *exec = bench->exec;
    const struct call call = call_of(bench, in_place);
    return exec->runner->call(exec->runner_state, bench->group, &call, error);
}

/* A part of every rank: its own input, or its part for this one. */
static uint64_t count_wrong_parts(struct bench *bench, bool own_inputs)
{
    uint64_t wrong = 0, count = bench->count;
    for (uint32_t rank = 0; rank < bench->ranks; rank++) {
        wrong += pattern_check(bench->pattern, rank, own_inputs ? 0 : bench->me * count,
                               bench->recv + rank * count * bench->element, count);
    }
    return wrong;
}

static uint64_t count_wrong(struct bench *bench, bool in_place)
{
    struct pattern *pattern = bench->pattern;
    uint64_t count = bench->count;
    uint32_t root = bench->request->root, before = (bench->me + bench->ranks - 1) % bench->ranks;
    const void *result = result_place(bench, in_place);
    switch (bench->request->key->collective) {
    case COLL_REDUCE:
        return bench->me == root ? pattern_check_reduced(pattern, 0, result, count) : 0;
    case COLL_ALLREDUCE:
        return pattern_check_reduced(pattern, 0, result, count);
    case COLL_REDUCE_SCATTER:
        return pattern_check_reduced(pattern, bench->me * count, result, count);
    case COLL_BROADCAST:
        return pattern_check(pattern, root, 0, result, count);
    case COLL_ALL_GATHER:
        return count_wrong_parts(bench, true);
    case COLL_ALL_TO_ALL:
        return count_wrong_parts(bench, false);
    case COLL_GATHER:
        return bench->me == root ? count_wrong_parts(bench, true) : 0;
    case COLL_SCATTER:
        return pattern_check(pattern, root, bench->me * count, result, count);
    case COLL_SEND_RECV: /* to the next rank, from the one before */
        return pattern_check(pattern, before, 0, result, count);
    case COLL_NR:
        break;
    }
    return 0;
}

/* Every rank learns the sum of `wrong` and the largest of `seconds`. Under the library's default
 * settings: a bad candidate must not carry our own messages. */
static int share_result(struct bench *bench, uint64_t *wrong, double *seconds, size_t nr,
                        struct error *error)
{
    uint64_t all = *wrong;
    struct exec *exec = bench->exec;
    if (exec->runner->apply(exec->runner_state, &candidate_default, error)) {
        return -1;
    }
    exec_allreduce(exec, &all, 1, MPI_UINT64_T, MPI_SUM);
    exec_allreduce(exec, seconds, (int)nr, MPI_DOUBLE, MPI_MAX);
    *wrong = all;
    return 0;
}

/* One call on a poisoned output, checked element by element. */
static int check_once(struct bench *bench, const struct candidate *candidate, bool in_place,
                      struct measure_answer *answer, struct error *error)
{
    struct exec *exec = bench->exec;
    uint64_t wrong = 0;
    double none = 0;
    if (exec->runner->apply(exec->runner_state, candidate, error)) {
        return -1;
    }
    if (bench->in) {
        memset(bench->recv, 0xA5, bench->larger);
        write_input(bench, in_place);
        if (call_once(bench, in_place, error)) {
            return -1;
        }
        wrong = count_wrong(bench, in_place);
    }
    if (share_result(bench, &wrong, &none, 1, error)) {
        return -1;
    }
    answer->wrong += wrong;
    return 0;
}

/* `calls` timed calls; times[] is this block's, maxima over all ranks. */
static int time_calls(struct bench *bench, const struct candidate *candidate, unsigned calls,
                      unsigned warmup, double *times, struct error *error)
{
    struct exec *exec = bench->exec;
    bool in_place = bench->request->in_place;
    uint64_t none = 0;
    if (exec->runner->apply(exec->runner_state, candidate, error)) {
        return -1;
    }
    for (unsigned i = 0; i < warmup + calls; i++) {
        if (bench->in) {
            write_input(bench, in_place);
        }
        exec_barrier(exec);
        double begin = now();
        if (bench->in && call_once(bench, in_place, error)) {
            return -1;
        }
        double end = now();
        if (i >= warmup) {
            times[i - warmup] = end - begin;
        }
    }
    return share_result(bench, &none, times, calls, error);
}

static unsigned choose_calls(double seconds)
{
    double calls = BLOCK_SECONDS / fmax(seconds, 1e-9);
    return calls < 1 ? 1 : calls > BLOCK_CALLS ? BLOCK_CALLS : (unsigned)calls;
}

/* Can the candidate in force serve calls of this kind? *refused: no, `reason` says why; on all
 * ranks alike. */
static int prepare_way(struct bench *bench, bool in_place, bool *refused, struct error *reason,
                       struct error *error)
{
    const struct runner *runner = bench->exec->runner;
    const struct call call = call_of(bench, in_place);
    *refused = false;
    if (!runner->prepare) {
        return 0;
    }
    int failed =
        bench->in ? runner->prepare(bench->exec->runner_state, bench->group, &call, reason) : 0;
    *refused = exec_agree(bench->exec, failed, reason) != 0;
    if (*refused && reason->status == EXIT_SYSTEM) {
        *error = *reason;
        return -1;
    }
    return 0;
}

/* Applied and ready for both ways of this request? */
static int ready_candidate(struct bench *bench, const struct candidate *candidate, bool *refused,
                           bool *in_place_too, struct error *reason, struct error *error)
{
    const struct measure_request *request = bench->request;
    struct exec *exec = bench->exec;
    struct error in_place_reason = ERROR_NONE;
    bool refused_in_place = true;
    *refused = exec->runner->apply(exec->runner_state, candidate, reason) != 0;
    if (*refused) {
        return 0;
    }
    if (prepare_way(bench, false, refused, reason, error) ||
        (bench->in_place_works && (request->check || request->in_place) &&
         prepare_way(bench, true, &refused_in_place, &in_place_reason, error))) {
        return -1;
    }
    *in_place_too = !refused_in_place;
    if (request->in_place) { /* what the other way says does not matter then */
        *refused = refused_in_place;
        *reason = in_place_reason;
    }
    return 0;
}

/* First use of each candidate, alone: is it accepted, is it right, how long does it take? */
static int try_alone(struct bench *bench, size_t i, struct arena *arena,
                     struct measure_answer *answer, double *estimate, struct error *error)
{
    const struct measure_request *request = bench->request;
    const struct candidate *candidate = &request->candidates[i];
    struct exec *exec = bench->exec;
    struct error reason = ERROR_NONE;
    double first[3], begin = now();
    bool refused = false, in_place_too = false;
    if (request->running) {
        request->running(request->context, (int64_t)i);
    }
    if (ready_candidate(bench, candidate, &refused, &in_place_too, &reason, error)) {
        return -1;
    }
    if (refused) {
        answer->verdict = MEASURE_REFUSED;
        answer->detail = arena_strdup(arena, reason.message);
        return exec->runner->apply(exec->runner_state, &candidate_default, error);
    }
    if (request->check) {
        if (check_once(bench, candidate, false, answer, error) ||
            (in_place_too && check_once(bench, candidate, true, answer, error))) {
            return -1;
        }
        if (answer->wrong) {
            answer->verdict = MEASURE_WRONG;
            answer->detail = arena_printf(arena, "%llu elements wrong at first use",
                                          (unsigned long long)answer->wrong);
            return 0;
        }
    }
    if (time_calls(bench, candidate, 3, request->warmup, first, error)) {
        return -1;
    }
    *estimate = stats_median(first, 3);
    answer->cost += now() - begin;
    return 0;
}

/* Blocks of the candidates in random order, one sample a block. */
static int alternate(struct bench *bench, const double *estimates, struct arena *arena,
                     struct measure_answer *answers, struct error *error)
{
    const struct measure_request *request = bench->request;
    uint64_t state = request->seed ^ request->key->bytes;
    unsigned rounds = 0;
    double times[BLOCK_CALLS];
    size_t *order = arena_alloc(arena, request->nr, sizeof *order);
    for (size_t i = 0; i < request->nr; i++) {
        rounds = request->samples[i] > rounds ? request->samples[i] : rounds;
    }
    for (unsigned round = 0; round < rounds; round++) {
        stats_random_order(&state, order, request->nr);
        for (size_t k = 0; k < request->nr; k++) {
            size_t i = order[k];
            if (answers[i].verdict != MEASURE_OK || round >= request->samples[i]) {
                continue;
            }
            double begin = now();
            unsigned calls = choose_calls(estimates[i]);
            if (time_calls(bench, &request->candidates[i], calls, 1, times, error)) {
                return -1;
            }
            answers[i].samples[answers[i].nr++] = stats_median(times, calls);
            answers[i].cost += now() - begin;
        }
    }
    return 0;
}

/* As benchmarks do it: call after call, each a sample. */
static int time_every_call(struct bench *bench, struct measure_answer *answers, struct error *error)
{
    const struct measure_request *request = bench->request;
    for (size_t i = 0; i < request->nr; i++) {
        if (answers[i].verdict == MEASURE_OK) {
            if (time_calls(bench, &request->candidates[i], request->samples[i], request->warmup,
                           answers[i].samples, error)) {
                return -1;
            }
            answers[i].nr = request->samples[i];
        }
    }
    return 0;
}

static int measure_all(struct bench *bench, struct arena *arena, struct measure_answer *answers,
                       struct error *error)
{
    const struct measure_request *request = bench->request;
    double *estimates = arena_alloc(arena, request->nr, sizeof *estimates);
    for (size_t i = 0; i < request->nr; i++) {
        answers[i] = (struct measure_answer){.detail = ""};
        answers[i].samples = arena_alloc(arena, request->samples[i] + 1, sizeof(double));
        if (try_alone(bench, i, arena, &answers[i], &estimates[i], error)) {
            return -1;
        }
    }
    if (request->running) {
        request->running(request->context, -1);
    }
    if (request->every_call ? time_every_call(bench, answers, error)
                            : alternate(bench, estimates, arena, answers, error)) {
        return -1;
    }
    for (size_t i = 0; request->check && i < request->nr; i++) { /* and once more at the end */
        if (answers[i].verdict == MEASURE_OK) {
            if (check_once(bench, &request->candidates[i], request->in_place, &answers[i], error)) {
                return -1;
            }
            if (answers[i].wrong) {
                answers[i].verdict = MEASURE_WRONG;
                answers[i].detail = arena_printf(arena, "%llu elements wrong after the samples",
                                                 (unsigned long long)answers[i].wrong);
            }
        }
    }
    return 0;
}

/* Can the library run this call out of place (-1 if not), and in place too (if not, `why`)? */
static int ask_library(struct bench *bench, struct error *why, struct error *error)
{
    const struct measure_request *request = bench->request;
    struct exec *exec = bench->exec;
    struct call probe = call_of(bench, false);
    if (exec_agree(exec, exec->runner->accepts(exec->runner_state, &probe, error), error)) {
        return -1;
    }
    probe.in_place = true;
    bench->in_place_works = coll_in_place(request->key->collective) &&
                            !exec->runner->accepts(exec->runner_state, &probe, why);
    return 0;
}

static void refuse_all(const struct bench *bench, const char *why, struct arena *arena,
                       struct measure_answer *answers)
{
    for (size_t i = 0; i < bench->request->nr; i++) {
        answers[i] =
            (struct measure_answer){.verdict = MEASURE_REFUSED, .detail = arena_strdup(arena, why)};
    }
}

int measure_run(struct exec *exec, const struct measure_request *request, struct arena *arena,
                struct measure_answer *answers, struct error *error)
{
    struct exec_group *group;
    struct bench bench = {.exec = exec, .request = request};
    if (exec_agree(exec, exec_find_group(exec, &request->key->group, &group, error), error)) {
        return -1;
    }
    bench.group = group;
    bench.in = group->comm != MPI_COMM_NULL;
    bench.me = group->position;
    bench.ranks = group_ranks(&request->key->group);
    bench.element = datatype_bytes(request->datatype);
    bench.count =
        coll_count(request->key->collective, request->key->bytes, bench.element, bench.ranks);
    size_buffers(&bench);
    struct error why = ERROR_NONE;
    if (ask_library(&bench, &why, error)) {
        return -1;
    }
    if (request->in_place && !bench.in_place_works) {
        refuse_all(&bench, why.message, arena, answers);
        return 0;
    }
    bench.larger = bench.element * (bench.in_elements > bench.out_elements ? bench.in_elements
                                                                           : bench.out_elements);
    int failed = take_buffers(&bench, error);
    failed = exec_agree(exec, failed, error);
    if (!failed) {
        bench.pattern =
            pattern_make(request->seed, bench.ranks, request->datatype, request->reduction);
        failed = measure_all(&bench, arena, answers, error);
        pattern_free(bench.pattern);
    }
    give_buffers(&bench);
    return failed;
}

double measure_canary(struct exec *exec)
{
    double times[CANARY_ROUNDS], mine;
    char out[8] = "canary", in[8];
    int last = (int)exec->place.ranks - 1, rank = (int)exec->place.rank;
    if (last == 0) {
        return NAN;
    }
    for (int i = 0; i < CANARY_ROUNDS; i++) {
        exec_barrier(exec);
        double begin = now();
        if (rank == 0 || rank == last) {
            MPI_Sendrecv(out, 8, MPI_CHAR, last - rank, 0, in, 8, MPI_CHAR, last - rank, 0,
                         exec->world, MPI_STATUS_IGNORE);
        }
        times[i] = now() - begin;
    }
    mine = stats_median(times, CANARY_ROUNDS);
    MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, exec->world);
    return mine;
}
