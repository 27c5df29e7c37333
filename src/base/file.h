/* file.h - files read whole, and written whole or not at all. */
#ifndef CCLTUNE_FILE_H
#define CCLTUNE_FILE_H

#include "error.h"

#include <stddef.h>

/* Reads a regular file (or a pipe) of at most `limit` bytes. *text is malloc'ed and ended by a
 * zero; *length may be NULL. Directories, devices and larger files are errors that say so. */
int file_read(const char *path, size_t limit, char **text, size_t *length, struct error *error);

/* Writes to a temporary beside `path`, flushes it to the disk, renames. On failure (disk full,
 * no right) the old file is as it was and no temporary stays. */
int file_write(const char *path, const char *text, size_t length, struct error *error);

/* Makes a directory and its parents (mode 0777 less the umask); fine if it exists. */
int file_make_directory(const char *path, struct error *error);

/* "directory/name", malloc'ed. */
char *file_join(const char *directory, const char *name);

#endif
