/* keel_btl_ext: flush, requests that wait for room. */
#include <base/settings/param.h>
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

#define TAG 201
#define PIECE 1000
#define PIECES 200

static void members_are_there(struct test *test)
{
    const struct keel_btl_ext *ext = ext_of(test);
    mca_btl_base_module_t stranger = {.btl_component = test->btl->btl_component};
    struct keel_btl_pending nothing = {0};
    must(test, ext->flush && ext->pending_add && ext->pending_remove);
    must(test, ext->wait_fd && ext->wait_arm);
    must(test, !keel_btl_ext(&stranger) && !keel_btl_ext(NULL));
    must(test, ext->pending_add(test->btl, NULL, &nothing) == OPAL_ERR_BAD_PARAM);
    must(test, ext->pending_add(test->btl, NULL, NULL) == OPAL_ERR_BAD_PARAM);
    must(test, ext->pending_remove(test->btl, &nothing) == OPAL_ERR_NOT_FOUND);
    must(test, ext->pending_remove(test->btl, NULL) == OPAL_ERR_NOT_FOUND);
    must(test, ext->flush(test->btl, NULL) == OPAL_SUCCESS);
    int fd = ext->wait_fd(test->btl), armed = ext->wait_arm(test->btl);
    must(test, (fd == OPAL_ERR_NOT_SUPPORTED) == (armed == OPAL_ERR_NOT_SUPPORTED));
    must(test, fd >= 0 || fd == OPAL_ERR_NOT_SUPPORTED);
}

/* ---- flush ---- */

static bool can_rdma(struct test *test)
{
    return test->btl->btl_register_mem && (test->btl->btl_flags & MCA_BTL_FLAGS_RDMA) != 0;
}

static mca_btl_base_registration_handle_t *show_region(struct test *test)
{
    mca_btl_base_registration_handle_t *handle =
        show_data(test, DATA_BYTES, MCA_BTL_REG_FLAG_ACCESS_ANY);
    meet(test);
    return handle;
}

typedef int (*start_fn)(struct test *test, int i, unsigned char *local);

static struct mca_btl_base_endpoint_t *right_of(struct test *test)
{
    return test->endpoints[test->right];
}

static mca_btl_base_registration_handle_t *handle_of(struct board *board)
{
    return (mca_btl_base_registration_handle_t *) (void *) board->handle;
}

static int start_put(struct test *test, int i, unsigned char *local)
{
    struct board *target = board_of(test, test->right);
    return test->btl->btl_put(test->btl, right_of(test), local + (size_t) i * PIECE,
                              target->base + (uint64_t) i * PIECE, NULL, handle_of(target), PIECE,
                              0, MCA_BTL_NO_ORDER, NULL, NULL, NULL);
}

static int start_get(struct test *test, int i, unsigned char *local)
{
    struct board *target = board_of(test, test->right);
    return test->btl->btl_get(test->btl, right_of(test), local + (size_t) i * PIECE,
                              target->base + (uint64_t) i * PIECE, NULL, handle_of(target), PIECE,
                              0, MCA_BTL_NO_ORDER, NULL, NULL, NULL);
}

static int start_add(struct test *test, int i, unsigned char *local)
{
    struct board *target = board_of(test, test->right);
    (void) i, (void) local;
    int status = test->btl->btl_atomic_op(test->btl, right_of(test), target->base + DATA_BYTES - 8,
                                          handle_of(target), MCA_BTL_ATOMIC_ADD, 3, 0,
                                          MCA_BTL_NO_ORDER, NULL, NULL, NULL);
    return status == 1 ? OPAL_SUCCESS : status;
}

static void start_all(struct test *test, start_fn start, unsigned char *local)
{
    for (int i = 0; i < PIECES; i++) {
        int status;
        while (is_shortage(status = start(test, i, local))) {
            pump(test);
        }
        must(test, status == OPAL_SUCCESS);
    }
}

/* Serves the neighbours until all have done; what they put is looked at without more progress. */
static void serve_until_all_did(struct test *test, unsigned long round)
{
    atomic_store(&board_of(test, test->rank)->done, round);
    for (int i = 0; i < test->size; i++) {
        while (atomic_load(&board_of(test, i)->done) < round) {
            pump(test);
        }
    }
    synchronize(test);
}

