/* The tcp module against a peer that the test plays over raw sockets: strangers, forgers, and peers
 * that know the key and do not keep to the protocol. */
#include <base/clock.h>
#include <base/log.h>
#include <base/param.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/tcp-host.h>
#include <unistd.h>

enum { TAG = 77 };

static struct tcp_host host;
static unsigned received, completed, failed;
static uint32_t last_number;
static size_t last_size;

static void take(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) cbdata;
    received++;
    ck_assert_uint_eq((uintptr_t) descriptor->des_segments[0].seg_addr.pval % 8, 0);
    last_size = descriptor->des_segments[0].seg_len;
    memcpy(&last_number, descriptor->des_segments[0].seg_addr.pval, last_size < 4 ? last_size : 4);
}

/* This process is rank 0 or 1 of two; the other is raw. */
static void start(int rank)
{
    tcp_host_init(&host);
    tcp_host_open(&host, rank);
    host.btl->btl_register(host.btl, TAG, take, NULL);
}

static void set_param(const char *name, const char *value)
{
    ck_assert_int_eq(param_override(name, value), ORTE_SUCCESS);
}

static void send_am(int fd, uint32_t number)
{
    raw_frame(fd, &(struct tcp_frame){.type = TCP_FRAME_AM, .tag = TAG, .size = 4}, &number);
}

static int open_accepted(int rank, uint64_t incarnation)
{
    enum tcp_verdict verdict;
    int fd = raw_open(&host, rank, incarnation, &verdict);

    ck_assert_int_eq(verdict, TCP_VERDICT_ACCEPT);
    return fd;
}

/* ---- who gets in ---- */

START_TEST(a_peer_not_yet_added_is_heard)
{
    start(0);
    int fd = open_accepted(1, 1);
    send_am(fd, 42);
    tcp_host_until(&received, 1);
    ck_assert_uint_eq(last_number, 42);
    close(fd);
    tcp_host_close(&host);
}
END_TEST

static void check_no_entry(const uint8_t *hello, size_t size, int fd)
{
    raw_write(fd, hello, size);
    ck_assert(raw_ended(fd));
    close(fd);
    ck_assert_ptr_null(tcp_endpoint_find((struct tcp_module *) host.btl, &host.procs[1].proc_name));
}

START_TEST(a_wrong_key_does_not_get_in)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];
    uint8_t key[KEY_BYTES] = {1};
    struct tcp_hello words = {.from = {TCP_HOST_JOB, 1}, .to = {TCP_HOST_JOB, 0}};

    start(0);
    int fd = raw_connect(&host, challenge);
    tcp_hello_encode(hello, &words, challenge, key);
    check_no_entry(hello, sizeof(hello), fd);
    tcp_host_close(&host);
}
END_TEST

START_TEST(a_changed_hello_does_not_get_in)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];

    start(0);
    for (size_t at = 0; at < TCP_HELLO_BYTES; at++) {
        int fd = raw_connect(&host, challenge);
        raw_hello(hello, &host, 1, 1, challenge);
        hello[at] ^= (uint8_t) (1 << at % 8);
        check_no_entry(hello, sizeof(hello), fd);
    }
    tcp_host_close(&host);
}
END_TEST

START_TEST(a_replayed_hello_does_not_get_in)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];

    start(0);
    int fd = raw_connect(&host, challenge);
    raw_hello(hello, &host, 1, 1, challenge);
    int second = raw_connect(&host, challenge);
    check_no_entry(hello, sizeof(hello), second);
    close(fd);
    tcp_host_close(&host);
}
END_TEST

START_TEST(a_hello_to_somebody_else_does_not_get_in)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];
    struct tcp_hello words = {.from = {TCP_HOST_JOB, 1}, .to = {TCP_HOST_JOB, 2}};

    start(0);
    int fd = raw_connect(&host, challenge);
    tcp_hello_encode(hello, &words, challenge, tcp_host_key);
    check_no_entry(hello, sizeof(hello), fd);
    words = (struct tcp_hello){.from = {TCP_HOST_JOB + 1, 1}, .to = {TCP_HOST_JOB, 0}};
    fd = raw_connect(&host, challenge);
    tcp_hello_encode(hello, &words, challenge, tcp_host_key);
    check_no_entry(hello, sizeof(hello), fd);
    tcp_host_close(&host);
}
END_TEST

