/* The life of a peer, over a transport that only notes what it is told. */
#include <config.h>

#include <base/net/sock.h>
#include <btl/peers/peer.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <tests/lib/unit.h>

struct mca_btl_base_endpoint_t {
    struct btl_peer peer; /* first */
    bool flushed, answered;
};

static struct {
    char did[200]; /* what the transport was told, a word each */
    bool card_here, card_good;
    keel_card_fn done; /* of a question that is open */
    void *done_arg;
    int reports, returns;
    opal_proc_t *reported;
    uint64_t now_us;
    bool retries, elsewhere;
    int polls, ended, asked;
    struct btl_peer *dead; /* its process has ended, as the host is to hear */
} wire;

static struct btl_peers peers;
static int wire_progress(mca_btl_base_module_t *btl);
static struct btl_component component = {.progress = wire_progress};
static mca_btl_base_module_t module = {.btl_component = &component.component};
static opal_proc_t procs[3] = {{.proc_name = {7, 0}}, {.proc_name = {7, 1}}, {.proc_name = {7, 2}}};

static void did(const char *word)
{
    ck_assert_uint_lt(strlen(wire.did) + strlen(word) + 2, sizeof(wire.did));
    strcat(strcat(wire.did, word), " ");
}

static void expect(const char *words)
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

static void host_answer(void)
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

static struct mca_btl_base_endpoint_t *endpoint_of(struct btl_peer *peer)
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

