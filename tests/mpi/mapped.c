/* mapped SIZE 0 MAP: MAP has a digit for each rank, its node: "012012". Who shares a node with me,
 * in which order, and what the node is called, follow it. */
#include "mpi_test.h"

#include <string.h>

/* The ranks of MAP with my digit are the communicator's, in order. */
static void check_group(const struct mpi_test *test, MPI_Comm node, const char *map)
{
    int size, mine = 0, *ranks;
    MPI_Comm_size(node, &size);
    ranks = calloc((size_t) size, sizeof(*ranks));
    MPI_Allgather(&test->rank, 1, MPI_INT, ranks, 1, MPI_INT, node);
    for (int rank = 0; rank < test->size; rank++) {
        if (map[rank] == map[test->rank]) {
            test_check(test, mine < size && ranks[mine] == rank, "the ranks of my node");
            mine++;
        }
    }
    test_check(test, mine == size, "nobody else is on my node");
    free(ranks);
}

int main(int argc, char **argv)
{
    struct mpi_test test = test_begin(&argc, &argv);
    const char *map = argc > 3 ? argv[3] : "", *name = getenv("KEEL_NODE");
    MPI_Comm node;
    test_check(&test, strlen(map) == (size_t) test.size, "a digit for each rank");
    test_check(&test, name && strncmp(name, "node", 4) == 0 && name[4] == map[test.rank],
               "the name of my node");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, test.rank, MPI_INFO_NULL, &node);
    check_group(&test, node, map);
    MPI_Comm_free(&node);
    return test_end(&test, "mapped");
}
