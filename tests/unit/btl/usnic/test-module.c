/* A module on the loopback interface: its engine and its control frames have the sockets that they
 * need. */
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/usnic/usnic_control.h>
#include <btl/usnic/usnic_path.h>
#include <btl/usnic/usnic_receive.h>
#include <btl/usnic/usnic_send.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { BUFFERS = 16 /* of a socket */, LIMIT_US = 10000000 };

static opal_proc_t proc = {.proc_name = {.jobid = 1, .vpid = 0}, .hostname = "here"};

static const opal_proc_t *me(void *host)
{
    (void) host;
    return &proc;
}

static int put_card(void *host, const char *key, const void *data, size_t size)
{
    (void) host, (void) key, (void) data, (void) size;
    return OPAL_SUCCESS;
}

static const struct keel_host_ops ops = {.me = me, .put_card = put_card};

static struct usnic_module *module_open(int sockets)
{
    char reason[300] = "", channels[] = {(char) ('0' + sockets), '\0'};
    size_t count;

    ck_assert_int_eq(param_override("btl", "usnic"), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("btl_usnic_if_include", "lo"), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("btl_usnic_channels", channels), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("btl_usnic_rx_buffers", "16"), ORTE_SUCCESS);
    ck_assert_msg(btl_open(&ops, NULL, reason, sizeof(reason)) == ORTE_SUCCESS, "%s", reason);
    struct usnic_module *usnic = usnic_of(btl_modules(&count)[0]);
    ck_assert_uint_eq(usnic->port.sockets, (size_t) sockets);
    return usnic;
}

/* Whether a packet in this receive buffer is kept. */
static bool is_kept(struct usnic_module *usnic, struct usnic_flow *flow, struct usnic_rx *rx,
                    uint32_t sequence)
{
    const struct usnic_header header = {
        .kind = USNIC_PACKET, .sequence = sequence, .delay = USNIC_NO_ECHO, .length = 8};

    usnic_header_encode(rx->super.bytes, &header);
    rx->packet.data = rx->super.bytes;
    rx->packet.size = USNIC_HEADER_BYTES + 8;
    return usnic_flow_received(&usnic->engine, flow, &rx->packet, usnic->now_us);
}

/* Resends go by the data socket: if early packets took all of its buffers, the one that they wait
 * for would never come. */
UNIT_LOOP(early_packets_leave_each_socket_half_of_its_buffers, 1, USNIC_SOCKETS + 1)
{
    struct usnic_module *usnic = module_open(_i);
    const struct usnic_flow_params params = {.mtu = USNIC_SMALL_PACKET};
    struct usnic_flow flow;
    size_t kept = 0;

    usnic_flow_open(&usnic->engine, &flow, &params, usnic->now_us);
    for (uint32_t i = 0; i < BUFFERS; i++) {
        struct fabric_rx *rx = fabric_receive_at(&usnic->port.receives[USNIC_SOCKET_DATA], i);
        kept += is_kept(usnic, &flow, (struct usnic_rx *) (void *) rx, i + 1);
    }
    ck_assert_uint_eq(kept, BUFFERS / 2);
    usnic_flow_close(&usnic->engine, &flow);
    btl_close();
}
END_TEST

/* The socket that the next packet comes to. */
static enum usnic_socket next_socket(struct usnic_module *usnic)
{
    uint64_t give_up_us = clock_us() + LIMIT_US;

    while (usnic_port_poll(&usnic->port, 1) == 0) {
        ck_assert_uint_lt(clock_us(), give_up_us);
    }
    return usnic->port.found[USNIC_SOCKET_PRIORITY] ? USNIC_SOCKET_PRIORITY : USNIC_SOCKET_DATA;
}

