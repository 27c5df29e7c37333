/* option.c - command-line options by table: see option.h.
 *
 * An own small parser instead of getopt_long: the rows carry the types, so one place words every
 * error, with what was found, what is expected and the nearest name; and long names are never
 * abbreviated, so that a new option cannot change what an old script means.
 */
#include "option.h"

#include "arena.h"
#include "number.h"
#include "units.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    const struct option_command *command;
    int argc, next; /* argv[next] is the argument to look at */
    char **argv;
    int nr_left; /* argv[1..nr_left) are not options */
    char *values;
    bool help_wanted;
    struct error *error;
};

/* ---- values: one function a type; each returns 0, or -1 after saying what was expected ---- */

/* Writes "--name" or "-x" of a row, for messages. */
#define SPELLING_MAX 64
static const char *row_spelling(const struct option_row *row, char *buffer)
{
    if (row->name != NULL)
        snprintf(buffer, SPELLING_MAX, "--%.60s", row->name);
    else
        snprintf(buffer, SPELLING_MAX, "-%c", row->short_name);
    return buffer;
}

static int set_flag(const struct option_row *row, const char *text, void *value,
                    struct error *error)
{
    (void)row;
    bool yes = strcmp(text, "yes") == 0;
    if (!yes && strcmp(text, "no") != 0)
        return error_set(error, EXIT_INPUT, "expected yes or no, found '%.60s'", text);
    memcpy(value, &yes, sizeof yes);
    return 0;
}

static int set_text(const struct option_row *row, const char *text, void *value,
                    struct error *error)
{
    (void)row;
    (void)error;
    memcpy(value, &text, sizeof text);
    return 0;
}

static int set_count(const struct option_row *row, const char *text, void *value,
                     struct error *error)
{
    (void)row;
    uint64_t count = 0;
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
        return error_set(error, EXIT_INPUT,
                         "expected a whole number such as 20 (digits only), found '%.60s'", text);
    for (const char *digit = text; *digit != '\0'; digit++) {
        if (__builtin_mul_overflow(count, 10u, &count) ||
            __builtin_add_overflow(count, (unsigned)(*digit - '0'), &count))
            return error_set(error, EXIT_INPUT,
                             "expected a whole number up to %" PRIu64 ", found '%.60s'", UINT64_MAX,
                             text);
    }
    memcpy(value, &count, sizeof count);
    return 0;
}

static int set_size(const struct option_row *row, const char *text, void *value,
                    struct error *error)
{
    (void)row;
    uint64_t bytes;
    if (units_parse_size(text, &bytes, error) != 0)
        return -1;
    memcpy(value, &bytes, sizeof bytes);
    return 0;
}

static int set_seconds(const struct option_row *row, const char *text, void *value,
                       struct error *error)
{
    (void)row;
    double seconds;
    if (units_parse_seconds(text, &seconds, error) != 0)
        return -1;
    memcpy(value, &seconds, sizeof seconds);
    return 0;
}

static int set_number(const struct option_row *row, const char *text, void *value,
                      struct error *error)
{
    (void)row;
    double number;
    const char *rest = number_scan(text, &number);
    if (rest == NULL || *rest != '\0' || !isfinite(number))
        return error_set(error, EXIT_INPUT,
                         "expected a number such as 2 or 0.5 (not negative), found '%.60s'", text);
    memcpy(value, &number, sizeof number);
    return 0;
}

static int set_choice(const struct option_row *row, const char *text, void *value,
                      struct error *error)
{
    size_t length = strlen(text);
    for (const char *choice = row->argument; choice != NULL;) {
        size_t choice_length = strcspn(choice, "|");
        if (choice_length == length && memcmp(choice, text, length) == 0)
            return set_text(row, text, value, error);
        choice = choice[choice_length] == '|' ? choice + choice_length + 1 : NULL;
    }
    return error_set(error, EXIT_INPUT, "expected one of %s, found '%.60s'", row->argument, text);
}

static int append_text(const struct option_row *row, const char *text, void *value,
                       struct error *error)
{
    (void)row;
    (void)error;
    struct option_list *list = value;
    void *items = list->items;
    array_grow(&items, &list->capacity, list->nr, sizeof *list->items);
    list->items = items;
    list->items[list->nr++] = text;
    return 0;
}

static const struct {
    int (*set)(const struct option_row *row, const char *text, void *value, struct error *error);
    size_t size; /* of the value in the command's struct */
} types[] = {
    [OPTION_FLAG] = {set_flag, sizeof(bool)},
    [OPTION_TEXT] = {set_text, sizeof(char *)},
    [OPTION_COUNT] = {set_count, sizeof(uint64_t)},
    [OPTION_SIZE] = {set_size, sizeof(uint64_t)},
    [OPTION_SECONDS] = {set_seconds, sizeof(double)},
    [OPTION_NUMBER] = {set_number, sizeof(double)},
    [OPTION_CHOICE] = {set_choice, sizeof(char *)},
    [OPTION_LIST] = {append_text, sizeof(struct option_list)},
    [OPTION_REFUSED] = {NULL, 0},
};

