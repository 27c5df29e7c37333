/* supervisor.h - the oracle that launches jobs: `mpiexec -n 8 ccltune-mpi job`, watches them,
 * restarts them after a hang or a crash, and never leaves one behind.
 *
 * No MPI here. Rank 0 of the job opens a connection back (wire.h) and gets batches of trials over
 * it. Messages, one JSON object a line:
 *
 *   job -> supervisor   {"hello": {...}}              library, ranks, hosts, topology
 *                       {"running": i}                trial i of the batch runs alone; -1: all do
 *                       {"outcome_of": i, ...}        with outcome_to_json
 *                       {"done": true}                the batch is answered
 *                       {"error": text, "status": n}  the job cannot go on, and says why
 *                       {"beat": true}                each second
 *   supervisor -> job   {"batch": [trials], "seed": n}, {"bye": true}, {"beat": true}
 */
#ifndef CCLTUNE_SUPERVISOR_H
#define CCLTUNE_SUPERVISOR_H

#include "oracle.h"

#include <signal.h>
#include <stdbool.h>

struct supervisor_options {
    const char *launch;  /* "mpiexec -n 8" */
    const char *program; /* path of ccltune-mpi */
    const char *library; /* "mpich": which runner the job opens */
    double timeout;      /* seconds without progress before a job counts as hung */
    uint64_t seed;
    const volatile sig_atomic_t *stop;             /* not 0: the user wants to stop; may be NULL */
    void (*note)(void *context, const char *text); /* restarts and the like; may be NULL */
    void *note_context;
};

struct supervisor; /* opaque */

/* Starts nothing yet. Options are copied, texts borrowed. */
int supervisor_open(const struct supervisor_options *options, struct supervisor **supervisor,
                    struct error *error);

/* What the standing job (launch 0, started if need be) said of itself; borrowed, valid until
 * supervisor_close. */
int supervisor_hello(struct supervisor *supervisor, const struct json **hello, struct error *error);

/* Its oracle. All trials of one run() must have the same launch number; another number ends the job
 * and starts a fresh one with the trials' settings of scope process. */
struct oracle supervisor_oracle(struct supervisor *supervisor);

/* Ends the job (politely if it listens) and frees everything; NULL is fine. */
void supervisor_close(struct supervisor *supervisor);

/* Jobs started so far. */
unsigned supervisor_launches(const struct supervisor *supervisor);

#endif
