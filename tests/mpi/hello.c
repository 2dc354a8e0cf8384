/* hello SIZE: who is there, and what the launcher says about it. */
#include "mpi_test.h"

static int attribute(int key)
{
    int *value = NULL, found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &found);
    return found ? *value : -1;
}

int main(int argc, char **argv)
{
    struct mpi_test test = test_begin(&argc, &argv);
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    MPI_Get_processor_name(name, &length);
    test_check(&test, length > 0, "the processor has a name");
    test_check(&test, attribute(MPI_UNIVERSE_SIZE) >= test.size, "the universe holds all ranks");
    printf("rank %d of %d, program %d\n", test.rank, test.size, attribute(MPI_APPNUM));
    fflush(stdout);
    return test_end(&test, "hello");
}