static bool row_takes_value(const struct option_row *row)
{
    return row->type != OPTION_FLAG && row->type != OPTION_REFUSED;
}

static int set_value(struct parser *parser, const struct option_row *row, const char *text)
{
    char spelling[SPELLING_MAX];
    if (types[row->type].set(row, text, parser->values + row->offset, parser->error) != 0)
        return error_prefix(parser->error, "%s", row_spelling(row, spelling));
    return 0;
}

/* ---- defaults ---- */

static int set_defaults(struct parser *parser)
{
    for (const struct option_row *row = parser->command->rows; row->type != OPTION_END; row++) {
        memset(parser->values + row->offset, 0, types[row->type].size);
        if (row->otherwise == NULL || row->type == OPTION_LIST || types[row->type].set == NULL)
            continue;
        if (set_value(parser, row, row->otherwise) != 0)
            return error_prefix(parser->error, "default of");
    }
    return 0;
}

/* A list's default stands only where none was given. */
static int set_list_defaults(struct parser *parser)
{
    for (const struct option_row *row = parser->command->rows; row->type != OPTION_END; row++) {
        if (row->type != OPTION_LIST || row->otherwise == NULL)
            continue;
        struct option_list *list = (void *)(parser->values + row->offset);
        if (list->nr == 0 && set_value(parser, row, row->otherwise) != 0)
            return -1;
    }
    return 0;
}

static void free_lists(struct parser *parser)
{
    for (const struct option_row *row = parser->command->rows; row->type != OPTION_END; row++) {
        if (row->type != OPTION_LIST)
            continue;
        struct option_list *list = (void *)(parser->values + row->offset);
        free(list->items);
        *list = (struct option_list){0};
    }
}

/* ---- finding rows ---- */

static bool row_is_option(const struct option_row *row)
{
    return row->type != OPTION_HEADING;
}

static const struct option_row *find_long(const struct option_command *command, const char *name,
                                          size_t length)
{
    for (const struct option_row *row = command->rows; row->type != OPTION_END; row++)
        if (row_is_option(row) && row->name != NULL && strlen(row->name) == length &&
            memcmp(row->name, name, length) == 0)
            return row;
    return NULL;
}

static const struct option_row *find_short(const struct option_command *command, char name)
{
    for (const struct option_row *row = command->rows; row->type != OPTION_END; row++)
        if (row_is_option(row) && row->short_name != '\0' && row->short_name == name)
            return row;
    return NULL;
}

/* The long name nearest to what was typed, or NULL. Refused ones are no help. */
static const char *nearest_name(const struct option_command *command, const char *typed)
{
    size_t nr = 0, capacity = 0;
    void *names = NULL;
    for (const struct option_row *row = command->rows; row->type != OPTION_END; row++) {
        if (!row_is_option(row) || row->type == OPTION_REFUSED || row->name == NULL)
            continue;
        array_grow(&names, &capacity, nr, sizeof(char *));
        ((const char **)names)[nr++] = row->name;
    }
    array_grow(&names, &capacity, nr + 1, sizeof(char *));
    ((const char **)names)[nr] = "help";
    ((const char **)names)[nr + 1] = NULL;
    const char *nearest = error_nearest(typed, names);
    free(names);
    return nearest;
}

static int unknown_option(struct parser *parser, const char *spelling, const char *nearest)
{
    const char *name = parser->command->name;
    if (nearest != NULL)
        return error_set(parser->error, EXIT_INPUT,
                         "unknown option '%.60s'; did you mean --%s? ('ccltune %s --help' lists "
                         "all options)",
                         spelling, nearest, name);
    return error_set(parser->error, EXIT_INPUT,
                     "unknown option '%.60s'; 'ccltune %s --help' lists all options", spelling,
                     name);
}

/* ---- arguments ---- */

/* The value of a row that stands in the next argument. Another option there means that the value
 * was forgotten; "-" (standard input) and "-5" are values, if perhaps wrong ones. */
static int take_next_value(struct parser *parser, const struct option_row *row)
{
    char spelling[SPELLING_MAX];
    row_spelling(row, spelling);
    if (parser->next >= parser->argc)
        return error_set(parser->error, EXIT_INPUT, "%s: missing its value %s", spelling,
                         row->argument != NULL ? row->argument : "");
    const char *text = parser->argv[parser->next];
    if (text[0] == '-' && text[1] != '\0' && strspn(text + 1, "0123456789.") == 0) {
        if (row->name == NULL)
            return error_set(parser->error, EXIT_INPUT, "%s: missing its value, found '%.60s'",
                             spelling, text);
        return error_set(parser->error, EXIT_INPUT,
                         "%s: missing its value, found '%.60s'; if that is the value, write "
                         "%s=%.60s",
                         spelling, text, spelling, text);
    }
    parser->next++;
    return set_value(parser, row, text);
}

