/* Traffic that goes on whatever fails: each message and operation ends once, well or with an error;
 * what ended well is there, unless a failure of the peer was reported; order holds; nothing comes
 * twice. Run without faults it must be perfect; btl-faults.sh runs it under many. */
#include <base/data/clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

#define TAG 70
#define SILENCE_US 10000000u

enum { MESSAGES = 3000, PUTS = 200, PUT_BYTES = 3000 };

/* What a rank shows its sender. */
struct shown {
    atomic_uint reported; /* a failure of a peer */
    unsigned char arrived[MESSAGES];
    unsigned char landing[PUTS][PUT_BYTES];
};
_Static_assert(sizeof(struct shown) <= DATA_BYTES, "the board holds it");

enum { OPEN = 1, REFUSED }; /* a status is stored as it is, and never positive */

struct traffic {
    struct test *test;
    struct shown *mine;
    int sends[MESSAGES], puts[PUTS], gets[PUTS];
    atomic_ulong ended;
    unsigned long accepted;
    long last; /* number of the last message from the left */
    unsigned char sources[PUTS][PUT_BYTES], fetched[PUTS][PUT_BYTES];
    mca_btl_base_registration_handle_t *handle;
};

static struct shown *shown_by(struct test *test, int rank)
{
    return (struct shown *) (void *) board_of(test, rank)->data;
}

static struct traffic *traffic_now; /* of this process: error callbacks have no argument */

static void on_error(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *proc, char *text)
{
    struct test *test = traffic_now->test;
    must(test, btl == test->btl && flags != 0 && text && text[0]);
    (void) proc;
    if (getenv("KEEL_TEST_ERRORS")) { /* for who looks for it in the output */
        fprintf(stderr, "# error: %s\n", text);
    }
    atomic_fetch_add(&traffic_now->mine->reported, 1);
}

static void take(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag;
    struct test *test = cbdata;
    struct traffic *traffic = test->state;
    size_t size;
    const unsigned char *bytes = received(test, descriptor, &size);
    uint32_t number;
    must(test, size >= sizeof(number));
    memcpy(&number, bytes, sizeof(number));
    must(test, number < MESSAGES && (long) number > traffic->last);
    must(test, pattern_is(bytes + sizeof(number), size - sizeof(number), number));
    traffic->last = (long) number;
    traffic->mine->arrived[number] = 1;
}

static void ended(struct traffic *traffic, int *state, int status)
{
    must(traffic->test, *state == OPEN && status <= 0);
    *state = status;
    traffic->ended++;
}

static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    ended(traffic_now, descriptor->des_cbdata, status);
}

static void operated(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *address, mca_btl_base_registration_handle_t *handle, void *context,
                     void *data, int status)
{
    (void) btl, (void) endpoint, (void) address, (void) handle;
    ended(context, data, status);
}

/* One call's answer; false: short, again later. */
static bool settle(struct traffic *traffic, int *state, int status)
{
    if (is_shortage(status)) {
        must(traffic->test, *state == OPEN); /* and no callback came */
        return false;
    }
    if (status < 0) {
        must(traffic->test, *state == OPEN);
        *state = REFUSED;
        return true;
    }
    traffic->accepted++;
    if (status == 1 && *state == OPEN) {
        ended(traffic, state, OPAL_SUCCESS);
    }
    return true;
}

/* All sizes that a module treats apart. */
static size_t size_of(struct test *test, uint32_t number)
{
    size_t small = sizeof(number) + number * 7 % 90;
    return number % 50 == 9   ? test->btl->btl_max_send_size
           : number % 10 == 9 ? test->btl->btl_eager_limit
                              : small;
}

