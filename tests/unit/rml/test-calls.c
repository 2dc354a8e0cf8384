/* Two ranks and their daemon: what each call does. */
#include "cluster.h"
#include <base/data/clock.h>
#include <base/types/name.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tests/lib/unit.h>

enum { TAG = 200 };

static struct node daemon_, a, b;

static void setup(void)
{
    star_open(&daemon_, &a, &b);
}

static void teardown(void)
{
    star_close(&daemon_, &a, &b);
}

static int send_text(struct node *from, struct node *to, orte_rml_tag_t tag, const char *text)
{
    struct iovec part = {(void *) text, strlen(text)};
    return rml_call_send(from->rml, &to->name, &part, 1, tag, 0);
}

static void expect_text(struct node *at, const orte_process_name_t *peer, orte_rml_tag_t tag,
                        const char *text)
{
    char data[64] = "";
    struct iovec part = {data, sizeof(data) - 1};
    int size = rml_call_recv(at->rml, peer, &part, 1, tag, 0);
    ck_assert_int_eq(size, (int) strlen(text));
    ck_assert_str_eq(data, text);
}

/* What came to callbacks, in order: "text," for each. */
struct heard {
    struct node *at;
    char text[256];
    int count;
    int status;
    bool enough; /* when count reaches wanted */
    int wanted;
    orte_process_name_t peer;
};

static void note(struct heard *heard, const char *text, size_t size)
{
    size_t used = strlen(heard->text);
    ck_assert_uint_lt(used + size + 1, sizeof(heard->text));
    for (size_t i = 0; i < size; i++) {
        heard->text[used + i] = text[i];
    }
    strcpy(heard->text + used + size, ",");
    heard->enough = ++heard->count >= heard->wanted;
}

static void on_iov(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                   orte_rml_tag_t tag, void *cbdata)
{
    struct heard *heard = cbdata;
    (void) tag;
    heard->status = status;
    heard->peer = *peer;
    note(heard, status > 0 && count > 0 ? msg[0].iov_base : "", status > 0 ? (size_t) status : 0);
}

static void on_buffer(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                      orte_rml_tag_t tag, void *cbdata)
{
    struct heard *heard = cbdata;
    (void) tag;
    heard->status = status;
    heard->peer = *peer;
    note(heard, buffer ? buffer->base_ptr : "", buffer ? buffer->bytes_used : 0);
}

START_TEST(blocking_messages)
{
    setup();
    ck_assert_int_eq(send_text(&a, &b, TAG, "hello"), 5);
    ck_assert_int_eq(send_text(&b, &a, TAG, "back"), 4);
    expect_text(&b, &a.name, TAG, "hello");
    expect_text(&a, ORTE_NAME_WILDCARD, TAG, "back");
    struct iovec none = {NULL, 0};
    ck_assert_int_eq(rml_call_send(a.rml, &b.name, &none, 1, TAG, 0), 0);
    ck_assert_int_eq(rml_call_send(a.rml, &b.name, &none, 0, TAG, 0), 0);
    ck_assert_int_eq(rml_call_send(a.rml, &b.name, NULL, 0, TAG, 0), 0);
    expect_text(&b, &a.name, TAG, "");
    expect_text(&b, &a.name, TAG, "");
    ck_assert_int_eq(rml_call_recv(b.rml, &a.name, NULL, 0, TAG, 0), 0);
    send_text(&a, &b, TAG, "dropped");
    ck_assert_int_eq(rml_call_recv(b.rml, &a.name, NULL, 0, TAG, ORTE_RML_TRUNC), 7);
    teardown();
}
END_TEST

START_TEST(to_myself)
{
    setup();
    ck_assert_int_eq(send_text(&a, &a, TAG, "me"), 2);
    char text[] = "copied";
    struct iovec part = {text, 6};
    ck_assert_int_eq(rml_call_send(a.rml, &a.name, &part, 1, TAG, 0), 6);
    text[0] = 'X'; /* too late */
    expect_text(&a, &a.name, TAG, "me");
    expect_text(&a, &a.name, TAG, "copied");
    teardown();
}
END_TEST

