/* supervisor.c - the life of jobs: start, feed, watch, blame, restart. */
#include "supervisor.h"

#include "launch.h"
#include "wire.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELLO_SECONDS  60.0 /* a launch through a batch system may take its time */
#define LAUNCH_TRIES   3    /* in a row without a hello */
#define DEATHS_ALLOWED 1    /* running at one more death: quarantined */

struct supervisor {
    struct supervisor_options options;
    struct arena arena;
    int listen_fd, port;
    struct launch launch;
    struct wire link;
    bool up;                      /* a job stands and has said hello */
    uint32_t number;              /* its launch number */
    double heard, beat, progress; /* times of the last message, our last beat, the last step */
    struct json *hello;           /* of the newest job */
    struct json *first_hello;
    double startup; /* seconds from launch to hello of the newest job */
    unsigned launches;
};

/* What a wait for the job's next message can end with. */
enum event { EVENT_MESSAGE, EVENT_DEATH, EVENT_SILENCE, EVENT_STOPPED };

static void note(struct supervisor *supervisor, const char *text)
{
    if (supervisor->options.note) {
        supervisor->options.note(supervisor->options.note_context, text);
    }
}

static bool stop_wanted(const struct supervisor *supervisor)
{
    return supervisor->options.stop && *supervisor->options.stop;
}

int supervisor_open(const struct supervisor_options *options, struct supervisor **supervisor,
                    struct error *error)
{
    struct supervisor *made = calloc(1, sizeof *made);
    if (!made) {
        abort();
    }
    made->options = *options;
    made->link = WIRE_CLOSED;
    made->launch.output_fd = -1;
    made->listen_fd = -1;
    if (wire_listen(&made->listen_fd, &made->port, error)) {
        free(made);
        return -1;
    }
    *supervisor = made;
    return 0;
}

static void end_job(struct supervisor *supervisor, double grace)
{
    struct json *bye = json_make_object();
    json_put_bool(bye, "bye", true);
    if (wire_send(&supervisor->link, bye) == 0) {
        double deadline = wire_now() + grace;
        while (!supervisor->launch.ended && wire_now() < deadline) {
            launch_poll(&supervisor->launch);
            usleep(2000);
        }
    }
    wire_close(&supervisor->link);
    launch_stop(&supervisor->launch, 2);
    supervisor->up = false;
}

/* Waits for the next message that is not a beat. `patience`: seconds without progress that are
 * taken for a hang. */
static enum event wait_message(struct supervisor *supervisor, double patience,
                               struct json **message)
{
    for (;;) {
        struct error ignored = ERROR_NONE;
        double now = wire_now();
        if (stop_wanted(supervisor)) {
            return EVENT_STOPPED;
        }
        if (now - supervisor->beat >= WIRE_BEAT_SECONDS) {
            struct json *beat = json_make_object();
            json_put_bool(beat, "beat", true);
            supervisor->beat = now;
            if (wire_send(&supervisor->link, beat)) {
                return EVENT_DEATH;
            }
        }
        launch_poll(&supervisor->launch);
        int got = wire_receive(&supervisor->link, 0.25, message, &ignored);
        if (got < 0) {
            return EVENT_DEATH;
        }
        now = wire_now();
        if (got > 0) {
            supervisor->heard = now;
            if (!json_get(*message, "beat")) {
                supervisor->progress = now;
                return EVENT_MESSAGE;
            }
            json_free(*message);
        } else if (supervisor->launch.ended) {
            return EVENT_DEATH;
        }
        if (now - supervisor->heard > WIRE_SILENCE_SECONDS ||
            now - supervisor->progress > patience) {
            return EVENT_SILENCE;
        }
    }
}

/* The command line of a job: launcher, program, and the settings its ranks put into their
 * environment before MPI starts. */
static int job_words(struct supervisor *supervisor, const char *address,
                     const struct candidate *settings, struct arena *arena, char ***words,
                     struct error *error)
{
    char **launcher;
    size_t nr;
    if (launch_split(supervisor->options.launch, arena, &launcher, &nr, error)) {
        return -1;
    }
    char **list = arena_alloc(arena, nr + 10 + 2 * settings->nr_settings, sizeof *list);
    memcpy(list, launcher, nr * sizeof *list);
    const char *own[] = {supervisor->options.program, "job", "--report-to", address, "--library",
                         supervisor->options.library};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        list[nr++] = arena_strdup(arena, own[i]);
    }
    for (size_t i = 0; i < settings->nr_settings; i++) {
        const struct setting *s = &settings->settings[i];
        if (s->scope == SCOPE_PROCESS) {
            list[nr++] = arena_strdup(arena, "--set");
            list[nr++] = arena_printf(arena, "%s=%s", s->name, s->value);
        }
    }
    *words = list;
    return 0;
}

