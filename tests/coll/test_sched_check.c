/* test_sched_check.c - hand-made schedules, right and broken: each fault is found, called by its
 * name, and placed where it is.
 *
 * The small schedules are for two positions unless said otherwise; their programs are emitted by
 * functions that know the position, as rows do.
 */
#include "arena.h"
#include "sched_build.h"
#include "sched_check.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef void emit_fn(struct sched_builder *b, const struct sched_frame *f);

struct draft {
    struct arena arena;
    struct schedule schedule;
    struct sched_check_options options;
};

static struct draft draft_begin(enum collective collective, uint32_t ranks)
{
    return (struct draft){.schedule = {.name = "draft",
                                       .request = {.collective = collective, .ranks = ranks},
                                       .shape = {.chunks = 1, .copies = 1, .lanes = 1}},
                          .options = sched_check_usual};
}

static struct sched_program *draft_emit(struct draft *draft, emit_fn *emit)
{
    const struct sched_request *request = &draft->schedule.request;
    struct sched_program *programs = arena_alloc(&draft->arena, request->ranks, sizeof *programs);
    for (uint32_t r = 0; r < request->ranks; r++) {
        struct sched_builder *builder = build_begin(&draft->arena, draft->schedule.shape.lanes);
        struct sched_frame frame = build_frame(request, r, draft->schedule.shape.chunks);
        emit(builder, &frame);
        build_finish(builder, &programs[r]);
    }
    draft->schedule.programs = programs;
    return programs;
}

