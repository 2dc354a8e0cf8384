/* placement SIZE LOCAL [core]: local rank and size are what the launcher's variables say. With
 * "core" the ranks are bound, each to a core, in turn; Open MPI knows who shares one. */
#include "mpi_test.h"

#include <sched.h>
#include <string.h>

static int variable(const char *of_mpich, const char *of_openmpi)
{
    const char *text = getenv(of_openmpi);
    text = text ? text : getenv(of_mpich);
    return text ? atoi(text) : -1;
}

/* How many ranks of the node may use exactly the same processors as I; any others, none of them. */
static int count_sharers(const struct mpi_test *test, MPI_Comm node, int size)
{
    cpu_set_t mine, both, *all = calloc((size_t) size, sizeof(*all));
    int sharers = 0;
    sched_getaffinity(0, sizeof(mine), &mine);
    MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, node);
    for (int i = 0; i < size; i++) {
        bool same = CPU_EQUAL(&mine, &all[i]);
        CPU_AND(&both, &mine, &all[i]);
        test_check(test, same || CPU_COUNT(&both) == 0, "cores do not overlap");
        sharers += same;
    }
    free(all);
    return sharers;
}

#ifdef OMPI_COMM_TYPE_NODE
static void check_type(const struct mpi_test *test, int type, int expected, const char *what)
{
    MPI_Comm part;
    int size = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, type, test->rank, MPI_INFO_NULL, &part);
    MPI_Comm_size(part, &size);
    test_check(test, size == expected, what);
    MPI_Comm_free(&part);
}
#endif

int main(int argc, char **argv)
{
    struct mpi_test test = test_begin(&argc, &argv);
    MPI_Comm node;
    int rank, size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, test.rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    test_check(&test, size == test_number(argv, 2), "the ranks of my node");
    test_check(&test, rank == variable("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK"),
               "my local rank");
    test_check(&test, size == variable("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"),
               "the local size");
    if (argc > 3 && strcmp(argv[3], "core") == 0) {
        int sharers = count_sharers(&test, node, size);
#ifdef OMPI_COMM_TYPE_NODE
        check_type(&test, OMPI_COMM_TYPE_CORE, sharers, "who shares my core");
        check_type(&test, OMPI_COMM_TYPE_HOST, size, "who shares my host");
#endif
        test_check(&test, sharers >= 1, "I am among those on my core");
    }
    MPI_Comm_free(&node);
    return test_end(&test, "placement");
}
