/* ft_event: checkpoints with traffic queued, going on, restarts. All ranks go through it together.
 */
#include <base/settings/param.h>
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

#define TAG 77

struct traffic {
    struct test *test;
    atomic_ulong received, completed, failed;
    unsigned long accepted;
    size_t size;
};

static void count_one(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor;
    struct test *test = cbdata;
    ((struct traffic *) test->state)->received++;
}

static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    struct traffic *traffic = descriptor->des_cbdata;
    must(traffic->test, status <= 0);
    traffic->failed += status < 0;
    traffic->completed++;
}

static void begin(struct test *test, struct traffic *traffic, size_t size)
{
    *traffic = (struct traffic){.test = test, .size = size};
    test->state = traffic;
    on_tag(test, TAG, count_one);
    meet(test);
}

/* One message to the neighbour; its status. */
static int try_one(struct test *test)
{
    struct traffic *traffic = test->state;
    mca_btl_base_module_t *btl = test->btl;
    mca_btl_base_descriptor_t *descriptor =
        btl->btl_alloc(btl, test->endpoints[test->right], MCA_BTL_NO_ORDER, traffic->size,
                       MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    if (!descriptor) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    memset(descriptor->des_segments[0].seg_addr.pval, 3, traffic->size);
    descriptor->des_cbfunc = sent;
    descriptor->des_cbdata = traffic;
    int status = btl->btl_send(btl, test->endpoints[test->right], descriptor, TAG);
    if (status < 0) {
        btl->btl_free(btl, descriptor);
    }
    traffic->accepted += status >= 0;
    return status;
}

/* As many as go without anybody's progress, some hundred at most. */
static void queue_some(struct test *test)
{
    int status = 0;
    halt(test);
    for (int i = 0; i < 300 && status >= 0; i++) {
        status = try_one(test);
        must(test, status >= 0 || is_shortage(status));
    }
    resume(test);
}

static unsigned long left_accepted(struct test *test)
{
    return atomic_load(&board_of(test, test->left)->received);
}

/* Everybody is drained: what was accepted is complete, and has come. */
static void checkpoint(struct test *test)
{
    struct traffic *traffic = test->state;
    must(test, test->btl->btl_ft_event(OPAL_CRS_CHECKPOINT) == OPAL_SUCCESS);
    must(test, traffic->completed == traffic->accepted && traffic->failed == 0);
    atomic_store(&board_of(test, test->rank)->received, traffic->accepted);
    meet(test);
    pump_until(test, &traffic->received, left_accepted(test));
    pump_idle(test);
    meet(test);
}

/* Nothing is taken, whatever it is, and nothing is lost by that. */
static void is_held(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    struct mca_btl_base_endpoint_t *endpoint = test->endpoints[test->right];
    static unsigned char handle[MCA_BTL_REG_HANDLE_MAX_SIZE];
    mca_btl_base_registration_handle_t *remote = (void *) handle;
    mca_btl_base_descriptor_t *left = (void *) &remote;
    uint64_t word = 0;
    must(test, is_shortage(try_one(test)));
    must(test, is_shortage(btl->btl_sendi(btl, endpoint, NULL, &word, sizeof(word), 0,
                                          MCA_BTL_NO_ORDER, 0, TAG, &left)));
    must(test, !left);
    must(test, is_shortage(btl->btl_put(btl, endpoint, &word, 0, NULL, remote, 8, 0,
                                        MCA_BTL_NO_ORDER, NULL, NULL, NULL)));
    must(test, is_shortage(btl->btl_get(btl, endpoint, &word, 0, NULL, remote, 8, 0,
                                        MCA_BTL_NO_ORDER, NULL, NULL, NULL)));
    must(test, is_shortage(btl->btl_atomic_op(btl, endpoint, 0, remote, MCA_BTL_ATOMIC_ADD, 1, 0,
                                              MCA_BTL_NO_ORDER, NULL, NULL, NULL)));
    must(test,
         is_shortage(btl->btl_atomic_fop(btl, endpoint, &word, 0, NULL, remote, MCA_BTL_ATOMIC_ADD,
                                         1, 0, MCA_BTL_NO_ORDER, NULL, NULL, NULL)));
    must(test, is_shortage(btl->btl_atomic_cswap(btl, endpoint, &word, 0, NULL, remote, 0, 1, 0,
                                                 MCA_BTL_NO_ORDER, NULL, NULL, NULL)));
}

static void retry(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                  struct keel_btl_pending *pending, int status)
{
    (void) btl, (void) endpoint;
    *(atomic_int *) pending->arg = status + 1;
}

static void goes_on(struct test *test, size_t size, int go_on)
{
    struct traffic traffic;
    atomic_int retried = 0;
    struct keel_btl_pending pending = {.ready = retry, .arg = &retried};
    begin(test, &traffic, size);
    queue_some(test);
    checkpoint(test);
    is_held(test);
    must(test, ext_of(test)->pending_add(test->btl, test->endpoints[test->right], &pending) ==
                   OPAL_SUCCESS);
    unsigned long before = traffic.received;
    pump_idle(test);
    must(test, retried == 0 && traffic.received == before);
    meet(test);
    must(test, test->btl->btl_ft_event(go_on) == OPAL_SUCCESS);
    while (retried == 0) {
        pump(test);
    }
    must(test, retried == 1 + OPAL_SUCCESS);
    while (try_one(test) < 0) {
        pump(test);
    }
    pump_until(test, &traffic.received, left_accepted(test) + 1);
    pump_until(test, &traffic.completed, traffic.accepted);
    meet(test);
}

static void small_ones_are_drained(struct test *test)
{
    static const int states[] = {OPAL_CRS_CONTINUE, OPAL_CRS_RUNNING, OPAL_CRS_ERROR};
    for (int i = 0; i < 3; i++) {
        goes_on(test, 16, states[i]);
    }
}

static void large_ones_are_drained(struct test *test)
{
    goes_on(test, test->btl->btl_max_send_size, OPAL_CRS_CONTINUE);
}

/* Puts under way are complete at a checkpoint. */
static void operations_are_drained(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    enum { PIECE = 64 << 10, PIECES = 32 };
    if (!btl->btl_register_mem) {
        return;
    }
    struct traffic traffic;
    unsigned char *local = malloc((size_t) PIECE * PIECES);
    must(test, local);
    mca_btl_base_registration_handle_t *handle =
        show_data(test, DATA_BYTES, MCA_BTL_REG_FLAG_ACCESS_ANY);
    begin(test, &traffic, 16);
    pattern_fill(local, (size_t) PIECE * PIECES, (unsigned) test->rank);
    for (size_t i = 0; i < PIECES; i++) {
        int status;
        while (is_shortage(
            status = btl->btl_put(btl, test->endpoints[test->right], local + i * PIECE,
                                  target->base + i * PIECE, NULL,
                                  (mca_btl_base_registration_handle_t *) (void *) target->handle,
                                  PIECE, 0, MCA_BTL_NO_ORDER, NULL, NULL, NULL))) {
            pump(test);
        }
        must(test, status == OPAL_SUCCESS);
    }
    checkpoint(test);
    must(test, keel_btl_ext(btl)->flush(btl, NULL) == OPAL_SUCCESS);
    meet(test);
    must(test, pattern_is(mine->data, (size_t) PIECE * PIECES, (unsigned) test->left));
    must(test, btl->btl_ft_event(OPAL_CRS_CONTINUE) == OPAL_SUCCESS);
    meet(test);
    must(test, btl->btl_deregister_mem(btl, handle) == OPAL_SUCCESS);
    free(local);
}

static void operated(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *address, mca_btl_base_registration_handle_t *handle, void *context,
                     void *data, int status)
{
    (void) btl, (void) endpoint, (void) address, (void) handle;
    must((struct test *) context, status == OPAL_SUCCESS);
    ++*(atomic_ulong *) data;
}

/* Atomics under way have called back when a checkpoint returns. */
static void atomics_are_drained(struct test *test)
{
    enum { ADDITIONS = 30 };
    mca_btl_base_module_t *btl = test->btl;
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    atomic_ulong over = 0;
    if (!(btl->btl_flags & MCA_BTL_FLAGS_ATOMIC_OPS)) {
        return;
    }
    memset(mine->data, 0, 8);
    mca_btl_base_registration_handle_t *handle = show_data(test, 64, MCA_BTL_REG_FLAG_ACCESS_ANY);
    meet(test);
    for (int i = 0; i < ADDITIONS;) {
        int status =
            btl->btl_atomic_op(btl, test->endpoints[test->right], target->base,
                               (mca_btl_base_registration_handle_t *) (void *) target->handle,
                               MCA_BTL_ATOMIC_ADD, 3, 0, MCA_BTL_NO_ORDER, operated, test, &over);
        must(test, status == 0 || status == 1 || is_shortage(status));
        over += status == 1;
        i += status >= 0;
        if (status < 0) {
            pump(test);
        }
    }
    must(test, btl->btl_ft_event(OPAL_CRS_CHECKPOINT) == OPAL_SUCCESS);
    must(test, over == ADDITIONS);
    meet(test);
    uint64_t sum;
    memcpy(&sum, mine->data, sizeof(sum));
    must(test, sum == 3 * ADDITIONS);
    must(test, btl->btl_ft_event(OPAL_CRS_CONTINUE) == OPAL_SUCCESS);
    meet(test);
    must(test, btl->btl_deregister_mem(btl, handle) == OPAL_SUCCESS);
}

/* Peers that do not poll: a checkpoint gives up in time, holds all the same, and nothing is lost.
 */
static void a_checkpoint_gives_up(struct test *test)
{
    struct traffic traffic;
    must(test, param_override("btl_base_quiesce_timeout_ms", "150") == ORTE_SUCCESS);
    begin(test, &traffic, 16);
    halt(test);
    queue_some(test);
    if (test->rank % 2 == 0) {
        int status = test->btl->btl_ft_event(OPAL_CRS_CHECKPOINT);
        /* What the peer's kernel has counts as arrived. */
        must(test, status == OPAL_ERR_TIMEOUT ||
                       (status == OPAL_SUCCESS && traffic.completed == traffic.accepted));
        must(test, status == OPAL_ERR_TIMEOUT || strcmp(test->module, "sm") != 0);
        is_held(test);
    }
    atomic_store(&board_of(test, test->rank)->received, traffic.accepted);
    resume(test);
    pump_until(test, &traffic.received, left_accepted(test));
    pump_until(test, &traffic.completed, traffic.accepted);
    must(test, traffic.failed == 0);
    must(test, test->btl->btl_ft_event(OPAL_CRS_CONTINUE) == OPAL_SUCCESS);
    meet(test);
}

/* Messages and puts between all ranks, and a handle from before, after a restart. */
static void all_works(struct test *test, struct traffic *traffic)
{
    mca_btl_base_module_t *btl = test->btl;
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    static unsigned char local[5000];
    begin(test, traffic, traffic->size);
    for (int i = 0; i < 500; i++) {
        while (try_one(test) < 0) {
            pump(test);
        }
    }
    pump_until(test, &traffic->received, 500);
    pump_until(test, &traffic->completed, 500);
    must(test, traffic->failed == 0);
    if (btl->btl_register_mem) {
        pattern_fill(local, sizeof(local), (unsigned) test->rank + 9);
        int status;
        while (is_shortage(
            status = btl->btl_put(btl, test->endpoints[test->right], local, target->base, NULL,
                                  (mca_btl_base_registration_handle_t *) (void *) target->handle,
                                  sizeof(local), 0, MCA_BTL_NO_ORDER, NULL, NULL, NULL))) {
            pump(test);
        }
        must(test, status == OPAL_SUCCESS);
        must(test, keel_btl_ext(btl)->flush(btl, NULL) == OPAL_SUCCESS);
        meet(test);
        must(test, pattern_is(mine->data, sizeof(local), (unsigned) test->left + 9));
    }
    meet(test);
}

static void on_error(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *proc, char *text)
{
    (void) btl, (void) flags, (void) proc, (void) text;
}

/* drained: by a checkpoint; else all that is queued calls back once, be it with an error. */
static void restarts(struct test *test, size_t size, bool drained)
{
    mca_btl_base_module_t *btl = test->btl;
    struct traffic traffic;
    mca_btl_base_registration_handle_t *handle = NULL;
    if (btl->btl_register_mem) {
        handle = show_data(test, DATA_BYTES, MCA_BTL_REG_FLAG_ACCESS_ANY);
    }
    must(test, btl->btl_register_error(btl, on_error) == OPAL_SUCCESS);
    /* A descriptor that its caller holds meanwhile stays as it is. */
    mca_btl_base_descriptor_t *kept = alloc_wait(test, test->right, 600, 0);
    pattern_fill(kept->des_segments[0].seg_addr.pval, 600, 4);
    for (int round = 0; round < 3; round++) {
        begin(test, &traffic, size);
        queue_some(test);
        if (drained) {
            checkpoint(test);
        }
        stop(test);
        must(test, btl->btl_ft_event(OPAL_CRS_RESTART) == OPAL_SUCCESS);
        if (test->right != test->rank) {
            must(test, traffic.completed == traffic.accepted);
        }
        stop(test);
        pump_idle(test);
        meet(test);
        traffic.size = round == 1 ? btl->btl_max_send_size : 24;
        all_works(test, &traffic);
        must(test, pattern_is(kept->des_segments[0].seg_addr.pval, 600, 4));
    }
    send_wait(test, test->right, kept, TAG);
    pump_until(test, &traffic.received, 501);
    meet(test);
    must(test, btl->btl_register_error(btl, NULL) == OPAL_SUCCESS);
    must(test, !handle || btl->btl_deregister_mem(btl, handle) == OPAL_SUCCESS);
}

static void restarts_after_a_checkpoint(struct test *test)
{
    restarts(test, 16, true);
}

static void restarts_with_small_ones(struct test *test)
{
    restarts(test, 16, false);
}

static void restarts_with_large_ones(struct test *test)
{
    restarts(test, test->btl->btl_max_send_size, false);
}

static void others_do_nothing(struct test *test)
{
    static const int states[] = {OPAL_CRS_NONE, OPAL_CRS_RESTART_PRE, OPAL_CRS_TERM};
    for (int i = 0; i < 3; i++) {
        must(test, test->btl->btl_ft_event(states[i]) == OPAL_SUCCESS);
    }
    must(test, test->btl->btl_ft_event(OPAL_CRS_NONE - 1) == OPAL_ERR_BAD_PARAM);
    must(test, test->btl->btl_ft_event(OPAL_CRS_ERROR + 1) == OPAL_ERR_BAD_PARAM);
}

const struct test_case ftevent_cases[] = {
    {.name = "ft_event, others", .run = others_do_nothing, .alone = true},
    {.name = "checkpoint, small", .run = small_ones_are_drained, .min_size = 1},
    {.name = "checkpoint, large", .run = large_ones_are_drained, .min_size = 1},
    {.name = "checkpoint, puts", .run = operations_are_drained, .min_size = 1},
    {.name = "checkpoint, atomics", .run = atomics_are_drained, .min_size = 1},
    {.name = "checkpoint gives up", .run = a_checkpoint_gives_up, .min_size = 1, .others = true},
    {.name = "restart", .run = restarts_after_a_checkpoint, .min_size = 1},
    {.name = "restart, small queued", .run = restarts_with_small_ones, .min_size = 1},
    {.name = "restart, large queued", .run = restarts_with_large_ones, .min_size = 1},
    {.name = "restart, cards late",
     .run = restarts_after_a_checkpoint,
     .min_size = 1,
     .late_cards = true},
    {.name = NULL},
};
