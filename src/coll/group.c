/* group.c - the text form of a group and the arithmetic of who stands where. */
#include "group.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a positive count of at most 2^20 and moves *text behind it. */
static bool read_count(const char **text, uint32_t *value)
{
    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    char *end;
    unsigned long number = strtoul(*text, &end, 10);
    if (number == 0 || number > 1048576) {
        return false;
    }
    *text = end;
    *value = (uint32_t)number;
    return true;
}

static bool read_shape(const char *text, struct group *group)
{
    group->stride = 1;
    group->concurrent = 1;
    if (!read_count(&text, &group->hosts) || *text++ != 'x' ||
        !read_count(&text, &group->ranks_per_host)) {
        return false;
    }
    if (*text == 'x') {
        text++;
        if (!read_count(&text, &group->stride)) {
            return false;
        }
    }
    if (*text == '*') {
        text++;
        if (!read_count(&text, &group->concurrent)) {
            return false;
        }
    }
    return *text == 0 && (uint64_t)group->hosts * group->ranks_per_host <= INT32_MAX;
}

int group_parse(const char *text, struct group *group, struct error *error)
{
    struct group read = {.hosts = 0};
    const char *equals = strchr(text, '=');
    size_t name_length = equals ? (size_t)(equals - text) : strlen(text);
    if (name_length == 0 || name_length >= GROUP_NAME_BYTES) {
        return error_set(error, EXIT_INPUT,
                         "group '%s': the name in front of '=' must have 1 to %d characters", text,
                         GROUP_NAME_BYTES - 1);
    }
    for (size_t i = 0; i < name_length && equals; i++) {
        if (!isalnum((unsigned char)text[i]) && !strchr("-_", text[i])) {
            return error_set(error, EXIT_INPUT,
                             "group '%s': a name is made of letters, digits, - and _", text);
        }
    }
    memcpy(read.name, text, name_length);
    for (char *c = read.name; !equals && (c = strchr(c, '*'));) {
        *c = '-'; /* a text that is its own name still has to be one */
    }
    if (!read_shape(equals ? equals + 1 : text, &read)) {
        return error_set(error, EXIT_INPUT,
                         "group '%s': expected NAME=HOSTSxRANKS[xSTRIDE][*CONCURRENT] with counts "
                         "from 1, such as tp=1x8 or dp=32x1*8",
                         text);
    }
    *group = read;
    return 0;
}

char *group_format(const struct group *group, char *buffer)
{
    char stride[16] = "", concurrent[16] = "";
    if (group->stride > 1) {
        snprintf(stride, sizeof stride, "x%u", group->stride);
    }
    if (group->concurrent > 1) {
        snprintf(concurrent, sizeof concurrent, "*%u", group->concurrent);
    }
    snprintf(buffer, GROUP_TEXT, "%s=%ux%u%s%s", group->name, group->hosts, group->ranks_per_host,
             stride, concurrent);
    return buffer;
}

uint32_t group_ranks(const struct group *group)
{
    return group->hosts * group->ranks_per_host;
}

bool group_equal(const struct group *a, const struct group *b)
{
    return a->hosts == b->hosts && a->ranks_per_host == b->ranks_per_host &&
           a->stride == b->stride && a->concurrent == b->concurrent;
}

/* Whole groups that fit side by side on one host: blocks of stride x ranks_per_host local ranks
 * hold `stride` interleaved groups each. */
static uint32_t groups_per_host(const struct group *group, uint32_t local_ranks)
{
    uint64_t block = (uint64_t)group->stride * group->ranks_per_host;
    uint64_t whole = local_ranks / block * group->stride;
    uint64_t rest = local_ranks % block;
    uint64_t span = (uint64_t)(group->ranks_per_host - 1) * group->stride;
    /* in an unfinished block, group g needs local ranks g .. g + span */
    return (uint32_t)(whole + (rest > span ? rest - span : 0));
}

bool group_place(const struct group *group, uint32_t host, uint32_t local, uint32_t local_ranks,
                 uint32_t *index, uint32_t *position)
{
    uint64_t side_by_side = groups_per_host(group, local_ranks);
    uint64_t block = (uint64_t)group->stride * group->ranks_per_host;
    uint64_t here = local / block * group->stride + local % group->stride;
    uint64_t which = host / group->hosts * side_by_side + here;
    if (local >= local_ranks || here >= side_by_side || which >= group->concurrent) {
        return false;
    }
    *index = (uint32_t)which;
    *position =
        host % group->hosts * group->ranks_per_host + (uint32_t)(local % block / group->stride);
    return true;
}

int group_fits(const struct group *group, uint32_t hosts, uint32_t local_ranks, struct error *error)
{
    char text[GROUP_TEXT];
    uint32_t side_by_side = groups_per_host(group, local_ranks);
    uint64_t room = (uint64_t)(hosts / group->hosts) * side_by_side;
    if (room >= group->concurrent) {
        return 0;
    }
    return error_set(error, EXIT_INPUT,
                     "group %s: this launch of %u host%s with %u rank%s each holds %llu such "
                     "group%s of the %u wanted: launch more ranks or ask for a smaller group",
                     group_format(group, text), hosts, hosts == 1 ? "" : "s", local_ranks,
                     local_ranks == 1 ? "" : "s", (unsigned long long)room, room == 1 ? "" : "s",
                     group->concurrent);
}
