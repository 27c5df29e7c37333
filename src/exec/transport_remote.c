/* transport_remote.c - a network of the worst manners, for tests: nothing above a transport may
 * come to rely on shared memory.
 *
 * The peer's memory is written to only by
 *   put         the words of a slice, in any order, a few at a time;
 *   immediate   one number with a put's completion, in order on one connection, late by any time;
 *   credit      the same the other way round.
 * Connections run ahead of each other at random. What a real network adapter reads and writes by
 * itself is done here by the sender's proxy on memory that the receiver's host maps.
 */
#include "transport.h"

#include <stdlib.h>
#include <string.h>

#define PUTS_A_POLL  64 /* words at most */
#define DELAY_CHANCE 4  /* one poll in so many does something */

struct far { /* the other end's memory, and which words of it are the network's */
    struct plan_out out;
    struct plan_in in;
};

struct wire { /* one end */
    const struct transport_end *end;
    struct far far;
    uint32_t *order;    /* sender: of the words of the slice under way */
    uint32_t words, at; /* of it */
    uint32_t put;       /* sender: slices put; receiver: credits given */
    uint32_t shown;     /* sender: immediates sent */
};

struct remote {
    struct wire *wires;
    size_t nr;
    uint32_t slots, slot_bytes;
    uint64_t random;
};

static uint64_t next_random(struct remote *remote)
{
    uint64_t x = remote->random += 0x9e3779b97f4a7c15u; /* splitmix64 */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint32_t look(const uint32_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

static void tell(const uint32_t *counter, uint32_t value)
{
    __atomic_store_n((uint32_t *)(uintptr_t)counter, value, __ATOMIC_RELEASE);
}

/* ---- the sender's end ---- */

/* Words of 8 bytes; LL needs them whole, and there they are what the slice's bytes became. */
static uint32_t words_of(const struct wire *wire, uint32_t bytes)
{
    if (wire->end->out->protocol == PLAN_LL) {
        return bytes == 0 ? 1 : (bytes + 3) / 4;
    }
    return (bytes + 7) / 8;
}

static void begin_put(struct remote *remote, struct wire *wire)
{
    uint32_t slot = wire->put % remote->slots;
    wire->words = words_of(wire, wire->end->out->descriptors[slot].bytes);
    wire->at = 0;
    for (uint32_t i = 0; i < wire->words; i++) {
        uint32_t j = (uint32_t)(next_random(remote) % (i + 1));
        wire->order[i] = wire->order[j];
        wire->order[j] = i;
    }
}

/* Some more words of the slice; true when it is all there. */
static bool put_some(struct remote *remote, struct wire *wire)
{
    size_t slot = (size_t)(wire->put % remote->slots) * remote->slot_bytes;
    const uint64_t *from = (const uint64_t *)(const void *)(wire->end->out->slots + slot);
    uint64_t *to = (uint64_t *)(void *)((unsigned char *)(uintptr_t)wire->far.in.slots + slot);
    uint64_t puts = next_random(remote) % PUTS_A_POLL + wire->words / 8;
    for (; puts && wire->at < wire->words; puts--, wire->at++) {
        uint32_t word = wire->order[wire->at];
        __atomic_store_n(&to[word], __atomic_load_n(&from[word], __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    }
    return wire->at == wire->words;
}

/* One slice at a time is put; the next one may be on its way before the last one's immediate is. */
static bool poll_out(struct remote *remote, struct wire *wire)
{
    const struct plan_out *out = wire->end->out;
    bool moved = false;
    if (wire->order && wire->put != look(out->posted)) {
        if (wire->at == 0) {
            begin_put(remote, wire);
        }
        if (put_some(remote, wire)) {
            wire->put++;
            wire->at = 0;
        }
        moved = true;
    }
    if (wire->shown != wire->put && next_random(remote) % DELAY_CHANCE == 0) {
        wire->shown++;
        tell(wire->far.in.posted, wire->shown);
        moved = true;
    }
    return moved;
}

/* ---- the receiver's end ---- */

static bool poll_in(struct remote *remote, struct wire *wire)
{
    if (wire->put == look(wire->end->in->freed) || next_random(remote) % DELAY_CHANCE) {
        return false;
    }
    wire->put++;
    tell(wire->far.out.freed, wire->put);
    return true;
}

/* ---- all ends ---- */

static bool remote_reaches(uint32_t host, uint32_t other_host)
{
    return host == other_host;
}

static bool remote_poll(void *state)
{
    struct remote *remote = state;
    bool moved = false;
    for (size_t i = 0; i < remote->nr; i++) {
        struct wire *wire = &remote->wires[i];
        if (next_random(remote) % DELAY_CHANCE == 0) {
            moved |= wire->end->out ? poll_out(remote, wire) : poll_in(remote, wire);
        }
    }
    return moved;
}

static bool remote_settled(void *state)
{
    const struct remote *remote = state;
    for (size_t i = 0; i < remote->nr; i++) {
        const struct wire *wire = &remote->wires[i];
        if (wire->end->out ? wire->shown != look(wire->end->out->posted)
                           : wire->put != look(wire->end->in->freed)) {
            return false;
        }
    }
    return true;
}

static int remote_open(const struct transport_job *job, void **state, struct error *error)
{
    (void)error;
    struct remote *remote = calloc(1, sizeof *remote);
    if (!remote || !(remote->wires = calloc(job->nr + 1, sizeof *remote->wires))) {
        abort();
    }
    remote->nr = job->nr;
    remote->slots = job->slots;
    remote->slot_bytes = job->slot_bytes;
    remote->random = job->seed;
    for (size_t i = 0; i < job->nr; i++) {
        struct wire *wire = &remote->wires[i];
        wire->end = &job->ends[i];
        plan_connection_place(wire->end->far, job->slots, &wire->far.out, &wire->far.in);
        if (wire->end->out) {
            wire->order = malloc(job->slot_bytes / 8 * sizeof *wire->order);
            if (!wire->order) {
                abort();
            }
        }
    }
    *state = remote;
    return 0;
}

static void remote_close(void *state, bool broken)
{
    struct remote *remote = state;
    while (!broken && !remote_settled(remote)) {
        remote_poll(remote);
    }
    for (size_t i = 0; i < remote->nr; i++) {
        free(remote->wires[i].order);
    }
    free(remote->wires);
    free(remote);
}

const struct transport transport_remote = {
    .name = "remote",
    .what = "for tests: late and disorderly puts, immediates and credits within a host",
    .pairs = true,
    .reaches = remote_reaches,
    .open = remote_open,
    .poll = remote_poll,
    .settled = remote_settled,
    .close = remote_close,
};
