/* Long messages over several rails of different speeds. */
#include <config.h>

#include <pml/peers/core.h>
#include <ptl/rail/link.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/pml/world.h>

enum { KIB = 1024, MIB = 1024 * KIB, RANKS = 2 };
#define SECOND_NS UINT64_C(1000000000)

static struct keel_pml_context *ctx[RANKS];

static void open_world(const struct world_rules *rules)
{
    world_open(rules);
    for (int i = 0; i < RANKS; i++) {
        ck_assert_int_eq(pml_context_open(world.pml[i], 1, NULL, RANKS, i, &ctx[i]), OPAL_SUCCESS);
    }
}

static void close_world(void)
{
    for (int i = 0; i < RANKS; i++) {
        ck_assert_int_eq(keel_pml_context_free(&ctx[i]), OPAL_SUCCESS);
    }
    world_close();
}

/* Rails that claim the same speed, and have 500 and 200 MB/s. */
static struct world_rules rules_of(uint32_t flags)
{
    return (struct world_rules){.ranks = RANKS,
                                .rails = 2,
                                .speed = {5000, 2000},
                                .claims = 1000,
                                .flags = flags,
                                .first = 16 * KIB,
                                .min = 16 * KIB,
                                .max = SIZE_MAX,
                                .late = true,
                                .seed = 1};
}

static char byte_of(size_t offset)
{
    return (char) (offset * 7 + offset / 251);
}

struct message {
    char *from, *to;
    size_t size;
    struct keel_pml_request *send, *recv;
};

static void start(struct message *message, size_t size)
{
    opal_convertor_t data;
    *message = (struct message){.from = malloc(size), .to = calloc(1, size), .size = size};
    for (size_t i = 0; i < size; i++) {
        message->from[i] = byte_of(i);
    }
    opal_convertor_prepare(&data, message->to, size);
    ck_assert_int_eq(keel_pml_irecv(ctx[1], &data, 0, 5, &message->recv), OPAL_SUCCESS);
    opal_convertor_prepare(&data, message->from, size);
    ck_assert_int_eq(keel_pml_isend(ctx[0], &data, 1, 5, KEEL_PML_STANDARD, &message->send),
                     OPAL_SUCCESS);
}

static void finish(struct message *message)
{
    ck_assert_int_eq(keel_pml_wait(&message->recv, NULL), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_wait(&message->send, NULL), OPAL_SUCCESS);
    ck_assert(memcmp(message->from, message->to, message->size) == 0);
    free(message->from);
    free(message->to);
}

/* Of the bytes that moved since. */
static double share_of_first(const size_t before[2])
{
    double first = (double) (world.counts.moved[0] - before[0]);
    return first / (first + (double) (world.counts.moved[1] - before[1]));
}

/* The first rail has five sevenths of the speed. */
static void find_weights(uint32_t flags)
{
    const struct world_rules rules = rules_of(flags);
    struct message message;
    open_world(&rules);
    for (int i = 0; i < 16; i++) {
        size_t before[2];
        memcpy(before, world.counts.moved, sizeof(before));
        start(&message, 8 * MIB);
        finish(&message);
        double share = share_of_first(before);
        ck_assert_msg(i < 8 || (share > 0.66 && share < 0.77), "message %d: %.3f", i, share);
    }
    close_world();
}

UNIT_CASE(shares_of_fetches_follow_the_measured_speed,
          find_weights(MCA_PTL_FLAGS_EXTENDED | MCA_PTL_GET))
UNIT_CASE(shares_of_puts_follow_the_measured_speed,
          find_weights(MCA_PTL_FLAGS_EXTENDED | MCA_PTL_PUT))

/* Rounds in which the rails have to move the same; all rails together in less time than one. */
START_TEST(many_messages_use_all_rails_to_the_end)
{
    const struct world_rules rules = rules_of(MCA_PTL_FLAGS_EXTENDED | MCA_PTL_GET);
    static struct message messages[64];
    open_world(&rules);
    for (int i = 0; i < 64; i++) {
        start(&messages[i], 1 * MIB);
    }
    uint64_t begin = world_time(), bytes = 64 * MIB;
    for (int i = 0; i < 64; i++) {
        finish(&messages[i]);
    }
    double best = (double) bytes / 7000, took = (double) (world_time() - begin) / WORLD_ROUND_NS;
    ck_assert_msg(took < 1.1 * best, "%.0f rounds instead of %.0f", took, best);
    close_world();
}
END_TEST

START_TEST(what_a_rail_does_not_bring_comes_by_another)
{
    for (int broken = 1; broken <= 2; broken++) {
        const struct world_rules rules = rules_of(MCA_PTL_FLAGS_EXTENDED | MCA_PTL_GET);
        struct message messages[3];
        open_world(&rules);
        world.broken = broken;
        for (int i = 0; i < 3; i++) {
            start(&messages[i], 4 * MIB);
        }
        for (int i = 0; i < 3; i++) {
            finish(&messages[i]);
        }
        ck_assert_uint_eq(world.counts.moved[broken - 1], 0);
        ck_assert_uint_eq(world.counts.moved[2 - broken], 3 * (4 * MIB - rules.first));
        close_world();
    }
}
END_TEST