/* Checks and clears: `words` must all be in the message (NULL-ended). */
static void expect(struct draft *draft, enum sched_fault wanted, const char *const words[])
{
    enum sched_fault fault = FAULT_NONE;
    struct error error = ERROR_NONE;
    int result = sched_check(&draft->schedule, &draft->options, &fault, &error);
    if (fault != wanted || (result == 0) != (wanted == FAULT_NONE)) {
        fail_msg("expected %s, found %s: %s", sched_fault_name(wanted), sched_fault_name(fault),
                 error.message);
    }
    if (result) {
        assert_int_equal(error.status, EXIT_INPUT);
        assert_non_null(strstr(error.message, "draft: "));
        assert_non_null(strstr(error.message, sched_fault_name(wanted)));
    }
    for (; words && *words; words++) {
        if (!strstr(error.message, *words)) {
            fail_msg("'%s' is not in: %s", *words, error.message);
        }
    }
    arena_release(&draft->arena);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void check_emitted(enum collective collective, uint32_t ranks, emit_fn *emit,
                          enum sched_fault wanted, const char *const words[])
{
    struct draft draft = draft_begin(collective, ranks);
    draft_emit(&draft, emit);
    expect(&draft, wanted, words);
}

/* Steps that the schedules below are made of. */
static struct sched_range whole(const struct sched_frame *f, enum sched_buffer buffer)
{
    return build_range(f, buffer, 0);
}

static struct sched_peers other(const struct sched_frame *f)
{
    return build_peer(f, 1 - (int32_t)f->r, 0);
}

static struct sched_peers others(const struct sched_frame *f)
{
    return build_peers(f, (int32_t)f->r + 1, (int32_t)f->n - 1, 0);
}

/* ---- right ones ---- */

/* The exchange of two: receive the other's, add the own, store. */
static struct sched_step *exchange(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_step *step = build_step(b, 0);
    step_receive(step, other(f));
    step_take(step, whole(f, SCHED_IN));
    step_store(step, whole(f, SCHED_OUT));
    step_send(step, other(f), whole(f, SCHED_IN));
    return step;
}

static void emit_exchange(struct sched_builder *b, const struct sched_frame *f)
{
    exchange(b, f);
}

static void emit_pull(struct sched_builder *b, const struct sched_frame *f)
{
    exchange(b, f)->via = SCHED_PULL;
}

/* All-gather by push: everybody writes its part into everybody's out. */
static void emit_push(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_frame parts = *f;
    parts.chunks.size = (int32_t)f->n;
    build_copy(b, 0, whole(f, SCHED_IN), build_range(&parts, SCHED_OUT, (int32_t)f->r));
    struct sched_step *step = build_step(b, 0);
    step->combine = SCHED_PLACE;
    step->via = SCHED_PUSH;
    step_receive(step, others(f));
    step_store(step, build_range(&parts, SCHED_OUT, (int32_t)f->r + 1));
    step->store.per_peer = 1;
    step_send(step, others(f), whole(f, SCHED_IN));
}

static void emit_multicast(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_step *step = build_step(b, 0);
    step_receive(step, others(f));
    step->recv[0].group = true;
    step_take(step, whole(f, SCHED_IN));
    step_store(step, whole(f, SCHED_OUT));
    step_send(step, others(f), whole(f, SCHED_IN));
    step->send[0].peers.group = true;
}

static void emit_ring(struct sched_builder *b, const struct sched_frame *f)
{
    int32_t r = (int32_t)f->r;
    struct sched_peers next = build_peer(f, r + 1, 0), prev = build_peer(f, r - 1, 0);
    step_send(build_step(b, 0), next, build_range(f, SCHED_IN, r));
    build_repeat(b, 0, f->n - 2);
    struct sched_step *step = build_step(b, 0);
    step_receive(step, prev);
    step_take(step, build_range(f, SCHED_IN, r - 1));
    step->take.move = -1;
    step_send_value(step, next);
    build_end(b, 0);
    step = build_step(b, 0);
    step_receive(step, prev);
    step_take(step, build_range(f, SCHED_IN, r + 1));
    step_store(step, build_range(f, SCHED_OUT, r + 1));
    step_send_value(step, next);
    build_repeat(b, 0, f->n - 2);
    step = build_step(b, 0);
    step_receive(step, prev);
    step_store(step, build_range(f, SCHED_OUT, r));
    step->store.move = -1;
    step_send_value(step, next);
    build_end(b, 0);
    step = build_step(b, 0);
    step_receive(step, prev);
    step_store(step, build_range(f, SCHED_OUT, r + 2));
}

static void test_right_ones_pass(void **state)
{
    (void)state;
    check_emitted(COLL_ALLREDUCE, 2, emit_exchange, FAULT_NONE, NULL);
    check_emitted(COLL_ALLREDUCE, 2, emit_pull, FAULT_NONE, NULL);
    check_emitted(COLL_ALL_GATHER, 3, emit_push, FAULT_NONE, NULL);
    check_emitted(COLL_ALLREDUCE, 3, emit_multicast, FAULT_NONE, NULL);
    for (uint32_t n = 2; n < 10; n++) {
        struct draft draft = draft_begin(COLL_ALLREDUCE, n);
        draft.schedule.shape.chunks = n;
        draft.schedule.request.in_place = n % 2;
        draft_emit(&draft, emit_ring);
        expect(&draft, FAULT_NONE, NULL);
    }
}

static void test_order_of_lanes_does_not_matter(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct draft draft = draft_begin(COLL_ALLREDUCE, 5);
        draft.schedule.shape.chunks = 5;
        draft.options.seed = seed;
        draft_emit(&draft, emit_ring);
        expect(&draft, FAULT_NONE, NULL);
    }
}

/* ---- messages that do not match ---- */

static void emit_missing_send(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_step *step = exchange(b, f);
    step->nr_send = f->r == 1 ? 0 : 1;
}

static void emit_extra_send(struct sched_builder *b, const struct sched_frame *f)
{
    exchange(b, f);
    if (f->r == 1) {
        step_send(build_step(b, 0), other(f), whole(f, SCHED_IN));
    }
}

static void emit_short_send(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_step *step = exchange(b, f);
    if (f->r == 0) {
        step->send[0].range.runs = 0;
    }
}

static void emit_pull_from_slot(struct sched_builder *b, const struct sched_frame *f)
{
    exchange(b, f)->via = f->r == 0 ? SCHED_PULL : SCHED_SLOT;
}

