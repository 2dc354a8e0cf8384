/* ring SIZE: a token goes round three times, and every rank adds its number. */
#include "mpi_test.h"

int main(int argc, char **argv)
{
    struct mpi_test test = test_begin(&argc, &argv);
    int next = (test.rank + 1) % test.size, last = (test.rank + test.size - 1) % test.size;
    long token = 0;
    for (int round = 0; round < 3; round++) {
        if (test.rank > 0) {
            MPI_Recv(&token, 1, MPI_LONG, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        token += test.rank;
        if (test.size > 1) {
            MPI_Send(&token, 1, MPI_LONG, next, 7, MPI_COMM_WORLD);
        }
        if (test.rank == 0 && test.size > 1) {
            MPI_Recv(&token, 1, MPI_LONG, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    long expected = 3L * test.size * (test.size - 1) / 2;
    test_check(&test, test.rank > 0 || token == expected, "the token has met every rank");
    return test_end(&test, "ring");
}
