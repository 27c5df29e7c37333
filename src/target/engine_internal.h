/* engine_internal.h - what the files of the engine target share. */
#ifndef CCLTUNE_ENGINE_INTERNAL_H
#define CCLTUNE_ENGINE_INTERNAL_H

#include "target.h"

#define ENGINE_TABLE_FILE     "engine-table.json"
#define ENGINE_TABLE_VARIABLE "CCLTUNE_ENGINE_TABLE"

extern const struct target target_engine;

/* struct target's emit: tuned.env and the table it names. */
int engine_emit(const struct library *library, const struct decision_table *table,
                const char *directory, struct arena *arena, struct emitted_file **files,
                size_t *nr_files, struct error *error);

#endif
