/* The calls of keel.h and orte_rml between all ranks of a job, for the system tests: the same under
 * every launcher. Each mistake is told and ends the job; rank 0 prints "peers: N ranks passed".
 *
 *   peers [again]     again: a second keel_init must be refused
 */
#include <keel/keel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_RING = 101, TAG_MANY, TAG_BIG, TAG_NB, TAG_SELF, TAG_NOTHING };
enum { BIG = 3000001, LATE = 7 };

static orte_process_name_t me;
static uint32_t size;

static void must(int passed, const char *what)
{
    if (!passed) {
        keel_abort(1, "rank %u: %s", me.vpid, what);
    }
}

static void must_be(int expected, int status, const char *what)
{
    if (expected != status) {
        keel_abort(1, "rank %u: %s: %d (%s) instead of %d", me.vpid, what, status,
                   opal_strerror(status), expected);
    }
}

static orte_process_name_t rank(uint32_t vpid)
{
    return (orte_process_name_t){me.jobid, vpid % size};
}

/* --- cards --- */

static void expect_card(uint32_t from, const char *key, const char *expected)
{
    void *data = NULL;
    size_t length = 0;
    orte_process_name_t peer = rank(from);
    must_be(ORTE_SUCCESS, keel_modex_recv(&peer, key, &data, &length), key);
    must(length == strlen(expected) && (length == 0 || memcmp(data, expected, length) == 0), key);
    free(data);
}

static void expect_no_card(uint32_t from, const char *key)
{
    void *data = &me;
    size_t length = LATE;
    orte_process_name_t peer = rank(from);
    must_be(ORTE_ERR_NOT_FOUND, keel_modex_recv(&peer, key, &data, &length), key);
    must(data == &me && length == LATE, "an error wrote something");
}

static void cards(void)
{
    static char most[64 << 10];
    char text[32];
    expect_no_card(me.vpid + 1, "late"); /* nobody has sent anything since keel_init */
    snprintf(text, sizeof(text), "%u of %u", me.vpid, size);
    must_be(ORTE_SUCCESS, keel_modex_send("who", text, strlen(text)), "who");
    must_be(ORTE_SUCCESS, keel_modex_send("empty", NULL, 0), "empty");
    must_be(ORTE_EXISTS, keel_modex_send("who", text, strlen(text)), "who again");
    must_be(ORTE_SUCCESS, keel_fence(), "fence");
    must_be(ORTE_EXISTS, keel_modex_send("who", text, strlen(text)), "who after the fence");
    for (uint32_t from = 0; from < size; from++) {
        snprintf(text, sizeof(text), "%u of %u", from, size);
        expect_card(from, "who", text);
        expect_card(from, "empty", "");
    }
    must_be(ORTE_SUCCESS, keel_fence(), "fence");
    if (me.vpid % 2 == 1) { /* only some have more, some fences later */
        memset(most, 'x', sizeof(most));
        must_be(ORTE_SUCCESS, keel_modex_send("late", most, sizeof(most)), "late");
    }
    must_be(ORTE_SUCCESS, keel_fence(), "fence");
    for (uint32_t from = me.vpid; from < me.vpid + 2; from++) {
        void *data;
        size_t length;
        orte_process_name_t peer = rank(from);
        if (peer.vpid % 2 == 1) {
            must_be(ORTE_SUCCESS, keel_modex_recv(&peer, "late", &data, &length), "late");
            must(length == sizeof(most), "late has another size");
            free(data);
        } else {
            expect_no_card(from, "late");
        }
        expect_card(from, "empty", "");
    }
    orte_process_name_t stranger = {me.jobid, size};
    void *data;
    size_t length;
    must_be(ORTE_ERR_NOT_FOUND, keel_modex_recv(&stranger, "who", &data, &length), "stranger");
}

/* --- messages --- */

static void ring(void)
{
    orte_process_name_t left = rank(me.vpid + size - 1), right = rank(me.vpid + 1);
    for (uint32_t round = 0; round < 100; round++) {
        uint32_t out[2] = {me.vpid, round}, in[2] = {~0u, ~0u};
        struct iovec part = {out, sizeof(out)}, into = {in, sizeof(in)};
        must_be(sizeof(out), orte_rml.send(&right, &part, 1, TAG_RING, 0), "send");
        must_be(sizeof(in), orte_rml.recv(&left, &into, 1, TAG_RING, 0), "receive");
        must(in[0] == left.vpid && in[1] == round, "the ring's order");
    }
}

/* Everybody sends to everybody; nobody says from whom he receives. */
static void all_to_all(void)
{
    orte_process_name_t any = {me.jobid, ORTE_VPID_WILDCARD};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < size; i++) {
        orte_process_name_t peer = rank(me.vpid + i);
        opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
        must(buffer && opal_dss.pack(buffer, &me.vpid, 1, OPAL_UINT32) == OPAL_SUCCESS, "pack");
        must(orte_rml.send_buffer(&peer, buffer, TAG_MANY, 0) >= 0, "send_buffer");
        OBJ_RELEASE(buffer);
    }
    for (uint32_t i = 0; i < size; i++) {
        uint32_t who = 0;
        int32_t count = 1;
        opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
        must(buffer && orte_rml.recv_buffer(&any, buffer, TAG_MANY, 0) >= 0, "recv_buffer");
        must_be(OPAL_SUCCESS, opal_dss.unpack(buffer, &who, &count, OPAL_UINT32), "unpack");
        OBJ_RELEASE(buffer);
        sum += who;
    }
    must(sum == (uint64_t) size * (size - 1) / 2, "some rank was not heard");
}

