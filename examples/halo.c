/* halo: heat spreads along a ring of cells, of which each rank has a part. In each step a rank
 * needs the edges of its two neighbours' parts, which persistent requests bring. keelrun -n 4 halo
 * [CELLS [STEPS]] */
#include "example.h"

#include <keel/pml.h>
#include <string.h>

enum { RING = 1 };                           /* a context */
enum { SUM = 0, TO_LEFT = 1, TO_RIGHT = 2 }; /* tags */

/* A rank's part: its cells are 1 to count, 0 and count + 1 are copies of the neighbours' edges. */
struct part {
    long count;
    double *now, *next;
};

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
        check(keel_pml_send(context, &data, 0, SUM, KEEL_PML_STANDARD), "send");
    }
    for (int32_t i = 1; i < size && me == 0; i++) {
        check(keel_pml_recv(context, &data, KEEL_PML_ANY_SOURCE, SUM, NULL), "recv");
        sum += other;
    }
    return sum;
}

/* All the heat is in the first cell of rank 0. */
static struct part part_create(long count, int32_t me)
{
    struct part part = {.count = count,
                        .now = calloc((size_t) count + 2, sizeof(double)),
                        .next = calloc((size_t) count + 2, sizeof(double))};
    if (!part.now || !part.next) {
        keel_abort(1, "no memory for %ld cells", count);
    }
    part.now[1] = me == 0 ? 1000 : 0;
    return part;
}

/* Four requests, made once: the neighbours' edges come, and this rank's go. */
static void edges_init(struct keel_pml_request *edges[4], struct keel_pml_context *context,
                       const struct part *part, int32_t left, int32_t right)
{
    double *now = part->now;
    opal_convertor_t from_left = one(&now[0]), from_right = one(&now[part->count + 1]);
    opal_convertor_t to_left = one(&now[1]), to_right = one(&now[part->count]);

    check(keel_pml_recv_init(context, &from_left, left, TO_RIGHT, &edges[0]), "recv_init");
    check(keel_pml_recv_init(context, &from_right, right, TO_LEFT, &edges[1]), "recv_init");
    check(keel_pml_send_init(context, &to_left, left, TO_LEFT, KEEL_PML_STANDARD, &edges[2]),
          "send_init");
    check(keel_pml_send_init(context, &to_right, right, TO_RIGHT, KEEL_PML_STANDARD, &edges[3]),
          "send_init");
}

/* The heat of cell i after this step. */
static void spread(struct part *part, long i)
{
    const double *now = part->now;
    part->next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
}

static void step(struct part *part, struct keel_pml_request *edges[4])
{
    for (int i = 0; i < 4; i++) {
        check(keel_pml_start(edges[i]), "start");
    }
    for (long i = 2; i < part->count; i++) { /* meanwhile: the cells that need no neighbour */
        spread(part, i);
    }
    check(keel_pml_waitall(4, edges, NULL), "waitall");
    spread(part, 1);
    spread(part, part->count);
    /* Copied, not swapped: the requests name the cells of `now`. */
    memcpy(&part->now[1], &part->next[1], (size_t) part->count * sizeof(double));
}

/* Returns the heat of all ranks, in rank 0. */
static double run(struct keel_pml_context *context, int32_t me, int32_t size, long cells,
                  long steps)
{
    struct part part = part_create(cells, me);
    struct keel_pml_request *edges[4];
    double heat = 0;

    edges_init(edges, context, &part, (me + size - 1) % size, (me + 1) % size);
    for (long i = 0; i < steps; i++) {
        step(&part, edges);
    }
    for (int i = 0; i < 4; i++) {
        check(keel_pml_request_free(&edges[i]), "request_free");
    }
    for (long i = 1; i <= cells; i++) {
        heat += part.now[i];
    }
    free(part.now);
    free(part.next);
    return sum_of(context, heat, me, size);
}

int main(int argc, char **argv)
{
    long cells = parse_number(argc > 1 ? argv[1] : NULL, "CELLS", 1, 1000);
    long steps = parse_number(argc > 2 ? argv[2] : NULL, "STEPS", 1, 2000);
    check(keel_init(NULL), "keel_init");
    int32_t me = (int32_t) keel_my_name()->vpid, size = (int32_t) keel_job_size();
    struct keel_pml_context *context;

    check(keel_pml_context_open(RING, NULL, (size_t) size, me, &context), "context_open");
    double heat = run(context, me, size, cells, steps);
    if (me == 0) {
        printf("halo: %d ranks, %ld cells, %ld steps, heat %.6f\n", (int) size, cells * size, steps,
               heat);
    }
    check(keel_pml_context_free(&context), "context_free");
    return keel_finalize() == ORTE_SUCCESS ? 0 : 1;
}
