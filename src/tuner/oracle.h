/* oracle.h - whoever answers "how long does this take": a formula, a simulation, this job, another
 * library, a whole training command. The tuner knows only this page.
 */
#ifndef CCLTUNE_ORACLE_H
#define CCLTUNE_ORACLE_H

#include "arena.h"
#include "candidate.h"
#include "decision.h"
#include "error.h"

#include <stddef.h>
#include <stdint.h>

/* One thing to find out. Trials of one batch that share a key are interleaved, sample by sample, in
 * random order. Trials with the same launch number share a process; their settings of scope
 * process must agree. */
struct trial {
    struct candidate candidate;
    struct key key;
    uint32_t launch;  /* which fresh launch; 0 = the standing job */
    uint32_t round;   /* tells repeats of one trial in one launch apart */
    uint32_t samples; /* how many are wanted */
};

enum outcome_kind {
    OUTCOME_SAMPLES, /* measured (or predicted): samples */
    OUTCOME_HUNG,    /* no answer within the time-out */
    OUTCOME_CRASHED, /* the job died while it ran, twice */
    OUTCOME_WRONG,   /* the collective's result was wrong: disqualified, however fast */
    OUTCOME_REFUSED  /* cannot be asked here: `detail` says why */
};

struct outcome {
    enum outcome_kind kind;
    double *samples; /* seconds, in the order taken; belongs to the arena of the batch */
    size_t nr;
    double canary;      /* seconds of a fixed small exchange in the same launch; NaN = none */
    double cost;        /* seconds of the whole cluster that it took */
    const char *detail; /* for people; "" if there is nothing to say */
};

struct oracle {
    const char *name;
    enum evidence evidence;
    double noise; /* relative spread of one sample, a guess to start from */
    /* seconds: one more sample costs its own time and this; a new communicator; a new launch */
    double price_call, price_communicator, price_launch;

    /* Answers a batch: outcomes[i] belongs to trials[i], samples to `arena`. A trial that goes
     * wrong is an outcome; -1 is for what ends the run (no launcher, interrupted: EXIT_STOPPED,
     * disk full). Outcomes are then undefined, but whatever was measured is kept by who keeps
     * (journal). */
    int (*run)(struct oracle *oracle, const struct trial *trials, size_t nr, struct arena *arena,
               struct outcome *outcomes, struct error *error);
    /* Ends jobs, closes files; the oracle is unusable afterwards. */
    void (*close)(struct oracle *oracle);
    void *state;
};

const char *outcome_name(enum outcome_kind kind);

/* JSON forms, for journal and wire. */
struct json *trial_to_json(const struct trial *trial);
int trial_from_json(const struct json *json, struct arena *arena, struct trial *trial,
                    struct error *error);
void outcome_to_json(const struct outcome *outcome, struct json *object);
int outcome_from_json(const struct json *json, struct arena *arena, struct outcome *outcome,
                      struct error *error);

/* Same candidate, key, launch and round (the number of samples does not count)? */
bool trial_same(const struct trial *a, const struct trial *b);

#endif