static const struct btl_peer_hooks hooks = {
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

static struct btl_peer *start(bool added)
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

static void stop(void)
{
    wire.reports = 0;
    btl_peers_end_all(&peers);
    btl_peers_fini(&peers);
    btl_watch_peers(NULL, NULL);
    if (wire.done) {
        host_answer(); /* to nobody, whose memory is gone */
    }
}

/* Brings an idle peer to a state. */
static void lead_to(struct btl_peer *peer, enum btl_peer_state state)
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

enum happening {
    WANT,
    CAME,
    UP,
    LEFT,
    FAIL,
    BREAK,
    DIED,
    ADD,
    RESTART,
    RETRY,
    GIVE_UP,
    LEAVES,
    HAPPENINGS
};

static void happen(struct btl_peer *peer, enum happening what)
{
    switch (what) {
    case WANT:
        btl_peer_want(peer);
        break;
    case CAME:
        btl_peer_came(peer);
        break;
    case UP:
        (void) !btl_peer_up(peer, 2);
        break;
    case LEFT:
        btl_peer_left(peer);
        break;
    case FAIL:
        btl_peer_fail(peer, "a test");
        break;
    case BREAK:
        btl_peer_break(peer, OPAL_ERR_TIMEOUT, "a test");
        break;
    case DIED:
        btl_peer_died(&peers, peer);
        break;
    case ADD:
        (void) btl_peer_add(&peers, &procs[1]);
        break;
    case RETRY:
        btl_peer_retry(peer, true);
        break;
    case GIVE_UP:
        btl_peer_retry(peer, false);
        break;
    case LEAVES:
        btl_peer_leaves(peer);
        break;
    default:
        btl_peers_restart(&peers);
    }
}

/* What each event makes of each state, and what the transport is told of it. */
static const struct outcome {
    enum btl_peer_state next;
    const char *told;
} outcomes[PEER_CLOSING + 1][HAPPENINGS] = {
    [PEER_IDLE] = {{PEER_HANDSHAKE, "ask "},
                   {PEER_HANDSHAKE, ""},
                   {PEER_UP, ""},
                   {PEER_IDLE, ""},
                   {PEER_FAILING, ""},
                   {PEER_BROKEN, "cut! "},
                   {PEER_IDLE, ""},
                   {PEER_IDLE, ""},
                   {PEER_IDLE, "cut forget "},
                   {PEER_IDLE, ""},
                   {PEER_IDLE, ""},
                   {PEER_IDLE, ""}},
    [PEER_CARD] = {{PEER_CARD, ""},
                   {PEER_HANDSHAKE, ""},
                   {PEER_UP, ""},
                   {PEER_CARD, ""},
                   {PEER_FAILING, ""},
                   {PEER_BROKEN, "cut! "},
                   {PEER_FAILING, ""},
                   {PEER_CARD, ""},
                   {PEER_IDLE, "cut forget "},
                   {PEER_CARD, ""},
                   {PEER_CARD, ""},
                   {PEER_CARD, ""}},
    [PEER_HANDSHAKE] = {{PEER_HANDSHAKE, ""},
                        {PEER_HANDSHAKE, ""},
                        {PEER_UP, ""},
                        {PEER_IDLE, "cut "},
                        {PEER_FAILING, ""},
                        {PEER_BROKEN, "cut! "},
                        {PEER_FAILING, ""},
                        {PEER_HANDSHAKE, ""},
                        {PEER_IDLE, "cut forget "},
                        {PEER_HANDSHAKE, ""},
                        {PEER_HANDSHAKE, ""},
                        {PEER_HANDSHAKE, ""}},
    [PEER_UP] = {{PEER_UP, ""},
                 {PEER_UP, ""},
                 {PEER_UP, ""},
                 {PEER_IDLE, "cut "},
                 {PEER_FAILING, ""},
                 {PEER_BROKEN, "cut! "},
                 {PEER_FAILING, ""},
                 {PEER_UP, ""},
                 {PEER_IDLE, "cut forget "},
                 {PEER_UP, ""},
                 {PEER_UP, ""},
                 {PEER_LEAVING, ""}},
    [PEER_LEAVING] = {{PEER_LEAVING, ""},
                      {PEER_LEAVING, ""},
                      {PEER_LEAVING, ""},
                      {PEER_IDLE, "cut "},
                      {PEER_FAILING, ""},
                      {PEER_BROKEN, "cut! "},
                      {PEER_LEAVING, ""},
                      {PEER_LEAVING, ""},
                      {PEER_IDLE, "cut forget "},
                      {PEER_LEAVING, ""},
                      {PEER_LEAVING, ""},
                      {PEER_LEAVING, ""}},
    [PEER_FAILING] = {{PEER_FAILING, ""},
                      {PEER_FAILING, ""},
                      {PEER_FAILING, ""},
                      {PEER_FAILING, ""},
                      {PEER_FAILING, ""},
                      {PEER_BROKEN, "cut! "},
                      {PEER_FAILING, ""},
                      {PEER_FAILING, ""},
                      {PEER_IDLE, "cut forget "},
                      {PEER_FAILING, ""},
                      {PEER_FAILING, ""},
                      {PEER_FAILING, ""}},
    [PEER_BROKEN] = {{PEER_BROKEN, ""},
                     {PEER_BROKEN, ""},
                     {PEER_BROKEN, ""},
                     {PEER_BROKEN, ""},
                     {PEER_BROKEN, ""},
                     {PEER_BROKEN, ""},
                     {PEER_BROKEN, ""},
                     {PEER_BROKEN, ""},
                     {PEER_IDLE, "cut forget "},
                     {PEER_RETRYING, "cut "},
                     {PEER_BROKEN, ""},
                     {PEER_BROKEN, ""}},
    [PEER_RETRYING] = {{PEER_RETRYING, ""},
                       {PEER_RETRYING, ""},
                       {PEER_UP, ""},
                       {PEER_RETRYING, ""},
                       {PEER_RETRYING, "cut "},
                       {PEER_RETRYING, "cut "},
                       {PEER_RETRYING, "cut "},
                       {PEER_RETRYING, ""},
                       {PEER_IDLE, "cut forget "},
                       {PEER_RETRYING, ""},
                       {PEER_BROKEN, "cut "},
                       {PEER_RETRYING, ""}},
    [PEER_CLOSING] = {{PEER_CLOSING, ""},
                      {PEER_CLOSING, ""},
                      {PEER_CLOSING, ""},
                      {PEER_CLOSING, ""},
                      {PEER_CLOSING, ""},
                      {PEER_CLOSING, "cut! "},
                      {PEER_CLOSING, ""},
                      {PEER_CLOSING, ""},
                      {PEER_CLOSING, ""},
                      {PEER_CLOSING, ""},
                      {PEER_CLOSING, ""},
                      {PEER_CLOSING, ""}},
};

UNIT_LOOP(each_state_knows_each_event, PEER_IDLE, PEER_CLOSING + 1)
{
    struct btl_peer *peer = start(true);
    lead_to(peer, (enum btl_peer_state) _i);
    for (int what = 0; what < HAPPENINGS; what++) {
        const struct outcome *outcome = &outcomes[_i][what];
        happen(peer, (enum happening) what);
        ck_assert_msg(peer->state == outcome->next && strcmp(wire.did, outcome->told) == 0,
                      "event %d: %s, \"%s\"", what, btl_peer_state_name(peer), wire.did);
        ck_assert_int_eq(wire.reports, what == BREAK && _i < PEER_BROKEN);
        stop();
        peer = start(true);
        lead_to(peer, (enum btl_peer_state) _i);
    }
    stop();
}
END_TEST

START_TEST(progress_connects_and_gives_up)
{
    struct btl_peer *peer = start(true);
    wire.retries = true;
    btl_peer_want(peer);
    expect("ask "); /* nothing of the wire's inside a send */
    ck_assert(btl_peers_busy(&peers));
    for (int i = 0; i < 9; i++, wire.now_us += 5) {
        (void) btl_peers_progress(&peers);
    }
    expect("connect connect connect connect connect ");
    wire.now_us = 100;
    (void) btl_peers_progress(&peers);
    expect("connect cut! ");
    ck_assert_int_eq(peer->state, PEER_BROKEN);
    ck_assert_int_eq(wire.reports, 1);
    ck_assert_ptr_eq(wire.reported, &procs[1]);
    ck_assert(!btl_peers_busy(&peers));
    ck_assert_ptr_null(btl_peer_add(&peers, &procs[1])); /* it lasts until del_procs */
    stop();
}
END_TEST

static bool others_connect(void *arg, const mca_btl_base_module_t *except,
                           const orte_process_name_t *name)
{
    ck_assert_ptr_eq(except, &module);
    ck_assert_uint_eq(name->vpid, 1);
    wire.asked++;
    return *(const bool *) arg;
}

/* A peer that begins to connect, beside another module whose answer others tells. */
static struct btl_peer *start_beside(bool *others)
{
    struct btl_peer *peer = start(true);
    btl_set_owner(&(struct btl_owner){.connects = others_connect, .arg = others});
    wire.retries = true;
    peers.give_way_us = 40;
    btl_peer_want(peer);
    return peer;
}

static void stop_beside(void)
{
    btl_set_owner(NULL);
    stop();
}

/* Connects for some time, and is looked at often. */
static void connect_until(uint64_t now_us)
{
    for (; wire.now_us < now_us; wire.now_us++) {
        (void) btl_peers_progress(&peers);
    }
    wire.did[0] = '\0';
}

START_TEST(one_that_does_not_connect_in_time_is_lost_where_another_module_connects)
{
    bool others = false;
    struct btl_peer *peer = start_beside(&others);
    connect_until(19);
    ck_assert_int_eq(wire.asked, 0);
    connect_until(60);
    ck_assert_int_gt(wire.asked, 0); /* the others have begun to connect */
    ck_assert_int_eq(peer->state, PEER_HANDSHAKE);
    others = true;
    connect_until(75); /* half of the time from then on, and no less */
    ck_assert_int_eq(peer->state, PEER_HANDSHAKE);
    connect_until(85);
    ck_assert_int_eq(peer->state, PEER_BROKEN);
    ck_assert_int_eq(wire.reports, 1);
    btl_peer_retry(peer, true);
    connect_until(85 + 2 * BTL_RETRY_US);
    ck_assert_int_eq(peer->state, PEER_RETRYING); /* it is not taken for lost again */
    ck_assert_int_eq(wire.reports, 1);
    ck_assert(btl_peer_up(peer, 1));
    ck_assert_int_eq(wire.returns, 1);
    stop_beside();
}
END_TEST

START_TEST(what_this_process_computes_is_not_the_time_of_a_handshake)
{
    bool others = true;
    struct btl_peer *peer = start_beside(&others);
    connect_until(3);
    wire.now_us = 90;
    connect_until(94);
    ck_assert_int_eq(peer->state, PEER_HANDSHAKE);
    ck_assert(btl_peer_up(peer, 1)); /* the answer had waited */
    stop_beside();
}
END_TEST

START_TEST(one_that_no_other_module_connects_to_has_the_whole_time_of_a_handshake)
{
    bool others = false;
    struct btl_peer *peer = start_beside(&others);
    connect_until(100);
    ck_assert_int_eq(peer->state, PEER_HANDSHAKE);
    connect_until(120);
    ck_assert_int_eq(peer->state, PEER_BROKEN);
    ck_assert_int_eq(wire.reports, 1);
    stop_beside();
}
END_TEST

START_TEST(the_time_to_connect_is_no_longer_than_that_of_a_silent_peer)
{
    (void) start(true);
    const uint64_t usual_us = peers.give_way_us;
    ck_assert_uint_gt(usual_us, 0);
    btl_peers_limit(&peers, 0); /* none is lost by its silence */
    ck_assert_uint_eq(peers.give_way_us, usual_us);
    btl_peers_limit(&peers, usual_us + 1);
    ck_assert_uint_eq(peers.give_way_us, usual_us);
    btl_peers_limit(&peers, 1000);
    ck_assert_uint_eq(peers.give_way_us, 1000);
    stop();
}
END_TEST

START_TEST(one_that_broke_is_tried_until_it_is_back)
{
    struct btl_peer *peer = start(true);
    lead_to(peer, PEER_UP);
    btl_peer_break(peer, OPAL_ERR_UNREACH, "a test");
    btl_peer_retry(peer, true);
    expect("cut cut ");
    (void) btl_peers_progress(&peers);
    expect(""); /* not at once */
    wire.now_us += BTL_RETRY_US;
    (void) btl_peers_progress(&peers);
    ck_assert_ptr_null(btl_peer_add(&peers, &procs[1]));
    ck_assert(btl_peer_takes(peer));
    btl_peer_break(peer, OPAL_ERR_UNREACH, "an attempt");
    ck_assert_int_eq(wire.reports, 1); /* of the first break alone */
    wire.did[0] = '\0';
    wire.now_us += BTL_RETRY_US;
    (void) btl_peers_progress(&peers);
    ck_assert_int_eq(wire.returns, 0);
    ck_assert(btl_peer_up(peer, 1));
    ck_assert_int_eq(peer->state, PEER_UP);
    ck_assert_int_eq(wire.returns, 1);
    stop();
}
END_TEST

static void set_loopback(bool up)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = up ? IFF_UP : 0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(ioctl(fd, SIOCSIFFLAGS, &request), 0);
    fd_close(&fd);
}

