/* Lowering: which operations a step becomes, how large plans are, what is refused, and the plan as
 * text. */
#include "lower.h"
#include "plan_dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void lower_row(struct arena *arena, const char *row, struct sched_request request,
                      uint32_t position, struct plan *plan)
{
    struct error error = ERROR_NONE;
    struct schedule schedule;
    const struct algorithm *algorithm = algorithm_find(row, &error);
    if (!algorithm || sched_make(algorithm, &request, &schedule, &error) ||
        lower_plan(&schedule, position, arena, plan, &error)) {
        fail_msg("%s: %s", row, error.message);
    }
}

/* ---- Operations ---- */

static void assert_kinds(const struct plan *plan, uint32_t first, const enum plan_kind *kinds,
                         size_t nr)
{
    for (size_t i = 0; i < nr; i++) {
        if (plan->ops[first + i].kind != kinds[i]) {
            fail_msg("operation %zu is of kind %d, not %d", first + i, plan->ops[first + i].kind,
                     kinds[i]);
        }
    }
}

static void test_sizes_of_operations(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct plan_op), 32);
    assert_int_equal(sizeof(union plan_entry), 32);
}

/* Ring: a send, a repeat of receive-add-send, ...; slots only, so nothing drains. */
static void test_ring(void **state)
{
    static const enum plan_kind kinds[] = {
        PLAN_LOOP,                                                 /* */
        PLAN_SLICES, PLAN_WAIT_FREE, PLAN_COPY,      PLAN_POST,    /* the own chunk leaves */
        PLAN_NEXT,                                                 /* */
        PLAN_SLICES, PLAN_WAIT_POST, PLAN_WAIT_FREE, PLAN_COMBINE, /* add, pass on */
        PLAN_POST,   PLAN_FREE,      PLAN_NEXT,      PLAN_REPEAT,
    };
    struct arena arena = ARENA_EMPTY;
    struct plan plan;
    (void)state;
    lower_row(&arena, "ring", (struct sched_request){.collective = COLL_ALLREDUCE, .ranks = 8}, 3,
              &plan);
    assert_int_equal(plan.lanes, 1);
    assert_kinds(&plan, 0, kinds, sizeof kinds / sizeof *kinds);
    const struct plan_op *repeat = &plan.ops[13];
    assert_int_equal(repeat->u.jump.to, 6);
    assert_int_equal(repeat->u.jump.times, 6); /* n - 2 */
    assert_int_equal(plan.ops[12].u.jump.to, 7);
    assert_int_equal(plan.ops[plan.nr_ops - 1].kind, PLAN_END);
    assert_int_equal(plan.ops[plan.nr_ops - 1].u.jump.to, 0);
    assert_int_equal(plan.direct, 0);
    assert_int_equal(plan.most_receives, 1);
    assert_int_equal(plan.most_sends, 1);
    /* The value that is passed on has the chunks of `take` until the sum is stored. */
    assert_int_not_equal(plan.ops[6].take, PLAN_NONE);
    assert_int_equal(plan.ops[6].store, PLAN_NONE);
    assert_int_equal(plan.ops[6].flags, PLAN_VALUE);
    arena_release(&arena);
}

/* Two-shot: descriptors instead of copies, and a drain at each step's end. */
static void test_two_shot(void **state)
{
    static const enum plan_kind kinds[] = {
        PLAN_LOOP,      PLAN_SLICES, PLAN_WAIT_FREE, PLAN_POST,   PLAN_WAIT_POST, PLAN_COMBINE,
        PLAN_FREE,      PLAN_NEXT,   PLAN_DRAIN,     PLAN_SLICES, PLAN_WAIT_FREE, PLAN_POST,
        PLAN_WAIT_POST, PLAN_PUT,    PLAN_FREE,      PLAN_NEXT,   PLAN_DRAIN,     PLAN_END,
    };
    struct arena arena = ARENA_EMPTY;
    struct plan plan;
    (void)state;
    lower_row(&arena, "two-shot", (struct sched_request){.collective = COLL_ALLREDUCE, .ranks = 8},
              0, &plan);
    assert_int_equal(plan.nr_ops, sizeof kinds / sizeof *kinds);
    assert_kinds(&plan, 0, kinds, plan.nr_ops);
    assert_int_equal(plan.direct, 1);
    assert_int_equal(plan.most_receives, 7);
    assert_int_equal(plan.most_sends, 7);
    arena_release(&arena);
}