static void send_some(size_t size)
{
    for (int i = 0; i < 32; i++) {
        struct message message;
        start(&message, size);
        finish(&message);
    }
}

/* Each rail carries about half of them. */
static void send_some_by_both(size_t size)
{
    size_t before[2];
    memcpy(before, world.counts.moved, sizeof(before));
    send_some(size);
    const double share = share_of_first(before);
    ck_assert_msg(share > 0.4 && share < 0.6, "%.3f", share);
}

static void plug(int unplugged)
{
    world.unplugged = unplugged;
    world_disturb(0);
    world_disturb(1);
    world_progress();
}

/* It is left out while it is slow, and used again in a few seconds, by messages that go over it
 * once in each. */
START_TEST(a_rail_that_was_slow_is_used_again)
{
    enum { SIZE = 200 * KIB };
    struct world_rules rules = rules_of(MCA_PTL_FLAGS_EXTENDED | MCA_PTL_GET);
    rules.speed[0] = rules.speed[1] = 500;
    open_world(&rules);
    send_some(SIZE);
    world.rules.speed[1] = 10;
    send_some(SIZE);
    const size_t slow = world.counts.moved[1];
    const uint64_t slow_ns = world_time();
    while (world_time() < slow_ns + 2 * SECOND_NS) {
        send_some(SIZE);
    }
    const size_t probed = world.counts.moved[1] - slow;
    ck_assert_msg(probed > 0 && probed <= 2 * SIZE, "%zu bytes while it is slow", probed);
    world.rules.speed[1] = rules.speed[1];
    const uint64_t fast_ns = world_time();
    while (world_time() < fast_ns + 5 * SECOND_NS) {
        send_some(SIZE);
    }
    send_some_by_both(SIZE);
    close_world();
}
END_TEST

/* It was slow before it was lost, and claims much less than the other one turned out to have. */
START_TEST(a_rail_that_returns_is_used_at_once)
{
    enum { SIZE = 200 * KIB };
    struct world_rules rules =
        rules_of(MCA_PTL_FLAGS_EXTENDED | MCA_PTL_FLAGS_RECOVERS | MCA_PTL_GET);
    rules.speed[1] = rules.speed[0];
    rules.claims = 50;
    open_world(&rules);
    send_some(SIZE);
    world.rules.speed[1] = 20;
    send_some(SIZE);
    const size_t slow = world.counts.moved[1];
    send_some(SIZE);
    ck_assert_uint_eq(world.counts.moved[1], slow);
    plug(2);
    world.rules.speed[1] = rules.speed[1];
    send_some(SIZE);
    ck_assert_uint_eq(world.counts.moved[1], slow);
    plug(0);
    send_some_by_both(SIZE);
    close_world();
}
END_TEST

START_TEST(no_rail_brings_it)
{
    struct world_rules rules = rules_of(MCA_PTL_FLAGS_EXTENDED | MCA_PTL_GET);
    struct message message;
    rules.rails = 1;
    open_world(&rules);
    world.broken = 1;
    start(&message, MIB);
    ck_assert_int_eq(keel_pml_wait(&message.recv, NULL), OPAL_ERROR);
    (void) keel_pml_wait(&message.send, NULL);
    free(message.from);
    free(message.to);
    close_world();
}
END_TEST

START_TEST(short_messages_pass_long_ones)
{
    const struct world_rules rules = rules_of(MCA_PTL_FLAGS_EXTENDED | MCA_PTL_GET);
    static struct message longs[16];
    struct message brief;
    open_world(&rules);
    for (int i = 0; i < 16; i++) {
        start(&longs[i], 8 * MIB); /* more than may be under way */
    }
    world_progress();
    uint64_t begin = world_time();
    start(&brief, 8);
    finish(&brief);
    ck_assert_uint_lt((world_time() - begin) / WORLD_ROUND_NS, 100);
    for (int i = 0; i < 16; i++) {
        finish(&longs[i]);
    }
    close_world();
}
END_TEST

/* What the layers above BTL have of a process with two rails, one of them a standby, beside the
 * copies that are kept for it. */
START_TEST(a_peer_that_is_used_takes_little_memory)
{
    enum { WAYS = 2, LINE = 64 /* at which an endpoint of a roster begins */ };
    const size_t link = sizeof(struct rail_link), way = sizeof(struct mca_ptl_base_peer_t);
    const size_t all = sizeof(struct peer) + WAYS * (sizeof(struct ptl_path) + way) + link;
    ck_assert_uint_eq(link % LINE, 0);
    ck_assert_uint_eq(way % LINE, 0);
    ck_assert_uint_le(all, 512);
    ck_assert_uint_le(sizeof(struct peer_rails) + WAYS * sizeof(struct peer_rail), 128);
}
END_TEST

UNIT_MAIN("stripe")
