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
    struct pattern *pattern;
    uint32_t element; /* bytes */
    bool in_place_works;
};

/* How many elements a rank's input and output have. */
static void size_buffers(struct bench *bench)
{
    enum collective c = bench->request->key->collective;
    uint64_t whole = bench->count * (coll_divided(c) ? bench->ranks : 1);
    bench->in_elements = c == COLL_ALL_GATHER ? bench->count : whole;
    bench->out_elements = c == COLL_REDUCE_SCATTER ? bench->count : whole;
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

/* In place, where the input lies inside the receive buffer. MPI's reduce-scatter takes its whole
 * input there and leaves its part at the front. */
static void *input_place(const struct bench *bench, bool in_place)
{
    if (bench->request->key->collective == COLL_BROADCAST) {
        return bench->recv;
    }
    if (!in_place) {
        return bench->send;
    }
    bool own_part = bench->request->key->collective == COLL_ALL_GATHER;
    return bench->recv + (own_part ? bench->me * bench->count * bench->element : 0);
}

static void write_input(struct bench *bench, bool in_place)
{
    if (bench->request->key->collective == COLL_BROADCAST && bench->me != bench->request->root) {
        return;
    }
    pattern_fill(bench->pattern, bench->me, 0, input_place(bench, in_place), bench->in_elements);
}

static int call_once(struct bench *bench, bool in_place, struct error *error)
{
    struct exec *exec = bench->exec;
    const struct call call = {
        .collective = bench->request->key->collective,
        .send = bench->send,
        .recv = bench->recv,
        .count = bench->count,
        .datatype = bench->request->datatype,
        .reduction = bench->request->reduction,
        .root = bench->request->root,
        .in_place = in_place,
    };
    return exec->runner->call(exec->runner_state, bench->group, &call, error);
}

static uint64_t count_wrong(struct bench *bench)
{
    struct pattern *pattern = bench->pattern;
    uint64_t wrong = 0, count = bench->count;
    switch (bench->request->key->collective) {
    case COLL_REDUCE:
        if (bench->me != bench->request->root) {
            return 0;
        }
        return pattern_check_reduced(pattern, 0, bench->recv, count);
    case COLL_ALLREDUCE:
        return pattern_check_reduced(pattern, 0, bench->recv, count);
    case COLL_REDUCE_SCATTER:
        return pattern_check_reduced(pattern, bench->me * count, bench->recv, count);
    case COLL_BROADCAST:
        return pattern_check(pattern, bench->request->root, 0, bench->recv, count);
    case COLL_ALL_GATHER:
    case COLL_ALL_TO_ALL:
        for (uint32_t rank = 0; rank < bench->ranks; rank++) {
            bool gather = bench->request->key->collective == COLL_ALL_GATHER;
            wrong += pattern_check(pattern, rank, gather ? 0 : bench->me * count,
                                   bench->recv + rank * count * bench->element, count);
        }
        return wrong;
    case COLL_GATHER:
    case COLL_SCATTER:
    case COLL_SEND_RECV:
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
    MPI_Allreduce(wrong, &all, 1, MPI_UINT64_T, MPI_SUM, exec->world);
    MPI_Allreduce(MPI_IN_PLACE, seconds, (int)nr, MPI_DOUBLE, MPI_MAX, exec->world);
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
        memset(bench->recv, 0xA5, bench->out_elements * bench->element);
        write_input(bench, in_place);
        if (call_once(bench, in_place, error)) {
            return -1;
        }
        wrong = count_wrong(bench);
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

/* First use of each candidate, alone: is it accepted, is it right, how long does it take? */
static int try_alone(struct bench *bench, size_t i, struct arena *arena,
                     struct measure_answer *answer, double *estimate, struct error *error)
{
    const struct measure_request *request = bench->request;
    const struct candidate *candidate = &request->candidates[i];
    struct exec *exec = bench->exec;
    struct error reason = ERROR_NONE;
    double first[3], begin = now();
    if (request->running) {
        request->running(request->context, (int64_t)i);
    }
    if (exec->runner->apply(exec->runner_state, candidate, &reason)) {
        answer->verdict = MEASURE_REFUSED;
        answer->detail = arena_strdup(arena, reason.message);
        return exec->runner->apply(exec->runner_state, &candidate_default, error);
    }
    if (request->check) {
        if (check_once(bench, candidate, false, answer, error) ||
            (bench->in_place_works && check_once(bench, candidate, true, answer, error))) {
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
    struct call probe = {
        .collective = request->key->collective, .count = bench->count, .root = request->root};
    if (exec_agree(exec, exec->runner->accepts(exec->runner_state, &probe, error), error)) {
        return -1;
    }
    probe.in_place = true;
    bench->in_place_works =
        coll_in_place(probe.collective) && !exec->runner->accepts(exec->runner_state, &probe, why);
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
    uint64_t larger =
        bench.in_elements > bench.out_elements ? bench.in_elements : bench.out_elements;
    bench.send = take_buffer(larger * bench.element);
    bench.recv = take_buffer(larger * bench.element);
    int failed = 0;
    if (!bench.send || !bench.recv) {
        failed = error_set(error, EXIT_SYSTEM, "no memory for two buffers of %llu bytes",
                           (unsigned long long)(larger * bench.element));
    }
    failed = exec_agree(exec, failed, error);
    if (!failed) {
        bench.pattern =
            pattern_make(request->seed, bench.ranks, request->datatype, request->reduction);
        failed = measure_all(&bench, arena, answers, error);
        pattern_free(bench.pattern);
    }
    give_buffer(bench.send, larger * bench.element);
    give_buffer(bench.recv, larger * bench.element);
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