/* The longest step of any row, with both kinds of sends, takes no more than eleven. */
static void test_no_step_has_more_than_eleven(void **state)
{
    struct arena arena = ARENA_EMPTY;
    (void)state;
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        for (int coll = 0; coll < COLL_NR; coll++) {
            struct error error = ERROR_NONE;
            struct schedule schedule;
            struct plan plan;
            struct sched_request request = {
                .collective = (enum collective)coll, .ranks = 8, .levels = {2, 4}, .nr_levels = 2};
            if (sched_make(*row, &request, &schedule, &error) ||
                lower_plan(&schedule, 1, &arena, &plan, &error)) {
                continue;
            }
            uint32_t length = 0;
            for (uint32_t i = 0; i < plan.nr_ops; i++) {
                length = plan.ops[i].kind == PLAN_SLICES ? 1 : length + 1;
                bool inside = plan.ops[i].kind != PLAN_LOOP && plan.ops[i].kind != PLAN_END &&
                              plan.ops[i].kind != PLAN_REPEAT;
                assert_true(!inside || length <= 11);
            }
        }
    }
    arena_release(&arena);
}

/* ---- Size ---- */

static uint64_t size_of(const char *row, enum collective collective, uint32_t ranks,
                        uint32_t per_host)
{
    struct arena arena = ARENA_EMPTY;
    struct plan plan;
    struct sched_request request = {.collective = collective, .ranks = ranks};
    if (per_host) {
        request.levels[0] = ranks / per_host;
        request.levels[1] = per_host;
        request.nr_levels = 2;
    }
    lower_row(&arena, row, request, 1, &plan);
    uint64_t bytes = lower_bytes(&plan);
    arena_release(&arena);
    return bytes;
}

/* The same at 8 and at 4,096 ranks, or a few operations more for each doubling of the ranks. A
 * hierarchy starts with 4 hosts of 4: a ring of two has no middle, which would be smaller. */
static void test_size_does_not_grow(void **state)
{
    static const struct {
        const char *row;
        enum collective collective;
        uint32_t per_host;
        bool logarithmic;
    } cases[] = {
        {"ring", COLL_ALLREDUCE, 0, false},      {"chain", COLL_BROADCAST, 0, false},
        {"tree", COLL_ALLREDUCE, 0, false},      {"double-tree", COLL_ALLREDUCE, 0, false},
        {"one-shot", COLL_ALLREDUCE, 0, false},  {"two-shot", COLL_ALLREDUCE, 0, false},
        {"direct", COLL_ALL_TO_ALL, 0, false},   {"direct", COLL_GATHER, 0, false},
        {"pairwise", COLL_ALL_TO_ALL, 0, false}, {"hierarchical", COLL_ALLREDUCE, 4, false},
        {"doubling", COLL_ALLREDUCE, 0, true},   {"halving-doubling", COLL_ALLREDUCE, 0, true},
        {"bruck", COLL_ALL_TO_ALL, 0, true},     {"pat", COLL_ALL_GATHER, 0, true},
    };
    (void)state;
    print_message("# bytes of a plan      8 ranks   4,096 ranks\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t few = cases[i].per_host ? 16 : 8;
        uint64_t small = size_of(cases[i].row, cases[i].collective, few, cases[i].per_host);
        uint64_t large = size_of(cases[i].row, cases[i].collective, 4096, cases[i].per_host);
        print_message("# %-16s %-10s %6llu %9llu\n", cases[i].row, coll_name(cases[i].collective),
                      (unsigned long long)small, (unsigned long long)large);
        if (cases[i].logarithmic) {
            assert_true(large > small && large <= small * 12 / 3 + 64); /* log n: 3 and 12 */
        } else {
            assert_int_equal(small, large);
        }
    }
}

/* ---- Refusals ---- */

static struct sched_space whole = {.size = 4, .stride = 1};

static struct sched_peers peer(int32_t position)
{
    return (struct sched_peers){.space = whole, .first = position, .count = 1};
}

static struct sched_range chunks(enum sched_buffer buffer, int32_t run)
{
    return (struct sched_range){.buffer = buffer, .space = whole, .run = run, .runs = 1};
}

static int lower_items(const struct sched_item *items, size_t nr, struct plan *plan,
                       struct arena *arena, struct error *error)
{
    struct sched_program program = {.lanes = {{items, nr}}, .nr_lanes = 1};
    struct schedule schedule = {.name = "mine",
                                .request = {.collective = COLL_ALLREDUCE, .ranks = 4},
                                .shape = {.chunks = 4, .copies = 1, .lanes = 1}};
    *error = ERROR_NONE;
    return lower_program(&schedule, &program, arena, plan, error);
}

static void assert_refused(const struct sched_item *item, const char *why)
{
    struct arena arena = ARENA_EMPTY;
    struct plan plan;
    struct error error;
    assert_int_equal(lower_items(item, 1, &plan, &arena, &error), -1);
    if (!strstr(error.message, why)) {
        fail_msg("\"%s\" does not say \"%s\"", error.message, why);
    }
    assert_int_equal(error.status, EXIT_INPUT);
    arena_release(&arena);
}

