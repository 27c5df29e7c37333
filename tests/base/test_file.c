/* test_file.c - files read whole, and written whole or not at all.
 *
 * The disk's failures are made here: this program has its own write, fsync, close and rename,
 * which fail on demand and else do what the system does.
 */
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

enum failure { FAIL_NOTHING, FAIL_WRITE, FAIL_FSYNC, FAIL_CLOSE, FAIL_RENAME, SHORT_WRITES };

static enum failure failure_wanted;

static int fail_with(int errno_value)
{
    errno = errno_value;
    return -1;
}

ssize_t write(int descriptor, const void *bytes, size_t length)
{
    static unsigned calls;
    if (failure_wanted == FAIL_WRITE && length < 3) {
        return fail_with(ENOSPC);
    }
    if (failure_wanted == FAIL_WRITE || failure_wanted == SHORT_WRITES) {
        if (++calls % 2 == 0) {
            return fail_with(EINTR);
        }
        length = length < 3 ? length : 3;
    }
    return syscall(SYS_write, descriptor, bytes, length);
}

int fsync(int descriptor)
{
    return failure_wanted == FAIL_FSYNC ? fail_with(EDQUOT) : (int)syscall(SYS_fsync, descriptor);
}

int close(int descriptor)
{
    int result = (int)syscall(SYS_close, descriptor);
    return failure_wanted == FAIL_CLOSE ? fail_with(ENOSPC) : result;
}

int rename(const char *from, const char *to)
{
    return failure_wanted == FAIL_RENAME ? fail_with(EIO) : (int)syscall(SYS_rename, from, to);
}

/* ---- a directory of its own for each test ---- */

static int make_directory(void **state)
{
    const char *parent = getenv("TMPDIR");
    char *path = NULL;
    if (asprintf(&path, "%s/ccltune-test-XXXXXX", parent ? parent : P_tmpdir) < 0 ||
        !mkdtemp(path)) {
        return -1;
    }
    *state = path;
    return 0;
}

static int remove_directory(void **state)
{
    char *command = NULL;
    failure_wanted = FAIL_NOTHING;
    if (asprintf(&command, "rm -rf '%s'", (char *)*state) < 0) {
        return -1;
    }
    int result = system(command);
    free(command);
    free(*state);
    return result;
}

static size_t count_entries(const char *path)
{
    DIR *directory = opendir(path);
    assert_non_null(directory);
    size_t nr = 0;
    while (readdir(directory)) {
        nr++;
    }
    closedir(directory);
    return nr - 2; /* . and .. */
}

static void assert_holds(const char *path, const char *text)
{
    struct error error = ERROR_NONE;
    char *found = NULL;
    size_t length = 0;
    assert_int_equal(file_read(path, 1 << 20, &found, &length, &error), 0);
    assert_int_equal(length, strlen(text));
    assert_string_equal(found, text);
    free(found);
}

static void assert_says(const struct error *error, enum exit_status status, const char *part)
{
    if (error->status != status || !strstr(error->message, part)) {
        fail_msg("expected status %d and '%s', found %d and '%s'", (int)status, part,
                 (int)error->status, error->message);
    }
}

/* ---- reading ---- */

static void assert_read_fails(const char *path, size_t limit, const char *part)
{
    struct error error = ERROR_NONE;
    char *text = NULL;
    assert_int_equal(file_read(path, limit, &text, NULL, &error), -1);
    assert_null(text);
    assert_says(&error, EXIT_INPUT, part);
    assert_non_null(strstr(error.message, path));
}

static void test_read_errors_say_the_mend(void **state)
{
    char *missing = file_join(*state, "missing"), *file = file_join(*state, "file");
    char *below = file_join(file, "below");
    struct error error = ERROR_NONE;
    assert_int_equal(file_write(file, "0123456789", 10, &error), 0);
    assert_read_fails(missing, 100, "No such file or directory; check the spelling");
    assert_read_fails(*state, 100, "is a directory, expected a file; give the name");
    assert_read_fails("/dev/zero", 100, "is a device");
    assert_read_fails(file, 9, "10 bytes where at most 9 are read; check");
    assert_read_fails(below, 9, "a part of the path is a file");
    free(below);
    free(file);
    free(missing);
}

