/* Bytes that tell what became of them on the way through keelrun.
 *
 *   flood write BYTES     a stream of its own for each rank (KEEL_RANK, at most 4): the two upper
 *                         bits of a byte are the rank, the rest a sequence
 *   flood verify RANKS BYTES   reads such streams, mixed in any way, and compares every byte
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS_MAX = 4, BUFFER = 64 * 1024 };

static uint8_t next_byte(uint32_t *state, unsigned rank)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint8_t) (rank << 6 | *state >> 26);
}

static int write_all(const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t done = write(1, data, size);
        if (done < 0 && errno != EINTR) {
            return -1;
        }
        if (done > 0) {
            data += done;
            size -= (size_t) done;
        }
    }
    return 0;
}

static int write_stream(unsigned rank, uint64_t bytes)
{
    static uint8_t buffer[BUFFER];
    uint32_t state = rank;
    /* lengths that are no power of two, so that pieces end anywhere */
    for (uint64_t done = 0; done < bytes;) {
        size_t size = 1 + (size_t) (done * 7919u % (BUFFER - 1));
        size = bytes - done < size ? (size_t) (bytes - done) : size;
        for (size_t i = 0; i < size; i++) {
            buffer[i] = next_byte(&state, rank);
        }
        if (write_all(buffer, size) != 0) {
            perror("flood: write");
            return 1;
        }
        done += size;
    }
    return 0;
}

static int verify(unsigned ranks, uint64_t bytes)
{
    static uint8_t buffer[BUFFER];
    uint32_t state[RANKS_MAX] = {0, 1, 2, 3};
    uint64_t seen[RANKS_MAX] = {0};
    ssize_t got;
    while ((got = read(0, buffer, sizeof(buffer))) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            unsigned rank = buffer[i] >> 6;
            if (buffer[i] != next_byte(&state[rank], rank)) {
                printf("byte %llu of rank %u is wrong\n", (unsigned long long) seen[rank], rank);
                return 1;
            }
            seen[rank]++;
        }
    }
    for (unsigned rank = 0; rank < RANKS_MAX; rank++) {
        if (seen[rank] != (rank < ranks ? bytes : 0)) {
            printf("%llu bytes of rank %u\n", (unsigned long long) seen[rank], rank);
            return 1;
        }
    }
    printf("right\n");
    return got < 0;
}

int main(int argc, char **argv)
{
    const char *rank = getenv("KEEL_RANK");
    if (argc == 3 && strcmp(argv[1], "write") == 0 && rank) {
        return write_stream((unsigned) atoi(rank) % RANKS_MAX, strtoull(argv[2], NULL, 10));
    }
    if (argc == 4 && strcmp(argv[1], "verify") == 0) {
        return verify((unsigned) atoi(argv[2]), strtoull(argv[3], NULL, 10));
    }
    fprintf(stderr, "usage: flood write BYTES | flood verify RANKS BYTES\n");
    return 2;
}