static int fail_start(struct supervisor *supervisor, const char *what, struct error *error)
{
    struct arena arena = ARENA_EMPTY;
    launch_poll(&supervisor->launch);
    const char *end = launch_describe_end(&supervisor->launch, &arena);
    const char *tail = supervisor->launch.tail;
    size_t length = strlen(tail);
    error_set(error, EXIT_SYSTEM, "'%s' %s before the job reported (%s)%s%s",
              supervisor->options.launch, end, what, length ? "; it printed:\n" : "",
              length > 700 ? tail + length - 700 : tail);
    arena_release(&arena);
    return -1;
}

/* Once a job has started, others of its kind take about as long. */
static double hello_patience(const struct supervisor *supervisor)
{
    double usual = fmax(supervisor->options.timeout, 20 * supervisor->startup);
    return supervisor->first_hello ? fmin(usual, HELLO_SECONDS) : HELLO_SECONDS;
}

static int await_connection(struct supervisor *supervisor, const char *token, struct error *error)
{
    double deadline = wire_now() + hello_patience(supervisor);
    while (wire_now() < deadline) {
        if (stop_wanted(supervisor)) {
            return error_set(error, EXIT_STOPPED, "stopped");
        }
        int got = wire_accept(supervisor->listen_fd, token, &supervisor->link, error);
        if (got) {
            return got < 0 ? -1 : 0;
        }
        launch_poll(&supervisor->launch);
        if (supervisor->launch.ended) {
            return fail_start(supervisor, "it ended", error);
        }
        usleep(1000);
    }
    return fail_start(supervisor, "nothing was heard in time", error);
}

static int await_hello(struct supervisor *supervisor, struct error *error)
{
    struct json *message;
    supervisor->heard = supervisor->beat = supervisor->progress = wire_now();
    switch (wait_message(supervisor, hello_patience(supervisor), &message)) {
    case EVENT_MESSAGE:
        break;
    case EVENT_STOPPED:
        return error_set(error, EXIT_STOPPED, "stopped");
    case EVENT_DEATH:
        usleep(100000); /* let the launcher say why */
        return fail_start(supervisor, "the connection broke", error);
    case EVENT_SILENCE:
        return fail_start(supervisor, "it fell silent", error);
    }
    const char *text = json_get_text(message, "error", NULL);
    if (text) {
        error_set(error, (enum exit_status)json_get_integer(message, "status", EXIT_SYSTEM), "%s",
                  text);
        json_free(message);
        return -1;
    }
    if (!json_is_object(json_get(message, "hello"))) {
        json_free(message);
        return fail_start(supervisor, "what it said first is no hello", error);
    }
    json_free(supervisor->hello);
    supervisor->hello = json_make_copy(json_get(message, "hello"));
    json_free(message);
    if (!supervisor->first_hello) {
        supervisor->first_hello = json_make_copy(supervisor->hello);
    }
    return 0;
}

static int start_once(struct supervisor *supervisor, uint32_t number,
                      const struct candidate *settings, struct error *error)
{
    char token[33];
    char **words;
    struct arena arena = ARENA_EMPTY;
    if (wire_make_token(token, error)) {
        return -1;
    }
    char *address = wire_address(supervisor->port, token);
    double begin = wire_now();
    int failed = job_words(supervisor, address, settings, &arena, &words, error) ||
                 launch_start(words, &supervisor->launch, error);
    free(address);
    arena_release(&arena);
    if (failed) {
        return -1;
    }
    supervisor->launches++;
    if (await_connection(supervisor, token, error) || await_hello(supervisor, error)) {
        wire_close(&supervisor->link);
        launch_stop(&supervisor->launch, 2);
        return -1;
    }
    supervisor->startup = wire_now() - begin;
    supervisor->number = number;
    supervisor->up = true;
    return 0;
}

