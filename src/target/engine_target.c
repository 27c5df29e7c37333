/* engine_target.c - our own engine as a target: candidates are algorithm x protocol x channels x
 * chunk, as many as a race can tell apart.
 *
 * Every algorithm that can serve the key is tried once in its plainest form. The variants of
 * channels and chunk go to the most promising only: those that send the fewest bytes where messages
 * are long, those with the fewest rounds where they are short. Both are counted from the schedules.
 */
#include "engine_internal.h"
#include "env_file.h"
#include "schedule.h"
#include "walk.h"

#include <stdlib.h>
#include <string.h>

enum {
    CANDIDATES_MOST = 24,
    VARIED = 3,            /* algorithms that are tried in every variant */
    ROWS_MOST = 32,        /* of the table of algorithms */
    LL_MOST = 16 << 10,    /* bytes: from here on data with its flag costs more than it saves */
    SHORT_MOST = 16 << 10, /* bytes: rounds count more than volume, one chunk on one channel */
};

static const struct chunk {
    uint64_t bytes;
    const char *text;
} chunks[] = {{16 << 10, "16K"}, {64 << 10, "64K"}, {256 << 10, "256K"}, {1 << 20, "1M"}};
#define NR_CHUNKS (sizeof chunks / sizeof *chunks)

static const struct variant {
    uint32_t channels;
    uint32_t chunk; /* index; a larger chunk than a message has is none */
    const char *protocol;
} variants[] = {
    /* from the most to the least promising */
    {1, 2, "simple"}, {1, 1, "simple"}, {2, 2, "simple"}, {1, 3, "simple"}, {2, 1, "simple"},
    {1, 0, "simple"}, {2, 3, "simple"}, {2, 0, "simple"}, {1, 0, "ll"},
};
#define NR_VARIANTS (sizeof variants / sizeof *variants)

/* ---- which algorithms ---- */

struct entrant { /* an algorithm that can serve the key */
    const struct algorithm *row;
    uint64_t chunks; /* of a loop, in the larger buffer */
    double sent;     /* by the busiest rank, in parts of the message */
    uint64_t rounds;
};

/* Directly from memory to memory is possible on one host only. */
static bool make_schedule(const struct key *key, const struct algorithm *row,
                          struct schedule *schedule)
{
    struct error ignored = ERROR_NONE;
    const struct group *group = &key->group;
    struct sched_request request = {.collective = key->collective, .ranks = group_ranks(group)};
    if (group->hosts > 1 && group->ranks_per_host > 1) {
        request.levels[0] = group->hosts;
        request.levels[1] = group->ranks_per_host;
        request.nr_levels = 2;
    }
    unsigned lacking = SCHED_NEEDS_GROUP_PEER | (group->hosts > 1 ? SCHED_NEEDS_DIRECT : 0U);
    return !(row->needs & lacking) && !sched_make(row, &request, schedule, &ignored);
}

static bool comes_before(const struct entrant *a, const struct entrant *b, bool is_short)
{
    bool fewer_rounds = a->rounds < b->rounds, same_rounds = a->rounds == b->rounds;
    return is_short ? fewer_rounds || (same_rounds && a->sent < b->sent)
                    : a->sent < b->sent || (!(b->sent < a->sent) && fewer_rounds);
}

/* The most promising first; equal ones in the order of the table. */
static size_t find_entrants(const struct key *key, struct entrant *entrants)
{
    size_t nr = 0;
    for (const struct algorithm *const *row = algorithm_all(); *row && nr < ROWS_MOST; row++) {
        struct error ignored = ERROR_NONE;
        struct schedule schedule;
        struct walk_count count;
        struct entrant made = {.row = *row};
        if (!make_schedule(key, *row, &schedule) ||
            walk_count_folded(&schedule, &count, &ignored) ||
            walk_rounds(&schedule, &made.rounds, &ignored)) {
            continue;
        }
        uint32_t in = sched_chunks(&schedule, SCHED_IN), out = sched_chunks(&schedule, SCHED_OUT);
        made.chunks = in > out ? in : out;
        made.sent = (double)count.most_sent / (double)made.chunks;
        size_t at = nr++;
        for (; at > 0 && comes_before(&made, &entrants[at - 1], key->bytes <= SHORT_MOST); at--) {
            entrants[at] = entrants[at - 1];
        }
        entrants[at] = made;
    }
    return nr;
}

/* ---- what the engine does by itself ---- */

/* The first row of its own list that is for this size and can serve the key. */
static const char *find_usual(const struct library *library, const struct key *key)
{
    uint64_t part = key->bytes / (coll_divided(key->collective) ? group_ranks(&key->group) : 1);
    for (size_t i = 0; i < json_length(library->tree); i++) {
        const struct json *rule = json_item(library->tree, i);
        const char *name = json_get_text(rule, "algorithm", "");
        int64_t limit = json_get_integer(rule, "to_bytes", INT64_MAX);
        struct error ignored = ERROR_NONE;
        struct schedule schedule;
        const struct algorithm *row = algorithm_find(name, &ignored);
        if (row && !strcmp(json_get_text(rule, "collective", ""), coll_name(key->collective)) &&
            part <= (uint64_t)limit && make_schedule(key, row, &schedule)) {
            return row->name;
        }
    }
    return NULL;
}

