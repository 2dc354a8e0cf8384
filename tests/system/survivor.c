/* Ranks that send each other numbered messages and broadcasts while the daemons between them are
 * killed. Usage: survivor COUNT LOST...: the ranks LOST end by themselves only; the others send
 * COUNT messages to each other and COUNT broadcasts to all, and check that each arrives once and in
 * order. Receives that name the
 * lost must end with ORTE_ERR_COMM_FAILURE. Prints "half RANK" in the middle, and "rank RANK: all,
 * once, in order". */
#include <keel/keel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAG_PLAIN = 200, TAG_CAST, TAG_READY, TAG_NEVER, RANKS_MAX = 64, BYTES = 600, LIMIT_S = 25 };

static uint32_t me, size, count, others; /* others: who live, without me */
static bool lost[RANKS_MAX];
static uint32_t plain[RANKS_MAX], casts[RANKS_MAX], ready, given_up;

static void fail(const char *what, uint32_t from, uint32_t number)
{
    printf("rank %u: %s %u of rank %u\n", me, what, number, from);
    fflush(stdout);
    _exit(9);
}

static void got(int status, orte_process_name_t *peer, opal_buffer_t *buffer, orte_rml_tag_t tag,
                void *arg)
{
    uint32_t *next = arg, number = 0, rest;
    int32_t n = 1;
    if (status != ORTE_SUCCESS || peer->vpid >= size ||
        opal_dss.unpack(buffer, &number, &n, OPAL_UINT32) != OPAL_SUCCESS) {
        fail("cannot read a message", peer->vpid, tag);
    }
    if (number != next[peer->vpid]++) {
        fail(tag == TAG_CAST ? "unexpected broadcast" : "unexpected message", peer->vpid, number);
    }
    rest = (uint32_t) (buffer->bytes_used);
    if (rest < BYTES) {
        fail("short message", peer->vpid, number);
    }
}

static void got_nothing(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                        orte_rml_tag_t tag, void *arg)
{
    (void) buffer;
    (void) tag;
    if (status != ORTE_ERR_COMM_FAILURE) {
        fail("something came", peer->vpid, (uint32_t) -status);
    }
    ++*(uint32_t *) arg;
}

static void got_ready(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                      orte_rml_tag_t tag, void *arg)
{
    (void) status;
    (void) peer;
    (void) buffer;
    (void) tag;
    ++*(uint32_t *) arg;
}

static void sent(int status, orte_process_name_t *peer, opal_buffer_t *buffer, orte_rml_tag_t tag,
                 void *arg)
{
    (void) tag;
    (void) arg;
    OBJ_RELEASE(buffer);
    if (status < 0) {
        fail("a message failed", peer->vpid, (uint32_t) -status);
    }
}

static opal_buffer_t *message(uint32_t number)
{
    static uint8_t bytes[BYTES];
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    if (!buffer || opal_dss.pack(buffer, &number, 1, OPAL_UINT32) != OPAL_SUCCESS ||
        opal_dss.pack(buffer, bytes, BYTES, OPAL_BYTE) != OPAL_SUCCESS) {
        fail("no memory for", me, number);
    }
    return buffer;
}

static void send_all(uint32_t number, orte_rml_tag_t tag)
{
    for (uint32_t rank = 0; rank < size; rank++) {
        if (rank == me || lost[rank]) {
            continue;
        }
        orte_process_name_t peer = {keel_my_name()->jobid, rank};
        opal_buffer_t *buffer = message(number);
        int status = orte_rml.send_buffer_nb(&peer, buffer, tag, 0, sent, NULL);
        if (status < 0) {
            fail("cannot send", rank, number);
        }
    }
}

static bool all_came(void)
{
    for (uint32_t rank = 0; rank < size; rank++) {
        if (!lost[rank] && (casts[rank] < count || (rank != me && plain[rank] < count))) {
            return false;
        }
    }
    return true;
}

static void wait_until(bool (*reached)(void), const char *what)
{
    time_t end = time(NULL) + LIMIT_S;
    while (!reached()) {
        keel_progress();
        usleep(200);
        if (time(NULL) > end) {
            for (uint32_t rank = 0; rank < size; rank++) {
                printf("rank %u: from %u: %u messages, %u broadcasts\n", me, rank, plain[rank],
                       casts[rank]);
            }
            printf("rank %u: %u ready, %u given up\n", me, ready, given_up);
            fail(what, me, given_up);
        }
    }
}

static bool all_ready(void)
{
    return ready == others && given_up + others + 1 == size;
}

static void run(void)
{
    for (uint32_t number = 0; number < count; number++) {
        opal_buffer_t *buffer = message(number);
        send_all(number, TAG_PLAIN);
        int status = keel_xcast(keel_my_name()->jobid, buffer, TAG_CAST);
        if (status != ORTE_SUCCESS) {
            fail("cannot broadcast", me, number);
        }
        OBJ_RELEASE(buffer);
        if (number == count / 2) {
            printf("half %u\n", me);
            fflush(stdout);
        }
        for (int i = 0; i < 10; i++) {
            keel_progress();
            usleep(200);
        }
    }
    wait_until(all_came, "not all came");
    send_all(0, TAG_READY);
    wait_until(all_ready, "not all are ready");
}

int main(int argc, char **argv)
{
    if (argc < 2 || keel_init(NULL) != ORTE_SUCCESS) {
        return 8;
    }
    me = keel_my_name()->vpid;
    size = keel_job_size();
    count = (uint32_t) atoi(argv[1]);
    for (int i = 2; i < argc; i++) {
        lost[atoi(argv[i]) % RANKS_MAX] = true;
    }
    for (uint32_t rank = 0; rank < size; rank++) {
        others += rank != me && !lost[rank];
    }
    (void) orte_rml.recv_buffer_nb(ORTE_NAME_WILDCARD, TAG_PLAIN, ORTE_RML_PERSISTENT, got, plain);
    (void) orte_rml.recv_buffer_nb(ORTE_NAME_WILDCARD, TAG_CAST, ORTE_RML_PERSISTENT, got, casts);
    (void) orte_rml.recv_buffer_nb(ORTE_NAME_WILDCARD, TAG_READY, ORTE_RML_PERSISTENT, got_ready,
                                   &ready);
    for (uint32_t rank = 0; rank < size && !lost[me]; rank++) {
        orte_process_name_t peer = {keel_my_name()->jobid, rank};
        if (lost[rank]) { /* the end of whom it names ends a receive */
            (void) orte_rml.recv_buffer_nb(&peer, TAG_NEVER, 0, got_nothing, &given_up);
        }
    }
    if (keel_fence() != ORTE_SUCCESS) {
        return 7;
    }
    printf("job %s\n", getenv("KEEL_JOB"));
    fflush(stdout);
    if (lost[me]) {
        sleep(LIMIT_S);
        return 6;
    }
    run();
    printf("rank %u: all, once, in order\n", me);
    (void) keel_finalize(); /* fails: a rank is lost */
    return 0;
}