START_TEST(a_link_that_comes_up_is_worth_a_try)
{
    struct btl_peer_hooks over_links = hooks;
    over_links.over_links = true;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
        return; /* not here */
    }
    struct btl_peer *peer = start(true);
    peers.hooks = &over_links;
    lead_to(peer, PEER_UP); /* so that it is located */
    lead_to(peer, PEER_RETRYING);
    wire.retries = true;
    (void) btl_peers_progress(&peers);
    set_loopback(true);
    wire.now_us += LINKWATCH_LOOK_US;
    (void) btl_peers_progress(&peers);
    expect("cut connect cut ");
    set_loopback(false);
    set_loopback(true);
    wire.now_us += LINKWATCH_LOOK_US;
    (void) btl_peers_progress(&peers);
    expect(""); /* a link that flaps makes no storm */
    wire.now_us += LINKWATCH_REST_US;
    (void) btl_peers_progress(&peers);
    expect("cut connect cut ");
    ck_assert(peers.links.open);
    ck_assert(btl_peer_up(peer, 1));
    ck_assert(!peers.links.open);
    stop();
}
END_TEST

START_TEST(one_whose_card_nobody_asked_for_is_asked_for)
{
    struct btl_peer *peer = start(true);
    ck_assert(btl_peer_up(peer, 1)); /* it came by itself */
    btl_peer_break(peer, OPAL_ERR_UNREACH, "a test");
    btl_peer_retry(peer, true);
    wire.did[0] = '\0';
    wire.now_us += BTL_RETRY_US;
    (void) btl_peers_progress(&peers);
    expect("ask ");
    wire.now_us += BTL_RETRY_US;
    (void) btl_peers_progress(&peers);
    expect("connect ");
    stop();
}
END_TEST

