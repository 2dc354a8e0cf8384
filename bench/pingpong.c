/* What MPI makes of the same wire: half trip (us), rate (messages per second) or stream (bytes per
 * second) of messages between ranks 0 and 1. Prints one number, the median of its batches.
 *
 *   mpirun -n 2 pingpong trip|rate SIZE */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 100, WINDOW = 64, SIZE_MOST = 64 << 20 };
static const double batch_s = 2e-3;

static char *out, *in;
static int size, rank;

static void trip(int count)
{
    for (int i = 0; i < count; i++) {
        if (rank == 0) {
            MPI_Send(out, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(in, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
}

/* Windows of messages one way; the receiver says when it has all. */
static void stream(int count)
{
    MPI_Request requests[WINDOW];
    char word = 0;
    for (int done = 0; done < count; done += WINDOW) {
        for (int i = 0; i < WINDOW; i++) {
            if (rank == 0) {
                MPI_Isend(out, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[i]);
            } else {
                MPI_Irecv(in, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]);
            }
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    }
    if (rank == 0) {
        MPI_Recv(&word, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&word, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *) a, right = *(const double *) b;
    return (left > right) - (left < right);
}

/* The median seconds of one operation; both ranks follow rank 0's counts. */
static double measure(void (*run)(int count), int least)
{
    static double times[BATCHES];
    int count = least, more = 1;
    while (more) {
        double start = MPI_Wtime();
        run(count);
        more = MPI_Wtime() - start < batch_s && count < 1 << 22;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        count *= more ? 2 : 1;
    }
    for (int i = 0; i < BATCHES; i++) {
        double start = MPI_Wtime();
        run(count);
        times[i] = (MPI_Wtime() - start) / count;
    }
    qsort(times, BATCHES, sizeof(*times), compare);
    return times[BATCHES / 2];
}

int main(int argc, char **argv)
{
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    size = argc == 3 ? atoi(argv[2]) : 0;
    if (ranks != 2 || size <= 0 || size > SIZE_MOST) {
        fprintf(stderr, "Usage: mpirun -n 2 pingpong trip|rate SIZE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    out = malloc((size_t) size);
    in = malloc((size_t) size);
    if (!out || !in) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(out, 1, (size_t) size); /* untouched pages are all one page, which stays in the cache */
    memset(in, 0, (size_t) size);
    double result =
        strcmp(argv[1], "trip") == 0 ? 1e6 * measure(trip, 1) / 2 : 1 / measure(stream, WINDOW);
    if (rank == 0) {
        printf("%.6g\n", result);
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
