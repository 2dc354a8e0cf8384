#include <rml/message/match.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { LOG_MAX = 64 };

/* What was matched, in order: the receive and the first byte of the message. */
static struct {
    struct rml_posted *posted;
    char byte;
    struct rml_message *message;
} log_[LOG_MAX];
static size_t logged;
static struct rml_match match;

static void matched(void *arg, struct rml_posted *posted, struct rml_message *message)
{
    ck_assert_ptr_eq(arg, &match);
    ck_assert_uint_lt(logged, LOG_MAX);
    log_[logged].posted = posted;
    log_[logged].byte = message->size > 0 ? (char) message->data[0] : 0;
    log_[logged++].message = message;
}

static void begin(void)
{
    logged = 0;
    rml_match_init(&match, matched, &match);
}

static void end(void)
{
    for (size_t i = 0; i < logged; i++) {
        rml_message_destroy(log_[i].message);
    }
    rml_match_fini(&match);
    ck_assert_uint_eq(match.unexpected_bytes, 0);
}

static struct rml_message *arrive(uint32_t job, uint32_t vpid, orte_rml_tag_t tag, char byte)
{
    struct rml_info info = {.origin = {job, vpid}, .tag = tag};
    struct iovec part = {&byte, 1};
    struct rml_message *message = rml_message_create(&info, RML_RAW, &part, 1);
    rml_match_arrive(&match, message);
    return message;
}

static void post_at(struct rml_posted *posted, uint32_t job, uint32_t vpid, orte_rml_tag_t tag,
                    int flags)
{
    *posted = (struct rml_posted){.peer = {job, vpid}, .tag = tag, .flags = flags};
    list_init(&posted->link);
    rml_match_post(&match, posted);
}

static void expect(size_t index, const struct rml_posted *posted, char byte)
{
    ck_assert_uint_lt(index, logged);
    ck_assert_ptr_eq(log_[index].posted, posted);
    ck_assert_int_eq(log_[index].byte, byte);
}

START_TEST(unexpected_messages_wait_in_order)
{
    struct rml_posted a, b, c;
    begin();
    arrive(1, 1, 200, 'x');
    arrive(1, 1, 201, 'y');
    arrive(1, 1, 200, 'z');
    ck_assert_uint_eq(logged, 0);
    ck_assert_uint_gt(match.unexpected_bytes, 3);
    post_at(&a, 1, 1, 200, 0);
    post_at(&b, 1, 1, 200, 0);
    post_at(&c, 1, 1, 200, 0);
    ck_assert_uint_eq(logged, 2);
    expect(0, &a, 'x');
    expect(1, &b, 'z');
    rml_match_remove(&c);
    end();
}
END_TEST

START_TEST(the_oldest_receive_wins)
{
    struct rml_posted any, one, again;
    begin();
    post_at(&any, ORTE_JOBID_WILDCARD, ORTE_VPID_WILDCARD, 200, 0);
    post_at(&one, 1, 1, 200, 0);
    post_at(&again, 1, 1, 200, 0); /* duplicates are served in turn */
    arrive(1, 1, 200, 'x');
    arrive(1, 1, 200, 'y');
    arrive(1, 1, 200, 'z');
    ck_assert_uint_eq(logged, 3);
    expect(0, &any, 'x');
    expect(1, &one, 'y');
    expect(2, &again, 'z');
    ck_assert(list_empty(&match.posted));
    end();
}
END_TEST

START_TEST(wildcards_are_per_field)
{
    struct rml_posted job, vpid;
    begin();
    post_at(&job, 1, ORTE_VPID_WILDCARD, 200, 0);
    post_at(&vpid, ORTE_JOBID_WILDCARD, 7, 200, 0);
    arrive(2, 6, 200, 'a'); /* neither */
    arrive(2, 7, 200, 'b');
    arrive(1, 6, 200, 'c');
    ck_assert_uint_eq(logged, 2);
    expect(0, &vpid, 'b');
    expect(1, &job, 'c');
    end();
}
END_TEST

START_TEST(tags_are_exact)
{
    struct rml_posted one;
    begin();
    post_at(&one, ORTE_JOBID_WILDCARD, ORTE_VPID_WILDCARD, 200, 0);
    arrive(1, 1, 201, 'a');
    arrive(1, 1, UINT32_MAX, 'b');
    ck_assert_uint_eq(logged, 0);
    rml_match_remove(&one);
    end();
}
END_TEST

START_TEST(persistent_receives_take_all)
{
    struct rml_posted standing, late;
    begin();
    arrive(1, 1, 200, 'a');
    arrive(1, 2, 200, 'b');
    arrive(1, 3, 201, 'c');
    post_at(&standing, 1, ORTE_VPID_WILDCARD, 200, ORTE_RML_PERSISTENT);
    post_at(&late, 1, ORTE_VPID_WILDCARD, 200, 0);
    arrive(1, 1, 200, 'd');
    ck_assert_uint_eq(logged, 3);
    expect(0, &standing, 'a');
    expect(1, &standing, 'b');
    expect(2, &standing, 'd');
    rml_match_remove(&standing);
    arrive(1, 1, 200, 'e');
    expect(3, &late, 'e');
    end();
}
END_TEST

START_TEST(peeks_leave_the_message)
{
    struct rml_posted peek, standing, taker;
    begin();
    struct rml_message *first = arrive(1, 1, 200, 'a');
    post_at(&peek, 1, 1, 200, ORTE_RML_PEEK);
    ck_assert_uint_eq(logged, 1);
    expect(0, &peek, 'a');
    ck_assert_ptr_ne(log_[0].message, first);
    post_at(&standing, 1, 1, 200, ORTE_RML_PEEK | ORTE_RML_PERSISTENT);
    expect(1, &standing, 'a');
    post_at(&taker, 1, 1, 200, 0);
    expect(2, &taker, 'a');
    ck_assert_ptr_eq(log_[2].message, first);
    post_at(&taker, 1, 1, 200, 0);
    arrive(1, 1, 200, 'b'); /* seen and taken */
    ck_assert_uint_eq(logged, 5);
    expect(3, &standing, 'b');
    expect(4, &taker, 'b');
    rml_match_remove(&standing);
    end();
}
END_TEST

