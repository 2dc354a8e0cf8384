/* allreduce SIZE: sums and maxima of vectors from 1 to 64 Ki numbers. */
#include "mpi_test.h"

enum { NUMBERS = 65536 };

int main(int argc, char **argv)
{
    struct mpi_test test = test_begin(&argc, &argv);
    static int in[NUMBERS], sum[NUMBERS], top[NUMBERS];
    int n = test.size;
    for (int i = 0; i < NUMBERS; i++) {
        in[i] = i + test.rank;
    }
    for (int count = 1; count <= NUMBERS; count *= 16) {
        MPI_Allreduce(in, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(in, top, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++) {
            test_check(&test, sum[i] == n * i + n * (n - 1) / 2, "a sum");
            test_check(&test, top[i] == i + n - 1, "a maximum");
        }
    }
    return test_end(&test, "allreduce");
}
