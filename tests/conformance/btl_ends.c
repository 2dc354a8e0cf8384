/* How traffic begins and ends: add_procs, del_procs, strangers. */
#include <base/data/clock.h>
#include <btl/plane/bml.h>
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

#define TAG 90
#define HALF_OPEN_US 1000000 /* half of what the modules give a peer that does not answer */

struct counts {
    atomic_ulong received;
};

/* Whether a message may be said to come from this endpoint: one that this process has added, or
 * none. */
static bool is_known(const struct test *test, const void *endpoint)
{
    bool known = !endpoint;
    for (int i = 0; i < test->size; i++) {
        known = known || endpoint == test->endpoints[i];
    }
    return known;
}

static void count_one(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag;
    struct test *test = cbdata;
    must(test, is_known(test, descriptor->des_context));
    ((struct counts *) test->state)->received++;
}

/* One message to the neighbour, and one from it. */
static void one_goes_round(struct test *test, struct counts *counts)
{
    find_neighbours(test);
    meet(test);
    send_bytes(test, test->right, "x", 1, TAG);
    pump_until(test, &counts->received, 1);
    meet(test);
}

static void bitmap_may_be_missing(struct test *test)
{
    struct counts counts = {0};
    opal_proc_t *procs[16];
    test->state = &counts;
    on_tag(test, TAG, count_one);
    for (int i = 0; i < test->size; i++) {
        procs[i] = &test->host->procs[i];
    }
    must(test, test->btl->btl_add_procs(test->btl, (size_t) test->size, procs, test->endpoints,
                                        NULL) == OPAL_SUCCESS);
    one_goes_round(test, &counts);
}

static void procs_are_added_one_by_one(struct test *test)
{
    struct counts counts = {0};
    test->state = &counts;
    on_tag(test, TAG, count_one);
    for (int i = 0; i < test->size; i++) {
        opal_proc_t *proc = &test->host->procs[i];
        must(test, test->btl->btl_add_procs(test->btl, 1, &proc, &test->endpoints[i], NULL) ==
                       OPAL_SUCCESS);
    }
    one_goes_round(test, &counts);
}

/* Even ranks add their peers and send before odd ranks have added anybody. */
static void strangers_are_heard(struct test *test)
{
    struct counts counts = {0};
    test->state = &counts;
    on_tag(test, TAG, count_one);
    stop(test);
    if (test->rank % 2 == 0) {
        add_all(test);
        find_neighbours(test);
        for (int i = 0; i < 100; i++) {
            send_bytes(test, test->right, "from a stranger", 15, TAG);
        }
        meet(test);
    } else {
        pump_until(test, &counts.received, 100);
        meet(test);
        add_all(test);
        find_neighbours(test);
        for (int i = 0; i < 100; i++) {
            send_bytes(test, test->right, "from a peer", 11, TAG);
        }
    }
    if (test->rank % 2 == 0) {
        pump_until(test, &counts.received, 100);
    }
    meet(test);
}

struct flight {
    struct test *test;
    atomic_ulong callbacks;
    unsigned long accepted;
    unsigned char *calls;
};

static void landed(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                   mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    struct flight *flight = descriptor->des_context;
    must(flight->test, status <= 0);
    must(flight->test, flight->calls[(uintptr_t) descriptor->des_cbdata]++ == 0);
    flight->callbacks++;
}

