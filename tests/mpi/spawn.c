/* spawn SIZE [LOCAL twice]: the ranks spawn SIZE + 1 more of this program, which find their parents;
 * all add up their numbers. With "twice", the children spawn two more each of their own. */
#include "mpi_test.h"

#include <string.h>

/* Parents and children add one each. */
static void meet(const struct mpi_test *test, MPI_Comm other, int high, int expected)
{
    MPI_Comm all;
    int one = 1, sum = 0;
    MPI_Intercomm_merge(other, high, &all);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    test_check(test, sum == expected, "parents and children together");
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&other);
}

static void have_children(const struct mpi_test *test, MPI_Comm parents, char *program, int count,
                          char *generation)
{
    int parent_count = 0, child_count = 0;
    char size[16];
    char *arguments[] = {size, (char[]){"0"}, generation, NULL};
    MPI_Comm children;
    snprintf(size, sizeof(size), "%d", count);
    MPI_Comm_spawn(program, arguments, count, MPI_INFO_NULL, 0, parents, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Comm_size(parents, &parent_count);
    MPI_Comm_remote_size(children, &child_count);
    test_check(test, child_count == count, "as many children as were wished for");
    meet(test, children, 0, parent_count + count);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    struct mpi_test test = test_begin(&argc, &argv);
    bool twice = argc > 3 && strcmp(argv[3], "twice") == 0;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        int parents = 0;
        MPI_Comm_remote_size(parent, &parents);
        meet(&test, parent, 1, parents + test.size);
        if (twice) {
            have_children(&test, MPI_COMM_SELF, argv[0], 2, (char[]){"once"});
        }
        MPI_Finalize();
        return 0;
    }
    have_children(&test, MPI_COMM_WORLD, argv[0], test.size + 1,
                  twice ? argv[3] : (char[]){"once"});
    return test_end(&test, "spawn");
}
