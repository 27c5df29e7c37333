/* walk_count.c - a schedule's steps, messages and chunks, counted: position by position, or one
 * position of a role times its positions.
 */
#include "walk.h"

enum { ROUNDS_RANKS_MOST = 4096 };

static uint64_t chunks_of(const struct sched_step *step, const struct sched_send *send)
{
    const struct sched_range *range = send->value ? walk_value(step) : &send->range;
    return range ? walk_range_length(range) : 0;
}

/* Messages of one list to positions other than `self`; a group copies one message itself. */
static uint64_t messages_of(const struct sched_peers *peers, uint32_t self,
                            const struct walk_step *at)
{
    uint64_t nr = 0;
    for (uint32_t k = 0; k < (uint32_t)peers->count; k++) {
        nr += walk_peer(peers, k, at) != self;
    }
    return peers->group && nr > 0 ? 1 : nr;
}

static uint64_t additions_of(const struct sched_step *step)
{
    uint32_t inputs = walk_receives(step) + step->takes;
    const struct sched_range *value = walk_value(step);
    if (step->combine != SCHED_REDUCE || inputs < 2 || !value) {
        return 0;
    }
    return (uint64_t)(inputs - 1) * walk_range_length(value);
}

static void add_step(struct walk_count *count, uint32_t self, const struct walk_step *at)
{
    const struct sched_step *step = at->step;
    count->steps++;
    count->chunks_reduced += additions_of(step);
    for (unsigned i = 0; i < step->nr_send; i++) {
        uint64_t messages = messages_of(&step->send[i].peers, self, at);
        count->messages += messages;
        count->chunks_sent += messages * chunks_of(step, &step->send[i]);
    }
}

static uint64_t items_of(const struct sched_item *items, size_t nr)
{
    uint64_t written = 0;
    for (size_t i = 0; i < nr; i++) {
        if (items[i].times == 0) {
            written++;
            continue;
        }
        for (size_t k = 0; k < items[i].nr; k++) {
            const struct sched_item *inner = &items[i].items[k];
            written += inner->times == 0 ? 1 : inner->nr;
        }
    }
    return written;
}

/* One position walked alone: all but the rounds. */
static struct walk_count count_position(const struct sched_program *program, uint32_t self)
{
    struct walk_count count = {0};
    for (uint32_t lane = 0; lane < program->nr_lanes; lane++) {
        struct walk walk;
        struct walk_step at;
        walk_begin(&walk, &program->lanes[lane]);
        while (walk_next(&walk, &at)) {
            add_step(&count, self, &at);
        }
        count.items += items_of(program->lanes[lane].items, program->lanes[lane].nr);
    }
    count.most_sent = count.chunks_sent;
    return count;
}

/* `times` positions that count the same. */
static void add_positions(struct walk_count *sum, const struct walk_count *one, uint64_t times)
{
    sum->steps += one->steps * times;
    sum->messages += one->messages * times;
    sum->chunks_sent += one->chunks_sent * times;
    sum->chunks_reduced += one->chunks_reduced * times;
    sum->items = one->items > sum->items ? one->items : sum->items;
    sum->most_sent = one->most_sent > sum->most_sent ? one->most_sent : sum->most_sent;
}

int walk_count_folded(const struct schedule *schedule, struct walk_count *count,
                      struct error *error)
{
    (void)error;
    const struct algorithm *row = schedule->row;
    uint32_t ranks = schedule->request.ranks;
    struct arena arena = ARENA_EMPTY;
    uint64_t *times = arena_alloc(&arena, ranks, sizeof *times);
    *count = (struct walk_count){0};
    for (uint32_t p = 0; p < ranks; p++) {
        times[row && row->role ? row->role(&schedule->request, p) : p]++;
    }
    for (uint32_t p = 0; p < ranks; p++) {
        if (times[p] > 0) {
            struct arena of_program = ARENA_EMPTY;
            struct walk_count one = count_position(sched_program(schedule, p, &of_program), p);
            add_positions(count, &one, times[p]);
            arena_release(&of_program);
        }
    }
    arena_release(&arena);
    return 0;
}

int walk_count_all(const struct schedule *schedule, struct walk_count *count, struct error *error)
{
    struct walk_count sum = {0};
    for (uint32_t p = 0; p < schedule->request.ranks; p++) {
        struct arena arena = ARENA_EMPTY;
        struct walk_count one = count_position(sched_program(schedule, p, &arena), p);
        add_positions(&sum, &one, 1);
        arena_release(&arena);
    }
    if (schedule->request.ranks <= ROUNDS_RANKS_MOST && walk_rounds(schedule, &sum.rounds, error)) {
        return -1;
    }
    *count = sum;
    return 0;
}
