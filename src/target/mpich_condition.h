/* mpich_condition.h - one key of a selection tree ("avg_msg_size<=8"): its grammar and its truth.
 *
 * A selection tree is nested objects whose keys are conditions; siblings are tried in order, the
 * first that holds is entered, and there is no way back. This module knows single keys.
 */
#ifndef CCLTUNE_MPICH_CONDITION_H
#define CCLTUNE_MPICH_CONDITION_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

enum mpich_property {
    MPICH_COLLECTIVE,
    MPICH_ALGORITHM,
    MPICH_COMM_TYPE,
    MPICH_COMM_SIZE,
    MPICH_COMM_HIERARCHY,
    MPICH_COMM_AVG_PPN,
    MPICH_NODE_CONSECUTIVE,
    MPICH_MULTI_THREADED,
    MPICH_COUNT,
    MPICH_AVG_MSG_SIZE,
    MPICH_TOTAL_MSG_SIZE,
    MPICH_COMMUTATIVE,
    MPICH_OP_BUILT_IN,
    MPICH_SENDBUF_INPLACE,
    MPICH_BLOCK_REGULAR,
    MPICH_NR_PROPERTIES
};

enum mpich_relation {
    MPICH_ANY,        /* avg_msg_size=any */
    MPICH_AT_MOST,    /* avg_msg_size<=8 */
    MPICH_BELOW,      /* avg_msg_size<8 */
    MPICH_BELOW_POW2, /* count<pow2 */
    MPICH_IS          /* comm_hierarchy=parent: word is one of the property's */
};

#define MPICH_KEY_BYTES 160 /* the longest key that is read, with its zero */

struct mpich_condition {
    enum mpich_property property;
    enum mpich_relation relation;
    int32_t number;             /* of AT_MOST and BELOW */
    int word;                   /* of IS: index into the property's words; -1 for free names */
    char name[MPICH_KEY_BYTES]; /* of collective= and algorithm= */
};

/* Words' indices, where code needs them. */
enum { MPICH_INTRA, MPICH_INTER };
enum { MPICH_YES, MPICH_NO };
enum mpich_hierarchy { MPICH_PARENT, MPICH_NODE_ROOTS, MPICH_NODE, MPICH_FLAT };
enum { MPICH_POW2, MPICH_NODE_COMM_SIZE };

/* A call on a communicator. One whose ranks share a host is PARENT with hosts 1; MPICH's inner
 * communicator of a host's ranks is NODE. */
struct mpich_query {
    uint32_t comm_size;
    uint32_t hosts;
    enum mpich_hierarchy hierarchy;
    uint64_t count;
    uint64_t avg_bytes, total_bytes; /* avg_msg_size and total_msg_size */
    bool commutative, built_in, in_place;
};

/* Reads a key; blanks in it do not count. On failure the error says what is wrong with the key and
 * what could stand there, not where it stands. */
int mpich_condition_parse(const char *key, struct mpich_condition *condition, struct error *error);

/* Are communicators of a kind that does not ask for the call? MPICH decides those conditions when a
 * communicator is made, as far as they come before any other. */
bool mpich_condition_is_fixed(const struct mpich_condition *condition);

/* All words of the condition's property as a mask of 1 << word, where siblings with all of them
 * leave nothing (yes and no; intra and inter; the four hierarchies); else 0. */
unsigned mpich_condition_all_words(const struct mpich_condition *condition);

enum mpich_truth { MPICH_HOLDS, MPICH_FAILS, MPICH_UNKNOWN };

/* Does it hold? `known` is a mask of 1 << property that `query` tells; comm_type is always intra.
 * `late`: a condition that is not fixed came before, and MPICH 4.0.2 then takes comm_size<N for
 * comm_size<=N (seen with 15 kinds of key in front; comm_size<=N is right everywhere). */
enum mpich_truth mpich_condition_holds(const struct mpich_condition *condition,
                                       const struct mpich_query *query, unsigned known, bool late);

#endif
