/* journal.c - the journal's file and the oracle that remembers. */
#include "journal.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uthash.h>

struct entry { /* one measurement, found by the text of its trial */
    const char *id;
    struct outcome outcome;
    UT_hash_handle hh;
};

struct journal {
    struct arena arena;
    char *path;
    int fd;
    struct entry *entries; /* by id */
    struct oracle *inner;
    size_t nr, reused;
    double cost;
    double price_launch; /* by which the first run planned; NaN: none was written yet */
};

/* What makes two trials the same, as text. */
static const char *trial_id(const struct trial *trial, struct arena *arena)
{
    char group[GROUP_TEXT];
    struct group shape = trial->key.group;
    memcpy(shape.name, "-", 2); /* a group's name is for people */
    return arena_printf(arena, "%u/%u %s %s %llu %d %s", trial->launch, trial->round,
                        coll_name(trial->key.collective), group_format(&shape, group),
                        (unsigned long long)trial->key.bytes, trial->key.registered,
                        candidate_id(&trial->candidate, arena));
}

static struct outcome copy_outcome(const struct outcome *outcome, struct arena *arena)
{
    struct outcome copy = *outcome;
    copy.samples = arena_alloc(arena, outcome->nr + 1, sizeof(double));
    if (outcome->nr) {
        memcpy(copy.samples, outcome->samples, outcome->nr * sizeof(double));
    }
    copy.detail = arena_strdup(arena, outcome->detail ? outcome->detail : "");
    return copy;
}

static void remember(struct journal *journal, const struct trial *trial,
                     const struct outcome *outcome)
{
    struct entry *entry = arena_alloc(&journal->arena, 1, sizeof *entry), *known;
    entry->id = trial_id(trial, &journal->arena);
    entry->outcome = copy_outcome(outcome, &journal->arena);
    HASH_FIND_STR(journal->entries, entry->id, known);
    if (!known) {
        HASH_ADD_KEYPTR(hh, journal->entries, entry->id, strlen(entry->id), entry);
        journal->nr++;
        journal->cost += outcome->cost;
    }
}

static int read_line(struct journal *journal, const char *text, size_t length, size_t number,
                     const struct json *about, struct error *error)
{
    char name[4200];
    snprintf(name, sizeof name, "%s line %zu", journal->path, number);
    struct json *line = json_parse(text, length, name, error);
    if (!line) {
        return -1;
    }
    int result = 0;
    if (number == 1) {
        const struct json *found = json_get(line, "about");
        void *iterator = NULL;
        const char *key;
        const struct json *value;
        if (json_get_integer(line, "ccltune_journal", 0) != 1) {
            result = error_set(error, EXIT_INPUT, "%s: not a journal of this program", name);
        }
        while (!result && json_next(about, &iterator, &key, &value)) {
            const struct json *there = json_get(found, key);
            if (!there || !json_is_equal(value, there)) {
                char *a = there ? json_to_text(there, 0) : strdup("nothing");
                char *b = json_to_text(value, 0);
                result =
                    error_set(error, EXIT_INPUT,
                              "%s: its measurements are of something else: %s was %.120s, "
                              "now it is %.120s; use another --out, or start anew with --fresh",
                              name, key, a, b);
                free(a);
                free(b);
            }
        }
    } else if (json_get(line, "price_launch_s")) {
        journal->price_launch = json_get_number(line, "price_launch_s", NAN);
    } else {
        struct trial trial;
        struct outcome outcome;
        if (trial_from_json(json_get(line, "trial"), &journal->arena, &trial, error) ||
            outcome_from_json(json_get(line, "result"), &journal->arena, &outcome, error)) {
            result = error_prefix(error, "%s", name);
        } else {
            remember(journal, &trial, &outcome);
        }
    }
    json_free(line);
    return result;
}

