/* runner_engine.c - the row of our own engine: its settings by name, and what it runs when none
 * says which algorithm.
 */
#include "engine.h"
#include "engine_table.h"
#include "file.h"
#include "number.h"
#include "units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS_MOST 64
#define WINDOW_MOST   64
#define SLICE_MOST    (64U << 20) /* bytes */
#define WINDOW_USUAL  8
#define SLICE_USUAL   (64U << 10)
#define TABLE_MOST    (16U << 20) /* bytes of a table's file */

struct settings { /* as given; 0 or NULL: not given */
    struct engine_choice choice;
    double patience;
};

struct engine_state {
    struct engine *engine;
    struct arena arena; /* of the texts of `now`; emptied when another candidate is applied */
    struct settings now;
    struct engine_table table; /* of the user; usually empty */
    struct settings *by_table; /* [table.nr]; owned by the table */
    /* the plan set that was used last, and what for */
    const struct exec_group *group;
    struct call call;
    struct engine_plan *plan;
};

/* ---- settings by name ---- */

static int read_count(const char *text, uint64_t least, uint64_t most, uint32_t *count,
                      struct error *error)
{
    double value;
    const char *rest = number_scan(text, &value);
    if (!rest || *rest || value != (double)(uint64_t)value || value < (double)least ||
        value > (double)most) {
        return error_set(error, EXIT_INPUT, "'%s': expected a whole number from %llu to %llu", text,
                         (unsigned long long)least, (unsigned long long)most);
    }
    *count = (uint32_t)value;
    return 0;
}

static int read_algorithm(struct arena *arena, const char *text, struct settings *settings,
                          struct error *error)
{
    settings->choice.algorithm = arena_strdup(arena, text);
    return strncmp(text, "file:", 5) && !algorithm_find(text, error) ? -1 : 0;
}

static int read_protocol(struct arena *arena, const char *text, struct settings *settings,
                         struct error *error)
{
    (void)arena;
    settings->choice.protocol = strcmp(text, "ll") ? PLAN_SIMPLE : PLAN_LL;
    return strcmp(text, "ll") && strcmp(text, "simple")
               ? error_set(error, EXIT_INPUT, "'%s': expected simple or ll", text)
               : 0;
}

static int read_channels(struct arena *arena, const char *text, struct settings *settings,
                         struct error *error)
{
    (void)arena;
    return read_count(text, 1, CHANNELS_MOST, &settings->choice.channels, error);
}

static int read_window(struct arena *arena, const char *text, struct settings *settings,
                       struct error *error)
{
    (void)arena;
    if (read_count(text, 2, WINDOW_MOST, &settings->choice.window, error)) {
        return -1;
    }
    return settings->choice.window & (settings->choice.window - 1)
               ? error_set(error, EXIT_INPUT, "'%s': expected a power of two from 2 to %d", text,
                           WINDOW_MOST)
               : 0;
}

static int read_bytes(const char *text, uint64_t most, uint64_t *bytes, struct error *error)
{
    char limit[UNITS_TEXT];
    if (units_parse_size(text, bytes, error)) {
        return -1;
    }
    return *bytes < 16 || *bytes > most
               ? error_set(error, EXIT_INPUT, "'%s': expected a size from 16 B to %s", text,
                           units_format_bytes(most, limit))
               : 0;
}

static int read_chunk(struct arena *arena, const char *text, struct settings *settings,
                      struct error *error)
{
    (void)arena;
    return read_bytes(text, (uint64_t)SLICE_MOST * WINDOW_MOST, &settings->choice.chunk_bytes,
                      error);
}

static int read_slice(struct arena *arena, const char *text, struct settings *settings,
                      struct error *error)
{
    (void)arena;
    uint64_t bytes;
    if (read_bytes(text, SLICE_MOST, &bytes, error)) {
        return -1;
    }
    settings->choice.slice_bytes = (uint32_t)(bytes + 15) / 16 * 16;
    return 0;
}

/* "2x4" or "2x2x2": hosts x ranks per host, outermost first. */
static int read_levels(struct arena *arena, const char *text, struct settings *settings,
                       struct error *error)
{
    struct engine_choice *choice = &settings->choice;
    const char *at = text;
    (void)arena;
    for (choice->nr_levels = 0; at && choice->nr_levels < SCHED_LEVELS_MOST;) {
        double value;
        at = number_scan(at, &value);
        if (!at || value < 1 || value > 1 << 20 || value != (double)(uint32_t)value) {
            break;
        }
        choice->levels[choice->nr_levels++] = (uint32_t)value;
        if (*at == 0) {
            return 0;
        }
        at = *at == 'x' ? at + 1 : NULL;
    }
    return error_set(error, EXIT_INPUT,
                     "'%s': expected hosts x ranks per host, such as 2x4, in at most %d levels",
                     text, SCHED_LEVELS_MOST);
}

