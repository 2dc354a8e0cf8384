#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/peers/wire.h>

struct wire wire;
struct btl_peers peers;
static int wire_progress(mca_btl_base_module_t *btl);
static struct btl_component component = {.progress = wire_progress};
mca_btl_base_module_t module = {.btl_component = &component.component};
opal_proc_t procs[3] = {{.proc_name = {7, 0}}, {.proc_name = {7, 1}}, {.proc_name = {7, 2}}};

static void did(const char *word)
{
    ck_assert_uint_lt(strlen(wire.did) + strlen(word) + 2, sizeof(wire.did));
    strcat(strcat(wire.did, word), " ");
}

void expect(const char *words)
{
    ck_assert_str_eq(wire.did, words);
    wire.did[0] = '\0';
}

/* ---- the host ---- */

static const opal_proc_t *host_me(void *arg)
{
    (void) arg;
    return &procs[0];
}

void host_answer(void)
{
    keel_card_fn done = wire.done;
    wire.done = NULL;
    done(wire.done_arg, OPAL_SUCCESS, wire.card_good ? "good" : "evil", 4);
}

static void host_get_card(void *arg, const opal_proc_t *peer, const char *key, keel_card_fn done,
                          void *done_arg)
{
    (void) arg;
    ck_assert_str_eq(key, "btl.wire");
    ck_assert_uint_ne(peer->proc_name.vpid, 0);
    did("ask");
    wire.done = done;
    wire.done_arg = done_arg;
    if (wire.card_here) {
        host_answer();
    }
}

static int host_progress(void *arg)
{
    struct btl_peer *dead = wire.dead;
    (void) arg;
    if (dead && wire.polls >= 5) {
        wire.dead = NULL;
        btl_peer_died(&peers, dead);
    }
    return dead && !wire.dead;
}

static const struct keel_host_ops host_ops = {
    .me = host_me, .get_card = host_get_card, .progress = host_progress};

/* ---- the transport ---- */

struct mca_btl_base_endpoint_t *endpoint_of(struct btl_peer *peer)
{
    return (struct mca_btl_base_endpoint_t *) (void *) peer;
}

static void wire_begin(struct btl_peer *peer)
{
    endpoint_of(peer)->flushed = endpoint_of(peer)->answered = true;
    did("begin");
}

static int wire_judge(void *arg, const void *data, size_t size)
{
    (void) arg;
    if (wire.elsewhere) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    return size == 4 && memcmp(data, "good", 4) == 0 ? OPAL_SUCCESS : OPAL_ERR_UNREACH;
}

static int wire_locate(struct btl_peer *peer, const void *data, size_t size)
{
    return wire_judge(peer, data, size);
}

static void wire_connect(struct btl_peer *peer)
{
    did("connect");
    if (wire.retries && wire.now_us < peer->give_up_us) {
        btl_peer_wait(peer, wire.now_us + 10);
    } else if (wire.retries) {
        btl_peer_break(peer, OPAL_ERR_TIMEOUT, "no answer");
    }
}

static void wire_cut(struct btl_peer *peer, int status)
{
    endpoint_of(peer)->flushed = endpoint_of(peer)->answered = true;
    did(status == OPAL_ERR_UNREACH ? "cut" : "cut!");
    ck_assert(wire.reports == 0 || peer->state == PEER_RETRYING); /* it comes after all callbacks */
}

static void wire_forget(struct btl_peer *peer)
{
    (void) peer;
    did("forget");
}

static void wire_end(struct btl_peer *peer)
{
    did("end");
    wire.ended++;
    btl_peer_free(peer);
}

static bool wire_is_flushed(struct btl_peer *peer)
{
    return endpoint_of(peer)->flushed;
}

static void wire_leave(struct btl_peer *peer)
{
    ck_assert_int_eq(peer->state, PEER_CLOSING);
    did("leave");
}

static bool wire_say_bye(struct btl_peer *peer)
{
    (void) peer;
    did("bye");
    return true;
}

static bool wire_is_answered(struct btl_peer *peer)
{
    return endpoint_of(peer)->answered;
}

static int wire_progress(mca_btl_base_module_t *btl)
{
    struct btl_peer *peer;
    ck_assert_ptr_eq(btl, &module);
    ck_assert_int_eq(btl_progress(), 0); /* a callback's */
    wire.polls++;
    wire.now_us += 10;
    list_for_each (peer, &peers.used, struct btl_peer, link) {
        bool *flag =
            endpoint_of(peer)->flushed ? &endpoint_of(peer)->answered : &endpoint_of(peer)->flushed;
        *flag = *flag || (wire.polls % 3 == 0 && peer->name.vpid == 1);
    }
    return 1 + btl_peers_progress(&peers);
}

const struct btl_peer_hooks hooks = {
    .begin = wire_begin,
    .judge = wire_judge,
    .locate = wire_locate,
    .connect = wire_connect,
    .cut = wire_cut,
    .forget = wire_forget,
    .end = wire_end,
    .is_flushed = wire_is_flushed,
    .leave = wire_leave,
    .say_bye = wire_say_bye,
    .is_answered = wire_is_answered,
};

static uint64_t wire_clock(void)
{
    return wire.now_us;
}

static void changed(void *arg, mca_btl_base_module_t *btl, opal_proc_t *proc, bool back)
{
    (void) arg, (void) btl;
    wire.reports += !back;
    wire.returns += back;
    wire.reported = proc;
}

struct btl_peer *start(bool added)
{
    memset(&wire, 0, sizeof(wire));
    wire.card_here = wire.card_good = true;
    ((struct btl_host *) (uintptr_t) btl_host())->ops = &host_ops;
    ck_assert_int_eq(
        btl_peers_init(&peers, &hooks, &module, "wire", sizeof(struct mca_btl_base_endpoint_t)),
        OPAL_SUCCESS);
    peers.clock_us = wire_clock;
    peers.handshake_us = 100;
    peers.flush_us = 1000;
    btl_watch_peers(changed, NULL);
    bool again;
    struct btl_peer *peer = added ? btl_peer_add(&peers, &procs[1])
                                  : btl_peer_meet(&peers, &procs[1].proc_name, &again);
    ck_assert_ptr_nonnull(peer);
    btl_peer_activate(&peers, peer);
    expect("begin ");
    return peer;
}

void stop(void)
{
    wire.reports = 0;
    btl_peers_end_all(&peers);
    btl_peers_fini(&peers);
    btl_watch_peers(NULL, NULL);
    if (wire.done) {
        host_answer(); /* to nobody, whose memory is gone */
    }
}

void lead_to(struct btl_peer *peer, enum btl_peer_state state)
{
    wire.card_here = state != PEER_CARD;
    if (state >= PEER_CARD && state <= PEER_FAILING) {
        btl_peer_want(peer);
    }
    if (state >= PEER_UP && state <= PEER_FAILING) {
        ck_assert(btl_peer_up(peer, 1));
    }
    if (state == PEER_LEAVING) {
        btl_peer_leaves(peer);
    } else if (state == PEER_FAILING) {
        btl_peer_fail(peer, "a test");
    } else if (state == PEER_BROKEN || state == PEER_RETRYING) {
        btl_peer_break(peer, OPAL_ERR_UNREACH, "a test");
    }
    if (state == PEER_RETRYING) {
        btl_peer_retry(peer, true);
    } else if (state == PEER_CLOSING) {
        btl_peer_close(peer);
    }
    ck_assert_int_eq(peer->state, state);
    wire.did[0] = '\0';
    wire.reports = 0;
}
