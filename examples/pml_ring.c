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
    must(keel_pml_send(ring->context, &data, ring->right, NUMBER, KEEL_PML_STANDARD), "send");
}

/* Once round all ranks; rank 0 begins. Returns the number that came, and one more. */
static uint64_t go_round(const struct ring *ring, uint64_t number)
{
    struct keel_pml_request *from_left;
    opal_convertor_t data;
    opal_convertor_prepare(&data, ring->in, ring->bytes);
    /* posted before anything is sent, so that the message finds its buffer */
    must(keel_pml_irecv(ring->context, &data, ring->left, NUMBER, &from_left), "irecv");
    if (ring->me == 0) {
        send_number(ring, number);
    }
    must(keel_pml_wait(&from_left, NULL), "wait");
    memcpy(&number, ring->in, sizeof(number));
    number++;
    if (ring->me != 0) {
        send_number(ring, number);
    }
    return number;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 10;
    size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : sizeof(uint64_t);
    if (rounds <= 0 || bytes < sizeof(uint64_t) || keel_init(NULL) != ORTE_SUCCESS) {
        return 1;
    }
    int32_t me = (int32_t) keel_my_name()->vpid, size = (int32_t) keel_job_size();
    struct ring ring = {.me = me,
                        .left = (me + size - 1) % size,
                        .right = (me + 1) % size,
                        .in = calloc(1, bytes),
                        .out = calloc(1, bytes),
                        .bytes = bytes};
    uint64_t number = 0;
    if (!ring.in || !ring.out) {
        keel_abort(1, "no memory");
    }
    must(keel_pml_context_open(RING, NULL, (size_t) size, me, &ring.context), "context_open");
    for (long round = 0; round < rounds; round++) {
        number = go_round(&ring, number);
    }
    if (me == 0) {
        printf("pml_ring: %d ranks, %ld rounds, the number is %llu\n", (int) size, rounds,
               (unsigned long long) number);
    }
    must(keel_pml_context_free(&ring.context), "context_free");
    free(ring.in);
    free(ring.out);
    return keel_finalize() == ORTE_SUCCESS ? 0 : 1;
}
