/* target.h - a library that is tuned: what a candidate is for it, its defaults, its files.
 *
 * A target is a row of functions. It never runs the library: what the library said of itself
 * (version, legal values, built-in tables) is handed over in `struct library`, which the job
 * collected on its ranks.
 */
#ifndef CCLTUNE_TARGET_H
#define CCLTUNE_TARGET_H

#include "arena.h"
#include "candidate.h"
#include "decision.h"
#include "error.h"
#include "json.h"

#include <stddef.h>

/* What the library said of itself, on the ranks that will use it. */
struct library {
    const char *name;          /* "MPICH" */
    const char *version;       /* "4.0.2" */
    const char *device;        /* "ch4:ucx"; "" if not known */
    const struct json *values; /* {"SETTING": ["value", ...]}: legal values by setting */
    const struct json *tree;   /* the selection in force: the user's file or the built-in tree */
    const char *tree_source;   /* "built-in" or the path of the user's file */
    bool spins;                /* a waiting rank burns its core */
};

/* Reads the "library" part of a job's hello; texts and trees are borrowed from it. */
int library_from_json(const struct json *json, struct library *library, struct error *error);

struct emitted_file {
    const char *name; /* "tuned.env" */
    const char *text; /* whole content; belongs to the arena */
};

struct target {
    const char *name;   /* as the user writes it: "mpich" */
    const char *what;   /* one sentence */
    const char *runner; /* the library that a job opens to measure it: "mpich" */

    /* Is something set in the environment that would win over the emitted files, so that nothing
     * could be proven? The error names it. */
    int (*check_environment)(const struct key *keys, size_t nr, struct error *error);

    /* The candidates for `key`, the default not among them, none equal to what the default does
     * anyway, none that the library refuses or that is illegal for the key. Arena-owned. */
    int (*candidates)(const struct library *library, const struct key *key, struct arena *arena,
                      struct candidate **list, size_t *nr, struct error *error);

    /* What the library does by itself for `key`: an algorithm's name, or NULL if not known. */
    const char *(*default_choice)(const struct library *library, const struct key *key,
                                  struct arena *arena);

    /* What the race compares the candidates with: the default's own choice, asked for in the way
     * candidates are (a forced algorithm skips the library's search for one, some 20 ns, which the
     * emitted files do not). The plain default where that is not known. May be NULL: always that.
     */
    struct candidate (*race_reference)(const struct library *library, const struct key *key,
                                       struct arena *arena);

    /* The files a user takes away for the table's rows. `directory` is where they will lie (paths
     * inside tuned.env are absolute). */
    int (*emit)(const struct library *library, const struct decision_table *table,
                const char *directory, struct arena *arena, struct emitted_file **files,
                size_t *nr_files, struct error *error);

    /* The settings (scope process) with which a fresh launch loads the files in `directory`. */
    int (*load_settings)(const char *directory, struct arena *arena, struct candidate *candidate,
                         struct error *error);
};

/* The row named `name`; the error lists the names. */
const struct target *target_find(const char *name, struct error *error);
/* NULL-ended list of all rows. */
const struct target *const *target_all(void);

#endif
