/* exec.h - ranks: starting under a launcher, who stands where, agreeing on errors. The room's face;
 * no MPI type shows here.
 *
 * Every function is collective over all ranks unless it says otherwise.
 */
#ifndef CCLTUNE_EXEC_H
#define CCLTUNE_EXEC_H

#include "arena.h"
#include "candidate.h"
#include "error.h"
#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exec; /* opaque: this rank's view of the job */

struct exec_place {
    uint32_t rank, ranks;
    uint32_t host, hosts;             /* index of this rank's host */
    uint32_t local, local_ranks;      /* index on it; the fewest ranks any host has */
    uint32_t most_local_ranks, cores; /* of the fullest host; usable cores of the poorest */
};

/* Starts MPI. Fails with EXIT_ABSENT when the launcher belongs to another MPI (its environment
 * promises n ranks, this MPI sees one), naming both and the right launcher. */
int exec_start(int *argc, char ***argv, struct exec **exec, struct error *error);

/* Ends MPI and frees everything. */
void exec_stop(struct exec *exec);

/* Ends the job now, from any thread of any rank; not collective, does not return. */
_Noreturn void exec_die(int status);

struct exec_place exec_place(const struct exec *exec);

/* Opens the runner of a library: "mpich", "mpi" for whatever MPI this is, or "engine"; closes the
 * one that was open. */
int exec_open_library(struct exec *exec, const char *name, struct error *error);

/* Does the opened library spin while it waits, so that more ranks than cores are no use? */
bool exec_library_spins(const struct exec *exec);

/* What the opened library says of itself, on rank 0 (NULL elsewhere): {"name", "version",
 * "device", "path", "values": {SETTING: [values]}, "spins"}; our own engine's version is the
 * program's. Free with json_free. */
struct json *exec_describe_library(struct exec *exec);

/* Hosts' names in order of their index, on rank 0 (NULL elsewhere). */
struct json *exec_describe_hosts(struct exec *exec);

/* If any rank failed, all fail, with the error of the lowest that did. */
int exec_agree(struct exec *exec, int failed, struct error *error);

/* Rank 0's text for all: *text is borrowed on rank 0, malloc'ed elsewhere. Waiting ranks sleep
 * rather than spin, since rank 0 may think for long. */
void exec_share_text(struct exec *exec, char **text);

/* Refuses more ranks than cores for a library that spins (EXIT_NO). */
int exec_check_cores(const struct exec *exec, bool spins, bool oversubscribe, struct error *error);

/* Heartbeat of rank 0, for the ranks of its host: any thread of rank 0 beats; exec_watch starts a
 * thread on the others that ends its process after `seconds` without a beat. Not collective. */
void exec_beat(struct exec *exec);
int exec_watch(struct exec *exec, double seconds, struct error *error);

#endif