static void test_refusals(void **state)
{
    struct sched_item send = {
        .step = {.send = {{.peers = peer(1), .range = chunks(SCHED_IN, 1)}}, .nr_send = 1}};
    struct sched_item item;
    (void)state;

    item = send;
    item.step.send[0].peers.group = true;
    assert_refused(&item, "a group peer needs multicast");

    item = send;
    item.step.compute = "select";
    assert_refused(&item, "operator 'select'");

    item = send;
    item.step.via = SCHED_PULL;
    item.step.send[0].range.run = 2;
    assert_refused(&item, "a pull of several chunks");

    item = (struct sched_item){.step = {.recv = {peer(1)}, .nr_recv = 1, .via = SCHED_PUSH}};
    assert_refused(&item, "a push must be placed");
    item.step.combine = SCHED_PLACE;
    item.step.stores = true;
    item.step.store = chunks(SCHED_OUT, 2);
    assert_refused(&item, "a push of several chunks");

    item = (struct sched_item){.step = {.recv = {peer(1)},
                                        .nr_recv = 1,
                                        .combine = SCHED_PLACE,
                                        .send = {{.peers = peer(1), .value = true}},
                                        .nr_send = 1}};
    assert_refused(&item, "has no value to send");

    item = send;
    item.step.send[0].range.first = INT32_MAX;
    item.step.send[0].range.per_peer = 1;
    assert_refused(&item, "beyond 2^31");

    item = send;
    item.step.send[0].peers.space.size = 0;
    assert_refused(&item, "a space of size 0");

    struct sched_item inner = {.times = 2, .items = &send, .nr = 1};
    struct sched_item middle = {.times = 2, .items = &inner, .nr = 1};
    struct sched_item outer = {.times = 2, .items = &middle, .nr = 1};
    assert_refused(&outer, "repeats may nest once");
}

static void test_too_many_operands(void **state)
{
    enum { STEPS = 40000 }; /* each with a range and a peer of its own */
    struct sched_item *items = calloc(STEPS, sizeof *items);
    struct arena arena = ARENA_EMPTY;
    struct plan plan;
    struct error error;
    (void)state;
    for (int32_t i = 0; i < STEPS; i++) {
        items[i].step = (struct sched_step){
            .send = {{.peers = peer(i), .range = chunks(SCHED_IN, 1)}}, .nr_send = 1};
        items[i].step.send[0].range.first = i;
    }
    assert_int_equal(lower_items(items, 30000, &plan, &arena, &error), 0);
    assert_int_equal(plan.nr_entries, 60001); /* one space */
    assert_int_equal(lower_items(items, STEPS, &plan, &arena, &error), -1);
    assert_non_null(strstr(error.message, "65535 different operands"));
    arena_release(&arena);
    free(items);
}

static void test_nested_repeats(void **state)
{
    struct sched_item send = {
        .step = {.send = {{.peers = peer(1), .range = chunks(SCHED_IN, 1)}}, .nr_send = 1}};
    struct sched_item inner = {.times = 3, .items = &send, .nr = 1};
    struct sched_item items[] = {send, {.times = 5, .items = &inner, .nr = 1}};
    struct arena arena = ARENA_EMPTY;
    struct plan plan;
    struct error error;
    (void)state;
    assert_int_equal(lower_items(items, 2, &plan, &arena, &error), 0);
    /* loop; slices wait copy post next; the same, nested; repeat 3; repeat 5; end */
    assert_int_equal(plan.nr_ops, 14);
    assert_int_equal(plan.ops[1].flags, 0);
    assert_int_equal(plan.ops[6].flags, PLAN_NESTED);
    assert_int_equal(plan.ops[11].kind, PLAN_REPEAT);
    assert_int_equal(plan.ops[11].flags, PLAN_NESTED);
    assert_int_equal(plan.ops[11].u.jump.times, 3);
    assert_int_equal(plan.ops[12].flags, 0);
    assert_int_equal(plan.ops[12].u.jump.times, 5);
    assert_int_equal(plan.ops[12].u.jump.to, 6);
    arena_release(&arena);
}

/* ---- Calls ---- */

static void test_chunk_most(void **state)
{
    struct schedule schedule = {.request = {.collective = COLL_ALLREDUCE, .ranks = 4},
                                .shape = {.chunks = 4}};
    struct plan plan = {.scratch = 16};
    (void)state;
    assert_int_equal(lower_chunk_most(&schedule, &plan, 8, 4096), 7 * 4096);
    assert_int_equal(lower_chunk_most(&schedule, &plan, 2, 1U << 30), (1 << 30) / 16);
}

