/* transport.c - the table of transports, and the one that needs no code. */
#include "transport.h"

#include <string.h>

static bool reaches_own_host(uint32_t host, uint32_t other_host)
{
    return host == other_host;
}

const struct transport transport_shm = {
    .name = "shm",
    .what = "memory that the ranks of a host share",
    .shares = true,
    .pairs = true,
    .reaches = reaches_own_host,
};

static const struct transport *const rows[] = {&transport_shm, &transport_mpi, &transport_remote,
                                               NULL};

const struct transport *const *transport_all(void)
{
    return rows;
}

const struct transport *transport_find(const char *name, struct error *error)
{
    for (size_t i = 0; rows[i]; i++) {
        if (!strcmp(rows[i]->name, name)) {
            return rows[i];
        }
    }
    error_set(error, EXIT_INPUT, "unknown transport '%s': expected shm, mpi or remote", name);
    return NULL;
}