START_TEST(many_pieces)
{
    setup();
    static uint8_t sent[300000], got[300000];
    struct iovec pieces[200], halves[2] = {{got, 1000}, {got + 1000, sizeof(got) - 1000}};
    size_t at = 0;
    fill(sent, sizeof(sent), 3);
    for (int i = 0; i < 200; i++) { /* some empty, some beyond a frame */
        size_t size = i == 77 ? 290000 : (size_t) (i % 5) * 10;
        pieces[i] = (struct iovec){sent + at, size};
        at += size;
    }
    ck_assert_int_eq(rml_call_send(a.rml, &b.name, pieces, 200, TAG, 0), (int) at);
    ck_assert_int_eq(rml_call_recv(b.rml, &a.name, halves, 2, TAG, 0), (int) at);
    ck_assert(filled(got, at, 3));
    teardown();
}
END_TEST

START_TEST(short_space)
{
    setup();
    char small[4] = "";
    struct iovec part = {small, 3}, alloc = {NULL, 0};
    send_text(&a, &b, TAG, "abcdef");
    send_text(&a, &b, TAG, "ghijkl");
    send_text(&a, &b, TAG, "mnopqr");
    ck_assert_int_eq(rml_call_recv(b.rml, &a.name, &part, 1, TAG, ORTE_RML_PEEK), 3);
    ck_assert_str_eq(small, "abc");
    ck_assert_int_eq(rml_call_recv(b.rml, &a.name, &part, 1, TAG, ORTE_RML_PEEK | ORTE_RML_TRUNC),
                     6);
    ck_assert_int_eq(rml_call_recv(b.rml, &a.name, &part, 1, TAG, 0), 3);
    ck_assert_str_eq(small, "abc");
    ck_assert_int_eq(rml_call_recv(b.rml, &a.name, &part, 1, TAG, ORTE_RML_TRUNC), 6);
    ck_assert_str_eq(small, "ghi");
    ck_assert_int_eq(rml_call_recv(b.rml, &a.name, &alloc, 1, TAG, ORTE_RML_ALLOC), 6);
    ck_assert_uint_eq(alloc.iov_len, 6);
    ck_assert_mem_eq(alloc.iov_base, "mnopqr", 6);
    free(alloc.iov_base);
    teardown();
}
END_TEST

static opal_buffer_t *packed(const char *text, opal_dss_buffer_type_t type)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(opal_dss.set_buffer_type(buffer, type), OPAL_SUCCESS);
    ck_assert_int_eq(opal_dss.pack(buffer, &text, 1, OPAL_STRING), OPAL_SUCCESS);
    return buffer;
}

static void expect_packed(opal_buffer_t *buffer, const char *text)
{
    char *got = NULL;
    int32_t one = 1;
    ck_assert_int_eq(opal_dss.unpack(buffer, &got, &one, OPAL_STRING), OPAL_SUCCESS);
    ck_assert_str_eq(got, text);
    free(got);
}

START_TEST(buffers_keep_their_type_and_content)
{
    setup();
    opal_buffer_t *got = OBJ_NEW(opal_buffer_t);
    for (int type = OPAL_DSS_BUFFER_NON_DESC; type <= OPAL_DSS_BUFFER_FULLY_DESC; type++) {
        opal_buffer_t *buffer = packed("text", (opal_dss_buffer_type_t) type);
        expect_packed(buffer, "text"); /* half read: sent whole all the same */
        int size = (int) buffer->bytes_used;
        ck_assert_int_eq(rml_call_send_buffer(a.rml, &b.name, buffer, TAG, 0), size);
        ck_assert_int_eq(rml_call_send_buffer(a.rml, &a.name, buffer, TAG, 0), size);
        expect_packed(buffer, "text"); /* rewound */
        ck_assert_int_eq(rml_call_recv_buffer(b.rml, &a.name, got, TAG, 0), size);
        ck_assert_int_eq(got->type, type);
        expect_packed(got, "text");
        ck_assert_int_eq(rml_call_recv_buffer(a.rml, &a.name, got, TAG, 0), size);
        expect_packed(got, "text");
        OBJ_RELEASE(buffer);
    }
    opal_buffer_t *empty = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(rml_call_send_buffer(a.rml, &b.name, empty, TAG, 0), 0);
    ck_assert_int_eq(rml_call_recv_buffer(b.rml, &a.name, got, TAG, 0), 0);
    ck_assert_uint_eq(got->bytes_used, 0);
    OBJ_RELEASE(empty);
    OBJ_RELEASE(got);
    teardown();
}
END_TEST

