#include <arpa/inet.h>
#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tests/unit/btl/tcp/host.h>
#include <unistd.h>

enum { LIMIT_US = 5000000, RAW_FDS = 1024 };

struct tcp_host_shared {
    struct {
        volatile size_t size;
        uint8_t bytes[TCP_CARD_BYTES];
    } cards[TCP_HOST_RANKS];
};

const uint8_t tcp_host_key[KEY_BYTES] = {3, 1, 4, 1, 5, 9, 2, 6};

static struct tcp_host *current;
static uint16_t raw_sequences[RAW_FDS]; /* of what the raw peer sends next */

static const opal_proc_t *host_me(void *arg)
{
    struct tcp_host *host = arg;
    return &host->procs[host->rank];
}

static int host_put_card(void *arg, const char *key, const void *data, size_t size)
{
    struct tcp_host *host = arg;
    ck_assert_str_eq(key, "btl.tcp");
    memcpy(host->shared->cards[host->rank].bytes, data, size);
    __sync_synchronize();
    host->shared->cards[host->rank].size = size;
    return OPAL_SUCCESS;
}

static void host_get_card(void *arg, const opal_proc_t *peer, const char *key, keel_card_fn done,
                          void *done_arg)
{
    struct tcp_host *host = arg;
    size_t size = host->shared->cards[peer->proc_name.vpid].size;
    ck_assert_str_eq(key, "btl.tcp");
    if (size == 0) {
        done(done_arg, OPAL_ERR_NOT_FOUND, NULL, 0);
    } else {
        done(done_arg, OPAL_SUCCESS, host->shared->cards[peer->proc_name.vpid].bytes, size);
    }
}

static int host_peek_card(void *arg, const opal_proc_t *peer, const char *key, const void **data,
                          size_t *size)
{
    struct tcp_host *host = arg;
    ck_assert_str_eq(key, "btl.tcp");
    *data = host->shared->cards[peer->proc_name.vpid].bytes;
    *size = host->shared->cards[peer->proc_name.vpid].size;
    return *size > 0 ? OPAL_SUCCESS : OPAL_ERR_NOT_FOUND;
}

static int host_pair_key(void *arg, const orte_process_name_t *peer, const char *purpose,
                         uint8_t key[32])
{
    (void) arg;
    ck_assert_str_eq(purpose, "btl.tcp");
    if (peer->jobid != TCP_HOST_JOB) {
        return OPAL_ERR_NOT_FOUND;
    }
    memcpy(key, tcp_host_key, 32);
    return OPAL_SUCCESS;
}

static const char *host_session_dir(void *arg)
{
    (void) arg;
    return NULL;
}

const struct keel_host_ops tcp_host_ops = {
    .me = host_me,
    .put_card = host_put_card,
    .get_card = host_get_card,
    .pair_key = host_pair_key,
    .session_dir = host_session_dir,
    .peek_card = host_peek_card,
};

static void report(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *proc, char *text)
{
    (void) btl, (void) proc, (void) text;
    ck_assert_int_eq(flags, MCA_BTL_ERROR_FLAGS_NONFATAL);
    current->reports++;
}

