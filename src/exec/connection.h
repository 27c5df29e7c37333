/* connection.h - the connections of one position's program: which there are, where they lie, and
 * the tables in which a plan finds them.
 *
 * A connection joins (position, lane) to (position, lane) in one direction. Its memory lies with
 * the receiver; the sender has a copy too where its transport does not share memory. Both ends are
 * found from the programs alone, each by its own rank; what the ranks then tell each other is where
 * they put them.
 */
#ifndef CCLTUNE_CONNECTION_H
#define CCLTUNE_CONNECTION_H

#include "layout.h"
#include "plan.h"
#include "schedule.h"
#include "symmetric.h"
#include "transport.h"

struct connection_channel { /* of one channel: what its plan_call points to */
    struct plan_out *outs;
    struct plan_in *ins;
    uint32_t nr_outs, nr_ins;
    uint32_t *out_peer, *in_peer; /* [end] -> rank at the other end */
    uint32_t *out_of, *in_of;     /* plan_call's tables */
};

struct connection_request {
    const struct schedule *schedule;
    const struct layout *layout;
    const struct sched_program *const *programs; /* [channel]: this rank's */
    uint32_t me;                                 /* rank in the group */
    const uint32_t *hosts;                       /* [rank] -> its host */
    const struct transport *only;                /* NULL: the best that reaches */
    enum plan_protocol protocol;
    uint32_t slots, slice_bytes;
    size_t reserve; /* bytes wanted at the start of every segment */
    uint64_t seed;
    MPI_Comm comm;
};

struct connection_set {
    struct arena arena;       /* owns the tables */
    struct symmetric segment; /* reserve, then connections */
    struct connection_channel *channels;
    uint32_t slot_bytes;
    bool shared; /* does every peer's connection share memory? */
    struct connection_proxy {
        const struct transport *transport;
        void *state;
    } proxies[2];
    size_t nr_proxies;
};

/* Makes them. Collective over the communicator; fails on all ranks when it fails on one. */
int connection_open(const struct connection_request *request, struct connection_set *set,
                    struct error *error);
/* Collective, unless broken: then a peer is gone and nobody is waited for. */
void connection_close(struct connection_set *set, bool broken);

#endif
