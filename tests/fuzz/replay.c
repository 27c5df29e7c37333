/* replay.c - feeds stored inputs to a fuzz target, so that what was found stays mended.
 *
 * Linked with one fuzz_*.c in libFuzzer's place. Arguments: files and directories of files. Prints
 * TAP; an input that brings the target down ends the program before its "ok".
 */
#include "arena.h"
#include "file.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { INPUT_MOST = 64 << 20 };

struct inputs {
    void *paths; /* char *[] */
    size_t nr, capacity;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_path(struct inputs *inputs, char *path)
{
    array_grow(&inputs->paths, &inputs->capacity, inputs->nr, sizeof path);
    ((char **)inputs->paths)[inputs->nr++] = path;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The files of a directory in order of name, or the file itself. */
static int add_argument(struct inputs *inputs, const char *argument)
{
    struct stat status;
    struct dirent **entries = NULL;
    if (stat(argument, &status) != 0 || !S_ISDIR(status.st_mode)) {
        add_path(inputs, strdup(argument));
        return 0;
    }
    int nr = scandir(argument, &entries, is_visible, alphasort);
    for (int i = 0; i < nr; i++) {
        add_path(inputs, file_join(argument, entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
    if (nr <= 0) {
        fprintf(stderr, "%s: no inputs in it\n", argument);
    }
    return nr > 0 ? 0 : -1;
}

/* The input is copied to a block of its exact size: a sanitizer then sees a read past its end. */
static int replay(const char *path, size_t number)
{
    struct error error = ERROR_NONE;
    char *text = NULL;
    size_t length = 0;
    if (file_read(path, INPUT_MOST, &text, &length, &error) != 0) {
        printf("not ok %zu - %s # %s\n", number, path, error.message);
        return -1;
    }
    uint8_t *data = malloc(length > 0 ? length : 1);
    if (!data) {
        arena_out_of_memory();
    }
    memcpy(data, text, length);
    free(text);
    printf("# next: %s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, length);
    free(data);
    printf("ok %zu - %s\n", number, path);
    return 0;
}

int main(int argc, char **argv)
{
    struct inputs inputs = {0};
    int result = argc > 1 ? 0 : -1;
    for (int i = 1; i < argc; i++) {
        result |= add_argument(&inputs, argv[i]);
    }
    printf("1..%zu\n", inputs.nr);
    for (size_t i = 0; i < inputs.nr; i++) {
        char *path = ((char **)inputs.paths)[i];
        result |= replay(path, i + 1);
        free(path);
    }
    free(inputs.paths);
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
