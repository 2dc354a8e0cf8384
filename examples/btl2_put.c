/* btl2_put: put.c by BTL 2.0: every rank writes into memory of its right neighbour. A descriptor
 * has the segments of both ends, and a segment's key is all that a peer needs.
 *
 *   keelrun -n 3 btl2_put */
#include <keel/btl2.h>
#include <keel/keel.h>

#include <stdio.h>
#include <stdlib.h>

/* A neighbour: the module that leads to it, and the endpoint there. */
struct neighbour {
    mca_btl2_base_module_t *btl;
    struct mca_btl2_base_endpoint_t *endpoint;
};

/* Of the modules that reach it, the one of the highest exclusivity. */
static struct neighbour reach(orte_process_name_t name)
{
    struct neighbour best = {NULL, NULL};
    struct ompi_proc_t *proc = (struct ompi_proc_t *) keel_proc(&name);
    size_t count;
    mca_btl2_base_module_t **modules = keel_btl2_modules(&count);
    for (size_t i = 0; i < count; i++) {
        mca_btl2_base_module_t *btl = modules[i];
        struct mca_btl2_base_endpoint_t *endpoint = NULL;
        if (!(btl->btl_flags & MCA_BTL2_FLAGS_PUT) ||
            (best.btl && best.btl->btl_exclusivity >= btl->btl_exclusivity)) {
            continue;
        }
        btl->btl_add_procs(btl, 1, &proc, &endpoint, NULL);
        if (endpoint) {
            best = (struct neighbour){btl, endpoint};
        }
    }
    if (!best.btl) {
        keel_abort(1, "no module has put to rank %u", name.vpid);
    }
    return best;
}

/* A descriptor of the memory, as a source or as a target of puts. */
static mca_btl2_base_descriptor_t *prepare(struct neighbour peer, void *memory, size_t size,
                                           bool source)
{
    opal_convertor_t data;
    size_t taken = size;
    opal_convertor_prepare(&data, memory, size);
    mca_btl2_base_descriptor_t *made = (source ? peer.btl->btl_prepare_src
                                               : peer.btl->btl_prepare_dst)(
        peer.btl, peer.endpoint, NULL, &data, MCA_BTL2_NO_ORDER, 0, &taken, MCA_BTL2_DES_FLAGS_PUT);
    if (!made || taken != size) {
        keel_abort(1, "the memory cannot be prepared");
    }
    return made;
}

/* What a rank published: its target's segment. */
static mca_btl2_base_segment_t window_of(const orte_process_name_t *name)
{
    void *card;
    size_t size;
    if (keel_modex_recv(name, "window", &card, &size) != ORTE_SUCCESS ||
        size != sizeof(mca_btl2_base_segment_t)) {
        keel_abort(1, "rank %u published no window", name->vpid);
    }
    mca_btl2_base_segment_t window = *(mca_btl2_base_segment_t *) card;
    free(card);
    return window;
}

static void landed(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
                   mca_btl2_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    if (status != OPAL_SUCCESS) {
        keel_abort(1, "the put failed: %s", opal_strerror(status));
    }
    *(bool *) descriptor->des_cbdata = true;
}

/* Returns when the bytes are in the peer's memory. */
static void put(struct neighbour to, void *bytes, size_t size, mca_btl2_base_segment_t window)
{
    bool done = false;
    int status;
    mca_btl2_base_descriptor_t *source = prepare(to, bytes, size, true);
    source->des_dst = &window;
    source->des_dst_cnt = 1;
    source->des_cbfunc = landed;
    source->des_cbdata = &done;
    while ((status = to.btl->btl_put(to.btl, to.endpoint, source)) == OPAL_ERR_OUT_OF_RESOURCE) {
        keel_progress(); /* no room yet */
    }
    if (status != OPAL_SUCCESS) {
        keel_abort(1, "the put was refused: %s", opal_strerror(status));
    }
    while (!done) {
        keel_progress();
    }
    to.btl->btl_free(to.btl, source);
}

int main(void)
{
    static uint64_t memory[1024], mine[1024];
    if (keel_init(NULL) != ORTE_SUCCESS) {
        return 1;
    }
    uint32_t me = keel_my_name()->vpid, ranks = keel_job_size();
    orte_process_name_t right = {keel_my_name()->jobid, (me + 1) % ranks};
    orte_process_name_t left = {keel_my_name()->jobid, (me + ranks - 1) % ranks};
    struct neighbour from = reach(left), to = reach(right);
    mca_btl2_base_descriptor_t *target = prepare(from, memory, sizeof(memory), false);
    keel_modex_send("window", target->des_dst, sizeof(target->des_dst[0]));
    keel_fence(); /* now everybody has published */

    for (size_t i = 0; i < 1024; i++) {
        mine[i] = me + 1;
    }
    put(to, mine, sizeof(mine), window_of(&right));
    keel_fence(); /* now all puts are complete */
    printf("rank %u: rank %llu wrote %zu bytes\n", me, (unsigned long long) memory[1023] - 1,
           sizeof(memory));
    from.btl->btl_free(from.btl, target);
    return keel_finalize() == ORTE_SUCCESS && memory[0] == left.vpid + 1 ? 0 : 1;
}
