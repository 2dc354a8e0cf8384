/* Small messages that stand for large ones, from a peer that has the key: refused, with the reason,
 * whether the claim is the lie or the stream; the link stays, and memory stays in its bounds. */
#include "cluster.h"
#include <base/data/clock.h>
#include <base/data/le.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <rml/message/pack.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { TAG = 200, MIB = 1 << 20, SLACK = 16 * MIB };
/* Sanitizers keep freed memory for a while. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PLAIN = 0 };
#else
enum { PLAIN = 1 };
#endif

static struct node daemon_node, peer_node;
static struct rml_peer *target; /* the daemon, as the peer sees it */
static uint64_t position;       /* of the peer's next frame */
static atomic_uint too_much, broken;

static void count_lines(void *arg, enum log_level level, const char *line)
{
    (void) arg;
    if (level <= LOG_WARN) {
        atomic_fetch_add(&too_much,
                         strstr(line, "stands for too much is refused: tag 200") != NULL);
        atomic_fetch_add(&broken, strstr(line, "cannot be unpacked is refused: tag 200") != NULL);
    }
}

/* A value of /proc/self/status in bytes. */
static size_t status_bytes(const char *name)
{
    char line[256];
    size_t kib = 0, length = strlen(name);
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, name, length) == 0) {
            kib = strtoul(line + length, NULL, 10);
        }
    }
    if (file) {
        fclose(file);
    }
    return kib * 1024;
}

static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    ck_assert(file && fputs("5", file) >= 0 && fclose(file) == 0);
}

/* A peer that proved the key and has said hello, so that both know each other's incarnation. */
static void open_pair(enum node_kind kind)
{
    static const uint32_t daemon_of[] = {0};
    bool daemon = kind == NODE_DAEMON_TCP;
    log_set_sink(count_lines, NULL);
    cluster_begin();
    node_open(&daemon_node, NODE_DAEMON_TCP, DAEMON(0), 64);
    rml_route_tree(daemon_node.rml, 2);
    ck_assert_int_eq(rml_route_job(daemon_node.rml, 0x50001, 1, daemon_of), ORTE_SUCCESS);
    node_open(&peer_node, kind, daemon ? DAEMON(1) : RANK(0), 64);
    if (daemon) {
        rml_route_tree(peer_node.rml, 2);
    }
    node_link(&peer_node, &daemon_node);
    target = rml_peer_find(&peer_node.rml->peers, &daemon_node.name);
    ck_assert_ptr_nonnull(target);
    position = 0;
}

static void close_pair(void)
{
    node_close(&peer_node);
    node_close(&daemon_node);
    cluster_end();
    log_set_sink(NULL, NULL);
}

struct bomb {
    struct oob_tx tx;
    sem_t left;
};

static void bomb_left(struct oob_tx *tx, int status)
{
    (void) status;
    sem_post(&container_of(tx, struct bomb, tx)->left);
}

/* As the peer's next frame of the control class, past its session, which would not say this. */
static void throw_frame(const uint8_t *payload, size_t size)
{
    struct bomb bomb = {.tx = {.class = OOB_CONTROL,
                               .header_size = RML_WIRE_SIZE,
                               .iov_count = 1,
                               .iov = {{(void *) (uintptr_t) payload, size}},
                               .done = bomb_left}};
    struct rml_header header = {
        .stamp = {.kind = RML_DATA,
                  .class = OOB_CONTROL,
                  .length = (uint32_t) size,
                  .epoch = peer_node.rml->config.epoch,
                  .dest_epoch = daemon_node.rml->config.epoch,
                  .sequence = position},
        .role = peer_node.rml->config.role,
        .format = RML_PACKED_NON_DESC,
        .tag = TAG,
        .total = (uint32_t) size,
        .origin = peer_node.name,
        .dest = daemon_node.name,
    };
    sem_init(&bomb.left, 0, 0);
    list_init(&bomb.tx.link);
    rml_header_encode(bomb.tx.header, &header);
    oob_send(target->link, &bomb.tx);
    wait_sem(&bomb.left);
    sem_destroy(&bomb.left);
    position += rml_stamp_cost((uint32_t) size);
}

/* Zeros, packed, under any claim. */
static uint8_t *make_bomb(size_t zeros, uint32_t claim, size_t *size)
{
    uint8_t *data = calloc(1, zeros);
    ck_assert_ptr_nonnull(data);
    uint8_t *packed = rml_pack(data, zeros, size);
    ck_assert_ptr_nonnull(packed);
    free(data);
    put_le32(packed, claim);
    return packed;
}

