/* prop_mutations.c - the checker against 1,000 random mutations of the rows' programs, and against
 * schedules of garbage.
 *
 * Each mutation is also run naively (naive_run.h), in up to 100 random interleavings. If any of
 * them ends wrong or not at all, the checker must have refused the schedule; what the checker
 * passes must end right in all of them. (The other way round the checker is stricter: it refuses
 * what could go wrong at another size or timing, which no interleaving need show.)
 */
#include "arena.h"
#include "prop/mutate.h"
#include "prop/naive_run.h"
#include "sched_check.h"
#include "schedule.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { MUTATIONS = 1000, INTERLEAVINGS = 100, SETTLED = 40, GARBAGE = 10000, FAULTS = 8 };

static const uint64_t seed_of_all = 20240607;

/* ---- what is mutated ---- */

static bool draw_request(uint64_t *random, struct schedule *schedule)
{
    static const uint32_t levels[][3] = {{2, 2, 0}, {2, 3, 0}, {3, 2, 0}, {2, 2, 2}};
    uint32_t nr_rows = 0;
    while (algorithm_all()[nr_rows]) {
        nr_rows++;
    }
    const struct algorithm *row = algorithm_all()[draw(random, nr_rows)];
    struct sched_request request = {.collective = (enum collective)draw(random, COLL_NR),
                                    .ranks = 2 + draw(random, 4),
                                    .in_place = draw(random, 2)};
    if (row->needs & SCHED_NEEDS_HIERARCHY) {
        const uint32_t *chosen = levels[draw(random, 4)];
        request.ranks = 1;
        for (int i = 0; i < 3 && chosen[i]; i++) {
            request.levels[request.nr_levels++] = chosen[i];
            request.ranks *= chosen[i];
        }
    }
    struct error error = ERROR_NONE;
    return sched_make(row, &request, schedule, &error) == 0 &&
           request.ranks * sched_chunks(schedule, SCHED_IN) <= NAIVE_SOURCES &&
           request.ranks * schedule->shape.lanes <= NAIVE_LANES;
}

static struct sched_check_options draw_options(uint64_t *random)
{
    static const uint32_t windows[][2] = {{2, 1}, {4, 1}, {4, 2}, {4, 3}};
    struct sched_check_options options = sched_check_usual;
    uint32_t i = draw(random, 4);
    options.window = windows[i][0];
    options.slices_per_chunk = windows[i][1];
    options.seed = naive_random(random);
    return options;
}

static const char *describe(const struct schedule *schedule, const struct mutation *m,
                            const struct sched_check_options *options)
{
    static char text[512];
    const struct sched_request *request = &schedule->request;
    snprintf(text, sizeof text,
             "%s %s, %u ranks (%u levels), %s, window %u, %u slices; %s of item %u, pick %u, delta "
             "%d, lane %u of %s %u",
             schedule->name, coll_name(request->collective), request->ranks, request->nr_levels,
             request->in_place ? "in place" : "out of place", options->window,
             options->slices_per_chunk, m ? kinds[m->kind].name : "nothing", m ? m->item : 0,
             m ? m->pick : 0, m ? m->delta : 0, m ? m->lane : 0,
             m && m->everywhere ? "all positions, not" : "position",
             m ? m->position % request->ranks : 0);
    return text;
}

/* ---- both readings ---- */

struct seen { /* outcomes of interleavings */
    unsigned right, not_right;
    enum naive_outcome first; /* of those not right */
};

/* Stops soon after something went wrong. */
static struct seen run_naively(const struct schedule *schedule,
                               const struct sched_check_options *options)
{
    struct seen seen = {0, 0, NAIVE_RIGHT};
    struct naive *naive = naive_make(schedule, options);
    if (naive->invalid) {
        seen = (struct seen){0, 1, NAIVE_INVALID};
    }
    for (uint64_t i = 0; i < INTERLEAVINGS && !naive->invalid; i++) {
        if (seen.not_right > 0 && (seen.right > 0 || i >= SETTLED)) {
            break;
        }
        enum naive_outcome outcome = naive_run(naive, i);
        if (outcome == NAIVE_RIGHT) {
            seen.right++;
        } else if (seen.not_right++ == 0) {
            seen.first = outcome;
        }
    }
    naive_free(naive);
    return seen;
}

static void test_rows_are_right_in_both_readings(void **state)
{
    (void)state;
    uint64_t random = seed_of_all;
    for (int tried = 0; tried < 100;) {
        struct schedule schedule;
        if (!draw_request(&random, &schedule)) {
            continue;
        }
        struct arena arena = ARENA_EMPTY;
        struct sched_check_options options = draw_options(&random);
        struct error error = ERROR_NONE;
        copy_programs(&arena, &schedule);
        if (sched_check(&schedule, &options, NULL, &error)) {
            fail_msg("%s: %s", describe(&schedule, NULL, &options), error.message);
        }
        struct seen seen = run_naively(&schedule, &options);
        if (seen.not_right) {
            fail_msg("%s: naively outcome %d", describe(&schedule, NULL, &options), seen.first);
        }
        arena_release(&arena);
        tried++;
    }
}

