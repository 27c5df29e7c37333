/* mpich_condition.c - the keys of selection trees as a table: property, relations, words. */
#include "mpich_condition.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WORDS 4

/* The keys that MPICH 4.0.2 reads; of any other its MPI_Init aborts: "unknown key". */
static const struct grammar {
    const char *name;
    bool any, at_most, below; /* =any, <=N, <N */
    bool fixed;               /* known when the communicator is made */
    const char *words[MOST_WORDS + 1];
    const char *forms; /* for people */
} grammars[MPICH_NR_PROPERTIES] = {
    [MPICH_COLLECTIVE] = {"collective", false, false, false, false, {NULL}, "=NAME"},
    [MPICH_ALGORITHM] = {"algorithm", false, false, false, false, {NULL}, "=MPIR_NAME"},
    [MPICH_COMM_TYPE] =
        {"comm_type", false, false, false, true, {"intra", "inter"}, "=intra, =inter"},
    [MPICH_COMM_SIZE] = {"comm_size",
                         true,
                         true,
                         true,
                         true,
                         {"pow2", "node_comm_size"},
                         "<N, <=N, =pow2, =node_comm_size, =any"},
    [MPICH_COMM_HIERARCHY] = {"comm_hierarchy",
                              true,
                              false,
                              false,
                              true,
                              {"parent", "node_roots", "node", "flat"},
                              "=parent, =node_roots, =node, =flat, =any"},
    [MPICH_COMM_AVG_PPN] = {"comm_avg_ppn", false, true, false, true, {NULL}, "<=N"},
    [MPICH_NODE_CONSECUTIVE] =
        {"is_node_consecutive", false, false, false, true, {"yes", "no"}, "=yes, =no"},
    [MPICH_MULTI_THREADED] =
        {"is_multi_threaded", false, false, false, false, {"yes", "no"}, "=yes, =no"},
    [MPICH_COUNT] = {"count", true, true, false, false, {NULL}, "<=N, <pow2, =any"},
    [MPICH_AVG_MSG_SIZE] = {"avg_msg_size", true, true, true, false, {NULL}, "<N, <=N, =any"},
    [MPICH_TOTAL_MSG_SIZE] = {"total_msg_size", true, true, true, false, {NULL}, "<N, <=N, =any"},
    [MPICH_COMMUTATIVE] =
        {"is_commutative", false, false, false, false, {"yes", "no"}, "=yes, =no"},
    [MPICH_OP_BUILT_IN] =
        {"is_op_built_in", false, false, false, false, {"yes", "no"}, "=yes, =no"},
    [MPICH_SENDBUF_INPLACE] =
        {"is_sendbuf_inplace", false, false, false, false, {"yes", "no"}, "=yes, =no"},
    [MPICH_BLOCK_REGULAR] =
        {"is_block_regular", false, false, false, false, {"yes", "no"}, "=yes, =no"},
};

/* Copies without blanks; false when it is too long. */
static bool squeeze(const char *key, char *out)
{
    size_t nr = 0;
    for (; *key; key++) {
        if (isspace((unsigned char)*key)) {
            continue;
        }
        if (nr + 1 >= MPICH_KEY_BYTES) {
            return false;
        }
        out[nr++] = *key;
    }
    out[nr] = 0;
    return true;
}

static int find_property(const char *text, size_t length)
{
    for (int p = 0; p < MPICH_NR_PROPERTIES; p++) {
        if (strlen(grammars[p].name) == length && !strncmp(grammars[p].name, text, length)) {
            return p;
        }
    }
    return -1;
}

/* Digits only, up to INT32_MAX: MPICH reads with atoi into an int, which takes anything. */
static bool parse_number(const char *text, int32_t *number)
{
    size_t length = strlen(text);
    if (length == 0 || length > 10 || strspn(text, "0123456789") != length) {
        return false;
    }
    long long value = atoll(text);
    *number = (int32_t)value;
    return value <= INT32_MAX;
}

static bool parse_word(const struct grammar *grammar, const char *text, int *word)
{
    for (int i = 0; grammar->words[i]; i++) {
        if (!strcmp(grammar->words[i], text)) {
            *word = i;
            return true;
        }
    }
    return false;
}

/* What follows the property's name. */
static bool parse_relation(const struct grammar *grammar, const char *text,
                           struct mpich_condition *condition)
{
    if (!strcmp(text, "=any")) {
        condition->relation = MPICH_ANY;
        return grammar->any;
    }
    if (!strncmp(text, "<=", 2)) {
        condition->relation = MPICH_AT_MOST;
        return grammar->at_most && parse_number(text + 2, &condition->number);
    }
    if (!strcmp(text, "<pow2")) {
        condition->relation = MPICH_BELOW_POW2;
        return condition->property == MPICH_COUNT;
    }
    if (*text == '<') {
        condition->relation = MPICH_BELOW;
        return grammar->below && parse_number(text + 1, &condition->number);
    }
    condition->relation = MPICH_IS;
    return *text == '=' && parse_word(grammar, text + 1, &condition->word);
}

static int unknown_property(const char *key, const char *text, size_t length, struct error *error)
{
    const char *names[MPICH_NR_PROPERTIES + 1] = {NULL};
    char property[MPICH_KEY_BYTES];
    snprintf(property, sizeof property, "%.*s", (int)length, text);
    for (int p = 0; p < MPICH_NR_PROPERTIES; p++) {
        names[p] = grammars[p].name;
    }
    if (!strcmp(property, "composition")) {
        return error_set(error, EXIT_INPUT,
                         "'%s' belongs into the device's file "
                         "(MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE); expected algorithm=NAME",
                         key);
    }
    const char *nearest = error_nearest(property, names);
    return error_set(error, EXIT_INPUT, "unknown key '%s': MPI_Init would abort; %s%s%s", key,
                     nearest ? "did you mean '" : "expected a condition such as comm_size<=8",
                     nearest ? nearest : "", nearest ? "'?" : "");
}

