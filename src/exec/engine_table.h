/* engine_table.h - the engine's choices by collective, group and size, as tune writes them:
 *
 *   {"ccltune_engine_table": 1,
 *    "rows": [{"collective": "allreduce", "group": "all=1x2", "first_bytes": 64,
 *              "last_bytes": 65536, "settings": {"algo": "two-shot", "chunk": "64K"}}]}
 *
 * The file comes from anywhere: whatever is not of this form is an error that says which row.
 * Other keys are left alone; no two rows of one collective and group may overlap.
 */
#ifndef CCLTUNE_ENGINE_TABLE_H
#define CCLTUNE_ENGINE_TABLE_H

#include "arena.h"
#include "candidate.h"
#include "error.h"

#include <stddef.h>
#include <stdint.h>

#define ENGINE_TABLE_VARIABLE "CCLTUNE_ENGINE_TABLE" /* names the file */

struct engine_table_row {
    enum collective collective;
    struct group group;
    uint64_t first_bytes, last_bytes; /* nccl-tests' size; both covered */
    struct candidate choice;          /* settings of scope call, one named "algo" */
};

struct engine_table {
    struct arena arena; /* owns the rows */
    struct engine_table_row *rows;
    size_t nr;
};

/* `name` is the file's, for errors. The caller releases table->arena, also after a failure. */
int engine_table_parse(const char *text, size_t length, const char *name,
                       struct engine_table *table, struct error *error);

/* The row that covers a call, or NULL. */
const struct engine_table_row *engine_table_find(const struct engine_table *table,
                                                 enum collective collective,
                                                 const struct group *group, uint64_t bytes);

#endif
