/* mpich_internal.h - what the files of the mpich targets share. */
#ifndef CCLTUNE_MPICH_INTERNAL_H
#define CCLTUNE_MPICH_INTERNAL_H

#include "mpich_tree.h"
#include "target.h"

#include <stdbool.h>

#define MPICH_TREE_FILE "mpich-coll.json"

extern const struct target target_mpich;
extern const struct target target_mpich_aa; /* self-test: candidates that are all the default */

/* struct target's emit. The self-test's tree is the base, whatever the rows are. */
int mpich_emit(const struct library *library, const struct decision_table *table,
               const char *directory, struct arena *arena, struct emitted_file **files,
               size_t *nr_files, struct error *error);
int mpich_emit_self_test(const struct library *library, const struct decision_table *table,
                         const char *directory, struct arena *arena, struct emitted_file **files,
                         size_t *nr_files, struct error *error);

/* For each row of the table why it is not in the tree: NULL = it is in. */
struct mpich_emission {
    const struct library *library;
    const struct decision_table *table;
    const char *tree_path;       /* absolute */
    const char *const *left_out; /* nr_rows of them */
    size_t nr_rows_in;           /* rows in the tree */
    bool self_test;
};

/* The text of tuned.env. Belongs to the arena. */
const char *mpich_env_text(const struct mpich_emission *emission, struct arena *arena);

#endif
