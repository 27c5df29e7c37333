/* mpich_env.c - what tuned.env says of MPICH alone: the form's version, what the rows hold for. */
#include "env_file.h"
#include "mpich_internal.h"

#include <string.h>

static bool has_row_in(const struct mpich_emission *emission, enum collective collective)
{
    for (size_t i = 0; i < emission->table->nr_rows; i++) {
        if (!emission->left_out[i] && emission->table->rows[i].collective == collective) {
            return true;
        }
    }
    return false;
}

/* Conditions that hold for single collectives, only where such a row is in. */
static const char *validity(const struct mpich_emission *emission, struct arena *arena)
{
    static const struct {
        enum collective collective;
        const char *text;
    } notes[] = {
        {COLL_ALLREDUCE, "allreduce: built-in commutative operations (MPI_SUM, not a user's)"},
        {COLL_REDUCE, "reduce: built-in commutative operations; also as MPICH's stage on one host"},
        {COLL_REDUCE_SCATTER, "reduce-scatter (MPI_Reduce_scatter_block): commutative operations"},
        {COLL_BROADCAST, "broadcast: also as MPICH's stage on one host of other collectives"},
        {COLL_ALL_TO_ALL, "all-to-all: not in place"},
    };
    const char *text =
        "#\n# Valid for communicators of just these numbers of ranks, all on one host, and the "
        "sizes above;\n# everything else is decided as before.\n";
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        if (has_row_in(emission, notes[i].collective)) {
            text = arena_printf(arena, "%s#   %s\n", text, notes[i].text);
        }
    }
    return arena_printf(arena,
                        "%s# A control variable such as MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM, if "
                        "set, wins over the file.\n",
                        text);
}

const char *mpich_env_text(const struct mpich_emission *emission, struct arena *arena)
{
    const char *version = emission->library->version;
    bool verified = version && !strcmp(version, MPICH_VERIFIED_VERSION);
    const struct env_file file = {
        .title = "MPICH",
        .variable = MPICH_FILE_VARIABLE,
        .path = emission->tree_path,
        .table = emission->table,
        .left_out = emission->left_out,
        .nr_rows_in = emission->nr_rows_in,
        .form = verified ? NULL
                         : "the file's form was verified with MPICH " MPICH_VERIFIED_VERSION
                           ", not with this version",
        .warning = emission->self_test
                       ? "Self-test: every choice is the default under another name, so each line "
                         "that follows is false."
                       : NULL,
        .validity = validity(emission, arena),
    };
    return env_file_text(&file, arena);
}
