/* Daemons over a network of the test's own: messages wait until the test delivers one of them, so
 * that every order is seen. */
#include <config.h>

#include <base/settings/param.h>
#include <launcher/node/server/allgather.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { DAEMONS_MAX = 32, MESSAGES_MAX = 4096, FAMILY = 0x70000 };

struct rml {
    uint32_t vpid;
    bool dead;
    rml_handler_fn handler;
    void *arg;
};

struct message {
    uint32_t from, to;
    opal_buffer_t *buffer;
};

static struct rml rmls[DAEMONS_MAX];
static struct allgather *daemons[DAEMONS_MAX];
static struct message messages[MESSAGES_MAX];
static size_t message_count;

int rml_give(struct rml *rml, const orte_process_name_t *peer, enum oob_class class,
             orte_rml_tag_t tag, opal_buffer_t *buffer)
{
    ck_assert(class == OOB_CONTROL && tag == RML_TAG_ALLGATHER && buffer);
    ck_assert(message_count < MESSAGES_MAX && peer->jobid == FAMILY && peer->vpid < DAEMONS_MAX);
    messages[message_count++] = (struct message){rml->vpid, peer->vpid, buffer};
    return ORTE_SUCCESS;
}

void rml_handle(struct rml *rml, orte_rml_tag_t tag, rml_handler_fn fn, void *arg)
{
    ck_assert_uint_eq(tag, RML_TAG_ALLGATHER);
    rml->handler = fn;
    rml->arg = arg;
}

/* Delivers one message; of a pair of daemons the first that was sent, as a link would. */
static void deliver(size_t which)
{
    size_t first = which;
    for (size_t i = which; i-- > 0;) {
        if (messages[i].from == messages[which].from && messages[i].to == messages[which].to) {
            first = i;
        }
    }
    struct message message = messages[first];
    memmove(messages + first, messages + first + 1, (--message_count - first) * sizeof(*messages));
    struct rml *to = &rmls[message.to];
    struct rml_info info = {.origin = {FAMILY, message.from}, .tag = RML_TAG_ALLGATHER};
    if (to->handler && !to->dead && !rmls[message.from].dead) {
        to->handler(to->arg, &info, &message.buffer);
    }
    if (message.buffer) {
        OBJ_RELEASE(message.buffer);
    }
}

static void deliver_all(void)
{
    while (message_count > 0) {
        deliver((size_t) random() % message_count);
    }
}

static void open_daemons(uint32_t count, uint32_t radix)
{
    for (uint32_t vpid = 0; vpid < count; vpid++) {
        orte_process_name_t me = {FAMILY, vpid};
        rmls[vpid] = (struct rml){.vpid = vpid};
        ck_assert_int_eq(allgather_create(&daemons[vpid], &rmls[vpid], &me, radix), ORTE_SUCCESS);
    }
}

static void close_daemons(uint32_t count)
{
    for (uint32_t vpid = 0; vpid < count; vpid++) {
        allgather_destroy(daemons[vpid]);
        daemons[vpid] = NULL;
    }
    while (message_count > 0) {
        OBJ_RELEASE(messages[--message_count].buffer);
    }
}

/* What one participant got. */
struct got {
    unsigned calls;
    int status;
    char data[4096];
    size_t size;
};

static void on_done(void *arg, int status, const uint8_t *data, size_t size)
{
    struct got *got = arg;
    ck_assert_uint_lt(size, sizeof(got->data));
    got->calls++;
    got->status = status;
    got->size = size;
    if (size > 0) {
        memcpy(got->data, data, size);
    }
    got->data[size] = '\0';
}

static void join(uint32_t vpid, const char *key, const uint32_t *members, uint32_t count,
                 int status, struct got *got)
{
    char text[32];
    snprintf(text, sizeof(text), "<%u>", vpid);
    ck_assert_int_eq(allgather_join(daemons[vpid], key, members, count, status, text, strlen(text),
                                    on_done, got),
                     ORTE_SUCCESS);
}

static void check_none_pending(uint32_t count)
{
    for (uint32_t vpid = 0; vpid < count; vpid++) {
        ck_assert_uint_eq(allgather_pending(daemons[vpid]), 0);
    }
}

static const uint32_t all[] = {0, 1, 2, 3, 4, 5, 6, 7};

START_TEST(test_one_daemon_is_done_at_once)
{
    struct got got = {0};
    uint32_t me[] = {0, 0, 0};
    open_daemons(1, 64);
    join(0, "key", me, 3, ORTE_SUCCESS, &got);
    ck_assert(got.calls == 1 && got.status == ORTE_SUCCESS);
    ck_assert_str_eq(got.data, "<0>");
    join(0, "key 2", me, 1, ORTE_ERR_TIMEOUT, &got);
    ck_assert(got.calls == 2 && got.status == ORTE_ERR_TIMEOUT && got.size == 0);
    check_none_pending(1);
    close_daemons(1);
}
END_TEST