static bool try_send(struct traffic *traffic, uint32_t number)
{
    struct test *test = traffic->test;
    mca_btl_base_module_t *btl = test->btl;
    struct mca_btl_base_endpoint_t *endpoint = test->endpoints[test->right];
    size_t size = size_of(test, number);
    mca_btl_base_descriptor_t *descriptor =
        btl->btl_alloc(btl, endpoint, MCA_BTL_NO_ORDER, size,
                       MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    if (!descriptor) {
        return false;
    }
    unsigned char *to = descriptor->des_segments[0].seg_addr.pval;
    memcpy(to, &number, sizeof(number));
    pattern_fill(to + sizeof(number), size - sizeof(number), number);
    descriptor->des_cbfunc = sent;
    descriptor->des_cbdata = &traffic->sends[number];
    traffic->sends[number] = OPEN;
    int status = btl->btl_send(btl, endpoint, descriptor, TAG);
    if (status < 0) {
        btl->btl_free(btl, descriptor);
    }
    return settle(traffic, &traffic->sends[number], status);
}

static bool try_rdma(struct traffic *traffic, bool put, uint32_t number)
{
    struct test *test = traffic->test;
    mca_btl_base_module_t *btl = test->btl;
    struct board *target = board_of(test, test->right);
    int *state = put ? &traffic->puts[number] : &traffic->gets[number];
    unsigned char *local = put ? traffic->sources[number] : traffic->fetched[number];
    size_t offset = put ? offsetof(struct shown, landing) + (size_t) number * PUT_BYTES
                        : DATA_BYTES / 2 + (size_t) number * PUT_BYTES;
    *state = OPEN;
    int status = (put ? btl->btl_put : btl->btl_get)(
        btl, test->endpoints[test->right], local, target->base + offset, NULL,
        (void *) target->handle, PUT_BYTES, 0, MCA_BTL_NO_ORDER, operated, traffic, state);
    return settle(traffic, state, status);
}

/* Until the call is taken or refused; a shortage without end is silence. */
static void insist(struct traffic *traffic, bool (*attempt)(struct traffic *, bool, uint32_t),
                   bool put, uint32_t number)
{
    uint64_t begin = clock_us();
    for (;;) {
        freeze(traffic->test); /* its state is the callback's, too */
        bool settled = attempt ? attempt(traffic, put, number) : try_send(traffic, number);
        thaw(traffic->test);
        if (settled) {
            return;
        }
        pump(traffic->test);
        must(traffic->test, clock_us() - begin < SILENCE_US);
    }
}

static void begin(struct test *test, struct traffic *traffic)
{
    struct board *board = board_of(test, test->rank);
    traffic->test = test;
    traffic->last = -1;
    traffic->mine = shown_by(test, test->rank);
    traffic_now = traffic;
    test->state = traffic;
    for (unsigned i = 0; i < PUTS; i++) {
        pattern_fill(traffic->sources[i], PUT_BYTES, i);
        pattern_fill(board->data + DATA_BYTES / 2 + (size_t) i * PUT_BYTES, PUT_BYTES, i + 7);
    }
    on_tag(test, TAG, take);
    must(test, test->btl->btl_register_error(test->btl, on_error) == OPAL_SUCCESS);
    traffic->handle = show_data(test, DATA_BYTES, MCA_BTL_REG_FLAG_ACCESS_ANY);
    meet(test);
}

/* What ended well is there, or a failure was reported on either side. */
static void compare(struct test *test, const struct traffic *traffic)
{
    const struct shown *theirs = shown_by(test, test->right);
    bool reported = atomic_load(&traffic->mine->reported) || atomic_load(&theirs->reported);
    for (unsigned i = 0; i < MESSAGES; i++) {
        must(test, traffic->sends[i] <= 0 || traffic->sends[i] == REFUSED);
        must(test, traffic->sends[i] != OPAL_SUCCESS || theirs->arrived[i] || reported);
        must(test, traffic->sends[i] != REFUSED || !theirs->arrived[i]);
    }
    for (unsigned i = 0; i < PUTS; i++) {
        must(test,
             traffic->puts[i] != OPAL_SUCCESS || pattern_is(theirs->landing[i], PUT_BYTES, i));
        must(test,
             traffic->gets[i] != OPAL_SUCCESS || pattern_is(traffic->fetched[i], PUT_BYTES, i + 7));
    }
}

static void count_errors(struct test *test, const struct traffic *traffic)
{
    unsigned errors = atomic_load(&traffic->mine->reported);
    for (unsigned i = 0; i < MESSAGES; i++) {
        errors += traffic->sends[i] != OPAL_SUCCESS;
    }
    for (unsigned i = 0; i < PUTS; i++) {
        errors += (traffic->puts[i] != OPAL_SUCCESS) + (traffic->gets[i] != OPAL_SUCCESS);
    }
    /* Without a fault on purpose all has to go well. */
    must(test, errors == 0 || getenv("KEEL_MCA_fault"));
}

/* As long as something ends now and then. */
static void await_ends(struct test *test, const struct traffic *traffic)
{
    unsigned long seen = traffic->ended;
    uint64_t since_us = clock_us();
    while (traffic->ended < traffic->accepted) {
        pump(test);
        if (traffic->ended != seen) {
            seen = traffic->ended;
            since_us = clock_us();
        }
        must(test, clock_us() - since_us < SILENCE_US);
    }
}

static void nothing_ends_in_silence(struct test *test)
{
    struct traffic *traffic = calloc(1, sizeof(*traffic));
    must(test, traffic && test->btl->btl_register_mem);
    begin(test, traffic);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        insist(traffic, NULL, false, i);
        if (i % (MESSAGES / PUTS) == 0) {
            insist(traffic, try_rdma, true, i / (MESSAGES / PUTS));
            insist(traffic, try_rdma, false, i / (MESSAGES / PUTS));
        }
        if (i % 16 == 0) {
            pump(test);
        }
    }
    await_ends(test, traffic);
    meet(test);
    /* What was sent well is on its way. */
    for (int i = 0; i < 200; i++) {
        pump_idle(test);
    }
    meet(test);
    compare(test, traffic);
    count_errors(test, traffic);
    meet(test);
    must(test, test->btl->btl_deregister_mem(test->btl, traffic->handle) == OPAL_SUCCESS);
    must(test, test->btl->btl_register_error(test->btl, NULL) == OPAL_SUCCESS);
    meet(test);
    free(traffic);
}

const struct test_case fault_cases[] = {
    {.name = "traffic", .run = nothing_ends_in_silence, .min_size = 1},
    {.name = NULL},
};
