/* Random histories in which a rank ends: whatever the others had to do with it ends as well, with
 * an error or with what had come before; what they do with each other goes on. */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/pml/world.h>

enum { RANKS = 3, REQUESTS = 60, ROOM = 1500, FIRST = 64, ANY = KEEL_PML_ANY_SOURCE };

struct asked {
    struct keel_pml_request *request;
    int me, peer; /* ANY */
    bool sends;
    bool persistent;
    char bytes[ROOM];
};

static struct keel_pml_context *ctx[RANKS];
static struct asked asked[REQUESTS];
static size_t count;
static int doomed;

static bool is_about_the_dead(const struct asked *one)
{
    return one->me == doomed || one->peer == doomed;
}

/* What both sides of a pair use: the tag says how long the message is. */
static size_t size_of(int32_t tag)
{
    const size_t sizes[] = {0, 10, FIRST, FIRST + 1, 400, ROOM};
    return sizes[tag];
}

static int ask(struct asked *one, int32_t tag)
{
    opal_convertor_t data;
    const keel_pml_mode_t mode = (keel_pml_mode_t) world_random(4);
    one->persistent = world_random(5) == 0;
    memset(one->bytes, one->sends ? 'a' + tag : 0, ROOM);
    opal_convertor_prepare(&data, one->bytes, size_of(tag));
    if (!one->persistent) {
        return one->sends ? keel_pml_isend(ctx[one->me], &data, one->peer, tag, mode, &one->request)
                          : keel_pml_irecv(ctx[one->me], &data, one->peer, tag, &one->request);
    }
    int status = one->sends
                     ? keel_pml_send_init(ctx[one->me], &data, one->peer, tag, mode, &one->request)
                     : keel_pml_recv_init(ctx[one->me], &data, one->peer, tag, &one->request);
    return status == OPAL_SUCCESS ? keel_pml_start(one->request) : status;
}

/* A message and its receive, in either order. */
static void ask_pair(void)
{
    int from = (int) world_random(RANKS), to = (int) world_random(RANKS);
    int32_t tag = (int32_t) world_random(6);
    bool sends = world_random(2);
    for (int i = 0; i < 2; i++, sends = !sends) {
        struct asked *one = &asked[count];
        *one = (struct asked){.me = sends ? from : to, .peer = sends ? to : from, .sends = sends};
        if (world.dead[one->me]) {
            continue;
        }
        int status = ask(one, tag);
        if (status != OPAL_SUCCESS) {
            ck_assert_int_eq(status, OPAL_ERR_UNREACH);
            ck_assert(is_about_the_dead(one));
            (void) keel_pml_request_free(&one->request);
        } else {
            count++;
        }
    }
}

static bool is_over(struct asked *one)
{
    struct keel_pml_status status;
    bool done = false;
    if (!one->request || one->me == doomed) {
        return true;
    }
    int error = keel_pml_test(&one->request, &done, &status);
    if (!done) {
        return false;
    }
    ck_assert(error == OPAL_SUCCESS || is_about_the_dead(one));
    ck_assert(error == OPAL_SUCCESS || error == OPAL_ERR_UNREACH);
    for (size_t i = 0; error == OPAL_SUCCESS && !one->sends && i < status.bytes; i++) {
        ck_assert_int_eq(one->bytes[i], 'a' + status.tag);
    }
    (void) keel_pml_request_free(&one->request);
    return true;
}

static size_t under_way(void)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        left += !is_over(&asked[i]);
    }
    return left;
}

static void history(const struct world_rules *rules)
{
    world_open(rules);
    count = 0;
    doomed = (int) world_random(RANKS);
    for (int i = 0; i < RANKS; i++) {
        ck_assert_int_eq(pml_context_open(world.pml[i], 7, NULL, RANKS, i, &ctx[i]), OPAL_SUCCESS);
    }
    world.doomed = doomed;
    world.doom = 1 + (int) world_random(40);
    while (count + 2 <= REQUESTS) {
        ask_pair();
        if (world_random(4) == 0) {
            world_progress();
        }
    }
    for (int round = 0; !world.dead[doomed] || under_way() > 0; round++) {
        ck_assert_int_lt(round, 3000);
        world_progress();
    }
    for (int i = 0; i < RANKS; i++) {
        if (i != doomed) {
            ck_assert_int_eq(keel_pml_context_free(&ctx[i]), OPAL_SUCCESS);
        }
    }
    world_close();
}

static void histories(uint32_t flags)
{
    for (unsigned i = 0; i < WORLD_GRAVES; i++) {
        const struct world_rules rules = {
            .ranks = RANKS,
            .flags = MCA_PTL_FLAGS_EXTENDED | flags,
            .first = FIRST,
            .max = 128,
            .delay = i % 2 ? 6 : 0,
            .reorders = i % 4 > 0,
            .splits = i % 3 == 1,
            .late = i % 7 > 3,
            .room = i % 5 > 2 ? 1 + i % 3 : 0,
            .refuses = i % 5 == 2 ? 20 : 0,
            .immediate = i % 8 > 3,
            .seed = i * 104729 + flags,
        };
        history(&rules);
    }
}

UNIT_CASE(modules_that_put, histories(MCA_PTL_PUT))
UNIT_CASE(modules_that_get, histories(MCA_PTL_GET))

/* The receivers ask for no data all the time. */
START_TEST(receivers_without_room)
{
    setenv("KEEL_MCA_pml_unexpected_size", "500", 1);
    histories(MCA_PTL_PUT);
}
END_TEST

UNIT_MAIN("pml-deaths")
