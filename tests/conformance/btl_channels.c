/* Channels of layers above: their messages reach their callbacks and no others, in order with the
 * application's. */
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

enum { ROUNDS = 40, KINDS = 4 };

/* What a message begins with. */
struct head {
    uint32_t number;
    uint8_t channel, tag, kind;
};

static struct {
    struct test *test;
    atomic_ulong came;
    uint32_t next;
} inbox;

/* cbdata: the channel that it was registered for. */
static void arrived(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                    mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl;
    struct test *test = inbox.test;
    struct head head;
    size_t size;
    const unsigned char *bytes = received(test, descriptor, &size);
    must(test, size >= sizeof(head));
    memcpy(&head, bytes, sizeof(head));
    must(test, head.number == inbox.next++);
    must(test, head.channel == *(const uint8_t *) cbdata && head.tag == tag);
    must(test, pattern_is(bytes + sizeof(head), size - sizeof(head), head.number));
    inbox.came++;
}

static size_t size_of(struct test *test, uint8_t kind)
{
    const size_t sizes[KINDS] = {sizeof(struct head), 64, 3000, test->btl->btl_max_send_size};
    return sizes[kind];
}

/* By a descriptor, or in place. */
static void send_one(struct test *test, const struct head *head, bool at_once)
{
    static unsigned char *bytes;
    size_t size = size_of(test, head->kind);
    mca_btl_base_module_t *btl = test->btl;
    struct mca_btl_base_endpoint_t *endpoint = test->endpoints[test->right];
    bytes = bytes ? bytes : malloc(btl->btl_max_send_size);
    must(test, bytes);
    memcpy(bytes, head, sizeof(*head));
    pattern_fill(bytes + sizeof(*head), size - sizeof(*head), head->number);
    int status = OPAL_ERR_OUT_OF_RESOURCE;
    while (at_once && is_shortage(status)) {
        opal_convertor_t convertor;
        opal_convertor_prepare(&convertor, bytes + sizeof(*head), size - sizeof(*head));
        status = ext_of(test)->channel_sendi(btl, endpoint, &convertor, bytes, sizeof(*head),
                                             size - sizeof(*head), MCA_BTL_NO_ORDER, 0,
                                             head->channel, head->tag, NULL);
        if (is_shortage(status)) {
            pump(test);
        }
    }
    if (!at_once) {
        mca_btl_base_descriptor_t *descriptor =
            alloc_wait(test, test->right, size, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
        memcpy(descriptor->des_segments[0].seg_addr.pval, bytes, size);
        while (is_shortage(status = ext_of(test)->channel_send(btl, endpoint, descriptor,
                                                               head->channel, head->tag))) {
            pump(test);
        }
    }
    must(test, status == 0 || (status == 1 && !at_once));
}

static const uint8_t channels[KEEL_BTL_CHANNEL_MAX + 1] = {0, 1, 2, 3, 4, 5, 6, 7};

static void begin(struct test *test)
{
    memset(&inbox, 0, sizeof(inbox));
    inbox.test = test;
    for (unsigned tag = 0; tag <= MCA_BTL_TAG_MAX; tag++) {
        must(test, test->btl->btl_register(test->btl, (mca_btl_base_tag_t) tag, arrived,
                                           (void *) (uintptr_t) &channels[0]) == OPAL_SUCCESS);
    }
    for (size_t i = 1; i < sizeof(channels); i++) {
        must(test,
             ext_of(test)->channel_register(test->btl, channels[i], arrived,
                                            (void *) (uintptr_t) &channels[i]) == OPAL_SUCCESS);
    }
    meet(test);
}

static void messages_reach_their_channel(struct test *test)
{
    begin(test);
    uint32_t number = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (uint8_t channel = 0; channel <= KEEL_BTL_CHANNEL_MAX; channel++) {
            struct head head = {.number = number,
                                .channel = channel,
                                .tag = (uint8_t) (number * 37),
                                .kind = (uint8_t) ((round + channel) % KINDS)};
            send_one(test, &head, round % 2);
            number++;
        }
    }
    pump_until(test, &inbox.came, number);
    meet(test);
}