static const char *engine_default_choice(const struct library *library, const struct key *key,
                                         struct arena *arena)
{
    (void)arena;
    return find_usual(library, key);
}

/* ---- candidates ---- */

/* Bytes of a message's piece when nothing limits its chunks. */
static uint64_t piece_bytes(const struct key *key, const struct entrant *entrant, uint32_t channels)
{
    uint64_t parts = entrant->chunks * channels;
    return key->bytes / parts + (key->bytes % parts > 0);
}

static bool is_sensible(const struct key *key, const struct entrant *entrant, const char *usual,
                        const struct variant *variant)
{
    uint64_t piece = piece_bytes(key, entrant, variant->channels);
    bool is_ll = !strcmp(variant->protocol, "ll");
    bool direct = entrant->row->needs & SCHED_NEEDS_DIRECT;
    if (variant->channels > 1 && key->bytes <= SHORT_MOST) {
        return false;
    }
    if (is_ll && (key->bytes > LL_MOST || direct)) { /* what is read in place has no flags in it */
        return false;
    }
    if (variant->chunk > 0 && chunks[variant->chunk - 1].bytes >= piece) {
        return false; /* the next smaller one holds all of it */
    }
    /* within one slice of every chunk it is what the engine does by itself */
    return !(usual && !strcmp(usual, entrant->row->name) && !is_ll && variant->channels == 1 &&
             piece <= chunks[0].bytes / 2);
}

static struct candidate make_candidate(const struct entrant *entrant, const struct variant *variant,
                                       struct arena *arena)
{
    const char *chunk = chunks[variant->chunk].text;
    const char *channels = arena_printf(arena, "%u", variant->channels);
    struct setting *settings = arena_alloc(arena, 4, sizeof *settings);
    settings[0] = (struct setting){"algo", entrant->row->name, SCOPE_CALL};
    settings[1] = (struct setting){"proto", variant->protocol, SCOPE_CALL};
    settings[2] = (struct setting){"channels", channels, SCOPE_CALL};
    settings[3] = (struct setting){"chunk", chunk, SCOPE_CALL};
    return (struct candidate){arena_printf(arena, "%s/%s/%sch/%s", entrant->row->name,
                                           variant->protocol, channels, chunk),
                              settings, 4};
}

static void add(const struct entrant *entrant, const struct variant *variant, struct arena *arena,
                struct candidate *list, size_t *nr)
{
    if (*nr < CANDIDATES_MOST) {
        list[(*nr)++] = make_candidate(entrant, variant, arena);
    }
}

/* The first sensible variant of every entrant, then the others of the most promising. */
static int engine_candidates(const struct library *library, const struct key *key,
                             struct arena *arena, struct candidate **list, size_t *nr,
                             struct error *error)
{
    struct entrant entrants[ROWS_MOST];
    size_t first[ROWS_MOST], nr_entrants = 0;
    const char *usual = find_usual(library, key);
    (void)error;
    *list = arena_alloc(arena, CANDIDATES_MOST, sizeof **list);
    *nr = 0;
    if (group_ranks(&key->group) > 1) {
        nr_entrants = find_entrants(key, entrants);
    }
    for (size_t i = 0; i < nr_entrants; i++) {
        for (first[i] = 0; first[i] < NR_VARIANTS; first[i]++) {
            if (is_sensible(key, &entrants[i], usual, &variants[first[i]])) {
                add(&entrants[i], &variants[first[i]], arena, *list, nr);
                break;
            }
        }
    }
    size_t varied = key->bytes > SHORT_MOST && nr_entrants > VARIED ? VARIED : nr_entrants;
    for (size_t v = 0; v < NR_VARIANTS; v++) {
        for (size_t i = 0; i < varied; i++) {
            if (v != first[i] && is_sensible(key, &entrants[i], usual, &variants[v])) {
                add(&entrants[i], &variants[v], arena, *list, nr);
            }
        }
    }
    return 0;
}

/* The emitted table takes the place of one that is named already: its other rows would be lost. And
 * what is compared would be a table with itself. */
static int engine_check_environment(const struct key *keys, size_t nr, struct error *error)
{
    const char *table = getenv(ENGINE_TABLE_VARIABLE);
    (void)keys;
    (void)nr;
    return table && *table
               ? error_set(error, EXIT_INPUT,
                           ENGINE_TABLE_VARIABLE "=%s is set, so that the engine's own choice, "
                                                 "which is compared with, is not made: unset it",
                           table)
               : 0;
}

static int engine_load_settings(const char *directory, struct arena *arena,
                                struct candidate *candidate, struct error *error)
{
    const char *path = NULL;
    if (env_file_path(directory, ENGINE_TABLE_FILE, arena, &path, error)) {
        return -1;
    }
    struct setting *setting = arena_alloc(arena, 1, sizeof *setting);
    *setting = (struct setting){ENGINE_TABLE_VARIABLE, path, SCOPE_PROCESS};
    *candidate = (struct candidate){"engine table", setting, 1};
    return 0;
}

const struct target target_engine = {
    .name = "engine",
    .what = "our own engine's algorithm, protocol, channels and chunk, by size and group",
    .runner = "engine",
    .check_environment = engine_check_environment,
    .candidates = engine_candidates,
    .default_choice = engine_default_choice,
    .emit = engine_emit,
    .load_settings = engine_load_settings,
};
