/* pml_ring: a number goes round all ranks, and grows on its way.   keelrun -n 4 pml_ring [ROUNDS
 * [BYTES]] */
#include "example.h"

#include <keel/pml.h>
#include <string.h>

enum { RING = 1, NUMBER = 7 }; /* a context, a tag */

/* A message begins with the number. Zeros make it as long as the caller asks. */
struct ring {
    struct keel_pml_context *context;
    int32_t me, left, right;
    char *in, *out; /* what comes and what goes */
    size_t bytes;   /* of each */
};

static void send_number(const struct ring *ring, uint64_t number)
{
    opal_convertor_t data;
    memcpy(ring->out, &number, sizeof(number));
    opal_convertor_prepare(&data, ring->out, ring->bytes);
    check(keel_pml_send(ring->context, &data, ring->right, NUMBER, KEEL_PML_STANDARD), "send");
}

/* Once round all ranks; rank 0 begins. Returns the number that came, and one more. */
static uint64_t go_round(const struct ring *ring, uint64_t number)
{
    struct keel_pml_request *from_left;
    opal_convertor_t data;
    opal_convertor_prepare(&data, ring->in, ring->bytes);
    /* posted before anything is sent, so that the message finds its buffer */
    check(keel_pml_irecv(ring->context, &data, ring->left, NUMBER, &from_left), "irecv");
    if (ring->me == 0) {
        send_number(ring, number);
    }
    check(keel_pml_wait(&from_left, NULL), "wait");
    memcpy(&number, ring->in, sizeof(number));
    number++;
    if (ring->me != 0) {
        send_number(ring, number);
    }
    return number;
}

int main(int argc, char **argv)
{
    long rounds = parse_number(argc > 1 ? argv[1] : NULL, "ROUNDS", 1, 10);
    long least = sizeof(uint64_t);
    size_t bytes = (size_t) parse_number(argc > 2 ? argv[2] : NULL, "BYTES", least, least);
    check(keel_init(NULL), "keel_init");
    int32_t me = (int32_t) keel_my_name()->vpid, size = (int32_t) keel_job_size();
    struct ring ring = {.me = me,
                        .left = (me + size - 1) % size,
                        .right = (me + 1) % size,
                        .in = calloc(1, bytes),
                        .out = calloc(1, bytes),
                        .bytes = bytes};
    uint64_t number = 0;
    if (!ring.in || !ring.out) {
        keel_abort(1, "no memory for messages of %zu bytes", bytes);
    }
    check(keel_pml_context_open(RING, NULL, (size_t) size, me, &ring.context), "context_open");
    for (long round = 0; round < rounds; round++) {
        number = go_round(&ring, number);
    }
    if (me == 0) {
        printf("pml_ring: %d ranks, %ld rounds, the number is %llu\n", (int) size, rounds,
               (unsigned long long) number);
    }
    check(keel_pml_context_free(&ring.context), "context_free");
    free(ring.in);
    free(ring.out);
    return keel_finalize() == ORTE_SUCCESS ? 0 : 1;
}