START_TEST(one_buffer_to_many_peers)
{
    setup();
    enum { TIMES = 50 };
    opal_buffer_t *buffer = packed("to all", OPAL_DSS_BUFFER_NON_DESC);
    opal_buffer_t *got = OBJ_NEW(opal_buffer_t);
    struct heard sent = {.wanted = 2 * TIMES};
    for (int i = 0; i < TIMES; i++) {
        ck_assert_int_eq(rml_call_send_buffer_nb(a.rml, &b.name, buffer, TAG, 0, on_buffer, &sent),
                         ORTE_SUCCESS);
        ck_assert_int_eq(rml_call_send_buffer_nb(a.rml, &a.name, buffer, TAG, 0, on_buffer, &sent),
                         ORTE_SUCCESS);
        sent.text[0] = '\0';
    }
    opal_buffer_t *mine = buffer;
    ck_assert_int_gt(mine->super.obj_reference_count, 1); /* kept while it is on its way */
    OBJ_RELEASE(buffer);
    while (!sent.enough) {
        sent.text[0] = '\0';
        (void) rml_progress(a.rml);
    }
    ck_assert_int_eq(sent.status, 0);
    for (int i = 0; i < TIMES; i++) {
        ck_assert_int_gt(rml_call_recv_buffer(b.rml, &a.name, got, TAG, 0), 0);
        expect_packed(got, "to all");
        ck_assert_int_gt(rml_call_recv_buffer(a.rml, &a.name, got, TAG, 0), 0);
        expect_packed(got, "to all");
    }
    OBJ_RELEASE(got);
    teardown();
}
END_TEST

START_TEST(callbacks_wait_for_progress)
{
    setup();
    char data[8] = "";
    struct iovec out = {(void *) "self", 4}, in = {data, sizeof(data)};
    struct heard sent = {.wanted = 1}, received = {.wanted = 1};
    ck_assert_int_eq(rml_call_recv_nb(a.rml, &a.name, &in, 1, TAG, 0, on_iov, &received), 0);
    ck_assert_int_eq(rml_call_send_nb(a.rml, &a.name, &out, 1, TAG, 0, on_iov, &sent), 0);
    ck_assert(sent.count == 0 && received.count == 0);
    ck_assert_int_eq(rml_progress(a.rml), 2);
    ck_assert(sent.status == 4 && received.status == 4);
    ck_assert_str_eq(received.text, "self,");
    ck_assert_int_eq(rml_progress(a.rml), 0);
    teardown();
}
END_TEST

/* --- the callers' arrays --- */

struct given {
    struct iovec first; /* of what the callback got */
    int calls;
};

static void on_given(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                     orte_rml_tag_t tag, void *cbdata)
{
    struct given *given = cbdata;
    (void) peer;
    (void) tag;
    ck_assert_int_ge(status, 0);
    ck_assert_int_eq(count, 1);
    given->first = msg[0];
    given->calls++;
}

/* Sends to itself and receives with these arrays. */
static void start(struct iovec *out, struct iovec *in, int flags, struct given *sent,
                  struct given *received)
{
    ck_assert_int_eq(rml_call_recv_nb(a.rml, &a.name, in, 1, TAG, flags, on_given, received), 0);
    ck_assert_int_eq(rml_call_send_nb(a.rml, &a.name, out, 1, TAG, 0, on_given, sent), 0);
}

