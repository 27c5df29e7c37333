/* test_sched_text.c - schedules written and read back: the same text, the same program; faults have
 * their line and column.
 */
#include "sched_text.h"

#include "coll/every_schedule.h"
#include "walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct schedule load(struct arena *arena, const char *text)
{
    struct error error = ERROR_NONE;
    struct schedule schedule;
    if (sched_load(arena, text, strlen(text), "x.sched", &schedule, &error)) {
        fail_msg("%s\n%s", error.message, text);
    }
    return schedule;
}

/* ---- round trip ---- */

static bool same_range(const struct sched_range *a, const struct sched_range *b, uint32_t peers,
                       const struct walk_step *at)
{
    uint32_t length = walk_range_length(a);
    if (length != walk_range_length(b) || (length > 0 && a->buffer != b->buffer)) {
        return false;
    }
    for (uint32_t p = 0; p < peers; p++) {
        for (uint32_t i = 0; i < length; i++) {
            if (walk_range_chunk(a, p, i, at) != walk_range_chunk(b, p, i, at)) {
                return false;
            }
        }
    }
    return true;
}

static bool same_peers(const struct sched_peers *a, const struct sched_peers *b,
                       const struct walk_step *at)
{
    bool same = a->count == b->count && a->lane == b->lane && a->group == b->group;
    for (uint32_t k = 0; same && k < (uint32_t)a->count; k++) {
        same = walk_peer(a, k, at) == walk_peer(b, k, at);
    }
    return same;
}

static bool same_step(const struct sched_step *a, const struct sched_step *b,
                      const struct walk_step *at)
{
    bool same = a->nr_recv == b->nr_recv && a->nr_send == b->nr_send && a->combine == b->combine &&
                a->via == b->via && a->takes == b->takes && a->stores == b->stores;
    uint32_t senders = walk_receives(a) > 0 ? walk_receives(a) : 1;
    for (unsigned i = 0; same && i < a->nr_recv; i++) {
        same = same_peers(&a->recv[i], &b->recv[i], at);
    }
    for (unsigned i = 0; same && i < a->nr_send; i++) {
        const struct sched_send *one = &a->send[i], *other = &b->send[i];
        same =
            same_peers(&one->peers, &other->peers, at) && one->value == other->value &&
            (one->value || same_range(&one->range, &other->range, (uint32_t)one->peers.count, at));
    }
    same = same && (!a->takes || same_range(&a->take, &b->take, 1, at));
    return same && (!a->stores || same_range(&a->store, &b->store, senders, at));
}

static bool same_lane(const struct sched_lane *a, const struct sched_lane *b)
{
    struct walk walk_a, walk_b;
    struct walk_step at_a, at_b;
    walk_begin(&walk_a, a);
    walk_begin(&walk_b, b);
    bool same = walk_length(a) == walk_length(b);
    while (same && walk_next(&walk_a, &at_a) && walk_next(&walk_b, &at_b)) {
        same = at_a.outer == at_b.outer && at_a.inner == at_b.inner &&
               same_step(at_a.step, at_b.step, &at_a);
    }
    return same;
}

static bool same_shape(const struct sched_shape *a, const struct sched_shape *b)
{
    bool same = a->chunks == b->chunks && a->scratch == b->scratch && a->copies == b->copies &&
                a->lanes == b->lanes && a->nr_credits == b->nr_credits;
    for (uint32_t i = 0; same && i < a->nr_credits; i++) {
        same = a->credits[i].from_lane == b->credits[i].from_lane &&
               a->credits[i].to_lane == b->credits[i].to_lane &&
               a->credits[i].tokens == b->credits[i].tokens;
    }
    return same;
}

static void check_same(const struct schedule *a, const struct schedule *b, const char *text)
{
    struct arena arena = ARENA_EMPTY;
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->request.collective, b->request.collective);
    assert_int_equal(a->request.ranks, b->request.ranks);
    assert_int_equal(a->request.in_place, b->request.in_place);
    assert_int_equal(a->request.nr_levels, b->request.nr_levels);
    assert_memory_equal(a->request.levels, b->request.levels,
                        a->request.nr_levels * sizeof *a->request.levels);
    if (!same_shape(&a->shape, &b->shape)) {
        fail_msg("another shape than in\n%s", text);
    }
    for (uint32_t p = 0; p < a->request.ranks; p++) {
        const struct sched_program *one = sched_program(a, p, &arena);
        const struct sched_program *other = sched_program(b, p, &arena);
        assert_int_equal(one->nr_lanes, other->nr_lanes);
        for (uint32_t lane = 0; lane < one->nr_lanes; lane++) {
            if (!same_lane(&one->lanes[lane], &other->lanes[lane])) {
                fail_msg("position %u, lane %u is another program than in\n%s", p, lane, text);
            }
        }
    }
    arena_release(&arena);
}

