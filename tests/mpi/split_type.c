/* split_type SIZE LOCAL: every node has LOCAL ranks, neighbours in rank. */
#include "mpi_test.h"

int main(int argc, char **argv)
{
    struct mpi_test test = test_begin(&argc, &argv);
    MPI_Comm node;
    int rank, size, first = -1;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, test.rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    test_check(&test, size == test_number(argv, 2), "the ranks of my node");
    test_check(&test, rank == test.rank % size, "my number among them");
    MPI_Allreduce(&test.rank, &first, 1, MPI_INT, MPI_MIN, node);
    test_check(&test, first == test.rank - rank, "the first of them");
    MPI_Comm_free(&node);
    return test_end(&test, "split_type");
}
