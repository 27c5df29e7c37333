/* The interpreter, two ranks served by hand: where a lane waits and how it comes back, abort,
 * counters that wrap, LL's flags, proxies, push, and that it divides as coll/chunk.h does. */
#include "interpreter.h"
#include "lower.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Two ranks, one lane, one channel ---- */

enum { SLOTS = 4, SLICE = 64, COUNT = 999, SOURCES = 8 };

struct rank {
    struct plan plan;
    struct plan_call call;
    struct plan_lane lane;
    struct plan_out outs[2]; /* [position of the other end] */
    struct plan_in ins[2];
    uint32_t index[2];
    const unsigned char *sources[SOURCES];
    unsigned char *targets[SOURCES];
    int32_t in[COUNT], out[COUNT], scratch[COUNT];
    unsigned char stages[4][SLICE];
};

struct pair {
    struct arena arena;
    struct rank ranks[2];
    void *connections[4]; /* malloc'ed */
    uint32_t part[2], abort;
};

static void connect(struct pair *pair, uint32_t from, uint32_t to, enum plan_protocol protocol,
                    uint32_t first)
{
    size_t slot_bytes = plan_slot_bytes(SLICE, PLAN_LL);
    size_t bytes = plan_connection_bytes(SLOTS, slot_bytes);
    void *memory = aligned_alloc(PLAN_LINE, plan_round(bytes));
    struct plan_out *out = &pair->ranks[from].outs[to];
    struct plan_in *in = &pair->ranks[to].ins[from];
    memset(memory, 0, bytes);
    pair->connections[2 * from + to] = memory;
    plan_connection_place(memory, SLOTS, out, in);
    out->stage = pair->ranks[from].stages[to];
    in->stage = pair->ranks[to].stages[2 + from];
    out->protocol = in->protocol = from == to ? PLAN_SIMPLE : protocol;
    out->sent = in->taken = *out->posted = *in->freed = first;
    for (uint32_t b = 0; b < PLAN_BUFFERS; b++) {
        out->buffers[b] = pair->ranks[to].call.buffers[b];
        in->buffers[b] = pair->ranks[from].call.buffers[b];
    }
}

static void make_rank(struct pair *pair, uint32_t r, const struct schedule *schedule,
                      struct chunk_plan chunks)
{
    struct rank *rank = &pair->ranks[r];
    struct error error = ERROR_NONE;
    if (lower_plan(schedule, r, &pair->arena, &rank->plan, &error)) {
        fail_msg("%s", error.message);
    }
    rank->index[1] = 1;
    rank->lane.sources = rank->sources;
    rank->lane.targets = rank->targets;
    rank->call = (struct plan_call){
        .buffers = {(unsigned char *)rank->in, (unsigned char *)rank->out,
                    (unsigned char *)rank->scratch},
        .part_elements = chunks.count,
        .scratch_bytes = lower_scratch_bytes(&chunks, 4),
        .share = lower_share(&chunks),
        .part = pair->part,
        .type = PLAN_INT32,
        .reduction = PLAN_SUM,
        .element_bytes = 4,
        .slots = SLOTS,
        .slice_bytes = SLICE,
        .slot_bytes = (uint32_t)plan_slot_bytes(SLICE, PLAN_LL),
        .outs = rank->outs,
        .ins = rank->ins,
        .out_of = rank->index,
        .in_of = rank->index,
        .abort = &pair->abort,
    };
    for (int32_t i = 0; i < COUNT; i++) {
        rank->in[i] = i * (int32_t)(r + 1);
        rank->out[i] = -1;
    }
}

/* first: of all counters. */
static struct pair *make_pair(const struct schedule *schedule, uint64_t count, uint64_t chunk_bytes,
                              enum plan_protocol protocol, uint32_t first)
{
    struct pair *pair = calloc(1, sizeof *pair);
    struct chunk_plan chunks = chunk_plan_make(count, 4, 1, 0, schedule->shape.chunks, chunk_bytes);
    pair->part[1] = 1;
    for (uint32_t r = 0; r < 2; r++) {
        make_rank(pair, r, schedule, chunks);
    }
    for (uint32_t i = 0; i < 4; i++) {
        connect(pair, i / 2, i % 2, protocol, first);
    }
    return pair;
}

static void free_pair(struct pair *pair)
{
    for (int i = 0; i < 4; i++) {
        free(pair->connections[i]);
    }
    arena_release(&pair->arena);
    free(pair);
}

static enum plan_status advance(struct pair *pair, uint32_t r)
{
    struct rank *rank = &pair->ranks[r];
    return plan_advance(&rank->plan, &rank->call, &rank->lane);
}

