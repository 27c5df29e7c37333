/* transport_mpi.c - slices as MPI messages: works on any network, and is what is left when nothing
 * better reaches.
 *
 *   sender                                   receiver
 *   posted grows: slot -> Isend  ----------> Irecv, one waiting per slot; done: posted + 1
 *   freed = credit               <---------- freed grows: Irecv again, then Isend of freed
 *
 * Messages of one tag arrive in order, so slices do. A credit is sent after its receives wait
 * again, so no slice comes unexpected.
 */
#include "transport.h"

#include <stdlib.h>

struct proxied { /* one end */
    const struct transport_end *end;
    MPI_Request *slots; /* [slot]: of the sends, or the receives */
    MPI_Request credit; /* sender: the receive that waits for one; receiver: the last one sent */
    uint32_t value;     /* of the credit on its way */
    uint32_t moved;     /* sender: slices handed to MPI; receiver: slices that came */
    uint32_t done;      /* sender: slices whose send is complete; receiver: credits given */
};

struct mpi_proxy {
    MPI_Comm comm;
    struct proxied *items;
    size_t nr;
    uint32_t slots, slot_bytes;
};

static uint32_t look(const uint32_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

static void tell(uint32_t *counter, uint32_t value)
{
    __atomic_store_n(counter, value, __ATOMIC_RELEASE);
}

static int data_tag(const struct proxied *item)
{
    return (int)(2 * item->end->tag);
}

static bool complete(MPI_Request *request)
{
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    return done;
}

/* ---- the sender's end ---- */

static void await_credit(struct mpi_proxy *proxy, struct proxied *item)
{
    MPI_Irecv(&item->value, 1, MPI_UINT32_T, (int)item->end->peer, data_tag(item) + 1, proxy->comm,
              &item->credit);
}

static bool poll_out(struct mpi_proxy *proxy, struct proxied *item)
{
    const struct plan_out *out = item->end->out;
    bool moved = false;
    while (item->done != item->moved && complete(&item->slots[item->done % proxy->slots])) {
        item->done++;
        moved = true;
    }
    while (item->moved != look(out->posted) && item->moved - item->done < proxy->slots) {
        uint32_t slot = item->moved % proxy->slots;
        MPI_Isend(out->slots + (size_t)slot * proxy->slot_bytes, (int)out->descriptors[slot].bytes,
                  MPI_BYTE, (int)item->end->peer, data_tag(item), proxy->comm, &item->slots[slot]);
        item->moved++;
        moved = true;
    }
    if (complete(&item->credit)) {
        /* `freed` is this end's memory; the interpreter only reads it */
        tell((uint32_t *)(uintptr_t)out->freed, item->value);
        await_credit(proxy, item);
        moved = true;
    }
    return moved;
}

/* ---- the receiver's end ---- */

static void await_slice(struct mpi_proxy *proxy, struct proxied *item, uint32_t slot)
{
    unsigned char *slots = (unsigned char *)(uintptr_t)item->end->in->slots;
    MPI_Irecv(slots + (size_t)slot * proxy->slot_bytes, (int)proxy->slot_bytes, MPI_BYTE,
              (int)item->end->peer, data_tag(item), proxy->comm, &item->slots[slot]);
}

static bool poll_in(struct mpi_proxy *proxy, struct proxied *item)
{
    const struct plan_in *in = item->end->in;
    uint32_t freed = look(in->freed);
    bool moved = false;
    while (item->moved - item->done < proxy->slots &&
           complete(&item->slots[item->moved % proxy->slots])) {
        item->moved++;
        tell((uint32_t *)(uintptr_t)in->posted, item->moved);
        moved = true;
    }
    if (item->done != freed && complete(&item->credit)) {
        for (; item->done != freed; item->done++) {
            await_slice(proxy, item, item->done % proxy->slots);
        }
        item->value = freed;
        MPI_Isend(&item->value, 1, MPI_UINT32_T, (int)item->end->peer, data_tag(item) + 1,
                  proxy->comm, &item->credit);
        moved = true;
    }
    return moved;
}

/* ---- all ends ---- */

static bool mpi_reaches(uint32_t host, uint32_t other_host)
{
    (void)host;
    (void)other_host;
    return true;
}

static bool mpi_poll(void *state)
{
    struct mpi_proxy *proxy = state;
    bool moved = false;
    for (size_t i = 0; i < proxy->nr; i++) {
        struct proxied *item = &proxy->items[i];
        moved |= item->end->out ? poll_out(proxy, item) : poll_in(proxy, item);
    }
    return moved;
}

static bool mpi_settled(void *state)
{
    struct mpi_proxy *proxy = state;
    for (size_t i = 0; i < proxy->nr; i++) {
        struct proxied *item = &proxy->items[i];
        if (item->end->out ? item->done != look(item->end->out->posted)
                           : item->done != look(item->end->in->freed) || !complete(&item->credit)) {
            return false;
        }
    }
    return true;
}

static int mpi_open(const struct transport_job *job, void **state, struct error *error)
{
    (void)error;
    struct mpi_proxy *proxy = calloc(1, sizeof *proxy);
    if (!proxy || !(proxy->items = calloc(job->nr + 1, sizeof *proxy->items))) {
        abort();
    }
    proxy->nr = job->nr;
    proxy->slots = job->slots;
    proxy->slot_bytes = job->slot_bytes;
    MPI_Comm_dup(job->comm, &proxy->comm);
    for (size_t i = 0; i < job->nr; i++) {
        struct proxied *item = &proxy->items[i];
        *item = (struct proxied){.end = &job->ends[i], .credit = MPI_REQUEST_NULL};
        item->slots = malloc(job->slots * sizeof *item->slots);
        if (!item->slots) {
            abort();
        }
        for (uint32_t slot = 0; slot < job->slots; slot++) {
            item->slots[slot] = MPI_REQUEST_NULL;
            if (item->end->in) {
                await_slice(proxy, item, slot);
            }
        }
        if (item->end->out) {
            await_credit(proxy, item);
        }
    }
    *state = proxy;
    return 0;
}

static void give_up(MPI_Request *request)
{
    if (*request != MPI_REQUEST_NULL) {
        MPI_Cancel(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
}

/* Has every slice that was sent come back as a credit? */
static bool all_credited(const struct mpi_proxy *proxy)
{
    for (size_t i = 0; i < proxy->nr; i++) {
        const struct plan_out *out = proxy->items[i].end->out;
        if (out && look(out->freed) != look(out->posted)) {
            return false;
        }
    }
    return true;
}

static void mpi_close(void *state, bool broken)
{
    struct mpi_proxy *proxy = state;
    while (!broken && !(mpi_settled(proxy) && all_credited(proxy))) {
        mpi_poll(proxy);
    }
    for (size_t i = 0; i < proxy->nr; i++) {
        for (uint32_t slot = 0; !broken && slot < proxy->slots; slot++) {
            give_up(&proxy->items[i].slots[slot]);
        }
        if (!broken) {
            give_up(&proxy->items[i].credit);
        }
        free(proxy->items[i].slots);
    }
    if (!broken) {
        MPI_Comm_free(&proxy->comm);
    }
    free(proxy->items);
    free(proxy);
}

const struct transport transport_mpi = {
    .name = "mpi",
    .what = "MPI messages moved by a proxy, over whatever network MPI has",
    .reaches = mpi_reaches,
    .open = mpi_open,
    .poll = mpi_poll,
    .settled = mpi_settled,
    .close = mpi_close,
};
