/* Calls from inside callbacks, of every kind: a callback may call every function of the table but
 * del_procs, which is refused, and finalize, and the extension's. Nothing hangs, whatever thread it
 * comes on. */
#include <string.h>
#include <tests/conformance/btl.h>

enum { TAG_ASK = 150, TAG_COUNT, TAG_SPARE };
enum { ROUNDS = 100, BYTES = 5000 };

struct inside {
    struct test *test;
    void (*call)(struct inside *inside);  /* from each callback */
    atomic_ulong asked, sent, put, ready; /* callbacks from which it was called */
    atomic_ulong accepted;                /* messages sent from inside */
    atomic_ulong received;                /* such ones, of my left neighbour's */
    struct keel_btl_pending pending, spare;
};

static void count_one(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor;
    ((struct inside *) ((struct test *) cbdata)->state)->received++;
}

static void send_messages(struct inside *inside)
{
    struct test *test = inside->test;
    mca_btl_base_module_t *btl = test->btl;
    struct mca_btl_base_endpoint_t *to = test->endpoints[test->right];
    uint64_t word = 1;
    int status =
        btl->btl_sendi(btl, to, NULL, &word, sizeof(word), 0, MCA_BTL_NO_ORDER, 0, TAG_COUNT, NULL);
    must(test, status == OPAL_SUCCESS || is_shortage(status));
    inside->accepted += status == OPAL_SUCCESS;
    mca_btl_base_descriptor_t *descriptor =
        btl->btl_alloc(btl, to, MCA_BTL_NO_ORDER, BYTES, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (descriptor) {
        memset(descriptor->des_segments[0].seg_addr.pval, 1, BYTES);
        status = btl->btl_send(btl, to, descriptor, TAG_COUNT);
        must(test, status >= 0 || is_shortage(status));
        inside->accepted += status >= 0;
    }
    if (descriptor && status < 0) {
        must(test, btl->btl_free(btl, descriptor) == OPAL_SUCCESS);
    }
}

static void use_memory(struct test *test)
{
    static unsigned char local[BYTES];
    mca_btl_base_module_t *btl = test->btl;
    struct board *target = board_of(test, test->right);
    struct mca_btl_base_endpoint_t *to = test->endpoints[test->right];
    mca_btl_base_registration_handle_t *remote = (void *) target->handle;
    if (!btl->btl_register_mem) {
        return;
    }
    mca_btl_base_registration_handle_t *handle = btl->btl_register_mem(
        btl, MCA_BTL_ENDPOINT_ANY, local, sizeof(local), MCA_BTL_REG_FLAG_ACCESS_ANY);
    must(test, handle && btl->btl_deregister_mem(btl, handle) == OPAL_SUCCESS);
    int put = btl->btl_put(btl, to, local, target->base, NULL, remote, BYTES, 0, MCA_BTL_NO_ORDER,
                           NULL, NULL, NULL);
    must(test, put == OPAL_SUCCESS || is_shortage(put));
    int get = btl->btl_get(btl, to, local, target->base, NULL, remote, BYTES, 0, MCA_BTL_NO_ORDER,
                           NULL, NULL, NULL);
    must(test, get == OPAL_SUCCESS || is_shortage(get));
    if (btl->btl_flags & MCA_BTL_FLAGS_ATOMIC_OPS) {
        int op = btl->btl_atomic_op(btl, to, target->base + DATA_BYTES - 8, remote,
                                    MCA_BTL_ATOMIC_ADD, 1, 0, MCA_BTL_NO_ORDER, NULL, NULL, NULL);
        must(test, op >= 0 || is_shortage(op));
    }
}

static void use_extension(struct inside *inside)
{
    struct test *test = inside->test;
    const struct keel_btl_ext *ext = keel_btl_ext(test->btl);
    int flushed = ext->flush(test->btl, NULL);
    must(test, flushed == OPAL_SUCCESS || flushed == OPAL_ERR_RESOURCE_BUSY);
    inside->spare = (struct keel_btl_pending){.ready = inside->pending.ready};
    must(test, ext->pending_add(test->btl, NULL, &inside->spare) == OPAL_SUCCESS);
    must(test, ext->pending_remove(test->btl, &inside->spare) == OPAL_SUCCESS);
    must(test, ext->wait_fd(test->btl) >= 0 || ext->wait_arm(test->btl) == OPAL_ERR_NOT_SUPPORTED);
}

static void call_everything(struct inside *inside)
{
    struct test *test = inside->test;
    mca_btl_base_module_t *btl = test->btl;
    send_messages(inside);
    use_memory(test);
    use_extension(inside);
    must(test, btl->btl_register(btl, TAG_SPARE, count_one, test) == OPAL_SUCCESS);
    must(test, btl->btl_register_error(btl, NULL) == OPAL_SUCCESS);
    must(test, btl->btl_ft_event(OPAL_CRS_NONE) <= OPAL_SUCCESS);
    btl->btl_dump(btl, test->endpoints[test->right], 0);
    btl_progress();
}

/* Each of the rounds that follow needs the endpoint. */
static void call_del_procs(struct inside *inside)
{
    struct test *test = inside->test;
    opal_proc_t *proc = &test->host->procs[test->right];
    must(test, test->btl->btl_del_procs(test->btl, 1, &proc, &test->endpoints[test->right]) ==
                   OPAL_ERR_RESOURCE_BUSY);
}

static void asked(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                  mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor;
    struct inside *inside = ((struct test *) cbdata)->state;
    inside->call(inside);
    inside->asked++;
}

static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    struct inside *inside = descriptor->des_cbdata;
    must(inside->test, status == OPAL_SUCCESS);
    inside->call(inside);
    inside->sent++;
}