/* Room for every chunk of every loop, and less than a line too much. */
static void test_scratch(void **state)
{
    (void)state;
    for (uint64_t count = 0; count < 5000; count += 37) {
        struct chunk_plan chunks_of = chunk_plan_make(count, 4, 2, 1, 3, 512);
        uint64_t most = 0, room = lower_scratch_bytes(&chunks_of, 4);
        for (uint32_t loop = 0; loop < chunks_of.loops; loop++) {
            for (uint32_t c = 0; c < 3; c++) {
                uint64_t bytes = 4 * chunk_locate(&chunks_of, loop, c).count;
                most = bytes > most ? bytes : most;
            }
        }
        assert_true(room >= most && room <= most + PLAN_LINE);
        assert_int_equal(lower_share(&chunks_of).loops, chunks_of.loops);
        assert_int_equal(lower_share(&chunks_of).first, chunks_of.first);
        assert_int_equal(lower_share(&chunks_of).count, chunks_of.count);
        assert_int_equal(lower_share(&chunks_of).unit, chunks_of.unit);
    }
}

/* ---- Text ---- */

static const char dumped[] = "plan: 2 lanes, 14 operations, 6 entries, 640 bytes\n"
                             "lane 0\n"
                             "      0  loop\n"
                             "      1  slices     take in[0 mod 1]  value\n"
                             "      2  wait-free  to 2 mod 4  value\n"
                             "      3  combine    to 2 mod 4  take in[0 mod 1]\n"
                             "      4  post       to 2 mod 4  value\n"
                             "      5  next       back to 2\n"
                             "      6  end        back to 0\n"
                             "lane 1\n"
                             "      7  loop\n"
                             "      8  slices     from 2 mod 4 lane 1  store out[0 mod 1]  value\n"
                             "      9  wait-post  from 2 mod 4 lane 1  store out[0 mod 1]\n"
                             "     10  combine    from 2 mod 4 lane 1  store out[0 mod 1]\n"
                             "     11  free       from 2 mod 4 lane 1  store out[0 mod 1]\n"
                             "     12  next       back to 9\n"
                             "     13  end        back to 7\n";

/* A leaf of a tree: its message goes up in one lane, the sum comes down in the other. */
static void test_dump(void **state)
{
    struct sched_space one = {.size = 1, .stride = 1};
    struct sched_range in = {.buffer = SCHED_IN, .space = one, .run = 1, .runs = 1}, out = in;
    struct sched_item up = {
        .step = {
            .send = {{.peers = peer(2), .value = true}}, .nr_send = 1, .takes = true, .take = in}};
    struct sched_item down = {.step = {.recv = {peer(2)}, .nr_recv = 1, .stores = true}};
    out.buffer = SCHED_OUT;
    down.step.store = out;
    down.step.recv[0].lane = 1;
    struct sched_program program = {.lanes = {{&up, 1}, {&down, 1}}, .nr_lanes = 2};
    struct schedule schedule = {.name = "leaf", .request = {.ranks = 4}, .shape = {.chunks = 1}};
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct plan plan;
    (void)state;
    assert_int_equal(lower_program(&schedule, &program, &arena, &plan, &error), 0);
    char *text = plan_dump(&plan);
    assert_string_equal(text, dumped);
    free(text);
    arena_release(&arena);
}

/* What else a line may say: moves, spaces, peers by the dozen, repeats, pulls. */
static void test_dump_words(void **state)
{
    static const struct {
        const char *row, *words;
        uint32_t ranks;
    } cases[] = {{"ring", " take in[1 -1 a turn mod 8]", 8},
                 {"ring", "repeat     back to 6 until 6 turns", 8},
                 {"two-shot", " to 4+7 mod 8: in[4 +1 a peer mod 8]  pull", 8},
                 {"two-shot", "  place  pull", 8}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = ARENA_EMPTY;
        struct plan plan;
        lower_row(&arena, cases[i].row,
                  (struct sched_request){.collective = COLL_ALLREDUCE, .ranks = cases[i].ranks}, 3,
                  &plan);
        char *text = plan_dump(&plan);
        if (!strstr(text, cases[i].words)) {
            fail_msg("no \"%s\" in\n%s", cases[i].words, text);
        }
        free(text);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_of_operations),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_two_shot),
        cmocka_unit_test(test_no_step_has_more_than_eleven),
        cmocka_unit_test(test_size_does_not_grow),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_too_many_operands),
        cmocka_unit_test(test_nested_repeats),
        cmocka_unit_test(test_chunk_most),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_dump),
        cmocka_unit_test(test_dump_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