/* A start may fail by bad luck (a killed rank); a job that says itself why is believed at once. */
static int start_job(struct supervisor *supervisor, uint32_t number,
                     const struct candidate *settings, struct error *error)
{
    for (int tries = 1;; tries++) {
        struct error failure = ERROR_NONE;
        if (start_once(supervisor, number, settings, &failure) == 0) {
            return 0;
        }
        if (tries == LAUNCH_TRIES || failure.status != EXIT_SYSTEM) {
            *error = failure;
            return -1;
        }
        note(supervisor, failure.message);
        usleep(200000);
    }
}

static int ensure_job(struct supervisor *supervisor, uint32_t number,
                      const struct candidate *settings, struct error *error)
{
    if (supervisor->up) {
        launch_poll(&supervisor->launch);
        if (supervisor->number == number && !supervisor->launch.ended) {
            return 0;
        }
        end_job(supervisor, 5);
    }
    return start_job(supervisor, number, settings, error);
}

int supervisor_hello(struct supervisor *supervisor, const struct json **hello, struct error *error)
{
    if (!supervisor->first_hello && ensure_job(supervisor, 0, &candidate_default, error)) {
        return -1;
    }
    *hello = supervisor->first_hello;
    return 0;
}

struct batch { /* one run() in progress */
    const struct trial *trials;
    struct outcome *outcomes;
    size_t nr;
    bool *answered;
    unsigned *deaths;
    size_t *sent; /* indices into trials of what was sent last */
    size_t nr_sent;
    int64_t running; /* index into sent, -1: all of them */
    struct arena *arena;
};

/* Those never suspected go together; a suspect goes alone. */
static void choose_next(struct batch *batch)
{
    batch->nr_sent = 0;
    for (size_t i = 0; i < batch->nr; i++) {
        if (!batch->answered[i] && batch->deaths[i] == 0) {
            batch->sent[batch->nr_sent++] = i;
        }
    }
    for (size_t i = 0; i < batch->nr && batch->nr_sent == 0; i++) {
        if (!batch->answered[i]) {
            batch->sent[batch->nr_sent++] = i;
        }
    }
}

static int send_batch(struct supervisor *supervisor, struct batch *batch)
{
    struct json *message = json_make_object(), *list = json_make_array();
    for (size_t i = 0; i < batch->nr_sent; i++) {
        json_append(list, trial_to_json(&batch->trials[batch->sent[i]]));
    }
    json_put(message, "batch", list);
    json_put_integer(message, "seed", (int64_t)(supervisor->options.seed >> 1));
    batch->running = -1;
    supervisor->progress = supervisor->heard = wire_now();
    return wire_send(&supervisor->link, message);
}

/* Whoever was running when the job died is a suspect, and quarantined the second time. */
static void blame(struct batch *batch, enum outcome_kind kind, const char *detail)
{
    for (size_t i = 0; i < batch->nr_sent; i++) {
        size_t t = batch->sent[i];
        if (batch->answered[t] || (batch->running >= 0 && (size_t)batch->running != i)) {
            continue;
        }
        if (batch->deaths[t]++ >= DEATHS_ALLOWED) {
            batch->outcomes[t] = (struct outcome){
                .kind = kind, .canary = NAN, .detail = arena_strdup(batch->arena, detail)};
            batch->answered[t] = true;
        }
    }
}

/* A job that leaves trials out would be asked for them for ever. */
static int check_done(const struct batch *batch, struct error *error)
{
    for (size_t i = 0; i < batch->nr_sent; i++) {
        if (!batch->answered[batch->sent[i]]) {
            return error_set(error, EXIT_SYSTEM,
                             "the job called a batch of %zu trials done without answering trial "
                             "%zu: is it of the same version as this program?",
                             batch->nr_sent, i);
        }
    }
    return 0;
}

static int take_running(struct batch *batch, const struct json *message, struct error *error)
{
    int64_t running = json_get_integer(message, "running", -1);
    if (running < -1 || running >= (int64_t)batch->nr_sent) {
        return error_set(error, EXIT_SYSTEM, "the job runs a trial that was not asked");
    }
    batch->running = running;
    return 0;
}