/* Is the beginning of a journal, perhaps cut off, all there is in it? */
static bool is_only_head(const char *text, size_t length)
{
    static const char head[] = "{\"ccltune_journal\":";
    const char *end = memchr(text, '\n', length);
    size_t compared = length < strlen(head) ? length : strlen(head);
    return !memcmp(text, head, compared) && (!end || end == text + length - 1);
}

/* Reads all whole lines; *whole is their length in bytes. */
static int read_all(struct journal *journal, const struct json *about, bool resume, size_t *whole,
                    size_t *lines, struct error *error)
{
    char *text;
    size_t length;
    if (file_read(journal->path, (size_t)4 << 30, &text, &length, error)) {
        return -1;
    }
    *whole = 0;
    *lines = 0;
    int result = 0;
    bool only_head = is_only_head(text, length);
    if (only_head && !(resume && memchr(text, '\n', length))) {
        free(text);
        return 0; /* nothing was measured: it may as well start anew */
    }
    if (!memchr(text, '\n', length)) {
        result = error_set(error, EXIT_INPUT, "%s: not a journal of this program", journal->path);
    }
    for (char *end;
         !result && *whole < length && (end = memchr(text + *whole, '\n', length - *whole));) {
        size_t line = (size_t)(end - text) - *whole;
        result = read_line(journal, text + *whole, line, ++*lines, about, error);
        *whole += line + 1;
    }
    free(text);
    return result;
}

/* Text goes out in one write: a kill leaves it whole or absent (or cut: then it is dropped). */
static int append(struct journal *journal, const char *text, size_t length, struct error *error)
{
    off_t before = lseek(journal->fd, 0, SEEK_END);
    while (length) {
        ssize_t written = write(journal->fd, text, length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            int saved = errno;
            if (ftruncate(journal->fd, before)) {
                saved = errno; /* the unfinished line is cut off by the next run */
            }
            return error_errno(error, saved,
                               "writing the journal %s (what it held is safe; make "
                               "room and continue with --resume)",
                               journal->path);
        }
        text += written;
        length -= (size_t)written;
    }
    return 0;
}

static int start_new(struct journal *journal, const struct json *about, struct error *error)
{
    struct json *line = json_make_object();
    json_put_integer(line, "ccltune_journal", 1);
    json_put(line, "about", json_make_copy(about));
    char *text = json_to_text(line, 0);
    size_t length = strlen(text);
    text[length] = '\n';
    int result = append(journal, text, length + 1, error);
    free(text);
    json_free(line);
    return result;
}

static int open_file(struct journal *journal, const struct json *about, bool resume,
                     struct error *error)
{
    struct stat status;
    journal->fd = open(journal->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (journal->fd < 0) {
        return error_errno(error, errno, "opening the journal %s", journal->path);
    }
    if (flock(journal->fd, LOCK_EX | LOCK_NB)) {
        return error_set(error, EXIT_INPUT,
                         "journal %s: another run is writing it: wait for it, or use another --out",
                         journal->path);
    }
    if (fstat(journal->fd, &status) || !S_ISREG(status.st_mode)) {
        return error_set(error, EXIT_INPUT, "journal %s: not a regular file", journal->path);
    }
    size_t whole = 0, lines = 0;
    if (status.st_size > 0 && read_all(journal, about, resume, &whole, &lines, error)) {
        return -1;
    }
    if (!resume && journal->nr) {
        return error_set(error, EXIT_INPUT,
                         "%s holds %zu measurements of an earlier run: continue it with --resume, "
                         "start anew with --fresh, or use another --out",
                         journal->path, journal->nr);
    }
    if ((uint64_t)status.st_size > whole && ftruncate(journal->fd, (off_t)whole)) {
        return error_errno(error, errno, "cutting the unfinished last line of %s", journal->path);
    }
    return lines ? 0 : start_new(journal, about, error);
}

int journal_open(const char *path, const struct json *about, bool resume, struct journal **journal,
                 struct error *error)
{
    struct journal *made = calloc(1, sizeof *made);
    if (!made || !(made->path = strdup(path))) {
        abort();
    }
    made->price_launch = NAN;
    if (open_file(made, about, resume, error)) {
        journal_close(made);
        return -1;
    }
    *journal = made;
    return 0;
}

/* Takes `line`. */
static void print_line(FILE *out, struct json *line)
{
    char *text = json_to_text(line, 0);
    fprintf(out, "%s\n", text);
    free(text);
    json_free(line);
}

static int write_batch(struct journal *journal, const struct trial *trials,
                       const struct outcome *outcomes, size_t nr, struct error *error)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) {
        abort();
    }
    if (isnan(journal->price_launch)) {
        struct json *line = json_make_object();
        json_put_number(line, "price_launch_s", journal->inner->price_launch);
        print_line(out, line);
    }
    for (size_t i = 0; i < nr; i++) {
        struct json *line = json_make_object(), *result = json_make_object();
        json_put(line, "trial", trial_to_json(&trials[i]));
        outcome_to_json(&outcomes[i], result);
        json_put(line, "result", result);
        print_line(out, line);
    }
    fclose(out);
    int failed = append(journal, text, length, error);
    free(text);
    if (!failed && isnan(journal->price_launch)) {
        journal->price_launch = journal->inner->price_launch;
    }
    return failed;
}

