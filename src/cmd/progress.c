/* progress.c - "confirm  12/24  50%  8 s left". */
#include "progress.h"

#include "wire.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void progress_begin(struct progress *progress, bool quiet)
{
    const char *terminal = isatty(STDERR_FILENO) ? "yes" : NULL;
    *progress = (struct progress){.on = terminal && !quiet, .begun = wire_now()};
}

static void wipe(struct progress *progress)
{
    if (progress->shown) {
        fprintf(stderr, "\r\033[K");
        progress->shown = false;
    }
}

void progress_step(void *context, const char *stage, size_t done, size_t of, const char *what)
{
    struct progress *progress = context;
    double now = wire_now();
    if (strcmp(stage, progress->stage)) {
        snprintf(progress->stage, sizeof progress->stage, "%s", stage);
        progress->stage_begun = now;
    } else if (now - progress->drawn < 0.1) {
        return;
    }
    if (!progress->on) {
        return;
    }
    double spent = now - progress->stage_begun;
    double left = done ? spent / (double)done * (double)(of > done ? of - done : 0) : 0;
    wipe(progress);
    fprintf(stderr, "%-8s %zu/%zu  %3.0f%%  %s%s", stage, done, of,
            of ? 100.0 * (double)done / (double)of : 0, what, *what ? "  " : "");
    if (done > of / 20 && spent > 1) {
        fprintf(stderr, "about %.0f s left", left);
    }
    fflush(stderr);
    progress->shown = true;
    progress->drawn = now;
}

void progress_note(void *context, const char *text)
{
    struct progress *progress = context;
    wipe(progress);
    fprintf(stderr, "ccltune: note: %s\n", text);
}

void progress_end(struct progress *progress)
{
    wipe(progress);
}
