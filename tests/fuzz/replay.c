/* Stands in for libFuzzer where tests are run: hands each file of a corpus to a fuzz target once,
 * so that what once broke a parser is tried by every build, with any compiler, and takes no time.
 * Prints TAP, one test a file; a crash ends the program and so fails the test that was announced.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The file's bytes in a block of just that size, so that ASan sees a read past the end. */
static uint8_t *read_input(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long end = -1;

    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) >= 0) {
        rewind(file);
        data = malloc(end > 0 ? (size_t)end : 1);
        if (data && fread(data, 1, (size_t)end, file) != (size_t)end) {
            free(data);
            data = NULL;
        }
    }
    fclose(file);
    *size = (size_t)end;
    return data;
}

static int replay(int number, const char *directory, const char *name)
{
    char path[4096];
    size_t size;
    uint8_t *data;

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    data = read_input(path, &size);
    if (!data) {
        printf("not ok %d - %s\n# cannot read it: %s\n", number, path, strerror(errno));
        return -1;
    }
    printf("# next: %s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    printf("ok %d - %s\n", number, path);
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    struct dirent **entries = NULL;
    int failed = 0;
    int n;

    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
        return 2;
    }
    n = scandir(argv[1], &entries, is_input, alphasort);
    if (n <= 0) {
        printf("1..1\nnot ok 1 - %s holds no inputs\n", argv[1]);
        return 1;
    }
    printf("1..%d\n", n);
    for (int i = 0; i < n; i++) {
        failed |= replay(i + 1, argv[1], entries[i]->d_name) != 0;
        free(entries[i]);
    }
    free(entries);
    return failed;
}
