/* Put and get of the tcp module with a peer that knows the key and does not keep to the protocol.
 */
#include <config.h>

#include <tests/unit/btl/tcp/peer.h>

#include <base/data/clock.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static uint8_t target[4 << 20];
static const struct region_handle *target_handle;

static bool target_is_zero(void)
{
    return target[0] == 0 && memcmp(target, target + 1, sizeof(target) - 1) == 0;
}

static int start_target(uint32_t rights)
{
    tcp_peer_start(0);
    target_handle = (const struct region_handle *) tcp_peer.host.btl->btl_register_mem(
        tcp_peer.host.btl, MCA_BTL_ENDPOINT_ANY, target, sizeof(target), rights);
    return raw_open_accepted(1, 1);
}

static struct tcp_frame access_frame(enum tcp_frame_type type, uint64_t id, size_t offset,
                                     uint32_t size)
{
    return (struct tcp_frame){.type = type,
                              .id = id,
                              .handle = *target_handle,
                              .address = (uintptr_t) target + offset,
                              .size = size};
}

static void expect_done(int fd, uint64_t id, int status)
{
    struct tcp_frame frame;

    raw_read_frame(fd, &frame);
    ck_assert_int_eq(frame.type, TCP_FRAME_DONE);
    ck_assert_uint_eq(frame.id, id);
    ck_assert_int_eq(frame.status, status);
}

