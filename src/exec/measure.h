/* measure.h - times of collectives on real ranks, candidates interleaved, results checked.
 *
 * One sample = the median over a small block of calls, each call's time being the maximum over all
 * ranks of all groups that run at once, started together by exec_barrier on freshly written inputs.
 * (Clean inputs flatter algorithms that read a peer's memory up to four times.) Blocks of the
 * candidates alternate in random order, so that drift and neighbours hit all alike.
 */
#ifndef CCLTUNE_MEASURE_H
#define CCLTUNE_MEASURE_H

#include "arena.h"
#include "candidate.h"
#include "datatype.h"
#include "exec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct measure_request {
    const struct key *key;
    const struct candidate *candidates;
    size_t nr;
    const unsigned *samples; /* wanted, per candidate */
    enum datatype datatype;
    enum reduction reduction;
    uint32_t root; /* rank in the group */
    bool in_place; /* time it in place (results are checked both ways, where both work) */
    bool check;
    bool every_call; /* every call is a sample, one after the other: no candidates alternate */
    unsigned warmup; /* calls before the first block of each candidate, not timed */
    uint64_t seed;   /* of data and order; the same on all ranks */
    /* Called on every rank before candidate i runs alone, and with -1 before all alternate. */
    void (*running)(void *context, int64_t index);
    void *context;
};

enum measure_verdict { MEASURE_OK, MEASURE_WRONG, MEASURE_REFUSED };

struct measure_answer {
    enum measure_verdict verdict;
    const char *detail; /* arena-owned; "" when ok */
    double *samples;    /* seconds; arena-owned, the same on all ranks */
    size_t nr;
    uint64_t wrong; /* elements, over all ranks, out of place or in place */
    double cost;    /* seconds spent on this candidate */
};

/* Collective over all ranks of the job, also those outside the group. -1 only when MPI itself
 * failed or the key does not fit the job. */
int measure_run(struct exec *exec, const struct measure_request *request, struct arena *arena,
                struct measure_answer *answers, struct error *error);

/* Median seconds of a small fixed exchange between the first and the last rank, which no setting
 * under test touches: the canary of a launch. Collective. */
double measure_canary(struct exec *exec);

#endif
