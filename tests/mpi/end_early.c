/* end_early SIZE LOCAL HOW: the last rank does not get to the end, and the others wait for it. It
 * says when.
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
#include <time.h>
#include <unistd.h>

/* MPI does not say who a rank is before MPI_Init; the launcher does. */
static bool is_last_of(int size)
{
    const char *rank = getenv("KEEL_RANK");
    return rank && atoi(rank) == size - 1;
}

static void say_when(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    printf("ends at %lld\n", (long long) now.tv_sec * 1000 + now.tv_nsec / 1000000);
    fflush(stdout);
}

static void end(const char *how)
{
    say_when();
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
    if (argc < 4) {
        return 2;
    }
    if (strcmp(argv[3], "never") == 0 && is_last_of(atoi(argv[1]))) {
        usleep(100000); /* the others wait by then */
        say_when();
        return 0;
    }
    struct mpi_test test = test_begin(&argc, &argv);
    if (test.rank == test.size - 1 || strcmp(argv[3], "all") == 0) {
        end(argv[3]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return test_end(&test, "end_early");
}