START_TEST(control_frames_go_by_the_second_socket)
{
    struct usnic_module *usnic = module_open(2);
    struct usnic_place me = usnic_card_place(&usnic->process->card, 0);
    static usnic_endpoint myself;

    myself.usnic = usnic;
    ck_assert_int_eq(usnic_port_locate(&usnic->port, &myself.way, &me), OPAL_SUCCESS);
    usnic_say_here(&myself);
    ck_assert_int_eq(next_socket(usnic), USNIC_SOCKET_PRIORITY);
    usnic_say_probe(&myself, USNIC_SMALL_PACKET); /* it is compared with large ones */
    ck_assert_int_eq(next_socket(usnic), USNIC_SOCKET_DATA);
    usnic_say_probe(&myself, usnic->port.packet_bytes);
    ck_assert_int_eq(next_socket(usnic), USNIC_SOCKET_DATA);
    usnic_port_forget(&usnic->port, &myself.way);
    btl_close();
}
END_TEST

/* Over udp unless it is told otherwise, and nowhere else unless it is told so. */
UNIT_LOOP(the_provider_decides_on_checksums, 0, 5)
{
    static const char *const settings[] = {"auto", "no", "off", "yes", "1"};
    const enum usnic_sum sum = _i == 0 ? SUM_AUTO : _i < 3 ? SUM_OFF : SUM_ON;

    ck_assert_int_eq(param_override("btl_usnic_checksum", settings[_i]), ORTE_SUCCESS);
    ck_assert(module_open(1)->params.checksum == (sum != SUM_OFF));
    btl_close();
    ck_assert(usnic_checksum_of(sum, "udp") == (sum != SUM_OFF));
    ck_assert(usnic_checksum_of(sum, "verbs") == (sum == SUM_ON));
}
END_TEST

/* A peer with a session, whose way leads back to this module, which is a stranger there. */
static usnic_endpoint *peer_up(struct usnic_module *usnic)
{
    static opal_proc_t other = {.proc_name = {.jobid = 1, .vpid = 1}, .hostname = "here"};
    const struct usnic_flow_params params = {.mtu = USNIC_SMALL_PACKET};
    struct usnic_place me_there = usnic_card_place(&usnic->process->card, 0);
    bool again;
    struct btl_peer *life = btl_peer_meet(&usnic->peers, &other.proc_name, &again);
    usnic_endpoint *peer = usnic_endpoint_of(life);

    life->proc = &other;
    ck_assert_int_eq(usnic_port_locate(&usnic->port, &peer->way, &me_there), OPAL_SUCCESS);
    usnic_flow_open(&usnic->engine, &peer->flow, &params, usnic_clock(usnic));
    peer->flows = true;
    ck_assert(btl_peer_up(life, 1));
    return peer;
}

static int ended_with = 1;

static void ended(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                  mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint, (void) descriptor;
    ended_with = status;
}

/* More than may be under way. */
static void send_much(struct usnic_module *usnic, usnic_endpoint *peer)
{
    mca_btl_base_module_t *btl = &usnic->super;
    mca_btl_base_descriptor_t *descriptor =
        btl->btl_alloc(btl, peer, MCA_BTL_NO_ORDER, btl->btl_max_send_size,
                       MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK);

    ck_assert_ptr_nonnull(descriptor);
    memset(descriptor->des_segments[0].seg_addr.pval, 0, btl->btl_max_send_size);
    descriptor->des_cbfunc = ended;
    ck_assert_int_eq(btl->btl_send(btl, peer, descriptor, 1), OPAL_SUCCESS);
    ck_assert_int_eq(ended_with, 1);
}

static int word_send(struct usnic_module *usnic, usnic_endpoint *peer)
{
    uint64_t word = 0;

    return usnic->super.btl_sendi(&usnic->super, peer, NULL, &word, sizeof(word), 0,
                                  MCA_BTL_NO_ORDER, 0, 1, NULL);
}

/* What was sent before it left has time to come, and new messages wait for another session. What it
 * has not acknowledged in time fails, and so does the peer. */
UNIT_LOOP(a_peer_that_leaves_gets_what_was_sent_before, 0, 2)
{
    struct usnic_module *usnic = module_open(1);
    usnic_endpoint *peer = peer_up(usnic);

    ck_assert_int_eq(word_send(usnic, peer), OPAL_SUCCESS);
    ck_assert(!usnic_flow_is_flushed(&peer->flow));
    if (_i) {
        send_much(usnic, peer);
    }
    usnic_bye_received(peer);
    usnic_ends_progress(usnic);
    ck_assert_int_eq(peer->life.state, PEER_LEAVING);
    ck_assert(!peer->end.said);
    ck_assert_int_eq(ended_with, 1);
    ck_assert_int_eq(word_send(usnic, peer), OPAL_ERR_OUT_OF_RESOURCE);
    peer->end.give_up_us = usnic->now_us;
    usnic_ends_progress(usnic);
    ck_assert_int_eq(peer->life.state, PEER_BROKEN);
    ck_assert_int_eq(ended_with, _i ? OPAL_ERR_UNREACH : 1);
    btl_close();
}
END_TEST