static void put_is_there(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                         void *address, mca_btl_base_registration_handle_t *handle, void *context,
                         void *data, int status)
{
    (void) btl, (void) endpoint, (void) address, (void) handle, (void) context;
    struct inside *inside = data;
    must(inside->test, status == OPAL_SUCCESS);
    inside->call(inside);
    inside->put++;
}

static void has_room(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     struct keel_btl_pending *pending, int status)
{
    (void) btl, (void) endpoint;
    struct inside *inside = pending->arg;
    must(inside->test, status == OPAL_SUCCESS);
    inside->call(inside);
    inside->ready++;
}

/* One of each kind. */
static void cause_callbacks(struct inside *inside, unsigned long round)
{
    static unsigned char local[BYTES];
    struct test *test = inside->test;
    mca_btl_base_module_t *btl = test->btl;
    struct board *target = board_of(test, test->right);
    mca_btl_base_descriptor_t *descriptor =
        alloc_wait(test, test->right, 8, MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    memset(descriptor->des_segments[0].seg_addr.pval, 0, 8);
    descriptor->des_cbfunc = sent;
    descriptor->des_cbdata = inside;
    send_wait(test, test->right, descriptor, TAG_ASK);
    int status = btl->btl_register_mem ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
    while (is_shortage(status)) {
        status = btl->btl_put(btl, test->endpoints[test->right], local, target->base, NULL,
                              (void *) target->handle, BYTES, 0, MCA_BTL_NO_ORDER, put_is_there,
                              NULL, inside);
        pump(test);
    }
    must(test, status == OPAL_SUCCESS);
    must(test, keel_btl_ext(btl)->pending_add(btl, test->endpoints[test->right],
                                              &inside->pending) == OPAL_SUCCESS);
    pump_until(test, &inside->ready, round);
    pump_until(test, &inside->sent, round);
    pump_until(test, &inside->put, btl->btl_register_mem ? round : 0);
}

static void run_inside(struct test *test, void (*call)(struct inside *inside))
{
    struct inside inside = {
        .test = test, .call = call, .pending = {.ready = has_room, .arg = &inside}};
    struct board *mine = board_of(test, test->rank);
    mca_btl_base_module_t *btl = test->btl;
    mca_btl_base_registration_handle_t *handle = NULL;
    test->state = &inside;
    on_tag(test, TAG_ASK, asked);
    on_tag(test, TAG_COUNT, count_one);
    if (btl->btl_register_mem) {
        handle = btl->btl_register_mem(btl, MCA_BTL_ENDPOINT_ANY, mine->data, DATA_BYTES,
                                       MCA_BTL_REG_FLAG_ACCESS_ANY);
        must(test, handle);
        memcpy(mine->handle, handle, btl->btl_registration_handle_size);
        mine->base = (uint64_t) (uintptr_t) mine->data;
    }
    meet(test);
    for (unsigned long round = 1; round <= ROUNDS; round++) {
        cause_callbacks(&inside, round);
    }
    pump_until(test, &inside.asked, ROUNDS);
    meet(test);
    while (keel_btl_ext(btl)->flush(btl, NULL) == OPAL_ERR_RESOURCE_BUSY) {
        pump(test);
    }
    atomic_store(&mine->done, inside.accepted);
    meet(test);
    pump_until(test, &inside.received, atomic_load(&board_of(test, test->left)->done));
    meet(test);
    must(test, !handle || btl->btl_deregister_mem(btl, handle) == OPAL_SUCCESS);
}

static void callbacks_call_everything(struct test *test)
{
    run_inside(test, call_everything);
}

static void callbacks_end_nothing(struct test *test)
{
    run_inside(test, call_del_procs);
}

const struct test_case inside_cases[] = {
    {.name = "all from callbacks", .run = callbacks_call_everything, .min_size = 1},
    {.name = "del_procs from callbacks",
     .run = callbacks_end_nothing,
     .min_size = 1,
     .asks_too_much = true},
    {.name = NULL},
};
