/* decision.c - rows from points: a range is claimed only where every measured size was proven. */
#include "decision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void decision_release(struct decision_table *table)
{
    arena_release(&table->arena);
    *table = (struct decision_table){.points = NULL};
}

static bool continues_row(const struct decision_row *row, const struct decision_point *point)
{
    return point->key.collective == row->collective &&
           group_equal(&point->key.group, &row->group) &&
           candidate_equal(&point->choice, &row->choice);
}

/* The gain of a range: in each pair the mean log ratio over the range's points, then the interval
 * over the pairs. Points of one table share their pairs. */
static void fill_row_gain(const struct decision_table *table, struct decision_row *row)
{
    const struct decision_point *points = table->points + row->first_point;
    size_t pairs = points[0].pairs;
    row->least_low = INFINITY;
    for (size_t i = 0; i < row->nr_points; i++) {
        row->least_low = fmin(row->least_low, points[i].gain.low);
        if (points[i].pairs < pairs || !points[i].log_ratios) {
            pairs = points[i].log_ratios ? points[i].pairs : 0;
        }
    }
    if (pairs == 0) {
        row->gain = points[0].gain;
        return;
    }
    double *means = calloc(pairs, sizeof *means);
    if (!means) {
        abort();
    }
    for (size_t p = 0; p < pairs; p++) {
        for (size_t i = 0; i < row->nr_points; i++) {
            means[p] += points[i].log_ratios[p] / (double)row->nr_points;
        }
    }
    double lines = table->lines_tested ? (double)table->lines_tested : 1;
    struct interval log_gain =
        stats_signed_rank_interval(means, pairs, 1 - 2 * table->alpha / lines);
    /* The points' own bounds hold all at once, so the range gains at least the least of them. */
    row->gain =
        (struct interval){expm1(log_gain.estimate), fmax(expm1(log_gain.low), row->least_low),
                          expm1(log_gain.high), log_gain.level};
    free(means);
}

void decision_make_rows(struct decision_table *table)
{
    table->rows = arena_alloc(&table->arena, table->nr_points + 1, sizeof *table->rows);
    table->nr_rows = 0;
    bool open = false; /* may the newest row grow? */
    for (size_t i = 0; i < table->nr_points; i++) {
        const struct decision_point *point = &table->points[i];
        struct decision_row *row = open ? &table->rows[table->nr_rows - 1] : NULL;
        if (!point->proven) {
            open = false;
        } else if (row && continues_row(row, point)) {
            row->last_bytes = point->key.bytes;
            row->nr_points++;
        } else {
            table->rows[table->nr_rows++] = (struct decision_row){
                .collective = point->key.collective,
                .group = point->key.group,
                .first_bytes = point->key.bytes,
                .last_bytes = point->key.bytes,
                .choice = point->choice,
                .first_point = i,
                .nr_points = 1,
            };
            open = true;
        }
    }
    for (size_t r = 0; r < table->nr_rows; r++) {
        fill_row_gain(table, &table->rows[r]);
    }
}
