/* Shares memory segments of odd sizes between the ranks by both ways of passing descriptors, and
 * checks that each rank reads what the others wrote and they what it writes. Rank 0 prints "same"
 * or what was wrong. */
#include "symmetric.h"

#include <stdio.h>
#include <string.h>

static int probe(int rank, enum symmetric_exchange how)
{
    struct symmetric shared;
    struct error error = ERROR_NONE;
    size_t bytes = 1000 + 5000 * (size_t)rank;
    if (symmetric_make(MPI_COMM_WORLD, 7, bytes, how, &shared, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    int wrong = !symmetric_holds(&shared, shared.of[rank] + bytes - 1, 1) ||
                symmetric_holds(&shared, &shared, 1);
    for (size_t i = 0; i < bytes; i++) { /* zeroed */
        wrong += shared.of[rank][i] != 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (uint32_t peer = 0; peer < shared.ranks; peer++) { /* each rank its own byte of each */
        shared.of[peer][rank] = (unsigned char)(10 * rank + (int)peer);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (uint32_t peer = 0; peer < shared.ranks; peer++) {
        wrong += shared.of[rank][peer] != 10 * peer + (uint32_t)rank;
        wrong += shared.bytes[peer] < 1000 + 5000 * (size_t)peer;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    symmetric_free(&shared);
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int wrong = probe(rank, SYMMETRIC_BEST) + probe(rank, SYMMETRIC_MESSAGES);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%s\n", all ? "wrong" : "same");
    }
    MPI_Finalize();
    return all != 0;
}
