/* all-to-all MIB: each rank sends so many MiB to each other one, all at the same time, and looks at
 * what came. Rank 0 prints "N ranks, MIB MiB to each: whole" at the end. */
#include "must.h"

#include <keel/keel.h>
#include <keel/pml.h>
#include <stdio.h>
#include <stdlib.h>

enum { CONTEXT = 1, TAG = 1 };

static struct keel_pml_context *context;
static uint32_t me, ranks;

static uint64_t word(uint32_t rank, size_t place)
{
    return (place + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ rank;
}

static uint64_t *words_new(size_t count)
{
    uint64_t *words = malloc(count * sizeof(*words));

    if (!words) {
        keel_abort(1, "no memory for %zu words", count);
    }
    return words;
}

static void look(const uint64_t *words, size_t count, uint32_t from)
{
    for (size_t i = 0; i < count; i++) {
        if (words[i] != word(from, i)) {
            keel_abort(1, "word %zu of rank %u is wrong", i, from);
        }
    }
}

/* Requests: of rank r the send 2 r, the receive 2 r + 1. */
static void exchange(struct keel_pml_request **requests, uint64_t **received, size_t count)
{
    uint64_t *sent = words_new(count);
    opal_convertor_t data;

    for (size_t i = 0; i < count; i++) {
        sent[i] = word(me, i);
    }
    for (uint32_t step = 1; step < ranks; step++) {
        uint32_t to = (me + step) % ranks, from = (me + ranks - step) % ranks;
        received[from] = words_new(count);
        opal_convertor_prepare(&data, received[from], count * sizeof(**received));
        must_succeed(keel_pml_irecv(context, &data, (int32_t) from, TAG, &requests[2 * from + 1]),
                     "irecv");
        opal_convertor_prepare(&data, sent, count * sizeof(*sent));
        must_succeed(keel_pml_isend(context, &data, (int32_t) to, TAG, KEEL_PML_STANDARD,
                                    &requests[(size_t) 2 * to]),
                     "isend");
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        if (rank != me) {
            must_succeed(keel_pml_wait(&requests[(size_t) 2 * rank], NULL), "a send");
            must_succeed(keel_pml_wait(&requests[2 * rank + 1], NULL), "a receive");
            look(received[rank], count, rank);
            free(received[rank]);
        }
    }
    free(sent);
}

int main(int argc, char **argv)
{
    size_t mib = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

    if (mib == 0) {
        return 2;
    }
    must_succeed(keel_init(NULL), "init");
    me = keel_my_name()->vpid;
    ranks = keel_job_size();
    must_succeed(keel_pml_context_open(CONTEXT, NULL, ranks, (int32_t) me, &context), "context");
    struct keel_pml_request **requests = calloc((size_t) 2 * ranks, sizeof(*requests));
    uint64_t **received = calloc(ranks, sizeof(*received));
    if (!requests || !received) {
        keel_abort(1, "no memory");
    }
    exchange(requests, received, (mib << 20) / sizeof(uint64_t));
    must_succeed(keel_fence(), "fence");
    if (me == 0) {
        printf("%u ranks, %zu MiB to each: whole\n", ranks, mib);
    }
    free(requests);
    free(received);
    must_succeed(keel_pml_context_free(&context), "free");
    must_succeed(keel_finalize(), "finalize");
    return 0;
}