/* 0: the answer is acknowledged by OVER; 1: it never is. */
UNIT_LOOP(a_peer_that_leaves_amid_nothing_is_answered, 0, 2)
{
    struct usnic_module *usnic = module_open(1);
    usnic_endpoint *peer = peer_up(usnic);

    usnic_bye_received(peer);
    usnic_ends_progress(usnic);
    ck_assert(peer->end.said);
    usnic_ends_progress(usnic);
    ck_assert_int_eq(peer->life.state, PEER_LEAVING);
    if (_i == 0) {
        usnic_over_received(peer);
    } else {
        peer->end.give_up_us = usnic->now_us;
        usnic_ends_progress(usnic);
    }
    ck_assert_int_eq(peer->life.state, PEER_IDLE);
    ck_assert(!peer->flows);
    btl_close();
}
END_TEST

static void note_loss(void *arg, enum log_level level, const char *line)
{
    if (level == LOG_WARN &&
        strstr(line, "[[0,1],1]: 2 messages (16 bytes) were not acknowledged") &&
        strstr(line, "btl_usnic_flush_timeout_ms")) {
        ++*(int *) arg;
    }
}

/* 0: its process has ended, as the host knows; 1: it does not look. */
UNIT_LOOP(what_an_end_gives_up_is_told, 0, 2)
{
    struct usnic_module *usnic = module_open(1);
    usnic_endpoint *peer = peer_up(usnic);
    int told = 0;

    usnic->peers.flush_us = 1000;
    ck_assert_int_eq(word_send(usnic, peer), OPAL_SUCCESS);
    ck_assert_int_eq(word_send(usnic, peer), OPAL_SUCCESS);
    if (_i == 0) {
        btl_proc_ended(&peer->life.name);
    }
    log_set_sink(note_loss, &told);
    btl_close();
    log_set_sink(NULL, NULL);
    ck_assert_int_eq(told, _i);
}
END_TEST

static void note_nothing_passes(void *arg, enum log_level level, const char *line)
{
    *(int *) arg += level == LOG_WARN && strstr(line, "nothing passes") != NULL;
}

/* 0: the session is half open, as a replayed hello leaves it; 1: the peer has been there. */
UNIT_LOOP(only_the_path_to_a_peer_that_was_there_is_told, 0, 2)
{
    struct usnic_module *usnic = module_open(1);
    usnic_endpoint *peer = peer_up(usnic);
    uint64_t give_up_us = clock_us() + LIMIT_US;
    int told = 0;

    peer->hello.session.proven = _i == 1;
    usnic->params.peer_us = 20000;
    log_set_sink(note_nothing_passes, &told);
    usnic_path_begin(peer);
    while (peer->check.verdict != CHECK_NOTHING && clock_us() < give_up_us) {
        usnic_progress(&usnic->super);
    }
    log_set_sink(NULL, NULL);
    ck_assert_int_eq(peer->check.verdict, CHECK_NOTHING);
    ck_assert_int_eq(told, _i);
    btl_close();
}
END_TEST

/* What was not answered while the session was half open is no verdict on its path. */
START_TEST(a_path_that_opens_is_not_called_closed)
{
    struct usnic_module *usnic = module_open(1);
    usnic_endpoint *peer = peer_up(usnic);
    uint64_t give_up_us = clock_us() + LIMIT_US;
    int told = 0;

    peer->hello.session.proven = false;
    usnic->params.peer_us = 20000;
    log_set_sink(note_nothing_passes, &told);
    usnic_path_begin(peer);
    while (peer->check.verdict != CHECK_NOTHING && clock_us() < give_up_us) {
        usnic_progress(&usnic->super);
    }
    peer->hello.session.proven = true;
    usnic_progress(&usnic->super);
    ck_assert_int_eq(told, 0);
    ck_assert_int_eq(peer->check.verdict, CHECK_OPEN);
    while (told == 0 && clock_us() < give_up_us) {
        usnic_progress(&usnic->super);
    }
    log_set_sink(NULL, NULL);
    ck_assert_int_eq(told, 1);
    btl_close();
}
END_TEST