static int run_remembered(struct oracle *oracle, const struct trial *trials, size_t nr,
                          struct arena *arena, struct outcome *outcomes, struct error *error)
{
    struct journal *journal = oracle->state;
    struct trial *missing = arena_alloc(arena, nr + 1, sizeof *missing);
    struct outcome *answers = arena_alloc(arena, nr + 1, sizeof *answers);
    size_t *where = arena_alloc(arena, nr + 1, sizeof *where);
    size_t nr_missing = 0;
    for (size_t i = 0; i < nr; i++) {
        struct entry *entry;
        const char *id = trial_id(&trials[i], arena);
        HASH_FIND_STR(journal->entries, id, entry);
        if (entry) {
            outcomes[i] = copy_outcome(&entry->outcome, arena);
            journal->reused++;
        } else {
            where[nr_missing] = i;
            missing[nr_missing++] = trials[i];
        }
    }
    /* Asked and written key by key, so that a long batch loses little when this process is killed.
     */
    for (size_t first = 0, end; first < nr_missing; first = end) {
        for (end = first + 1;
             end < nr_missing && key_equal(&missing[end].key, &missing[first].key);) {
            end++;
        }
        if (journal->inner->run(journal->inner, missing + first, end - first, arena,
                                answers + first, error) ||
            write_batch(journal, missing + first, answers + first, end - first, error)) {
            return -1;
        }
        for (size_t i = first; i < end; i++) {
            remember(journal, &missing[i], &answers[i]);
            outcomes[where[i]] = answers[i];
        }
    }
    return 0;
}

static void close_nothing(struct oracle *oracle)
{
    oracle->state = NULL; /* journal and inner oracle are closed by their owners */
}

struct oracle journal_oracle(struct journal *journal, struct oracle *inner)
{
    struct oracle oracle = *inner;
    journal->inner = inner;
    oracle.run = run_remembered;
    oracle.close = close_nothing;
    oracle.state = journal;
    if (!isnan(journal->price_launch)) {
        oracle.price_launch = journal->price_launch; /* the same plan as before */
    }
    return oracle;
}

size_t journal_length(const struct journal *journal)
{
    return journal->nr;
}

size_t journal_reused(const struct journal *journal)
{
    return journal->reused;
}

double journal_cost(const struct journal *journal)
{
    return journal->cost;
}

void journal_close(struct journal *journal)
{
    if (!journal) {
        return;
    }
    HASH_CLEAR(hh, journal->entries);
    if (journal->fd >= 0) {
        close(journal->fd);
    }
    arena_release(&journal->arena);
    free(journal->path);
    free(journal);
}