static void begin(struct pair *pair)
{
    for (uint32_t r = 0; r < 2; r++) {
        plan_begin(&pair->ranks[r].plan, &pair->ranks[r].lane, 0);
    }
}

/* One after the other until both are done; how often a lane was left at a wait. */
static unsigned serve_on(struct pair *pair)
{
    unsigned left = 0;
    enum plan_status status[2] = {PLAN_WAITING, PLAN_WAITING};
    while (status[0] != PLAN_DONE || status[1] != PLAN_DONE) {
        for (uint32_t r = 0; r < 2; r++) {
            status[r] = advance(pair, r);
            left += status[r] == PLAN_WAITING;
        }
        if (left > 10000) {
            fail_msg("the two ranks do not come to an end");
        }
    }
    return left;
}

static void serve(struct pair *pair)
{
    begin(pair);
    serve_on(pair);
}

static struct schedule make_schedule(const char *row, enum collective collective)
{
    struct error error = ERROR_NONE;
    struct schedule schedule = {.name = row};
    struct sched_request request = {.collective = collective, .ranks = 2};
    const struct algorithm *algorithm = algorithm_find(row, &error);
    if (!algorithm || sched_make(algorithm, &request, &schedule, &error)) {
        fail_msg("%s", error.message);
    }
    return schedule;
}

static void check_sums(const struct pair *pair, uint64_t count)
{
    for (uint32_t r = 0; r < 2; r++) {
        for (int32_t i = 0; i < (int32_t)count; i++) {
            if (pair->ranks[r].out[i] != 3 * i) {
                fail_msg("rank %u, element %d: %d", r, i, pair->ranks[r].out[i]);
            }
        }
        for (uint64_t i = count; i < COUNT; i++) {
            assert_int_equal(pair->ranks[r].out[i], -1);
        }
    }
}

/* ---- Waits ---- */

static enum plan_kind kind_at(const struct pair *pair, uint32_t r)
{
    return (enum plan_kind)pair->ranks[r].plan.ops[pair->ranks[r].lane.pc].kind;
}

/* A lane alone comes as far as its window, stays there, and goes on when its peer has done its
 * part. */
static void test_leaves_and_comes_back(void **state)
{
    struct schedule schedule = make_schedule("ring", COLL_ALLREDUCE);
    struct pair *pair = make_pair(&schedule, COUNT, 3 * SLICE, PLAN_SIMPLE, 0);
    (void)state;
    begin(pair);
    assert_int_equal(advance(pair, 0), PLAN_WAITING);
    assert_int_equal(kind_at(pair, 0), PLAN_WAIT_POST);
    assert_int_equal(*pair->ranks[0].outs[1].posted, 3);
    uint32_t pc = pair->ranks[0].lane.pc;
    assert_int_equal(advance(pair, 0), PLAN_WAITING); /* nothing has changed */
    assert_int_equal(pair->ranks[0].lane.pc, pc);
    assert_int_equal(*pair->ranks[0].outs[1].posted, 3);
    assert_true(serve_on(pair) > 2);
    check_sums(pair, COUNT);
    free_pair(pair);
}

static void test_second_call_needs_no_reset(void **state)
{
    struct schedule schedule = make_schedule("ring", COLL_ALLREDUCE);
    struct pair *pair = make_pair(&schedule, COUNT, 3 * SLICE, PLAN_SIMPLE, 0);
    (void)state;
    serve(pair);
    uint32_t posted = *pair->ranks[0].outs[1].posted;
    memset(pair->ranks[0].out, 0xff, sizeof pair->ranks[0].out);
    memset(pair->ranks[1].out, 0xff, sizeof pair->ranks[1].out);
    serve(pair);
    assert_int_equal(*pair->ranks[0].outs[1].posted, 2 * posted);
    check_sums(pair, COUNT);
    free_pair(pair);
}

static void test_abort(void **state)
{
    struct schedule schedule = make_schedule("two-shot", COLL_ALLREDUCE);
    struct pair *pair = make_pair(&schedule, COUNT, 3 * SLICE, PLAN_SIMPLE, 0);
    (void)state;
    begin(pair);
    assert_int_equal(advance(pair, 0), PLAN_WAITING);
    pair->abort = 1;
    assert_int_equal(advance(pair, 0), PLAN_ABORTED);
    assert_int_equal(advance(pair, 0), PLAN_ABORTED); /* and for good */
    pair->abort = 0;
    free_pair(pair);
}

