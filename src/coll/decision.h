/* decision.h - the decision table: what was decided, on what evidence. Filled by the tuner, written
 * out by targets, drawn by reports.
 *
 * A *point* is one key with its measurements; a *row* is a range of sizes of one collective and
 * group with one choice, proven at every point it covers. Gains are relative:
 * 0.25 = 25 % faster = time of the default / time of the choice - 1.
 */
#ifndef CCLTUNE_DECISION_H
#define CCLTUNE_DECISION_H

#include "arena.h"
#include "candidate.h"
#include "json.h"
#include "stats.h"

#include <stddef.h>
#include <stdint.h>

enum evidence { EVIDENCE_PREDICTED, EVIDENCE_SIMULATED, EVIDENCE_MEASURED, EVIDENCE_IN_TARGET };

struct decision_rival { /* a candidate as the race saw it, also one that was dropped */
    const char *algorithm;
    double seconds; /* median; NaN = no sample */
    size_t samples;
    const char *verdict; /* "slower", "wrong: ...", "preferred": one clause for people */
};

struct decision_point {
    struct key key;
    struct candidate choice;    /* what the race preferred; the default when nothing did */
    const char *default_choice; /* what the library does by itself here; NULL = not known */
    double default_seconds;     /* medians; of the confirmation where there was one, */
    double choice_seconds;      /* else of the race */
    struct interval gain;       /* from confirmation only; NaN where there was none */
    double p;                   /* one-sided; NaN where there was no confirmation */
    size_t pairs;               /* pairs of fresh launches behind gain and p */
    const double *log_ratios;   /* pairs of them: log(default / choice) of each pair; or NULL */
    bool proven;                /* p below the level for one line, and gain.low > 0 */
    const char *reason;         /* why not, or why: one clause for people */
    const struct decision_rival *rivals; /* of the race, the default first */
    size_t nr_rivals;
};

struct decision_row {
    enum collective collective;
    struct group group;
    uint64_t first_bytes, last_bytes; /* both covered; last may be UINT64_MAX */
    struct candidate choice;          /* the default: nothing is emitted for the row */
    struct interval gain;             /* of the range as a whole (mean log ratio a pair) */
    double least_low;                 /* the least sure point's lower bound */
    size_t first_point, nr_points;    /* indices into the table's points */
};

struct decision_table {
    struct arena arena;       /* owns everything below */
    const char *target;       /* "mpich" */
    const char *library;      /* "MPICH 4.0.2, ch4:ucx" */
    const char *version;      /* "4.0.2" */
    const char *fingerprint;  /* of the topology */
    const char *machine;      /* one line for people */
    const char *date;         /* ISO 8601, UTC */
    const char *tool_version; /* "ccltune 0.1.0" */
    const char *launch;       /* the launch command */
    const char *default_is;   /* "built-in selection" or the user's own file */
    enum evidence evidence;
    uint64_t seed;
    double alpha;        /* chance of a false line in the whole file: 0.05 */
    size_t lines_tested; /* m: points that went into confirmation */
    size_t pairs;        /* of fresh launches made */
    double canary;    /* median seconds of the launches' canary, the machine's state; NaN = none */
    bool interrupted; /* the user stopped it */
    struct decision_point *points; /* sorted by collective, group, bytes */
    size_t nr_points;
    struct decision_row *rows; /* non-default rows only, same order */
    size_t nr_rows;
};

void decision_release(struct decision_table *table);

/* Gathers neighbouring proven points with one choice into rows (never across a point that is not
 * proven); fills rows from points. A row covers from its first to its last point. */
void decision_make_rows(struct decision_table *table);

/* result.json's content (stable schema, "ccltune_result": 1), and back. */
struct json *decision_to_json(const struct decision_table *table);
int decision_from_json(const struct json *json, struct decision_table *table, struct error *error);

#endif
