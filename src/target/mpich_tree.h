/* mpich_tree.h - MPICH's selection trees: taken out of a library, checked, asked, changed.
 *
 * MPICH decides which algorithm runs a collective by a tree of conditions
 * ({"collective=bcast": {"comm_type=intra": {"comm_size<8": {... {"algorithm=MPIR_...": {}}}}}}),
 * compiled in as JSON text and replaced as a whole by the file that
 * MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE names. So what we emit is the tree that was in force,
 * with branches grafted in where something better was proven, and the same everywhere else.
 */
#ifndef CCLTUNE_MPICH_TREE_H
#define CCLTUNE_MPICH_TREE_H

#include "error.h"
#include "json.h"
#include "mpich_algorithms.h"
#include "mpich_condition.h"

#include <stddef.h>
#include <stdint.h>

/* The environment variable that names a selection file. */
#define MPICH_FILE_VARIABLE "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"

/* Finds the built-in tree in a library file (libmpich.so): of the zero-ended JSON texts that begin
 * with {"collective= the one that holds the most collectives and chooses algorithm=MPIR_... (others
 * are the device's). Free with json_free. NULL, status EXIT_ABSENT, when there is none. */
struct json *mpich_tree_extract_file(const char *path, struct error *error);
/* The same from the file's bytes; `name` is for errors. */
struct json *mpich_tree_extract(const char *bytes, size_t length, const char *name,
                                struct error *error);

/* Would MPICH take the whole tree, and find a leaf for every call? It aborts MPI_Init of an unknown
 * key or a list of siblings that does not end in a catch-all, and the first call of a collective
 * that is missing or that asks what is not defined for it. The error names the place of the first
 * flaw ("collective=bcast / comm_type=intra / comm_size<8: ...") and the mend. */
int mpich_tree_check(const struct json *tree, struct error *error);

/* The algorithm that MPICH would take, "MPIR_Bcast_intra_binomial" (belongs to the tree's keys:
 * copied into `leaf` of MPICH_KEY_BYTES). -1 when the tree has none or is broken there. */
int mpich_tree_lookup(const struct json *tree, const struct mpich_collective *collective,
                      const struct mpich_query *query, char *leaf);

/* The query for a call of nccl-tests' size `bytes` on `ranks` ranks that share a host, of elements
 * of `element_bytes`, with a built-in commutative operation and not in place. */
struct mpich_query mpich_query_make(const struct mpich_collective *collective, uint32_t ranks,
                                    uint64_t bytes, uint32_t element_bytes,
                                    enum mpich_hierarchy hierarchy);

/* What remains of a collective's tree (the object under "collective=...", or further down) once the
 * properties in the mask `known` are decided as in `query`. Free with json_free. */
struct json *mpich_tree_specialise(const struct json *object, const struct mpich_query *query,
                                   unsigned known);

/* One graft: `algorithm` for calls of first_bytes..last_bytes (both covered; UINT64_MAX = no end)
 * on exactly `ranks` ranks that share one host, of built-in commutative operations, not in place.
 */
struct mpich_graft {
    const struct mpich_collective *collective;
    const struct mpich_algorithm *algorithm;
    uint32_t ranks;
    uint64_t first_bytes, last_bytes;
};

/* A new tree: `base` with the grafts. They may come in any order; grafts of one collective and
 * ranks may not overlap. A last size over INT32_MAX, which MPICH cannot compare with, is lowered to
 * it; a first size over it is an error. `base` must have passed mpich_tree_check. */
struct json *mpich_tree_overlay(const struct json *base, const struct mpich_graft *grafts,
                                size_t nr_grafts, struct error *error);

#endif