/* A pull's step ends only when the descriptors are freed: until then the buffer is read. */
static void test_pull_drains(void **state)
{
    struct schedule schedule = make_schedule("one-shot", COLL_ALLREDUCE);
    struct pair *pair = make_pair(&schedule, 16, 1 << 20, PLAN_SIMPLE, 0);
    (void)state;
    begin(pair);
    assert_int_equal(advance(pair, 0), PLAN_WAITING);
    assert_int_equal(kind_at(pair, 0), PLAN_WAIT_POST);
    assert_int_equal(advance(pair, 1), PLAN_WAITING); /* has read rank 0's, is not read itself */
    assert_int_equal(kind_at(pair, 1), PLAN_DRAIN);
    assert_int_equal(advance(pair, 0), PLAN_DONE);
    assert_int_equal(advance(pair, 1), PLAN_DONE);
    check_sums(pair, 16);
    free_pair(pair);
}

/* ---- Counters ---- */

static void test_counters_wrap(void **state)
{
    static const char *const rows[] = {"ring", "two-shot", "doubling"};
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        for (int ll = 0; ll < 2; ll++) {
            struct schedule schedule = make_schedule(rows[row], COLL_ALLREDUCE);
            struct pair *pair =
                make_pair(&schedule, COUNT, 3 * SLICE, ll ? PLAN_LL : PLAN_SIMPLE, 0U - 2 * SLOTS);
            for (int call = 0; call < 3; call++) {
                serve(pair);
                check_sums(pair, COUNT);
            }
            assert_true(pair->ranks[0].outs[1].sent < 1000); /* they have wrapped */
            free_pair(pair);
        }
    }
}

static void test_no_elements(void **state)
{
    struct schedule schedule = make_schedule("ring", COLL_ALLREDUCE);
    (void)state;
    for (int ll = 0; ll < 2; ll++) {
        struct pair *pair = make_pair(&schedule, 0, 64, ll ? PLAN_LL : PLAN_SIMPLE, 0);
        serve(pair);
        check_sums(pair, 0);
        assert_true(*pair->ranks[0].outs[1].posted > 0); /* empty slices are posted all the same */
        free_pair(pair);
    }
}

/* LL needs no counter; a proxy does, and wants to know how much each slot holds. */
static void test_ll_and_proxies(void **state)
{
    struct schedule schedule = make_schedule("ring", COLL_ALLREDUCE);
    (void)state;
    for (uint32_t proxied = 0; proxied < 2; proxied++) {
        struct pair *pair = make_pair(&schedule, 40, 4 * SLICE, PLAN_LL, 0);
        const struct plan_out *out = &pair->ranks[0].outs[1];
        pair->ranks[0].outs[1].proxied = proxied;
        begin(pair);
        assert_int_equal(advance(pair, 0), PLAN_WAITING); /* chunk 1: 64 + 16 bytes */
        assert_int_equal(out->sent, 2);
        assert_int_equal(*out->posted, proxied ? 2 : 0);
        assert_int_equal(out->descriptors[0].bytes, proxied ? 64 : 0);
        assert_int_equal(out->descriptors[1].bytes, proxied ? 16 : 0);
        uint64_t word;
        memcpy(&word, out->slots + pair->ranks[0].call.slot_bytes + 8 * 3, sizeof word);
        assert_int_equal(word >> 32, 2);
        assert_int_equal((uint32_t)word, (uint32_t)pair->ranks[0].in[39]);
        serve_on(pair);
        check_sums(pair, 40);
        free_pair(pair);
    }
}

/* Half of the words are there: the slice is not. */
static void test_ll_waits_for_every_word(void **state)
{
    struct schedule schedule = make_schedule("doubling", COLL_ALLREDUCE);
    struct pair *pair = make_pair(&schedule, 16, 1 << 20, PLAN_LL, 0);
    (void)state;
    begin(pair);
    assert_int_equal(advance(pair, 1), PLAN_WAITING);
    unsigned char *slot = pair->ranks[1].outs[0].slots;
    uint64_t last, none = 0;
    memcpy(&last, slot + 8 * 15, sizeof last);
    memcpy(slot + 8 * 15, &none, sizeof none);
    assert_int_equal(advance(pair, 0), PLAN_WAITING);
    assert_int_equal(kind_at(pair, 0), PLAN_WAIT_POST);
    memcpy(slot + 8 * 15, &last, sizeof last);
    assert_int_equal(advance(pair, 0), PLAN_DONE);
    assert_int_equal(advance(pair, 1), PLAN_DONE);
    check_sums(pair, 16);
    free_pair(pair);
}

/* ---- Push: written where the receiver said ---- */