static int read_transport(struct arena *arena, const char *text, struct settings *settings,
                          struct error *error)
{
    (void)arena;
    settings->choice.transport = transport_find(text, error);
    return settings->choice.transport ? 0 : -1;
}

static int read_patience(struct arena *arena, const char *text, struct settings *settings,
                         struct error *error)
{
    (void)arena;
    return units_parse_seconds(text, &settings->patience, error);
}

static const struct {
    const char *name;
    int (*read)(struct arena *arena, const char *text, struct settings *settings,
                struct error *error);
} readers[] = {
    {"algo", read_algorithm}, {"proto", read_protocol},      {"channels", read_channels},
    {"chunk", read_chunk},    {"slice", read_slice},         {"window", read_window},
    {"levels", read_levels},  {"transport", read_transport}, {"patience", read_patience},
};
#define NR_READERS (sizeof readers / sizeof *readers)

static int read_setting(struct arena *arena, const struct setting *setting,
                        struct settings *settings, struct error *error)
{
    for (size_t i = 0; i < NR_READERS; i++) {
        if (!strcmp(readers[i].name, setting->name)) {
            return readers[i].read(arena, setting->value, settings, error)
                       ? error_prefix(error, "%s", setting->name)
                       : 0;
        }
    }
    return error_set(
        error, EXIT_INPUT,
        "the engine has no setting '%s': there are algo, proto, channels, chunk, slice, "
        "window, levels, transport and patience",
        setting->name);
}

/* What was left out. A chunk that is given is cut into as many slices as half its window holds. */
static void complete(struct settings *settings)
{
    struct engine_choice *choice = &settings->choice;
    choice->channels = choice->channels ? choice->channels : 1;
    choice->window = choice->window ? choice->window : WINDOW_USUAL;
    if (!choice->slice_bytes) {
        uint64_t pieces = choice->window / 2;
        uint64_t slice =
            choice->chunk_bytes ? (choice->chunk_bytes + pieces - 1) / pieces : SLICE_USUAL;
        choice->slice_bytes = (uint32_t)((slice + 15) / 16 * 16);
    }
    settings->patience = settings->patience > 0 ? settings->patience : 10;
}

static int apply(void *opaque, const struct candidate *candidate, struct error *error)
{
    struct engine_state *state = opaque;
    struct settings settings = {0};
    arena_release(&state->arena);
    state->plan = NULL;
    for (size_t i = 0; i < candidate->nr_settings; i++) {
        if (candidate->settings[i].scope == SCOPE_PROCESS) {
            continue; /* made at launch */
        }
        if (read_setting(&state->arena, &candidate->settings[i], &settings, error)) {
            return -1;
        }
    }
    complete(&settings);
    state->now = settings;
    engine_set_patience(state->engine, settings.patience);
    return 0;
}

/* ---- which algorithm, when none is named ---- */

static const struct {
    enum collective collective;
    uint64_t up_to; /* bytes of a part */
    const char *algorithm;
} usual[] = {
    /* the first that can serve a call; direct ones are left out where memory is not shared */
    {COLL_ALLREDUCE, 4 << 10, "doubling"},     {COLL_ALLREDUCE, 32 << 10, "one-shot"},
    {COLL_ALLREDUCE, UINT64_MAX, "two-shot"},  {COLL_ALLREDUCE, 16 << 10, "doubling"},
    {COLL_ALLREDUCE, UINT64_MAX, "ring"},      {COLL_REDUCE_SCATTER, UINT64_MAX, "one-shot"},
    {COLL_REDUCE_SCATTER, UINT64_MAX, "ring"}, {COLL_ALL_GATHER, UINT64_MAX, "one-shot"},
    {COLL_ALL_GATHER, UINT64_MAX, "ring"},     {COLL_BROADCAST, UINT64_MAX, "one-shot"},
    {COLL_BROADCAST, UINT64_MAX, "chain"},     {COLL_REDUCE, UINT64_MAX, "one-shot"},
    {COLL_REDUCE, UINT64_MAX, "chain"},        {COLL_ALL_TO_ALL, UINT64_MAX, "direct"},
    {COLL_GATHER, UINT64_MAX, "direct"},       {COLL_SCATTER, UINT64_MAX, "direct"},
    {COLL_SEND_RECV, UINT64_MAX, "direct"},
};

