/* Saying hello: when it is due again. */
#include <config.h>

#include <btl/sessions/hello.h>
#include <string.h>
#include <tests/lib/unit.h>

static struct endpoint {
    struct btl_peer life;
    struct btl_handshake hello;
} them;
static struct btl_peers peers;
static uint64_t now_us;
static int send_status;
static unsigned sent;

static uint64_t now(void)
{
    return now_us;
}

static int no_key(void *arg, const orte_process_name_t *peer, const char *purpose,
                  uint8_t key[KEY_BYTES])
{
    (void) arg, (void) peer, (void) purpose;
    memset(key, 0, KEY_BYTES);
    return OPAL_SUCCESS;
}

static int count(struct btl_peer *peer, const uint8_t *bytes, size_t size)
{
    (void) peer, (void) bytes, (void) size;
    sent++;
    return send_status;
}

static const struct btl_greeter_ops ops = {
    .format = {.hello_mac = "hello", .token_mac = "token", .key = "key"},
    .handshake_at = offsetof(struct endpoint, hello),
    .send = count,
};
static struct btl_greeter greeter = {.ops = &ops, .peers = &peers, .address.size = 4};

static void setup(int status)
{
    static const struct keel_host_ops host_ops = {.pair_key = no_key};
    static const struct btl_host host = {.ops = &host_ops};
    memset(&them, 0, sizeof(them));
    peers = (struct btl_peers){.clock_us = now, .cards.host = &host};
    list_init(&peers.connecting);
    list_init(&them.life.waiting);
    them.life.peers = &peers;
    them.life.state = PEER_HANDSHAKE;
    them.life.give_up_us = 1000000000;
    now_us = 1000;
    send_status = status;
    sent = 0;
}

START_TEST(one_that_cannot_be_sent_yet_is_not_made_anew_at_once)
{
    setup(OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert(!btl_hello_say(&greeter, &them.life, false));
    ck_assert_uint_eq(sent, 1);
    ck_assert_uint_gt(them.life.wake_us, now_us);
    ck_assert_uint_le(them.life.wake_us, now_us + 1000);
    ck_assert(!list_empty(&peers.connecting));
}
END_TEST

START_TEST(pauses_grow_while_nobody_answers)
{
    uint64_t last_us = 0;
    setup(OPAL_SUCCESS);
    for (unsigned i = 1; i < 8; i++) {
        ck_assert(btl_hello_say(&greeter, &them.life, false));
        ck_assert_uint_eq(sent, i);
        ck_assert_uint_gt(them.life.wake_us - now_us, last_us);
        last_us = them.life.wake_us - now_us;
        now_us = them.life.wake_us;
    }
}
END_TEST

UNIT_MAIN("hello")