static void check_round_trip(const struct schedule *schedule)
{
    struct arena arena = ARENA_EMPTY;
    char *text = sched_dump(schedule);
    struct schedule read = load(&arena, text);
    char *again = sched_dump(&read);
    assert_string_equal(text, again);
    check_same(schedule, &read, text);
    free(text);
    free(again);
    arena_release(&arena);
}

static void test_every_row_round_trips(void **state)
{
    (void)state;
    static const uint32_t ranks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 24};
    assert_true(visit_every_schedule(ranks, sizeof ranks / sizeof *ranks, check_round_trip) > 300);
}

/* ---- what a person writes ---- */

#define RING_HEADER "ccltune schedule 1\nname my-ring\ncollective AllReduce\nranks 4\nchunks 4\n"
#define RING_STEPS                                                                                 \
    "    step send r+1 in r\n"                                                                     \
    "    repeat 2\n"                                                                               \
    "      step recv r-1 take in r-1 move -1 send r+1 value\n"                                     \
    "    step recv r-1 take in r+1 store out r+1 send r+1 value\n"                                 \
    "    repeat 2\n"                                                                               \
    "      step recv r-1 store out r move -1 send r+1 value\n"                                     \
    "    step recv r-1 store out r+2\n"

static const char ring[] = "ccltune schedule 1   # a comment\n"
                           "\n"
                           "chunks   4\n"
                           "ranks 4\n"
                           "collective AllReduce\n"
                           "name my-ring\n"
                           "position 2-3,0,1 # all of them\n"
                           "  lane 0\n"
                           "    # first a send\n" RING_STEPS;

static void test_a_ring_by_hand(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct walk_count count;
    struct schedule schedule = load(&arena, ring);
    assert_int_equal(walk_count_all(&schedule, &count, &error), 0);
    assert_int_equal(count.rounds, 6);
    assert_int_equal(count.messages, 24);
    char *text = sched_dump(&schedule);
    assert_string_equal(text, "ccltune schedule 1\nname my-ring\ncollective allreduce\nranks 4\n"
                              "chunks 4\nlanes 1\n\nposition 0-3\n  lane 0\n" RING_STEPS);
    free(text);
    arena_release(&arena);
}

/* Every word of the grammar. */
static const char all_words[] =
    "ccltune schedule 1\n"
    "name all-words\n"
    "collective reduce-scatter\n"
    "ranks 4\n"
    "in-place yes\n"
    "levels 2x2\n"
    "chunks 3\n"
    "scratch 6\n"
    "copies 2\n"
    "lanes 3\n"
    "credit from 1 to 0 tokens 2\n"
    "credit from 2 to 0 tokens 1\n"
    "\n"
    "position 0,2\n"
    "  lane 0\n"
    "    step recv r lane 1 store token\n"
    "    repeat 3\n"
    "      step take in 5 run 2 gap 4 runs 3 last 11 move 1 outer 1 mod 10 store scratch 0 run 6\n"
    "      repeat 2\n"
    "        step recv r+1 count 3 group lane 2 move 1 place scratch 1 move 2 per-peer 1 via push\n"
    "    step take scratch 0 store out 1 compute select\n"
    "  lane 2\n"
    "    step recv 1 mod 2 base 2 stride -2 take in 0 mod 3 base 3 stride 2 "
    "send r lane 1 value send 3 token send 2 count 2 in 1 per-peer 3 via pull\n"
    "\n"
    "position 1,3\n";

