/* decision_json.c - result.json: the decision table in a stable schema, and back.
 *
 * The schema only grows: readers take what they know by key, and "ccltune_result" counts versions
 * that are not compatible. Seconds, bytes and ratios; a key's name carries its unit.
 */
#include "decision.h"

#include <math.h>
#include <string.h>

#define PAIRS_MOST 300 /* exact rank statistics take time as its cube; tuning makes 30 */

static const char *const evidence_names[] = {
    [EVIDENCE_PREDICTED] = "predicted",
    [EVIDENCE_SIMULATED] = "simulated",
    [EVIDENCE_MEASURED] = "measured",
    [EVIDENCE_IN_TARGET] = "measured in the target",
};

static struct json *interval_to_json(const struct interval *interval)
{
    struct json *object = json_make_object();
    json_put_number(object, "estimate", interval->estimate);
    json_put_number(object, "low", interval->low);
    json_put_number(object, "high", interval->high);
    json_put_number(object, "level", interval->level);
    return object;
}

static struct interval interval_from_json(const struct json *json)
{
    return (struct interval){json_get_number(json, "estimate", NAN),
                             json_get_number(json, "low", NAN), json_get_number(json, "high", NAN),
                             json_get_number(json, "level", NAN)};
}

static struct json *rivals_to_json(const struct decision_point *point)
{
    struct json *list = json_make_array();
    for (size_t i = 0; i < point->nr_rivals; i++) {
        const struct decision_rival *rival = &point->rivals[i];
        struct json *object = json_make_object();
        json_put_text(object, "algorithm", rival->algorithm);
        json_put_number(object, "race_s", rival->seconds);
        json_put_integer(object, "samples", (int64_t)rival->samples);
        json_put_text(object, "verdict", rival->verdict);
        json_append(list, object);
    }
    return list;
}

static void rivals_from_json(const struct json *list, struct arena *arena,
                             struct decision_point *point)
{
    struct decision_rival *rivals = arena_alloc(arena, json_length(list) + 1, sizeof *rivals);
    for (size_t i = 0; i < json_length(list); i++) {
        const struct json *object = json_item(list, i);
        rivals[i] = (struct decision_rival){
            .algorithm = arena_strdup(arena, json_get_text(object, "algorithm", "")),
            .seconds = json_get_number(object, "race_s", NAN),
            .samples = (size_t)json_get_integer(object, "samples", 0),
            .verdict = arena_strdup(arena, json_get_text(object, "verdict", "")),
        };
    }
    point->rivals = rivals;
    point->nr_rivals = json_length(list);
}

static struct json *point_to_json(const struct decision_point *point)
{
    struct json *object = key_to_json(&point->key);
    json_put(object, "choice", candidate_to_json(&point->choice));
    json_put_text(object, "default_choice", point->default_choice);
    json_put_number(object, "default_s", point->default_seconds);
    json_put_number(object, "choice_s", point->choice_seconds);
    json_put_bool(object, "proven", point->proven);
    json_put_text(object, "reason", point->reason);
    json_put(object, "rivals", rivals_to_json(point));
    if (point->pairs) {
        json_put(object, "gain", interval_to_json(&point->gain));
        json_put_number(object, "p", point->p);
        json_put_integer(object, "pairs", (int64_t)point->pairs);
        json_put_numbers(object, "log_ratios", point->log_ratios, point->pairs);
    }
    return object;
}

static struct json *row_to_json(const struct decision_row *row)
{
    char group[GROUP_TEXT];
    struct json *object = json_make_object();
    json_put_text(object, "collective", coll_name(row->collective));
    json_put_text(object, "group", group_format(&row->group, group));
    json_put_integer(object, "first_bytes", (int64_t)row->first_bytes);
    json_put_integer(object, "last_bytes", (int64_t)row->last_bytes);
    json_put(object, "choice", candidate_to_json(&row->choice));
    json_put(object, "gain", interval_to_json(&row->gain));
    json_put_number(object, "least_low", row->least_low);
    json_put_integer(object, "first_point", (int64_t)row->first_point);
    json_put_integer(object, "points", (int64_t)row->nr_points);
    return object;
}

static const struct { /* the texts of a table, by key */
    const char *key;
    size_t offset;
} texts[] = {
    {"target", offsetof(struct decision_table, target)},
    {"library", offsetof(struct decision_table, library)},
    {"version", offsetof(struct decision_table, version)},
    {"fingerprint", offsetof(struct decision_table, fingerprint)},
    {"machine", offsetof(struct decision_table, machine)},
    {"date", offsetof(struct decision_table, date)},
    {"tool", offsetof(struct decision_table, tool_version)},
    {"launch", offsetof(struct decision_table, launch)},
    {"default_is", offsetof(struct decision_table, default_is)},
};

