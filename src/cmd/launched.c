/* launched.c - was this process started by an MPI launcher? Asked of the environment, before any
 * MPI. */
#include "commands.h"

#include <stdlib.h>

/* The rank a launcher promised, or -1. */
static int promised_rank(void)
{
    static const char *const ranks[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", NULL};
    for (int i = 0; ranks[i]; i++) {
        const char *text = getenv(ranks[i]);
        if (text) {
            return atoi(text);
        }
    }
    const char *tasks = getenv("SLURM_NTASKS"), *rank = getenv("SLURM_PROCID");
    return rank && tasks && atoi(tasks) > 1 ? atoi(rank) : -1;
}

bool command_launched(void)
{
    return promised_rank() >= 0;
}

bool command_launched_first(void)
{
    return promised_rank() <= 0;
}