static void test_push(void **state)
{
    struct sched_space two = {.size = 2, .stride = 1};
    struct sched_item items[2][2];
    struct sched_program programs[2];
    (void)state;
    for (int32_t r = 0; r < 2;
         r++) { /* all-gather of `in`: the own part copied, the other pushed */
        struct sched_peers other = {.space = two, .first = 1 - r, .count = 1};
        struct sched_range in = {
            .buffer = SCHED_IN, .space = {.size = 1, .stride = 1}, .run = 1, .runs = 1};
        struct sched_range out = {.buffer = SCHED_OUT, .space = two, .run = 1, .runs = 1};
        out.first = r;
        items[r][0] =
            (struct sched_item){.step = {.takes = true, .stores = true, .take = in, .store = out}};
        out.first = 1 - r;
        items[r][1] = (struct sched_item){.step = {.recv = {other},
                                                   .nr_recv = 1,
                                                   .combine = SCHED_PLACE,
                                                   .stores = true,
                                                   .store = out,
                                                   .send = {{.peers = other, .range = in}},
                                                   .nr_send = 1,
                                                   .via = SCHED_PUSH}};
        programs[r] = (struct sched_program){.lanes = {{items[r], 2}}, .nr_lanes = 1};
    }
    struct schedule schedule = {.name = "pushed",
                                .request = {.collective = COLL_ALL_GATHER, .ranks = 2},
                                .shape = {.chunks = 1, .copies = 1, .lanes = 1},
                                .programs = programs};
    struct pair *pair = make_pair(&schedule, 400, 7 * SLICE, PLAN_LL, 0U - 2);
    for (int call = 0; call < 2; call++) {
        serve(pair);
        for (uint32_t r = 0; r < 2; r++) {
            for (int32_t i = 0; i < 400; i++) {
                assert_int_equal(pair->ranks[r].out[i], i);
                assert_int_equal(pair->ranks[r].out[400 + i], 2 * i);
            }
            assert_int_equal(pair->ranks[r].out[800], -1);
            /* nothing went through slots */
            for (size_t i = 0; i < SLOTS * pair->ranks[r].call.slot_bytes; i++) {
                assert_int_equal(pair->ranks[r].outs[1 - r].slots[i], 0);
            }
        }
    }
    free_pair(pair);
}

/* ---- Division ---- */

/* A program that copies chunk c alone: what it has copied is where chunk.h says that chunk c lies.
 */
static void check_division(uint64_t count, uint32_t chunks, uint32_t c, uint64_t chunk_bytes)
{
    struct sched_space space = {.size = (int32_t)chunks, .stride = 1};
    struct sched_range range = {
        .buffer = SCHED_IN, .space = space, .first = (int32_t)c, .run = 1, .runs = 1};
    struct sched_item item = {
        .step = {.takes = true, .stores = true, .take = range, .store = range}};
    item.step.store.buffer = SCHED_OUT;
    struct sched_program programs[2] = {{.lanes = {{&item, 1}}, .nr_lanes = 1},
                                        {.lanes = {{&item, 1}}, .nr_lanes = 1}};
    struct schedule schedule = {.name = "copy",
                                .request = {.collective = COLL_ALLREDUCE, .ranks = 2},
                                .shape = {.chunks = chunks, .copies = 1, .lanes = 1},
                                .programs = programs};
    struct pair *pair = make_pair(&schedule, count, chunk_bytes, PLAN_SIMPLE, 0);
    struct chunk_plan plan = chunk_plan_make(count, 4, 1, 0, chunks, chunk_bytes);
    bool copied[COUNT] = {false};
    serve(pair);
    for (uint32_t loop = 0; loop < plan.loops; loop++) {
        struct chunk_span span = chunk_locate(&plan, loop, c);
        for (uint64_t i = span.first; i < span.first + span.count; i++) {
            copied[i] = true;
        }
    }
    for (int32_t i = 0; i < COUNT; i++) {
        if (pair->ranks[0].out[i] != (copied[i] ? i : -1)) {
            fail_msg("%llu elements, chunk %u of %u, at most %llu bytes: element %d",
                     (unsigned long long)count, c, chunks, (unsigned long long)chunk_bytes, i);
        }
    }
    free_pair(pair);
}

static void test_divides_as_chunk_does(void **state)
{
    static const uint64_t counts[] = {0, 1, 2, 3, 5, 16, 37, 100, 333, 998, 999};
    static const uint64_t most[] = {1, 16, 100, 1000, 1 << 20};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (size_t k = 0; k < sizeof most / sizeof *most; k++) {
            for (uint32_t chunks = 1; chunks <= 7; chunks += 2) {
                for (uint32_t c = 0; c < chunks; c++) {
                    check_division(counts[i], chunks, c, most[k]);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaves_and_comes_back),
        cmocka_unit_test(test_second_call_needs_no_reset),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_pull_drains),
        cmocka_unit_test(test_counters_wrap),
        cmocka_unit_test(test_no_elements),
        cmocka_unit_test(test_ll_and_proxies),
        cmocka_unit_test(test_ll_waits_for_every_word),
        cmocka_unit_test(test_push),
        cmocka_unit_test(test_divides_as_chunk_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
