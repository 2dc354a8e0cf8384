/* bcast SIZE: a mebibyte from the first and from the last rank. */
#include "mpi_test.h"

enum { BYTES = 1 << 20 };

static unsigned char pattern(int i, int root)
{
    return (unsigned char) ((unsigned) i * 2654435761u >> 13) ^ (unsigned char) root;
}

int main(int argc, char **argv)
{
    struct mpi_test test = test_begin(&argc, &argv);
    static unsigned char data[BYTES];
    for (int turn = 0; turn < 2; turn++) {
        int root = turn == 0 ? 0 : test.size - 1;
        for (int i = 0; i < BYTES; i++) {
            data[i] = test.rank == root ? pattern(i, root) : 0;
        }
        MPI_Bcast(data, BYTES, MPI_BYTE, root, MPI_COMM_WORLD);
        for (int i = 0; i < BYTES; i++) {
            test_check(&test, data[i] == pattern(i, root), "a byte");
        }
    }
    return test_end(&test, "bcast");
}
