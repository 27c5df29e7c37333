/* symmetric.c - memfd segments and how their descriptors reach the peers. */
#include "symmetric.h"

#include "mpi_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

struct card { /* what a rank tells the others of its segment */
    uint64_t bytes;
    int32_t pid, fd;
    uint32_t host;
    socklen_t length; /* of the address that messages go to */
    struct sockaddr_un address;
};

struct exchange {
    MPI_Comm comm;
    uint32_t me, ranks;
    struct card *cards; /* [rank] */
    int *fds;           /* [rank] -> its descriptor here, or -1 */
};

static size_t round_to_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return bytes ? (bytes + page - 1) / page * page : page;
}

/* The largest of all ranks' values. */
static int most_of_all(const struct exchange *exchange, int value)
{
    int most = value;
    MPI_Allreduce(&value, &most, 1, MPI_INT, MPI_MAX, exchange->comm);
    return most;
}

static int make_descriptor(size_t bytes, struct error *error)
{
    int fd = memfd_create("ccltune", MFD_CLOEXEC);
    if (fd < 0) {
        return error_errno(error, errno, "making a memory segment");
    }
    /* Reserved now: a page that cannot be had later is a signal, not an error. */
    int code = ftruncate(fd, (off_t)bytes) ? errno : posix_fallocate(fd, 0, (off_t)bytes);
    if (code) {
        close(fd);
        return error_errno(error, code, "no memory for a segment of %zu bytes", bytes);
    }
    return fd;
}

static void *map_descriptor(int fd, size_t bytes, struct error *error)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED) {
        error_errno(error, errno, "mapping a segment of %zu bytes", bytes);
        return NULL;
    }
    return memory;
}

static bool near(const struct exchange *exchange, uint32_t rank)
{
    return rank != exchange->me && exchange->cards[rank].host == exchange->cards[exchange->me].host;
}

/* Takes the descriptors out of the peers; false where the kernel forbids it. */
static bool fetch_descriptors(struct exchange *exchange)
{
    for (uint32_t rank = 0; rank < exchange->ranks; rank++) {
        if (!near(exchange, rank)) {
            continue;
        }
        int process = (int)syscall(SYS_pidfd_open, exchange->cards[rank].pid, 0);
        if (process < 0) {
            return false;
        }
        exchange->fds[rank] = (int)syscall(SYS_pidfd_getfd, process, exchange->cards[rank].fd, 0);
        close(process);
        if (exchange->fds[rank] < 0) {
            return false;
        }
    }
    return true;
}

struct parcel { /* a message that carries a descriptor */
    uint32_t from;
    struct iovec part;
    struct msghdr header;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

static void parcel_prepare(struct parcel *parcel)
{
    parcel->part = (struct iovec){&parcel->from, sizeof parcel->from};
    parcel->header = (struct msghdr){.msg_iov = &parcel->part,
                                     .msg_iovlen = 1,
                                     .msg_control = parcel->control,
                                     .msg_controllen = sizeof parcel->control};
}

static int send_descriptor(int socket, uint32_t from, int fd, struct card *to, struct error *error)
{
    struct parcel parcel = {.from = from};
    parcel_prepare(&parcel);
    parcel.header.msg_name = &to->address;
    parcel.header.msg_namelen = to->length;
    struct cmsghdr *control = CMSG_FIRSTHDR(&parcel.header);
    *control = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
    memcpy(CMSG_DATA(control), &fd, sizeof fd);
    return sendmsg(socket, &parcel.header, MSG_NOSIGNAL) < 0
               ? error_errno(error, errno, "passing a descriptor to a rank of this host")
               : 0;
}

static int receive_descriptor(int socket, struct exchange *exchange, struct error *error)
{
    struct parcel parcel = {.from = 0};
    parcel_prepare(&parcel);
    if (recvmsg(socket, &parcel.header, MSG_CMSG_CLOEXEC) < 0) {
        return error_errno(error, errno, "receiving a descriptor from a rank of this host");
    }
    struct cmsghdr *control = CMSG_FIRSTHDR(&parcel.header);
    if (!control || control->cmsg_type != SCM_RIGHTS || parcel.from >= exchange->ranks) {
        return error_set(error, EXIT_SYSTEM, "a message of this host brought no descriptor");
    }
    memcpy(&exchange->fds[parcel.from], CMSG_DATA(control), sizeof(int));
    return 0;
}

/* In rounds, so that no more than one message waits for a rank. Abstract addresses leave no file.
 */
static int mail_descriptors(struct exchange *exchange, int socket, struct error *error)
{
    uint32_t n = exchange->ranks, me = exchange->me;
    for (uint32_t distance = 1; distance < n; distance++) {
        uint32_t to = (me + distance) % n, from = (me + n - distance) % n;
        int failed = 0;
        if (near(exchange, to)) {
            failed = send_descriptor(socket, me, exchange->fds[me], &exchange->cards[to], error);
        }
        if (exec_agree_over(exchange->comm, failed, error)) {
            return -1;
        }
        if (near(exchange, from)) {
            failed = receive_descriptor(socket, exchange, error);
        }
        if (exec_agree_over(exchange->comm, failed, error)) {
            return -1;
        }
    }
    return 0;
}

static int open_socket(struct card *card, struct error *error)
{
    struct timeval patience = {10, 0};
    card->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    card->length = sizeof card->address;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&card->address, sizeof(sa_family_t)) ||
        getsockname(fd, (struct sockaddr *)&card->address, &card->length) ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience)) {
        int code = errno;
        if (fd >= 0) {
            close(fd);
        }
        return error_errno(error, code, "opening a local socket");
    }
    return fd;
}

