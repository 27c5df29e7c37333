/* algorithm.c - the table of algorithms. A new one is its own file and a line here. */
#include "algo_parts.h"

#include <stdio.h>
#include <string.h>

static const struct algorithm *const rows[] = {&algorithm_ring,         &algorithm_chain,
                                               &algorithm_tree,         &algorithm_double_tree,
                                               &algorithm_doubling,     &algorithm_halving_doubling,
                                               &algorithm_bruck,        &algorithm_pat,
                                               &algorithm_one_shot,     &algorithm_two_shot,
                                               &algorithm_direct,       &algorithm_pairwise,
                                               &algorithm_hierarchical, &algorithm_nvls,
                                               &algorithm_nvls_tree,    NULL};

enum { ROWS = sizeof rows / sizeof *rows - 1 };

const struct algorithm *const *algorithm_all(void)
{
    return rows;
}

const struct algorithm *algorithm_find(const char *name, struct error *error)
{
    const char *names[ROWS + 1] = {NULL};
    char list[256] = "";
    for (int i = 0; i < ROWS; i++) {
        if (!strcmp(rows[i]->name, name)) {
            return rows[i];
        }
        names[i] = rows[i]->name;
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", rows[i]->name);
    }
    const char *near = error_nearest(name, names);
    if (near) {
        error_set(error, EXIT_INPUT, "unknown algorithm '%s': did you mean '%s'?", name, near);
    } else {
        error_set(error, EXIT_INPUT, "unknown algorithm '%s': expected one of %s", name, list);
    }
    return NULL;
}
