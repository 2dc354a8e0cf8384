/* Many messages: order, full queues, sends from callbacks, many senders. */
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

#define TAG 130

/* Every message of these cases: numbered by its sender. */
struct numbered {
    uint32_t from;
    uint32_t number;
    uint32_t size; /* of the whole message */
    uint32_t ttl;  /* callbacks to go */
};

struct tally {
    unsigned long next[16]; /* the number that each sender's next message must have */
    atomic_ulong count;
};

static void fill(unsigned char *to, struct test *test, uint32_t count, size_t size)
{
    struct numbered head = {
        .from = (uint32_t) test->rank, .number = count, .size = (uint32_t) size};
    memcpy(to, &head, sizeof(head));
    memset(to + sizeof(head), (int) (count & 0xff), size - sizeof(head));
}

static void take_numbered(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                          mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag;
    struct test *test = cbdata;
    struct tally *tally = test->state;
    size_t size;
    const unsigned char *bytes = received(test, descriptor, &size);
    struct numbered head;
    must(test, size >= sizeof(head));
    memcpy(&head, bytes, sizeof(head));
    must(test, head.from < (uint32_t) test->size && head.size == size);
    must(test, head.number == tally->next[head.from]);
    for (size_t i = sizeof(head); i < size; i++) {
        must(test, bytes[i] == (head.number & 0xff));
    }
    tally->next[head.from]++;
    tally->count++;
}

/* Mostly small; now and then one that takes another path through a module. */
static size_t size_of(struct test *test, uint32_t number)
{
    if (number % 997 == 0) {
        return test->btl->btl_max_send_size;
    }
    if (number % 101 == 0) {
        return test->btl->btl_eager_limit;
    }
    return sizeof(struct numbered) + number * 7 % 60;
}

static void send_numbered(struct test *test, int to, uint32_t number)
{
    mca_btl_base_module_t *btl = test->btl;
    size_t size = size_of(test, number);
    if (number % 3 == 0 && size < 256) {
        unsigned char bytes[256];
        fill(bytes, test, number, size);
        for (;;) {
            mca_btl_base_descriptor_t *left = NULL;
            int status = btl->btl_sendi(btl, test->endpoints[to], NULL, bytes, size, 0,
                                        MCA_BTL_NO_ORDER, 0, TAG, number % 2 ? &left : NULL);
            if (status == OPAL_SUCCESS) {
                return;
            }
            must(test, is_shortage(status));
            if (left) {
                fill(left->des_segments[0].seg_addr.pval, test, number, size);
                send_wait(test, to, left, TAG);
                return;
            }
            pump(test);
        }
    }
    mca_btl_base_descriptor_t *descriptor = alloc_wait(test, to, size, 0);
    fill(descriptor->des_segments[0].seg_addr.pval, test, number, size);
    send_wait(test, to, descriptor, TAG);
}

static void order_is_kept(struct test *test)
{
    enum { MESSAGES = 100000 };
    struct tally tally = {.count = 0};
    test->state = &tally;
    on_tag(test, TAG, take_numbered);
    meet(test);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        send_numbered(test, test->right, i);
        if (i % 16 == 0) {
            pump(test);
        }
    }
    pump_until(test, &tally.count, MESSAGES);
    meet(test);
}

/* Without anybody's progress sends must come to an end, and go on after it in order. To oneself
 * they may have none. */
