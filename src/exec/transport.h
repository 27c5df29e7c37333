/* transport.h - how slices get from one rank to another: one row each.
 *
 * To the interpreter every connection is slots and counters in local memory (plan.h). Where a
 * transport shares memory, that is the whole story: the connection lies in the receiver's segment
 * and both ends point into it. The others move slots and counters between two copies; poll() does
 * that, called in turn with the lanes by the thread that started MPI.
 */
#ifndef CCLTUNE_TRANSPORT_H
#define CCLTUNE_TRANSPORT_H

#include "error.h"
#include "plan.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct transport_end {    /* one end of a connection */
    uint32_t peer;        /* rank in the communicator */
    uint32_t tag;         /* the same at both ends; no other connection of the two ranks has it */
    struct plan_out *out; /* the sender's end, or */
    struct plan_in *in;   /* the receiver's */
    unsigned char *far;   /* the other end's memory as seen from here; NULL on another host */
};

struct transport_job { /* the ends that one transport serves, of one plan's connections */
    MPI_Comm comm;
    const struct transport_end *ends;
    size_t nr;
    uint32_t slots, slot_bytes;
    uint64_t seed; /* remote: of its delays */
};

struct transport {
    const char *name, *what;
    bool shares; /* both ends point into one memory: no proxy, and peers' buffers are in reach */
    bool pairs;  /* keeps 8-byte words whole, so that LL works over it */
    bool (*reaches)(uint32_t host, uint32_t other_host);
    /* The rest is NULL where memory is shared. open and close are collective over the
     * communicator; `ends` must stay until close. */
    int (*open)(const struct transport_job *job, void **state, struct error *error);
    bool (*poll)(void *state);    /* moves what can be moved now; false: nothing could */
    bool (*settled)(void *state); /* does no peer wait for anything that this end has to give? */
    void (*close)(void *state, bool broken); /* broken: a peer is gone, so wait for nobody */
};

/* Rows in the order of preference, NULL-ended; a row by name (the error lists them). */
const struct transport *const *transport_all(void);
const struct transport *transport_find(const char *name, struct error *error);

extern const struct transport transport_shm, transport_mpi, transport_remote;

#endif
