/* file.c - files read whole, and written whole or not at all; see file.h.
 *
 * Writing goes to a temporary beside the file, because rename() is only atomic within one file
 * system. A full disk may show at write, at fsync or (NFS) at close, so all three are checked
 * before the rename.
 */
#include "file.h"

#include "arena.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_STEP = 1 << 16, TEMPORARY_ATTEMPTS = 1000 };

/* What the user can do about a failure, and whose it is: a path that is wrong is the user's, a
 * place that cannot be written is the system's, as are all others. */
static const struct mend {
    int errno_value;
    enum exit_status reading, writing;
    const char *text;
} mends[] = {
    {ENOENT, EXIT_INPUT, EXIT_INPUT, "check the spelling of the path"},
    {ENOTDIR, EXIT_INPUT, EXIT_INPUT,
     "a part of the path is a file, not a directory; check the path"},
    {EISDIR, EXIT_INPUT, EXIT_INPUT, "give the name of a file"},
    {EACCES, EXIT_INPUT, EXIT_SYSTEM, "ask its owner for the right, or choose another place"},
    {EPERM, EXIT_INPUT, EXIT_SYSTEM, "ask its owner for the right, or choose another place"},
    {EROFS, EXIT_INPUT, EXIT_SYSTEM, "choose a place on a file system that can be written"},
    {ENAMETOOLONG, EXIT_INPUT, EXIT_INPUT, "choose a shorter name"},
    {ELOOP, EXIT_INPUT, EXIT_INPUT, "mend the circle of symbolic links"},
    {ENOSPC, EXIT_SYSTEM, EXIT_SYSTEM, "free some space or choose another place"},
    {EDQUOT, EXIT_SYSTEM, EXIT_SYSTEM, "free some of your quota or choose another place"},
    {EFBIG, EXIT_SYSTEM, EXIT_SYSTEM,
     "raise the limit on file sizes (ulimit -f) or choose another place"},
};

static int fail(struct error *error, const char *path, const char *act, int errno_value)
{
    for (size_t i = 0; i < sizeof mends / sizeof mends[0]; i++) {
        if (mends[i].errno_value == errno_value) {
            char buffer[128];
            bool reading = strcmp(act, "read") == 0;
            return error_set(error, reading ? mends[i].reading : mends[i].writing,
                             "%s: cannot %s: %s; %s", path, act,
                             strerror_r(errno_value, buffer, sizeof buffer), mends[i].text);
        }
    }
    return error_errno(error, errno_value, "%s: cannot %s", path, act);
}

/* ---- reading ---- */

static int check_readable(const char *path, const struct stat *status, size_t limit,
                          struct error *error)
{
    if (S_ISDIR(status->st_mode)) {
        return error_set(error, EXIT_INPUT,
                         "%s: is a directory, expected a file; give the name of a file in it",
                         path);
    }
    if (!S_ISREG(status->st_mode) && !S_ISFIFO(status->st_mode)) {
        return error_set(error, EXIT_INPUT,
                         "%s: is a device or a socket, expected a file; "
                         "give the name of a regular file or a pipe",
                         path);
    }
    if (S_ISREG(status->st_mode) && (uintmax_t)status->st_size > limit) {
        return error_set(error, EXIT_INPUT,
                         "%s: too large, %jd bytes where at most %zu are read; "
                         "check that it is the right file",
                         path, (intmax_t)status->st_size, limit);
    }
    return 0;
}

/* Reads to the end: st_size is no guide for pipes and /proc. */
static int read_all(int descriptor, const char *path, size_t limit, char **text, size_t *length,
                    struct error *error)
{
    void *bytes = NULL;
    size_t capacity = 0, nr = 0;
    for (;;) {
        array_grow(&bytes, &capacity, nr + READ_STEP, 1);
        ssize_t got = read(descriptor, (char *)bytes + nr, capacity - nr - 1);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            int errno_value = errno;
            free(bytes);
            return fail(error, path, "read", errno_value);
        }
        if (got == 0) {
            break;
        }
        nr += (size_t)got;
        if (nr > limit) {
            free(bytes);
            return error_set(error, EXIT_INPUT,
                             "%s: too large, at most %zu bytes are read; "
                             "check that it is the right file",
                             path, limit);
        }
    }
    *text = bytes;
    (*text)[nr] = '\0';
    if (length) {
        *length = nr;
    }
    return 0;
}

