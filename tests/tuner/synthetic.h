/* synthetic.h - a library whose true times are known, and its oracle: the tuner against the truth.
 *
 * Every answer is drawn from a stream of its own, seeded by what was asked; so the same question
 * has the same answer in whatever order, run or process it is asked.
 */
#ifndef CCLTUNE_TESTS_SYNTHETIC_H
#define CCLTUNE_TESTS_SYNTHETIC_H

#include "file.h"
#include "tune.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYNTHETIC_MOST 8 /* candidates */

struct synthetic_truth {        /* of one candidate */
    double race_gain;           /* in the standing job: 0.1 = 10 % faster than the default */
    double fresh_gain;          /* in fresh launches */
    uint64_t from_bytes;        /* below, it is as fast as the default */
    enum outcome_kind kind;     /* in the standing job */
    enum outcome_kind in_fresh; /* in fresh launches */
};

struct synthetic {
    struct library library; /* first: the target's functions find the rest from it */
    uint64_t seed;
    size_t nr; /* candidates */
    struct synthetic_truth truth[SYNTHETIC_MOST];
    enum outcome_kind default_kind;
    double noise;         /* spread of the log of one sample */
    double tail;          /* chance of a sample that takes up to ten times as long */
    double launch_noise;  /* spread of the log of a launch, common to all its samples */
    double drift;         /* added to the log with every launch */
    double disturbed;     /* chance of a launch in which everything takes five times as long */
    size_t stop_at;       /* the call of run() that the user interrupts; 0 = none */
    size_t runs, asked;   /* calls and trials so far */
    size_t fresh_asked;   /* of them in fresh launches */
    uint32_t last_launch; /* the highest launch number so far */
};

/* ---- random numbers that belong to a question ---- */

static inline uint64_t synthetic_mix(uint64_t seed, uint64_t value)
{
    uint64_t state = seed ^ (value * 0x9e3779b97f4a7c15u);
    stats_random_next(&state);
    return stats_random_next(&state);
}