static void test_every_word(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct schedule schedule = load(&arena, all_words);
    const struct sched_lane *lane = &schedule.programs[2].lanes[0];
    assert_int_equal(lane->nr, 3);
    const struct sched_item *repeat = &lane->items[1];
    assert_int_equal(repeat->times, 3);
    assert_int_equal(repeat->items[1].times, 2);
    const struct sched_step *push = &repeat->items[1].items[0].step;
    assert_int_equal(push->recv[0].first, 3);
    assert_int_equal(push->recv[0].count, 3);
    assert_true(push->recv[0].group);
    assert_int_equal(push->recv[0].lane, 2);
    assert_int_equal(push->combine, SCHED_PLACE);
    assert_int_equal(push->via, SCHED_PUSH);
    assert_int_equal(push->store.per_peer, 1);
    assert_string_equal(lane->items[2].step.compute, "select");
    const struct sched_step *last = &schedule.programs[2].lanes[2].items[0].step;
    assert_int_equal(last->recv[0].space.stride, -2);
    assert_int_equal(last->nr_send, 3);
    assert_int_equal(last->send[1].range.runs, 0);
    assert_int_equal(last->send[0].peers.first, 2);
    assert_int_equal(schedule.programs[3].lanes[0].nr, 0);
    char *text = sched_dump(&schedule);
    struct schedule again = load(&arena, text);
    check_same(&schedule, &again, text);
    free(text);
    arena_release(&arena);
}

/* ---- what is wrong ---- */

#define P0 "position 0-3\n  lane 0\n"

