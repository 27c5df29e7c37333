/* same_tree.c - is this selection file the tree that is built into the library?
 *
 *   same_tree LIBRARY FILE     exits with 0 when it is
 */
#include "json.h"
#include "mpich_tree.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct error error = ERROR_NONE;
    if (argc != 3) {
        fputs("expected LIBRARY FILE\n", stderr);
        return 2;
    }
    struct json *built_in = mpich_tree_extract_file(argv[1], &error);
    struct json *emitted = built_in ? json_read_file(argv[2], &error) : NULL;
    int status = 2;
    if (emitted) {
        status = json_is_equal(built_in, emitted) ? 0 : 1;
        puts(status ? "they differ" : "they are equal");
    } else {
        fprintf(stderr, "%s\n", error.message);
    }
    json_free(built_in);
    json_free(emitted);
    return status;
}
