/* emission.c - nothing is handed over that a real launch has not loaded. */
#include "emission.h"

#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOAD_LAUNCH UINT32_MAX /* the number of the launch that loads the staged files */

int emission_write_result(const struct decision_table *table, const char *directory,
                          struct error *error)
{
    struct json *json = decision_to_json(table);
    char *text = json_to_text(json, 1), *path = file_join(directory, "result.json");
    int failed = file_write(path, text, strlen(text), error);
    free(path);
    free(text);
    json_free(json);
    return failed;
}

static int write_staged(const struct emitted_file *files, size_t nr,
                        const struct decision_table *table, const char *staging,
                        struct error *error)
{
    int failed = file_make_directory(staging, error);
    for (size_t i = 0; !failed && i < nr; i++) {
        char *path = file_join(staging, files[i].name);
        failed = file_write(path, files[i].text, strlen(files[i].text), error);
        free(path);
    }
    return failed || emission_write_result(table, staging, error) ? -1 : 0;
}

/* One point of each row, or any point when there is no row. */
static size_t choose_points(const struct decision_table *table, const struct candidate *with,
                            struct trial *trials)
{
    size_t nr = 0;
    for (size_t r = 0; r < table->nr_rows || (r == 0 && table->nr_points); r++) {
        size_t point = table->nr_rows ? table->rows[r].first_point : 0;
        trials[nr++] = (struct trial){.candidate = *with,
                                      .key = table->points[point].key,
                                      .launch = LOAD_LAUNCH,
                                      .samples = 3};
    }
    return nr;
}

static int load_staged(const struct target *target, const struct decision_table *table,
                       const char *staging, struct oracle *oracle, struct arena *arena,
                       struct error *error)
{
    struct candidate with;
    struct trial *trials = arena_alloc(arena, table->nr_rows + 1, sizeof *trials);
    struct outcome *outcomes = arena_alloc(arena, table->nr_rows + 1, sizeof *outcomes);
    if (target->load_settings(staging, arena, &with, error)) {
        return -1;
    }
    size_t nr = choose_points(table, &with, trials);
    if (nr && oracle->run(oracle, trials, nr, arena, outcomes, error)) {
        return error_prefix(error, "loading the emitted files in a real launch");
    }
    for (size_t i = 0; i < nr; i++) {
        if (outcomes[i].kind != OUTCOME_SAMPLES) {
            return error_set(error, outcomes[i].kind == OUTCOME_WRONG ? EXIT_WRONG : EXIT_SYSTEM,
                             "the emitted files are not handed over: loaded in a real launch, %s "
                             "%s: %s",
                             coll_name(trials[i].key.collective), outcome_name(outcomes[i].kind),
                             outcomes[i].detail);
        }
    }
    return 0;
}

static int move_into_place(const char *staging, const char *directory, const char *name,
                           struct error *error)
{
    char *from = file_join(staging, name), *to = file_join(directory, name);
    int failed = rename(from, to) ? error_errno(error, errno, "moving %s into place", to) : 0;
    free(from);
    free(to);
    return failed;
}

/* What is still in there was not handed over. */
static void clear_staging(const char *staging, const struct emitted_file *files, size_t nr)
{
    for (size_t i = 0; i <= nr; i++) {
        char *path = file_join(staging, i < nr ? files[i].name : "result.json");
        unlink(path);
        free(path);
    }
    rmdir(staging);
}

int emission_hand_over(const struct target *target, const struct library *library,
                       const struct decision_table *table, const char *directory,
                       struct oracle *oracle, struct error *error)
{
    struct arena arena = ARENA_EMPTY;
    struct emitted_file *files = NULL;
    size_t nr = 0;
    char *staging = file_join(directory, "staging");
    int failed = target->emit(library, table, directory, &arena, &files, &nr, error) ||
                 write_staged(files, nr, table, staging, error) ||
                 load_staged(target, table, staging, oracle, &arena, error);
    failed = failed || move_into_place(staging, directory, "result.json", error);
    for (size_t i = nr; !failed && i > 0; i--) { /* the first names the others: it comes last */
        failed = move_into_place(staging, directory, files[i - 1].name, error);
    }
    clear_staging(staging, files, nr);
    free(staging);
    arena_release(&arena);
    return failed ? -1 : 0;
}