static const struct {
    const char *text, *message;
} faults[] = {
    {"", "x.sched:0:1: this is no schedule: its first line is 'ccltune schedule 1'"},
    {"<xml>", "x.sched:1:1: this is no schedule"},
    {"ccltune schedule 2\n", "x.sched:1:18: version '2': this program reads 1"},
    {"ccltune schedule 1 beta\n", "x.sched:1:20: 'beta': expected the end of the line"},
    {"ccltune schedule 1\n", "x.sched:1:1: the text ends: expected a line 'position ...'"},
    {"ccltune schedule 1\nrank 4\n", "x.sched:2:1: unknown line 'rank': did you mean 'ranks'?"},
    {"ccltune schedule 1\n ranks 4\n", "x.sched:2:2: a line of the header is not indented"},
    {"ccltune schedule 1\nranks 4\nranks 4\n", "x.sched:3:1: 'ranks' is given twice"},
    {"ccltune schedule 1\nranks 1000000000\n",
     "x.sched:2:7: ranks: expected a whole number from 1 to 4096, found '1000000000'"},
    {"ccltune schedule 1\nranks -4\n", "x.sched:2:7: ranks: expected a whole number"},
    {"ccltune schedule 1\nranks\n", "x.sched:2:6: ranks: expected a whole number from 1 to 4096, "
                                    "the line ends"},
    {"ccltune schedule 1\nranks 4x\n", "x.sched:2:7: ranks: expected a whole number"},
    {"ccltune schedule 1\nranks 99999999999999999999999999\n", "x.sched:2:7: ranks: expected a"},
    {"ccltune schedule 1\nranks\t4\n", "x.sched:2:6: byte 0x09: expected plain text"},
    {"ccltune schedule 1\ncollective allredue\n",
     "x.sched:2:12: unknown collective 'allredue': did you mean 'allreduce'?"},
    {"ccltune schedule 1\nin-place maybe\n",
     "x.sched:2:10: unknown answer 'maybe': expected no, yes"},
    {"ccltune schedule 1\nlevels 4\n", "x.sched:2:8: levels '4': expected 2 or 3 numbers"},
    {"ccltune schedule 1\nlevels 2x2x2x2\n", "x.sched:2:8: levels '2x2x2x2': expected 2 or 3"},
    {"ccltune schedule 1\nlevels 2x\n", "x.sched:2:8: levels '2x': expected 2 or 3"},
    {"ccltune schedule 1\nlevels 0x4\n", "x.sched:2:8: levels '0x4': expected 2 or 3"},
    {"ccltune schedule 1\ncredit 1 0 2\n", "x.sched:2:8: expected 'from', as in"},
    {"ccltune schedule 1\nname x\nranks 4\nchunks 4\nposition 0\n",
     "x.sched:5:1: the header has no line 'collective ...'"},
    {RING_HEADER "levels 2x4\n" P0, "x.sched:7:1: the levels have 8 ranks together, not 4"},
    {RING_HEADER "credit from 1 to 0 tokens 1\n" P0,
     "x.sched:7:1: credit from 1 to 0: there are only 1 lanes"},
    {RING_HEADER "position 0-4\n", "x.sched:6:10: positions '0-4': expected numbers from 0 to 3"},
    {RING_HEADER "position 3-1\n", "x.sched:6:10: positions '3-1': expected numbers"},
    {RING_HEADER "position 0,\n", "x.sched:6:10: positions '0,': expected numbers"},
    {RING_HEADER "position all\n", "x.sched:6:10: positions 'all': expected numbers"},
    {RING_HEADER "position 0-2\n  lane 0\n", "x.sched:7:1: position 3 is missing"},
    {RING_HEADER "position 0-2\nposition 2-3\n", "x.sched:7:1: position 2 is given twice"},
    {RING_HEADER "position 0-2\nstep\n", "x.sched:7:1: 'step': expected a line 'position ...'"},
    {RING_HEADER "position 0-3\n    step take in 0\n", "x.sched:7:5: expected 'lane N'"},
    {RING_HEADER "position 0-3\n  lane 1\n", "x.sched:7:8: lane: expected a whole number from 0"},
    {RING_HEADER P0 "  lane 0\n", "x.sched:8:3: lane 0 is given twice"},
    {RING_HEADER P0 "   step take in 0\n", "x.sched:8:4: indented by 3 spaces: expected two for"},
    {RING_HEADER P0 "      step take in 0\n", "x.sched:8:7: indented by 6 spaces: expected 4"},
    {RING_HEADER P0 "    stepp take in 0\n", "x.sched:8:5: unknown item 'stepp': did you mean"},
    {RING_HEADER P0 "    repeat 2\n    step take in 0\n",
     "x.sched:9:5: the repeat before this line is empty"},
    {RING_HEADER P0 "    repeat 2\n", "the repeat before this line is empty"},
    {RING_HEADER P0 "    repeat 0\n      step take in 0\n",
     "x.sched:8:12: repeat: expected a whole"},
    {RING_HEADER P0 "    repeat 4294967296\n      step take in 0\n", "from 1 to 16777216"},
    {RING_HEADER P0 "    repeat 5000\n      repeat 5000\n        step take in 0\n",
     "x.sched:9:7: 5000 x 5000 repetitions: expected at most 16777216"},
    {RING_HEADER P0 "    repeat 2\n      repeat 2\n        repeat 2\n          step take in 0\n",
     "x.sched:10:9: a repeat within a repeat within a repeat: they nest once"},
    {RING_HEADER P0 "    step tke in 0\n", "x.sched:8:10: unknown word in a step 'tke': did you"},
    {RING_HEADER P0 "    step take im 0\n",
     "x.sched:8:15: unknown buffer 'im': expected in, out, scratch, token"},
    {RING_HEADER P0 "    step take\n", "x.sched:8:14: the line ends: expected a buffer, in, out"},
    {RING_HEADER P0 "    step take in\n", "x.sched:8:17: chunk: expected a whole number"},
    {RING_HEADER P0 "    step take in x\n", "x.sched:8:18: chunk: expected a whole number"},
    {RING_HEADER P0 "    step take in r2\n", "x.sched:8:18: chunk 'r2': expected a number, or r"},
    {RING_HEADER P0 "    step take in r+\n", "x.sched:8:18: chunk 'r+': expected a number, or r"},
    {RING_HEADER P0 "    step take in r-1x\n", "x.sched:8:18: chunk 'r-1x': expected a number"},
    {RING_HEADER P0 "    step take in r+99999999999\n", "x.sched:8:18: chunk 'r+99999999999'"},
    {RING_HEADER P0 "    step take scratch 0\n", "x.sched:8:15: this schedule has no scratch"},
    {RING_HEADER P0 "    step take in 0 run 5\n", "x.sched:8:18: 5 chunks of a buffer that has 4"},
    {RING_HEADER P0 "    step take in 0 run -1\n", "x.sched:8:24: run: expected a whole number"},
    {RING_HEADER P0 "    step take in 0 run 1 run 1\n", "x.sched:8:26: 'run' is given twice"},
    {RING_HEADER P0 "    step take in 0 mod 5\n", "x.sched:8:18: this reaches chunks 0 to 4"},
    {RING_HEADER P0 "    step take in 0 base -1\n", "x.sched:8:18: this reaches chunks -1 to 2"},
    {RING_HEADER P0 "    step take in 0 mod 16777216 stride 16777216\n", "this reaches chunks 0"},
    {RING_HEADER P0 "    repeat 3\n      step take in 0 mod 2 outer 2\n",
     "x.sched:9:20: this reaches chunks 0 to 5, but there are 0 to 3"},
    {RING_HEADER P0 "    step take in 0 run 2 gap 1 runs 2 last 3\n",
     "x.sched:8:18: runs that overlap cannot be cut by 'last': expected a gap of 2 or more"},
    {RING_HEADER P0 "    step take in 0 take in 1\n", "x.sched:8:20: 'take' is given twice"},
    {RING_HEADER P0 "    step recv 1 count 5 take in 0\n", "x.sched:8:15: count 5: there are only"},
    {RING_HEADER P0 "    step recv 1 mod 5 take in 0\n", "x.sched:8:15: this reaches positions 0"},
    {RING_HEADER P0 "    step recv 1 lane 1 take in 0\n", "x.sched:8:22: lane: expected a whole"},
    {RING_HEADER P0 "    step recv 1\n", "x.sched:8:5: what this step receives goes nowhere"},
    {RING_HEADER P0 "    step send 1 value\n", "x.sched:8:5: this step has no value to send"},
    {RING_HEADER P0 "    step store in 0\n", "x.sched:8:5: this step has nothing to store"},
    {RING_HEADER P0 "    step place out 0\n", "x.sched:8:5: this step has nothing to store"},
    {RING_HEADER P0 "    step recv 1 place out 0 take in 0\n", "x.sched:8:5: 'place' needs 'recv'"},
    {RING_HEADER P0 "    step recv 1 place out 0 store in 0\n", "x.sched:8:29: a step has one"},
    {RING_HEADER P0 "    step send 1 in 0 via mail\n", "x.sched:8:26: unknown way 'mail'"},
    {RING_HEADER P0 "    step take in 0 compute sort\n", "x.sched:8:5: 'compute' needs 'take'"},
    {RING_HEADER P0 "    step send 0 in 0 send 1 in 0 send 2 in 0 send 3 in 0 send 0 in 0\n",
     "x.sched:8:58: a step has at most 4 times 'send'"},
};