/* Random participants, orders of joining and of messages, radixes; two operations at a time. */
static void one_round(int failing)
{
    uint32_t count = 2 + (uint32_t) random() % 12, radix = 1 + (uint32_t) random() % 4;
    uint32_t members[2][64], sizes[2] = {0};
    bool is_member[2][DAEMONS_MAX] = {{false}};
    struct got got[2][DAEMONS_MAX];
    memset(got, 0, sizeof(got));
    open_daemons(count, radix);
    for (int k = 0; k < 2; k++) {
        sizes[k] = 1 + (uint32_t) random() % 30; /* with repetitions */
        for (uint32_t i = 0; i < sizes[k]; i++) {
            members[k][i] = (uint32_t) random() % count;
            is_member[k][members[k][i]] = true;
        }
    }
    uint32_t culprit = members[0][0];
    uint32_t first = (uint32_t) random();
    for (uint32_t i = 0; i < 2 * count; i++) {
        uint32_t at = (first + i * (2 * count - 1)) % (2 * count), vpid = at / 2, k = at % 2;
        if (is_member[k][vpid]) {
            bool fails = failing && k == 0 && vpid == culprit;
            join(vpid, k ? "b" : "a", members[k], sizes[k],
                 fails ? ORTE_ERR_COMM_FAILURE : ORTE_SUCCESS, &got[k][vpid]);
        }
        for (long n = random() % 4; n > 0 && message_count > 0; n--) {
            deliver((size_t) random() % message_count);
        }
    }
    deliver_all();
    for (int k = 0; k < 2; k++) {
        const struct got *one = &got[k][members[k][0]];
        for (uint32_t vpid = 0; vpid < count; vpid++) {
            char text[32];
            snprintf(text, sizeof(text), "<%u>", vpid);
            ck_assert_uint_eq(got[k][vpid].calls, is_member[k][vpid]);
            if (!is_member[k][vpid]) {
                continue;
            }
            ck_assert_int_eq(got[k][vpid].status,
                             failing && k == 0 ? ORTE_ERR_COMM_FAILURE : ORTE_SUCCESS);
            ck_assert_str_eq(got[k][vpid].data, one->data);
            ck_assert_int_eq(strstr(one->data, text) != NULL, !(failing && k == 0));
        }
    }
    check_none_pending(count);
    close_daemons(count);
}

START_TEST(test_all_get_everything_in_one_order)
{
    srandom(11);
    for (int round = 0; round < 2000; round++) {
        one_round(0);
    }
}
END_TEST

START_TEST(test_one_error_reaches_all)
{
    srandom(12);
    for (int round = 0; round < 2000; round++) {
        one_round(1);
    }
}
END_TEST

/* The error comes to those who have joined before the others do. */
START_TEST(test_an_error_does_not_wait)
{
    struct got got[8] = {{0}};
    open_daemons(8, 2);
    join(0, "key", all, 8, ORTE_SUCCESS, &got[0]);
    join(5, "key", all, 8, ORTE_ERR_COMM_FAILURE, &got[5]);
    deliver_all();
    ck_assert(got[0].calls == 1 && got[0].status == ORTE_ERR_COMM_FAILURE);
    ck_assert(got[5].calls == 1 && got[5].status == ORTE_ERR_COMM_FAILURE);
    for (uint32_t vpid = 1; vpid < 8; vpid++) {
        if (vpid != 5) {
            join(vpid, "key", all, 8, ORTE_SUCCESS, &got[vpid]);
            ck_assert(got[vpid].calls == 1 && got[vpid].status == ORTE_ERR_COMM_FAILURE);
        }
    }
    deliver_all();
    check_none_pending(8);
    close_daemons(8);
}
END_TEST

START_TEST(test_a_lost_daemon_fails_it_for_the_rest)
{
    for (uint32_t lost = 0; lost < 8; lost++) {
        struct got got[8];
        memset(got, 0, sizeof(got));
        open_daemons(8, 2);
        for (uint32_t vpid = 0; vpid < 8; vpid++) {
            if (vpid != lost && vpid != 7) {
                join(vpid, "key", all, 8, ORTE_SUCCESS, &got[vpid]);
            }
        }
        deliver_all();
        rmls[lost].dead = true;
        for (uint32_t vpid = 0; vpid < 8; vpid++) {
            allgather_daemon_lost(daemons[vpid], lost);
        }
        deliver_all();
        if (lost != 7) {
            join(7, "key", all, 8, ORTE_SUCCESS, &got[7]); /* after the loss */
            deliver_all();
        }
        for (uint32_t vpid = 0; vpid < 8; vpid++) {
            ck_assert_uint_eq(got[vpid].calls, vpid != lost);
            ck_assert(vpid == lost || got[vpid].status == ORTE_ERR_COMM_FAILURE);
        }
        close_daemons(8);
    }
}
END_TEST

static struct got refuser;

