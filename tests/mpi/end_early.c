/* end_early SIZE HOW: the last rank does not get to the end, and the others wait for it.
 *
 *   abort   it calls MPI_Abort(42)
 *   quit    it exits with 0, without MPI_Finalize
 *   kill    it is killed by SIGKILL
 *   crash   by SIGSEGV
 *   never   it exits with 0, without MPI_Init
 *   all     every rank exits with 0, without MPI_Finalize */
#include "mpi_test.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* MPI does not say who a rank is before MPI_Init; the launcher does. */
static bool is_last_of(int size)
{
    const char *rank = getenv("KEEL_RANK");
    return rank && atoi(rank) == size - 1;
}

static void end(const char *how)
{
    if (strcmp(how, "abort") == 0) {
        MPI_Abort(MPI_COMM_WORLD, 42);
    } else if (strcmp(how, "kill") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(how, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL);
        kill(getpid(), SIGSEGV);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
    if (strcmp(argv[2], "never") == 0 && is_last_of(atoi(argv[1]))) {
        usleep(100000); /* the others wait by then */
        return 0;
    }
    struct mpi_test test = test_begin(&argc, &argv);
    if (test.rank == test.size - 1 || strcmp(argv[2], "all") == 0) {
        end(argv[2]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return test_end(&test, "end_early");
}
