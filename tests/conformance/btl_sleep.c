/* keel_btl_ext: who sleeps on the wait descriptor is woken by whatever comes. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

#define TAG 202

struct sleeper {
    atomic_ulong received, completed;
    unsigned long slept;
};

static void count_one(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor;
    struct test *test = cbdata;
    ((struct sleeper *) test->state)->received++;
}

/* Waits asleep: every wake comes from the descriptor, none from a time limit. */
static void sleep_until(struct test *test, const atomic_ulong *count, unsigned long wanted)
{
    struct sleeper *sleeper = test->state;
    const struct keel_btl_ext *ext = ext_of(test);
    struct pollfd polled = {.fd = ext->wait_fd(test->btl), .events = POLLIN};
    while (atomic_load(count) < wanted) {
        if (pump(test) > 0) {
            continue;
        }
        int armed = ext->wait_arm(test->btl);
        if (armed == OPAL_SUCCESS) {
            atomic_store(&board_of(test, test->rank)->done, wanted);
            must(test, poll(&polled, 1, 15000) == 1);
            sleeper->slept++;
        } else {
            must(test, armed == OPAL_ERR_RESOURCE_BUSY);
        }
    }
}

/* Until the neighbour, who waits for a message of mine, is armed: what I send then has to wake it.
 */
static void wait_for_sleeper(struct test *test, unsigned long wanted)
{
    while (atomic_load(&board_of(test, test->right)->done) < wanted) {
        pump(test);
    }
}

static void send_to_sleeper(struct test *test, const unsigned char *bytes, size_t size,
                            unsigned long round)
{
    if (round % 10 == 0 && test->right != test->rank) {
        wait_for_sleeper(test, round);
    }
    send_bytes(test, test->right, bytes, size, TAG);
}

static void sleepers_wake(struct test *test, size_t size)
{
    struct sleeper sleeper = {0};
    test->state = &sleeper;
    if (ext_of(test)->wait_fd(test->btl) < 0) {
        return; /* it has to be polled, and says so */
    }
    on_tag(test, TAG, count_one);
    unsigned char *bytes = calloc(1, size);
    must(test, bytes);
    bool first = test->rank % 2 == 0 || test->right == test->rank;
    meet(test);
    freeze(test); /* another thread that polls would take what is to wake this one */
    for (unsigned long round = 1; round <= 200; round++) {
        if (first) {
            send_to_sleeper(test, bytes, size, round);
        }
        sleep_until(test, &sleeper.received, round);
        if (!first) {
            send_to_sleeper(test, bytes, size, round);
        }
    }
    thaw(test);
    must(test, sleeper.slept > 0 || test->right == test->rank);
    free(bytes);
    meet(test);
}

static void sleepers_wake_for_small(struct test *test)
{
    sleepers_wake(test, 8);
}

static void sleepers_wake_for_large(struct test *test)
{
    sleepers_wake(test, test->btl->btl_max_send_size);
}

static void count_completed(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                            mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    struct test *test = descriptor->des_cbdata;
    must(test, status == OPAL_SUCCESS);
    ((struct sleeper *) test->state)->completed++;
}

/* Nobody sends to who waits for completions alone: it wakes all the same, or is not let sleep. */
static void sleepers_complete(struct test *test)
{
    enum { MESSAGES = 40 };
    struct sleeper sleeper = {0};
    size_t size = test->btl->btl_max_send_size;
    test->state = &sleeper;
    if (ext_of(test)->wait_fd(test->btl) < 0) {
        return;
    }
    on_tag(test, TAG, count_one);
    bool sends = test->rank % 2 == 0 || test->right == test->rank;
    bool receives = test->left % 2 == 0 || test->right == test->rank;
    meet(test);
    freeze(test);
    for (int i = 0; sends && i < MESSAGES; i++) {
        mca_btl_base_descriptor_t *descriptor =
            alloc_wait(test, test->right, size, MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
        memset(descriptor->des_segments[0].seg_addr.pval, 1, size);
        descriptor->des_cbfunc = count_completed;
        descriptor->des_cbdata = test;
        send_wait(test, test->right, descriptor, TAG);
    }
    if (sends) {
        sleep_until(test, &sleeper.completed, MESSAGES);
    }
    if (receives) {
        sleep_until(test, &sleeper.received, MESSAGES);
    }
    thaw(test);
    meet(test);
}

/* All have sent before anybody arms. */
static void arm_with_a_message_there(struct test *test, unsigned long round)
{
    const struct keel_btl_ext *ext = ext_of(test);
    struct sleeper *sleeper = test->state;
    struct pollfd polled = {.fd = ext->wait_fd(test->btl), .events = POLLIN};
    halt(test);
    send_bytes(test, test->right, "x", 1, TAG);
    stop(test);
    while (sleeper->received < round) {
        int armed = ext->wait_arm(test->btl);
        must(test, armed == OPAL_ERR_RESOURCE_BUSY ||
                       (armed == OPAL_SUCCESS && poll(&polled, 1, 15000) == 1));
        pump(test);
    }
    meet(
        test); /* who has its message still drives what it sent, over a link that is being set up */
    resume(test);
}

/* A message that is there lets nobody sleep, or wakes at once: also from a peer that has long said
 * nothing, at which a module may look less often. */
static void sleepers_look_first(struct test *test)
{
    enum { QUIET_PASSES = 5000 };
    struct sleeper sleeper = {0};
    test->state = &sleeper;
    if (ext_of(test)->wait_fd(test->btl) < 0) {
        return;
    }
    on_tag(test, TAG, count_one);
    for (unsigned long round = 1; round <= 10; round++) {
        meet(test);
        for (int i = 0; round % 2 && i < QUIET_PASSES; i++) {
            pump(test);
        }
        meet(test);
        arm_with_a_message_there(test, round);
    }
    meet(test);
}

const struct test_case sleep_cases[] = {
    {.name = "sleep", .run = sleepers_wake_for_small, .min_size = 1},
    {.name = "sleep, large", .run = sleepers_wake_for_large, .min_size = 1},
    {.name = "sleep, completions", .run = sleepers_complete, .min_size = 1},
    {.name = "sleep, message there", .run = sleepers_look_first, .min_size = 1},
    {.name = NULL},
};