struct json *decision_to_json(const struct decision_table *table)
{
    struct json *object = json_make_object();
    json_put_integer(object, "ccltune_result", 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_put_text(object, texts[i].key,
                      *(const char *const *)((const char *)table + texts[i].offset));
    }
    json_put_text(object, "evidence", evidence_names[table->evidence]);
    json_put_integer(object, "seed", (int64_t)table->seed);
    json_put_number(object, "alpha", table->alpha);
    json_put_integer(object, "lines_tested", (int64_t)table->lines_tested);
    json_put_integer(object, "launch_pairs", (int64_t)table->pairs);
    json_put_number(object, "canary_s", table->canary);
    json_put_bool(object, "interrupted", table->interrupted);
    struct json *rows = json_make_array(), *points = json_make_array();
    for (size_t i = 0; i < table->nr_rows; i++) {
        json_append(rows, row_to_json(&table->rows[i]));
    }
    for (size_t i = 0; i < table->nr_points; i++) {
        json_append(points, point_to_json(&table->points[i]));
    }
    json_put(object, "rows", rows);
    json_put(object, "points", points);
    return object;
}

static int point_from_json(const struct json *json, struct arena *arena,
                           struct decision_point *point, struct error *error)
{
    if (key_from_json(json, &point->key, error) ||
        candidate_from_json(json_get(json, "choice"), arena, &point->choice, error)) {
        return -1;
    }
    const char *name = json_get_text(json, "default_choice", NULL);
    const struct json *ratios = json_get(json, "log_ratios");
    size_t nr_ratios = json_length(ratios);
    if (nr_ratios > PAIRS_MOST) {
        return error_set(error, EXIT_INPUT, "%zu pairs, expected at most %d", nr_ratios,
                         PAIRS_MOST);
    }
    double *log_ratios = arena_alloc(arena, nr_ratios + 1, sizeof *log_ratios);
    for (size_t i = 0; i < nr_ratios; i++) {
        log_ratios[i] = json_item_number(ratios, i, NAN);
    }
    point->default_choice = name ? arena_strdup(arena, name) : NULL;
    point->default_seconds = json_get_number(json, "default_s", NAN);
    point->choice_seconds = json_get_number(json, "choice_s", NAN);
    point->gain = interval_from_json(json_get(json, "gain"));
    point->p = json_get_number(json, "p", NAN);
    point->pairs = nr_ratios;
    point->log_ratios = log_ratios;
    point->proven = json_get_bool(json, "proven", false);
    point->reason = arena_strdup(arena, json_get_text(json, "reason", ""));
    rivals_from_json(json_get(json, "rivals"), arena, point);
    if (point->proven && (nr_ratios == 0 || !(point->gain.low > 0))) {
        return error_set(error, EXIT_INPUT, "a point is marked proven without a gain above 0");
    }
    return 0;
}

/* Rows are made of neighbours, so the order carries meaning. */
static int check_order(const struct decision_point *before, const struct decision_point *point,
                       struct error *error)
{
    if (before->key.collective == point->key.collective &&
        group_equal(&before->key.group, &point->key.group) &&
        (before->key.bytes > point->key.bytes || key_equal(&before->key, &point->key))) {
        return error_set(error, EXIT_INPUT,
                         "%llu bytes after %llu: expected the sizes of a collective and group to "
                         "grow",
                         (unsigned long long)point->key.bytes,
                         (unsigned long long)before->key.bytes);
    }
    return 0;
}

int decision_from_json(const struct json *json, struct decision_table *table, struct error *error)
{
    if (json_get_integer(json, "ccltune_result", 0) != 1) {
        return error_set(error, EXIT_INPUT,
                         "not a result of this program: expected \"ccltune_result\": 1");
    }
    struct decision_table read = {.points = NULL};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char **text = (const char **)((char *)&read + texts[i].offset);
        *text = arena_strdup(&read.arena, json_get_text(json, texts[i].key, ""));
    }
    const char *evidence = json_get_text(json, "evidence", "");
    for (int e = EVIDENCE_PREDICTED; e <= EVIDENCE_IN_TARGET; e++) {
        if (!strcmp(evidence, evidence_names[e])) {
            read.evidence = (enum evidence)e;
        }
    }
    read.seed = (uint64_t)json_get_integer(json, "seed", 0);
    read.alpha = json_get_number(json, "alpha", 0.05);
    read.lines_tested = (size_t)json_get_integer(json, "lines_tested", 0);
    read.pairs = (size_t)json_get_integer(json, "launch_pairs", 0);
    read.canary = json_get_number(json, "canary_s", NAN);
    read.interrupted = json_get_bool(json, "interrupted", false);
    const struct json *points = json_get(json, "points");
    read.points = arena_alloc(&read.arena, json_length(points) + 1, sizeof *read.points);
    for (size_t i = 0; i < json_length(points); i++) {
        struct decision_point *point = &read.points[i];
        if (point_from_json(json_item(points, i), &read.arena, point, error) ||
            (i && check_order(point - 1, point, error))) {
            error_prefix(error, "point %zu", i);
            arena_release(&read.arena);
            return -1;
        }
        read.nr_points++;
    }
    decision_make_rows(&read);
    *table = read;
    return 0;
}
