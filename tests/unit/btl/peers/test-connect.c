/* How peers connect: handshakes and their time, attempts to bring one back, cards. */
#include <config.h>

#include <base/net/sock.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/peers/wire.h>

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

UNIT_MAIN("connect")