void tcp_host_init(struct tcp_host *host)
{
    *host = (struct tcp_host){.rank = -1};
    for (unsigned i = 0; i < TCP_HOST_RANKS; i++) {
        host->procs[i] = (opal_proc_t){.proc_name = {TCP_HOST_JOB, i}, .hostname = "test"};
    }
    host->shared = mmap(NULL, sizeof(*host->shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(host->shared, MAP_FAILED);
}

void tcp_host_open(struct tcp_host *host, int rank)
{
    char reason[256] = "";
    size_t count;

    current = host;
    host->rank = rank;
    ck_assert_int_eq(param_override("btl", "tcp"), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("btl_tcp_if_include", "127.0.0.0/8"), ORTE_SUCCESS);
    ck_assert_msg(btl_open(&tcp_host_ops, host, reason, sizeof(reason)) == ORTE_SUCCESS, "%s",
                  reason);
    host->btl = btl_modules(&count)[0];
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(host->btl->btl_register_error(host->btl, report), OPAL_SUCCESS);
}

void tcp_host_close(struct tcp_host *host)
{
    btl_close();
    munmap(host->shared, sizeof(*host->shared));
}

struct mca_btl_base_endpoint_t *tcp_host_add(struct tcp_host *host, int rank)
{
    struct mca_btl_base_endpoint_t *ep = NULL;
    opal_proc_t *proc = &host->procs[rank];

    ck_assert_int_eq(host->btl->btl_add_procs(host->btl, 1, &proc, &ep, NULL), OPAL_SUCCESS);
    return ep;
}

void tcp_host_del(struct tcp_host *host, int rank, struct mca_btl_base_endpoint_t *ep)
{
    opal_proc_t *proc = &host->procs[rank];

    ck_assert_int_eq(host->btl->btl_del_procs(host->btl, 1, &proc, &ep), OPAL_SUCCESS);
}

void tcp_host_await(struct tcp_host *host, int rank)
{
    uint64_t end = clock_us() + LIMIT_US;

    while (host->shared->cards[rank].size == 0) {
        ck_assert_uint_lt(clock_us(), end);
        usleep(1000);
    }
}

void tcp_host_card(struct tcp_host *host, int rank, struct tcp_card *card)
{
    ck_assert_int_eq(
        tcp_card_decode(card, host->shared->cards[rank].bytes, host->shared->cards[rank].size),
        OPAL_SUCCESS);
}

void tcp_host_set_card(struct tcp_host *host, int rank, const struct tcp_card *card)
{
    host->shared->cards[rank].size = tcp_card_encode(host->shared->cards[rank].bytes, card);
}

void tcp_host_until(const unsigned *value, unsigned wanted)
{
    uint64_t end = clock_us() + LIMIT_US;

    while (*(const volatile unsigned *) value < wanted) {
        ck_assert_msg(clock_us() < end, "%u of %u after 5 s", *value, wanted);
        if (btl_progress() == 0) {
            usleep(50);
        }
    }
}

void tcp_host_polls(unsigned ms)
{
    uint64_t end = clock_us() + ms * 1000;

    while (clock_us() < end) {
        if (btl_progress() == 0) {
            usleep(50);
        }
    }
}

int tcp_host_send(struct tcp_host *host, struct mca_btl_base_endpoint_t *ep, uint8_t tag,
                  size_t size, uint32_t number)
{
    mca_btl_base_descriptor_t *descriptor = host->btl->btl_alloc(
        host->btl, ep, MCA_BTL_NO_ORDER, size, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);

    if (!descriptor) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    memset(descriptor->des_segments[0].seg_addr.pval, (int) (number & 0xff), size);
    memcpy(descriptor->des_segments[0].seg_addr.pval, &number, size < 4 ? size : 4);
    int status = host->btl->btl_send(host->btl, ep, descriptor, tag);
    if (status < 0) {
        host->btl->btl_free(host->btl, descriptor);
    }
    return status;
}

/* ---- raw peers ---- */

int raw_listen(struct tcp_host *host, int rank, uint64_t incarnation)
{
    struct tcp_card card = {.incarnation = incarnation,
                            .net = {.netstack = netcard_netstack(), .count = 1}};
    struct sock_addr addr;

    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET, "127.0.0.1", 0), 0);
    int fd = sock_listen(&addr, 16);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(sock_local_addr(fd, &addr), 0);
    card.net.addresses[0] = (struct netcard_address){
        .family = AF_INET, .prefix = 8, .port = sock_addr_port(&addr), .bytes = {127, 0, 0, 1}};
    tcp_host_set_card(host, rank, &card);
    return fd;
}

int raw_connect(struct tcp_host *host, uint8_t challenge[TCP_CHALLENGE_BYTES])
{
    struct tcp_card card;
    struct sock_addr addr;

    tcp_host_card(host, host->rank, &card);
    netcard_sock(&addr, &card.net.addresses[0]);
    int fd = sock_connect(&addr);
    ck_assert_int_ge(fd, 0);
    sock_nodelay(fd);
    if (challenge) {
        raw_read(fd, challenge, TCP_CHALLENGE_BYTES);
        ck_assert_int_eq(tcp_challenge_check(challenge), OPAL_SUCCESS);
    }
    return fd;
}

static struct tcp_hello hello_of(const struct tcp_host *host, int rank, uint64_t incarnation)
{
    return (struct tcp_hello){.from = host->procs[rank].proc_name,
                              .to = host->procs[host->rank].proc_name,
                              .incarnation = incarnation};
}

void raw_hello(uint8_t out[TCP_HELLO_BYTES], struct tcp_host *host, int rank, uint64_t incarnation,
               const uint8_t challenge[TCP_CHALLENGE_BYTES])
{
    const struct tcp_hello hello = hello_of(host, rank, incarnation);

    tcp_hello_encode(out, &hello, challenge, tcp_host_key);
}

/* Returns the verdict. */
static enum tcp_verdict say(int fd, const struct tcp_hello *words,
                            const uint8_t challenge[TCP_CHALLENGE_BYTES])
{
    uint8_t hello[TCP_HELLO_BYTES], answer[TCP_WELCOME_BYTES];
    struct tcp_welcome welcome;

    tcp_hello_encode(hello, words, challenge, tcp_host_key);
    raw_sequences[fd % RAW_FDS] = 0;
    raw_write(fd, hello, sizeof(hello));
    raw_read(fd, answer, sizeof(answer));
    ck_assert_int_eq(tcp_welcome_decode(&welcome, answer, challenge, hello, tcp_host_key),
                     OPAL_SUCCESS);
    return welcome.verdict;
}

