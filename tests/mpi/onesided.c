/* onesided SIZE [LOCAL allocate]: every rank puts its number into all others' windows and gets
 * theirs. The windows are its own memory, or what MPI allocates. */
#include "mpi_test.h"

#include <string.h>

int main(int argc, char **argv)
{
    struct mpi_test test = test_begin(&argc, &argv);
    int *window = NULL, number = test.rank + 1;
    int *got = calloc((size_t) test.size, sizeof(*got));
    MPI_Win win;
    MPI_Aint bytes = (MPI_Aint) ((size_t) test.size * sizeof(int));
    bool allocate = argc > 3 && strcmp(argv[3], "allocate") == 0;
    int *own = calloc((size_t) test.size, sizeof(*own));
    if (allocate) {
        MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    } else {
        window = own;
        MPI_Win_create(window, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    for (int i = 0; i < test.size; i++) {
        window[i] = -1;
    }
    MPI_Win_fence(0, win);
    for (int peer = 0; peer < test.size; peer++) {
        MPI_Put(&number, 1, MPI_INT, peer, test.rank, 1, MPI_INT, win);
    }
    MPI_Win_fence(0, win);
    for (int i = 0; i < test.size; i++) {
        test_check(&test, window[i] == i + 1, "what a peer has put");
    }
    MPI_Win_fence(0, win);
    for (int peer = 0; peer < test.size; peer++) {
        MPI_Get(&got[peer], 1, MPI_INT, peer, peer, 1, MPI_INT, win);
    }
    MPI_Win_fence(0, win);
    for (int peer = 0; peer < test.size; peer++) {
        test_check(&test, got[peer] == peer + 1, "what was got from a peer");
    }
    MPI_Win_free(&win);
    free(own);
    free(got);
    return test_end(&test, "onesided");
}