/* The session ends amid the check. 0: nothing has been answered; 1: a small probe has. */
UNIT_LOOP(the_map_has_only_sizes_that_passed, 0, 2)
{
    struct usnic_module *usnic = module_open(1);
    usnic_endpoint *peer = peer_up(usnic);
    char path[] = "/tmp/keel-test-map-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    usnic->params.map = path;
    usnic_path_begin(peer);
    if (_i == 1) {
        usnic_path_answered(peer, USNIC_SMALL_PACKET);
    }
    usnic_path_end(peer);
    ck_assert((lseek(fd, 0, SEEK_END) > 0) == (_i == 1));
    close(fd);
    unlink(path);
    btl_close();
}
END_TEST

static void rdma_ended(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       void *local, struct mca_btl_base_registration_handle_t *handle,
                       void *context, void *data, int status)
{
    (void) btl, (void) endpoint, (void) local, (void) handle, (void) context, (void) data;
    ended_with = status;
}

/* By which: a put, a get, an atomic. */
static int rdma_begin(struct usnic_module *usnic, usnic_endpoint *peer, int which)
{
    static _Alignas(8) uint64_t words[2];
    mca_btl_base_module_t *btl = &usnic->super;
    const uint64_t remote = (uintptr_t) &words[1];
    mca_btl_base_registration_handle_t *handle =
        btl->btl_register_mem(btl, MCA_BTL_ENDPOINT_ANY, words, sizeof(words),
                              MCA_BTL_REG_FLAG_REMOTE_WRITE | MCA_BTL_REG_FLAG_REMOTE_READ |
                                  MCA_BTL_REG_FLAG_REMOTE_ATOMIC);

    ck_assert_ptr_nonnull(handle);
    int status = which == 2 ? btl->btl_atomic_op(btl, peer, remote, handle, MCA_BTL_ATOMIC_ADD, 1,
                                                 0, MCA_BTL_NO_ORDER, rdma_ended, NULL, NULL)
                            : (which == 1 ? btl->btl_get : btl->btl_put)(
                                  btl, peer, words, remote, handle, handle, sizeof(words[0]), 0,
                                  MCA_BTL_NO_ORDER, rdma_ended, NULL, NULL);
    btl->btl_deregister_mem(btl, handle);
    return status;
}

/* All that was sent is acknowledged. */
static void acknowledge(struct usnic_module *usnic, usnic_endpoint *peer)
{
    uint8_t bytes[USNIC_HEADER_BYTES];
    struct usnic_packet packet = {.data = bytes, .size = sizeof(bytes)};
    const struct usnic_header header = {
        .kind = USNIC_ACK, .ack = peer->flow.window.next, .delay = USNIC_NO_ECHO};

    usnic_header_encode(bytes, &header);
    ck_assert(!usnic_flow_received(&usnic->engine, &peer->flow, &packet, usnic->now_us));
    ck_assert(usnic_flow_is_flushed(&peer->flow));
}

/* 0: its request has vanished; 1: so has the reply, garbled into that to another operation. */
UNIT_LOOP(an_atomic_that_is_never_answered_fails, 0, 2)
{
    struct usnic_module *usnic = module_open(1);
    usnic_endpoint *peer = peer_up(usnic);
    uint8_t reply[RDMA_AM_REPLY_BYTES + sizeof(uint64_t)] = {0};
    const struct rdma_am_frame frame = {
        .kind = RDMA_AM_ATOMIC_REPLY, .op_generation = 3, .size = sizeof(uint64_t)};

    usnic->params.peer_us = 100000;
    ck_assert_int_eq(rdma_begin(usnic, peer, 2), OPAL_SUCCESS);
    acknowledge(usnic, peer);
    if (_i == 1) {
        rdma_am_encode(reply, &frame);
        usnic_engine_user.deliver(usnic, &peer->flow, BTL_CHANNEL_RDMA, 0, reply, sizeof(reply));
    }
    const uint64_t began_us = usnic->now_us;
    while (ended_with == 1 && clock_us() < began_us + LIMIT_US) {
        usnic_progress(&usnic->super);
    }
    ck_assert_int_eq(ended_with, OPAL_ERR_UNREACH);
    ck_assert_uint_ge(clock_us(), began_us + 100000);
    btl_close();
}
END_TEST

