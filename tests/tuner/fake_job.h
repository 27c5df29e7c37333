/* fake_job.h - a job without MPI that speaks the supervisor's protocol and misbehaves as told.
 *
 * A test program starts itself again as the job: the launcher is `env` with a few variables, the
 * program this one. How the job starts is in FAKE_START, what it does with a trial is the value of
 * the trial's setting DO; what is to happen once only leaves a file in the directory FAKE_STATE.
 */
#ifndef CCLTUNE_TESTS_FAKE_JOB_H
#define CCLTUNE_TESTS_FAKE_JOB_H

#include "oracle.h"
#include "supervisor.h"
#include "wire.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake_job {
    struct wire wire;
    char settings[512]; /* the words after each --set */
    size_t beats;       /* heard from the supervisor */
};

/* True the first time it is asked for `what`, whichever process asks. */
static inline bool fake_first_time(const char *what)
{
    char path[4400];
    snprintf(path, sizeof path, "%s/%s", getenv("FAKE_STATE"), what);
    int descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (descriptor >= 0) {
        close(descriptor);
    }
    return descriptor >= 0;
}

static inline void fake_say_integer(struct fake_job *job, const char *key, int64_t value)
{
    struct json *message = json_make_object();
    json_put_integer(message, key, value);
    wire_send(&job->wire, message);
}

static inline void fake_say_error(struct fake_job *job, const char *text, int status)
{
    struct json *message = json_make_object();
    json_put_text(message, "error", text);
    json_put_integer(message, "status", status);
    wire_send(&job->wire, message);
}

/* Busy without progress; beats all the while. */
static inline void fake_be_slow(struct fake_job *job, double seconds)
{
    double end = wire_now() + seconds;
    while (wire_now() < end) {
        struct error error = ERROR_NONE;
        struct json *message;
        if (wire_receive(&job->wire, 0.2, &message, &error) == 1) {
            job->beats += json_get(message, "beat") != NULL;
            json_free(message);
        }
        fake_say_integer(job, "beat", 1);
    }
}

_Noreturn static inline void fake_hang(void)
{
    for (;;) {
        pause();
    }
}

static inline void fake_crash(void)
{
    printf("about to crash\n");
    fflush(stdout);
    raise(SIGKILL);
}

/* Deeds that end this process, hold it, or delay it; the others are answered. */
static inline void fake_do_before(struct fake_job *job, const char *deed)
{
    if (!strcmp(deed, "crash") || (!strcmp(deed, "crash-once") && fake_first_time(deed))) {
        fake_crash();
    } else if (!strcmp(deed, "exit")) {
        exit(7);
    } else if (!strcmp(deed, "hang") || (!strcmp(deed, "silent-once") && fake_first_time(deed))) {
        fake_hang();
    } else if (!strcmp(deed, "slow")) {
        fake_be_slow(job, 1.5);
    } else if (!strcmp(deed, "error")) {
        fake_say_error(job, "the fake job cannot go on", EXIT_WRONG);
    } else if (!strcmp(deed, "garbage")) {
        ssize_t ignored = write(job->wire.fd, "garbage\n", 8);
        (void)ignored;
        fake_hang();
    } else if (!strcmp(deed, "far-running")) {
        fake_say_integer(job, "running", 99);
    }
}

static inline void fake_answer(struct fake_job *job, size_t index, const struct trial *trial)
{
    static const char *const kinds[] = {"samples", "hung", "crashed", "wrong", "refused"};
    const char *deed = trial->candidate.nr_settings ? trial->candidate.settings[0].value : "";
    struct arena arena = ARENA_EMPTY;
    double *samples = arena_alloc(&arena, trial->samples + 1, sizeof *samples);
    struct outcome outcome = {.samples = samples, .nr = trial->samples, .canary = 1e-5, .cost = 1};
    for (size_t i = 0; i < trial->samples; i++) {
        samples[i] = 1e-6 * (double)trial->key.bytes + 1e-9 * (double)i;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (!strcmp(deed, kinds[k])) {
            outcome.kind = (enum outcome_kind)k;
            outcome.nr = k ? 0 : outcome.nr;
        }
    }
    outcome.detail =
        arena_printf(&arena, "pid %d beats %zu%s", (int)getpid(), job->beats, job->settings);
    struct json *message = json_make_object();
    json_put_integer(message, "outcome_of",
                     strcmp(deed, "far-outcome") ? (int64_t)index : INT64_C(-5));
    outcome_to_json(&outcome, message);
    wire_send(&job->wire, message);
    arena_release(&arena);
}

static inline void fake_work(struct fake_job *job, const struct json *batch)
{
    bool quiet = strstr(getenv("FAKE_START"), "quiet") != NULL; /* all trials run together */
    for (size_t i = 0; i < json_length(batch); i++) {
        struct arena arena = ARENA_EMPTY;
        struct error error = ERROR_NONE;
        struct trial trial;
        if (trial_from_json(json_item(batch, i), &arena, &trial, &error)) {
            fake_say_error(job, error.message, EXIT_SYSTEM);
            exit(1);
        }
        const char *deed = trial.candidate.nr_settings ? trial.candidate.settings[0].value : "";
        fake_say_integer(job, "running", quiet ? -1 : (int64_t)i);
        fake_do_before(job, deed);
        if (strcmp(deed, "leave-out")) {
            fake_answer(job, i, &trial);
        }
        arena_release(&arena);
    }
    struct json *done = json_make_object();
    json_put_bool(done, "done", true);
    wire_send(&job->wire, done);
}

static inline void fake_greet(struct fake_job *job, const char *how)
{
    struct json *message = json_make_object(), *hello = json_make_object();
    if (strstr(how, "error")) {
        json_free(message);
        json_free(hello);
        fake_say_error(job, "this library is not here", EXIT_ABSENT);
        exit(EXIT_ABSENT);
    }
    json_put_integer(hello, "pid", getpid());
    json_put(message, strstr(how, "rude") ? "nonsense" : "hello", hello);
    wire_send(&job->wire, message);
}

/* What comes before the hello. */
static inline void fake_begin(const char *how)
{
    if (strstr(how, "die-always") || (strstr(how, "die-once") && fake_first_time("die-once"))) {
        printf("cannot find the network\n");
        exit(3);
    }
}

static inline int fake_job(int argc, char **argv)
{
    struct fake_job job = {.wire = WIRE_CLOSED};
    struct error error = ERROR_NONE;
    const char *how = getenv("FAKE_START"), *report_to = "";
    for (int i = 2; i + 1 < argc; i++) {
        if (!strcmp(argv[i], "--report-to")) {
            report_to = argv[i + 1];
        } else if (!strcmp(argv[i], "--set")) {
            size_t length = strlen(job.settings);
            snprintf(job.settings + length, sizeof job.settings - length, " %s", argv[i + 1]);
        }
    }
    fake_begin(how);
    if (wire_dial(report_to, &job.wire, &error)) {
        return 1;
    }
    if (strstr(how, "hang-up")) {
        return 4;
    }
    fake_greet(&job, how);
    for (;;) {
        struct json *message;
        if (wire_receive(&job.wire, 30, &message, &error) != 1) {
            return 1;
        }
        if (json_get(message, "batch")) {
            fake_work(&job, json_get(message, "batch"));
        }
        bool bye = json_get(message, "bye") != NULL;
        json_free(message);
        if (bye) {
            fake_first_time("said-bye");
            wire_close(&job.wire);
            return 0;
        }
    }
}

#endif