/* What was flushed is there, without a callback, over one endpoint and over all. */
static void flush_completes(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    const struct keel_btl_ext *ext = ext_of(test);
    unsigned char *local = malloc((size_t) PIECES * PIECE);
    struct board *mine = board_of(test, test->rank);
    mca_btl_base_registration_handle_t *handle = show_region(test);
    must(test, local);
    pattern_fill(local, (size_t) PIECES * PIECE, (unsigned) test->rank);
    start_all(test, start_put, local);
    start_all(test, start_add, local);
    must(test, ext->flush(test->btl, right_of(test)) == OPAL_SUCCESS);
    serve_until_all_did(test, 1);
    must(test, pattern_is(mine->data, (size_t) PIECES * PIECE, (unsigned) test->left));
    uint64_t sum;
    memcpy(&sum, mine->data + DATA_BYTES - 8, sizeof(sum));
    must(test, sum == 3 * PIECES);
    memset(local, 0, (size_t) PIECES * PIECE);
    start_all(test, start_get, local);
    must(test, ext->flush(test->btl, NULL) == OPAL_SUCCESS);
    must(test, pattern_is(local, (size_t) PIECES * PIECE, (unsigned) test->rank));
    serve_until_all_did(test, 2);
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
    free(local);
}

/* Nobody was called back for what went wrong, so flush says it, once. */
static void flush_tells_what_failed(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    const struct keel_btl_ext *ext = ext_of(test);
    static unsigned char local[PIECES * PIECE];
    mca_btl_base_registration_handle_t *handle = show_region(test);
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
    meet(test);
    for (int round = 0; round < 2; round++) {
        struct mca_btl_base_endpoint_t *endpoint = round ? NULL : right_of(test);
        int status;
        while (is_shortage(status = start_put(test, round, local))) {
            pump(test);
        }
        int flushed = ext->flush(test->btl, endpoint);
        must(test, status == OPAL_ERR_PERM || flushed == OPAL_ERR_PERM);
        must(test, ext->flush(test->btl, endpoint) == OPAL_SUCCESS);
    }
    serve_until_all_did(test, 1);
}

/* A target that does not poll: flush gives up in time, nothing is lost by that, and the next one
 * sees the end. */
static void flush_gives_up(struct test *test)
{
    if (!can_rdma(test) || !(test->btl->btl_flags & MCA_BTL_FLAGS_ATOMIC_OPS)) {
        return;
    }
    const struct keel_btl_ext *ext = ext_of(test);
    struct board *mine = board_of(test, test->rank);
    must(test, param_override("btl_base_flush_timeout_ms", "150") == ORTE_SUCCESS);
    mca_btl_base_registration_handle_t *handle = show_region(test);
    start_all(test, start_add, NULL); /* the way is open after these */
    while (ext->flush(test->btl, NULL) == OPAL_ERR_TIMEOUT) {
    }
    serve_until_all_did(test, 1);
    halt(test);
    unsigned long accepted = 0;
    if (test->rank % 2 == 0) {
        while (accepted < 20 && start_add(test, 0, NULL) == OPAL_SUCCESS) {
            accepted++;
        }
        must(test, accepted > 0);
        must(test, ext->flush(test->btl, right_of(test)) == OPAL_ERR_TIMEOUT);
    }
    atomic_store(&mine->received, accepted);
    resume(test);
    int status = OPAL_ERR_TIMEOUT;
    while (status == OPAL_ERR_TIMEOUT) {
        status = ext->flush(test->btl, NULL);
    }
    must(test, status == OPAL_SUCCESS);
    serve_until_all_did(test, 2);
    uint64_t sum;
    memcpy(&sum, mine->data + DATA_BYTES - 8, sizeof(sum));
    must(test, sum == 3 * (PIECES + atomic_load(&board_of(test, test->left)->received)));
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
}

struct inside {
    struct test *test;
    int status;
    atomic_ulong completed;
};

static void flush_inside(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                         void *address, mca_btl_base_registration_handle_t *handle, void *context,
                         void *data, int status)
{
    (void) endpoint, (void) address, (void) handle, (void) context;
    struct inside *inside = data;
    must(inside->test, status == OPAL_SUCCESS);
    inside->status = ext_of(inside->test)->flush(btl, NULL);
    inside->completed++;
}

/* From a callback, a flush that would have to wait is refused; it never hangs. */
static void flush_in_a_callback(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    static unsigned char local[PIECES * PIECE];
    struct inside inside = {.test = test};
    mca_btl_base_registration_handle_t *handle = show_region(test);
    struct board *target = board_of(test, test->right);
    for (int i = 0; i < 20; i++) {
        int status;
        while (is_shortage(status =
                               test->btl->btl_put(test->btl, right_of(test), local, target->base,
                                                  NULL, handle_of(target), PIECE, 0,
                                                  MCA_BTL_NO_ORDER, flush_inside, NULL, &inside))) {
            pump(test);
        }
        must(test, status == OPAL_SUCCESS);
    }
    pump_until(test, &inside.completed, 20);
    must(test, inside.status == OPAL_SUCCESS); /* the last one found nothing in flight */
    serve_until_all_did(test, 1);
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
}