static void test_messages_must_match(void **state)
{
    (void)state;
    check_emitted(COLL_ALLREDUCE, 2, emit_missing_send, FAULT_UNMATCHED,
                  WORDS("position 0 lane 0 step 1", "receives from position 1 lane 0",
                        "sends it 0 messages a loop, not 1"));
    check_emitted(COLL_ALLREDUCE, 2, emit_extra_send, FAULT_UNMATCHED,
                  WORDS("position 1 lane 0 step 2", "sends to position 0 lane 0",
                        "takes from it 1 messages a loop, not 2"));
    check_emitted(COLL_ALLREDUCE, 2, emit_short_send, FAULT_UNMATCHED,
                  WORDS("sends 0 chunks", "expects 1"));
    check_emitted(COLL_ALLREDUCE, 2, emit_pull_from_slot, FAULT_UNMATCHED,
                  WORDS("by pull", "through slots"));
}

static void emit_same_peer_twice(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_step *step = exchange(b, f);
    step_receive(step, other(f));
    step_send(step, other(f), whole(f, SCHED_IN));
}

static void test_a_step_names_a_connection_once(void **state)
{
    (void)state;
    check_emitted(COLL_ALLREDUCE, 2, emit_same_peer_twice, FAULT_MALFORMED,
                  WORDS("sends to position 1 lane 0 twice"));
}

/* ---- results ---- */

static void emit_double_reduction(struct sched_builder *b, const struct sched_frame *f)
{
    exchange(b, f);
    exchange(b, f)->take.buffer = SCHED_OUT;
}

static void emit_no_own_part(struct sched_builder *b, const struct sched_frame *f)
{
    exchange(b, f)->takes = false;
}

static void emit_nothing(struct sched_builder *b, const struct sched_frame *f)
{
    (void)b, (void)f;
}

/* Each sends and takes its own chunk of the two. */
static void emit_mixed_chunks(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_step *step = exchange(b, f);
    step->take.first = (int32_t)f->r;
    step->send[0].range.first = (int32_t)f->r;
}

static void emit_swapped(struct sched_builder *b, const struct sched_frame *f)
{
    build_copy(b, 0, build_range(f, SCHED_IN, 0), build_range(f, SCHED_OUT, 1));
    build_copy(b, 0, build_range(f, SCHED_IN, 1), build_range(f, SCHED_OUT, 0));
}

static void test_wrong_results(void **state)
{
    (void)state;
    check_emitted(COLL_ALLREDUCE, 2, emit_double_reduction, FAULT_WRONG_RESULT,
                  WORDS("out chunk 0 (loop 1, slice 0) of position", "twice"));
    check_emitted(COLL_ALLREDUCE, 2, emit_no_own_part, FAULT_WRONG_RESULT,
                  WORDS("lacks the contributions of 1 of 2 positions"));
    check_emitted(COLL_ALLREDUCE, 2, emit_nothing, FAULT_WRONG_RESULT, WORDS("was never written"));
    check_emitted(COLL_SEND_RECV, 2, emit_exchange, FAULT_WRONG_RESULT,
                  WORDS("that does not belong there"));
    struct draft draft = draft_begin(COLL_ALLREDUCE, 2);
    draft.schedule.shape.chunks = 2;
    draft_emit(&draft, emit_mixed_chunks);
    expect(&draft, FAULT_WRONG_RESULT, WORDS("do not belong together"));
    draft = draft_begin(COLL_ALLREDUCE, 1);
    draft.schedule.shape.chunks = 2;
    draft_emit(&draft, emit_swapped);
    expect(&draft, FAULT_WRONG_RESULT,
           WORDS("holds chunk 1 of position 0's in (loop 1 of call 1), expected chunk 0"));
}

/* ---- deadlock ---- */

static void emit_receive_first(struct sched_builder *b, const struct sched_frame *f)
{
    build_copy(b, 0, whole(f, SCHED_IN), whole(f, SCHED_OUT));
    struct sched_step *step = build_step(b, 0);
    step_receive(step, other(f));
    step_take(step, whole(f, SCHED_OUT));
    step_store(step, whole(f, SCHED_OUT));
    step_send(build_step(b, 0), other(f), whole(f, SCHED_IN));
}

