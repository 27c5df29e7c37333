/* mpich_extract.c - the built-in selection tree out of a library file.
 *
 * MPICH compiles the tree in as one zero-ended JSON text (14.5 KB in 4.0.2) and offers no call that
 * returns it. Of the texts that begin alike, the device's choose composition=MPIDI_... or
 * algorithm=MPIDI_POSIX_...; the one that a selection file replaces chooses algorithm=MPIR_....
 * The file is only searched, never trusted: each byte is read once, candidates are bounded.
 */
#include "mpich_tree.h"

#include "file.h"

#include <stdlib.h>
#include <string.h>

static const char start[] = "{\"collective=";

enum { TEXT_MOST = 1 << 20, FILE_MOST = 1 << 30 };

static bool holds(const char *text, size_t length, const char *wanted)
{
    return memmem(text, length, wanted, strlen(wanted)) != NULL;
}

/* Parses one candidate; NULL when it is not a tree of MPIR_ algorithms. */
static struct json *read_candidate(const char *text, size_t length)
{
    struct error ignored = ERROR_NONE;
    if (!holds(text, length, "\"algorithm=MPIR_") || holds(text, length, "\"composition=")) {
        return NULL;
    }
    struct json *tree = json_parse(text, length, "built-in tree", &ignored);
    if (tree && !json_is_object(tree)) {
        json_free(tree);
        return NULL;
    }
    return tree;
}

struct json *mpich_tree_extract(const char *bytes, size_t length, const char *name,
                                struct error *error)
{
    struct json *best = NULL;
    const char *end = bytes + length;
    for (const char *text = bytes; text < end;) {
        text = memmem(text, (size_t)(end - text), start, sizeof start - 1);
        if (!text) {
            break;
        }
        size_t most = (size_t)(end - text) < TEXT_MOST ? (size_t)(end - text) : TEXT_MOST;
        size_t text_length = strnlen(text, most);
        struct json *tree = text_length < most ? read_candidate(text, text_length) : NULL;
        if (json_length(tree) > json_length(best)) {
            json_free(best);
            best = tree;
        } else {
            json_free(tree);
        }
        text += text_length;
    }
    if (!best) {
        error_set(
            error, EXIT_ABSENT,
            "%s: no selection tree in it (looked for %s... with algorithm=MPIR_...); expected "
            "the library of MPICH 4.0 or later: give its path, or a selection file by %s",
            name, start, MPICH_FILE_VARIABLE);
    }
    return best;
}

struct json *mpich_tree_extract_file(const char *path, struct error *error)
{
    char *bytes = NULL;
    size_t length = 0;
    if (file_read(path, FILE_MOST, &bytes, &length, error)) {
        return NULL;
    }
    struct json *tree = mpich_tree_extract(bytes, length, path, error);
    free(bytes);
    return tree;
}
