/* exec_alive.h - which ranks of this host still live, and ending the job when one does not.
 *
 * A thread of each rank counts up a beat in shared memory and watches the next rank's: a stopped
 * process stops all its threads. Whoever finds a rank silent breaks the job; the first to do so is
 * the one that tells the user, then leaves without MPI's consent, and the launcher ends the others.
 */
#ifndef CCLTUNE_EXEC_ALIVE_H
#define CCLTUNE_EXEC_ALIVE_H

#include "exec.h"

/* Starts beating, and watching: after `seconds` without a beat of the next rank of this host
 * `silent` is called in the watching thread of the one rank that is to tell. It must not return.
 * NULL: beat only. Does nothing when it runs already. Not collective. */
int exec_alive_start(struct exec *exec, double seconds,
                     void (*silent)(void *context, const struct error *error), void *context,
                     struct error *error);

void exec_alive_stop(struct exec *exec);

/* Did the local rank's beat change since the last question about it? Ask again a second later. */
bool exec_alive_ask(struct exec *exec, uint32_t local);

/* Ends all waits of this host's ranks for good. True for the first rank that does: it tells. */
bool exec_break(struct exec *exec);
bool exec_is_broken(const struct exec *exec);

#endif
