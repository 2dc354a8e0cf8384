/* halo: heat spreads along a rod that the ranks share; each keeps two cells of its neighbours,
 * which persistent requests bring again and again.   keelrun -n 4 halo [CELLS [STEPS]] */
#include <keel/keel.h>
#include <keel/pml.h>

#include <stdio.h>
#include <stdlib.h>

enum { ROD = 1 };                   /* a context */
enum { TO_LEFT = 1, TO_RIGHT = 2 }; /* tags */

static void must(int status, const char *what)
{
    if (status != OPAL_SUCCESS) {
        keel_abort(1, "%s: %s", what, opal_strerror(status));
    }
}

static opal_convertor_t one(double *cell)
{
    opal_convertor_t data;
    opal_convertor_prepare(&data, cell, sizeof(*cell));
    return data;
}

/* The sum over all ranks, in rank 0. */
static double sum_of(struct keel_pml_context *context, double mine, int32_t me, int32_t size)
{
    double sum = mine, other;
    opal_convertor_t data = one(me == 0 ? &other : &mine);
    if (me != 0) {
        must(keel_pml_send(context, &data, 0, 0, KEEL_PML_STANDARD), "send");
    }
    for (int32_t i = 1; i < size && me == 0; i++) {
        must(keel_pml_recv(context, &data, KEEL_PML_ANY_SOURCE, 0, NULL), "recv");
        sum += other;
    }
    return sum;
}

int main(int argc, char **argv)
{
    long cells = argc > 1 ? atol(argv[1]) : 1000, steps = argc > 2 ? atol(argv[2]) : 2000;
    if (cells <= 0 || steps <= 0 || keel_init(NULL) != ORTE_SUCCESS) {
        return 1;
    }
    int32_t me = (int32_t) keel_my_name()->vpid, size = (int32_t) keel_job_size();
    int32_t left = (me + size - 1) % size, right = (me + 1) % size; /* the rod is a ring */
    struct keel_pml_context *context;
    must(keel_pml_context_open(ROD, NULL, (size_t) size, me, &context), "context_open");

    double *now = calloc((size_t) cells + 2, sizeof(*now)); /* 0 and cells + 1: the neighbours' */
    double *next = calloc((size_t) cells + 2, sizeof(*next));
    if (!now || !next) {
        keel_abort(1, "no memory for %ld cells", cells);
    }
    now[1] = me == 0 ? 1000 : 0;

    struct keel_pml_request *requests[4];
    opal_convertor_t data[] = {one(&now[0]), one(&now[cells + 1]), one(&now[1]), one(&now[cells])};
    must(keel_pml_recv_init(context, &data[0], left, TO_RIGHT, &requests[0]), "recv_init");
    must(keel_pml_recv_init(context, &data[1], right, TO_LEFT, &requests[1]), "recv_init");
    must(keel_pml_send_init(context, &data[2], left, TO_LEFT, KEEL_PML_STANDARD, &requests[2]),
         "send_init");
    must(keel_pml_send_init(context, &data[3], right, TO_RIGHT, KEEL_PML_STANDARD, &requests[3]),
         "send_init");
    for (long step = 0; step < steps; step++) {
        for (int i = 0; i < 4; i++) {
            must(keel_pml_start(requests[i]), "start");
        }
        for (long i = 2; i < cells; i++) { /* meanwhile: what needs no neighbour */
            next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
        }
        must(keel_pml_waitall(4, requests, NULL), "waitall");
        for (long i = 1; i <= cells; i += cells > 1 ? cells - 1 : 1) {
            next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
        }
        for (long i = 1; i <= cells; i++) { /* the requests name the cells of `now` */
            now[i] = next[i];
        }
    }
    for (int i = 0; i < 4; i++) {
        must(keel_pml_request_free(&requests[i]), "request_free");
    }

    double heat = 0;
    for (long i = 1; i <= cells; i++) {
        heat += now[i];
    }
    heat = sum_of(context, heat, me, size);
    if (me == 0) {
        printf("halo: %d ranks, %ld cells, %ld steps, heat %.6f\n", (int) size, cells * size, steps,
               heat);
    }
    free(now);
    free(next);
    must(keel_pml_context_free(&context), "context_free");
    return keel_finalize() == ORTE_SUCCESS ? 0 : 1;
}