/* The flags of send on a channel, and its completion. */
static void completed(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    struct test *test = inbox.test;
    must(test, status == OPAL_SUCCESS);
    (*(atomic_ulong *) descriptor->des_cbdata)++;
}

static void sends_complete(struct test *test)
{
    atomic_ulong done = 0;
    begin(test);
    for (uint32_t number = 0; number < 8; number++) {
        struct head head = {.number = number, .channel = 7, .tag = 255, .kind = number % KINDS};
        size_t size = size_of(test, head.kind);
        mca_btl_base_descriptor_t *descriptor = alloc_wait(test, test->right, size, 0);
        unsigned char *bytes = descriptor->des_segments[0].seg_addr.pval;
        memcpy(bytes, &head, sizeof(head));
        pattern_fill(bytes + sizeof(head), size - sizeof(head), number);
        descriptor->des_flags = MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
        descriptor->des_cbfunc = completed;
        descriptor->des_cbdata = &done;
        while (is_shortage(ext_of(test)->channel_send(test->btl, test->endpoints[test->right],
                                                      descriptor, 7, 255))) {
            pump(test);
        }
        pump_until(test, &done, number + 1);
        must(test, test->btl->btl_free(test->btl, descriptor) == OPAL_SUCCESS);
    }
    pump_until(test, &inbox.came, 8);
    meet(test);
}

/* Nobody has this channel: its messages are dropped, and what comes behind them arrives. */
static void nobody_registered(struct test *test)
{
    begin(test);
    must(test, ext_of(test)->channel_register(test->btl, 3, NULL, NULL) == OPAL_SUCCESS);
    meet(test);
    struct head head = {.number = 99, .channel = 3, .tag = 1, .kind = 1};
    send_one(test, &head, true);
    send_one(test, &head, false);
    head = (struct head){.number = 0, .channel = 4, .tag = 1, .kind = 1};
    send_one(test, &head, true);
    pump_until(test, &inbox.came, 1);
    meet(test);
}

static void there_are_no_others(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    struct mca_btl_base_endpoint_t *endpoint = test->endpoints[test->right];
    const struct keel_btl_ext *ext = ext_of(test);
    char header[] = "header";
    const uint8_t none[] = {KEEL_BTL_CHANNEL_MAX + 1, 15, 16, 255};
    mca_btl_base_descriptor_t *descriptor = alloc_wait(test, test->right, 8, 0), *left;
    memset(descriptor->des_segments[0].seg_addr.pval, 0, 8);
    must(test, ext->channel_register(btl, 0, arrived, NULL) == OPAL_ERR_BAD_PARAM);
    for (size_t i = 0; i < sizeof(none); i++) {
        left = descriptor;
        must(test, ext->channel_register(btl, none[i], arrived, NULL) == OPAL_ERR_BAD_PARAM);
        must(test, ext->channel_send(btl, endpoint, descriptor, none[i], 0) == OPAL_ERR_BAD_PARAM);
        must(test, ext->channel_sendi(btl, endpoint, NULL, header, 6, 0, MCA_BTL_NO_ORDER, 0,
                                      none[i], 0, &left) == OPAL_ERR_BAD_PARAM);
        must(test, !left);
    }
    must(test, btl->btl_free(btl, descriptor) == OPAL_SUCCESS);
    meet(test);
}

const struct test_case channel_cases[] = {
    {.name = "channels", .run = messages_reach_their_channel, .min_size = 1},
    {.name = "channels, completions", .run = sends_complete, .min_size = 1},
    {.name = "channels, nobody", .run = nobody_registered, .min_size = 1},
    {.name = "no such channel",
     .run = there_are_no_others,
     .min_size = 1,
     .undisturbed = true,
     .asks_too_much = true},
    {.name = NULL},
};
