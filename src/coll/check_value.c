/* check_value.c - multisets by number: a hash table that compares in full; see check_value.h. */
#include "check_value.h"

#include "arena.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64, TABLE_LEAST = 1 << 10, VALUES_MOST = 1 << 22, WORDS_MOST = 1 << 25 };

void check_values_begin(struct check_values *values, uint32_t positions)
{
    *values = (struct check_values){.positions = positions,
                                    .words = (positions + WORD_BITS - 1) / WORD_BITS,
                                    .nr = 1, /* number 0 is CHECK_NOTHING */
                                    .table_size = TABLE_LEAST};
    values->table = calloc(values->table_size, sizeof *values->table);
    if (!values->table) {
        arena_out_of_memory();
    }
}

void check_values_release(struct check_values *values)
{
    free(values->values);
    free(values->sets);
    free(values->table);
}

static uint64_t *set_of(const struct check_values *values, uint32_t number)
{
    return values->sets + (size_t)number * values->words;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct check_values *values, uint32_t number)
{
    const struct check_value *value = &values->values[number];
    uint64_t hash = mix(value->kind, (uint64_t)value->first.turn << 32 | value->first.chunk);
    hash = mix(hash, (uint64_t)value->second.turn << 32 | value->second.chunk);
    hash = mix(hash, (uint64_t)value->first.position << 32 | value->second.position);
    for (uint32_t i = 0; i < values->words; i++) {
        hash = mix(hash, set_of(values, number)[i]);
    }
    return hash;
}

static bool equal_sources(struct check_source a, struct check_source b)
{
    return a.turn == b.turn && a.chunk == b.chunk && a.position == b.position;
}

static bool equal(const struct check_values *values, uint32_t a, uint32_t b)
{
    const struct check_value *x = &values->values[a], *y = &values->values[b];
    return x->kind == y->kind && equal_sources(x->first, y->first) &&
           equal_sources(x->second, y->second) &&
           !memcmp(set_of(values, a), set_of(values, b), values->words * sizeof(uint64_t));
}

/* Where `number`, or a value equal to it, is or would be. */
static uint32_t *find(const struct check_values *values, uint32_t number)
{
    size_t at = hash_of(values, number) & (values->table_size - 1);
    while (values->table[at] != 0 && !equal(values, values->table[at], number)) {
        at = (at + 1) & (values->table_size - 1);
    }
    return &values->table[at];
}

static void grow_table(struct check_values *values)
{
    free(values->table);
    values->table_size *= 2;
    values->table = calloc(values->table_size, sizeof *values->table);
    if (!values->table) {
        arena_out_of_memory();
    }
    for (uint32_t i = 1; i < values->nr; i++) {
        *find(values, i) = i;
    }
}

/* Room for one more, its set empty; what is written there counts once `keep` is called. */
static uint32_t draft(struct check_values *values)
{
    if (values->nr == values->capacity || !values->values) {
        values->capacity = values->capacity ? 2 * values->capacity : 256;
        size_t words = values->capacity * values->words;
        values->values = realloc(values->values, values->capacity * sizeof *values->values);
        values->sets = realloc(values->sets, words * sizeof *values->sets);
        if (!values->values || !values->sets) {
            arena_out_of_memory();
        }
    }
    uint32_t number = (uint32_t)values->nr;
    values->values[number] = (struct check_value){CHECK_SUM, {0, 0, 0}, {0, 0, 0}};
    memset(set_of(values, number), 0, values->words * sizeof(uint64_t));
    return number;
}

static uint32_t keep(struct check_values *values, uint32_t number)
{
    uint32_t *place = find(values, number);
    if (*place != 0) {
        return *place;
    }
    if (values->nr == VALUES_MOST || (values->nr + 1) * values->words > WORDS_MOST) {
        return CHECK_NOTHING;
    }
    *place = number;
    values->nr++;
    if (2 * values->nr > values->table_size) {
        grow_table(values);
    }
    return number;
}

static void add_position(uint64_t *set, uint32_t position)
{
    set[position / WORD_BITS] |= UINT64_C(1) << position % WORD_BITS;
}

/* The lowest position in a and, where `b` is given, in b; UINT32_MAX: none. */
static uint32_t lowest(const struct check_values *values, const uint64_t *a, const uint64_t *b)
{
    for (uint32_t i = 0; i < values->words; i++) {
        uint64_t both = a[i] & (b ? b[i] : UINT64_MAX);
        if (both) {
            return i * WORD_BITS + (uint32_t)__builtin_ctzll(both);
        }
    }
    return UINT32_MAX;
}