static unsigned open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;

    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

START_TEST(strangers_block_nobody)
{
    enum { STRANGERS = 200 };
    int fds[STRANGERS];

    start(0);
    unsigned before = open_descriptors();
    for (unsigned i = 0; i < STRANGERS; i++) {
        fds[i] = raw_connect(&host, NULL);
        btl_progress();
    }
    tcp_host_polls(50);
    ck_assert_uint_le(open_descriptors() - before, STRANGERS + TCP_PENDING_MAX);
    uint64_t begin = clock_us();
    int fd = open_accepted(1, 1);
    send_am(fd, 1);
    tcp_host_until(&received, 1);
    ck_assert_uint_lt(clock_us() - begin, 2000000);
    for (unsigned i = 0; i < STRANGERS; i++) {
        close(fds[i]);
    }
    close(fd);
    tcp_host_close(&host);
}
END_TEST

START_TEST(silence_ends_in_time)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];

    set_param("btl_tcp_pending_timeout_ms", "300");
    start(0);
    uint64_t begin = clock_us();
    int idle = raw_connect(&host, challenge);
    raw_hello(hello, &host, 1, 1, challenge);
    int half = raw_connect(&host, challenge);
    raw_write(half, hello, sizeof(hello) - 1);
    ck_assert(raw_ended(idle));
    ck_assert(raw_ended(half));
    ck_assert_uint_ge(clock_us() - begin, 300000);
    close(idle);
    close(half);
    tcp_host_close(&host);
}
END_TEST

START_TEST(garbage_ends_at_once)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES];

    start(0);
    uint64_t begin = clock_us();
    int fd = raw_connect(&host, challenge);
    check_no_entry((const uint8_t *) "GET / HTTP/1.1\r\n\r\n", 18, fd);
    ck_assert_uint_lt(clock_us() - begin, 3000000);
    tcp_host_close(&host);
}
END_TEST

START_TEST(a_new_life_of_a_peer_waits_for_del_procs)
{
    enum tcp_verdict verdict;

    start(0);
    int listener = raw_listen(&host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    ck_assert_ptr_nonnull(ep);
    int old = open_accepted(1, 5);
    int same = raw_open(&host, 1, 5, &verdict);
    ck_assert_int_eq(verdict, TCP_VERDICT_AGAIN);
    ck_assert_uint_eq(host.reports, 0);
    int new = raw_open(&host, 1, 6, &verdict);
    ck_assert_int_eq(verdict, TCP_VERDICT_REFUSE);
    ck_assert_uint_eq(host.reports, 1);
    ck_assert_int_eq(tcp_host_send(&host, ep, TAG, 8, 1), OPAL_ERR_UNREACH);
    tcp_host_del(&host, 1, ep);
    close(new);
    new = open_accepted(1, 6);
    send_am(new, 3);
    tcp_host_until(&received, 1);
    close(old), close(same), close(new), close(listener);
    tcp_host_close(&host);
}
END_TEST

/* ---- connecting ---- */

static void completed_fn(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *ep,
                         mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) ep;
    completed += status == OPAL_SUCCESS;
    failed += status != OPAL_SUCCESS;
    btl->btl_free(btl, descriptor);
}

/* With a callback. */
static int send_counted(struct mca_btl_base_endpoint_t *ep, size_t size)
{
    mca_btl_base_descriptor_t *descriptor =
        host.btl->btl_alloc(host.btl, ep, MCA_BTL_NO_ORDER, size, MCA_BTL_DES_SEND_ALWAYS_CALLBACK);

    ck_assert_ptr_nonnull(descriptor);
    memset(descriptor->des_segments[0].seg_addr.pval, 5, size);
    descriptor->des_cbfunc = completed_fn;
    int status = host.btl->btl_send(host.btl, ep, descriptor, TAG);
    if (status < 0) {
        host.btl->btl_free(host.btl, descriptor);
    }
    return status;
}

static void expect_am(int fd, uint32_t wanted)
{
    struct tcp_frame frame;
    uint8_t data[256];
    uint32_t number;

    raw_read_frame(fd, &frame);
    ck_assert_int_eq(frame.type, TCP_FRAME_AM);
    ck_assert_uint_eq(frame.tag, TAG);
    ck_assert_uint_le(frame.size, sizeof(data));
    raw_read(fd, data, frame.size);
    memcpy(&number, data, 4);
    ck_assert_uint_eq(number, wanted);
}