static void test_read_up_to_the_limit(void **state)
{
    char *path = file_join(*state, "file"), *text = NULL;
    struct error error = ERROR_NONE;
    size_t length = 0;
    assert_int_equal(file_write(path, "ab\0cd", 5, &error), 0);
    assert_int_equal(file_read(path, 5, &text, &length, &error), 0);
    assert_int_equal(length, 5);
    assert_memory_equal(text, "ab\0cd", 6);
    free(text);
    assert_int_equal(file_write(path, "", 0, &error), 0);
    assert_holds(path, "");
    free(path);
}

static void test_read_where_the_size_is_not_known(void **state)
{
    (void)state;
    char path[64], *text = NULL;
    struct error error = ERROR_NONE;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(write(ends[1], "from a pipe", 11), 11);
    close(ends[1]);
    assert_holds(path, "from a pipe");
    close(ends[0]);
    assert_int_equal(file_read("/proc/self/maps", 1 << 20, &text, NULL, &error), 0);
    assert_true(strlen(text) > 0);
    free(text);
    assert_read_fails("/proc/self/maps", 4, "too large, at most 4 bytes");
}

static void test_read_a_large_file(void **state)
{
    char *path = file_join(*state, "large"), *found = NULL;
    size_t length = 5000001, found_length = 0;
    char *text = malloc(length);
    struct error error = ERROR_NONE;
    assert_non_null(text);
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)(i * 31 % 127);
    }
    assert_int_equal(file_write(path, text, length, &error), 0);
    assert_int_equal(file_read(path, length, &found, &found_length, &error), 0);
    assert_int_equal(found_length, length);
    assert_memory_equal(found, text, length);
    free(found);
    free(text);
    free(path);
}

/* ---- writing ---- */

static void test_write_replaces_whole(void **state)
{
    char *path = file_join(*state, "out.json");
    struct error error = ERROR_NONE;
    struct stat status;
    mode_t before = umask(027);
    assert_int_equal(file_write(path, "first, longer", 13, &error), 0);
    umask(before);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_int_equal(file_write(path, "second", 6, &error), 0);
    assert_holds(path, "second");
    assert_int_equal(count_entries(*state), 1);
    free(path);
}

static void test_short_and_interrupted_writes(void **state)
{
    char *path = file_join(*state, "out");
    struct error error = ERROR_NONE;
    failure_wanted = SHORT_WRITES;
    assert_int_equal(file_write(path, "0123456789abcdef", 16, &error), 0);
    assert_holds(path, "0123456789abcdef");
    free(path);
}

static void test_failures_leave_the_old_file(void **state)
{
    static const struct {
        enum failure failure;
        const char *part;
    } cases[] = {
        {FAIL_WRITE, "cannot write: No space left on device; free some space"},
        {FAIL_FSYNC, "cannot write: Disk quota exceeded; free some of your quota"},
        {FAIL_CLOSE, "cannot write: No space left on device; free some space"},
        {FAIL_RENAME, "cannot write: Input/output error"},
    };
    char *path = file_join(*state, "table.conf");
    struct error error = ERROR_NONE;
    assert_int_equal(file_write(path, "old", 3, &error), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        error = ERROR_NONE;
        failure_wanted = cases[i].failure;
        int result = file_write(path, "new and longer by 1", 19, &error);
        failure_wanted = FAIL_NOTHING;
        assert_int_equal(result, -1);
        assert_says(&error, EXIT_SYSTEM, cases[i].part);
        assert_holds(path, "old");
        assert_int_equal(count_entries(*state), 1);
    }
    free(path);
}