struct tally {
    unsigned by[FAULTS][4];      /* the checker's fault x right always, wrong, stuck, invalid */
    unsigned depends;            /* right in some interleavings, not in others */
    unsigned depends_by[FAULTS]; /* as the checker calls it */
    unsigned kinds[KINDS], kinds_passed[KINDS];
};

static bool try_mutation(int kind, uint64_t *random, struct tally *tally)
{
    struct schedule schedule;
    if (!draw_request(random, &schedule)) {
        return false;
    }
    struct sched_check_options options = draw_options(random);
    struct mutation m = draw_mutation(kind, draw(random, 2) ? 1 : -1, random);
    struct arena arena = ARENA_EMPTY;
    copy_programs(&arena, &schedule);
    bool changed = mutate(&schedule, &m);
    if (changed) {
        enum sched_fault fault;
        struct error error = ERROR_NONE;
        sched_check(&schedule, &options, &fault, &error);
        struct seen seen = run_naively(&schedule, &options);
        if (fault == FAULT_NONE && seen.not_right) {
            fail_msg("not caught: %s: naively outcome %d", describe(&schedule, &m, &options),
                     seen.first);
        }
        bool depends = seen.right > 0 && seen.not_right > 0;
        tally->by[fault][seen.first]++;
        tally->depends += depends;
        tally->depends_by[fault] += depends;
        tally->kinds[m.kind]++;
        tally->kinds_passed[m.kind] += fault == FAULT_NONE;
    }
    arena_release(&arena);
    return changed;
}

static void test_mutations_are_caught(void **state)
{
    (void)state;
    struct tally tally = {0};
    uint64_t random = seed_of_all;
    unsigned passed = 0, caught = 0;
    for (int nr = 0; nr < MUTATIONS; nr++) { /* every third in what is ordered */
        int kind = nr % 3 ? nr % KINDS : KINDS - 1 - nr / 3 % ORDER_KINDS;
        while (!try_mutation(kind, &random, &tally)) {
        }
    }
    print_message("# %d mutations, seed %llu; naively: right in all interleavings, wrong, "
                  "deadlock, invalid\n",
                  MUTATIONS, (unsigned long long)seed_of_all);
    for (int fault = 0; fault < FAULTS; fault++) {
        const unsigned *by = tally.by[fault];
        unsigned all = by[0] + by[1] + by[2] + by[3];
        passed += fault == FAULT_NONE ? all : 0;
        caught += fault == FAULT_NONE ? 0 : all;
        print_message("# %-20s %4u: %4u %4u %4u %4u; the order mattered in %u\n",
                      fault == FAULT_NONE ? "passed (harmless)"
                                          : sched_fault_name((enum sched_fault)fault),
                      all, by[NAIVE_RIGHT], by[NAIVE_WRONG], by[NAIVE_STUCK], by[NAIVE_INVALID],
                      tally.depends_by[fault]);
        assert_true(all > 0); /* every kind of fault comes up */
    }
    print_message("# harmless by kind:");
    for (int kind = 0; kind < KINDS; kind++) {
        if (tally.kinds_passed[kind]) {
            print_message(" %s %u of %u,", kinds[kind].name, tally.kinds_passed[kind],
                          tally.kinds[kind]);
        }
    }
    print_message("\n# passed %u, caught %u, of which %u end right in some interleavings and not "
                  "in others\n",
                  passed, caught, tally.depends);
    assert_int_equal(passed, tally.by[FAULT_NONE][NAIVE_RIGHT]);
    assert_true(tally.depends > 0);
}

/* ---- garbage ---- */

static int32_t draw_number(uint64_t *random)
{
    static const int32_t extremes[] = {INT32_MIN, INT32_MIN + 1, INT32_MAX,
                                       1 << 28,   -(1 << 28),    1 << 16};
    uint32_t i = draw(random, 400);
    return i < 6 ? extremes[i] : (int32_t)draw(random, 5) - 1;
}

static struct sched_space draw_space(uint64_t *random)
{
    return (struct sched_space){draw_number(random), draw_number(random), draw_number(random),
                                draw_number(random)};
}

static struct sched_range draw_range(uint64_t *random)
{
    return (struct sched_range){.buffer = (enum sched_buffer)draw(random, 4),
                                .space = draw_space(random),
                                .first = draw_number(random),
                                .run = draw_number(random),
                                .gap = draw_number(random),
                                .runs = draw_number(random),
                                .last = draw(random, 3) ? 0 : draw_number(random),
                                .move = draw_number(random),
                                .per_peer = draw_number(random)};
}