static bool can_serve(struct engine_state *state, const struct exec_group *group,
                      const struct call *call, const char *name)
{
    struct error ignored = ERROR_NONE;
    const struct group *shape = &group->group;
    struct sched_request request = {
        .collective = call->collective, .ranks = group_ranks(shape), .in_place = call->in_place};
    if (shape->hosts > 1 && shape->ranks_per_host > 1) {
        request.levels[0] = shape->hosts;
        request.levels[1] = shape->ranks_per_host;
        request.nr_levels = 2;
    }
    const struct algorithm *row = algorithm_find(name, &ignored);
    struct schedule schedule;
    return row && !(row->needs & SCHED_NEEDS_GROUP_PEER) &&
           !sched_make(row, &request, &schedule, &ignored) &&
           (!(row->needs & SCHED_NEEDS_DIRECT) ||
            !engine_check_direct(state->engine, group, &state->now.choice, &ignored));
}

static const char *choose_algorithm(struct engine_state *state, const struct exec_group *group,
                                    const struct call *call)
{
    uint64_t bytes = call->count * datatype_bytes(call->datatype);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (usual[i].collective == call->collective && bytes <= usual[i].up_to &&
            can_serve(state, group, call, usual[i].algorithm)) {
            return usual[i].algorithm;
        }
    }
    return "ring";
}

/* By the user's table, where it has a row that can serve the call; else the usual one. */
static void choose(struct engine_state *state, const struct exec_group *group,
                   const struct call *call, struct engine_choice *choice)
{
    uint64_t bytes = coll_bytes(call->collective, call->count, datatype_bytes(call->datatype),
                                group_ranks(&group->group));
    const struct engine_table_row *row =
        engine_table_find(&state->table, call->collective, &group->group, bytes);
    const struct settings *by_table = row ? &state->by_table[row - state->table.rows] : NULL;
    if (by_table && can_serve(state, group, call, by_table->choice.algorithm)) {
        const struct transport *transport = choice->transport;
        *choice = by_table->choice;
        choice->transport = transport;
    } else {
        choice->algorithm = choose_algorithm(state, group, call);
    }
}

/* ---- calls ---- */

static bool same_kind(const struct engine_state *state, const struct exec_group *group,
                      const struct call *call)
{
    const struct call *last = &state->call;
    bool same_bytes = last->count == call->count && last->datatype == call->datatype;
    return state->plan && state->group == group && last->collective == call->collective &&
           last->in_place == call->in_place && last->root == call->root &&
           (state->now.choice.algorithm || same_bytes);
}

static int prepare(void *opaque, const struct exec_group *group, const struct call *call,
                   struct error *error)
{
    struct engine_state *state = opaque;
    struct engine_choice choice = state->now.choice;
    if (same_kind(state, group, call)) {
        return 0;
    }
    if (!choice.algorithm) {
        choose(state, group, call, &choice);
    }
    state->plan = NULL;
    if (engine_prepare(state->engine, group, &choice, call, &state->plan, error)) {
        return -1;
    }
    state->group = group;
    state->call = *call;
    return 0;
}

static int run_call(void *opaque, const struct exec_group *group, const struct call *call,
                    struct error *error)
{
    struct engine_state *state = opaque;
    return prepare(state, group, call, error) || engine_run(state->engine, state->plan, call, error)
               ? -1
               : 0;
}

static int take_buffers(void *opaque, const struct exec_group *group, uint64_t bytes, void **send,
                        void **recv, struct error *error)
{
    struct engine_state *state = opaque;
    return engine_take_buffers(state->engine, group, bytes, send, recv, error);
}

static int accepts(void *opaque, const struct call *call, struct error *error)
{
    (void)opaque;
    bool is_unsigned = call->datatype == TYPE_UINT32 || call->datatype == TYPE_UINT64;
    bool wraps = call->reduction == REDUCE_SUM || call->reduction == REDUCE_PROD;
    if (coll_reduces(call->collective) && is_unsigned && !wraps) {
        return error_set(error, EXIT_INPUT,
                         "the engine has no %s of %s: use a signed type, or sum or prod",
                         reduction_name(call->reduction), datatype_name(call->datatype));
    }
    if (call->in_place && !coll_in_place(call->collective)) {
        return error_set(error, EXIT_INPUT, "%s has no form in place", coll_name(call->collective));
    }
    return 0;
}