/* Fills the rail to the neighbour, who does not poll; the accepted are numbered. */
static void fill_rail(struct test *test, struct flight *flight, size_t size, unsigned long cap)
{
    mca_btl_base_module_t *btl = test->btl;
    for (unsigned long i = 0; i < cap; i++) {
        mca_btl_base_descriptor_t *descriptor =
            btl->btl_alloc(btl, test->endpoints[test->right], MCA_BTL_NO_ORDER, size,
                           MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
        if (!descriptor) {
            return;
        }
        memset(descriptor->des_segments[0].seg_addr.pval, 5, size);
        descriptor->des_cbfunc = landed;
        descriptor->des_cbdata = (void *) (uintptr_t) flight->accepted;
        descriptor->des_context = flight;
        int status = btl->btl_send(btl, test->endpoints[test->right], descriptor, TAG);
        if (status < 0) {
            must(test, is_shortage(status));
            btl->btl_free(btl, descriptor);
            return;
        }
        flight->accepted += status == 0;
    }
}

static void operated(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *address, mca_btl_base_registration_handle_t *handle, void *context,
                     void *data, int status)
{
    (void) btl, (void) endpoint, (void) address, (void) handle;
    struct flight *flight = context;
    must(flight->test, status <= 0);
    must(flight->test, flight->calls[(uintptr_t) data]++ == 0);
    flight->callbacks++;
}

static void add_operations(struct test *test, struct flight *flight, unsigned char *local)
{
    mca_btl_base_module_t *btl = test->btl;
    struct board *target = board_of(test, test->right);
    for (int i = 0; i < 20 && btl->btl_register_mem; i++) {
        int status = (i % 2 ? btl->btl_put : btl->btl_get)(
            btl, test->endpoints[test->right], local, target->base, NULL, (void *) target->handle,
            1 << 20, 0, MCA_BTL_NO_ORDER, operated, flight, (void *) (uintptr_t) flight->accepted);
        if (status == OPAL_ERR_UNREACH) {
            return; /* the other end has left already */
        }
        must(test, status >= 0 || is_shortage(status));
        flight->accepted += status == 0;
    }
}

static void del_procs_ends_traffic(struct test *test, size_t size, bool operations)
{
    enum { CAP = 20000 };
    struct counts counts = {0};
    struct flight flight = {.test = test, .calls = calloc(CAP + 32, 1)};
    unsigned char *local = calloc(1, 1 << 20);
    must(test, flight.calls && local);
    test->state = &counts;
    on_tag(test, TAG, count_one);
    mca_btl_base_registration_handle_t *handle =
        test->btl->btl_register_mem ? show_data(test, 1 << 20, MCA_BTL_REG_FLAG_ACCESS_ANY) : NULL;
    meet(test);
    send_bytes(test, test->right, "x", 1, TAG); /* the link is up */
    pump_until(test, &counts.received, 1);
    meet(test);
    halt(test);
    fill_rail(test, &flight, size, CAP);
    if (operations) {
        add_operations(test, &flight, local);
    }
    stop(test); /* sends to a neighbour that has left would be refused */
    opal_proc_t *proc = &test->host->procs[test->right];
    must(test, test->btl->btl_del_procs(test->btl, 1, &proc, &test->endpoints[test->right]) ==
                   OPAL_SUCCESS);
    test->endpoints[test->right] = NULL;
    must(test, flight.callbacks == flight.accepted);
    resume(test);
    pump_idle(test);
    must(test, flight.callbacks == flight.accepted);
    if (handle) {
        must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
    }
    free(flight.calls);
    free(local);
    meet(test);
}

static void del_procs_with_small(struct test *test)
{
    del_procs_ends_traffic(test, 64, false);
}

static void del_procs_with_large(struct test *test)
{
    del_procs_ends_traffic(test, test->btl->btl_max_send_size, false);
}

static void del_procs_with_rdma(struct test *test)
{
    del_procs_ends_traffic(test, test->btl->btl_eager_limit, true);
}

/* Whether an end waits until the other side has sent all that was queued there. */
static bool waits_for_peers(const struct test *test)
{
    return strcmp(test->module, "usnic") == 0;
}

struct words {
    atomic_ulong received, done;
    unsigned long sent, awaited;
};

static void word_came(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor;
    struct test *test = cbdata;
    ((struct words *) test->state)->received++;
}

static void word_is_out(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                        mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    struct test *test = descriptor->des_context;
    must(test, status == OPAL_SUCCESS || (status < 0 && !waits_for_peers(test)));
    ((struct words *) test->state)->done++;
}

/* To each peer so many. */
static void say_to_all(struct test *test, struct words *words, int count)
{
    enum { BYTES = 3000 };
    for (int i = 0; i < count * test->size; i++) {
        int to = i % test->size;
        if (to == test->rank) {
            continue;
        }
        mca_btl_base_descriptor_t *descriptor =
            alloc_wait(test, to, BYTES, MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
        memset(descriptor->des_segments[0].seg_addr.pval, 5, BYTES);
        descriptor->des_cbfunc = word_is_out;
        descriptor->des_context = test;
        send_wait(test, to, descriptor, TAG);
        words->sent++;
    }
}

/* Half of the processes have much to say, so that the others have ended before: as much as a module
 * takes while its peer does not look. */
static int last_words(const struct test *test, int rank, int round)
{
    const int most = waits_for_peers(test) ? 100 : 8;
    return (rank + round) % 2 == 0 ? most : 0;
}

static void await_words(struct test *test, struct words *words, int round)
{
    for (int i = 0; i < test->size; i++) {
        words->awaited += i != test->rank ? (unsigned long) last_words(test, i, round) : 0;
    }
}

static void delete_all(struct test *test)
{
    opal_proc_t *procs[16];

    for (int i = 0; i < test->size; i++) {
        procs[i] = &test->host->procs[i];
    }
    must(test, test->btl->btl_del_procs(test->btl, (size_t) test->size, procs, test->endpoints) ==
                   OPAL_SUCCESS);
}

/* All processes end all their endpoints at the same time, with much on its way. */
static void all_end_at_once(struct test *test)
{
    struct words words = {0};
    test->state = &words;
    on_tag(test, TAG, word_came);
    for (int round = 0; round < 3; round++) {
        meet(test);
        say_to_all(test, &words, 1); /* the links are up */
        words.awaited += (unsigned long) test->size - 1;
        pump_until(test, &words.received, words.awaited);
        meet(test);
        say_to_all(test, &words, last_words(test, test->rank, round));
        await_words(test, &words, round);
        stop(test);
        delete_all(test);
        must(test, words.done == words.sent);
        must(test, words.received == words.awaited || !waits_for_peers(test));
        words.received = words.awaited;
        meet(test);
        add_all(test);
    }
}

/* Wants a link to each. What is sent may be refused as long as there is none. */
static void greet_odd_ones(struct test *test)
{
    for (int i = 1; i < test->size; i += 2) {
        mca_btl_base_descriptor_t *descriptor =
            alloc_wait(test, i, 1, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
        memset(descriptor->des_segments[0].seg_addr.pval, 5, 1);
        if (is_shortage(test->btl->btl_send(test->btl, test->endpoints[i], descriptor, TAG))) {
            test->btl->btl_free(test->btl, descriptor);
        }
    }
    pump_idle(test);
}

/* The even processes say hello to the odd ones, which answer, and end before they know that their
 * answers have come: nobody waits for somebody who has gone. (Over ofi, some may, until their time
 * is over.) */
static void ends_that_are_half_open(struct test *test)
{
    struct words words = {0};
    test->state = &words;
    on_tag(test, TAG, word_came);
    halt(test);
    if (test->rank % 2 == 0) {
        greet_odd_ones(test);
    }
    stop(test);
    if (test->rank % 2 != 0) {
        pump_idle(test);
        delete_all(test);
    }
    stop(test);
    pump_idle(test);
    uint64_t began_us = clock_us();
    if (test->rank % 2 == 0) {
        delete_all(test);
    }
    must(test, clock_us() - began_us < HALF_OPEN_US || !waits_for_peers(test));
    resume(test);
    meet(test);
    add_all(test);
}

/* Descriptors that nobody freed, regions that nobody closed: close frees them. */
static void close_cleans_up(struct test *test)
{
    for (int i = 0; i < 5; i++) {
        mca_btl_base_descriptor_t *descriptor = alloc_wait(test, test->right, 1000, 0);
        memset(descriptor->des_segments[0].seg_addr.pval, 0, 1000);
    }
    static unsigned char memory[64];
    if (test->btl->btl_register_mem) {
        must(test, test->btl->btl_register_mem(test->btl, MCA_BTL_ENDPOINT_ANY, memory,
                                               sizeof(memory), MCA_BTL_REG_FLAG_ACCESS_ANY));
    }
}

/* After del_procs a peer can be added again. */
static void procs_come_back(struct test *test)
{
    struct counts counts = {0};
    test->state = &counts;
    on_tag(test, TAG, count_one);
    for (unsigned long round = 1; round <= 3; round++) {
        meet(test);
        send_bytes(test, test->right, "x", 1, TAG);
        pump_until(test, &counts.received, round);
        meet(test);
        for (int i = 0; i < test->size; i++) {
            opal_proc_t *proc = &test->host->procs[i];
            if (test->endpoints[i]) {
                test->btl->btl_del_procs(test->btl, 1, &proc, &test->endpoints[i]);
            }
        }
        meet(test);
        pump_idle(test);
        meet(test);
        add_all(test);
    }
}

static int delete_one(struct test *test, int rank, struct mca_btl_base_endpoint_t *endpoint)
{
    opal_proc_t *proc = &test->host->procs[rank];
    return test->btl->btl_del_procs(test->btl, 1, &proc, &endpoint);
}

/* An endpoint ends when it was deleted as often as it was added. */
static void endpoints_are_counted(struct test *test)
{
    struct counts counts = {0};
    struct mca_btl_base_endpoint_t *first[16], *last = test->endpoints[test->right];
    test->state = &counts;
    on_tag(test, TAG, count_one);
    memcpy(first, test->endpoints, sizeof(first));
    add_all(test);
    must(test, memcmp(first, test->endpoints, (size_t) test->size * sizeof(*first)) == 0);
    one_goes_round(test, &counts);
    for (int i = 0; i < test->size; i++) {
        must(test, !first[i] || delete_one(test, i, first[i]) == OPAL_SUCCESS);
    }
    meet(test);
    send_bytes(test, test->right, "x", 1, TAG);
    pump_until(test, &counts.received, 2);
    meet(test);
    must(test, delete_one(test, test->right, last) == OPAL_SUCCESS);
    test->endpoints[test->right] = NULL;
    must(test, delete_one(test, test->right, last) == OPAL_ERR_BAD_PARAM);
    must(test, delete_one(test, test->right, NULL) == OPAL_SUCCESS);
    meet(test);
}

/* What the choice of rails has, nobody who did not add it can end. */
static void rails_are_not_given_away(struct test *test)
{
    struct counts counts = {0};
    struct bml *bml;
    opal_proc_t *procs[16];
    char reason[256];
    size_t count;
    test->state = &counts;
    on_tag(test, TAG, count_one);
    must(test, bml_create(&bml) == ORTE_SUCCESS);
    for (int i = 0; i < test->size; i++) {
        procs[i] = &test->host->procs[i];
    }
    /* Some module may not reach this very process. */
    (void) !bml_add_procs(bml, procs, (size_t) test->size, reason, sizeof(reason));
    for (int i = 0; i < test->size; i++) {
        const struct keel_rail *rails = bml_rails(bml, procs[i], &count);
        test->endpoints[i] = rails ? rails[0].endpoint : NULL;
    }
    find_neighbours(test);
    struct mca_btl_base_endpoint_t *rail = test->endpoints[test->right];
    must(test, delete_one(test, test->right, rail) == OPAL_ERR_BAD_PARAM);
    one_goes_round(test, &counts);
    add_all(test);
    must(test, test->endpoints[test->right] == rail);
    must(test, delete_one(test, test->right, rail) == OPAL_SUCCESS);
    must(test, delete_one(test, test->right, rail) == OPAL_ERR_BAD_PARAM);
    add_all(test);
    send_bytes(test, test->right, "x", 1, TAG);
    pump_until(test, &counts.received, 2);
    meet(test);
    bml_destroy(bml);
    /* It ends with those who added it. */
    send_bytes(test, test->right, "x", 1, TAG);
    pump_until(test, &counts.received, 3);
    meet(test);
    for (int i = 0; i < test->size; i++) { /* once more in the end */
        must(test, i == test->right || !test->endpoints[i] ||
                       delete_one(test, i, test->endpoints[i]) == OPAL_SUCCESS);
    }
}

const struct test_case end_cases[] = {
    {.name = "add_procs without bitmap",
     .run = bitmap_may_be_missing,
     .min_size = 1,
     .no_procs = true},
    {.name = "add_procs one by one",
     .run = procs_are_added_one_by_one,
     .min_size = 1,
     .no_procs = true},
    {.name = "strangers",
     .run = strangers_are_heard,
     .others = true,
     .min_size = 2,
     .no_procs = true},
    {.name = "del_procs, small in flight", .run = del_procs_with_small, .min_size = 1},
    {.name = "del_procs, large in flight", .run = del_procs_with_large, .min_size = 1},
    {.name = "del_procs, put and get in flight", .run = del_procs_with_rdma, .min_size = 1},
    {.name = "all end at once", .run = all_end_at_once, .others = true, .min_size = 1},
    {.name = "ends that are half open",
     .run = ends_that_are_half_open,
     .others = true,
     .min_size = 1,
     .undisturbed = true},
    {.name = "close", .run = close_cleans_up, .min_size = 1},
    {.name = "peers come back", .run = procs_come_back, .min_size = 1},
    {.name = "endpoints are counted",
     .run = endpoints_are_counted,
     .min_size = 1,
     .asks_too_much = true},
    {.name = "rails are not given away",
     .run = rails_are_not_given_away,
     .min_size = 1,
     .no_procs = true,
     .asks_too_much = true},
    {.name = NULL},
};
