/* What the MPI programs share. Each is told on its command line how many ranks it should find, so
 * that a program that became a singleton fails; any failed check aborts the job with code 3. They
 * are plain MPI programs: nothing of Keel's is used. */
#ifndef TESTS_MPI_TEST_H
#define TESTS_MPI_TEST_H

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct mpi_test {
    int rank, size;
};

static inline void test_check(const struct mpi_test *test, bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "rank %d of %d: failed: %s\n", test->rank, test->size, what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

/* A number on the command line; -1: not there. */
static inline int test_number(char **argv, int index)
{
    for (int i = 0; i <= index; i++) {
        if (!argv[i]) {
            return -1;
        }
    }
    return atoi(argv[index]);
}

/* MPI_Init, and are all there? */
static inline struct mpi_test test_begin(int *argc, char ***argv)
{
    struct mpi_test test = {-1, -1};
    int sum = -1;
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &test.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test.size);
    test_check(&test, test.size == test_number(*argv, 1), "the size is the one expected");
    MPI_Allreduce(&test.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    test_check(&test, sum == test.size * (test.size - 1) / 2, "the sum of all ranks");
    return test;
}

/* Rank 0 says so when all have passed. */
static inline int test_end(const struct mpi_test *test, const char *name)
{
    int one = 1, sum = 0;
    MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (test->rank == 0) {
        test_check(test, sum == test->size, "all ranks have come to the end");
        printf("%s: %d ranks passed\n", name, sum);
    }
    MPI_Finalize();
    return 0;
}

#endif
