/* Sends long messages from rank 0 to rank 1, which looks at their bytes: stripe MIB COUNT SECONDS
 *
 * COUNT messages at a time, for so many seconds after a first one; prints MB/s. */
#include "must.h"

#include <keel/keel.h>
#include <keel/pml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONTEXT = 1, DATA = 1, MORE = 2, MOST = 64 };

static struct keel_pml_context *context;
static uint64_t *buffers[MOST];
static size_t size, count;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

static opal_convertor_t data_of(void *bytes, size_t length)
{
    opal_convertor_t data;
    opal_convertor_prepare(&data, bytes, length);
    return data;
}

/* Each word says which message it is of and where it lies. */
static uint64_t word(size_t round, size_t message, size_t place)
{
    return (uint64_t) round << 48 ^ (uint64_t) message << 40 ^ place * UINT64_C(0x9e3779b97f4a7c15);
}

static void fill(size_t round)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; at < size / 8; at++) {
            buffers[i][at] = word(round, i, at);
        }
    }
}

static void look(size_t round)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; at < size / 8; at++) {
            if (buffers[i][at] != word(round, i, at)) {
                keel_abort(1, "round %zu, message %zu: the word at %zu is wrong", round, i, at * 8);
            }
        }
        memset(buffers[i], 0, size);
    }
}

/* Nanoseconds from the first start to the last end. */
static uint64_t exchange(uint32_t rank)
{
    struct keel_pml_request *requests[MOST];
    uint64_t begin = now_ns();
    for (size_t i = 0; i < count; i++) {
        opal_convertor_t data = data_of(buffers[i], size);
        must_succeed(rank == 0
                         ? keel_pml_isend(context, &data, 1, DATA, KEEL_PML_STANDARD, &requests[i])
                         : keel_pml_irecv(context, &data, 0, DATA, &requests[i]),
                     "start");
    }
    must_succeed(keel_pml_waitall(count, requests, NULL), "wait");
    return now_ns() - begin;
}

static void run(uint32_t rank, uint64_t most_ns)
{
    uint64_t took = 0, begin = now_ns();
    size_t rounds = 0;
    bool more = true;
    for (size_t round = 0; more; round++) {
        if (rank == 0) {
            fill(round);
        }
        must_succeed(keel_fence(), "fence");
        uint64_t one = exchange(rank);
        took += round > 0 ? one : 0;
        rounds += round > 0;
        if (rank == 1) {
            look(round);
        }
        more = now_ns() - begin < most_ns;
        opal_convertor_t data = data_of(&more, sizeof(more));
        must_succeed(rank == 0 ? keel_pml_send(context, &data, 1, MORE, KEEL_PML_STANDARD)
                               : keel_pml_recv(context, &data, 0, MORE, NULL),
                     "more");
    }
    if (rank == 1) {
        double bytes = (double) (rounds * count * size);
        printf("stripe: %zu rounds, %.1f MB/s\n", rounds,
               took > 0 ? bytes * 1000 / (double) took : 0);
    }
}

int main(int argc, char **argv)
{
    size = argc > 1 ? strtoul(argv[1], NULL, 10) << 20 : 1 << 20;
    count = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    count = count < MOST ? count : MOST;
    must_succeed(keel_init(NULL), "init");
    uint32_t rank = keel_my_name()->vpid;
    must_succeed(keel_pml_context_open(CONTEXT, NULL, keel_job_size(), (int32_t) rank, &context),
                 "context");
    for (size_t i = 0; i < count; i++) {
        buffers[i] = malloc(size);
        if (!buffers[i]) {
            keel_abort(1, "out of memory");
        }
    }
    run(rank, (argc > 3 ? strtoul(argv[3], NULL, 10) : 1) * UINT64_C(1000000000));
    for (size_t i = 0; i < count; i++) {
        free(buffers[i]);
    }
    must_succeed(keel_pml_context_free(&context), "free");
    must_succeed(keel_finalize(), "finalize");
    return 0;
}