static void expect_refused(size_t zeros, uint32_t claim)
{
    size_t size;
    uint64_t before = count_of(&daemon_node, &daemon_node.rml->counters.malformed);
    uint8_t *bomb = make_bomb(zeros, claim, &size);
    ck_assert_uint_le(size, RML_FRAME_MAX);
    forget_peak();
    size_t rest = status_bytes("VmRSS:");
    throw_frame(bomb, size);
    wait_count(&daemon_node, &daemon_node.rml->counters.malformed, before + 1);
    size_t peak = status_bytes("VmHWM:");
    ck_assert_msg(!PLAIN || peak < rest + SLACK, "%zu bytes, then %zu", rest, peak);
    free(bomb);
}

static uint64_t came(void)
{
    pthread_mutex_lock(&daemon_node.rml->lock);
    const struct rml_peer *peer = rml_peer_find(&daemon_node.rml->peers, &peer_node.name);
    uint64_t bytes = peer ? peer->grant[OOB_CONTROL].came : 0;
    pthread_mutex_unlock(&daemon_node.rml->lock);
    return bytes;
}

/* It is one peer's fault, and nobody's end. */
static void expect_link_lives(void)
{
    pthread_mutex_lock(&daemon_node.rml->lock);
    const struct rml_peer *peer = rml_peer_find(&daemon_node.rml->peers, &peer_node.name);
    bool up = peer && peer->state == RML_PEER_UP;
    pthread_mutex_unlock(&daemon_node.rml->lock);
    ck_assert(up);
}

START_TEST(claims_and_streams_that_lie_are_refused)
{
    ck_assert_int_eq(param_override("rml_unpack_max", "32m"), ORTE_SUCCESS);
    open_pair(NODE_DAEMON_TCP);
    expect_refused(32 * MIB + 1, 32 * MIB + 1); /* more than is believed, and true */
    expect_refused(100, 0xffffffff);
    ck_assert_uint_ge(atomic_load(&too_much), 1); /* one line a second */
    usleep(1100000);
    expect_refused(100, 31 * MIB);        /* more than so many bytes can stand for */
    expect_refused(48 * MIB, 4096);       /* less than it is */
    expect_refused(8 * MIB, 8 * MIB + 1); /* more than it is */
    ck_assert_uint_ge(atomic_load(&broken), 1);
    expect_link_lives();
    close_pair();
}
END_TEST

/* Ranks and tools hold a key too, but have no large control messages to send. */
START_TEST(a_rank_is_believed_less)
{
    ck_assert_int_eq(param_override("rml_unexpected_max", "4m"), ORTE_SUCCESS);
    open_pair(NODE_RANK);
    expect_refused(4 * MIB + 1, 4 * MIB + 1);
    ck_assert_uint_ge(atomic_load(&too_much), 1);
    expect_link_lives();
    close_pair();
}
END_TEST

/* As many as the link carries, each as large as is believed, and nobody reads them. */
START_TEST(many_that_are_believed_are_bounded)
{
    enum { BOMBS = 400 };
    size_t size;
    ck_assert_int_eq(param_override("rml_unpack_max", "1m"), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("rml_unexpected_max", "8m"), ORTE_SUCCESS);
    open_pair(NODE_DAEMON_TCP);
    uint8_t *bomb = make_bomb(MIB, MIB, &size);
    forget_peak();
    size_t rest = status_bytes("VmRSS:");
    uint64_t all = came() + BOMBS * rml_stamp_cost((uint32_t) size);
    for (int i = 0; i < BOMBS; i++) {
        throw_frame(bomb, size);
    }
    for (uint64_t end = clock_us() + WAIT_S * 1000000u; came() < all && clock_us() < end;) {
        usleep(1000);
    }
    ck_assert_uint_ge(came(), all);
    size_t peak = status_bytes("VmHWM:");
    printf("# %d times 1 MiB in %zu bytes each: %zu KiB\n", BOMBS, size, (peak - rest) / 1024);
    ck_assert_msg(!PLAIN || peak < rest + 8 * MIB + SLACK, "%zu bytes, then %zu", rest, peak);
    expect_link_lives();
    free(bomb);
    close_pair();
}
END_TEST

UNIT_MAIN("rml/bomb")
