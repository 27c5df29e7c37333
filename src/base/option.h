/* option.h - command-line options by table: one row gives parsing, --help and its default.
 *
 * A command has a struct for its options and a table of rows that point into it by offset:
 *
 *     struct bench_options { uint64_t first; bool quiet; const char *file; };
 *     static const struct option_row rows[] = {
 *         {'b', "minbytes", OPTION_SIZE, "SIZE", "first size", offsetof(struct bench_options,
 * first), "8"},
 *         ...
 *         {0}};
 *
 * Every default is a text that runs through the same parser, so --help never lies.
 */
#ifndef CCLTUNE_OPTION_H
#define CCLTUNE_OPTION_H

#include "error.h"

#include <stddef.h>
#include <stdio.h>

enum option_type {
    OPTION_END,     /* last row */
    OPTION_HEADING, /* not an option: `help` is printed as a heading in --help */
    OPTION_FLAG,    /* bool: --name sets it, --no-name clears it */
    OPTION_TEXT,    /* const char *: points into argv or at the default */
    OPTION_COUNT,   /* uint64_t: digits only */
    OPTION_SIZE,    /* uint64_t bytes: 8, 32K, 1M, 4G, "4 MiB" (1024s, as nccl-tests) */
    OPTION_SECONDS, /* double: 30, 90s, 5m, 250ms */
    OPTION_NUMBER,  /* double */
    OPTION_CHOICE,  /* const char *: one of `choices` ("table|json|csv") */
    OPTION_LIST,    /* struct option_list: may be given several times */
    OPTION_REFUSED  /* known elsewhere, not here: `help` says why; an error when used */
};

struct option_list { /* texts in the order given; `items` is malloc'ed, free with free() */
    const char **items;
    size_t nr, capacity;
};

struct option_row {
    char short_name;  /* 0 = none */
    const char *name; /* long name without dashes; NULL = none */
    enum option_type type;
    const char *argument;  /* what --help calls the value; for OPTION_CHOICE "a|b|c" */
    const char *help;      /* one sentence; '\n' starts a new line */
    size_t offset;         /* of the value in the command's struct */
    const char *otherwise; /* default as text; NULL = zero / NULL */
};

struct option_command {   /* what --help says above and below the rows */
    const char *name;     /* "bench" */
    const char *usage;    /* "[options] [COLLECTIVE...]" */
    const char *summary;  /* one sentence */
    const char *examples; /* lines with two spaces in front; may be NULL */
    const struct option_row *rows;
};

/* Fills `values` (the command's struct) from defaults, then from argv[1..argc). `--name=value`,
 * `--name value`, `-xvalue`, `-x value`, joined short flags and `--` are understood; long names
 * may not be abbreviated. What is not an option is left in argv[1..*argc_left) in order.
 * `*help_wanted` is set by -h or --help (parsing then stops). Errors name the option, what was
 * found, what is expected, and the nearest known name; status EXIT_INPUT. */
int option_parse(const struct option_command *command, int argc, char **argv, void *values,
                 int *argc_left, bool *help_wanted, struct error *error);

/* Prints the page for `ccltune COMMAND --help`. */
void option_print_help(const struct option_command *command, FILE *out);

#endif
