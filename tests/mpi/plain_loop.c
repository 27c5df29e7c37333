/* plain_loop.c - the peer of `ccltune bench`: MPI_Allreduce as most benchmarks time it, each call
 * after MPI_Barrier on inputs that are never rewritten, maximum over ranks. Prints "bytes
 * median_us".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLS 2000

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double times[CALLS], worst[CALLS];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i < argc; i++) {
        int count = atoi(argv[i]) / 4;
        float *in = calloc((size_t)count, 4), *out = calloc((size_t)count, 4);
        for (int call = 0; call < CALLS; call++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double begin = MPI_Wtime();
            MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            times[call] = MPI_Wtime() - begin;
        }
        MPI_Reduce(times, worst, CALLS, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            qsort(worst, CALLS, sizeof *worst, compare);
            printf("%d %.3f\n", count * 4, worst[CALLS / 2] * 1e6);
        }
        free(in);
        free(out);
    }
    MPI_Finalize();
    return 0;
}