/* The module's own connect, all the way. */
static int serve(int listener, uint64_t incarnation)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];
    int fd = raw_accept(listener, challenge, hello);

    raw_welcome(fd, TCP_VERDICT_ACCEPT, incarnation, challenge, hello);
    return fd;
}

START_TEST(the_next_address_is_tried)
{
    struct tcp_card card, two;

    set_param("btl_tcp_hello_timeout_ms", "200");
    start(0);
    int listener = raw_listen(&host, 1, 5);
    tcp_host_card(&host, 1, &card);
    int silent = raw_listen(&host, 2, 5); /* accepts and says nothing */
    tcp_host_card(&host, 2, &two);
    int gone = raw_listen(&host, 3, 5);
    struct tcp_card three;
    tcp_host_card(&host, 3, &three);
    close(gone); /* refuses */
    card.addresses[2] = card.addresses[0];
    card.addresses[1] = two.addresses[0];
    card.addresses[0] = three.addresses[0];
    card.count = 3;
    tcp_host_set_card(&host, 1, &card);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    ck_assert_int_eq(tcp_host_send(&host, ep, TAG, 8, 99), OPAL_SUCCESS);
    int fd = serve(listener, 5);
    expect_am(fd, 99);
    ck_assert_uint_eq(host.reports, 0);
    close(fd), close(silent), close(listener);
    tcp_host_close(&host);
}
END_TEST

START_TEST(no_address_is_an_error_once)
{
    start(0);
    int listener = raw_listen(&host, 1, 5);
    close(listener);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    ck_assert_int_eq(send_counted(ep, 8), OPAL_SUCCESS);
    ck_assert_int_eq(send_counted(ep, 100000), OPAL_SUCCESS);
    tcp_host_until(&failed, 2);
    ck_assert_uint_eq(completed, 0);
    tcp_host_until(&host.reports, 1);
    ck_assert_int_eq(send_counted(ep, 8), OPAL_ERR_UNREACH);
    tcp_host_polls(20);
    ck_assert_uint_eq(failed, 2);
    ck_assert_uint_eq(host.reports, 1);
    tcp_host_close(&host);
}
END_TEST

static void check_bad_welcome(size_t flip, uint64_t incarnation)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES], bytes[TCP_WELCOME_BYTES];

    start(0);
    int listener = raw_listen(&host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    ck_assert_int_eq(send_counted(ep, 8), OPAL_SUCCESS);
    int fd = raw_accept(listener, challenge, hello);
    tcp_welcome_encode(bytes, &(struct tcp_welcome){TCP_VERDICT_ACCEPT, incarnation}, challenge,
                       hello, tcp_host_key);
    bytes[flip / 8] ^= (uint8_t) (flip % 8 ? 1 << flip % 8 : 0);
    raw_write(fd, bytes, sizeof(bytes));
    tcp_host_until(&failed, 1);
    ck_assert_uint_eq(host.reports, 1);
    close(fd), close(listener);
    tcp_host_close(&host);
}

START_TEST(a_forged_welcome_is_not_believed)
{
    check_bad_welcome(20 * 8 + 1, 5);
}
END_TEST

START_TEST(another_life_than_the_cards_is_not_believed)
{
    check_bad_welcome(0, 6);
}
END_TEST

START_TEST(a_closed_door_is_tried_again)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];

    start(0);
    int listener = raw_listen(&host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    ck_assert_int_eq(tcp_host_send(&host, ep, TAG, 8, 7), OPAL_SUCCESS);
    int fd = raw_accept(listener, challenge, hello);
    close(fd); /* too slow for its patience, say */
    fd = raw_accept(listener, challenge, hello);
    raw_welcome(fd, TCP_VERDICT_AGAIN, 5, challenge, hello);
    int second = serve(listener, 5);
    expect_am(second, 7);
    close(fd), close(second), close(listener);
    tcp_host_close(&host);
}
END_TEST

