/* fuzz_journal.c - any bytes as a journal: a worded error, or measurements that are there again
 * when it is opened again. Never on a disk: the file is a piece of memory with a name under /proc.
 */
#include "journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static off_t length_of(int descriptor)
{
    struct stat status;
    require(fstat(descriptor, &status) == 0);
    return status.st_size;
}

/* Opens it; the number of measurements, or -1 and the file as it was. */
static long open_and_count(int descriptor, bool resume)
{
    char path[64];
    struct error error = ERROR_NONE;
    struct journal *journal;
    struct json *about = json_make_object();
    off_t before = length_of(descriptor);
    long nr = -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    json_put_text(about, "launch", "mpiexec -n 2");
    if (journal_open(path, about, resume, &journal, &error)) {
        require(error.status == EXIT_INPUT && error.message[0]);
        require(length_of(descriptor) == before);
    } else {
        nr = (long)journal_length(journal);
        journal_close(journal);
    }
    json_free(about);
    return nr;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int descriptor = memfd_create("journal", MFD_CLOEXEC);
    require(descriptor >= 0 && write(descriptor, data, size) == (ssize_t)size);
    long fresh = open_and_count(descriptor, false);
    require(fresh <= 0); /* what holds measurements is not continued unasked */
    long first = open_and_count(descriptor, true);
    if (first >= 0) {
        off_t length = length_of(descriptor);
        require(open_and_count(descriptor, true) == first && length_of(descriptor) == length);
    }
    close(descriptor);
    return 0;
}
