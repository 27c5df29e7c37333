/* cmd_job.c - the launched side: rank 0 dials the supervisor, all ranks measure what it asks.
 *
 * The connection is the lease. A thread of rank 0, not the measuring one, reads and beats; when the
 * supervisor is gone or silent it ends the process, and the launcher (or the watching threads of
 * the other ranks) ends the rest. So nothing outlives a supervisor that was killed.
 */
#include "commands.h"
#include "job_work.h"
#include "option.h"
#include "wire.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct job_options {
    const char *report_to, *library;
    struct option_list settings;
};

static const struct option_row rows[] = {
    {0, "report-to", OPTION_TEXT, "HOST/ADDRESS:PORT:TOKEN", "where the supervisor listens",
     offsetof(struct job_options, report_to), NULL},
    {0, "library", OPTION_TEXT, "NAME", "whose collectives are run",
     offsetof(struct job_options, library), "mpich"},
    {0, "set", OPTION_LIST, "NAME=VALUE", "put into the environment before MPI starts",
     offsetof(struct job_options, settings), NULL},
    {0},
};

static const struct option_command page = {
    "job", "--report-to HOST/ADDRESS:PORT:TOKEN [options]",
    "The launched side of tune and verify; they start it, nobody else needs to.", NULL, rows};

struct lease { /* between the thread that holds the connection and the one that measures */
    struct exec *exec;
    struct wire wire;
    pthread_mutex_t lock; /* of everything below, and of sending */
    pthread_cond_t arrived;
    struct json *message; /* the next batch or bye; NULL = none yet */
};

static void send_locked(struct lease *lease, struct json *message)
{
    pthread_mutex_lock(&lease->lock);
    int failed = wire_send(&lease->wire, message);
    pthread_mutex_unlock(&lease->lock);
    if (failed) {
        exec_die(EXIT_SYSTEM);
    }
}

static void *hold_lease(void *argument)
{
    struct lease *lease = argument;
    double heard = wire_now(), beat = 0;
    for (;;) {
        struct error error = ERROR_NONE;
        struct json *message;
        int got = wire_receive(&lease->wire, WIRE_BEAT_SECONDS / 4, &message, &error);
        double now = wire_now();
        if (got < 0 || now - heard > WIRE_SILENCE_SECONDS) {
            exec_die(EXIT_SYSTEM);
        }
        if (now - beat >= WIRE_BEAT_SECONDS) {
            struct json *ours = json_make_object();
            json_put_bool(ours, "beat", true);
            send_locked(lease, ours);
            exec_beat(lease->exec);
            beat = now;
        }
        if (got == 0) {
            continue;
        }
        heard = now;
        if (json_get(message, "beat")) {
            json_free(message);
            continue;
        }
        bool bye = json_get(message, "bye") != NULL;
        pthread_mutex_lock(&lease->lock);
        lease->message = message;
        pthread_cond_signal(&lease->arrived);
        pthread_mutex_unlock(&lease->lock);
        if (bye) {
            return NULL;
        }
    }
}

static struct json *next_message(struct lease *lease)
{
    pthread_mutex_lock(&lease->lock);
    while (!lease->message) {
        pthread_cond_wait(&lease->arrived, &lease->lock);
    }
    struct json *message = lease->message;
    lease->message = NULL;
    pthread_mutex_unlock(&lease->lock);
    return message;
}

static void send_running(void *context, int64_t trial)
{
    struct json *message = json_make_object();
    json_put_integer(message, "running", trial);
    send_locked(context, message);
}

static void send_outcome(void *context, size_t trial, const struct outcome *outcome)
{
    struct json *message = json_make_object();
    json_put_integer(message, "outcome_of", (int64_t)trial);
    outcome_to_json(outcome, message);
    send_locked(context, message);
}

static void send_error(struct lease *lease, const struct error *error)
{
    struct json *message = json_make_object();
    json_put_text(message, "error", error->message);
    json_put_integer(message, "status", error->status);
    send_locked(lease, message);
}

