#include <limits.h>
#include <malloc.h>
#include <rml/message/assemble.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static struct rml_assembly assembly;
static struct rml_message *whole;

static struct rml_header frame(uint32_t total, uint32_t offset, uint32_t length)
{
    return (struct rml_header){
        .stamp = {.kind = RML_DATA, .class = OOB_APP, .length = length},
        .role = OOB_KEY_APP,
        .tag = 200,
        .total = total,
        .offset = offset,
        .origin = {1, 2},
    };
}

/* Frames carry bytes that tell their place. */
static enum rml_assembled feed(const struct rml_header *header)
{
    static uint8_t payload[RML_FRAME_MAX];
    for (uint32_t i = 0; i < header->stamp.length; i++) {
        payload[i] = (uint8_t) ((header->offset + i) * 7);
    }
    return rml_assemble(&assembly, header, payload, &whole);
}

static enum rml_assembled feed_at(uint32_t total, uint32_t offset, uint32_t length)
{
    struct rml_header header = frame(total, offset, length);
    return feed(&header);
}

static void expect_whole(uint32_t size)
{
    ck_assert_ptr_nonnull(whole);
    ck_assert_uint_eq(whole->size, size);
    bool same = true;
    for (uint32_t i = 0; i < size; i++) {
        same = same && whole->data[i] == (uint8_t) (i * 7);
    }
    ck_assert(same);
    rml_message_destroy(whole);
    whole = NULL;
}

START_TEST(one_frame)
{
    ck_assert_int_eq(feed_at(10, 0, 10), RML_ASSEMBLED_WHOLE);
    ck_assert(whole->info.origin.vpid == 2 && whole->info.tag == 200);
    ck_assert(whole->info.role == OOB_KEY_APP && whole->info.class == OOB_APP);
    expect_whole(10);
    ck_assert_int_eq(feed_at(0, 0, 0), RML_ASSEMBLED_WHOLE);
    expect_whole(0);
}
END_TEST

START_TEST(many_frames)
{
    uint32_t total = 5 * RML_FRAME_MAX + 3;
    for (uint32_t at = 0; at + RML_FRAME_MAX <= total; at += RML_FRAME_MAX) {
        ck_assert_int_eq(feed_at(total, at, RML_FRAME_MAX), RML_ASSEMBLED_MORE);
    }
    ck_assert_int_eq(feed_at(total, total - 3, 3), RML_ASSEMBLED_WHOLE);
    expect_whole(total);
}
END_TEST

/* The first frame claims 2 GiB; only what came is allocated. */
START_TEST(memory_follows_the_bytes)
{
    ck_assert_int_eq(feed_at(INT_MAX, 0, 16), RML_ASSEMBLED_MORE);
    ck_assert_uint_le(assembly.capacity, 64);
    ck_assert_uint_le(malloc_usable_size(assembly.message->data), 1024);
    ck_assert_int_eq(feed_at(INT_MAX, 16, RML_FRAME_MAX), RML_ASSEMBLED_MORE);
    ck_assert_uint_le(assembly.capacity, 2 * RML_FRAME_MAX);
    rml_assembly_abandon(&assembly);
}
END_TEST

START_TEST(frames_that_do_not_continue)
{
    struct rml_header other[] = {
        frame(30, 20, 10), /* a hole */
        frame(30, 5, 10),  /* an overlap */
        frame(40, 10, 10), /* another total */
        frame(30, 0, 10),  /* begins twice */
        frame(30, 10, 10), frame(30, 10, 10), frame(30, 10, 10),
    };
    other[4].tag++;
    other[5].role = OOB_KEY_CONTROL; /* nobody is promoted on the way */
    other[6].format = RML_BUFFER_NON_DESC;
    ck_assert_int_eq(feed_at(30, 10, 10), RML_ASSEMBLED_BROKEN); /* nothing began */
    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
        ck_assert_int_eq(feed_at(30, 0, 10), RML_ASSEMBLED_MORE);
        ck_assert_int_eq(feed(&other[i]), RML_ASSEMBLED_BROKEN);
        ck_assert_ptr_null(assembly.message);
        ck_assert_int_eq(feed_at(30, 0, 30), RML_ASSEMBLED_WHOLE); /* the next one is well */
        expect_whole(30);
    }
}
END_TEST

START_TEST(unwanted_messages_are_skipped_whole)
{
    struct rml_header first = frame(30, 0, 10), second = frame(30, 10, 10),
                      last = frame(30, 20, 10);
    rml_assembly_skip(&assembly, &first);
    ck_assert_int_eq(feed(&second), RML_ASSEMBLED_MORE);
    ck_assert_int_eq(feed(&last), RML_ASSEMBLED_MORE);
    ck_assert_ptr_null(whole);
    ck_assert_int_eq(feed(&second), RML_ASSEMBLED_BROKEN);
    rml_assembly_skip(&assembly, &last);
    ck_assert_int_eq(feed_at(1, 0, 1), RML_ASSEMBLED_WHOLE);
    expect_whole(1);
}
END_TEST

/* Random frames, valid each by itself: whatever comes out is consistent, and nothing leaks. */
START_TEST(random_frames)
{
    srand(7);
    for (int i = 0; i < 20000; i++) {
        uint32_t total = (uint32_t) rand() % 40;
        uint32_t offset = total > 0 ? (uint32_t) rand() % total : 0;
        uint32_t length = total > 0 ? 1 + (uint32_t) rand() % (total - offset) : 0;
        if (rand() % 3 == 0) {
            offset = 0;
        } else if (assembly.message && rand() % 2) {
            total = assembly.total;
            offset = (uint32_t) assembly.message->size;
            length = total - offset;
        }
        if (feed_at(total, offset, length) == RML_ASSEMBLED_WHOLE) {
            expect_whole(total);
        }
        ck_assert_ptr_null(whole);
        ck_assert(!assembly.message || assembly.message->size < assembly.total);
    }
    rml_assembly_abandon(&assembly);
}
END_TEST

UNIT_MAIN("rml/assemble")