static void test_deadlock_names_the_cycle(void **state)
{
    (void)state;
    check_emitted(COLL_ALLREDUCE, 2, emit_receive_first, FAULT_DEADLOCK,
                  WORDS("position 0 lane 0 step 2 (repetition 0.0, loop 1 of call 1) waits for a "
                        "slice from position 1 lane 0",
                        "position 1 lane 0 step 2", "window 4, 3 slices"));
}

/* DESIGN 4: what leaves before the lane's next receive must fit the window with one to spare. */
static void test_window_decides(void **state)
{
    static const struct {
        uint32_t window, slices;
        enum sched_fault fault;
    } cases[] = {{2, 1, FAULT_NONE},     {2, 2, FAULT_DEADLOCK}, {4, 3, FAULT_NONE},
                 {4, 4, FAULT_DEADLOCK}, {8, 7, FAULT_NONE},     {8, 8, FAULT_DEADLOCK}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct draft draft = draft_begin(COLL_ALLREDUCE, 4);
        draft.schedule.shape.chunks = 4;
        draft.options.window = cases[i].window;
        draft.options.slices_per_chunk = cases[i].slices;
        draft_emit(&draft, emit_ring);
        expect(&draft, cases[i].fault, NULL);
        draft = draft_begin(COLL_ALLREDUCE, 2); /* an exchange is one step: it cannot */
        draft.options.window = cases[i].window;
        draft.options.slices_per_chunk = cases[i].slices;
        draft_emit(&draft, emit_exchange);
        expect(&draft, FAULT_NONE, NULL);
    }
}

/* ---- races ---- */

/* Lane 0 stores, lane 1 copies what it stored to out; ordered by a token or not. */
static void emit_two_lanes(struct sched_builder *b, const struct sched_frame *f, bool token)
{
    build_copy(b, 0, whole(f, SCHED_IN), whole(f, SCHED_SCRATCH));
    if (token) {
        build_token(b, f, 0, 1);
        build_await(b, f, 1, 0);
    }
    build_copy(b, 1, whole(f, SCHED_SCRATCH), whole(f, SCHED_OUT));
    if (token) {
        build_token(b, f, 1, 0);
        build_await(b, f, 0, 1);
    }
}

static void emit_ordered_lanes(struct sched_builder *b, const struct sched_frame *f)
{
    emit_two_lanes(b, f, true);
}

static void emit_unordered_lanes(struct sched_builder *b, const struct sched_frame *f)
{
    emit_two_lanes(b, f, false);
}

static struct draft two_lanes(emit_fn *emit)
{
    struct draft draft = draft_begin(COLL_ALLREDUCE, 1);
    draft.schedule.shape.lanes = 2;
    draft.schedule.shape.scratch = 1;
    draft_emit(&draft, emit);
    return draft;
}

static void test_lanes_are_ordered_by_tokens_only(void **state)
{
    (void)state;
    struct draft draft = two_lanes(emit_ordered_lanes);
    expect(&draft, FAULT_NONE, NULL);
    for (uint64_t seed = 0; seed < 10; seed++) { /* whichever comes first */
        draft = two_lanes(emit_unordered_lanes);
        draft.options.seed = seed;
        enum sched_fault fault;
        struct error error = ERROR_NONE;
        assert_int_equal(sched_check(&draft.schedule, &draft.options, &fault, &error), -1);
        assert_true(fault == FAULT_RACE || fault == FAULT_OVERRUN || fault == FAULT_UNREAD);
        assert_non_null(strstr(error.message, "scratch chunk 0"));
        arena_release(&draft.arena);
    }
}