static void test_faults_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct arena arena = ARENA_EMPTY;
        struct error error = ERROR_NONE;
        struct schedule schedule;
        const char *text = faults[i].text;
        if (sched_load(&arena, text, strlen(text), "x.sched", &schedule, &error) != -1) {
            fail_msg("not refused:\n%s", text);
        }
        assert_int_equal(error.status, EXIT_INPUT);
        if (!strstr(error.message, faults[i].message)) {
            fail_msg("'%s' does not say '%s':\n%s", error.message, faults[i].message, text);
        }
        arena_release(&arena);
    }
}

static char *repeated(const char *head, const char *line, size_t times)
{
    size_t length = strlen(line);
    char *text = malloc(strlen(head) + times * length + 1);
    assert_non_null(text);
    strcpy(text, head);
    char *at = text + strlen(head);
    for (size_t i = 0; i < times; i++, at += length) {
        memcpy(at, line, length + 1);
    }
    return text;
}

static void assert_too_large(char *text, const char *message)
{
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct schedule schedule;
    assert_int_equal(sched_load(&arena, text, strlen(text), "x.sched", &schedule, &error), -1);
    if (!strstr(error.message, message)) {
        fail_msg("'%s' does not say '%s'", error.message, message);
    }
    free(text);
    arena_release(&arena);
}

static void test_limits(void **state)
{
    (void)state;
    assert_too_large(repeated(RING_HEADER P0, "    step take in 0\n", 100001), "more than 100000");
    assert_too_large(repeated(RING_HEADER P0, "    step take in r\n", 30000), "more than 100000");
    assert_too_large(repeated(RING_HEADER P0 "    step take in r\n", "#\n", 300000),
                     "more than 1000000 lines");
    assert_too_large(repeated(RING_HEADER, "#", 2000), "more than 1000 bytes");
}

static void test_files(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    struct error error = ERROR_NONE;
    struct schedule schedule;
    char path[] = "/tmp/ccltune-sched-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fputs(ring, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(sched_load_file(&arena, path, &schedule, &error), 0);
    assert_string_equal(schedule.name, "my-ring");
    remove(path);
    assert_int_equal(sched_load_file(&arena, path, &schedule, &error), -1);
    assert_non_null(strstr(error.message, path));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_round_trips),
        cmocka_unit_test(test_a_ring_by_hand),
        cmocka_unit_test(test_every_word),
        cmocka_unit_test(test_faults_are_named),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
