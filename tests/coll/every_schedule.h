/* every_schedule.h - each row of the table for each collective it serves, on many groups. */
#ifndef TESTS_EVERY_SCHEDULE_H
#define TESTS_EVERY_SCHEDULE_H

#include "schedule.h"

/* Calls `visit` for what sched_make accepts; returns how many schedules that were. */
static inline unsigned visit_levels(const struct algorithm *row, struct sched_request *request,
                                    void (*visit)(const struct schedule *))
{
    unsigned nr = 0;
    for (int in_place = 0; in_place < 2; in_place++) {
        struct error error = ERROR_NONE;
        struct schedule schedule;
        request->in_place = in_place;
        if (sched_make(row, request, &schedule, &error) == 0) {
            visit(&schedule);
            nr++;
        }
    }
    return nr;
}

/* Without levels, with two of every kind, with three where the outer is two hosts. */
static inline unsigned visit_groups(const struct algorithm *row, enum collective collective,
                                    uint32_t ranks, void (*visit)(const struct schedule *))
{
    struct sched_request request = {.collective = collective, .ranks = ranks};
    unsigned nr = visit_levels(row, &request, visit);
    if (!(row->needs & SCHED_NEEDS_HIERARCHY)) {
        return nr;
    }
    for (uint32_t hosts = 1; hosts <= ranks; hosts++) {
        if (ranks % hosts == 0) {
            request.nr_levels = 2;
            request.levels[0] = hosts;
            request.levels[1] = ranks / hosts;
            nr += visit_levels(row, &request, visit);
        }
        if (ranks % (2 * hosts) == 0) {
            request.nr_levels = 3;
            request.levels[0] = 2;
            request.levels[1] = hosts;
            request.levels[2] = ranks / (2 * hosts);
            nr += visit_levels(row, &request, visit);
        }
    }
    return nr;
}

static inline unsigned visit_every_schedule(const uint32_t *ranks, size_t nr_ranks,
                                            void (*visit)(const struct schedule *))
{
    unsigned nr = 0;
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        for (int c = 0; c < COLL_NR; c++) {
            for (size_t i = 0; i < nr_ranks && (*row)->collectives & 1U << c; i++) {
                nr += visit_groups(*row, (enum collective)c, ranks[i], visit);
            }
        }
    }
    return nr;
}

#endif