static int refuse(struct parser *parser, const struct option_row *row, const char *spelling)
{
    return error_set(parser->error, EXIT_INPUT, "option '%.60s' is not taken here: %s", spelling,
                     row->help);
}

/* "--no-name", the opposite of a flag; NULL where it is not one. */
static const struct option_row *find_negated(const struct option_command *command, const char *name,
                                             size_t length)
{
    if (length <= 3 || memcmp(name, "no-", 3) != 0)
        return NULL;
    const struct option_row *row = find_long(command, name + 3, length - 3);
    return row != NULL && row->type == OPTION_FLAG ? row : NULL;
}

static int parse_flag(struct parser *parser, const struct option_row *row, bool negated,
                      const char *argument)
{
    if (strchr(argument, '=') != NULL)
        return error_set(parser->error, EXIT_INPUT,
                         "'%.60s': --%s takes no value; write --%s or --no-%s", argument, row->name,
                         row->name, row->name);
    return set_value(parser, row, negated ? "no" : "yes");
}

static int parse_long(struct parser *parser, const char *argument)
{
    const struct option_command *command = parser->command;
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    if (strcmp(name, "help") == 0) {
        parser->help_wanted = true;
        return 0;
    }
    const struct option_row *row = find_long(command, name, length);
    const struct option_row *negated = row == NULL ? find_negated(command, name, length) : NULL;
    if (row == NULL && negated == NULL) {
        char typed[SPELLING_MAX];
        snprintf(typed, sizeof typed, "%.*s", length < 60 ? (int)length : 60, name);
        return unknown_option(parser, argument, nearest_name(command, typed));
    }
    if (negated != NULL)
        return parse_flag(parser, negated, true, argument);
    if (row->type == OPTION_REFUSED)
        return refuse(parser, row, argument);
    if (row->type == OPTION_FLAG)
        return parse_flag(parser, row, false, argument);
    if (name[length] == '=')
        return set_value(parser, row, name + length + 1);
    return take_next_value(parser, row);
}

/* "-xvalue", "-x value" or flags joined ("-qv", "-qb8"). */
static int parse_short(struct parser *parser, const char *argument)
{
    for (const char *letter = argument + 1; *letter != '\0'; letter++) {
        char spelling[3] = {'-', *letter, '\0'};
        if (*letter == 'h') {
            parser->help_wanted = true;
            return 0;
        }
        const struct option_row *row = find_short(parser->command, *letter);
        if (row == NULL) {
            /* One dash too few is the commonest slip. */
            const struct option_row *meant =
                find_long(parser->command, argument + 1, strcspn(argument + 1, "="));
            return unknown_option(parser, meant != NULL ? argument : spelling,
                                  meant != NULL ? meant->name : NULL);
        }
        if (row->type == OPTION_REFUSED)
            return refuse(parser, row, spelling);
        if (row_takes_value(row))
            return letter[1] != '\0' ? set_value(parser, row, letter + 1)
                                     : take_next_value(parser, row);
        if (set_value(parser, row, "yes") != 0)
            return -1;
    }
    return 0;
}

static int parse_arguments(struct parser *parser)
{
    while (parser->next < parser->argc && !parser->help_wanted) {
        char *argument = parser->argv[parser->next++];
        if (strcmp(argument, "--") == 0) {
            while (parser->next < parser->argc)
                parser->argv[parser->nr_left++] = parser->argv[parser->next++];
        } else if (strncmp(argument, "--", 2) == 0) {
            if (parse_long(parser, argument) != 0)
                return -1;
        } else if (argument[0] == '-' && argument[1] != '\0') {
            if (parse_short(parser, argument) != 0)
                return -1;
        } else {
            parser->argv[parser->nr_left++] = argument;
        }
    }
    return 0;
}

int option_parse(const struct option_command *command, int argc, char **argv, void *values,
                 int *argc_left, bool *help_wanted, struct error *error)
{
    struct parser parser = {.command = command,
                            .argc = argc,
                            .next = 1,
                            .argv = argv,
                            .nr_left = 1,
                            .values = values,
                            .error = error};
    if (set_defaults(&parser) != 0 || parse_arguments(&parser) != 0 ||
        set_list_defaults(&parser) != 0) {
        free_lists(&parser);
        return -1;
    }
    *argc_left = parser.nr_left;
    *help_wanted = parser.help_wanted;
    return 0;
}
