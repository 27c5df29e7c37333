/* symmetric.h - memory that every rank of a host can address: one segment a rank, mapped by all.
 *
 * A segment is a memfd, so it has no name anywhere and is gone with the last process that maps it,
 * however that ends. Descriptors travel as GPU memory's do: pidfd_getfd, or a message with
 * SCM_RIGHTS where the kernel forbids that.
 */
#ifndef CCLTUNE_SYMMETRIC_H
#define CCLTUNE_SYMMETRIC_H

#include "error.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symmetric {
    uint32_t ranks, me; /* of the communicator it was made over */
    unsigned char **of; /* [rank] -> its segment as seen from here; NULL: on another host */
    size_t *bytes;      /* [rank] -> length */
};

enum symmetric_exchange { SYMMETRIC_BEST, SYMMETRIC_MESSAGES /* only SCM_RIGHTS: for tests */ };

/* Makes a segment of `bytes` zeroed bytes on this rank (each may ask for another size) and maps
 * those of all ranks with the same `host`. Collective over `comm`; all fail when one does. */
int symmetric_make(MPI_Comm comm, uint32_t host, size_t bytes, enum symmetric_exchange exchange,
                   struct symmetric *made, struct error *error);

/* Unmaps everything; peers keep what they have mapped. Not collective; fine on {0}. */
void symmetric_free(struct symmetric *symmetric);

/* Is [at, at + bytes) within this rank's own segment? */
bool symmetric_holds(const struct symmetric *symmetric, const void *at, size_t bytes);

#endif