static void share_cards(struct exchange *exchange, const struct card *own)
{
    MPI_Allgather(own, (int)sizeof *own, MPI_BYTE, exchange->cards, (int)sizeof *own, MPI_BYTE,
                  exchange->comm);
}

static int exchange_descriptors(struct exchange *exchange, struct card *own, bool messages,
                                struct error *error)
{
    share_cards(exchange, own);
    bool fetched = !messages && fetch_descriptors(exchange);
    if (!most_of_all(exchange, !fetched)) {
        return 0;
    }
    for (uint32_t rank = 0; rank < exchange->ranks; rank++) {
        if (rank != exchange->me && exchange->fds[rank] >= 0) {
            close(exchange->fds[rank]);
            exchange->fds[rank] = -1;
        }
    }
    int socket = open_socket(own, error);
    if (exec_agree_over(exchange->comm, socket < 0, error)) {
        if (socket >= 0) {
            close(socket);
        }
        return -1;
    }
    share_cards(exchange, own);
    int failed = mail_descriptors(exchange, socket, error);
    close(socket);
    return failed;
}

static int map_all(const struct exchange *exchange, struct symmetric *made, struct error *error)
{
    for (uint32_t rank = 0; rank < exchange->ranks; rank++) {
        made->bytes[rank] = exchange->cards[rank].bytes;
        if (exchange->fds[rank] >= 0 &&
            !(made->of[rank] = map_descriptor(exchange->fds[rank], made->bytes[rank], error))) {
            return -1;
        }
    }
    return 0;
}

int symmetric_make(MPI_Comm comm, uint32_t host, size_t bytes, enum symmetric_exchange how,
                   struct symmetric *made, struct error *error)
{
    int me, ranks;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    size_t nr = (size_t)ranks;
    struct exchange exchange = {comm, (uint32_t)me, (uint32_t)ranks,
                                calloc(nr, sizeof(struct card)), malloc(nr * sizeof(int))};
    *made = (struct symmetric){.ranks = (uint32_t)ranks,
                               .me = (uint32_t)me,
                               .of = calloc(nr, sizeof *made->of),
                               .bytes = calloc(nr, sizeof *made->bytes)};
    if (!exchange.cards || !exchange.fds || !made->of || !made->bytes) {
        abort();
    }
    memset(exchange.fds, -1, nr * sizeof(int));
    struct card own = {.bytes = round_to_pages(bytes), .pid = (int32_t)getpid(), .host = host};
    int failed = (own.fd = make_descriptor(own.bytes, error)) < 0;
    exchange.fds[me] = own.fd;
    failed = exec_agree_over(comm, failed, error) ||
             exchange_descriptors(&exchange, &own, how == SYMMETRIC_MESSAGES, error) ||
             exec_agree_over(comm, map_all(&exchange, made, error), error);
    for (size_t rank = 0; rank < nr; rank++) {
        if (exchange.fds[rank] >= 0) {
            close(exchange.fds[rank]);
        }
    }
    free(exchange.cards);
    free(exchange.fds);
    if (failed) {
        symmetric_free(made);
    }
    return failed ? -1 : 0;
}

void symmetric_free(struct symmetric *symmetric)
{
    for (uint32_t rank = 0; rank < symmetric->ranks; rank++) {
        if (symmetric->of[rank]) {
            munmap(symmetric->of[rank], symmetric->bytes[rank]);
        }
    }
    free(symmetric->of);
    free(symmetric->bytes);
    *symmetric = (struct symmetric){0};
}

bool symmetric_holds(const struct symmetric *symmetric, const void *at, size_t bytes)
{
    if (!symmetric->ranks) {
        return false;
    }
    uintptr_t begin = (uintptr_t)symmetric->of[symmetric->me], from = (uintptr_t)at;
    return from >= begin && from + bytes <= begin + symmetric->bytes[symmetric->me];
}