static void assert_write_fails(const char *path, const char *part)
{
    struct error error = ERROR_NONE;
    assert_int_equal(file_write(path, "x", 1, &error), -1);
    assert_says(&error, EXIT_INPUT, part);
}

static void test_write_refuses_what_is_no_file(void **state)
{
    char *fifo = file_join(*state, "fifo"), *below = file_join(*state, "missing/out");
    char long_name[NAME_MAX + 10];
    struct stat status;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_write_fails(*state, "is a directory; give the name of a regular file");
    assert_write_fails("/dev/null", "is a device, pipe or socket");
    assert_write_fails(fifo, "is a device, pipe or socket");
    assert_write_fails(below, "No such file or directory; check the spelling");
    assert_write_fails("", "No such file or directory");
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    char *path = file_join(*state, long_name);
    assert_write_fails(path, "choose a shorter name");
    path[strlen(*state) + 1 + NAME_MAX] = '\0'; /* the longest there can be */
    struct error error = ERROR_NONE;
    assert_int_equal(file_write(path, "x", 1, &error), 0);
    assert_int_equal(count_entries(*state), 2);
    free(path);
    free(below);
    free(fifo);
}

static void test_write_follows_links_and_passes_old_temporaries(void **state)
{
    char *file = file_join(*state, "file"), *link = file_join(*state, "link");
    char *temporary = NULL;
    struct error error = ERROR_NONE;
    struct stat status;
    assert_true(asprintf(&temporary, "%s/.ccltune-%ld-0.tmp", (char *)*state, (long)getpid()) > 0);
    FILE *left_over = fopen(temporary, "w");
    assert_non_null(left_over);
    fclose(left_over);
    assert_int_equal(file_write(file, "old", 3, &error), 0);
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(file_write(link, "new", 3, &error), 0);
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_holds(file, "new");
    assert_holds(temporary, "");
    assert_int_equal(count_entries(*state), 3);
    free(temporary);
    free(link);
    free(file);
}

/* ---- paths ---- */

static void test_make_directory(void **state)
{
    char *deep = file_join(*state, "a//b/c/"), *file = file_join(*state, "a/b/c/file");
    char *below = file_join(file, "d");
    struct error error = ERROR_NONE;
    assert_int_equal(file_make_directory(deep, &error), 0);
    assert_int_equal(file_make_directory(deep, &error), 0);
    assert_int_equal(file_make_directory("/", &error), 0);
    assert_int_equal(file_make_directory(".", &error), 0);
    assert_int_equal(file_write(file, "x", 1, &error), 0);
    assert_int_equal(file_make_directory(file, &error), -1);
    assert_says(&error, EXIT_INPUT, "a file is in its place");
    assert_int_equal(file_make_directory(below, &error), -1);
    assert_says(&error, EXIT_INPUT, "a file is in its place");
    assert_int_equal(file_make_directory("", &error), -1);
    assert_says(&error, EXIT_INPUT, "empty path");
    free(below);
    free(file);
    free(deep);
}

static void test_join(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"/", "b", "/b"}, {"", "b", "b"}, {".", "b", "./b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path = file_join(cases[i][0], cases[i][1]);
        assert_string_equal(path, cases[i][2]);
        free(path);
    }
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(test_read_errors_say_the_mend),
        IN_DIRECTORY(test_read_up_to_the_limit),
        IN_DIRECTORY(test_read_where_the_size_is_not_known),
        IN_DIRECTORY(test_read_a_large_file),
        IN_DIRECTORY(test_write_replaces_whole),
        IN_DIRECTORY(test_short_and_interrupted_writes),
        IN_DIRECTORY(test_failures_leave_the_old_file),
        IN_DIRECTORY(test_write_refuses_what_is_no_file),
        IN_DIRECTORY(test_write_follows_links_and_passes_old_temporaries),
        IN_DIRECTORY(test_make_directory),
        cmocka_unit_test(test_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
