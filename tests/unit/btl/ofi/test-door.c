/* What comes in at an ofi endpoint from whoever can send to it: rank 1 is a bare endpoint of the
 * provider's without a module, and rank 0 a module that has to stay sound. */
#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/ofi/provider/fabric.h>
#include <btl/ofi/wire/card.h>
#include <btl/ofi/wire/wire.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/minihost.h>
#include <tests/lib/unit.h>

#include <btl/interface/base.h>

static const struct btl_hello_format format = OFI_HELLO_FORMAT;
enum { TAG = 9, BUFFER = 1 << 17 };

static unsigned long delivered;
static unsigned char last[64];

#define must minihost_must

/* ---- the stranger ---- */

struct stranger {
    struct minihost *host;
    struct fabric fabric;
    fi_addr_t module;
    uint8_t key[KEY_BYTES];
    struct btl_hello hello; /* what an honest peer would say */
    uint8_t *received;
    struct fi_context2 receive;
    size_t received_size; /* 0: nothing yet */
};

static void receive_post(struct stranger *stranger)
{
    stranger->received_size = 0;
    must(stranger->host, fi_recv(stranger->fabric.ep, stranger->received, BUFFER, NULL,
                                 FI_ADDR_UNSPEC, &stranger->receive) == 0);
}

static void stranger_poll(struct stranger *stranger)
{
    struct fi_cq_msg_entry entry;

    minihost_check(stranger->host);
    if (fi_cq_read(stranger->fabric.cq, &entry, 1) == 1 && entry.op_context == &stranger->receive) {
        stranger->received_size = entry.len;
    }
}

static void card_taken(void *arg, int status, const void *data, size_t size)
{
    struct stranger *stranger = arg;
    struct ofi_card card;

    must(stranger->host, status == OPAL_SUCCESS);
    must(stranger->host, ofi_card_decode(&card, data, size) == OPAL_SUCCESS);
    must(stranger->host,
         fi_av_insert(stranger->fabric.av, card.address.bytes, 1, &stranger->module, 0, NULL) == 1);
}

static void stranger_open(struct stranger *stranger, struct minihost *host)
{
    const struct fabric_wanted wanted = {
        .provider = "shm", .domain = "", .address = "", .receives = 8};
    char reason[300] = "";
    const opal_proc_t *peer = &host->procs[0];

    *stranger = (struct stranger){.host = host, .received = malloc(BUFFER)};
    if (ofi_fabric_open(&stranger->fabric, &wanted, reason, sizeof(reason)) != ORTE_SUCCESS) {
        minihost_fail(host, "%s", reason);
    }
    minihost_ops.get_card(host, peer, "btl.ofi", card_taken, stranger);
    must(host, minihost_ops.pair_key(host, &peer->proc_name, "btl.ofi", stranger->key) == 0);
    stranger->hello = (struct btl_hello){
        .index = 77,
        .max_message = 65536,
        .from = host->procs[1].proc_name,
        .to = peer->proc_name,
        .epoch = 1000,
        .address = stranger->fabric.address,
    };
    receive_post(stranger);
}

static void stranger_close(struct stranger *stranger)
{
    fabric_close(&stranger->fabric);
    free(stranger->received);
}

static void say(struct stranger *stranger, const void *bytes, size_t size)
{
    ssize_t rc;

    do {
        rc = fi_inject(stranger->fabric.ep, bytes, size, stranger->module);
        stranger_poll(stranger);
    } while (rc == -FI_EAGAIN);
    must(stranger->host, rc == 0);
}

static void say_hello(struct stranger *stranger, const struct btl_hello *hello, const uint8_t *key)
{
    uint8_t bytes[BTL_HELLO_MAX];

    say(stranger, bytes, btl_hello_encode(&format, bytes, hello, key));
}

/* The module's next hello. False: none came in time. */
static bool hear_hello(struct stranger *stranger, struct btl_hello *hello, uint64_t time_us)
{
    uint64_t end = clock_us() + time_us;

    while (stranger->received_size == 0 && clock_us() < end) {
        stranger_poll(stranger);
    }
    bool heard = stranger->received_size > 0;
    if (heard) {
        must(stranger->host, btl_hello_decode(&format, hello, stranger->received,
                                              stranger->received_size) == OPAL_SUCCESS);
        must(stranger->host, btl_hello_check(&format, stranger->received, stranger->received_size,
                                             stranger->key) == OPAL_SUCCESS);
        receive_post(stranger);
    }
    return heard;
}

static void say_frame(struct stranger *stranger, struct ofi_header header, const char *text)
{
    uint8_t frame[OFI_HEADER_BYTES + 64];

    ofi_header_encode(frame, &header);
    memcpy(frame + OFI_HEADER_BYTES, text, strlen(text));
    say(stranger, frame, OFI_HEADER_BYTES + strlen(text));
}

