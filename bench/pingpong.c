/* What MPI makes of the same wire: messages of SIZE bytes between ranks 0 and 1, to and fro or in a
 * stream. Prints the seconds of one way: the median of its batches, the mean, and the processor
 * time of both ranks. rotate: the buffers are taken in turn from 256 MiB.
 *
 *   mpirun -n 2 pingpong SIZE SECONDS trip|rate [rotate] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tools/buffer.h>

enum { BATCHES_MOST = 10000, WINDOW = 64, SIZE_MOST = 256 << 20, WINDOW_BYTES = 512 << 20 };
static const double batch_s = 2e-3;

static char *out, *in;
static int size, rank, window, rotate; /* the last: bytes, or 0 */

/* The offset of the next message's buffer. */
static int turn(void)
{
    static int at;
    at = at + 2 * size <= rotate ? at + (size + 63) / 64 * 64 : 0;
    return at;
}

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
    for (int done = 0; done < count; done += window) {
        for (int i = 0; i < window; i++) {
            if (rank == 0) {
                MPI_Isend(out + turn(), size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[i]);
            } else {
                MPI_Irecv(in + turn(), size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]);
            }
        }
        MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
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

static double use_s(void)
{
    struct timespec use;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &use);
    return (double) use.tv_sec + 1e-9 * (double) use.tv_nsec;
}

/* Both ranks follow rank 0. */
static int agree(int more)
{
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return more;
}

/* ways: how often an operation crosses. */
static void measure(void (*run)(int count), int least, int ways, double seconds)
{
    static double times[BATCHES_MOST];
    int count = least, batches = 0;
    double start;
    for (int more = 1; more; count *= more ? 2 : 1) {
        start = MPI_Wtime();
        run(count);
        more = agree(MPI_Wtime() - start < batch_s && count < 1 << 22);
    }
    double before = use_s(), begin = MPI_Wtime(), use = 0;
    do {
        start = MPI_Wtime();
        run(count);
        times[batches++] = (MPI_Wtime() - start) / count / ways;
    } while (agree(MPI_Wtime() - begin < seconds && batches < BATCHES_MOST));
    double operations = (double) count * batches * ways, past = MPI_Wtime() - begin;
    double own = use_s() - before;
    MPI_Reduce(&own, &use, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    qsort(times, (size_t) batches, sizeof(*times), compare);
    if (rank == 0) {
        printf("%.6g %.6g %.6g\n", times[batches / 2], past / operations, use / operations);
    }
}

int main(int argc, char **argv)
{
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    size = argc >= 4 ? atoi(argv[1]) : 0;
    rotate = argc == 5 ? SIZE_MOST : 0;
    if (ranks != 2 || size <= 0 || size > SIZE_MOST) {
        fprintf(stderr, "Usage: mpirun -n 2 pingpong SIZE SECONDS trip|rate [rotate]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    window = WINDOW_BYTES / size < WINDOW ? WINDOW_BYTES / size : WINDOW;
    size_t room = (size_t) (rotate ? rotate : size);
    out = buffer_create(room, 1); /* untouched pages are all one page, which stays in the cache */
    in = buffer_create(room, 0);
    if (!out || !in) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (strcmp(argv[3], "trip") == 0) {
        measure(trip, 1, 2, atof(argv[2]));
    } else {
        measure(stream, window, 1, atof(argv[2]));
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
