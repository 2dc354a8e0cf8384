/* stay SIZE: every rank says that it is there, when all are, and stays until it is killed. */
#include "mpi_test.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    struct mpi_test test = test_begin(&argc, &argv);
    printf("rank %d stays\n", test.rank);
    fflush(stdout);
    for (;;) {
        pause();
    }
}