/* What choose_algorithm() goes by, for those who tune it. */
static struct json *describe_usual(void)
{
    struct json *rules = json_make_array();
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        struct json *rule = json_make_object();
        json_put_text(rule, "collective", coll_name(usual[i].collective));
        if (usual[i].up_to < INT64_MAX) {
            json_put_integer(rule, "to_bytes", (int64_t)usual[i].up_to);
        }
        json_put_text(rule, "algorithm", usual[i].algorithm);
        json_append(rules, rule);
    }
    return rules;
}

static struct json *describe(void *opaque)
{
    (void)opaque;
    struct json *object = json_make_object(), *values = json_make_object();
    struct json *algorithms = json_make_array();
    for (const struct algorithm *const *row = algorithm_all(); *row; row++) {
        json_append(algorithms, json_make_text((*row)->name));
    }
    json_put(values, "algo", algorithms);
    json_put_text(object, "name", "ccltune engine");
    json_put_text(object, "device", "CPU ranks");
    json_put(object, "values", values);
    json_put(object, "tree", describe_usual());
    json_put_text(object, "tree_source", "built-in");
    json_put_bool(object, "spins", false);
    return object;
}

/* ---- the user's table ---- */

static int read_table(struct engine_state *state, const char *text, const char *name,
                      struct error *error)
{
    struct engine_table *table = &state->table;
    if (engine_table_parse(text, strlen(text), name, table, error)) {
        return -1;
    }
    state->by_table = arena_alloc(&table->arena, table->nr + 1, sizeof *state->by_table);
    for (size_t i = 0; i < table->nr; i++) {
        const struct candidate *choice = &table->rows[i].choice;
        struct settings *settings = &state->by_table[i];
        for (size_t k = 0; k < choice->nr_settings; k++) {
            if (read_setting(&table->arena, &choice->settings[k], settings, error)) {
                return error_prefix(error, "%s: row %zu", name, i + 1);
            }
        }
        if (!strncmp(settings->choice.algorithm, "file:", 5)) {
            return error_set(error, EXIT_INPUT,
                             "%s: row %zu: algo: %s: a table names algorithms of the program only",
                             name, i + 1, settings->choice.algorithm);
        }
        complete(settings);
    }
    return 0;
}

/* Rank 0's file for all: ranks that read different ones would wait for each other for ever. */
static int load_table(struct exec *exec, struct engine_state *state, struct error *error)
{
    bool first = exec_place(exec).rank == 0;
    const char *name = getenv(ENGINE_TABLE_VARIABLE);
    bool is_set = first && name && *name;
    char none[] = "", *text = NULL;
    int failed = is_set ? file_read(name, TABLE_MOST, &text, NULL, error) : 0;
    if (text && !*text) {
        failed = error_set(error, EXIT_INPUT, "%s: an empty file", name);
    }
    if (failed) {
        error->status = EXIT_INPUT;
        error_prefix(error, ENGINE_TABLE_VARIABLE);
    }
    if (exec_agree(exec, failed, error)) {
        return -1;
    }
    char *shared = text ? text : none;
    exec_share_text(exec, &shared);
    const char *where = is_set ? arena_printf(&state->arena, ENGINE_TABLE_VARIABLE "=%s", name)
                               : ENGINE_TABLE_VARIABLE;
    failed = *shared ? read_table(state, shared, where, error) : 0;
    free(first ? text : shared);
    return failed;
}

static int open_engine(struct exec *exec, void **opaque, struct error *error)
{
    struct engine_state *state = calloc(1, sizeof *state);
    if (!state) {
        abort();
    }
    if (load_table(exec, state, error) || engine_open(exec, &state->engine, error)) {
        arena_release(&state->table.arena);
        arena_release(&state->arena);
        free(state);
        return -1;
    }
    complete(&state->now);
    *opaque = state;
    return 0;
}

static void close_engine(void *opaque)
{
    struct engine_state *state = opaque;
    engine_close(state->engine);
    arena_release(&state->table.arena);
    arena_release(&state->arena);
    free(state);
}

const struct runner runner_engine = {
    .name = "engine",
    .what = "our own engine: schedules over shared memory, or MPI messages between hosts",
    .as_nccl = true,
    .open = open_engine,
    .close = close_engine,
    .describe = describe,
    .accepts = accepts,
    .apply = apply,
    .prepare = prepare,
    .take_buffers = take_buffers,
    .call = run_call,
};