static void test_in_place_nobody_stores_what_others_pull(void **state)
{
    (void)state;
    struct draft draft = draft_begin(COLL_ALLREDUCE, 2);
    draft.schedule.request.in_place = true;
    draft_emit(&draft, emit_pull);
    expect(&draft, FAULT_RACE,
           WORDS("out chunk 0", "reads it", "writes it", "nothing says which comes first"));
}

/* A pipeline through scratch: lane 0 fills a copy, lane 1 empties it and gives it back. */
static void emit_pipeline(struct sched_builder *b, const struct sched_frame *f)
{
    build_await(b, f, 0, 1);
    build_copy(b, 0, whole(f, SCHED_IN), whole(f, SCHED_SCRATCH));
    build_token(b, f, 0, 1);
    build_await(b, f, 1, 0);
    build_copy(b, 1, whole(f, SCHED_SCRATCH), whole(f, SCHED_OUT));
    build_token(b, f, 1, 0);
}

static void test_credits_are_at_most_copies(void **state)
{
    (void)state;
    for (uint32_t copies = 1; copies <= 3; copies++) {
        for (uint32_t credits = 1; credits <= 3; credits++) {
            struct draft draft = draft_begin(COLL_ALLREDUCE, 1);
            draft.schedule.shape = (struct sched_shape){.chunks = 1,
                                                        .lanes = 2,
                                                        .scratch = 1,
                                                        .copies = copies,
                                                        .nr_credits = 1,
                                                        .credits = {{1, 0, credits}}};
            draft.options.loops = 4;
            draft_emit(&draft, emit_pipeline);
            expect(&draft, credits <= copies ? FAULT_NONE : FAULT_OVERRUN,
                   credits <= copies ? NULL : WORDS("scratch chunk 0"));
        }
    }
    struct draft draft = draft_begin(COLL_ALLREDUCE, 1);
    draft.schedule.shape = (struct sched_shape){.chunks = 1,
                                                .lanes = 2,
                                                .scratch = 1,
                                                .copies = 9,
                                                .nr_credits = 1,
                                                .credits = {{1, 0, 9}}};
    draft_emit(&draft, emit_pipeline);
    expect(&draft, FAULT_OVERRUN, WORDS("9 credits from lane 1 to lane 0", "4 slots"));
    draft = draft_begin(COLL_ALLREDUCE, 1); /* without any, nobody begins */
    draft.schedule.shape = (struct sched_shape){.chunks = 1, .lanes = 2, .scratch = 1, .copies = 1};
    draft_emit(&draft, emit_pipeline);
    expect(&draft, FAULT_DEADLOCK, NULL);
}

/* ---- memory that nobody wrote ---- */

static void emit_unwritten(struct sched_builder *b, const struct sched_frame *f)
{
    build_copy(b, 0, whole(f, SCHED_SCRATCH), whole(f, SCHED_OUT));
    build_copy(b, 0, whole(f, SCHED_IN), whole(f, SCHED_SCRATCH));
}

static void emit_out_first(struct sched_builder *b, const struct sched_frame *f)
{
    build_copy(b, 0, whole(f, SCHED_OUT), whole(f, SCHED_OUT));
    build_copy(b, 0, whole(f, SCHED_IN), whole(f, SCHED_OUT));
}

static void emit_no_root_input(struct sched_builder *b, const struct sched_frame *f)
{
    build_copy(b, 0, whole(f, SCHED_IN), whole(f, SCHED_OUT));
}

static void test_unread(void **state)
{
    (void)state;
    struct draft draft = draft_begin(COLL_ALLREDUCE, 1);
    draft.schedule.shape.scratch = 1;
    draft_emit(&draft, emit_unwritten);
    expect(&draft, FAULT_UNREAD, WORDS("scratch chunk 0", "position 0 lane 0 step 1"));
    check_emitted(COLL_ALLREDUCE, 1, emit_out_first, FAULT_UNREAD, WORDS("out chunk 0"));
    check_emitted(COLL_BROADCAST, 2, emit_no_root_input, FAULT_UNREAD,
                  WORDS("in chunk 0", "position 1"));
}