static void count_operation(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                            void *address, mca_btl_base_registration_handle_t *handle,
                            void *context, void *data, int status)
{
    (void) btl, (void) endpoint, (void) address, (void) handle;
    must((struct test *) context, status == OPAL_SUCCESS);
    ++*(atomic_ulong *) data;
}

/* What has a callback is complete when that was called. */
static void flush_follows_callbacks(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    static unsigned char local[PIECE];
    atomic_ulong called = 0;
    mca_btl_base_registration_handle_t *handle = show_region(test);
    struct board *target = board_of(test, test->right);
    for (unsigned long round = 1; round <= 20; round++) {
        struct mca_btl_base_endpoint_t *endpoint = round % 2 ? NULL : right_of(test);
        int status;
        while (
            is_shortage(status = (round % 4 < 2 ? test->btl->btl_put : test->btl->btl_get)(
                            test->btl, right_of(test), local, target->base, NULL, handle_of(target),
                            PIECE, 0, MCA_BTL_NO_ORDER, count_operation, test, &called))) {
            pump(test);
        }
        must(test, status == OPAL_SUCCESS);
        must(test, ext_of(test)->flush(test->btl, endpoint) == OPAL_SUCCESS);
        must(test, called == round);
    }
    serve_until_all_did(test, 1);
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
}

/* ---- requests that wait for room ---- */

struct queue {
    struct test *test;
    struct keel_btl_pending pending;
    uint32_t next, all; /* numbers of messages to send */
    size_t size;
    unsigned long added, called;
    int status;
    atomic_ulong received;
};

