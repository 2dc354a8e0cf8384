/* What a caller must not do, over every module: the checking module reports each, once, and the
 * module goes on. Without it there is nothing to see. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

#define TAG 60

/* Exactly one report since the last one, of the caller, with these words. */
static void expect(struct test *test, const char *words)
{
    if (test->breaches != 1 || !strstr(test->last_breach, words)) {
        minihost_fail(test->host, "rank %d: %u reports, not one of \"%s\": %s", test->rank,
                      test->breaches, words, test->last_breach);
    }
    test->breaches = 0;
}

static mca_btl_base_descriptor_t *alloc_one(struct test *test, size_t size, uint32_t flags)
{
    mca_btl_base_descriptor_t *made = alloc_wait(test, test->right, size, flags);
    memset(made->des_segments[0].seg_addr.pval, 1, size);
    return made;
}

static int send_one(struct test *test, mca_btl_base_descriptor_t *descriptor)
{
    int status;
    do {
        status = test->btl->btl_send(test->btl, test->endpoints[test->right], descriptor, TAG);
        pump(test);
    } while (is_shortage(status));
    return status;
}

static void take(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor, (void) cbdata;
}

static void descriptors_after_their_end(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    mca_btl_base_descriptor_t stranger = {.des_flags = 0};
    if (!test->checked) {
        return;
    }
    on_tag(test, TAG, take);
    meet(test);
    mca_btl_base_descriptor_t *descriptor = alloc_one(test, 100, 0);
    must(test, btl->btl_free(btl, descriptor) == OPAL_SUCCESS);
    must(test, btl->btl_free(btl, descriptor) == OPAL_ERR_BAD_PARAM);
    expect(test, "free: caller: the descriptor was freed before");
    must(test, send_one(test, descriptor) == OPAL_ERR_BAD_PARAM);
    expect(test, "send: caller: the descriptor was freed");

    descriptor = alloc_one(test, 100, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    must(test, send_one(test, descriptor) >= 0);
    must(test, send_one(test, descriptor) == OPAL_ERR_BAD_PARAM);
    expect(test, "send: caller: the descriptor was");
    must(test, btl->btl_free(btl, descriptor) == OPAL_ERR_BAD_PARAM);
    expect(test, "free: caller: the descriptor was");

    must(test, send_one(test, &stranger) == OPAL_ERR_BAD_PARAM);
    expect(test, "is no descriptor of this module");
    must(test, btl->btl_free(btl, &stranger) == OPAL_ERR_BAD_PARAM);
    expect(test, "is no descriptor of this module");
    meet(test);
}

static void limits_of_messages(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    if (!test->checked) {
        return;
    }
    on_tag(test, TAG, take);
    meet(test);
    mca_btl_base_descriptor_t *descriptor = alloc_one(test, 100, 0);
    mca_btl_base_segment_t *segment = &descriptor->des_segments[0];
    segment->seg_len = 101;
    must(test, send_one(test, descriptor) == OPAL_ERR_BAD_PARAM);
    expect(test, "segment 0 has 101 bytes");
    segment->seg_len = btl->btl_max_send_size + 1;
    must(test, send_one(test, descriptor) == OPAL_ERR_BAD_PARAM);
    expect(test, "btl_max_send_size is");
    segment->seg_len = 50;
    segment->seg_addr.pval = (char *) segment->seg_addr.pval + 8;
    must(test, send_one(test, descriptor) == OPAL_ERR_BAD_PARAM);
    expect(test, "segment 0 has 50 bytes at");
    segment->seg_addr.pval = (char *) segment->seg_addr.pval - 8;
    descriptor->des_segment_count = 2;
    must(test, send_one(test, descriptor) == OPAL_ERR_BAD_PARAM);
    expect(test, "the descriptor has 2 segments; it was made with 1");
    descriptor->des_segment_count = 1;
    must(test, btl->btl_free(btl, descriptor) == OPAL_SUCCESS);

    must(test, btl->btl_sendi(btl, test->endpoints[test->right], NULL, segment,
                              btl->btl_max_send_size + 1, 0, MCA_BTL_NO_ORDER, 0, TAG, NULL) < 0);
    expect(test, "sendi: caller: the message has");
    must(test, btl->btl_sendi(btl, test->endpoints[test->right], NULL, NULL, 0, 8, MCA_BTL_NO_ORDER,
                              0, TAG, NULL) == OPAL_ERR_BAD_PARAM);
    expect(test, "the convertor is NULL, and has bytes");
    opal_convertor_t convertor;
    char eight[8] = "message";
    size_t size = 8;
    opal_convertor_prepare(&convertor, eight, sizeof(eight));
    must(test, btl->btl_sendi(btl, test->endpoints[test->right], &convertor, NULL, 0, 9,
                              MCA_BTL_NO_ORDER, 0, TAG, NULL) == OPAL_ERR_BAD_PARAM);
    expect(test, "the convertor has 8 bytes left of 9");
    must(test, !btl->btl_prepare_src(btl, test->endpoints[test->right], NULL, MCA_BTL_NO_ORDER, 0,
                                     &size, 0));
    expect(test, "prepare_src: caller: the convertor is NULL");
    meet(test);
}

struct waiting {
    atomic_ulong calls;
};

static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint, (void) status;
    ((struct waiting *) descriptor->des_cbdata)->calls++;
}

