/* runner.c - the table of libraries. */
#include "runner.h"

#include <string.h>

static const struct runner *const rows[] = {&runner_engine, &runner_mpich, &runner_mpi};

const struct runner *runner_find(const char *name, struct error *error)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!strcmp(rows[i]->name, name)) {
            return rows[i];
        }
    }
    error_set(error, EXIT_INPUT, "unknown library '%s': expected mpich, mpi or engine", name);
    return NULL;
}
