/* sched_parse_line.c - a text as lines and words, with the place of each for errors. */
#include "sched_parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    LINES_MOST = 1000000, /* read, those of a block once for each position */
    LENGTH_MOST = 1000    /* bytes of a line */
};

int parse_fail(const struct parser *parser, size_t column, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return error_set(parser->error, EXIT_INPUT, "%s:%zu:%zu: %s", parser->name, parser->line,
                     column, message);
}

int parse_fail_unknown(const struct parser *parser, struct parse_word word, const char *what,
                       const char *const names[])
{
    char text[64], list[256] = "";
    size_t length = 0;
    snprintf(text, sizeof text, "%.*s", (int)word.length, word.text);
    const char *near = error_nearest(text, names);
    if (near && word.length > 0) {
        return parse_fail(parser, word.column, "unknown %s '%s': did you mean '%s'?", what, text,
                          near);
    }
    for (size_t i = 0; names[i] && length < sizeof list; i++) {
        length +=
            (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", names[i]);
    }
    return word.length > 0
               ? parse_fail(parser, word.column, "unknown %s '%s': expected %s", what, text, list)
               : parse_fail(parser, word.column, "the line ends: expected a %s, %s", what, list);
}

/* Takes the line at `next`, without comment and indentation. */
static int take_line(struct parser *parser)
{
    const char *begin = parser->next;
    const char *stop = memchr(begin, '\n', (size_t)(parser->end - begin));
    parser->next = stop ? stop + 1 : parser->end;
    stop = stop ? stop : parser->end;
    parser->line++;
    if (stop - begin > LENGTH_MOST) {
        return parse_fail(parser, LENGTH_MOST, "a line of more than %d bytes", LENGTH_MOST);
    }
    const char *comment = memchr(begin, '#', (size_t)(stop - begin));
    stop = comment ? comment : stop;
    parser->begin = parser->at = begin;
    parser->stop = stop;
    for (const char *c = begin; c < stop; c++) {
        if (*c < ' ' || *c > '~') {
            return parse_fail(parser, (size_t)(c - begin) + 1,
                              "byte 0x%02x: expected plain text, indented by spaces",
                              (unsigned char)*c);
        }
    }
    while (parser->at < stop && *parser->at == ' ') {
        parser->at++;
    }
    parser->indent = (size_t)(parser->at - begin);
    return 0;
}

int parse_next_line(struct parser *parser, bool *is_there)
{
    do {
        if (parser->next == parser->end) {
            *is_there = false;
            parser->begin = parser->at = parser->stop = parser->end;
            parser->indent = 0;
            return 0;
        }
        if (++parser->lines_read > LINES_MOST) {
            return parse_fail(parser, 1,
                              "more than %d lines, where those of a block with r count for each of "
                              "its positions",
                              LINES_MOST);
        }
        if (take_line(parser)) {
            return -1;
        }
    } while (parser->at == parser->stop);
    *is_there = true;
    return 0;
}

struct parse_word parse_next(struct parser *parser)
{
    while (parser->at < parser->stop && *parser->at == ' ') {
        parser->at++;
    }
    struct parse_word word = {.text = parser->at,
                              .column = (size_t)(parser->at - parser->begin) + 1};
    while (parser->at < parser->stop && *parser->at != ' ') {
        parser->at++;
    }
    word.length = (size_t)(parser->at - word.text);
    return word;
}

bool parse_is(struct parse_word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

int parse_find(struct parse_word word, const char *const names[])
{
    for (int i = 0; names[i]; i++) {
        if (parse_is(word, names[i])) {
            return i;
        }
    }
    return -1;
}

/* A whole number at the front of `text`; returns what follows, or NULL. Too large stays too large.
 */
const char *parse_scan(const char *text, const char *stop, int64_t *number)
{
    bool negative = text < stop && *text == '-';
    const char *at = text + negative;
    int64_t value = 0;
    for (; at < stop && *at >= '0' && *at <= '9'; at++) {
        value = value < INT64_MAX / 20 ? value * 10 + (*at - '0') : value;
    }
    *number = negative ? -value : value;
    return at == text + negative ? NULL : at;
}

int parse_number(struct parser *parser, const char *what, int64_t least, int64_t most,
                 int32_t *number)
{
    struct parse_word word = parse_next(parser);
    const char *stop = word.text + word.length;
    int64_t value = 0;
    if (parse_scan(word.text, stop, &value) != stop || value < least || value > most) {
        const char *found = word.length ? "found '" : "the line ends";
        return parse_fail(parser, word.column,
                          "%s: expected a whole number from %" PRId64 " to %" PRId64 ", %s%.*s%s",
                          what, least, most, found, (int)word.length, word.text,
                          word.length ? "'" : "");
    }
    *number = (int32_t)value;
    return 0;
}

int parse_line_end(struct parser *parser)
{
    struct parse_word word = parse_next(parser);
    if (word.length > 0) {
        return parse_fail(parser, word.column, "'%.*s': expected the end of the line",
                          (int)word.length, word.text);
    }
    return 0;
}
