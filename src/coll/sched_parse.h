/* sched_parse.h - between the parts of sched_load: lines and words (sched_parse_line.c), the header
 * (sched_parse_header.c), the words of a step (sched_parse_step.c), blocks and the whole
 * (sched_parse.c).
 */
#ifndef CCLTUNE_SCHED_PARSE_H
#define CCLTUNE_SCHED_PARSE_H

#include "schedule.h"

#define PARSE_NUMBER_MOST (1 << 24) /* of every number, so that no index overflows */

struct parse_word {
    const char *text; /* within the input; not ended by a zero */
    size_t length;    /* 0: the line is over */
    size_t column;    /* 1-based */
};

struct parser {
    const char *name; /* of the input, for errors */
    const char *text, *end;
    const char *next;              /* the line after this one */
    size_t line;                   /* number of this one; 0 before the first */
    size_t indent;                 /* spaces before its first word */
    const char *begin, *at, *stop; /* this line without its comment, and what is left of it */
    size_t lines_read, items;      /* so far, against the limits */
    struct schedule *schedule;
    uint32_t position;   /* whose program is read */
    uint32_t outer_most; /* the outermost open repeat's last turn */
    bool relative;       /* r was used since this was reset */
    struct arena *arena;
    struct error *error;
};

/* "name:line:column: ..." of status EXIT_INPUT; returns -1. */
int parse_fail(const struct parser *parser, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As "unknown WHAT 'word'" with the nearest of the names (NULL-ended), or all of them. */
int parse_fail_unknown(const struct parser *parser, struct parse_word word, const char *what,
                       const char *const names[]);

/* The next line with words; *is_there false at the end of the text. */
int parse_next_line(struct parser *parser, bool *is_there);
/* The next word of the line. */
struct parse_word parse_next(struct parser *parser);
bool parse_is(struct parse_word word, const char *text);
/* Index of a word in `names` (NULL-ended), or -1. */
int parse_find(struct parse_word word, const char *const names[]);
/* A whole number at the front of `text`; returns what follows, or NULL. Too large stays too large.
 */
const char *parse_scan(const char *text, const char *stop, int64_t *number);
/* The next word as a whole number from `least` to `most`; `what` is for the error. */
int parse_number(struct parser *parser, const char *what, int64_t least, int64_t most,
                 int32_t *number);
/* Fails when the line goes on. */
int parse_line_end(struct parser *parser);

/* The lines up to the first `position`, which is the next word then; the schedule's all but
 * programs.
 */
int parse_header(struct parser *parser);
/* What follows the word `step`, up to the end of the line. */
int parse_step(struct parser *parser, struct sched_step *step);

#endif
