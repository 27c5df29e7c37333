/* job_work.h - what all ranks of a job do with a batch of trials. */
#ifndef CCLTUNE_JOB_WORK_H
#define CCLTUNE_JOB_WORK_H

#include "exec.h"
#include "oracle.h"

struct job_listener {                              /* told on rank 0 only; any may be NULL */
    void (*running)(void *context, int64_t trial); /* index in the batch; -1: they alternate */
    void (*outcome)(void *context, size_t trial, const struct outcome *outcome);
    void *context;
};

/* Reads {"batch": [...], "seed": n} (rank 0's text; ignored elsewhere) and measures it on all
 * ranks, trials that share a key interleaved. Collective: every rank must be in job_work or
 * job_follow. */
int job_work(struct exec *exec, const char *batch, const struct job_listener *listener,
             struct error *error);

/* The life of ranks other than 0: work until rank 0 says job_dismiss. */
int job_follow(struct exec *exec, struct error *error);
void job_dismiss(struct exec *exec);

/* Before MPI starts: MPICH crashes of a selection file that is missing or broken. */
int job_check_selection(struct error *error);

/* After MPI started: MPICH makes standard output unbuffered, and a launcher that prefixes lines
 * prefixes every piece. Whole lines go out again. */
void job_buffer_lines(void);

/* What the job says of itself, on rank 0 (NULL elsewhere): library with its selection tree, ranks,
 * hosts, topology. Collective. Free with json_free. */
struct json *job_hello(struct exec *exec, struct error *error);

#endif