static void full_queues_keep_order(struct test *test, size_t size, uint32_t cap)
{
    struct tally tally = {.count = 0};
    test->state = &tally;
    on_tag(test, TAG, take_numbered);
    meet(test);
    halt(test);
    mca_btl_base_module_t *btl = test->btl;
    uint32_t number = 0;
    bool loops = test->right == test->rank, full = false;
    uint32_t most = loops ? cap / 16 : cap;
    while (!full && number < most) {
        mca_btl_base_descriptor_t *descriptor =
            btl->btl_alloc(btl, test->endpoints[test->right], MCA_BTL_NO_ORDER, size,
                           MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
        full = !descriptor;
        if (descriptor) {
            fill(descriptor->des_segments[0].seg_addr.pval, test, number, size);
            int status = btl->btl_send(btl, test->endpoints[test->right], descriptor, TAG);
            must(test, status >= 0 || is_shortage(status));
            full = status < 0;
            number += status >= 0;
            if (full) {
                must(test, btl->btl_free(btl, descriptor) == OPAL_SUCCESS);
            }
        }
    }
    must(test, full || loops);
    resume(test); /* nobody polled until here */
    uint32_t all = number + 1000;
    struct board *mine = board_of(test, test->rank);
    atomic_store(&mine->done, all);
    for (; number < all; number++) {
        mca_btl_base_descriptor_t *descriptor = alloc_wait(test, test->right, size, 0);
        fill(descriptor->des_segments[0].seg_addr.pval, test, number, size);
        send_wait(test, test->right, descriptor, TAG);
    }
    meet(test); /* a neighbour may still need my polling to get its last ones away */
    pump_until(test, &tally.count, atomic_load(&board_of(test, test->left)->done));
    meet(test);
}

static void small_messages_fill_up(struct test *test)
{
    full_queues_keep_order(test, 40, 4000000);
}

static void large_messages_fill_up(struct test *test)
{
    full_queues_keep_order(test, test->btl->btl_max_send_size, 8192);
}

/* Sends that found no room inside a callback. */
struct backlog {
    struct {
        int to;
        struct numbered message;
    } items[4096];
    size_t count;
};

struct chains {
    struct backlog backlog;
    atomic_ulong ended;
    int depth, deepest;
};

/* One try; false: no room. */
static bool try_send(struct test *test, int to, const struct numbered *message)
{
    mca_btl_base_module_t *btl = test->btl;
    mca_btl_base_descriptor_t *descriptor =
        btl->btl_alloc(btl, test->endpoints[to], MCA_BTL_NO_ORDER, sizeof(*message),
                       MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (!descriptor) {
        return false;
    }
    memcpy(descriptor->des_segments[0].seg_addr.pval, message, sizeof(*message));
    int status = btl->btl_send(btl, test->endpoints[to], descriptor, TAG);
    must(test, status >= 0 || is_shortage(status));
    if (status < 0) {
        btl->btl_free(btl, descriptor);
    }
    return status >= 0;
}

static void take_chain(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                       mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag;
    struct test *test = cbdata;
    struct chains *chains = test->state;
    size_t size;
    struct numbered message;
    const unsigned char *bytes = received(test, descriptor, &size);
    must(test, size == sizeof(message));
    memcpy(&message, bytes, sizeof(message));
    if (message.ttl == 0) {
        chains->ended++;
        return;
    }
    if (++chains->depth > chains->deepest) {
        chains->deepest = chains->depth;
    }
    int to = (int) message.from;
    message.from = (uint32_t) test->rank;
    message.ttl--;
    if (!try_send(test, to, &message)) {
        struct backlog *backlog = &chains->backlog;
        must(test, backlog->count < sizeof(backlog->items) / sizeof(*backlog->items));
        backlog->items[backlog->count].to = to;
        backlog->items[backlog->count++].message = message;
    }
    chains->depth--;
}

/* A send may bring callbacks that add to the backlog. */
static void retry_backlog(struct test *test, struct backlog *backlog)
{
    bool sent = true;
    freeze(test);
    while (sent && backlog->count > 0) {
        int to = backlog->items[--backlog->count].to;
        struct numbered message = backlog->items[backlog->count].message;
        sent = try_send(test, to, &message);
        if (!sent) {
            backlog->items[backlog->count].to = to;
            backlog->items[backlog->count++].message = message;
        }
    }
    thaw(test);
}

static bool all_done(struct test *test)
{
    bool all = true;
    for (int i = 0; i < test->size; i++) {
        all = all && atomic_load(&board_of(test, i)->done);
    }
    return all;
}

static void callbacks_may_send(struct test *test)
{
    enum { CHAINS = 64, LENGTH = 1000 };
    struct chains *chains = calloc(1, sizeof(*chains));
    must(test, chains);
    test->state = chains;
    on_tag(test, TAG, take_chain);
    meet(test);
    struct numbered message = {.from = (uint32_t) test->rank, .ttl = LENGTH};
    for (int i = 0; i < CHAINS; i++) {
        while (!try_send(test, test->right, &message)) {
            pump(test);
        }
    }
    /* Even lengths end where they began: at the sender of the first message's receiver. My backlog
     * holds links of others' chains, too. */
    atomic_store(&board_of(test, test->rank)->done, 0);
    while (chains->ended < CHAINS) {
        pump(test);
        retry_backlog(test, &chains->backlog);
    }
    atomic_store(&board_of(test, test->rank)->done, 1);
    while (!all_done(test)) {
        pump(test);
        retry_backlog(test, &chains->backlog);
    }
    must(test, chains->ended == CHAINS);
    must(test, chains->deepest <= 64);
    meet(test);
    free(chains);
}

/* Callbacks that send in order: every message received asks for two more. */
struct fan {
    struct tally tally; /* first */
    uint32_t next;      /* number of my next message */
    unsigned long owed;
};

static void pay(struct test *test, struct fan *fan, uint32_t limit)
{
    while (fan->owed > 0 && fan->next < limit) {
        struct numbered message = {
            .from = (uint32_t) test->rank, .number = fan->next, .size = sizeof(message)};
        /* Before the send, which may bring the next callback. */
        fan->next++;
        fan->owed--;
        if (!try_send(test, test->right, &message)) {
            fan->next--;
            fan->owed++;
            return;
        }
    }
}

enum { FAN_MESSAGES = 20000 };

static void take_and_pay(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                         mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    struct test *test = cbdata;
    struct fan *fan = test->state;
    take_numbered(btl, tag, descriptor, cbdata);
    fan->owed += 2;
    pay(test, fan, FAN_MESSAGES);
}

static bool has_paid(struct test *test, struct fan *fan)
{
    freeze(test);
    pay(test, fan, FAN_MESSAGES);
    bool all = fan->next >= FAN_MESSAGES && fan->tally.count >= FAN_MESSAGES;
    thaw(test);
    return all;
}

static void callbacks_send_in_order(struct test *test)
{
    struct fan fan = {.owed = 3};
    test->state = &fan;
    on_tag(test, TAG, take_and_pay);
    meet(test);
    while (!has_paid(test, &fan)) {
        pump(test);
    }
    meet(test);
}

/* Each completion sends the next message, while others that are complete are still to call back. */
struct supply {
    struct tally tally; /* first */
    uint32_t next;      /* number of my next message */
    unsigned owed;
};

enum { SUPPLY_MESSAGES = 300 };

static void supply(struct test *test, struct supply *state);

static void supplied(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    struct test *test = descriptor->des_cbdata;
    struct supply *state = test->state;
    must(test, status == OPAL_SUCCESS);
    state->owed++;
    supply(test, state);
}

/* False: no room. */
static bool supply_one(struct test *test, uint32_t number)
{
    mca_btl_base_module_t *btl = test->btl;
    size_t size = number % 2 ? btl->btl_max_send_size : sizeof(struct numbered) + 100;
    mca_btl_base_descriptor_t *descriptor =
        btl->btl_alloc(btl, test->endpoints[test->right], MCA_BTL_NO_ORDER, size,
                       MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    if (!descriptor) {
        return false;
    }
    fill(descriptor->des_segments[0].seg_addr.pval, test, number, size);
    descriptor->des_cbfunc = supplied;
    descriptor->des_cbdata = test;
    int status = btl->btl_send(btl, test->endpoints[test->right], descriptor, TAG);
    must(test, status >= 0 || is_shortage(status));
    if (status < 0) {
        btl->btl_free(btl, descriptor);
    }
    return status >= 0;
}

static void supply(struct test *test, struct supply *state)
{
    while (state->owed > 0 && state->next < SUPPLY_MESSAGES) {
        state->owed--;
        if (!supply_one(test, state->next++)) {
            state->owed++;
            state->next--;
            return;
        }
    }
}

static bool is_supplied(struct test *test, struct supply *state, unsigned ahead)
{
    freeze(test);
    supply(test, state);
    bool over = state->tally.count == SUPPLY_MESSAGES && state->next == SUPPLY_MESSAGES &&
                state->owed == ahead;
    thaw(test);
    return over;
}

static void completions_may_send(struct test *test)
{
    static const unsigned ahead[] = {1, 2, 3, 4, 40}; /* messages under way */
    struct supply state;
    test->state = &state;
    on_tag(test, TAG, take_numbered);
    for (size_t i = 0; i < sizeof(ahead) / sizeof(*ahead); i++) {
        freeze(test);
        state = (struct supply){.owed = ahead[i]};
        thaw(test);
        meet(test);
        while (!is_supplied(test, &state, ahead[i])) {
            pump(test);
        }
        meet(test);
    }
}

/* Each completion lets the next message go. */
struct relay {
    atomic_ulong sent, received;
};

static void send_next(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    struct test *test = descriptor->des_cbdata;
    must(test, status == OPAL_SUCCESS);
    ((struct relay *) test->state)->sent++;
}

static void take_relay(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                       mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor;
    ((struct relay *) ((struct test *) cbdata)->state)->received++;
}

static void descriptors_are_used_again(struct test *test)
{
    enum { TIMES = 5000 };
    struct relay relay = {.sent = 0};
    test->state = &relay;
    on_tag(test, TAG, take_relay);
    meet(test);
    mca_btl_base_descriptor_t *descriptor =
        alloc_wait(test, test->right, 64, MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    memset(descriptor->des_segments[0].seg_addr.pval, 0, 64);
    descriptor->des_cbfunc = send_next;
    descriptor->des_cbdata = test;
    for (unsigned long i = 0; i < TIMES; i++) {
        int status = test->btl->btl_send(test->btl, test->endpoints[test->right], descriptor, TAG);
        while (status < 0) {
            must(test, is_shortage(status));
            pump(test);
            status = test->btl->btl_send(test->btl, test->endpoints[test->right], descriptor, TAG);
        }
        pump_until(test, &relay.sent, i + 1);
    }
    must(test, test->btl->btl_free(test->btl, descriptor) == OPAL_SUCCESS);
    pump_until(test, &relay.received, TIMES);
    meet(test);
}

static void many_send_to_one(struct test *test)
{
    enum { EACH = 20000 };
    struct tally tally = {.count = 0};
    test->state = &tally;
    on_tag(test, TAG, take_numbered);
    meet(test);
    unsigned long senders = 0;
    for (int i = 0; i < test->size; i++) {
        senders += test->endpoints[i] != NULL || (i == 0 && test->rank == 0);
    }
    bool reaches_self = test->endpoints[test->rank] != NULL;
    if (test->rank != 0 || reaches_self) {
        int to = test->endpoints[0] ? 0 : test->rank;
        for (uint32_t i = 0; i < EACH; i++) {
            send_numbered(test, to, i);
        }
    }
    if (test->rank == 0) {
        unsigned long others = reaches_self ? senders : senders - 1;
        pump_until(test, &tally.count, others * EACH);
    }
    meet(test);
}

/* All ranks send to all, as much as they can, at the same time. */
static void all_send_to_all(struct test *test)
{
    enum { EACH = 3000 };
    struct tally tally = {.count = 0};
    test->state = &tally;
    on_tag(test, TAG, take_numbered);
    meet(test);
    unsigned long peers = 0;
    for (int to = 0; to < test->size; to++) {
        peers += test->endpoints[to] != NULL;
    }
    for (uint32_t i = 0; i < EACH; i++) {
        for (int to = 0; to < test->size; to++) {
            if (test->endpoints[to]) {
                send_numbered(test, to, i);
            }
        }
    }
    pump_until(test, &tally.count, peers * EACH);
    meet(test);
}

const struct test_case stream_cases[] = {
    {.name = "order", .run = order_is_kept, .min_size = 1},
    {.name = "full with small", .run = small_messages_fill_up, .min_size = 1},
    {.name = "full with large", .run = large_messages_fill_up, .min_size = 1},
    {.name = "sends from callbacks", .run = callbacks_may_send, .min_size = 1},
    {.name = "sends from completions", .run = completions_may_send, .min_size = 1},
    {.name = "order from callbacks", .run = callbacks_send_in_order, .min_size = 1},
    {.name = "descriptor again", .run = descriptors_are_used_again, .min_size = 1},
    {.name = "many to one", .run = many_send_to_one, .min_size = 1},
    {.name = "all to all", .run = all_send_to_all, .min_size = 1},
    {.name = NULL},
};
