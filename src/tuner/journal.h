/* journal.h - everything measured is kept: an append-only file, one JSON line per measurement.
 *
 * The journal is an oracle in front of another one: what it holds it answers, the rest it asks for
 * and writes down before it passes it on. So a resumed run is the same run: the tuner, which is
 * deterministic, asks again, and nothing is measured twice.
 *
 * The first line says what the measurements are of ("ccltune_journal": 1 and a description); a
 * journal of something else is refused. An unfinished last line (a crash while writing) is cut
 * off. One writer at a time: the file is locked.
 */
#ifndef CCLTUNE_JOURNAL_H
#define CCLTUNE_JOURNAL_H

#include "oracle.h"

struct journal; /* opaque */

/* Opens or makes `path`. With `resume` false an existing journal with measurements is an error that
 * names --resume. `about` (borrowed) is compared with the first line, key by key; a difference is
 * an error that names the key. */
int journal_open(const char *path, const struct json *about, bool resume, struct journal **journal,
                 struct error *error);

/* The oracle in front of `inner` (borrowed; closed by its owner). The journal must outlive it. */
struct oracle journal_oracle(struct journal *journal, struct oracle *inner);

/* How many outcomes it holds, how many of them this run reused, and seconds they cost in all. */
size_t journal_length(const struct journal *journal);
size_t journal_reused(const struct journal *journal);
double journal_cost(const struct journal *journal);

void journal_close(struct journal *journal);

#endif