static void big(void)
{
    static uint8_t out[BIG], in[BIG];
    orte_process_name_t left = rank(me.vpid + size - 1), right = rank(me.vpid + 1);
    struct iovec parts[] = {{out, 1000}, {out + 1000, BIG - 1000}}, into = {in, BIG};
    for (size_t i = 0; i < BIG; i++) {
        out[i] = (uint8_t) (i * 31 + me.vpid);
    }
    must_be(BIG, orte_rml.send(&right, parts, 2, TAG_BIG, 0), "a big send");
    must_be(BIG, orte_rml.recv(&left, &into, 1, TAG_BIG, 0), "a big receive");
    for (size_t i = 0; i < BIG; i++) {
        must(in[i] == (uint8_t) (i * 31 + left.vpid), "a big message's bytes");
    }
}

static unsigned received, sent;

static void on_received(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                        orte_rml_tag_t tag, void *arg)
{
    uint32_t who = 0;
    int32_t count = 1;
    must(tag == TAG_NB && arg == &received, "a callback's arguments");
    must_be(ORTE_SUCCESS, status, "a callback's status");
    must_be(OPAL_SUCCESS, opal_dss.unpack(buffer, &who, &count, OPAL_UINT32), "unpack");
    must(peer->jobid == me.jobid && peer->vpid == who, "a callback's peer");
    received++;
}

static void on_sent(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                    orte_rml_tag_t tag, void *arg)
{
    (void) peer;
    (void) msg;
    (void) count;
    (void) tag;
    (void) arg;
    must_be(sizeof(uint32_t), status, "send_nb's status");
    sent++;
}

static void on_packed_sent(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                           orte_rml_tag_t tag, void *arg)
{
    (void) peer;
    (void) tag;
    (void) arg;
    must_be(ORTE_SUCCESS, status, "send_buffer_nb's status");
    OBJ_RELEASE(buffer);
    sent++;
}

static void without_blocking(void)
{
    uint32_t nothing = 0;
    struct iovec part = {&nothing, sizeof(nothing)};
    orte_process_name_t any = {ORTE_JOBID_WILDCARD, ORTE_VPID_WILDCARD}, next = rank(me.vpid + 1);
    must_be(ORTE_SUCCESS,
            orte_rml.recv_buffer_nb(&any, TAG_NB, ORTE_RML_PERSISTENT, on_received, &received),
            "recv_buffer_nb");
    for (uint32_t i = 0; i < size; i++) {
        orte_process_name_t peer = rank(me.vpid + i);
        opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
        must(buffer && opal_dss.pack(buffer, &me.vpid, 1, OPAL_UINT32) == OPAL_SUCCESS, "pack");
        must_be(ORTE_SUCCESS,
                orte_rml.send_buffer_nb(&peer, buffer, TAG_NB, 0, on_packed_sent, NULL),
                "send_buffer_nb");
    }
    must_be(ORTE_SUCCESS, orte_rml.send_nb(&next, &part, 1, TAG_NOTHING, 0, on_sent, NULL),
            "send_nb");
    while (received < size || sent < size + 1) {
        keel_progress();
    }
    must_be(ORTE_SUCCESS, orte_rml.recv_cancel(&any, TAG_NB), "recv_cancel");
    orte_process_name_t stranger = {me.jobid, size};
    must_be(ORTE_ERR_ADDRESSEE_UNKNOWN, orte_rml.send(&stranger, &part, 1, TAG_NOTHING, 0),
            "a send to nobody");
}

static void rails(void)
{
    for (uint32_t i = 0; i < size; i++) {
        size_t count = 0;
        orte_process_name_t peer = rank(i);
        const struct keel_rail *rail = keel_rails(&peer, &count);
        const opal_proc_t *proc = keel_proc(&peer), *mine = keel_proc(&me);
        must(rail && count > 0, "no rail");
        must(proc && mine && proc->hostname && proc->local_rank < size, "no process");
        const char *name = rail[0].btl->btl_component->btl_version.mca_component_name;
        bool near = strcmp(name, "sm") == 0 || strcmp(name, "self") == 0;
        must(near == (proc->node == mine->node), name);
    }
}

int main(int argc, char **argv)
{
    if (keel_init(NULL) != ORTE_SUCCESS) {
        return 77;
    }
    me = *keel_my_name();
    size = keel_job_size();
    must(me.vpid < size, "its own rank");
    cards();
    ring();
    all_to_all();
    big();
    without_blocking();
    rails();
    must_be(ORTE_SUCCESS, keel_fence(), "fence");
    must_be(ORTE_SUCCESS, keel_finalize(), "keel_finalize");
    if (argc > 1 && strcmp(argv[1], "again") == 0 && keel_init(NULL) != ORTE_ERR_PERM) {
        return 78;
    }
    if (me.vpid == 0) {
        printf("peers: %u ranks passed\n", size);
    }
    return 0;
}
