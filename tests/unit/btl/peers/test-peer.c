/* The life of a peer: what each event makes of each state, and its end. */
#include <config.h>

#include <btl/progress/progress.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/peers/wire.h>

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
    btl_progress_end(true);
    btl_peers_end(&peers, &endpoint, 1);
    btl_progress_end(false);
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