/* Packets come now and then, which wait for an earlier one. When no more do, it has failed. */
START_TEST(an_operation_whose_reply_is_on_its_way_does_not_fail)
{
    struct usnic_module *usnic = module_open(1);
    usnic_endpoint *peer = peer_up(usnic);
    uint64_t give_up_us = clock_us() + LIMIT_US, came_at = 0;
    uint32_t came = 0;

    usnic->params.peer_us = 100000;
    ck_assert_int_eq(rdma_begin(usnic, peer, 1), OPAL_SUCCESS);
    acknowledge(usnic, peer);
    while (ended_with == 1 && clock_us() < give_up_us) {
        usnic_progress(&usnic->super);
        if (peer->silent_looks == 3 && came < BUFFERS / 2 - 1 && came_at != usnic->look_us) {
            came_at = usnic->look_us;
            struct fabric_rx *rx =
                fabric_receive_at(&usnic->port.receives[USNIC_SOCKET_DATA], came++);
            ck_assert(is_kept(usnic, &peer->flow, (struct usnic_rx *) (void *) rx, came));
        }
    }
    ck_assert_int_eq(ended_with, OPAL_ERR_UNREACH);
    ck_assert_uint_eq(came, BUFFERS / 2 - 1);
    btl_close();
}
END_TEST

/* They wait for another session, as sends do, and the end of this one is no failure. */
UNIT_LOOP(no_operation_begins_while_a_peer_leaves, 0, 3)
{
    struct usnic_module *usnic = module_open(1);
    usnic_endpoint *peer = peer_up(usnic);

    usnic_bye_received(peer);
    usnic_ends_progress(usnic);
    ck_assert_int_eq(peer->life.state, PEER_LEAVING);
    ck_assert_int_eq(rdma_begin(usnic, peer, _i), OPAL_ERR_OUT_OF_RESOURCE);
    usnic_over_received(peer);
    ck_assert_int_eq(peer->life.state, PEER_IDLE);
    ck_assert_int_eq(ended_with, 1);
    btl_close();
}
END_TEST

/* What breaks the protocol: a message, or the first chunk of one. */
static const struct {
    bool follows; /* a BYE */
    uint8_t channel;
    size_t size, total;
} misuses[] = {
    {false, USNIC_CHANNEL_BYE, 8, 8},
    {false, USNIC_CHANNEL_BYE, 8, 4096},
    {true, USNIC_CHANNEL_BYE, 0, 0},
    {true, 1, 8, 8},
    {true, 1, 8, 4096},
    {true, BTL_CHANNEL_RDMA, 8, 4096},
};

UNIT_LOOP(a_bye_is_empty_and_the_last_message, 0, sizeof(misuses) / sizeof(misuses[0]))
{
    const struct usnic_user *user = &usnic_engine_user;
    struct usnic_module *usnic = module_open(1);
    usnic_endpoint *peer = peer_up(usnic);
    uint8_t data[8] = {0};

    if (misuses[_i].follows) {
        user->deliver(usnic, &peer->flow, USNIC_CHANNEL_BYE, 0, data, 0);
        ck_assert_int_eq(peer->life.state, PEER_LEAVING);
    }
    if (misuses[_i].total > misuses[_i].size) {
        ck_assert(!user->lands(usnic, &peer->flow, misuses[_i].channel, 0, data, misuses[_i].size,
                               misuses[_i].total));
    } else {
        user->deliver(usnic, &peer->flow, misuses[_i].channel, 0, data, misuses[_i].size);
    }
    ck_assert_int_eq(peer->life.state, PEER_BROKEN);
    ck_assert(!peer->flows);
    btl_close();
}
END_TEST

UNIT_MAIN("usnic-module")