/* The kernel has this memory back before the callbacks come. */
START_TEST(an_array_may_be_freed_after_the_call)
{
    setup();
    char data[8] = "", text[] = "own";
    struct given sent = {.calls = 0}, received = {.calls = 0};
    struct iovec *arrays =
        mmap(NULL, 2 * sizeof(*arrays), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(arrays != MAP_FAILED);
    arrays[0] = (struct iovec){text, 3};
    arrays[1] = (struct iovec){data, 8};
    start(&arrays[0], &arrays[1], 0, &sent, &received);
    ck_assert_int_eq(munmap(arrays, 2 * sizeof(*arrays)), 0);
    ck_assert_int_eq(rml_progress(a.rml), 2);
    ck_assert(sent.calls == 1 && sent.first.iov_base == text && sent.first.iov_len == 3);
    ck_assert(received.calls == 1 && received.first.iov_base == data);
    ck_assert_uint_eq(received.first.iov_len, 8);
    ck_assert_str_eq(data, "own");
    teardown();
}
END_TEST

/* Its memory may be another's by then, which looks the same. */
START_TEST(an_array_may_be_used_after_the_call)
{
    setup();
    char text[] = "own";
    struct given sent = {.calls = 0}, received = {.calls = 0};
    struct iovec out = {text, 3}, in = {NULL, 0};
    start(&out, &in, ORTE_RML_ALLOC, &sent, &received);
    out.iov_base = NULL;
    ck_assert_int_eq(rml_progress(a.rml), 2);
    ck_assert(sent.first.iov_base == text && sent.first.iov_len == 3);
    ck_assert(in.iov_base == NULL && in.iov_len == 0);
    ck_assert_uint_eq(received.first.iov_len, 3);
    ck_assert_mem_eq(received.first.iov_base, "own", 3);
    free(received.first.iov_base);
    teardown();
}
END_TEST

START_TEST(posted_receives)
{
    setup();
    char data[8] = "";
    struct iovec in = {data, sizeof(data)};
    struct heard any = {.wanted = 1}, one = {.wanted = 1};
    orte_process_name_t job = {0x50001, ORTE_VPID_WILDCARD};
    ck_assert_int_eq(rml_call_recv_nb(b.rml, &job, &in, 1, TAG, 0, on_iov, &any), 0);
    ck_assert_int_eq(rml_call_recv_buffer_nb(b.rml, &a.name, TAG, 0, on_buffer, &one), 0);
    memset(&in, 0, sizeof(in)); /* the array was copied */
    send_text(&a, &b, TAG, "first");
    send_text(&a, &b, TAG, "second");
    wait_done(&b, &any.enough);
    wait_done(&b, &one.enough);
    ck_assert_str_eq(any.text, "first,");
    ck_assert_int_eq(any.status, 5);
    ck_assert_str_eq(data, "first");
    ck_assert(name_equal(&any.peer, &a.name)); /* the origin, not the relay */
    ck_assert_str_eq(one.text, "second,");
    ck_assert_int_eq(one.status, 0);
    teardown();
}
END_TEST

START_TEST(persistent_receives)
{
    setup();
    char data[4] = "";
    struct iovec in = {data, sizeof(data)}, alloc = {NULL, 0};
    struct heard iov = {.wanted = 3}, buffers = {.wanted = 2};
    send_text(&a, &b, TAG, "x");
    send_text(&a, &b, TAG, "yyyy");
    ck_assert_int_eq(
        rml_call_recv_nb(b.rml, ORTE_NAME_WILDCARD, &in, 1, TAG, ORTE_RML_PERSISTENT, on_iov, &iov),
        0);
    ck_assert_int_eq(rml_call_recv_buffer_nb(b.rml, ORTE_NAME_WILDCARD, TAG + 1,
                                             ORTE_RML_PERSISTENT, on_buffer, &buffers),
                     0);
    send_text(&a, &b, TAG + 1, "p");
    send_text(&a, &b, TAG, "zzzz"); /* a short message before does not shorten it */
    send_text(&a, &b, TAG + 1, "");
    wait_done(&b, &iov.enough);
    wait_done(&b, &buffers.enough);
    ck_assert_str_eq(iov.text, "x,yyyy,zzzz,");
    ck_assert_str_eq(buffers.text, "p,,");
    ck_assert_int_eq(rml_call_recv_cancel(b.rml, ORTE_NAME_WILDCARD, TAG), ORTE_SUCCESS);
    ck_assert_int_eq(rml_call_recv_cancel(b.rml, ORTE_NAME_WILDCARD, TAG), ORTE_ERR_NOT_FOUND);
    send_text(&a, &b, TAG, "late");
    expect_text(&b, &a.name, TAG, "late");
    ck_assert_int_eq(iov.count, 3);
    (void) alloc;
    teardown();
}
END_TEST

/* What was matched but not handed over goes back in order when its receive is cancelled. */
START_TEST(cancelling)
{
    setup();
    char data[8] = "";
    struct iovec in = {data, sizeof(data)};
    struct heard never = {.wanted = 1}, other = {.wanted = 2};
    ck_assert_int_eq(rml_call_recv_cancel(b.rml, &a.name, TAG), ORTE_ERR_NOT_FOUND);
    ck_assert_int_eq(rml_call_recv_cancel(b.rml, NULL, TAG), ORTE_ERR_BAD_PARAM);
    rml_call_recv_nb(b.rml, &a.name, &in, 1, TAG, 0, on_iov, &never);
    rml_call_recv_buffer_nb(b.rml, ORTE_NAME_WILDCARD, TAG, 0, on_buffer, &never);
    send_text(&b, &b, TAG + 1, "unrelated");
    send_text(&a, &b, TAG, "one");
    send_text(&a, &b, TAG, "two");
    send_text(&a, &b, TAG, "three");
    send_text(&a, &b, TAG + 9, "end");
    expect_text(&a, &a.name, TAG, (send_text(&a, &a, TAG, "alive"), "alive"));
    char end[8];
    struct iovec end_part = {end, sizeof(end)};
    pthread_mutex_lock(&b.rml->lock); /* until both are matched, and due */
    while (b.rml->due_count < 2) {
        rml_sleep_locked(b.rml, clock_us() + 1000);
    }
    pthread_mutex_unlock(&b.rml->lock);
    ck_assert_int_eq(rml_call_recv_cancel(b.rml, ORTE_NAME_WILDCARD, TAG), ORTE_SUCCESS);
    ck_assert_int_eq(rml_call_recv_cancel(b.rml, &a.name, TAG), ORTE_SUCCESS);
    ck_assert_int_eq(rml_progress(b.rml), 0);
    ck_assert_int_eq(never.count, 0);
    expect_text(&b, &a.name, TAG, "one");
    ck_assert_int_eq(
        rml_call_recv_buffer_nb(b.rml, &a.name, TAG, ORTE_RML_PERSISTENT, on_buffer, &other), 0);
    wait_done(&b, &other.enough);
    ck_assert_str_eq(other.text, "two,three,");
    ck_assert_int_eq(rml_call_recv(b.rml, &a.name, &end_part, 1, TAG + 9, 0), 3);
    teardown();
}
END_TEST

START_TEST(cancelled_messages_go_to_the_next_receive)
{
    setup();
    struct heard first = {.wanted = 1}, second = {.wanted = 3};
    rml_call_recv_buffer_nb(a.rml, &a.name, TAG, 0, on_buffer, &first);
    rml_call_recv_buffer_nb(a.rml, ORTE_NAME_WILDCARD, TAG + 1, ORTE_RML_PERSISTENT, on_buffer,
                            &second);
    send_text(&a, &a, TAG, "a1");
    send_text(&a, &a, TAG + 1, "b1");
    send_text(&a, &a, TAG + 1, "b2");
    rml_call_recv_buffer_nb(a.rml, &a.name, TAG, 0, on_buffer, &second);
    /* The cancel takes the later receive too: a1 waits, and then comes before nobody. */
    ck_assert_int_eq(rml_call_recv_cancel(a.rml, &a.name, TAG), ORTE_SUCCESS);
    rml_call_recv_buffer_nb(a.rml, &a.name, TAG, 0, on_buffer, &second);
    wait_done(&a, &second.enough);
    ck_assert_str_eq(second.text, "b1,b2,a1,");
    ck_assert_int_eq(first.count, 0);
    teardown();
}
END_TEST

/* --- callbacks and blocking calls --- */

static struct heard plain, recursive;
static bool outer_done;

/* Runs first and blocks for "answer"; recursive ones run meanwhile, plain ones do not. */
static void on_block(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                     orte_rml_tag_t tag, void *cbdata)
{
    (void) status;
    (void) peer;
    (void) buffer;
    (void) tag;
    struct node *node = cbdata;
    ck_assert_int_eq(rml_progress(node->rml), 0); /* from inside a callback */
    expect_text(node, &a.name, TAG + 5, "answer");
    wait_done(node, &recursive.enough);
    ck_assert_int_eq(plain.count, 0);
    ck_assert_int_eq(send_text(node, &a, TAG + 6, "done"), 4); /* a blocking send too */
    ck_assert_int_eq(plain.count, 0);
    outer_done = true;
}

START_TEST(blocking_inside_a_callback)
{
    setup();
    plain = (struct heard){.wanted = 3};
    recursive = (struct heard){.wanted = 2};
    rml_call_recv_buffer_nb(b.rml, &a.name, TAG, 0, on_block, &b);
    rml_call_recv_buffer_nb(b.rml, &a.name, TAG + 1, ORTE_RML_PERSISTENT, on_buffer, &plain);
    rml_call_recv_buffer_nb(b.rml, &a.name, TAG + 2,
                            ORTE_RML_PERSISTENT | ORTE_RML_FLAG_RECURSIVE_CALLBACK, on_buffer,
                            &recursive);
    send_text(&a, &b, TAG, "go");
    send_text(&a, &b, TAG + 1, "p1");
    send_text(&a, &b, TAG + 2, "r1");
    send_text(&a, &b, TAG + 1, "p2");
    send_text(&a, &b, TAG + 5, "answer");
    send_text(&a, &b, TAG + 2, "r2");
    send_text(&a, &b, TAG + 1, "p3");
    wait_done(&b, &outer_done);
    expect_text(&a, &b.name, TAG + 6, "done");
    wait_done(&b, &plain.enough);
    ck_assert_str_eq(recursive.text, "r1,r2,");
    ck_assert_str_eq(plain.text, "p1,p2,p3,"); /* kept their order */
    teardown();
}
END_TEST

START_TEST(callbacks_run_inside_blocking_calls)
{
    setup();
    struct heard heard = {.wanted = 1};
    rml_call_recv_buffer_nb(b.rml, &a.name, TAG, 0, on_buffer, &heard);
    send_text(&a, &b, TAG, "before");
    send_text(&a, &b, TAG + 1, "wanted");
    while (heard.count == 0) { /* the callback needs no progress of its own */
        expect_text(&b, &a.name, TAG + 1, "wanted");
        send_text(&a, &b, TAG + 1, "wanted");
    }
    ck_assert_str_eq(heard.text, "before,");
    teardown();
}
END_TEST

static void *recv_in_thread(void *arg)
{
    orte_rml_tag_t tag = *(orte_rml_tag_t *) arg;
    char data[8] = "";
    struct iovec part = {data, sizeof(data) - 1};
    int size = rml_call_recv(b.rml, &a.name, &part, 1, tag, 0);
    return size == 1 && data[0] == (char) ('0' + tag - TAG) ? arg : NULL;
}

START_TEST(many_threads_block)
{
    setup();
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    orte_rml_tag_t tags[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        tags[i] = TAG + i;
        pthread_create(&threads[i], NULL, recv_in_thread, &tags[i]);
    }
    for (unsigned i = THREADS; i-- > 0;) {
        char text[2] = {(char) ('0' + i), '\0'};
        ck_assert_int_eq(send_text(&a, &b, TAG + i, text), 1);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        ck_assert_ptr_eq(result, &tags[i]);
    }
    teardown();
}
END_TEST

static int polls;

static int count_polls(void *arg)
{
    ck_assert_ptr_eq(arg, &polls);
    polls++;
    return polls < 100;
}

START_TEST(waiting_with_deadlines_and_polls)
{
    setup();
    bool never = false;
    uint64_t start = clock_us();
    ck_assert_int_eq(rml_wait(a.rml, &never, start + 20000, NULL, NULL), ORTE_ERR_TIMEOUT);
    ck_assert_uint_ge(clock_us() - start, 20000);
    ck_assert_int_eq(rml_wait(a.rml, &never, clock_us() + 50000, count_polls, &polls),
                     ORTE_ERR_TIMEOUT);
    ck_assert_int_gt(polls, 100); /* spins first; once a millisecond alone makes 50 */
    bool already = true;
    ck_assert_int_eq(rml_wait(a.rml, &already, 1, NULL, NULL), ORTE_SUCCESS);
    polls = 0;
    rml_set_poll(b.rml, count_polls, &polls);
    struct heard heard = {.wanted = 1};
    rml_call_recv_buffer_nb(b.rml, &b.name, TAG, 0, on_buffer, &heard);
    struct iovec part = {(void *) "x", 1};
    ck_assert_int_eq(rml_call_send_nb(a.rml, &b.name, &part, 1, TAG + 1, 0, on_iov, &heard), 0);
    expect_text(&b, &a.name, TAG + 1, "x"); /* polls while it blocks, if it had to wait */
    rml_set_poll(b.rml, NULL, NULL);
    heard.text[0] = '\0';
    wait_done(&a, &heard.enough);
    teardown();
}
END_TEST

START_TEST(wrong_arguments)
{
    setup();
    char data[4] = "";
    struct iovec part = {data, 4}, null_part = {NULL, 4}, huge[2] = {{data, 0x7fffffff}, {data, 1}};
    struct heard heard = {.wanted = 1};
    struct rml *rml = a.rml;
    orte_process_name_t some = {0x50001, ORTE_VPID_WILDCARD}, *peer = &b.name;
    const int bad = ORTE_ERR_BAD_PARAM;
    ck_assert_int_eq(rml_call_send(rml, NULL, &part, 1, TAG, 0), bad);
    ck_assert_int_eq(rml_call_send(rml, ORTE_NAME_WILDCARD, &part, 1, TAG, 0), bad);
    ck_assert_int_eq(rml_call_send(rml, &some, &part, 1, TAG, 0), bad);
    ck_assert_int_eq(rml_call_send(rml, ORTE_NAME_INVALID, &part, 1, TAG, 0), bad);
    ck_assert_int_eq(rml_call_send(rml, peer, NULL, 1, TAG, 0), bad);
    ck_assert_int_eq(rml_call_send(rml, peer, &null_part, 1, TAG, 0), bad);
    ck_assert_int_eq(rml_call_send(rml, peer, &part, -1, TAG, 0), bad);
    ck_assert_int_eq(rml_call_send(rml, peer, &part, 1, 0, 0), bad);
    ck_assert_int_eq(rml_call_send(rml, peer, huge, 2, TAG, 0), bad);
    ck_assert_int_eq(rml_call_send_nb(rml, peer, &part, 1, TAG, 0, NULL, NULL), bad);
    ck_assert_int_eq(rml_call_send_buffer(rml, peer, NULL, TAG, 0), bad);
    ck_assert_int_eq(rml_call_send_buffer_nb(rml, peer, NULL, TAG, 0, on_buffer, &heard), bad);
    ck_assert_int_eq(rml_call_recv(rml, NULL, &part, 1, TAG, 0), bad);
    ck_assert_int_eq(rml_call_recv(rml, peer, &part, 1, 0, 0), bad);
    ck_assert_int_eq(rml_call_recv(rml, peer, NULL, 1, TAG, 0), bad);
    ck_assert_int_eq(rml_call_recv(rml, peer, &part, -1, TAG, 0), bad);
    ck_assert_int_eq(rml_call_recv(rml, peer, &null_part, 1, TAG, 0), bad);
    ck_assert_int_eq(rml_call_recv(rml, peer, &part, 0, TAG, ORTE_RML_ALLOC), bad);
    ck_assert_int_eq(rml_call_recv_buffer(rml, peer, NULL, TAG, 0), bad);
    ck_assert_int_eq(rml_call_recv_nb(rml, peer, &part, 1, TAG, 0, NULL, NULL), bad);
    ck_assert_int_eq(rml_call_recv_buffer_nb(rml, NULL, TAG, 0, on_buffer, &heard), bad);
    ck_assert_int_eq(rml_call_set_contact_info(rml, "nonsense"), bad);
    ck_assert_int_eq(rml_call_set_contact_info(rml, NULL), bad);
    ck_assert_int_eq(rml_progress(rml), 0);
    ck_assert_int_eq(heard.count, 0);
    /* In a daemon nothing may block its loop. */
    ck_assert_int_eq(rml_call_send(daemon_.rml, peer, &part, 1, TAG, 0), ORTE_ERR_NOT_SUPPORTED);
    ck_assert_int_eq(rml_call_recv(daemon_.rml, peer, &part, 1, TAG, 0), ORTE_ERR_NOT_SUPPORTED);
    ck_assert_int_eq(rml_wait(daemon_.rml, &heard.enough, 0, NULL, NULL), ORTE_ERR_NOT_SUPPORTED);
    teardown();
}
END_TEST

UNIT_MAIN("rml/calls")
