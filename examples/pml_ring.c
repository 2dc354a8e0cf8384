/* pml_ring: a number goes round all ranks, and grows on its way.   keelrun -n 4 pml_ring [ROUNDS
 * [BYTES]] */
#include <keel/keel.h>
#include <keel/pml.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RING = 1, NUMBER = 7 }; /* a context, a tag */

static void must(int status, const char *what)
{
    if (status != OPAL_SUCCESS) {
        keel_abort(1, "%s: %s", what, opal_strerror(status));
    }
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 10;
    size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : sizeof(uint64_t);
    if (rounds <= 0 || bytes < sizeof(uint64_t) || keel_init(NULL) != ORTE_SUCCESS) {
        return 1;
    }
    int32_t me = (int32_t) keel_my_name()->vpid, size = (int32_t) keel_job_size();
    int32_t left = (me + size - 1) % size, right = (me + 1) % size;
    struct keel_pml_context *context;
    must(keel_pml_context_open(RING, NULL, (size_t) size, me, &context), "context_open");

    char *memory = calloc(2, bytes); /* what comes, and behind it what goes */
    opal_convertor_t in, out;
    uint64_t number = 0;
    if (!memory) {
        keel_abort(1, "no memory");
    }
    opal_convertor_prepare(&in, memory, bytes);
    opal_convertor_prepare(&out, memory + bytes, bytes);
    for (long round = 0; round < rounds; round++) {
        struct keel_pml_request *from_left;
        must(keel_pml_irecv(context, &in, left, NUMBER, &from_left), "irecv");
        if (me == 0) { /* begins each round, and does not wait for itself */
            memcpy(memory + bytes, &number, sizeof(number));
            must(keel_pml_send(context, &out, right, NUMBER, KEEL_PML_STANDARD), "send");
        }
        must(keel_pml_wait(&from_left, NULL), "wait");
        memcpy(&number, memory, sizeof(number));
        number++;
        if (me != 0) {
            memcpy(memory + bytes, &number, sizeof(number));
            must(keel_pml_send(context, &out, right, NUMBER, KEEL_PML_STANDARD), "send");
        }
    }
    if (me == 0) {
        printf("pml_ring: %d ranks, %ld rounds, the number is %llu\n", (int) size, rounds,
               (unsigned long long) number);
    }
    free(memory);
    must(keel_pml_context_free(&context), "context_free");
    return keel_finalize() == ORTE_SUCCESS ? 0 : 1;
}