/* Rank 0: batches until bye. */
static int serve(struct exec *exec, struct lease *lease, struct error *error)
{
    const struct job_listener listener = {send_running, send_outcome, lease};
    for (;;) {
        struct json *message = next_message(lease);
        if (json_get(message, "bye")) {
            json_free(message);
            job_dismiss(exec);
            return 0;
        }
        char *text = json_to_text(message, 0);
        json_free(message);
        int failed = job_work(exec, text, &listener, error);
        free(text);
        if (failed) {
            send_error(lease, error);
            return -1;
        }
        struct json *done = json_make_object();
        json_put_bool(done, "done", true);
        send_locked(lease, done);
    }
}

static int put_settings(const struct option_list *settings, struct error *error)
{
    for (size_t i = 0; i < settings->nr; i++) {
        const char *text = settings->items[i], *equals = strchr(text, '=');
        char *name = equals ? strndup(text, (size_t)(equals - text)) : NULL;
        if (!name || setenv(name, equals + 1, 1)) {
            free(name);
            return error_set(error, EXIT_INPUT, "--set %s: expected NAME=VALUE", text);
        }
        free(name);
    }
    return 0;
}

static int start_lease(struct lease *lease, struct error *error)
{
    pthread_t thread;
    pthread_mutex_init(&lease->lock, NULL);
    pthread_cond_init(&lease->arrived, NULL);
    int code = pthread_create(&thread, NULL, hold_lease, lease);
    if (code) {
        return error_errno(error, code, "starting the thread that holds the lease");
    }
    pthread_detach(thread);
    return 0;
}

static int live(struct exec *exec, const struct job_options *options, struct error *error)
{
    static struct lease lease; /* outlives this function: its thread may still look at it */
    bool first = exec_place(exec).rank == 0;
    lease.exec = exec;
    int failed =
        first ? wire_dial(options->report_to, &lease.wire, error) || start_lease(&lease, error)
              : exec_watch(exec, WIRE_SILENCE_SECONDS, error);
    if (exec_agree(exec, failed, error)) {
        return -1;
    }
    failed = exec_open_library(exec, options->library, error);
    struct json *hello = failed ? NULL : job_hello(exec, error);
    failed = failed || (first && !hello);
    if (exec_agree(exec, failed, error)) {
        if (first) {
            send_error(&lease, error);
        }
        json_free(hello);
        return -1;
    }
    if (!first) {
        return job_follow(exec, error);
    }
    struct json *message = json_make_object();
    json_put(message, "hello", hello);
    send_locked(&lease, message);
    return serve(exec, &lease, error);
}

/* MPI did not start as it should (another MPI's launcher): rank 0 tells the supervisor why. */
static void report_no_start(const struct job_options *options, const struct error *error)
{
    struct lease lease = {.wire = WIRE_CLOSED, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct error ignored = ERROR_NONE;
    if (command_launched_first() && wire_dial(options->report_to, &lease.wire, &ignored) == 0) {
        send_error(&lease, error);
        wire_close(&lease.wire);
    }
}

int cmd_job(int argc, char **argv, struct error *error)
{
    struct job_options options;
    struct exec *exec;
    bool help;
    int left;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever launched this rank on this host died: follow */
    if (option_parse(&page, argc, argv, &options, &left, &help, error)) {
        return (int)error->status;
    }
    if (help) {
        option_print_help(&page, stdout);
        return EXIT_OK;
    }
    if (!options.report_to) {
        error_set(error, EXIT_INPUT, "--report-to is missing; this command is started by tune");
        return EXIT_INPUT;
    }
    if (put_settings(&options.settings, error) || job_check_selection(error) ||
        exec_start(&argc, &argv, &exec, error)) {
        report_no_start(&options, error);
        return (int)error->status;
    }
    if (live(exec, &options, error)) {
        exec_die((int)error->status); /* MPI may be in any state */
    }
    free(options.settings.items);
    exec_stop(exec);
    return EXIT_OK;
}