START_TEST(a_bad_card_fails_by_progress)
{
    struct btl_peer *peer = start(true);
    wire.card_good = false;
    btl_peer_want(peer);
    ck_assert_int_eq(peer->state, PEER_FAILING);
    expect("ask ");
    ck_assert_int_eq(btl_peers_progress(&peers), 1);
    expect("cut ");
    ck_assert_int_eq(wire.reports, 1);
    stop();
}
END_TEST

/* A late card says that another module reaches it: the choice of rails hears of it, and nobody is
 * told of an error; it is not tried again before a restart. */
START_TEST(one_that_others_reach_drops_out_quietly)
{
    struct btl_peer *peer = start(true);
    wire.elsewhere = true;
    btl_peer_want(peer);
    ck_assert_int_eq(peer->state, PEER_FAILING);
    ck_assert_int_eq(btl_peers_progress(&peers), 1);
    ck_assert_int_eq(peer->state, PEER_BROKEN);
    expect("ask cut ");
    ck_assert_int_eq(wire.reports, 1);
    btl_peer_retry(peer, true);
    ck_assert_int_eq(peer->state, PEER_BROKEN);
    wire.elsewhere = false;
    wire.reports = 0;
    btl_peers_restart(&peers);
    btl_peer_want(peer);
    ck_assert_int_eq(peer->state, PEER_HANDSHAKE);
    stop();
}
END_TEST

