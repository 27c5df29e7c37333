/* group.h - which ranks take part: the group part of the key.
 *
 * A group is {hosts, ranks per host, stride, how many such groups run at once}. Written
 * NAME=HOSTSxRANKS[xSTRIDE][*CONCURRENT]: `tp=1x8` eight ranks of one host, `dp=32x1*8` one rank
 * on each of 32 hosts, eight such groups at once (one per local rank).
 */
#ifndef CCLTUNE_GROUP_H
#define CCLTUNE_GROUP_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

#define GROUP_NAME_BYTES 32

struct group {
    char name[GROUP_NAME_BYTES]; /* of letters, digits, - and _; never empty */
    uint32_t hosts;              /* >= 1 */
    uint32_t ranks_per_host;     /* >= 1 */
    uint32_t stride;             /* distance of neighbours in local rank, >= 1 */
    uint32_t concurrent;         /* groups that run at once, >= 1 */
};

/* Parses the form above. The name and "=" may be left out: the text itself is the name, with - for
 * its *. One group has at most 2^31 - 1 ranks. */
int group_parse(const char *text, struct group *group, struct error *error);

/* "name=HxR[xS][*C]" in `buffer` of GROUP_TEXT bytes; stride and concurrency 1 are left out. */
#define GROUP_TEXT 96
char *group_format(const struct group *group, char *buffer);

/* Ranks of one group: hosts x ranks_per_host. */
uint32_t group_ranks(const struct group *group);

/* The same shape, whatever the name? */
bool group_equal(const struct group *a, const struct group *b);

/* Where does a rank stand? `host` and `local` are its host's index and its index on that host.
 * *index = which of the concurrent groups it is in, *position = its rank there. False when it takes
 * no part. Concurrent groups fill a host's local ranks first (group g starts at local rank
 * (g / stride) * stride * ranks_per_host + g % stride), then the next block of hosts. */
bool group_place(const struct group *group, uint32_t host, uint32_t local, uint32_t local_ranks,
                 uint32_t *index, uint32_t *position);

/* Do `hosts` hosts with `local_ranks` ranks each hold all its concurrent groups? If not, the error
 * says what would be needed; status EXIT_INPUT. */
int group_fits(const struct group *group, uint32_t hosts, uint32_t local_ranks,
               struct error *error);

#endif