int mpich_condition_parse(const char *key, struct mpich_condition *condition, struct error *error)
{
    char text[MPICH_KEY_BYTES];
    if (!squeeze(key, text)) {
        return error_set(error, EXIT_INPUT, "a key of more than %d characters ('%.40s...')",
                         MPICH_KEY_BYTES - 1, key);
    }
    size_t length = strcspn(text, "=<");
    int property = find_property(text, length);
    if (property < 0) {
        return unknown_property(key, text, length, error);
    }
    *condition = (struct mpich_condition){.property = (enum mpich_property)property, .word = -1};
    const char *rest = text + length;
    bool is_name = property == MPICH_COLLECTIVE || property == MPICH_ALGORITHM;
    if (is_name && rest[0] == '=' && rest[1]) {
        condition->relation = MPICH_IS;
        memcpy(condition->name, rest + 1, strlen(rest));
        return 0;
    }
    if (is_name || !parse_relation(&grammars[property], rest, condition)) {
        return error_set(error, EXIT_INPUT,
                         "unknown key '%s': MPI_Init would abort or read another number; after %s "
                         "only these may follow: %s (N up to %d)",
                         key, grammars[property].name, grammars[property].forms, INT32_MAX);
    }
    return 0;
}

bool mpich_condition_is_fixed(const struct mpich_condition *condition)
{
    return grammars[condition->property].fixed;
}

unsigned mpich_condition_all_words(const struct mpich_condition *condition)
{
    const struct grammar *grammar = &grammars[condition->property];
    unsigned mask = 0;
    for (int i = 0; grammar->words[i] && !grammar->at_most; i++) {
        mask |= 1U << i;
    }
    return mask;
}

/* Of <=N, <N and count<pow2. */
static bool compares(const struct mpich_condition *condition, const struct mpich_query *query,
                     uint64_t value, bool late)
{
    uint64_t number = (uint64_t)condition->number;
    bool lax = late && condition->property == MPICH_COMM_SIZE;
    if (condition->relation == MPICH_BELOW_POW2) {
        uint64_t power = 1;
        while (power <= query->comm_size / 2) {
            power *= 2;
        }
        return value < power;
    }
    return condition->relation == MPICH_AT_MOST || lax ? value <= number : value < number;
}

static bool comm_size_holds(const struct mpich_condition *condition,
                            const struct mpich_query *query, bool late)
{
    if (condition->relation != MPICH_IS) {
        return compares(condition, query, query->comm_size, late);
    }
    if (condition->word == MPICH_POW2) {
        return (query->comm_size & (query->comm_size - 1)) == 0;
    }
    return query->hierarchy == MPICH_PARENT && query->hosts == 1;
}

static bool condition_is_true(const struct mpich_condition *condition,
                              const struct mpich_query *query, bool late)
{
    bool yes = condition->word == MPICH_YES;
    switch (condition->property) {
    case MPICH_COMM_TYPE:
        return condition->word == MPICH_INTRA;
    case MPICH_COMM_SIZE:
        return comm_size_holds(condition, query, late);
    case MPICH_COMM_HIERARCHY:
        return condition->word == (int)query->hierarchy;
    case MPICH_COMM_AVG_PPN:
        return query->hierarchy == MPICH_PARENT &&
               query->comm_size <= (uint64_t)condition->number * query->hosts;
    case MPICH_NODE_CONSECUTIVE: /* ranks of a host follow each other */
    case MPICH_BLOCK_REGULAR:    /* all parts of one size */
        return yes;
    case MPICH_MULTI_THREADED: /* MPI_Init, not MPI_THREAD_MULTIPLE */
        return !yes;
    case MPICH_COUNT:
        return compares(condition, query, query->count, late);
    case MPICH_AVG_MSG_SIZE:
        return compares(condition, query, query->avg_bytes, late);
    case MPICH_TOTAL_MSG_SIZE:
        return compares(condition, query, query->total_bytes, late);
    case MPICH_COMMUTATIVE:
        return query->commutative == yes;
    case MPICH_OP_BUILT_IN:
        return query->built_in == yes;
    case MPICH_SENDBUF_INPLACE:
        return query->in_place == yes;
    case MPICH_COLLECTIVE:
    case MPICH_ALGORITHM:
    case MPICH_NR_PROPERTIES:
        break;
    }
    return false;
}

/* What else must be known to decide it. */
static unsigned needed_for(const struct mpich_condition *condition)
{
    unsigned needed = 1U << condition->property;
    bool on_hosts = condition->property == MPICH_COMM_AVG_PPN ||
                    (condition->property == MPICH_COMM_SIZE && condition->relation == MPICH_IS &&
                     condition->word == MPICH_NODE_COMM_SIZE);
    if (on_hosts) {
        needed = 1U << MPICH_COMM_SIZE | 1U << MPICH_COMM_HIERARCHY;
    }
    if (condition->relation == MPICH_BELOW_POW2) {
        needed |= 1U << MPICH_COMM_SIZE;
    }
    return condition->property == MPICH_COMM_TYPE ? 0 : needed;
}

enum mpich_truth mpich_condition_holds(const struct mpich_condition *condition,
                                       const struct mpich_query *query, unsigned known, bool late)
{
    if (condition->relation == MPICH_ANY) {
        return MPICH_HOLDS;
    }
    if (needed_for(condition) & ~known) {
        return MPICH_UNKNOWN;
    }
    return condition_is_true(condition, query, late) ? MPICH_HOLDS : MPICH_FAILS;
}
