/* target.c - the libraries that can be tuned. A new one is one more line here. */
#include "target.h"

#include "engine_internal.h"
#include "mpich_internal.h"

#include <stdio.h>
#include <string.h>

static const struct target *const targets[] = {&target_mpich, &target_engine, &target_mpich_aa,
                                               NULL};

const struct target *const *target_all(void)
{
    return targets;
}

const struct target *target_find(const char *name, struct error *error)
{
    char names[256] = "";
    for (size_t i = 0; targets[i]; i++) {
        if (!strcmp(targets[i]->name, name)) {
            return targets[i];
        }
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", targets[i]->name);
    }
    error_set(error, EXIT_INPUT, "target '%s': expected one of %s", name, names);
    return NULL;
}