int file_read(const char *path, size_t limit, char **text, size_t *length, struct error *error)
{
    struct stat status;
    /* Looked at before it is opened as well: opening a device can act on it. */
    if (stat(path, &status) != 0) {
        return fail(error, path, "read", errno);
    }
    if (check_readable(path, &status, limit, error) != 0) {
        return -1;
    }
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        return fail(error, path, "read", errno);
    }
    int result = read_all(descriptor, path, limit, text, length, error);
    close(descriptor);
    return result;
}

/* ---- writing ---- */

/* Makes the temporary and returns its descriptor; its name (malloc'ed) goes to *temporary. The
 * name does not hold that of the file, which may be as long as names can be. */
static int open_temporary(const char *path, char **temporary)
{
    const char *slash = strrchr(path, '/');
    int directory_length = slash ? (int)(slash - path) + 1 : 0;
    for (int attempt = 0; attempt < TEMPORARY_ATTEMPTS; attempt++) {
        if (asprintf(temporary, "%.*s.ccltune-%ld-%d.tmp", directory_length, path, (long)getpid(),
                     attempt) < 0) {
            arena_out_of_memory();
        }
        int descriptor = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (descriptor >= 0) {
            return descriptor;
        }
        int errno_value = errno;
        free(*temporary);
        errno = errno_value;
        if (errno != EEXIST) {
            break;
        }
    }
    return -1;
}

/* Writes, flushes and closes; the errno of what failed first, or 0. */
static int write_and_close(int descriptor, const char *text, size_t length)
{
    int errno_value = 0;
    while (length > 0 && errno_value == 0) {
        ssize_t written = write(descriptor, text, length);
        if (written >= 0) {
            text += written;
            length -= (size_t)written;
        } else if (errno != EINTR) {
            errno_value = errno;
        }
    }
    if (errno_value == 0 && fsync(descriptor) != 0) {
        errno_value = errno;
    }
    if (close(descriptor) != 0 && errno_value == 0) {
        errno_value = errno;
    }
    return errno_value;
}

static int write_and_rename(const char *path, const char *text, size_t length, struct error *error)
{
    char *temporary = NULL;
    int descriptor = open_temporary(path, &temporary);
    if (descriptor < 0) {
        return fail(error, path, "write", errno);
    }
    int errno_value = write_and_close(descriptor, text, length);
    if (errno_value == 0 && rename(temporary, path) != 0) {
        errno_value = errno;
    }
    if (errno_value != 0) {
        unlink(temporary);
    }
    free(temporary);
    return errno_value == 0 ? 0 : fail(error, path, "write", errno_value);
}

int file_write(const char *path, const char *text, size_t length, struct error *error)
{
    /* The file a link leads to is replaced, not the link. */
    char *target = realpath(path, NULL);
    struct stat status;
    if (target && stat(target, &status) == 0 && !S_ISREG(status.st_mode)) {
        free(target);
        /* A rename would put a file where the directory, pipe or device (/dev/null!) was. */
        return error_set(error, EXIT_INPUT,
                         "%s: cannot write: is a %s; give the name of a regular file", path,
                         S_ISDIR(status.st_mode) ? "directory" : "device, pipe or socket");
    }
    int result = write_and_rename(target ? target : path, text, length, error);
    free(target);
    return result;
}

/* ---- paths ---- */

static int make_one_directory(const char *path, struct error *error)
{
    struct stat status;
    if (mkdir(path, 0777) == 0) {
        return 0;
    }
    int errno_value = errno;
    /* Some file systems say EROFS or EACCES before EEXIST. */
    if (stat(path, &status) == 0) {
        if (S_ISDIR(status.st_mode)) {
            return 0;
        }
        return error_set(error, EXIT_INPUT,
                         "%s: cannot make the directory: a file is in its place; "
                         "remove it or choose another name",
                         path);
    }
    return fail(error, path, "make the directory", errno_value);
}

int file_make_directory(const char *path, struct error *error)
{
    if (path[0] == '\0') {
        return error_set(error, EXIT_INPUT, "empty path, expected the name of a directory");
    }
    char *part = strdup(path);
    if (!part) {
        arena_out_of_memory();
    }
    int result = 0;
    for (char *end = part + 1; result == 0 && *end; end++) {
        if (*end == '/' && end[-1] != '/') {
            *end = '\0';
            result = make_one_directory(part, error);
            *end = '/';
        }
    }
    if (result == 0) {
        result = make_one_directory(part, error);
    }
    free(part);
    return result;
}

char *file_join(const char *directory, const char *name)
{
    size_t length = strlen(directory);
    const char *separator = length == 0 || directory[length - 1] == '/' ? "" : "/";
    char *path = NULL;
    if (asprintf(&path, "%s%s%s", directory, separator, name) < 0) {
        arena_out_of_memory();
    }
    return path;
}
