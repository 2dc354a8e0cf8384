/* Turns to plan on a standing DVM: one keelrun after the other, for as long as each may take. */
#include <config.h>

#include <base/data/clock.h>
#include <base/net/sock.h>
#include <base/settings/param.h>
#include <launcher/front/channel.h>
#include <launcher/head/hnp.h>
#include <launcher/head/standing.h>
#include <launcher/standing/talk.h>
#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/unit.h>
#include <unistd.h>
#include <wireup/proto.h>

static char session[] = "/tmp/kt.standing.XXXXXX", name[] = "n0";
static uint32_t daemon_of_node[1];
static struct map_node nodes[1] = {{.name = name, .slots = 4}};
static struct dvm_daemon daemons[1] = {{.state = DAEMON_WIRED, .node = name}};
static struct daemon head_daemon = {.session = session};
static struct loop *loop;
static struct hnp hnp;

/* A keelrun, and what it was told last. */
struct client {
    struct talk talk;
    uint8_t told;
    bool gone;
};

static int heard(void *arg, uint8_t kind, opal_buffer_t *buffer)
{
    struct client *client = arg;
    (void) buffer;
    client->told = kind;
    return ORTE_SUCCESS;
}

static void ended(void *arg)
{
    struct client *client = arg;
    client->gone = true;
    talk_close(&client->talk);
}

/* It wants to plan a job. */
static void come(struct client *client)
{
    static const struct talk_ops ops = {.heard = heard, .ended = ended};
    struct sock_addr addr;
    char path[64];
    snprintf(path, sizeof(path), "%s/" TALK_SOCKET, session);
    ck_assert_int_eq(sock_addr_unix(&addr, path), 0);
    int fd = sock_connect(&addr);
    ck_assert_int_ge(fd, 0);
    talk_open(&client->talk, fd);
    talk_serve(&client->talk, loop, &ops, client);
    opal_buffer_t *hello = proto_new(TALK_HELLO, "su", PACKAGE_VERSION, 077u);
    ck_assert_int_eq(proto_pack_strings(hello, NULL), OPAL_SUCCESS);
    ck_assert(talk_send(&client->talk, hello));
}

static void wait_until_told(const struct client *client, uint8_t kind)
{
    uint64_t deadline_us = clock_us() + 20000000u;
    while (client->told != kind) {
        ck_assert_uint_lt(clock_us(), deadline_us);
        loop_poll(loop);
        usleep(1000);
    }
}

/* A planner has 2 s. */
static void set_up(void)
{
    ck_assert_int_eq(param_override("plm_start_timeout_s", "1"), ORTE_SUCCESS);
    ck_assert_ptr_nonnull(mkdtemp(session));
    ck_assert_int_eq(loop_create(&loop), ORTE_SUCCESS);
    struct channel_end *front, *own;
    ck_assert_int_eq(channel_create(loop, &front, &own), ORTE_SUCCESS);
    channel_destroy(front); /* nobody listens */
    hnp = (struct hnp){.config = {.loop = loop, .front = own},
                       .plan = {.node_count = 1, .nodes = nodes},
                       .dvm = {.daemons = daemons, .count = 1},
                       .daemon = &head_daemon,
                       .daemon_of_node = daemon_of_node};
    list_init(&hnp.dvm.users);
    ck_assert_int_eq(standing_create(&hnp.standing, &hnp), ORTE_SUCCESS);
    struct dvm_user *user = container_of(hnp.dvm.users.next, struct dvm_user, link);
    user->ops->stands(user);
}

static void tear_down(struct client *clients, size_t count)
{
    char path[64];
    for (size_t i = 0; i < count; i++) {
        talk_close(&clients[i].talk);
    }
    standing_destroy(hnp.standing);
    channel_destroy(hnp.config.front);
    loop_destroy(loop);
    snprintf(path, sizeof(path), "%s/" TALK_SOCKET, session);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(session), 0);
}

START_TEST(test_whoever_takes_its_slots_gives_the_turn_away)
{
    struct client clients[2] = {0};
    set_up();
    come(&clients[0]);
    wait_until_told(&clients[0], TALK_NODES);
    come(&clients[1]);
    opal_buffer_t *take = proto_new(TALK_TAKE, "uu", 1u, 3u);
    ck_assert(talk_send(&clients[0].talk, take));
    wait_until_told(&clients[1], TALK_NODES);
    wait_until_told(&clients[1], TALK_OVER);
    ck_assert(!clients[0].gone);
    tear_down(clients, 2);
}
END_TEST

START_TEST(test_whoever_plans_too_long_loses_the_turn_to_one_that_waits)
{
    struct client clients[2] = {0};
    set_up();
    come(&clients[0]);
    wait_until_told(&clients[0], TALK_NODES);
    come(&clients[1]);
    wait_until_told(&clients[0], TALK_OVER);
    wait_until_told(&clients[1], TALK_NODES);
    tear_down(clients, 2);
}
END_TEST

UNIT_MAIN("standing")
