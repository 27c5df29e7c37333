/* env_file.h - tuned.env, whichever library it is for: one setting, and in comments what it rests
 * on. A target says what is its own, everything else is read off the decision table.
 */
#ifndef CCLTUNE_ENV_FILE_H
#define CCLTUNE_ENV_FILE_H

#include "arena.h"
#include "decision.h"
#include "error.h"

#include <stddef.h>

#define ENV_FILE_NAME "tuned.env"

struct env_file {
    const char *title;    /* whose settings: "MPICH" */
    const char *variable; /* set to */
    const char *path;     /* this, when a row is in */
    const struct decision_table *table;
    const char *const *left_out; /* for each row why it is not in; NULL = it is */
    size_t nr_rows_in;
    const char *form;     /* about the form of the file that is named; NULL = nothing to say */
    const char *warning;  /* before the rows; NULL = none */
    const char *validity; /* whole comment lines: what the rows hold for */
};

/* The file's whole text; belongs to the arena. */
const char *env_file_text(const struct env_file *file, struct arena *arena);

/* `name` in `directory` as an absolute path, which the directory need not exist for; arena-owned.
 * Fails when an env file could not name it. */
int env_file_path(const char *directory, const char *name, struct arena *arena, const char **path,
                  struct error *error);

#endif