static int take_outcome(struct batch *batch, const struct json *message, struct error *error)
{
    int64_t index = json_get_integer(message, "outcome_of", -1);
    if (index < 0 || (size_t)index >= batch->nr_sent) {
        return error_set(error, EXIT_SYSTEM, "the job answered a trial that was not asked");
    }
    size_t t = batch->sent[index];
    if (outcome_from_json(message, batch->arena, &batch->outcomes[t], error)) {
        return -1;
    }
    batch->answered[t] = true;
    return 0;
}

/* Sends what is left and takes answers until the batch is done, the job is gone (0: look what is
 * left), or nothing can go on (-1). */
static int converse(struct supervisor *supervisor, struct batch *batch, struct error *error)
{
    enum event event = EVENT_MESSAGE;
    struct json *message;
    if (send_batch(supervisor, batch)) {
        event = EVENT_DEATH;
    }
    while (event == EVENT_MESSAGE) {
        event = wait_message(supervisor, supervisor->options.timeout, &message);
        if (event != EVENT_MESSAGE) {
            break;
        }
        int failed = 0;
        bool done = json_get_bool(message, "done", false);
        if (json_get(message, "outcome")) {
            failed = take_outcome(batch, message, error);
        } else if (json_get(message, "running")) {
            failed = take_running(batch, message, error);
        } else if (json_get(message, "error")) {
            failed =
                error_set(error, (enum exit_status)json_get_integer(message, "status", EXIT_SYSTEM),
                          "%s", json_get_text(message, "error", ""));
        } else if (done) {
            failed = check_done(batch, error);
        }
        json_free(message);
        if (failed || done) {
            return failed;
        }
    }
    if (event == EVENT_STOPPED) {
        return error_set(error, EXIT_STOPPED, "stopped");
    }
    usleep(50000); /* let the launcher notice, so that its end can be told */
    launch_poll(&supervisor->launch);
    const char *detail = event == EVENT_SILENCE
                             ? arena_printf(batch->arena, "no progress for %.0f s",
                                            wire_now() - supervisor->progress)
                             : arena_printf(batch->arena, "the job died; its launcher %s",
                                            launch_describe_end(&supervisor->launch, batch->arena));
    note(supervisor, detail);
    blame(batch, event == EVENT_SILENCE ? OUTCOME_HUNG : OUTCOME_CRASHED, detail);
    wire_close(&supervisor->link);
    launch_stop(&supervisor->launch, 2);
    supervisor->up = false;
    return 0;
}

static int run_launched(struct oracle *oracle, const struct trial *trials, size_t nr,
                        struct arena *arena, struct outcome *outcomes, struct error *error)
{
    struct supervisor *supervisor = oracle->state;
    struct batch batch = {
        .trials = trials,
        .outcomes = outcomes,
        .nr = nr,
        .answered = arena_alloc(arena, nr, sizeof(bool)),
        .deaths = arena_alloc(arena, nr, sizeof(unsigned)),
        .sent = arena_alloc(arena, nr, sizeof(size_t)),
        .arena = arena,
    };
    for (choose_next(&batch); batch.nr_sent; choose_next(&batch)) {
        if (ensure_job(supervisor, trials[0].launch, &trials[0].candidate, error) ||
            converse(supervisor, &batch, error)) {
            end_job(supervisor, error->status == EXIT_STOPPED ? 1 : 0);
            return -1;
        }
    }
    return 0;
}

static void close_oracle(struct oracle *oracle)
{
    oracle->state = NULL; /* the supervisor is closed by its owner */
}

struct oracle supervisor_oracle(struct supervisor *supervisor)
{
    return (struct oracle){
        .name = "launched job",
        .evidence = EVIDENCE_MEASURED,
        .noise = 0.1,
        .price_call = 1e-6,
        .price_communicator = 1e-3,
        .price_launch = supervisor->startup > 0 ? 1.2 * supervisor->startup : 1, /* and its end */
        .run = run_launched,
        .close = close_oracle,
        .state = supervisor,
    };
}

unsigned supervisor_launches(const struct supervisor *supervisor)
{
    return supervisor->launches;
}

void supervisor_close(struct supervisor *supervisor)
{
    if (!supervisor) {
        return;
    }
    if (supervisor->up) {
        end_job(supervisor, 5);
    }
    launch_stop(&supervisor->launch, 2);
    wire_close(&supervisor->link);
    close(supervisor->listen_fd);
    json_free(supervisor->hello);
    json_free(supervisor->first_hello);
    arena_release(&supervisor->arena);
    free(supervisor);
}