static int send_number(struct queue *queue)
{
    struct test *test = queue->test;
    mca_btl_base_module_t *btl = test->btl;
    mca_btl_base_descriptor_t *descriptor = btl->btl_alloc(
        btl, right_of(test), MCA_BTL_NO_ORDER, queue->size, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (!descriptor) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    memcpy(descriptor->des_segments[0].seg_addr.pval, &queue->next, sizeof(queue->next));
    int status = btl->btl_send(btl, right_of(test), descriptor, TAG);
    if (status < 0) {
        must(test, is_shortage(status));
        btl->btl_free(btl, descriptor);
    }
    return status;
}

static void go_on(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                  struct keel_btl_pending *pending, int status);

/* Sends as far as there is room; waits for more when there is none. */
static void send_queued(struct queue *queue)
{
    struct test *test = queue->test;
    while (queue->next < queue->all) {
        if (send_number(queue) < 0) {
            queue->pending.ready = go_on;
            queue->pending.arg = queue;
            must(test, ext_of(test)->pending_add(test->btl, right_of(test), &queue->pending) ==
                           OPAL_SUCCESS);
            must(test, ext_of(test)->pending_add(test->btl, right_of(test), &queue->pending) ==
                           OPAL_EXISTS);
            queue->added++;
            return;
        }
        queue->next++;
    }
}

static void go_on(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                  struct keel_btl_pending *pending, int status)
{
    struct queue *queue = pending->arg;
    struct test *test = queue->test;
    must(test, btl == test->btl && endpoint == right_of(test));
    queue->called++;
    queue->status = status;
    must(test, queue->called == queue->added);
    if (status == OPAL_SUCCESS) {
        send_queued(queue);
    }
}

static void take_number(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                        mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag;
    struct test *test = cbdata;
    struct queue *queue = test->state;
    uint32_t number;
    memcpy(&number, descriptor->des_segments[0].seg_addr.pval, sizeof(number));
    must(test, number == queue->received++);
}

static bool is_through(struct queue *queue)
{
    freeze(queue->test);
    bool through = queue->next == queue->all && queue->called == queue->added;
    thaw(queue->test);
    return through;
}

/* A full rail: one call when there is room, the rest in order, until all are there. */
static void pending_goes_on(struct test *test, size_t size)
{
    struct queue queue = {.test = test, .size = size, .all = UINT32_MAX};
    test->state = &queue;
    on_tag(test, TAG, take_number);
    meet(test);
    halt(test);
    send_queued(&queue); /* nobody polls: this ends in a shortage */
    must(test, queue.added == 1);
    queue.all = queue.next + 5000;
    const uint32_t all = queue.all;
    resume(test);
    pump_until(test, &queue.received, all);
    while (!is_through(&queue)) {
        pump(test);
    }
    must(test, queue.called >= 1);
    meet(test);
}

static void small_ones_go_on(struct test *test)
{
    pending_goes_on(test, sizeof(uint32_t));
}

static void large_ones_go_on(struct test *test)
{
    pending_goes_on(test, test->btl->btl_max_send_size);
}

struct turn {
    struct keel_btl_pending pending;
    struct test *test;
    atomic_ulong *turns;
    unsigned long mine;
    mca_btl_base_descriptor_t *taken;
};

static void take_turn(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      struct keel_btl_pending *pending, int status)
{
    struct turn *turn = pending->arg;
    must(turn->test, status == OPAL_SUCCESS && !endpoint);
    turn->mine = *turn->turns + 1;
    turn->taken = btl->btl_alloc(btl, endpoint, MCA_BTL_NO_ORDER, btl->btl_max_send_size, 0);
    must(turn->test, turn->taken); /* it was said that there is one */
    ++*turn->turns;
}

/* Descriptors held by the caller: nobody is called before one is freed, then one for each that is,
 * in the order of the requests. */
static void descriptors_come_back(struct test *test)
{
    enum { MOST = 20000, WAITERS = 5 };
    mca_btl_base_module_t *btl = test->btl;
    const struct keel_btl_ext *ext = ext_of(test);
    mca_btl_base_descriptor_t **held = calloc(MOST, sizeof(*held));
    struct turn turns[WAITERS] = {0};
    atomic_ulong called = 0;
    size_t count = 0;
    must(test, held);
    while (count < MOST &&
           (held[count] = btl->btl_alloc(btl, NULL, MCA_BTL_NO_ORDER, btl->btl_max_send_size, 0))) {
        count++;
    }
    must(test, count >= 32 && count < MOST);
    while (count < MOST && (held[count] = btl->btl_alloc(btl, NULL, MCA_BTL_NO_ORDER, 1, 0))) {
        count++;
    }
    must(test, count < MOST);
    for (int i = 0; i < WAITERS; i++) {
        turns[i] = (struct turn){.test = test, .turns = &called};
        turns[i].pending.ready = take_turn;
        turns[i].pending.arg = &turns[i];
        must(test, ext->pending_add(btl, NULL, &turns[i].pending) == OPAL_SUCCESS);
    }
    must(test, ext->pending_remove(btl, &turns[1].pending) == OPAL_SUCCESS);
    must(test, ext->pending_remove(btl, &turns[1].pending) == OPAL_ERR_NOT_FOUND);
    pump_idle(test);
    must(test, called == 0);
    for (unsigned long i = 1; i < WAITERS; i++) {
        must(test, btl->btl_free(btl, held[i]) == OPAL_SUCCESS);
        held[i] = NULL;
        pump_until(test, &called, i);
        pump_idle(test);
        must(test, called == i);
    }
    must(test, turns[0].mine == 1 && turns[1].mine == 0 && turns[2].mine == 2 &&
                   turns[3].mine == 3 && turns[4].mine == 4);
    for (int i = 0; i < WAITERS; i++) {
        if (turns[i].taken) {
            btl->btl_free(btl, turns[i].taken);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (held[i]) {
            btl->btl_free(btl, held[i]);
        }
    }
    free(held);
}

/* The endpoint ends: who waits for room on it is told. */
static void pending_ends(struct test *test)
{
    struct queue queue = {.test = test, .size = test->btl->btl_eager_limit, .all = UINT32_MAX};
    test->state = &queue;
    on_tag(test, TAG, take_number);
    meet(test);
    halt(test);
    send_queued(&queue);
    must(test, queue.added == 1 && queue.called == 0);
    opal_proc_t *proc = &test->host->procs[test->right];
    must(test, test->btl->btl_del_procs(test->btl, 1, &proc, &test->endpoints[test->right]) ==
                   OPAL_SUCCESS);
    must(test, queue.called == 1 && queue.status < 0);
    test->endpoints[test->right] = NULL;
    resume(test);
    meet(test);
    pump_idle(test);
    must(test, queue.called == 1);
}

const struct test_case ext_cases[] = {
    {.name = "extension", .run = members_are_there, .alone = true},
    {.name = "flush", .run = flush_completes, .min_size = 1},
    {.name = "flush, cards late", .run = flush_completes, .min_size = 1, .late_cards = true},
    {.name = "flush tells", .run = flush_tells_what_failed, .min_size = 1},
    {.name = "flush gives up",
     .run = flush_gives_up,
     .min_size = 1,
     .others = true,
     .undisturbed = true},
    {.name = "flush and callbacks", .run = flush_follows_callbacks, .min_size = 1},
    {.name = "flush in a callback", .run = flush_in_a_callback, .min_size = 1},
    {.name = "pending, small", .run = small_ones_go_on, .min_size = 1, .others = true},
    {.name = "pending, large", .run = large_ones_go_on, .min_size = 1, .others = true},
    {.name = "pending alloc", .run = descriptors_come_back, .min_size = 1, .undisturbed = true},
    {.name = "pending ends", .run = pending_ends, .min_size = 1, .others = true},
    {.name = NULL},
};
