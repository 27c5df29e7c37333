/* check_value.h - what a chunk's slice holds, as the checker sees it: a multiset of contributions.
 *
 * A contribution is one position's input to one chunk of one loop. Multisets only grow by
 * addition, and a right result holds contributions to one chunk, each once: a value with two of
 * one contribution, or with contributions to two chunks, can never become right again. So a value
 * is either a set of positions and the chunk they contributed to, or wrong for ever, with the
 * witness kept. This is exact, not a digest: equal values have equal numbers because each new
 * value is compared word by word with those there are.
 */
#ifndef CCLTUNE_CHECK_VALUE_H
#define CCLTUNE_CHECK_VALUE_H

#include <stddef.h>
#include <stdint.h>

#define CHECK_NOTHING 0U /* the value of memory that nobody wrote */

struct check_source { /* one contribution; `turn` counts loops over all calls */
    uint32_t turn, chunk, position;
};

enum check_value_kind {
    CHECK_SUM,     /* the set's positions, each once, to the chunk of `first` */
    CHECK_DOUBLED, /* holds `first` twice */
    CHECK_MIXED    /* holds `first` and `second`, which belong to different chunks or loops */
};

struct check_value {
    enum check_value_kind kind;
    struct check_source first, second;
};

struct check_values {
    uint32_t positions, words; /* of a set: one bit a position */
    struct check_value *values;
    uint64_t *sets; /* [value * words] */
    size_t nr, capacity;
    uint32_t *table; /* open addressing; 0: free */
    size_t table_size;
};

void check_values_begin(struct check_values *values, uint32_t positions);
void check_values_release(struct check_values *values);

/* The number of a value: one position's contribution, everybody's to a chunk, and the sum of two.
 * CHECK_NOTHING when there are too many. */
uint32_t check_value_input(struct check_values *values, struct check_source source);
uint32_t check_value_everybody(struct check_values *values, uint32_t turn, uint32_t chunk);
uint32_t check_value_sum(struct check_values *values, uint32_t a, uint32_t b);

/* What is wrong with `held` where `wanted` was expected, in words: "the input of position 5 is
 * missing". */
void check_value_compare(const struct check_values *values, uint32_t held, uint32_t wanted,
                         uint32_t loops, char *text, size_t size);

#endif
