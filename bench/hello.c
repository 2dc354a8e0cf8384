/* hello SIZE: the least MPI program: one line from each rank. Code 3 when it was not started as one
 * of SIZE ranks. Any MPI's compiler; nothing of Keel's. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("hello from rank %d of %d\n", rank, size);
    MPI_Finalize();
    return argc == 2 && atoi(argv[1]) == size ? 0 : 3;
}
