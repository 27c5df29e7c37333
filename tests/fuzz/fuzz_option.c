/* fuzz_option.c - any lines as a command's arguments: a worded error, or values of their types. */
#include "option.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct values {
    uint64_t bytes, count;
    double seconds, number;
    bool flag, check;
    const char *text, *choice;
    struct option_list list;
};

static const struct option_row rows[] = {
    {.type = OPTION_HEADING, .help = "All types"},
    {'b', "bytes", OPTION_SIZE, "SIZE", "", offsetof(struct values, bytes), "8"},
    {'n', "count", OPTION_COUNT, "N", "", offsetof(struct values, count), "20"},
    {'t', "seconds", OPTION_SECONDS, "TIME", "", offsetof(struct values, seconds), "5m"},
    {'f', "number", OPTION_NUMBER, "N", "", offsetof(struct values, number), "2"},
    {'q', NULL, OPTION_FLAG, NULL, "", offsetof(struct values, flag), NULL},
    {'c', "check", OPTION_FLAG, NULL, "", offsetof(struct values, check), "yes"},
    {'o', "text", OPTION_TEXT, "FILE", "", offsetof(struct values, text), NULL},
    {0, "choice", OPTION_CHOICE, "a|bc|d", "", offsetof(struct values, choice), "bc"},
    {'s', "set", OPTION_LIST, "TEXT", "", offsetof(struct values, list), "first"},
    {'z', "refused", OPTION_REFUSED, NULL, "it is refused", 0, NULL},
    {0},
};

static const struct option_command command = {.name = "fuzz", .rows = rows};

enum { MOST_ARGUMENTS = 64 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_values(const struct values *values)
{
    require(values->bytes <= INT64_MAX);
    require(isfinite(values->seconds) && values->seconds >= 0);
    require(isfinite(values->number) && values->number >= 0);
    require(strcmp(values->choice, "a") == 0 || strcmp(values->choice, "bc") == 0 ||
            strcmp(values->choice, "d") == 0);
    require(values->list.nr >= 1);
    for (size_t i = 0; i < values->list.nr; i++)
        require(values->list.items[i] != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 1);
    require(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    char name[] = "fuzz";
    char *argv[MOST_ARGUMENTS + 2] = {name};
    int argc = 1;
    for (char *rest = text; rest != NULL && argc <= MOST_ARGUMENTS;)
        argv[argc++] = strsep(&rest, "\n");

    struct values values;
    memset(&values, 0x55, sizeof values);
    int nr_left = 0;
    bool help_wanted = false;
    struct error error = ERROR_NONE;
    if (option_parse(&command, argc, argv, &values, &nr_left, &help_wanted, &error) == 0) {
        require(nr_left >= 1 && nr_left <= argc);
        check_values(&values);
    } else {
        require(error.status == EXIT_INPUT && error.message[0] != '\0');
        require(values.list.items == NULL);
    }
    free(values.list.items);
    free(text);
    return 0;
}
