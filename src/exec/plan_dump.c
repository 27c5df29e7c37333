/* plan_dump.c - operations and their operands in words. */
#include "plan_dump.h"

#include "arena.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const kinds[PLAN_KINDS] = {
    [PLAN_LOOP] = "loop",       [PLAN_SLICES] = "slices", [PLAN_WAIT_FREE] = "wait-free",
    [PLAN_COPY] = "copy",       [PLAN_POST] = "post",     [PLAN_WAIT_POST] = "wait-post",
    [PLAN_COMBINE] = "combine", [PLAN_PUT] = "put",       [PLAN_FREE] = "free",
    [PLAN_NEXT] = "next",       [PLAN_DRAIN] = "drain",   [PLAN_REPEAT] = "repeat",
    [PLAN_END] = "end",
};

static const struct {
    enum plan_flag flag;
    const char *word;
} flags[] = {
    {PLAN_PLACE, "place"}, {PLAN_PULL, "pull"},     {PLAN_PUSH, "push"},
    {PLAN_VALUE, "value"}, {PLAN_NESTED, "nested"},
};

static void write_space(FILE *to, const struct plan *plan, uint16_t index)
{
    const struct plan_space *space = &plan->entries[index].space;
    fprintf(to, " mod %" PRId32, space->size);
    if (space->stride != 1 || space->base != 0 || space->move != 0) {
        fprintf(to, " (%" PRId32 " + %" PRId32 " x", space->base, space->stride);
        if (space->move != 0) {
            fprintf(to, " + %" PRId32 " outer", space->move);
        }
        fputs(")", to);
    }
}

static void write_range(FILE *to, const struct plan *plan, uint16_t index)
{
    static const char *const buffers[PLAN_BUFFERS] = {"in", "out", "scratch"};
    const struct plan_range *range = &plan->entries[index].range;
    if (range->runs == 0) {
        fputs(" nothing", to);
        return;
    }
    fprintf(to, " %s[%" PRId32, buffers[range->buffer], range->first);
    if (range->run > 1) {
        fprintf(to, "+%" PRId32, range->run);
    }
    if (range->runs > 1) {
        fprintf(to, " each %" PRId32 " x %" PRId32, range->gap, range->runs);
    }
    if (range->last != 0) {
        fprintf(to, " below %" PRId32, range->last);
    }
    if (range->move != 0) {
        fprintf(to, " %+" PRId32 " a turn", range->move);
    }
    if (range->per_peer != 0) {
        fprintf(to, " %+" PRId32 " a peer", range->per_peer);
    }
    write_space(to, plan, range->space);
    fputs("]", to);
}

static void write_peers(FILE *to, const struct plan *plan, uint16_t index)
{
    const struct plan_peers *peers = &plan->entries[index].peers;
    fprintf(to, " %" PRId32, peers->first);
    if (peers->count != 1) {
        fprintf(to, "+%" PRId32, peers->count);
    }
    if (peers->move != 0) {
        fprintf(to, " %+" PRId32 " a turn", peers->move);
    }
    write_space(to, plan, peers->space);
    if (peers->lane != 0) {
        fprintf(to, " lane %u", peers->lane);
    }
}

static void write_sends(FILE *to, const struct plan *plan, const struct plan_op *op)
{
    for (unsigned i = 0; i < op->nr_send; i++) {
        fputs(i ? "," : "  to", to);
        write_peers(to, plan, op->send[i]);
        bool ranged = op->kind == PLAN_SLICES || !(op->flags & PLAN_VALUE);
        if (ranged && op->kind != PLAN_COMBINE) {
            fputs(":", to);
            write_range(to, plan, op->send_range[i]);
        }
    }
}

static void write_operation(FILE *to, const struct plan *plan, uint32_t index)
{
    const struct plan_op *op = &plan->ops[index];
    int width = op->kind == PLAN_LOOP ? 0 : 9; /* alone on its line */
    fprintf(to, "    %3" PRIu32 "  %-*s", index, width, kinds[op->kind]);
    if (op->kind == PLAN_NEXT || op->kind == PLAN_END || op->kind == PLAN_REPEAT) {
        fprintf(to, "  back to %" PRIu32, op->u.jump.to);
        if (op->kind == PLAN_REPEAT) {
            fprintf(to, " until %" PRIu32 " turns", op->u.jump.times);
        }
    } else {
        write_sends(to, plan, op);
        for (unsigned i = 0; i < op->nr_receive; i++) {
            fputs(i ? "," : "  from", to);
            write_peers(to, plan, op->u.receive[i]);
        }
    }
    if (op->take != PLAN_NONE) {
        fputs("  take", to);
        write_range(to, plan, op->take);
    }
    if (op->store != PLAN_NONE) {
        fputs("  store", to);
        write_range(to, plan, op->store);
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (op->flags & flags[i].flag) {
            fprintf(to, "  %s", flags[i].word);
        }
    }
    fputs("\n", to);
}

char *plan_dump(const struct plan *plan)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (!to) {
        arena_out_of_memory();
    }
    size_t bytes = plan->nr_ops * sizeof *plan->ops + plan->nr_entries * sizeof *plan->entries;
    fprintf(to,
            "plan: %" PRIu32 " lane%s, %" PRIu32 " operations, %" PRIu32 " entries, %zu bytes\n",
            plan->lanes, plan->lanes == 1 ? "" : "s", plan->nr_ops, plan->nr_entries, bytes);
    for (uint32_t lane = 0; lane < plan->lanes; lane++) {
        uint32_t end = lane + 1 < plan->lanes ? plan->first[lane + 1] : plan->nr_ops;
        fprintf(to, "lane %" PRIu32 "\n", lane);
        for (uint32_t i = plan->first[lane]; i < end; i++) {
            write_operation(to, plan, i);
        }
    }
    if (fclose(to)) {
        arena_out_of_memory();
    }
    return text;
}