/* Both connect at once, and both hellos are sent. */
START_TEST(the_lower_name_wins)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];
    enum tcp_verdict verdict;

    start(0);
    int listener = raw_listen(&host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    ck_assert_int_eq(tcp_host_send(&host, ep, TAG, 8, 7), OPAL_SUCCESS);
    int mine = raw_accept(listener, challenge, hello);
    int theirs = raw_open(&host, 1, 5, &verdict);
    ck_assert_int_eq(verdict, TCP_VERDICT_CROSS);
    raw_welcome(mine, TCP_VERDICT_ACCEPT, 5, challenge, hello);
    expect_am(mine, 7);
    send_am(mine, 8);
    tcp_host_until(&received, 1);
    close(mine), close(theirs), close(listener);
    tcp_host_close(&host);
}
END_TEST

START_TEST(the_higher_name_gives_way)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];

    start(1);
    int listener = raw_listen(&host, 0, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 0);
    ck_assert_int_eq(tcp_host_send(&host, ep, TAG, 8, 7), OPAL_SUCCESS);
    int mine = raw_accept(listener, challenge, hello);
    int theirs = open_accepted(0, 5);
    expect_am(theirs, 7);
    ck_assert(raw_ended(mine));
    close(mine), close(theirs), close(listener);
    tcp_host_close(&host);
}
END_TEST

/* The lower name's hello is not sent yet: the higher one's connect is as good. */
START_TEST(the_first_hello_wins_otherwise)
{
    start(0);
    int listener = raw_listen(&host, 1, 5); /* never answers */
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    ck_assert_int_eq(tcp_host_send(&host, ep, TAG, 8, 7), OPAL_SUCCESS);
    tcp_host_polls(10);
    int fd = open_accepted(1, 5);
    expect_am(fd, 7);
    ck_assert_uint_eq(host.reports, 0);
    close(fd), close(listener);
    tcp_host_close(&host);
}
END_TEST

START_TEST(crossed_out_means_wait)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];

    start(1);
    int listener = raw_listen(&host, 0, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 0);
    ck_assert_int_eq(tcp_host_send(&host, ep, TAG, 8, 7), OPAL_SUCCESS);
    int mine = raw_accept(listener, challenge, hello);
    raw_welcome(mine, TCP_VERDICT_CROSS, 5, challenge, hello);
    tcp_host_polls(100);
    ck_assert_int_lt(sock_accept(listener, NULL), 0); /* it does wait */
    int fd = open_accepted(0, 5);
    expect_am(fd, 7);
    close(mine), close(fd), close(listener);
    tcp_host_close(&host);
}
END_TEST

/* ---- ends ---- */