START_TEST(a_put_lands_in_place)
{
    static uint8_t data[TCP_PIECE_MAX];

    int fd = start_target(MCA_BTL_REG_FLAG_REMOTE_WRITE);
    memset(data, 7, sizeof(data));
    struct tcp_frame put = access_frame(TCP_FRAME_PUT, 11, 100, sizeof(data));
    raw_frame(fd, &put, data);
    expect_done(fd, 11, OPAL_SUCCESS);
    ck_assert_int_eq(target[99], 0);
    ck_assert_mem_eq(target + 100, data, sizeof(data));
    ck_assert_int_eq(target[100 + sizeof(data)], 0);
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(a_refused_put_is_drained)
{
    static uint8_t data[100000];

    int fd = start_target(MCA_BTL_REG_FLAG_REMOTE_WRITE);
    memset(data, 7, sizeof(data));
    struct tcp_frame put = access_frame(TCP_FRAME_PUT, 1, 0, sizeof(data));
    put.handle.generation += 2;
    raw_frame(fd, &put, data);
    expect_done(fd, 1, OPAL_ERR_PERM);
    put = access_frame(TCP_FRAME_PUT, 2, sizeof(target) - sizeof(data) + 1, sizeof(data));
    raw_frame(fd, &put, data);
    expect_done(fd, 2, OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    put = access_frame(TCP_FRAME_PUT, 3, 0, sizeof(data));
    put.address = UINT64_MAX - 10;
    raw_frame(fd, &put, data);
    expect_done(fd, 3, OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    struct tcp_frame get = access_frame(TCP_FRAME_GET, 4, 0, 100);
    raw_frame(fd, &get, NULL);
    expect_done(fd, 4, OPAL_ERR_PERM);
    ck_assert(target_is_zero());
    raw_send_am(fd, 9); /* and the stream goes on */
    tcp_host_until(&tcp_peer.received, 1);
    ck_assert_uint_eq(tcp_peer.last_number, 9);
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(deregistering_stops_a_put_in_its_midst)
{
    static uint8_t data[100000];
    uint8_t header[TCP_HEADER_MAX];

    int fd = start_target(MCA_BTL_REG_FLAG_REMOTE_WRITE);
    memset(data, 7, sizeof(data));
    struct tcp_frame put = access_frame(TCP_FRAME_PUT, 1, 0, sizeof(data));
    put.sequence = raw_sequence(fd);
    raw_write(fd, header, tcp_frame_encode(header, &put));
    raw_write(fd, data, 50000);
    uint64_t end = clock_us() + 5000000;
    while (target[49999] != 7) {
        ck_assert_uint_lt(clock_us(), end);
        btl_progress();
    }
    tcp_peer.host.btl->btl_deregister_mem(tcp_peer.host.btl,
                                          (mca_btl_base_registration_handle_t *) target_handle);
    memset(target, 0, sizeof(target));
    raw_write(fd, data + 50000, sizeof(data) - 50000);
    expect_done(fd, 1, OPAL_ERR_PERM);
    ck_assert(target_is_zero());
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(deregistering_stops_a_get_in_its_midst)
{
    enum { GETS = 16 };
    static uint8_t data[TCP_PIECE_MAX];
    unsigned refused = 0;

    int fd = start_target(MCA_BTL_REG_FLAG_REMOTE_READ);
    memset(target, 9, sizeof(target));
    struct tcp_frame get = access_frame(TCP_FRAME_GET, 0, 0, TCP_PIECE_MAX);
    for (get.id = 0; get.id < GETS; get.id++) {
        raw_frame(fd, &get, NULL);
    }
    tcp_host_polls(20); /* sockets are full, the rest waits */
    tcp_peer.host.btl->btl_deregister_mem(tcp_peer.host.btl,
                                          (mca_btl_base_registration_handle_t *) target_handle);
    memset(target, 6, sizeof(target)); /* another's secret now */
    for (unsigned i = 0; i < GETS; i++) {
        struct tcp_frame frame, done;
        raw_read_frame(fd, &frame);
        ck_assert_int_eq(frame.type, TCP_FRAME_DATA);
        ck_assert_uint_eq(frame.id, i);
        raw_read(fd, data, frame.size);
        ck_assert_ptr_null(memchr(data, 6, sizeof(data)));
        raw_read_frame(fd, &done);
        ck_assert_int_eq(done.type, TCP_FRAME_DONE);
        ck_assert_uint_eq(done.id, i);
        ck_assert(done.status == OPAL_ERR_PERM || !memchr(data, 0, sizeof(data)));
        refused += done.status == OPAL_ERR_PERM;
    }
    ck_assert_uint_gt(refused, 0);
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(greed_is_cut_off)
{
    int fd = start_target(MCA_BTL_REG_FLAG_REMOTE_READ);
    struct tcp_frame get = access_frame(TCP_FRAME_GET, 0, 0, TCP_PIECE_MAX);
    uint8_t all[(TCP_SLOTS + 40) * TCP_HEADER_MAX], *at = all;

    while (at < all + sizeof(all)) {
        get.sequence = raw_sequence(fd);
        at += tcp_frame_encode(at, &get);
    }
    raw_write(fd, all, sizeof(all));
    tcp_host_until(&tcp_peer.host.reports, 1);
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

static struct tcp_frame await_request(int fd, enum tcp_frame_type type)
{
    struct tcp_frame frame;

    raw_read_frame(fd, &frame);
    ck_assert_int_eq(frame.type, type);
    return frame;
}

START_TEST(a_get_takes_data_then_done)
{
    static uint8_t memory[64];
    uint8_t data[64];
    int status = 1;

    tcp_peer_start(0);
    raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    int fd = raw_open_accepted(1, 5);
    memset(data, 3, sizeof(data));
    ck_assert_int_eq(tcp_peer_access(ep, true, memory, sizeof(memory), &status), OPAL_SUCCESS);
    struct tcp_frame get = await_request(fd, TCP_FRAME_GET);
    ck_assert_uint_eq(get.size, 64);
    raw_frame(fd, &(struct tcp_frame){.type = TCP_FRAME_DATA, .id = get.id, .size = 64}, data);
    tcp_host_polls(10);
    ck_assert_uint_eq(tcp_peer.completed, 0);
    raw_frame(fd, &(struct tcp_frame){.type = TCP_FRAME_DONE, .id = get.id}, NULL);
    tcp_host_until(&tcp_peer.completed, 1);
    ck_assert_int_eq(status, OPAL_SUCCESS);
    ck_assert_mem_eq(memory, data, 64);
    ck_assert_int_eq(tcp_peer_access(ep, false, memory, sizeof(memory), &status), OPAL_SUCCESS);
    struct tcp_frame put = await_request(fd, TCP_FRAME_PUT);
    raw_read(fd, data, put.size);
    raw_frame(fd,
              &(struct tcp_frame){.type = TCP_FRAME_DONE, .id = put.id, .status = OPAL_ERR_PERM},
              NULL);
    tcp_host_until(&tcp_peer.failed, 1);
    ck_assert_int_eq(status, OPAL_ERR_PERM);
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

/* Answers that nobody asked for end the link, and never touch memory. own_id: answer.id says in
 * what the id differs from the request's. */
static void check_bad_answer(struct tcp_frame answer, bool own_id)
{
    static uint8_t memory[64], data[128];

    tcp_peer_start(0);
    raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    int fd = raw_open_accepted(1, 5);
    memset(data, 3, sizeof(data));
    ck_assert_int_eq(tcp_peer_access(ep, true, memory, sizeof(memory), NULL), OPAL_SUCCESS);
    struct tcp_frame get = await_request(fd, TCP_FRAME_GET);
    answer.id ^= own_id ? get.id : 0;
    raw_frame(fd, &answer, answer.type == TCP_FRAME_DATA ? data : NULL);
    tcp_host_until(&tcp_peer.host.reports, 1);
    ck_assert_uint_eq(tcp_peer.failed, 1);
    ck_assert_uint_eq(tcp_peer.completed, 0);
    ck_assert_ptr_null(memchr(memory, 3, sizeof(memory)));
    close(fd);
    tcp_host_close(&tcp_peer.host);
}

UNIT_CASE(done_without_data_is_refused,
          check_bad_answer((struct tcp_frame){.type = TCP_FRAME_DONE}, true))
UNIT_CASE(more_data_than_asked_for_is_refused,
          check_bad_answer((struct tcp_frame){.type = TCP_FRAME_DATA, .size = 65}, true))
UNIT_CASE(less_data_than_asked_for_is_refused,
          check_bad_answer((struct tcp_frame){.type = TCP_FRAME_DATA, .size = 63}, true))
UNIT_CASE(data_for_nobody_is_refused,
          check_bad_answer((struct tcp_frame){.type = TCP_FRAME_DATA, .size = 64, .id = 12345},
                           false))
UNIT_CASE(done_for_nobody_is_refused,
          check_bad_answer((struct tcp_frame){.type = TCP_FRAME_DONE, .id = UINT64_MAX}, false))

START_TEST(data_for_an_earlier_use_of_a_slot_is_refused)
{
    const uint64_t generation = (uint64_t) 1 << 32;
    check_bad_answer((struct tcp_frame){.type = TCP_FRAME_DATA, .size = 64, .id = generation},
                     true);
}
END_TEST

START_TEST(data_that_comes_twice_is_refused)
{
    static uint8_t memory[64], data[64];

    tcp_peer_start(0);
    raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    int fd = raw_open_accepted(1, 5);
    ck_assert_int_eq(tcp_peer_access(ep, true, memory, sizeof(memory), NULL), OPAL_SUCCESS);
    struct tcp_frame get = await_request(fd, TCP_FRAME_GET);
    const struct tcp_frame answer = {.type = TCP_FRAME_DATA, .size = 64, .id = get.id};
    memset(data, 3, sizeof(data));
    raw_frame(fd, &answer, data);
    memset(data, 4, sizeof(data));
    raw_frame(fd, &answer, data);
    tcp_host_until(&tcp_peer.host.reports, 1);
    ck_assert_uint_eq(tcp_peer.failed, 1);
    ck_assert_ptr_null(memchr(memory, 4, sizeof(memory)));
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(an_answer_before_the_data_left_is_refused)
{
    static uint8_t memory[64 << 20];
    struct tcp_frame put;

    tcp_peer_start(0);
    raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    int fd = raw_open_accepted(1, 5);
    ck_assert_int_eq(tcp_peer_access(ep, false, memory, sizeof(memory), NULL), OPAL_SUCCESS);
    put = await_request(fd, TCP_FRAME_PUT);
    tcp_host_polls(5);
    /* The last of the pieces in flight waits behind full sockets. */
    put.id += TCP_SLOTS - 1;
    put.id += (uint64_t) (TCP_SLOTS - 1) << 32; /* generations start one apart */
    raw_frame(fd, &(struct tcp_frame){.type = TCP_FRAME_DONE, .id = put.id}, NULL);
    tcp_host_until(&tcp_peer.host.reports, 1);
    ck_assert_uint_eq(tcp_peer.failed, 1);
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

UNIT_MAIN("tcp-access")
