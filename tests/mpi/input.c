/* input SIZE: rank 0 reads standard input to its end, and all hear how many bytes there were. */
#include "mpi_test.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    struct mpi_test test = test_begin(&argc, &argv);
    char buffer[4096];
    long bytes = 0, heard;
    for (ssize_t got; (got = read(0, buffer, sizeof(buffer))) > 0;) {
        bytes += got;
    }
    test_check(&test, test.rank == 0 || bytes == 0, "the input is rank 0's alone");
    heard = bytes;
    MPI_Bcast(&heard, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (test.rank == test.size - 1) {
        printf("%ld bytes\n", heard);
        fflush(stdout);
    }
    return test_end(&test, "input");
}