static void refuse(void *arg, const char *key)
{
    ck_assert_ptr_eq(arg, &refuser);
    if (strcmp(key, "bad") == 0) {
        join(0, key, all, 3, ORTE_ERR_PERM, &refuser);
    }
}

/* Who watches may let fail what it will never join. */
START_TEST(test_a_watcher_hears_what_others_begin)
{
    struct got got[2] = {{0}};
    open_daemons(3, 64);
    allgather_watch(daemons[0], refuse, &refuser);
    ck_assert(!allgather_is_begun(daemons[0], "good"));
    join(1, "good", all, 3, ORTE_SUCCESS, &got[0]);
    join(1, "bad", all, 3, ORTE_SUCCESS, &got[1]);
    ck_assert(!allgather_is_begun(daemons[1], "good"));
    deliver_all();
    ck_assert(allgather_is_begun(daemons[0], "good"));
    ck_assert_uint_eq(got[0].calls, 0);
    ck_assert(got[1].calls == 1 && got[1].status == ORTE_ERR_PERM);
    ck_assert(refuser.calls == 1 && refuser.status == ORTE_ERR_PERM);
    close_daemons(3);
}
END_TEST

START_TEST(test_wrong_use_is_refused)
{
    struct got got = {0}, other = {0};
    const uint32_t strangers[] = {1, 2}, pair[] = {0, 1}, three[] = {0, 1, 2};
    char key[ALLGATHER_KEY_MAX + 2];
    open_daemons(3, 64);
    ck_assert_int_eq(allgather_join(daemons[0], "k", strangers, 2, 0, NULL, 0, on_done, &got),
                     ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(allgather_join(daemons[0], "k", pair, 0, 0, NULL, 0, on_done, &got),
                     ORTE_ERR_BAD_PARAM);
    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    ck_assert_int_eq(allgather_join(daemons[0], key, pair, 2, 0, NULL, 0, on_done, &got),
                     ORTE_ERR_BAD_PARAM);
    join(0, "k", pair, 2, ORTE_SUCCESS, &got);
    ck_assert_int_eq(allgather_join(daemons[0], "k", pair, 2, 0, NULL, 0, on_done, &got),
                     ORTE_EXISTS);
    join(1, "k", three, 3, ORTE_SUCCESS, &other); /* other participants than the first named */
    deliver_all();
    ck_assert(got.calls == 1 && got.status == ORTE_ERR_BAD_PARAM);
    allgather_forget(daemons[1], "k");
    ck_assert_uint_eq(allgather_pending(daemons[1]), 0);
    close_daemons(3);
}
END_TEST

START_TEST(test_memory_is_bounded)
{
    struct got got[3] = {{0}};
    static char data[3000];
    ck_assert_int_eq(param_override("allgather_max_bytes", "4096"), ORTE_SUCCESS);
    open_daemons(3, 64);
    for (uint32_t vpid = 0; vpid < 3; vpid++) {
        ck_assert_int_eq(
            allgather_join(daemons[vpid], "k", all, 3, 0, data, sizeof(data), on_done, &got[vpid]),
            ORTE_SUCCESS);
    }
    deliver_all();
    for (uint32_t vpid = 0; vpid < 3; vpid++) {
        ck_assert(got[vpid].calls == 1 && got[vpid].status == ORTE_ERR_OUT_OF_RESOURCE);
    }
    check_none_pending(3);
    /* what was held is free again */
    for (uint32_t vpid = 0; vpid < 3; vpid++) {
        ck_assert_int_eq(
            allgather_join(daemons[vpid], "l", all, 3, 0, data, 1300, on_done, &got[vpid]),
            ORTE_SUCCESS);
    }
    deliver_all();
    ck_assert(got[2].calls == 2 && got[2].status == ORTE_SUCCESS && got[2].size == 3900);
    close_daemons(3);
}
END_TEST

/* Another daemon's messages, cut short or with bytes changed. */
START_TEST(test_broken_messages_do_no_harm)
{
    srandom(13);
    for (int round = 0; round < 20000; round++) {
        struct got got[3] = {{0}};
        open_daemons(3, 64);
        join(0, "key", all, 3, ORTE_SUCCESS, &got[0]);
        join(1, "key", all, 3, ORTE_SUCCESS, &got[1]);
        ck_assert_uint_eq(message_count, 1);
        opal_buffer_t *buffer = messages[0].buffer;
        if (round % 2 == 0) {
            buffer->base_ptr[(size_t) random() % buffer->bytes_used] ^= (char) (1 << random() % 8);
        } else {
            buffer->bytes_used = (size_t) random() % buffer->bytes_used;
            buffer->pack_ptr = buffer->base_ptr + buffer->bytes_used;
        }
        deliver_all();
        join(2, "key", all, 3, ORTE_SUCCESS, &got[2]);
        deliver_all();
        close_daemons(3);
    }
}
END_TEST

UNIT_MAIN("allgather")