/* The last loop's scratch is not this loop's. */
static void emit_stale(struct sched_builder *b, const struct sched_frame *f)
{
    struct sched_range second = build_range(f, SCHED_SCRATCH, 0);
    second.space = (struct sched_space){.size = 1, .base = 1, .stride = 1};
    build_copy(b, 0, whole(f, SCHED_IN), whole(f, SCHED_SCRATCH));
    build_copy(b, 0, whole(f, SCHED_SCRATCH), whole(f, SCHED_OUT));
    struct sched_range third = second;
    third.space.base = 2;
    build_copy(b, 0, second, third);
    build_copy(b, 0, whole(f, SCHED_IN), second);
}

static void test_scratch_belongs_to_its_loop(void **state)
{
    (void)state;
    struct draft draft = draft_begin(COLL_ALLREDUCE, 1);
    draft.schedule.shape.scratch = 3;
    draft_emit(&draft, emit_stale);
    expect(&draft, FAULT_UNREAD, WORDS("scratch chunk 1"));
}

/* ---- malformed ---- */

typedef void spoil_fn(struct draft *draft, struct sched_step *step);

#define SPOIL(name, act)                                                                           \
    static void name(struct draft *draft, struct sched_step *step)                                 \
    {                                                                                              \
        (void)draft, (void)step;                                                                   \
        act;                                                                                       \
    }

SPOIL(spoil_peer, step->send[0].peers.space.base = 7)
SPOIL(spoil_negative_peer, step->recv[0].space.base = -5)
SPOIL(spoil_lane, step->recv[0].lane = 1)
SPOIL(spoil_chunk, step->take.space.base = 1)
SPOIL(spoil_move, step->take.space.move = INT_MIN)
SPOIL(spoil_size, step->take.space.size = 0)
SPOIL(spoil_run, step->store.run = INT_MAX)
SPOIL(spoil_runs, step->store.runs = -1)
SPOIL(spoil_buffer, step->store.buffer = (enum sched_buffer)9)
SPOIL(spoil_scratch, step->store.buffer = SCHED_SCRATCH)
SPOIL(spoil_input, step->store.buffer = SCHED_IN)
SPOIL(spoil_count, step->recv[0].count = 3)
SPOIL(spoil_lists, step->nr_recv = SCHED_SENDS_MOST + 1)
SPOIL(spoil_compute, step->compute = "select")
SPOIL(spoil_push, step->via = SCHED_PUSH)
SPOIL(spoil_place, step->combine = SCHED_PLACE)
SPOIL(spoil_lengths, step->take.runs = 0)
SPOIL(spoil_ranks, draft->schedule.request.ranks = 1000000000)
SPOIL(spoil_chunks, draft->schedule.shape.chunks = UINT32_MAX)
SPOIL(spoil_copies, draft->schedule.shape.copies = 0)
SPOIL(spoil_lanes, draft->schedule.shape.lanes = 99)
SPOIL(spoil_credits, draft->schedule.shape.nr_credits = 99)
SPOIL(spoil_window, draft->options.window = 3)
SPOIL(spoil_slices, draft->options.slices_per_chunk = 0)
SPOIL(spoil_in_place, draft->schedule.request.collective = COLL_ALL_TO_ALL;
      draft->schedule.request.in_place = true)

static const struct {
    const char *words;
    spoil_fn *spoil;
} spoils[] = {
    {"a peer at position 7: expected 0 to 1", spoil_peer},
    {"a peer at position -", spoil_negative_peer},
    {"lane 0 step 1: a peer's lane is not there", spoil_lane},
    {"reads chunk 1: expected 0 to 0", spoil_chunk},
    {"its numbers are too large", spoil_move},
    {"the space of a range is empty", spoil_size},
    {"more chunks than its buffer", spoil_run},
    {"cannot be negative", spoil_runs},
    {"in no buffer", spoil_buffer},
    {"more chunks than its buffer", spoil_scratch},
    {"stores to in chunk 0, which is not its to write", spoil_input},
    {"longer than the group", spoil_count},
    {"out of range", spoil_lists},
    {"compute", spoil_compute},
    {"push is for place only", spoil_push},
    {"place neither takes", spoil_place},
    {"different numbers of chunks", spoil_lengths},
    {"1000000000 ranks: expected 1 to 4096", spoil_ranks},
    {"too large to be checked", spoil_chunks},
    {"at least one of each", spoil_copies},
    {"99 lanes: expected 1 to 8", spoil_lanes},
    {"99 credits: expected at most 8", spoil_credits},
    {"window 3: expected a power of two", spoil_window},
    {"0 slices a chunk", spoil_slices},
    {"no form in place", spoil_in_place},
};