START_TEST(bye_leaves_no_error)
{
    start(0);
    int listener = raw_listen(&host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    int fd = open_accepted(1, 5);
    raw_frame(fd, &(struct tcp_frame){.type = TCP_FRAME_BYE}, NULL);
    close(fd);
    tcp_host_polls(20);
    ck_assert_uint_eq(host.reports, 0);
    ck_assert_int_eq(tcp_host_send(&host, ep, TAG, 8, 7), OPAL_SUCCESS);
    fd = serve(listener, 5);
    expect_am(fd, 7);
    close(fd), close(listener);
    tcp_host_close(&host);
}
END_TEST

static void rdma_done(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *ep, void *local,
                      mca_btl_base_registration_handle_t *handle, void *context, void *cbdata,
                      int status)
{
    (void) btl, (void) ep, (void) local, (void) handle, (void) context;
    completed += status == OPAL_SUCCESS;
    failed += status != OPAL_SUCCESS;
    if (cbdata) {
        *(int *) cbdata = status;
    }
}

static int put_or_get(struct mca_btl_base_endpoint_t *ep, bool get, void *local, size_t size,
                      int *status)
{
    static struct region_handle handle = {.index = 1, .generation = 3, .size = UINT64_MAX};

    return (get ? host.btl->btl_get : host.btl->btl_put)(
        host.btl, ep, local, 4096, NULL, (mca_btl_base_registration_handle_t *) &handle, size, 0,
        MCA_BTL_NO_ORDER, rdma_done, NULL, status);
}

/* More than sockets hold: messages, a put and a get are under way when the peer is gone. */
static void check_break(void (*end)(int fd))
{
    static uint8_t memory[8 << 20];
    unsigned accepted = 0;

    start(0);
    raw_listen(&host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    int fd = open_accepted(1, 5);
    for (int status = 0; status >= 0; accepted += status >= 0) {
        status = send_counted(ep, 100000);
        ck_assert_uint_lt(accepted, 1000);
        ck_assert(status >= 0 || status == OPAL_ERR_OUT_OF_RESOURCE);
    }
    ck_assert_int_eq(put_or_get(ep, false, memory, sizeof(memory), NULL), OPAL_SUCCESS);
    ck_assert_int_eq(put_or_get(ep, true, memory, sizeof(memory), NULL), OPAL_SUCCESS);
    tcp_host_polls(5);
    ck_assert_uint_lt(completed + failed, accepted + 2);
    end(fd);
    tcp_host_until(&host.reports, 1);
    ck_assert_uint_eq(completed + failed, accepted + 2);
    ck_assert_uint_ge(failed, 3);
    ck_assert_int_eq(send_counted(ep, 8), OPAL_ERR_UNREACH);
    ck_assert_int_eq(put_or_get(ep, false, memory, 8, NULL), OPAL_ERR_UNREACH);
    tcp_host_polls(20);
    ck_assert_uint_eq(completed + failed, accepted + 2);
    ck_assert_uint_eq(host.reports, 1);
    tcp_host_close(&host);
}

static void end_by_reset(int fd)
{
    const struct linger reset = {.l_onoff = 1};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
}

static void end_by_half_frame(int fd)
{
    raw_write(fd, "\1\115\0\0\20\0\0\0half", 12);
    end_by_reset(fd);
}

static void end_by_nonsense(int fd)
{
    raw_write(fd, "nonsense", 8);
}

START_TEST(a_reset_fails_all_once)
{
    check_break(end_by_reset);
}
END_TEST

START_TEST(an_end_within_a_frame_fails_all_once)
{
    check_break(end_by_half_frame);
}
END_TEST

START_TEST(nonsense_fails_all_once)
{
    check_break(end_by_nonsense);
}
END_TEST

START_TEST(del_procs_fails_all_once)
{
    unsigned accepted = 0;

    set_param("btl_tcp_flush_timeout_ms", "100");
    start(0);
    raw_listen(&host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    int fd = open_accepted(1, 5);
    for (int status = 0; status >= 0; accepted += status >= 0) {
        status = send_counted(ep, 100000);
    }
    tcp_host_del(&host, 1, ep);
    ck_assert_uint_eq(completed + failed, accepted);
    ck_assert_uint_ge(failed, 1);
    ck_assert_uint_eq(host.reports, 0);
    close(fd);
    tcp_host_close(&host);
}
END_TEST

START_TEST(finalize_writes_what_counts_as_sent)
{
    start(0);
    raw_listen(&host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    int fd = open_accepted(1, 5);
    unsigned sent = 0;
    while (tcp_host_send(&host, ep, TAG, 60, sent) >= 0) { /* until the queue is full */
        sent++;
    }
    ck_assert_uint_gt(sent, 1000);
    pid_t child = fork();
    if (child == 0) {
        btl_close();
        _exit(0);
    }
    /* The child's module is a copy of mine, on the same socket; mine stays out of its way. */
    size_t size = sent * 68 + 8, got = 0;
    uint8_t *all = malloc(size + 1);
    for (ssize_t more = 1; more != 0 && got <= size;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        ck_assert_int_eq(poll(&wait, 1, 5000), 1);
        more = recv(fd, all + got, size + 1 - got, 0);
        ck_assert(more >= 0 || errno == EAGAIN);
        got += more > 0 ? (size_t) more : 0;
    }
    ck_assert_uint_eq(got, size);
    for (uint32_t i = 0; i < sent; i++) {
        ck_assert(memcmp(all + i * 68, "\1\115\0\0\74\0\0\0", 8) == 0);
        ck_assert(memcmp(all + i * 68 + 8, &i, 4) == 0);
    }
    ck_assert_int_eq(all[size - 8], TCP_FRAME_BYE);
    free(all);
    close(fd);
}
END_TEST

START_TEST(the_queue_is_bounded_and_in_order)
{
    set_param("btl_tcp_tx_queue_size", "64k");
    start(0);
    raw_listen(&host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    unsigned sent = 0;
    while (tcp_host_send(&host, ep, TAG, 8, sent) >= 0) { /* no link yet */
        ck_assert_uint_lt(++sent, 1000);
    }
    int fd = open_accepted(1, 5);
    for (unsigned i = 0; i < sent; i++) {
        expect_am(fd, i);
    }
    ck_assert_int_ge(tcp_host_send(&host, ep, TAG, 8, sent), 0);
    expect_am(fd, sent);
    close(fd);
    tcp_host_close(&host);
}
END_TEST

/* ---- put and get ---- */

static uint8_t target[4 << 20];
static const struct region_handle *target_handle;

static bool target_is_zero(void)
{
    return target[0] == 0 && memcmp(target, target + 1, sizeof(target) - 1) == 0;
}

static int start_target(uint32_t rights)
{
    start(0);
    target_handle = (const struct region_handle *) host.btl->btl_register_mem(
        host.btl, MCA_BTL_ENDPOINT_ANY, target, sizeof(target), rights);
    return open_accepted(1, 1);
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
    tcp_host_close(&host);
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
    send_am(fd, 9); /* and the stream goes on */
    tcp_host_until(&received, 1);
    ck_assert_uint_eq(last_number, 9);
    close(fd);
    tcp_host_close(&host);
}
END_TEST

START_TEST(deregistering_stops_a_put_in_its_midst)
{
    static uint8_t data[100000];
    uint8_t header[TCP_HEADER_MAX];

    int fd = start_target(MCA_BTL_REG_FLAG_REMOTE_WRITE);
    memset(data, 7, sizeof(data));
    struct tcp_frame put = access_frame(TCP_FRAME_PUT, 1, 0, sizeof(data));
    raw_write(fd, header, tcp_frame_encode(header, &put));
    raw_write(fd, data, 50000);
    uint64_t end = clock_us() + 5000000;
    while (target[49999] != 7) {
        ck_assert_uint_lt(clock_us(), end);
        btl_progress();
    }
    host.btl->btl_deregister_mem(host.btl, (mca_btl_base_registration_handle_t *) target_handle);
    memset(target, 0, sizeof(target));
    raw_write(fd, data + 50000, sizeof(data) - 50000);
    expect_done(fd, 1, OPAL_ERR_PERM);
    ck_assert(target_is_zero());
    close(fd);
    tcp_host_close(&host);
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
    host.btl->btl_deregister_mem(host.btl, (mca_btl_base_registration_handle_t *) target_handle);
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
    tcp_host_close(&host);
}
END_TEST

START_TEST(greed_is_cut_off)
{
    int fd = start_target(MCA_BTL_REG_FLAG_REMOTE_READ);
    struct tcp_frame get = access_frame(TCP_FRAME_GET, 0, 0, TCP_PIECE_MAX);
    uint8_t all[(TCP_SLOTS + 40) * TCP_HEADER_MAX], *at = all;

    while (at < all + sizeof(all)) {
        at += tcp_frame_encode(at, &get);
    }
    raw_write(fd, all, sizeof(all));
    tcp_host_until(&host.reports, 1);
    close(fd);
    tcp_host_close(&host);
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

    start(0);
    raw_listen(&host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    int fd = open_accepted(1, 5);
    memset(data, 3, sizeof(data));
    ck_assert_int_eq(put_or_get(ep, true, memory, sizeof(memory), &status), OPAL_SUCCESS);
    struct tcp_frame get = await_request(fd, TCP_FRAME_GET);
    ck_assert_uint_eq(get.size, 64);
    raw_frame(fd, &(struct tcp_frame){.type = TCP_FRAME_DATA, .id = get.id, .size = 64}, data);
    tcp_host_polls(10);
    ck_assert_uint_eq(completed, 0);
    raw_frame(fd, &(struct tcp_frame){.type = TCP_FRAME_DONE, .id = get.id}, NULL);
    tcp_host_until(&completed, 1);
    ck_assert_int_eq(status, OPAL_SUCCESS);
    ck_assert_mem_eq(memory, data, 64);
    ck_assert_int_eq(put_or_get(ep, false, memory, sizeof(memory), &status), OPAL_SUCCESS);
    struct tcp_frame put = await_request(fd, TCP_FRAME_PUT);
    raw_read(fd, data, put.size);
    raw_frame(fd,
              &(struct tcp_frame){.type = TCP_FRAME_DONE, .id = put.id, .status = OPAL_ERR_PERM},
              NULL);
    tcp_host_until(&failed, 1);
    ck_assert_int_eq(status, OPAL_ERR_PERM);
    close(fd);
    tcp_host_close(&host);
}
END_TEST

/* Answers that nobody asked for end the link, and never touch memory. */
static void check_bad_answer(struct tcp_frame answer, bool own_id)
{
    static uint8_t memory[64], data[128];

    start(0);
    raw_listen(&host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    int fd = open_accepted(1, 5);
    memset(data, 3, sizeof(data));
    ck_assert_int_eq(put_or_get(ep, true, memory, sizeof(memory), NULL), OPAL_SUCCESS);
    struct tcp_frame get = await_request(fd, TCP_FRAME_GET);
    answer.id = own_id ? get.id : answer.id;
    raw_frame(fd, &answer, answer.type == TCP_FRAME_DATA ? data : NULL);
    tcp_host_until(&host.reports, 1);
    ck_assert_uint_eq(failed, 1);
    ck_assert_uint_eq(completed, 0);
    ck_assert_ptr_null(memchr(memory, 3, sizeof(memory)));
    close(fd);
    tcp_host_close(&host);
}

START_TEST(done_without_data_is_refused)
{
    check_bad_answer((struct tcp_frame){.type = TCP_FRAME_DONE}, true);
}
END_TEST

START_TEST(more_data_than_asked_for_is_refused)
{
    check_bad_answer((struct tcp_frame){.type = TCP_FRAME_DATA, .size = 65}, true);
}
END_TEST

START_TEST(less_data_than_asked_for_is_refused)
{
    check_bad_answer((struct tcp_frame){.type = TCP_FRAME_DATA, .size = 63}, true);
}
END_TEST

START_TEST(data_for_nobody_is_refused)
{
    check_bad_answer((struct tcp_frame){.type = TCP_FRAME_DATA, .size = 64, .id = 12345}, false);
}
END_TEST

START_TEST(done_for_nobody_is_refused)
{
    check_bad_answer((struct tcp_frame){.type = TCP_FRAME_DONE, .id = UINT64_MAX}, false);
}
END_TEST

START_TEST(an_answer_before_the_data_left_is_refused)
{
    static uint8_t memory[64 << 20];
    struct tcp_frame put;

    start(0);
    raw_listen(&host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    int fd = open_accepted(1, 5);
    ck_assert_int_eq(put_or_get(ep, false, memory, sizeof(memory), NULL), OPAL_SUCCESS);
    put = await_request(fd, TCP_FRAME_PUT);
    tcp_host_polls(5);
    /* The last of the pieces in flight waits behind full sockets. */
    put.id += TCP_SLOTS - 1;
    put.id += (uint64_t) (TCP_SLOTS - 1) << 32; /* generations start one apart */
    raw_frame(fd, &(struct tcp_frame){.type = TCP_FRAME_DONE, .id = put.id}, NULL);
    tcp_host_until(&host.reports, 1);
    ck_assert_uint_eq(failed, 1);
    close(fd);
    tcp_host_close(&host);
}
END_TEST

UNIT_MAIN("tcp-peer", a_peer_not_yet_added_is_heard, a_wrong_key_does_not_get_in,
          a_changed_hello_does_not_get_in, a_replayed_hello_does_not_get_in,
          a_hello_to_somebody_else_does_not_get_in, strangers_block_nobody, silence_ends_in_time,
          garbage_ends_at_once, a_new_life_of_a_peer_waits_for_del_procs, the_next_address_is_tried,
          no_address_is_an_error_once, a_forged_welcome_is_not_believed,
          another_life_than_the_cards_is_not_believed, a_closed_door_is_tried_again,
          the_lower_name_wins, the_higher_name_gives_way, the_first_hello_wins_otherwise,
          crossed_out_means_wait, bye_leaves_no_error, a_reset_fails_all_once,
          an_end_within_a_frame_fails_all_once, nonsense_fails_all_once, del_procs_fails_all_once,
          finalize_writes_what_counts_as_sent, the_queue_is_bounded_and_in_order,
          a_put_lands_in_place, a_refused_put_is_drained, deregistering_stops_a_put_in_its_midst,
          deregistering_stops_a_get_in_its_midst, greed_is_cut_off, a_get_takes_data_then_done,
          done_without_data_is_refused, more_data_than_asked_for_is_refused,
          less_data_than_asked_for_is_refused, data_for_nobody_is_refused,
          done_for_nobody_is_refused, an_answer_before_the_data_left_is_refused)