enum tcp_verdict raw_say_lost(int fd, struct tcp_host *host, int rank, uint64_t incarnation,
                              const uint8_t challenge[TCP_CHALLENGE_BYTES])
{
    struct tcp_hello hello = hello_of(host, rank, incarnation);

    hello.lost = true;
    return say(fd, &hello, challenge);
}

int raw_open(struct tcp_host *host, int rank, uint64_t incarnation, enum tcp_verdict *verdict)
{
    return raw_open_lane(host, rank, incarnation, 0, verdict);
}

int raw_open_lane(struct tcp_host *host, int rank, uint64_t incarnation, unsigned lane,
                  enum tcp_verdict *verdict)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES];
    struct tcp_hello hello = hello_of(host, rank, incarnation);
    int fd = raw_connect(host, challenge);

    hello.lane = (uint8_t) lane;
    *verdict = say(fd, &hello, challenge);
    return fd;
}

int raw_accept(int listener, uint8_t challenge[TCP_CHALLENGE_BYTES], uint8_t hello[TCP_HELLO_BYTES])
{
    uint8_t nonce[TCP_NONCE_BYTES] = {9};
    uint64_t end = clock_us() + LIMIT_US;
    int fd;

    while ((fd = sock_accept(listener, NULL)) < 0) {
        ck_assert_int_eq(fd, -EAGAIN);
        ck_assert_uint_lt(clock_us(), end);
        btl_progress();
    }
    sock_nodelay(fd);
    tcp_challenge_encode(challenge, nonce);
    raw_write(fd, challenge, TCP_CHALLENGE_BYTES);
    raw_read(fd, hello, TCP_HELLO_BYTES);
    ck_assert_int_eq(tcp_hello_check(hello, challenge, tcp_host_key), OPAL_SUCCESS);
    return fd;
}

void raw_welcome(int fd, enum tcp_verdict verdict, uint64_t incarnation,
                 const uint8_t challenge[TCP_CHALLENGE_BYTES], const uint8_t hello[TCP_HELLO_BYTES])
{
    uint8_t bytes[TCP_WELCOME_BYTES];
    struct tcp_welcome welcome = {verdict, incarnation};

    tcp_welcome_encode(bytes, &welcome, challenge, hello, tcp_host_key);
    raw_sequences[fd % RAW_FDS] = 0;
    raw_write(fd, bytes, sizeof(bytes));
}

void raw_write(int fd, const void *data, size_t size)
{
    uint64_t end = clock_us() + LIMIT_US;
    const uint8_t *at = data;

    while (size > 0) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            ck_assert_msg(errno == EAGAIN, "%s", strerror(errno));
            ck_assert_uint_lt(clock_us(), end);
        } else {
            at += sent;
            size -= (size_t) sent;
        }
        btl_progress();
    }
}

void raw_read(int fd, void *data, size_t size)
{
    uint64_t end = clock_us() + LIMIT_US;
    uint8_t *at = data;

    while (size > 0) {
        ssize_t got = recv(fd, at, size, MSG_DONTWAIT);
        ck_assert_msg(got != 0, "the module closed the socket");
        if (got < 0) {
            ck_assert_msg(errno == EAGAIN, "%s", strerror(errno));
            ck_assert_msg(clock_us() < end, "%zu bytes are missing", size);
            btl_progress();
        } else {
            at += got;
            size -= (size_t) got;
        }
    }
}

bool raw_ended(int fd)
{
    uint64_t end = clock_us() + LIMIT_US;
    uint8_t byte;

    while (clock_us() < end) {
        ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT);
        if (got > 0) {
            return false;
        }
        if (got == 0 || errno != EAGAIN) {
            return true;
        }
        btl_progress();
    }
    return false;
}

uint16_t raw_sequence(int fd)
{
    return raw_sequences[fd % RAW_FDS]++;
}

void raw_frame(int fd, const struct tcp_frame *frame, const void *data)
{
    uint8_t header[TCP_HEADER_MAX];
    struct tcp_frame numbered = *frame;

    numbered.sequence = raw_sequence(fd);
    raw_write(fd, header, tcp_frame_encode(header, &numbered));
    if (data) {
        raw_write(fd, data, frame->size);
    }
}

void raw_read_frame(int fd, struct tcp_frame *frame)
{
    uint8_t header[TCP_HEADER_MAX];
    size_t got = TCP_PREFIX_BYTES;
    int taken;

    raw_read(fd, header, got);
    while ((taken = tcp_frame_decode(frame, header, got)) == 0) {
        raw_read(fd, header + got, 8);
        got += 8;
    }
    ck_assert_int_eq(taken, (int) got);
}