/* Garbage, headers without a session, hellos with a wrong key, of somebody else, of nobody. */
static void say_lies(struct stranger *stranger)
{
    uint8_t bytes[600];
    struct btl_hello lie = stranger->hello, answer;

    srand(11);
    for (int round = 0; round < 500; round++) {
        for (size_t i = 0; i < sizeof(bytes); i++) {
            bytes[i] = (uint8_t) rand();
        }
        bytes[0] = (uint8_t) (rand() % 7);
        say(stranger, bytes, (size_t) rand() % sizeof(bytes));
    }
    for (uint8_t kind = 0; kind < 6; kind++) {
        say_frame(stranger, (struct ofi_header){.kind = kind, .tag = TAG}, "no session");
    }
    uint8_t wrong[KEY_BYTES] = {1};
    say_hello(stranger, &lie, wrong);
    lie.to.vpid = 7;
    say_hello(stranger, &lie, stranger->key);
    lie = stranger->hello;
    lie.from.vpid = 0;
    say_hello(stranger, &lie, stranger->key);
    lie.from.vpid = 99999;
    say_hello(stranger, &lie, stranger->key);
    lie = stranger->hello;
    memset(lie.address.bytes, 'x', lie.address.size);
    say_hello(stranger, &lie, stranger->key);
    must(stranger->host, !hear_hello(stranger, &answer, 200000));
}

/* The three hellos of an honest peer; returns the header of its first frame. */
static struct ofi_header greet(struct stranger *stranger)
{
    struct btl_hello answer = {0};

    say_hello(stranger, &stranger->hello, stranger->key);
    must(stranger->host, hear_hello(stranger, &answer, 15000000));
    must(stranger->host, answer.echo == stranger->hello.epoch && answer.epoch > 0);
    stranger->hello.echo = answer.epoch;
    say_hello(stranger, &stranger->hello, stranger->key);
    return (struct ofi_header){
        .kind = OFI_AM,
        .tag = TAG,
        .index = answer.index,
        .token = btl_hello_token(&format, stranger->key, &stranger->hello.from, &stranger->hello.to,
                                 stranger->hello.epoch, answer.epoch),
    };
}

static void be_stranger(struct minihost *host)
{
    struct stranger stranger;

    minihost_barrier(host, NULL); /* the card is there */
    stranger_open(&stranger, host);
    say_lies(&stranger);
    struct ofi_header header = greet(&stranger), wrong = header;
    say_frame(&stranger, header, "first");
    wrong.sequence = 1;
    wrong.token ^= 1;
    say_frame(&stranger, wrong, "wrong token");
    wrong = header;
    wrong.index++;
    wrong.sequence = 1;
    say_frame(&stranger, wrong, "wrong index");
    say_frame(&stranger, header, "again"); /* its sequence is over */
    wrong = header;
    wrong.sequence = 30000;
    say_frame(&stranger, wrong, "far ahead");
    header.sequence = 2;
    say_frame(&stranger, header, "third");
    header.sequence = 1;
    say_frame(&stranger, header, "second");
    /* An old hello, and the present one again: neither changes the session. */
    struct btl_hello old = stranger.hello;
    old.epoch = 900;
    old.echo = 0;
    say_hello(&stranger, &old, stranger.key);
    say_hello(&stranger, &stranger.hello, stranger.key);
    header.sequence = 3;
    say_frame(&stranger, header, "fourth");
    /* A framework frame that is none ends this peer only. */
    header.sequence = 4;
    header.channel = BTL_CHANNEL_RDMA;
    say_frame(&stranger, header, "nonsense");
    header.channel = 0;
    header.sequence = 5;
    say_frame(&stranger, header, "after the end");
    minihost_barrier(host, NULL);
    stranger_close(&stranger);
    minihost_barrier(host, NULL);
}

/* ---- the module ---- */

static void deliver(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                    mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) cbdata;
    static const char *const wanted[] = {"first", "second", "third", "fourth"};
    struct minihost *host = cbdata;

    must(host, delivered < 4 && descriptor->des_segment_count == 1);
    must(host, descriptor->des_segments[0].seg_len == strlen(wanted[delivered]));
    memcpy(last, descriptor->des_segments[0].seg_addr.pval, descriptor->des_segments[0].seg_len);
    must(host, memcmp(last, wanted[delivered], strlen(wanted[delivered])) == 0);
    delivered++;
}

static int all_progress(void)
{
    return btl_progress();
}

static void be_module(struct minihost *host)
{
    char reason[256] = "";
    size_t count;

    must(host, param_override("btl", "ofi") == ORTE_SUCCESS);
    must(host, param_override("btl_ofi_provider", "shm") == ORTE_SUCCESS);
    if (btl_open(&minihost_ops, host, reason, sizeof(reason)) != ORTE_SUCCESS) {
        minihost_fail(host, "%s", reason);
    }
    mca_btl_base_module_t *btl = btl_modules(&count)[0];
    must(host, btl->btl_register(btl, TAG, deliver, host) == OPAL_SUCCESS);
    minihost_barrier(host, NULL);
    minihost_barrier(host, all_progress);
    for (int i = 0; i < 2000; i++) {
        btl_progress();
    }
    must(host, delivered == 4);
    minihost_barrier(host, NULL);
    btl_close();
}

static int run_rank(struct minihost *host, void *arg)
{
    (void) arg;
    if (host->rank == 0) {
        be_module(host);
    } else {
        be_stranger(host);
    }
    return 0;
}

START_TEST(strangers_and_liars_do_no_harm)
{
    struct minihost_options options = {.size = 2, .timeout_ms = 25000};
    char reason[512] = "";

    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    ck_assert_msg(minihost_run(&options, run_rank, NULL, reason, sizeof(reason)), "%s", reason);
}
END_TEST

UNIT_MAIN("ofi-door")
