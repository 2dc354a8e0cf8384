/* What of keel_btl_ext is the same for every module, over one that says what the test wants. */
#include <tests/lib/unit.h>

#include <base/data/clock.h>
#include <base/settings/param.h>
#include <btl/interface/base.h>
#include <stdlib.h>

static struct mca_btl_base_endpoint_t *const endpoint = (void *) 0x1000;

/* What the module says. */
static bool is_open;
static int lost, events;
static enum btl_room room_left;
static void (*in_progress)(void);

static struct btl_component mock;

static int finalize(mca_btl_base_module_t *module)
{
    (void) module;
    return OPAL_SUCCESS;
}

static mca_btl_base_module_t module = {.btl_component = &mock.component, .btl_finalize = finalize};

static mca_btl_base_module_t **init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    mca_btl_base_module_t **modules = malloc(sizeof(*modules));
    modules[0] = &module;
    *count = 1;
    return modules;
}

static int progress(mca_btl_base_module_t *btl)
{
    (void) btl;
    if (in_progress) {
        in_progress();
    }
    return events;
}

static bool rdma_open(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *ep)
{
    (void) btl, (void) ep;
    return is_open;
}

static int rdma_lost(mca_btl_base_module_t *btl)
{
    (void) btl;
    int first = lost;
    lost = OPAL_SUCCESS;
    return first;
}

static enum btl_room room(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *ep)
{
    (void) btl;
    ck_assert_ptr_eq(ep, endpoint);
    return room_left;
}

static bool is_quiet(mca_btl_base_module_t *btl)
{
    (void) btl;
    return true;
}

static int wait_fd(mca_btl_base_module_t *btl)
{
    (void) btl;
    return 17;
}

static int wait_arm(mca_btl_base_module_t *btl)
{
    (void) btl;
    return OPAL_SUCCESS;
}

static const struct btl_ext_ops ext_ops = {
    .flags = KEEL_BTL_REMOTE_COMPLETION,
    .rdma_open = rdma_open,
    .rdma_lost = rdma_lost,
    .room = room,
    .is_quiet = is_quiet,
    .wait_fd = wait_fd,
    .wait_arm = wait_arm,
};

static struct btl_component mock = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("mock")}, .btl_init = init},
    .progress = progress,
    .ext = &ext_ops,
};
const struct btl_component *const btl_components[] = {&mock, NULL};

static const struct keel_host_ops ops;

static const struct keel_btl_ext *open_mock(void)
{
    char reason[100];
    ck_assert_int_eq(btl_open(&ops, NULL, reason, sizeof(reason)), ORTE_SUCCESS);
    const struct keel_btl_ext *ext = keel_btl_ext(&module);
    ck_assert_ptr_nonnull(ext);
    return ext;
}

/* --- flush --- */

static void finish(void)
{
    is_open = false;
}

START_TEST(a_flush_drives_progress_and_tells_what_failed)
{
    const struct keel_btl_ext *ext = open_mock();
    is_open = true;
    in_progress = finish;
    ck_assert_int_eq(ext->flush(&module, endpoint), OPAL_SUCCESS);
    ck_assert(!is_open);
    lost = OPAL_ERR_PERM;
    ck_assert_int_eq(ext->flush(&module, endpoint), OPAL_ERR_PERM);
    ck_assert_int_eq(ext->flush(&module, endpoint), OPAL_SUCCESS);
    btl_close();
}
END_TEST

/* What others send is no reason to wait longer. */
START_TEST(a_flush_gives_up_amid_events)
{
    ck_assert_int_eq(param_override("btl_base_flush_timeout_ms", "20"), ORTE_SUCCESS);
    const struct keel_btl_ext *ext = open_mock();
    is_open = true;
    events = 1;
    ck_assert_int_eq(ext->flush(&module, NULL), OPAL_ERR_TIMEOUT);
    events = 0;
    ck_assert_int_eq(ext->flush(&module, NULL), OPAL_ERR_TIMEOUT);
    btl_close();
}
END_TEST

static int flushed;

static void flush_inside(void)
{
    flushed = keel_btl_ext(&module)->flush(&module, NULL);
}

START_TEST(a_flush_inside_progress_does_not_wait)
{
    open_mock();
    in_progress = flush_inside;
    flushed = 1;
    btl_progress();
    ck_assert_int_eq(flushed, OPAL_SUCCESS);
    is_open = true;
    btl_progress();
    ck_assert_int_eq(flushed, OPAL_ERR_RESOURCE_BUSY);
    btl_close();
}
END_TEST

/* --- requests for room --- */

struct request {
    struct keel_btl_pending pending; /* first */
    int called, status;
    unsigned turn;
};

static unsigned turns;

static void note(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *ep,
                 struct keel_btl_pending *pending, int status)
{
    struct request *request = (struct request *) pending;
    ck_assert_ptr_eq(btl, &module);
    ck_assert_ptr_eq(ep, endpoint);
    request->called++;
    request->status = status;
    request->turn = turns++;
    room_left = BTL_ROOM_NONE; /* for one */
}

static void note_and_add(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *ep,
                         struct keel_btl_pending *pending, int status)
{
    note(btl, ep, pending, status);
    pending->arg = (void *) (intptr_t) keel_btl_ext(btl)->pending_add(btl, ep, pending);
}