START_TEST(a_late_card_finds_a_peer_that_came_or_ended)
{
    struct btl_peer *peer = start(true);
    wire.card_here = false;
    btl_peer_want(peer);
    ck_assert(btl_peer_up(peer, 4));
    host_answer();
    ck_assert_int_eq(peer->state, PEER_UP);
    ck_assert_uint_eq(peer->incarnation, 4);
    ck_assert(peer->located);
    stop();
    peer = start(true);
    wire.card_here = false;
    btl_peer_want(peer);
    stop();
    ck_assert_ptr_null(wire.done);
}
END_TEST

START_TEST(one_that_came_by_itself_may_come_again_and_be_added)
{
    bool again;
    struct btl_peer *peer = start(false);
    ck_assert(btl_peer_takes(peer));
    ck_assert(btl_peer_up(peer, 1));
    btl_peer_break(peer, OPAL_ERR_UNREACH, "a test");
    ck_assert_ptr_null(wire.reported);
    ck_assert_ptr_eq(btl_peer_meet(&peers, &procs[1].proc_name, &again), peer);
    ck_assert(btl_peer_takes(peer));
    ck_assert_int_eq(peer->state, PEER_IDLE);
    wire.reports = 0;
    btl_peer_break(peer, OPAL_ERR_UNREACH, "a test");
    ck_assert_ptr_eq(btl_peer_add(&peers, &procs[1]), peer);
    ck_assert_int_eq(peer->state, PEER_IDLE);
    ck_assert_ptr_eq(peer->proc, &procs[1]);
    wire.reports = 0;
    btl_peer_break(peer, OPAL_ERR_UNREACH, "a test");
    ck_assert(!btl_peer_takes(peer)); /* it was added */
    stop();
}
END_TEST

