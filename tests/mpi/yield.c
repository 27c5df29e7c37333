/* A preload for MPI tests with more ranks than cores: MPICH over UCX waits by calling
 * ucp_worker_progress in a loop, and a rank that spins keeps the core from the rank it waits for.
 * Here a call that found nothing to do gives the core away. */
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    /* Looked up once; two threads that both do so find the same address. */
    static unsigned (*real_progress)(void *);
    unsigned done;

    if (!real_progress)
        real_progress = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    done = real_progress ? real_progress(worker) : 0;
    if (done == 0)
        sched_yield();
    return done;
}