START_TEST(requests_are_called_in_order_as_far_as_there_is_room)
{
    const struct keel_btl_ext *ext = open_mock();
    struct request requests[3] = {{.called = 0}};
    for (int i = 0; i < 3; i++) {
        requests[i].pending.ready = note;
        ck_assert_int_eq(ext->pending_add(&module, endpoint, &requests[i].pending), OPAL_SUCCESS);
    }
    ck_assert_int_eq(btl_progress(), 0);
    for (unsigned i = 0; i < 3; i++) {
        room_left = BTL_ROOM;
        ck_assert_int_eq(btl_progress(), 1);
        ck_assert_int_eq(requests[i].called, 1);
        ck_assert_int_eq(requests[i].status, OPAL_SUCCESS);
        ck_assert_uint_eq(requests[i].turn, i);
    }
    btl_close();
}
END_TEST

START_TEST(room_that_is_not_seen_is_tried_after_a_while)
{
    const struct keel_btl_ext *ext = open_mock();
    struct request request = {.pending.ready = note};
    room_left = BTL_ROOM_UNSEEN;
    uint64_t start = clock_us();
    ck_assert_int_eq(ext->pending_add(&module, endpoint, &request.pending), OPAL_SUCCESS);
    while (request.called == 0) {
        ck_assert_uint_lt(clock_us() - start, 10000000);
        btl_progress();
    }
    ck_assert_uint_ge(clock_us() - start, 1000);
    btl_close();
}
END_TEST

START_TEST(a_request_waits_once_and_can_be_taken_back)
{
    const struct keel_btl_ext *ext = open_mock();
    struct request request = {.pending.ready = NULL};
    ck_assert_int_eq(ext->pending_add(&module, endpoint, &request.pending), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(ext->pending_add(&module, endpoint, NULL), OPAL_ERR_BAD_PARAM);
    request.pending.ready = note;
    ck_assert_int_eq(ext->pending_remove(&module, &request.pending), OPAL_ERR_NOT_FOUND);
    ck_assert_int_eq(ext->pending_add(&module, endpoint, &request.pending), OPAL_SUCCESS);
    ck_assert_int_eq(ext->pending_add(&module, endpoint, &request.pending), OPAL_EXISTS);
    ck_assert_int_eq(ext->pending_remove(&module, &request.pending), OPAL_SUCCESS);
    ck_assert_int_eq(ext->pending_remove(&module, &request.pending), OPAL_ERR_NOT_FOUND);
    room_left = BTL_ROOM;
    btl_progress();
    btl_close();
    ck_assert_int_eq(request.called, 0);
}
END_TEST

START_TEST(requests_wait_for_a_module_that_is_held)
{
    const struct keel_btl_ext *ext = open_mock();
    struct request request = {.pending.ready = note};
    ck_assert_int_eq(ext->pending_add(&module, endpoint, &request.pending), OPAL_SUCCESS);
    ck_assert_int_eq(btl_ft_event(OPAL_CRS_CHECKPOINT), OPAL_SUCCESS);
    room_left = BTL_ROOM;
    btl_progress();
    ck_assert_int_eq(request.called, 0);
    ck_assert_int_eq(btl_ft_event(OPAL_CRS_CONTINUE), OPAL_SUCCESS);
    btl_progress();
    ck_assert_int_eq(request.called, 1);
    btl_close();
}
END_TEST

START_TEST(the_end_of_an_endpoint_is_told_to_those_who_wait_for_it)
{
    const struct keel_btl_ext *ext = open_mock();
    struct request request = {.pending.ready = note};
    ck_assert_int_eq(ext->pending_add(&module, endpoint, &request.pending), OPAL_SUCCESS);
    btl_pending_end(&module, (void *) 0x2000);
    ck_assert_int_eq(request.called, 0);
    btl_pending_end(&module, endpoint);
    ck_assert_int_eq(request.called, 1);
    ck_assert_int_eq(request.status, OPAL_ERR_UNREACH);
    btl_close();
    ck_assert_int_eq(request.called, 1);
}
END_TEST

START_TEST(a_module_that_closes_ends_requests_and_takes_none)
{
    const struct keel_btl_ext *ext = open_mock();
    struct request request = {.pending.ready = note_and_add};
    ck_assert_int_eq(ext->pending_add(&module, endpoint, &request.pending), OPAL_SUCCESS);
    btl_close();
    ck_assert_int_eq(request.called, 1);
    ck_assert_int_eq(request.status, OPAL_ERR_UNREACH);
    ck_assert_int_eq((int) (intptr_t) request.pending.arg, OPAL_ERR_UNREACH);
}
END_TEST

/* --- sleeping --- */

START_TEST(who_waits_for_room_does_not_sleep)
{
    const struct keel_btl_ext *ext = open_mock();
    struct request request = {.pending.ready = note};
    ck_assert_int_eq(ext->wait_fd(&module), 17);
    ck_assert_int_eq(ext->wait_arm(&module), OPAL_SUCCESS);
    ck_assert_int_eq(ext->pending_add(&module, endpoint, &request.pending), OPAL_SUCCESS);
    ck_assert_int_eq(ext->wait_arm(&module), OPAL_ERR_RESOURCE_BUSY);
    room_left = BTL_ROOM;
    btl_progress();
    ck_assert_int_eq(ext->wait_arm(&module), OPAL_SUCCESS);
    btl_close();
}
END_TEST

START_TEST(a_module_of_nobodys_has_none)
{
    const struct keel_btl_ext *ext = open_mock();
    mca_btl_base_module_t other = {.btl_component = &mock.component};
    ck_assert_uint_eq(ext->flags, KEEL_BTL_REMOTE_COMPLETION);
    ck_assert_ptr_null(keel_btl_ext(&other));
    ck_assert_ptr_null(keel_btl_ext(NULL));
    ck_assert_int_eq(ext->flush(&other, NULL), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(ext->wait_fd(&other), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(ext->wait_arm(&other), OPAL_ERR_BAD_PARAM);
    btl_close();
}
END_TEST

UNIT_MAIN("ext")