static void test_malformed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++) {
        struct draft draft = draft_begin(COLL_ALLREDUCE, 2);
        struct sched_program *programs = draft_emit(&draft, emit_exchange);
        struct sched_item item = programs[1].lanes[0].items[0];
        spoils[i].spoil(&draft, &item.step);
        programs[1].lanes[0].items = &item;
        expect(&draft, FAULT_MALFORMED, WORDS(spoils[i].words));
    }
}

static void emit_out_of_others(struct sched_builder *b, const struct sched_frame *f)
{
    build_copy(b, 0, whole(f, SCHED_IN), whole(f, SCHED_OUT));
}

static void test_only_the_root_has_the_out_of_a_reduce(void **state)
{
    (void)state;
    check_emitted(COLL_REDUCE, 2, emit_out_of_others, FAULT_MALFORMED,
                  WORDS("position 1", "stores to out chunk 0", "only the root"));
}

static void test_endless_repeats(void **state)
{
    (void)state;
    struct draft draft = draft_begin(COLL_ALLREDUCE, 1);
    struct sched_item step = {0}, repeats[5];
    struct sched_program program = {.nr_lanes = 1, .lanes = {{.items = &repeats[0], .nr = 1}}};
    draft.schedule.programs = &program;
    repeats[0] = (struct sched_item){.times = UINT32_MAX, .items = &step, .nr = 1};
    expect(&draft, FAULT_MALFORMED, WORDS("repeated more than"));
    repeats[0] = (struct sched_item){.times = 1 << 20, .items = &repeats[1], .nr = 1};
    repeats[1] = (struct sched_item){.times = 1 << 20, .items = &step, .nr = 1};
    expect(&draft, FAULT_MALFORMED, WORDS("repeated more than"));
    repeats[1] = (struct sched_item){.times = 2};
    expect(&draft, FAULT_MALFORMED, WORDS("a repeat of nothing"));
    for (int i = 0; i < 4; i++) {
        repeats[i] = (struct sched_item){.times = 1, .items = &repeats[i + 1], .nr = 1};
    }
    repeats[4] = step;
    expect(&draft, FAULT_MALFORMED, WORDS("no deeper"));
}

static void test_usual_window_bears_a_ring(void **state)
{
    (void)state;
    assert_int_equal(sched_check_usual.loops, 3);
    assert_int_equal(sched_check_usual.calls, 2);
    assert_int_equal(sched_check_usual.slices_per_chunk, sched_check_usual.window - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_ones_pass),
        cmocka_unit_test(test_order_of_lanes_does_not_matter),
        cmocka_unit_test(test_messages_must_match),
        cmocka_unit_test(test_a_step_names_a_connection_once),
        cmocka_unit_test(test_wrong_results),
        cmocka_unit_test(test_deadlock_names_the_cycle),
        cmocka_unit_test(test_window_decides),
        cmocka_unit_test(test_lanes_are_ordered_by_tokens_only),
        cmocka_unit_test(test_in_place_nobody_stores_what_others_pull),
        cmocka_unit_test(test_credits_are_at_most_copies),
        cmocka_unit_test(test_unread),
        cmocka_unit_test(test_scratch_belongs_to_its_loop),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_only_the_root_has_the_out_of_a_reduce),
        cmocka_unit_test(test_endless_repeats),
        cmocka_unit_test(test_usual_window_bears_a_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
