/* exec_alive.c - beats in shared memory, and the flag that ends all waits. */
#include "exec_alive.h"

#include "mpi_exec.h"

#include <stdlib.h>
#include <time.h>

#define BEAT_SECONDS 0.25

struct watcher {
    struct exec *exec;
    double seconds;
    void (*silent)(void *context, const struct error *error);
    void *context;
};

static unsigned beat_of(const struct exec *exec, uint32_t local)
{
    return atomic_load_explicit(&exec->shared[local]->alive.flag, memory_order_relaxed);
}

bool exec_alive_ask(struct exec *exec, uint32_t local)
{
    unsigned beat = beat_of(exec, local), before = exec->beats[local];
    exec->beats[local] = beat;
    return beat != before;
}

bool exec_break(struct exec *exec)
{
    bool first = atomic_exchange(&exec->shared[0]->told.flag, 1) == 0;
    for (uint32_t rank = 0; rank < exec->here; rank++) {
        atomic_store(&exec->shared[rank]->broken.flag, 1);
    }
    return first;
}

bool exec_is_broken(const struct exec *exec)
{
    return atomic_load(&exec->shared[exec->place.local]->broken.flag) != 0;
}

static void report(const struct watcher *watcher, uint32_t local)
{
    struct error error = ERROR_NONE;
    if (!exec_break(watcher->exec)) {
        return;
    }
    error_set(&error, EXIT_SYSTEM,
              "rank %u has stopped: no sign of life for %.3g s (seen by rank %u); continue or end "
              "its process and run again",
              watcher->exec->world_of[local], watcher->seconds, watcher->exec->place.rank);
    watcher->silent(watcher->context, &error);
}

/* Sleeps until the next beat is due; true when the thread shall end. */
static bool wait_for_end(struct exec *exec)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(BEAT_SECONDS * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return sem_clockwait(&exec->alive_end, CLOCK_MONOTONIC, &until) == 0;
}

static void *beat_and_watch(void *argument)
{
    struct watcher watcher = *(struct watcher *)argument;
    struct exec *exec = watcher.exec;
    atomic_uint *own = &exec->shared[exec->place.local]->alive.flag;
    uint32_t next = (exec->place.local + 1) % exec->here;
    unsigned seen = 0;
    double silent = 0;
    free(argument);
    do {
        unsigned beat = beat_of(exec, next);
        atomic_fetch_add_explicit(own, 1, memory_order_relaxed);
        /* 0: it has not begun yet, or has ended properly */
        silent = beat != seen || beat == 0 ? 0 : silent + BEAT_SECONDS;
        seen = beat;
        if (watcher.silent && silent > watcher.seconds && !exec_is_broken(exec)) {
            report(&watcher, next);
        }
    } while (!wait_for_end(exec));
    atomic_store_explicit(own, 0, memory_order_relaxed);
    return NULL;
}

int exec_alive_start(struct exec *exec, double seconds,
                     void (*silent)(void *context, const struct error *error), void *context,
                     struct error *error)
{
    if (exec->alive_runs) {
        return 0;
    }
    struct watcher *watcher = malloc(sizeof *watcher);
    if (!watcher) {
        abort();
    }
    *watcher = (struct watcher){exec, seconds, silent, context};
    sem_init(&exec->alive_end, 0, 0);
    int code = pthread_create(&exec->alive_thread, NULL, beat_and_watch, watcher);
    if (code) {
        free(watcher);
        return error_errno(error, code, "starting the thread that watches the next rank");
    }
    exec->alive_runs = true;
    return 0;
}

void exec_alive_stop(struct exec *exec)
{
    if (exec->alive_runs) {
        sem_post(&exec->alive_end);
        pthread_join(exec->alive_thread, NULL);
        sem_destroy(&exec->alive_end);
        exec->alive_runs = false;
    }
}
