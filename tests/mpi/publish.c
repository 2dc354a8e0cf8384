/* publish SIZE: the last rank finds the name that the first has published. */
#include "mpi_test.h"

#include <string.h>

static void find(const struct mpi_test *test)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int status = MPI_Lookup_name("keel-test", MPI_INFO_NULL, port);
    test_check(test, status == MPI_SUCCESS, "the name is found");
    test_check(test, strcmp(port, "a-port:17") == 0, "the port is the one published");
    status = MPI_Lookup_name("keel-test-missing", MPI_INFO_NULL, port);
    test_check(test, status != MPI_SUCCESS, "a name that nobody has published is not found");
}

int main(int argc, char **argv)
{
    struct mpi_test test = test_begin(&argc, &argv);
    char port[] = "a-port:17";
    if (test.rank == 0) {
        MPI_Publish_name("keel-test", MPI_INFO_NULL, port);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == test.size - 1) {
        find(&test);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == 0) {
        MPI_Unpublish_name("keel-test", MPI_INFO_NULL, port);
    }
    return test_end(&test, "publish");
}
