/* collective.c - one table of collectives; everything else asks it. */
#include "collective.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum busbw {              /* which factor, of n ranks */
             BUSBW_TWICE, /* 2(n-1)/n */
             BUSBW_ONCE,  /* (n-1)/n */
             BUSBW_PLAIN  /* 1 */
};

static const struct {
    const char *name;
    const char *also[4]; /* other spellings, squeezed (lower case, letters only), NULL-ended */
    enum busbw busbw;
    bool reduces, rooted, in_place, divided;
} collectives[COLL_NR] = {
    [COLL_ALLREDUCE] = {"allreduce", {"allreduce"}, BUSBW_TWICE, true, false, true, false},
    [COLL_REDUCE_SCATTER] = {"reduce-scatter",
                             {"reducescatter", "reducescatterblock"},
                             BUSBW_ONCE,
                             true,
                             false,
                             true,
                             true},
    [COLL_ALL_GATHER] = {"all-gather", {"allgather"}, BUSBW_ONCE, false, false, true, true},
    [COLL_BROADCAST] = {"broadcast", {"broadcast", "bcast"}, BUSBW_PLAIN, false, true, true, false},
    [COLL_REDUCE] = {"reduce", {"reduce"}, BUSBW_PLAIN, true, true, true, false},
    [COLL_ALL_TO_ALL] = {"all-to-all", {"alltoall"}, BUSBW_ONCE, false, false, false, true},
    [COLL_GATHER] = {"gather", {"gather"}, BUSBW_ONCE, false, true, true, true},
    [COLL_SCATTER] = {"scatter", {"scatter"}, BUSBW_ONCE, false, true, true, true},
    [COLL_SEND_RECV] = {"send-recv", {"sendrecv"}, BUSBW_PLAIN, false, false, false, false},
};

const char *coll_name(enum collective collective)
{
    return collectives[collective].name;
}

/* "MPI_Reduce_scatter_block" -> "reducescatterblock": spellings differ in case, separators, the
 * prefix "mpi" and nccl-tests' suffix "perf" only. */
static void squeeze(const char *text, char *out, size_t capacity)
{
    size_t nr = 0;
    for (; *text && nr + 1 < capacity; text++) {
        if (isalpha((unsigned char)*text)) {
            out[nr++] = (char)tolower((unsigned char)*text);
        } else if (!strchr("_- ", *text)) {
            out[nr++] = *text;
        }
    }
    out[nr] = 0;
    if (nr >= 3 && !memcmp(out, "mpi", 3)) {
        memmove(out, out + 3, nr - 2);
        nr -= 3;
    }
    if (nr > 4 && !strcmp(out + nr - 4, "perf")) {
        out[nr - 4] = 0;
    }
}

int coll_parse(const char *text, enum collective *collective, struct error *error)
{
    char wanted[64];
    const char *names[COLL_NR + 1] = {NULL};
    squeeze(text, wanted, sizeof wanted);
    for (int c = 0; c < COLL_NR; c++) {
        names[c] = collectives[c].name;
        for (int i = 0; i < 4 && collectives[c].also[i]; i++) {
            if (!strcmp(wanted, collectives[c].also[i])) {
                *collective = (enum collective)c;
                return 0;
            }
        }
    }
    const char *near = error_nearest(text, names);
    if (near) {
        return error_set(error, EXIT_INPUT, "unknown collective '%s': did you mean '%s'?", text,
                         near);
    }
    return error_set(error, EXIT_INPUT,
                     "unknown collective '%s': expected allreduce, reduce-scatter, all-gather, "
                     "broadcast, reduce, all-to-all, gather, scatter or send-recv",
                     text);
}

double coll_busbw_factor(enum collective collective, uint32_t ranks)
{
    double n = ranks;
    switch (collectives[collective].busbw) {
    case BUSBW_TWICE:
        return 2 * (n - 1) / n;
    case BUSBW_ONCE:
        return (n - 1) / n;
    case BUSBW_PLAIN:
        break;
    }
    return 1;
}

bool coll_reduces(enum collective collective)
{
    return collectives[collective].reduces;
}

bool coll_rooted(enum collective collective)
{
    return collectives[collective].rooted;
}

bool coll_in_place(enum collective collective)
{
    return collectives[collective].in_place;
}

bool coll_divided(enum collective collective)
{
    return collectives[collective].divided;
}

uint64_t coll_count(enum collective collective, uint64_t bytes, uint32_t element_bytes,
                    uint32_t ranks)
{
    uint64_t count = bytes / element_bytes;
    return collectives[collective].divided ? count / ranks : count;
}

uint64_t coll_bytes(enum collective collective, uint64_t count, uint32_t element_bytes,
                    uint32_t ranks)
{
    return count * element_bytes * (collectives[collective].divided ? ranks : 1);
}