static struct sched_peers draw_peers(uint64_t *random)
{
    return (struct sched_peers){.space = draw_space(random),
                                .first = draw_number(random),
                                .count = draw_number(random),
                                .move = draw_number(random),
                                .lane = (uint8_t)draw(random, 3),
                                .group = draw(random, 5) == 0};
}

static void draw_items(uint64_t *random, struct arena *arena, struct sched_item *items, size_t nr,
                       int depth)
{
    for (size_t i = 0; i < nr; i++) {
        struct sched_step *step = &items[i].step;
        if (depth < 4 && draw(random, 4) == 0) {
            items[i].times = draw(random, 9) ? 1 + draw(random, 4) : (uint32_t)draw_number(random);
            items[i].nr = draw(random, 3);
            struct sched_item *inner = arena_alloc(arena, items[i].nr + 1, sizeof *inner);
            draw_items(random, arena, inner, items[i].nr, depth + 1);
            items[i].items = inner;
            continue;
        }
        step->nr_recv = (uint8_t)draw(random, draw(random, 20) ? 3 : 256);
        step->nr_send = (uint8_t)draw(random, draw(random, 20) ? 3 : 256);
        for (int k = 0; k < SCHED_SENDS_MOST; k++) {
            step->recv[k] = draw_peers(random);
            step->send[k].peers = draw_peers(random);
            step->send[k].value = draw(random, 2);
            step->send[k].range = draw_range(random);
        }
        step->combine = (enum sched_combine)draw(random, 3);
        step->via = (enum sched_via)draw(random, 4);
        step->takes = draw(random, 2);
        step->stores = draw(random, 2);
        step->take = draw_range(random);
        step->store = draw_range(random);
    }
}

static void draw_garbage(uint64_t *random, struct arena *arena, struct schedule *schedule)
{
    uint32_t ranks = 1 + draw(random, 4);
    struct sched_program *programs = arena_alloc(arena, ranks, sizeof *programs);
    *schedule = (struct schedule){
        .name = "garbage",
        .request = {.collective = (enum collective)draw(random, COLL_NR), .ranks = ranks},
        .shape = {.chunks = (uint32_t)draw_number(random) + 1,
                  .scratch = (uint32_t)draw_number(random),
                  .copies = (uint32_t)draw_number(random) + 1,
                  .lanes = 1 + draw(random, 2),
                  .nr_credits = draw(random, 2),
                  .credits = {{(uint8_t)draw(random, 3), (uint8_t)draw(random, 3),
                               (uint32_t)draw_number(random)}}},
        .programs = programs};
    schedule->request.in_place = coll_in_place(schedule->request.collective) && draw(random, 2);
    for (uint32_t p = 0; p < ranks; p++) {
        programs[p].nr_lanes = schedule->shape.lanes;
        for (uint32_t l = 0; l < programs[p].nr_lanes; l++) {
            size_t nr = draw(random, 3);
            struct sched_item *items = arena_alloc(arena, nr + 1, sizeof *items);
            draw_items(random, arena, items, nr, 0);
            programs[p].lanes[l] = (struct sched_lane){items, nr};
        }
    }
}

/* A row several times mutated, by any number. */
static void draw_spoilt(uint64_t *random, struct arena *arena, struct schedule *schedule)
{
    while (!draw_request(random, schedule)) {
    }
    copy_programs(arena, schedule);
    for (int i = 0; i < SPOILS; i++) {
        struct mutation m = draw_mutation((int)draw(random, KINDS), draw_number(random), random);
        mutate(schedule, &m);
    }
}

/* Whatever it is, an answer comes, and a refusal says why. */
static void test_garbage_is_survived(void **state)
{
    (void)state;
    uint64_t random = seed_of_all;
    unsigned by[FAULTS] = {0};
    for (int i = 0; i < GARBAGE; i++) {
        struct arena arena = ARENA_EMPTY;
        struct schedule schedule;
        enum sched_fault fault;
        struct error error = ERROR_NONE;
        (i % 2 ? draw_spoilt : draw_garbage)(&random, &arena, &schedule);
        int result = sched_check(&schedule, &sched_check_usual, &fault, &error);
        assert_true((result == 0) == (fault == FAULT_NONE));
        assert_true(result == 0 || error.message[0] != 0);
        by[fault]++;
        arena_release(&arena);
    }
    print_message("# %d schedules of garbage:", GARBAGE);
    for (int fault = 0; fault < FAULTS; fault++) {
        print_message(" %s %u,", sched_fault_name((enum sched_fault)fault), by[fault]);
    }
    print_message("\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_right_in_both_readings),
        cmocka_unit_test(test_mutations_are_caught),
        cmocka_unit_test(test_garbage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
