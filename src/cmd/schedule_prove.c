/* schedule_prove.c - one schedule, proven for several windows and slices a chunk.
 *
 * A message that leaves before its lane's next receive must fit the window with a slice to spare,
 * so a row may have chunks of at most window - 1 slices (a ring) or larger ones (an exchange). Both
 * are right; which it is decides how large a chunk may be made, and is said.
 */
#include "schedule_prove.h"

#include "sched_check.h"

#include <inttypes.h>

struct proof {
    uint32_t window, slices;
};

static const struct proof proofs[] = {{4, 3}, {4, 1}, {8, 3}, {8, 1}, {2, 1}};
static const struct proof larger_than_window = {2, 16};

static int check(const struct schedule *schedule, struct proof proof, enum sched_fault *fault,
                 struct error *error)
{
    struct sched_check_options options = sched_check_usual;
    options.window = proof.window;
    options.slices_per_chunk = proof.slices;
    if (sched_check(schedule, &options, fault, error)) {
        return error_prefix(error, "%s, window %" PRIu32 ", %" PRIu32 " slice%s a chunk",
                            schedule->request.in_place ? "in place" : "out of place", proof.window,
                            proof.slices, proof.slices == 1 ? "" : "s");
    }
    return 0;
}

/* What chunks of many slices do in a small window; NULL: not what they may. */
static const char *try_larger(const struct schedule *schedule, struct error *error)
{
    enum sched_fault fault = FAULT_NONE;
    struct error larger = ERROR_NONE;
    if (!check(schedule, larger_than_window, &fault, &larger)) {
        return "; chunks may be larger than the window";
    }
    if (fault == FAULT_DEADLOCK) {
        return "; chunks of at most window - 1 slices (larger ones deadlock)";
    }
    if (fault == FAULT_MALFORMED) { /* too many ranks for so many slices */
        return "";
    }
    *error = larger;
    return NULL;
}

int schedule_prove(const struct schedule *schedule, FILE *out, struct error *error)
{
    for (size_t i = 0; i < sizeof proofs / sizeof *proofs; i++) {
        if (check(schedule, proofs[i], NULL, error)) {
            return -1;
        }
    }
    const char *larger = try_larger(schedule, error);
    if (!larger) {
        return -1;
    }
    fprintf(out,
            "proven: %s, %s on %" PRIu32 " ranks, %s: windows of 2, 4, 8 slots, 1 and 3 slices a "
            "chunk, %" PRIu32 " loops x %" PRIu32 " calls%s\n",
            schedule->name, coll_name(schedule->request.collective), schedule->request.ranks,
            schedule->request.in_place ? "in place" : "out of place", sched_check_usual.loops,
            sched_check_usual.calls, larger);
    return 0;
}
