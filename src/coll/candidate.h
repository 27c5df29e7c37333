/* candidate.h - what can be chosen, and for which call: candidate, key.
 *
 * For another library a candidate is a list of its settings, each with the scope in which it can
 * be changed. The empty list is the library's default.
 */
#ifndef CCLTUNE_CANDIDATE_H
#define CCLTUNE_CANDIDATE_H

#include "arena.h"
#include "collective.h"
#include "group.h"
#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum setting_scope {                     /* from the cheapest to change to the dearest */
                     SCOPE_CALL,         /* compared interleaved in one job */
                     SCOPE_COMMUNICATOR, /* a new communicator in the same job */
                     SCOPE_PROCESS,      /* an environment variable: a fresh launch */
                     SCOPE_HOST
};

struct setting {
    const char *name;  /* "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM" */
    const char *value; /* by name: "recursive_doubling" */
    enum setting_scope scope;
};

struct candidate {
    const char
        *algorithm; /* for people and tables: "recursive_doubling"; "default" for the default */
    const struct setting *settings;
    size_t nr_settings;
};

/* The default: no settings. */
extern const struct candidate candidate_default;

/* Canonical text, the candidate's identity in journal and tables: "default", or settings as
 * "NAME=value NAME=value" in the order of the list. Belongs to the arena. */
const char *candidate_id(const struct candidate *candidate, struct arena *arena);
bool candidate_equal(const struct candidate *a, const struct candidate *b);

/* As JSON {"algorithm": ..., "settings": [{"name","value","scope"}]}; reading copies into the arena
 * and refuses what is not of that form. */
struct json *candidate_to_json(const struct candidate *candidate);
int candidate_from_json(const struct json *json, struct arena *arena, struct candidate *candidate,
                        struct error *error);

/* The key under which everything is predicted, measured, journalled, decided and emitted. */
struct key {
    enum collective collective;
    struct group group;
    uint64_t bytes;  /* nccl-tests' size */
    bool registered; /* are the buffers registered with the library? */
};

bool key_equal(const struct key *a, const struct key *b);
struct json *key_to_json(const struct key *key);
int key_from_json(const struct json *json, struct key *key, struct error *error);

#endif