/* Where a module takes its time; one that is done at once has nothing in flight. */
static void descriptors_in_flight(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    if (!test->checked) {
        return;
    }
    on_tag(test, TAG, take);
    meet(test);
    for (int change = 0; change < 2; change++) {
        struct waiting waiting = {0};
        mca_btl_base_descriptor_t *descriptor =
            alloc_one(test, btl->btl_max_send_size, MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
        descriptor->des_cbfunc = sent;
        descriptor->des_cbdata = &waiting;
        freeze(test);
        int status = btl->btl_send(btl, test->endpoints[test->right], descriptor, TAG);
        bool flies = status == 0 && waiting.calls == 0;
        if (flies && change) {
            ((unsigned char *) descriptor->des_segments[0].seg_addr.pval)[77] = 2;
        } else if (flies) {
            must(test, btl->btl_free(btl, descriptor) == OPAL_ERR_BAD_PARAM);
            expect(test, "the descriptor is in flight: 1 callbacks are to come");
        }
        thaw(test);
        while (status >= 0 && waiting.calls == 0) {
            pump(test);
        }
        if (flies && change) {
            expect(test, "the descriptor was changed while it is in flight");
        }
        must(test, btl->btl_free(btl, descriptor) == OPAL_SUCCESS);
        meet(test);
    }
}

static void write_and_count(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                            mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    struct test *test = cbdata;
    unsigned char *bytes = descriptor->des_segments[0].seg_addr.pval;
    (void) btl, (void) tag;
    bytes[descriptor->des_segments[0].seg_len - 1] ^= 1;
    (*(atomic_ulong *) test->state)++;
}

/* In whatever memory a module has it: a message is only read. */
static void messages_that_are_written_to(struct test *test)
{
    const size_t sizes[] = {8, 1000, test->btl->btl_max_send_size};
    atomic_ulong received = 0;
    if (!test->checked) {
        return;
    }
    test->state = &received;
    on_tag(test, TAG, write_and_count);
    meet(test);
    for (unsigned long i = 0; i < 3; i++) {
        mca_btl_base_descriptor_t *descriptor =
            alloc_one(test, sizes[i], MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
        memset(descriptor->des_segments[0].seg_addr.pval, 7, sizes[i]);
        must(test, send_one(test, descriptor) >= 0);
        pump_until(test, &received, i + 1);
        meet(test);
        expect(test, "deliver: caller: the callback of tag 60 wrote to the message");
        meet(test); /* the next message does not come before this report was counted */
    }
}

static void endpoints_after_del_procs(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    struct mca_btl_base_endpoint_t *old = test->endpoints[test->right];
    opal_proc_t *proc = &test->host->procs[test->right];
    unsigned char bytes[8] = {0}, handle[MCA_BTL_REG_HANDLE_MAX_SIZE] = {0};
    if (!test->checked) {
        return;
    }
    meet(test);
    must(test, !btl->btl_alloc(btl, (void *) bytes, MCA_BTL_NO_ORDER, 8, 0));
    expect(test, "alloc: caller: ");
    mca_btl_base_descriptor_t *descriptor = alloc_one(test, 8, 0);
    must(test, btl->btl_del_procs(btl, 1, &proc, &old) == OPAL_SUCCESS);
    test->endpoints[test->right] = NULL;
    must(test, btl->btl_send(btl, old, descriptor, TAG) == OPAL_ERR_BAD_PARAM);
    expect(test, "send: caller: the endpoint was given up by del_procs");
    must(test, !btl->btl_alloc(btl, old, MCA_BTL_NO_ORDER, 8, 0));
    expect(test, "alloc: caller: the endpoint was given up by del_procs");
    must(test, btl->btl_put(btl, old, bytes, 0, NULL, (void *) handle, 8, 0, MCA_BTL_NO_ORDER, NULL,
                            NULL, NULL) == OPAL_ERR_BAD_PARAM);
    expect(test, "put: caller: the endpoint was given up by del_procs");
    must(test, btl->btl_del_procs(btl, 1, &proc, &old) == OPAL_ERR_BAD_PARAM);
    expect(test, "del_procs: caller: the endpoint was given up by del_procs");
    must(test, btl->btl_free(btl, descriptor) == OPAL_SUCCESS);
    meet(test);
}

static void operated(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *address, mca_btl_base_registration_handle_t *handle, void *context,
                     void *data, int status)
{
    struct test *test = context;
    (void) btl, (void) endpoint, (void) address, (void) handle;
    must(test, status == OPAL_SUCCESS);
    ((struct waiting *) data)->calls++;
}

/* A put of size bytes from local with this local handle. */
static int put_with(struct test *test, struct waiting *waiting, void *local,
                    mca_btl_base_registration_handle_t *handle, size_t size)
{
    struct board *target = board_of(test, test->right);
    int status;
    do {
        status = test->btl->btl_put(test->btl, test->endpoints[test->right], local, target->base,
                                    handle, (void *) target->handle, size, 0, MCA_BTL_NO_ORDER,
                                    operated, test, waiting);
        if (is_shortage(status)) {
            pump(test);
        }
    } while (is_shortage(status));
    return status;
}

static void handles_after_their_end(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    static unsigned char local[4096];
    if (!test->checked || !btl->btl_register_mem) {
        return;
    }
    mca_btl_base_registration_handle_t *mine = show_data(test, 4096, MCA_BTL_REG_FLAG_ACCESS_ANY);
    meet(test);
    struct waiting waiting = {0};
    mca_btl_base_registration_handle_t *handle =
        btl->btl_register_mem(btl, MCA_BTL_ENDPOINT_ANY, local, 2048, MCA_BTL_REG_FLAG_ACCESS_ANY);
    must(test, handle);
    must(test, put_with(test, &waiting, local + 2040, handle, 16) == OPAL_ERR_BAD_PARAM);
    expect(test, "leave the local handle's region");
    freeze(test);
    int status = put_with(test, &waiting, local, handle, 2048);
    must(test, status == OPAL_SUCCESS);
    bool flies = waiting.calls == 0;
    must(test, btl->btl_deregister_mem(btl, handle) == OPAL_SUCCESS);
    if (flies) {
        expect(test, "1 operations under way use the region");
    }
    thaw(test);
    pump_until(test, &waiting.calls, 1);
    must(test, put_with(test, &waiting, local, handle, 16) == OPAL_ERR_BAD_PARAM);
    expect(test, "put: caller: the local handle was deregistered");
    must(test, btl->btl_deregister_mem(btl, handle) == OPAL_ERR_BAD_PARAM);
    expect(test, "the region was deregistered before");
    must(test, btl->btl_deregister_mem(btl, (void *) local) == OPAL_ERR_BAD_PARAM);
    expect(test, "is no handle of this module");
    must(test, !btl->btl_register_mem(btl, MCA_BTL_ENDPOINT_ANY, local, 16, 0));
    expect(test, "are no region");
    must(test, !btl->btl_register_mem(btl, MCA_BTL_ENDPOINT_ANY, local, SIZE_MAX,
                                      MCA_BTL_REG_FLAG_ACCESS_ANY));
    expect(test, "are no region");
    must(test, put_with(test, &waiting, NULL, NULL, 16) == OPAL_ERR_BAD_PARAM);
    expect(test, "the local address is NULL");
    if (btl->btl_put_limit < SIZE_MAX) {
        must(test, put_with(test, &waiting, local, NULL, btl->btl_put_limit + 1) < 0);
        expect(test, "the limit is");
    }
    meet(test);
    must(test, btl->btl_deregister_mem(btl, mine) == OPAL_SUCCESS);
    meet(test);
}

static void atomics_that_are_none(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    struct board *target = board_of(test, test->right);
    uint64_t before;
    if (!test->checked || !(btl->btl_flags & MCA_BTL_FLAGS_ATOMIC_FOPS)) {
        return;
    }
    mca_btl_base_registration_handle_t *mine = show_data(test, 4096, MCA_BTL_REG_FLAG_ACCESS_ANY);
    meet(test);
    must(test, btl->btl_atomic_fop(btl, test->endpoints[test->right], &before, target->base + 4,
                                   NULL, (void *) target->handle, MCA_BTL_ATOMIC_ADD, 1, 0,
                                   MCA_BTL_NO_ORDER, operated, test, NULL) < 0);
    expect(test, "the remote address is no multiple of 8");
    must(test, btl->btl_atomic_fop(btl, test->endpoints[test->right], &before, target->base, NULL,
                                   (void *) target->handle, 0x77, 1, 0, MCA_BTL_NO_ORDER, operated,
                                   test, NULL) < 0);
    expect(test, "operation 0x77 is not advertised");
    must(test, btl->btl_atomic_fop(btl, test->endpoints[test->right], &before, target->base, NULL,
                                   NULL, MCA_BTL_ATOMIC_ADD, 1, 0, MCA_BTL_NO_ORDER, operated, test,
                                   NULL) == OPAL_ERR_BAD_PARAM);
    expect(test, "the remote handle is NULL");
    meet(test);
    must(test, btl->btl_deregister_mem(btl, mine) == OPAL_SUCCESS);
    meet(test);
}

static void tags_of_others(struct test *test)
{
    if (!test->checked) {
        return;
    }
    on_tag(test, TAG, take);
    on_tag(test, TAG, take); /* again is no other */
    must(test, test->breaches == 0);
    must(test, test->btl->btl_register(test->btl, TAG, take, NULL) == OPAL_SUCCESS);
    expect(test, "tag 60 is registered to another callback");
}

/* In a receive callback: another thread calls, which the contract lets nobody do now. */
static void *call_from_another_thread(void *arg)
{
    struct test *test = arg;
    must(test, !test->btl->btl_alloc(test->btl, NULL, MCA_BTL_NO_ORDER, 8, 0));
    return NULL;
}

static void call_all_that_is_forbidden(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                                       mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    struct test *test = cbdata;
    pthread_t thread;
    (void) tag, (void) descriptor;
    if (!btl_threads().multiple) { /* else it would wait for this one to leave */
        must(test, pthread_create(&thread, NULL, call_from_another_thread, test) == 0);
        must(test, pthread_join(thread, NULL) == 0);
        expect(test, "alloc: caller: a second thread calls while another one is inside");
    }
    must(test, btl->btl_del_procs(btl, 0, NULL, NULL) == OPAL_ERR_RESOURCE_BUSY);
    expect(test, "del_procs: caller: called inside a callback");
    (*(atomic_ulong *) test->state)++;
}

static void calls_from_callbacks(struct test *test)
{
    atomic_ulong received = 0;
    if (!test->checked) {
        return;
    }
    test->state = &received;
    on_tag(test, TAG, call_all_that_is_forbidden);
    meet(test);
    send_bytes(test, test->right, "x", 1, TAG);
    pump_until(test, &received, 1);
    meet(test);
}

const struct test_case breach_cases[] = {
    {.name = "breach: descriptors",
     .run = descriptors_after_their_end,
     .min_size = 1,
     .asks_too_much = true},
    {.name = "breach: limits", .run = limits_of_messages, .min_size = 1, .asks_too_much = true},
    {.name = "breach: in flight",
     .run = descriptors_in_flight,
     .min_size = 1,
     .asks_too_much = true},
    {.name = "breach: received messages",
     .run = messages_that_are_written_to,
     .min_size = 1,
     .asks_too_much = true},
    {.name = "breach: endpoints",
     .run = endpoints_after_del_procs,
     .min_size = 1,
     .asks_too_much = true},
    {.name = "breach: handles",
     .run = handles_after_their_end,
     .min_size = 1,
     .asks_too_much = true},
    {.name = "breach: atomics", .run = atomics_that_are_none, .min_size = 1, .asks_too_much = true},
    {.name = "breach: tags", .run = tags_of_others, .asks_too_much = true, .alone = true},
    {.name = "breach: callbacks",
     .run = calls_from_callbacks,
     .min_size = 1,
     .asks_too_much = true},
    {.name = NULL},
};