uint32_t check_value_input(struct check_values *values, struct check_source source)
{
    uint32_t number = draft(values);
    values->values[number].first = (struct check_source){source.turn, source.chunk, 0};
    add_position(set_of(values, number), source.position);
    return keep(values, number);
}

uint32_t check_value_everybody(struct check_values *values, uint32_t turn, uint32_t chunk)
{
    uint32_t number = draft(values);
    values->values[number].first = (struct check_source){turn, chunk, 0};
    for (uint32_t i = 0; i < values->positions; i++) {
        add_position(set_of(values, number), i);
    }
    return keep(values, number);
}

static struct check_source witness(const struct check_values *values, uint32_t number)
{
    struct check_source source = values->values[number].first;
    source.position = lowest(values, set_of(values, number), NULL);
    return source;
}

uint32_t check_value_sum(struct check_values *values, uint32_t a, uint32_t b)
{
    if (values->values[a].kind != CHECK_SUM) {
        return a;
    }
    if (values->values[b].kind != CHECK_SUM) {
        return b;
    }
    uint32_t number = draft(values);
    struct check_value *sum = &values->values[number];
    uint32_t twice = lowest(values, set_of(values, a), set_of(values, b));
    if (!equal_sources(values->values[a].first, values->values[b].first)) {
        *sum = (struct check_value){CHECK_MIXED, witness(values, a), witness(values, b)};
    } else if (twice != UINT32_MAX) {
        *sum = (struct check_value){CHECK_DOUBLED, values->values[a].first, {0, 0, 0}};
        sum->first.position = twice;
    } else {
        sum->first = values->values[a].first;
        for (uint32_t i = 0; i < values->words; i++) {
            set_of(values, number)[i] = set_of(values, a)[i] | set_of(values, b)[i];
        }
    }
    return keep(values, number);
}

/* ---- in words ---- */

struct text {
    char buffer[160];
};

static struct text source_text(struct check_source source, uint32_t loops)
{
    struct text text;
    snprintf(text.buffer, sizeof text.buffer,
             "chunk %" PRIu32 " of position %" PRIu32 "'s in (loop %" PRIu32 " of call %" PRIu32
             ")",
             source.chunk, source.position, source.turn % loops + 1, source.turn / loops + 1);
    return text;
}

/* Positions that one set has and the other lacks. */
static uint32_t missing(const struct check_values *values, uint32_t from, uint32_t held,
                        uint32_t *first)
{
    uint32_t nr = 0;
    for (uint32_t i = 0; i < values->words; i++) {
        uint64_t lack = set_of(values, from)[i] & ~set_of(values, held)[i];
        if (lack && nr == 0) {
            *first = i * WORD_BITS + (uint32_t)__builtin_ctzll(lack);
        }
        nr += (uint32_t)__builtin_popcountll(lack);
    }
    return nr;
}

void check_value_compare(const struct check_values *values, uint32_t held, uint32_t wanted,
                         uint32_t loops, char *text, size_t size)
{
    if (held == CHECK_NOTHING) {
        snprintf(text, size, "was never written");
        return;
    }
    const struct check_value *value = &values->values[held];
    if (value->kind == CHECK_DOUBLED) {
        snprintf(text, size, "holds %s twice", source_text(value->first, loops).buffer);
        return;
    }
    if (value->kind == CHECK_MIXED) {
        snprintf(text, size, "holds %s and %s, which do not belong together",
                 source_text(value->first, loops).buffer, source_text(value->second, loops).buffer);
        return;
    }
    if (!equal_sources(value->first, values->values[wanted].first)) {
        snprintf(text, size, "holds %s, expected %s",
                 source_text(witness(values, held), loops).buffer,
                 source_text(witness(values, wanted), loops).buffer);
        return;
    }
    uint32_t first = 0;
    uint32_t nr = missing(values, wanted, held, &first);
    if (nr > 0) {
        snprintf(text, size,
                 "lacks the contributions of %" PRIu32 " of %" PRIu32
                 " positions, position %" PRIu32 "'s first",
                 nr, values->positions, first);
        return;
    }
    missing(values, held, wanted, &first);
    snprintf(text, size,
             "holds the contribution of position %" PRIu32 " that does not belong there", first);
}