START_TEST(returned_messages_take_their_old_place)
{
    struct rml_posted first, second, third;
    begin();
    post_at(&first, 1, 1, 200, 0);
    arrive(1, 1, 200, 'a');
    arrive(1, 1, 200, 'b');
    arrive(1, 2, 200, 'c');
    ck_assert_uint_eq(logged, 1);
    rml_match_return(&match, log_[--logged].message); /* 'a' before 'b' again */
    post_at(&second, 1, ORTE_VPID_WILDCARD, 200, 0);
    expect(0, &second, 'a');
    rml_match_return(&match, log_[--logged].message);
    post_at(&third, 1, ORTE_VPID_WILDCARD, 200, ORTE_RML_PERSISTENT);
    ck_assert_uint_eq(logged, 3);
    expect(0, &third, 'a');
    expect(1, &third, 'b');
    expect(2, &third, 'c');
    struct rml_message *message = log_[--logged].message;
    rml_match_return(&match, message); /* a receive waits: it is matched anew */
    ck_assert_uint_eq(logged, 3);
    expect(2, &third, 'c');
    rml_match_remove(&third);
    end();
}
END_TEST

START_TEST(the_newest_can_be_dropped)
{
    begin();
    struct rml_message *old = arrive(1, 1, 200, 'a');
    size_t one = match.unexpected_bytes;
    struct rml_message *newest = arrive(1, 1, 200, 'b');
    ck_assert(!rml_match_drop_newest(&match, old));
    ck_assert(rml_match_drop_newest(&match, newest));
    ck_assert_uint_eq(match.unexpected_bytes, one);
    end();
}
END_TEST

START_TEST(names)
{
    const orte_process_name_t any = {ORTE_JOBID_WILDCARD, ORTE_VPID_WILDCARD};
    const orte_process_name_t one = {1, 2}, job = {1, ORTE_VPID_WILDCARD}, other = {2, 2};
    ck_assert(rml_name_matches(&any, &one) && rml_name_matches(&job, &one));
    ck_assert(!rml_name_matches(&job, &other) && !rml_name_matches(&one, &other));
}
END_TEST

static struct rml_message *message_of(const char *text)
{
    struct rml_info info = {.origin = {1, 1}, .tag = 200};
    struct iovec part = {(void *) text, strlen(text)};
    return rml_message_create(&info, RML_RAW, &part, 1);
}

START_TEST(scatter)
{
    char a[3] = "", b[4] = "";
    struct iovec parts[] = {{a, 2}, {NULL, 0}, {b, 3}};
    struct rml_message *message = message_of("hello world");
    ck_assert_int_eq(rml_message_scatter(message, parts, 3, 0), 5);
    ck_assert_str_eq(a, "he");
    ck_assert_str_eq(b, "llo");
    ck_assert_int_eq(rml_message_scatter(message, parts, 3, ORTE_RML_TRUNC), 11);
    ck_assert_int_eq(rml_message_scatter(message, parts, 0, 0), 0);
    ck_assert_int_eq(rml_message_scatter(message, parts, 3, ORTE_RML_ALLOC), 11);
    ck_assert_uint_eq(parts[0].iov_len, 11);
    ck_assert_mem_eq(parts[0].iov_base, "hello world", 11);
    free(parts[0].iov_base);
    rml_message_destroy(message);
}
END_TEST

START_TEST(empty_messages)
{
    char a[1] = "";
    struct iovec parts[] = {{a, 1}};
    struct rml_message *message = message_of("");
    ck_assert_ptr_null(message->data);
    ck_assert_int_eq(rml_message_scatter(message, parts, 1, ORTE_RML_TRUNC), 0);
    ck_assert_int_eq(rml_message_scatter(message, parts, 1, ORTE_RML_ALLOC), 0);
    ck_assert_ptr_null(parts[0].iov_base);
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(rml_message_load(message, buffer), ORTE_SUCCESS);
    ck_assert_uint_eq(buffer->bytes_used, 0);
    OBJ_RELEASE(buffer);
    rml_message_destroy(message);
}
END_TEST

START_TEST(buffers_take_the_memory)
{
    struct rml_message *message = message_of("abc");
    uint8_t *data = message->data;
    message->format = RML_BUFFER_FULLY_DESC;
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(rml_message_load(message, buffer), ORTE_SUCCESS);
    ck_assert_ptr_null(message->data);
    ck_assert_ptr_eq(buffer->base_ptr, (char *) data);
    ck_assert_int_eq(buffer->type, OPAL_DSS_BUFFER_FULLY_DESC);
    rml_message_destroy(message);
    OBJ_RETAIN(buffer);
    message = message_of("de"); /* what was in the buffer is freed, the buffer itself is the same */
    ck_assert_int_eq(rml_message_load(message, buffer), ORTE_SUCCESS);
    ck_assert_uint_eq(buffer->bytes_used, 2);
    ck_assert_int_eq(buffer->type, OPAL_DSS_BUFFER_NON_DESC);
    rml_message_destroy(message);
    OBJ_RELEASE(buffer);
    ck_assert_ptr_nonnull(buffer);
    OBJ_RELEASE(buffer);
    ck_assert_ptr_null(buffer);
}
END_TEST

UNIT_MAIN("rml/match")