START_TEST(a_restart_ends_those_that_nobody_added)
{
    struct btl_peer *peer = start(false);
    ck_assert(btl_peer_up(peer, 1));
    btl_peers_restart(&peers);
    expect("cut end ");
    ck_assert(list_empty(&peers.used));
    ck_assert_int_eq(wire.reports, 0);
    stop();
}
END_TEST

START_TEST(many_close_at_the_same_time_and_nobody_waits_for_ever)
{
    struct btl_peer *one = start(true);
    struct btl_peer *two = btl_peer_add(&peers, &procs[2]);
    struct mca_btl_base_endpoint_t *endpoints[] = {endpoint_of(one), endpoint_of(two)};
    btl_peer_activate(&peers, two);
    for (int i = 0; i < 2; i++) {
        endpoints[i]->flushed = endpoints[i]->answered = false; /* two never is */
    }
    wire.did[0] = '\0';
    btl_peers_end(&peers, endpoints, 2);
    expect("leave leave bye bye cut end cut end ");
    ck_assert_uint_ge(wire.now_us, 2000); /* two's flush, and its answer */
    ck_assert_uint_le(wire.now_us, 2020);
    ck_assert_ptr_null(roster_find(peers.roster, &procs[1].proc_name));
    stop();
}
END_TEST

UNIT_LOOP(an_end_waits_no_longer_for_one_of_whose_death_the_host_hears, 0, 2)
{
    struct btl_peer *peer = start(true);
    struct mca_btl_base_endpoint_t *endpoint = endpoint_of(peer);
    lead_to(peer, PEER_UP);
    peer->name.vpid = 2; /* who never answers */
    endpoint->flushed = _i == 1;
    endpoint->answered = false;
    wire.dead = peer;
    peers.closing = true; /* as in finalize: nothing is reported */
    btl_peers_end(&peers, &endpoint, 1);
    expect(_i == 1 ? "leave bye cut cut end " : "cut leave bye cut end ");
    ck_assert_uint_le(wire.now_us, 100);
    stop();
}
END_TEST

/* It is told no last word. */
START_TEST(one_that_fails_is_cut_before_it_closes)
{
    struct btl_peer *peer = start(true);
    lead_to(peer, PEER_FAILING);
    btl_peer_close(peer);
    ck_assert_int_eq(peer->state, PEER_CLOSING);
    btl_peers_progress(&peers);
    expect("cut ");
    ck_assert_int_eq(peer->state, PEER_CLOSING);
    ck_assert_int_eq(wire.reports, 0);
    stop();
}
END_TEST

START_TEST(one_that_breaks_while_it_closes_is_cut_and_waited_for_no_more)
{
    struct btl_peer *peer = start(true);
    lead_to(peer, PEER_CLOSING);
    btl_peer_fail(peer, "a test");
    expect(""); /* nothing calls back in here */
    ck_assert(btl_peers_busy(&peers));
    ck_assert_int_eq(btl_peers_progress(&peers), 1);
    expect("cut ");
    ck_assert_int_eq(peer->state, PEER_CLOSING);
    ck_assert_int_eq(wire.reports, 0);
    ck_assert(!btl_peers_busy(&peers));
    btl_peer_end(peer);
    expect("cut end ");
    stop();
}
END_TEST

START_TEST(one_that_was_never_used_just_goes)
{
    (void) start(true);
    struct btl_peer *unused = btl_peer_add(&peers, &procs[2]);
    struct mca_btl_base_endpoint_t *endpoint = endpoint_of(unused);
    ck_assert_ptr_null(unused->peers);
    btl_peer_died(&peers, unused);
    btl_peers_end(&peers, &endpoint, 1);
    expect("");
    ck_assert_ptr_null(roster_find(peers.roster, &procs[2].proc_name));
    stop();
}
END_TEST

UNIT_MAIN("peer")