static inline double synthetic_normal(uint64_t *state)
{
    double u = 1 - stats_random_uniform(state), v = stats_random_uniform(state);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* ---- the library ---- */

static inline struct candidate synthetic_candidate(size_t index, struct arena *arena)
{
    const char *name = arena_printf(arena, "algorithm%zu", index);
    struct setting *setting = arena_alloc(arena, 1, sizeof *setting);
    *setting = (struct setting){"ALGORITHM", name, SCOPE_CALL};
    return (struct candidate){name, setting, 1};
}

static inline int synthetic_candidates(const struct library *library, const struct key *key,
                                       struct arena *arena, struct candidate **list, size_t *nr,
                                       struct error *error)
{
    const struct synthetic *synthetic = (const struct synthetic *)(const void *)library;
    (void)key;
    (void)error;
    *nr = synthetic->nr;
    *list = arena_alloc(arena, *nr, sizeof **list);
    for (size_t i = 0; i < *nr; i++) {
        (*list)[i] = synthetic_candidate(i, arena);
    }
    return 0;
}

static inline const char *synthetic_default_choice(const struct library *library,
                                                   const struct key *key, struct arena *arena)
{
    (void)library;
    (void)key;
    return arena_strdup(arena, "what it always does");
}

/* One line a row: collective, group, first and last size, algorithm. */
static inline int synthetic_emit(const struct library *library, const struct decision_table *table,
                                 const char *directory, struct arena *arena,
                                 struct emitted_file **files, size_t *nr_files, struct error *error)
{
    char group[GROUP_TEXT];
    const char *text = "";
    (void)library;
    (void)directory;
    (void)error;
    for (size_t r = 0; r < table->nr_rows; r++) {
        const struct decision_row *row = &table->rows[r];
        text = arena_printf(arena, "%s%s %s %llu %llu %s\n", text, coll_name(row->collective),
                            group_format(&row->group, group), (unsigned long long)row->first_bytes,
                            (unsigned long long)row->last_bytes, row->choice.algorithm);
    }
    *files = arena_alloc(arena, 1, sizeof **files);
    **files = (struct emitted_file){"choices", text};
    *nr_files = 1;
    return 0;
}

static inline int synthetic_load_settings(const char *directory, struct arena *arena,
                                          struct candidate *candidate, struct error *error)
{
    struct setting *setting = arena_alloc(arena, 1, sizeof *setting);
    (void)error;
    *setting =
        (struct setting){"FILE", arena_printf(arena, "%s/choices", directory), SCOPE_PROCESS};
    *candidate = (struct candidate){"file", setting, 1};
    return 0;
}

static const struct target synthetic_target = {
    .name = "synthetic",
    .what = "a library whose true times are known",
    .candidates = synthetic_candidates,
    .default_choice = synthetic_default_choice,
    .emit = synthetic_emit,
    .load_settings = synthetic_load_settings,
};

/* ---- its oracle ---- */

/* Which algorithm a line of the emitted file gives the key; nr = none, the default. */
static inline size_t synthetic_from_file(const char *path, const struct key *key, size_t nr)
{
    char collective[64], group[GROUP_TEXT], wanted[GROUP_TEXT];
    unsigned long long first, last;
    size_t index, found = nr;
    FILE *file = fopen(path, "r");
    while (file && fscanf(file, "%63s %95s %llu %llu algorithm%zu", collective, group, &first,
                          &last, &index) == 5) {
        if (!strcmp(collective, coll_name(key->collective)) &&
            !strcmp(group, group_format(&key->group, wanted)) && key->bytes >= first &&
            key->bytes <= last) {
            found = index;
        }
    }
    if (file) {
        fclose(file);
    }
    return found;
}

static inline size_t synthetic_algorithm(const struct synthetic *synthetic,
                                         const struct trial *trial)
{
    const struct setting *setting = trial->candidate.settings;
    size_t index = synthetic->nr;
    if (trial->candidate.nr_settings && !strcmp(setting->name, "FILE")) {
        index = synthetic_from_file(setting->value, &trial->key, synthetic->nr);
    } else if (trial->candidate.nr_settings) {
        index = (size_t)strtoul(setting->value + strlen("algorithm"), NULL, 10);
    }
    return index;
}

static inline double synthetic_default_seconds(const struct key *key)
{
    return 5e-6 + (double)key->bytes / 2e9;
}

/* How long everything takes in this launch, over the truth. */
static inline double synthetic_launch_factor(const struct synthetic *synthetic, uint32_t launch,
                                             double *canary)
{
    uint64_t state = synthetic_mix(synthetic->seed + 17, launch);
    double factor =
        launch ? exp(synthetic->launch_noise * synthetic_normal(&state) + synthetic->drift * launch)
               : 1;
    double sick = launch && stats_random_uniform(&state) < synthetic->disturbed ? 5 : 1;
    *canary = 20e-6 * sick * (1 + 0.1 * stats_random_uniform(&state));
    return factor * sick;
}

static inline void synthetic_answer(const struct synthetic *synthetic, const struct trial *trial,
                                    struct arena *arena, struct outcome *outcome)
{
    size_t algorithm = synthetic_algorithm(synthetic, trial);
    const struct synthetic_truth truth = algorithm < synthetic->nr
                                             ? synthetic->truth[algorithm]
                                             : (struct synthetic_truth){.kind = OUTCOME_SAMPLES};
    double gain = trial->launch ? truth.fresh_gain : truth.race_gain, canary;
    double factor = synthetic_launch_factor(synthetic, trial->launch, &canary);
    double seconds = synthetic_default_seconds(&trial->key) * factor /
                     (1 + (trial->key.bytes >= truth.from_bytes ? gain : 0));
    uint64_t state = synthetic_mix(synthetic->seed, trial->launch);
    state = synthetic_mix(state, trial->key.bytes * COLL_NR + trial->key.collective);
    state = synthetic_mix(state, (uint64_t)algorithm * 1000 + trial->round);
    *outcome = (struct outcome){.kind = trial->launch ? truth.in_fresh : truth.kind,
                                .canary = canary,
                                .detail = "as the truth has it"};
    if (algorithm >= synthetic->nr) {
        outcome->kind = synthetic->default_kind;
    }
    if (outcome->kind != OUTCOME_SAMPLES) {
        return;
    }
    outcome->nr = trial->samples;
    outcome->samples = arena_alloc(arena, outcome->nr, sizeof(double));
    for (size_t i = 0; i < outcome->nr; i++) {
        double sample = seconds * exp(synthetic->noise * synthetic_normal(&state));
        if (stats_random_uniform(&state) < synthetic->tail) {
            sample *= 1 + 9 * stats_random_uniform(&state);
        }
        outcome->samples[i] = sample;
        outcome->cost += 2 * sample;
    }
    outcome->canary = canary;
}

static inline int synthetic_run(struct oracle *oracle, const struct trial *trials, size_t nr,
                                struct arena *arena, struct outcome *outcomes, struct error *error)
{
    struct synthetic *synthetic = oracle->state;
    if (++synthetic->runs == synthetic->stop_at) {
        return error_set(error, EXIT_STOPPED, "stopped");
    }
    for (size_t i = 0; i < nr; i++) {
        synthetic_answer(synthetic, &trials[i], arena, &outcomes[i]);
        synthetic->asked++;
        synthetic->fresh_asked += trials[i].launch > 0;
        synthetic->last_launch =
            trials[i].launch > synthetic->last_launch ? trials[i].launch : synthetic->last_launch;
    }
    return 0;
}

static inline struct oracle synthetic_oracle(struct synthetic *synthetic)
{
    return (struct oracle){.name = "synthetic",
                           .evidence = EVIDENCE_IN_TARGET,
                           .noise = synthetic->noise,
                           .price_launch = 0.5,
                           .run = synthetic_run,
                           .state = synthetic};
}

/* ---- a whole tuning ---- */

static inline struct key synthetic_key(enum collective collective, uint64_t bytes)
{
    return (struct key){.collective = collective, .group = {"tp", 1, 8, 1, 1}, .bytes = bytes};
}

static inline struct tune_request synthetic_request(const struct synthetic *synthetic,
                                                    const struct key *keys, size_t nr_keys,
                                                    const char *directory)
{
    return (struct tune_request){.target = &synthetic_target,
                                 .library = &synthetic->library,
                                 .keys = keys,
                                 .nr_keys = nr_keys,
                                 .alpha = 0.05,
                                 .least_gain = 0.02,
                                 .budget = 1000,
                                 .seed = synthetic->seed,
                                 .proposal_directory = directory};
}

/* "allreduce" at 1 KiB, 4 KiB, ...; a key a size. */
static inline void synthetic_fill_keys(struct key *keys, size_t nr)
{
    for (size_t i = 0; i < nr; i++) {
        keys[i] = synthetic_key(COLL_ALLREDUCE, (uint64_t)1024 << (2 * i));
    }
}

/* ---- a place for files ---- */

/* A new directory; `path` has room for 4096 bytes. False if there is none. */
static inline bool synthetic_make_directory(char *path)
{
    const char *parent = getenv("TMPDIR");
    snprintf(path, 4096, "%s/ccltune-tuner-XXXXXX", parent && *parent ? parent : "/tmp");
    return mkdtemp(path) != NULL;
}

/* Removes the directory and the files in it. */
static inline void synthetic_remove_directory(const char *path)
{
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] != '.' || entry->d_name[1] == 'c') {
            unlinkat(dirfd(directory), entry->d_name, 0);
        }
    }
    if (directory) {
        closedir(directory);
    }
    rmdir(path);
}

#endif
