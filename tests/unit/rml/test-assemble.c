#include <limits.h>
#include <malloc.h>
#include <rml/assemble.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static struct rml_assembly assembly;
static struct rml_message *whole;
static uint64_t lost;

static struct rml_header frame(uint64_t sequence, uint32_t total, uint32_t offset, uint32_t length)
{
    return (struct rml_header){
        .class = OOB_APP,
        .role = OOB_KEY_APP,
        .tag = 200,
        .total = total,
        .offset = offset,
        .length = length,
        .origin = {1, 2},
        .sequence = sequence,
    };
}

/* Frames carry bytes that tell their place. */
static enum rml_assembled feed(const struct rml_header *header)
{
    static uint8_t payload[RML_FRAME_MAX];
    for (uint32_t i = 0; i < header->length; i++) {
        payload[i] = (uint8_t) ((header->offset + i) * 7);
    }
    return rml_assemble(&assembly, header, payload, &whole, &lost);
}

static enum rml_assembled feed_at(uint64_t sequence, uint32_t total, uint32_t offset,
                                  uint32_t length)
{
    struct rml_header header = frame(sequence, total, offset, length);
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
    ck_assert_int_eq(feed_at(0, 10, 0, 10), RML_ASSEMBLED_WHOLE);
    ck_assert(whole->info.origin.vpid == 2 && whole->info.tag == 200);
    ck_assert(whole->info.role == OOB_KEY_APP && whole->info.class == OOB_APP);
    expect_whole(10);
    ck_assert_int_eq(feed_at(1, 0, 0, 0), RML_ASSEMBLED_WHOLE);
    expect_whole(0);
    ck_assert_uint_eq(lost, 0);
}
END_TEST

START_TEST(many_frames)
{
    uint32_t total = 5 * RML_FRAME_MAX + 3;
    for (uint32_t at = 0; at + RML_FRAME_MAX <= total; at += RML_FRAME_MAX) {
        ck_assert_int_eq(feed_at(0, total, at, RML_FRAME_MAX), RML_ASSEMBLED_MORE);
    }
    ck_assert_int_eq(feed_at(0, total, total - 3, 3), RML_ASSEMBLED_WHOLE);
    expect_whole(total);
}
END_TEST

/* The first frame claims 2 GiB; only what came is allocated. */
START_TEST(memory_follows_the_bytes)
{
    ck_assert_int_eq(feed_at(0, INT_MAX, 0, 16), RML_ASSEMBLED_MORE);
    ck_assert_uint_le(assembly.capacity, 64);
    ck_assert_uint_le(malloc_usable_size(assembly.message->data), 1024);
    ck_assert_int_eq(feed_at(0, INT_MAX, 16, RML_FRAME_MAX), RML_ASSEMBLED_MORE);
    ck_assert_uint_le(assembly.capacity, 2 * RML_FRAME_MAX);
    rml_assembly_reset(&assembly);
}
END_TEST

START_TEST(frames_that_do_not_continue)
{
    ck_assert_int_eq(feed_at(0, 30, 10, 10), RML_ASSEMBLED_BROKEN); /* nothing began */
    ck_assert_int_eq(feed_at(0, 30, 0, 10), RML_ASSEMBLED_MORE);
    ck_assert_int_eq(feed_at(0, 30, 20, 10), RML_ASSEMBLED_BROKEN); /* a hole */
    ck_assert_int_eq(feed_at(0, 30, 5, 10), RML_ASSEMBLED_BROKEN);  /* an overlap */
    ck_assert_int_eq(feed_at(0, 40, 10, 10), RML_ASSEMBLED_BROKEN); /* another total */
    ck_assert_int_eq(feed_at(1, 30, 10, 10), RML_ASSEMBLED_BROKEN); /* another message */
    ck_assert_int_eq(feed_at(0, 30, 0, 10), RML_ASSEMBLED_BROKEN);  /* begins twice */
    struct rml_header other = frame(0, 30, 10, 10);
    other.tag++;
    ck_assert_int_eq(feed(&other), RML_ASSEMBLED_BROKEN);
    other = frame(0, 30, 10, 10);
    other.role = OOB_KEY_CONTROL; /* nobody is promoted on the way */
    ck_assert_int_eq(feed(&other), RML_ASSEMBLED_BROKEN);
    other = frame(0, 30, 10, 10);
    other.format = RML_BUFFER_NON_DESC;
    ck_assert_int_eq(feed(&other), RML_ASSEMBLED_BROKEN);
    ck_assert_int_eq(feed_at(0, 30, 10, 10), RML_ASSEMBLED_MORE); /* none of it did harm */
    ck_assert_int_eq(feed_at(0, 30, 20, 10), RML_ASSEMBLED_WHOLE);
    expect_whole(30);
}
END_TEST

START_TEST(sequences_are_checked)
{
    ck_assert_int_eq(feed_at(0, 1, 0, 1), RML_ASSEMBLED_WHOLE);
    expect_whole(1);
    ck_assert_int_eq(feed_at(0, 1, 0, 1), RML_ASSEMBLED_OLD);
    ck_assert_ptr_null(whole);
    ck_assert_int_eq(feed_at(4, 1, 0, 1), RML_ASSEMBLED_WHOLE);
    ck_assert_uint_eq(lost, 3);
    expect_whole(1);
    ck_assert_int_eq(feed_at(2, 1, 0, 1), RML_ASSEMBLED_OLD);
    ck_assert_int_eq(feed_at(5, 20, 0, 10), RML_ASSEMBLED_MORE);
    ck_assert_uint_eq(lost, 0);
    ck_assert_int_eq(feed_at(6, 1, 0, 1), RML_ASSEMBLED_WHOLE); /* 5 never ends */
    ck_assert_uint_eq(lost, 1);
    expect_whole(1);
    ck_assert_int_eq(feed_at(5, 20, 10, 10), RML_ASSEMBLED_OLD);
}
END_TEST

START_TEST(a_new_incarnation_begins_at_zero)
{
    ck_assert_int_eq(feed_at(9, 20, 0, 10), RML_ASSEMBLED_MORE);
    rml_assembly_reset(&assembly);
    ck_assert_int_eq(feed_at(0, 1, 0, 1), RML_ASSEMBLED_WHOLE);
    ck_assert_uint_eq(lost, 0);
    expect_whole(1);
    ck_assert_int_eq(feed_at(1, 20, 0, 10), RML_ASSEMBLED_MORE);
    rml_assembly_abandon(&assembly);
    ck_assert_int_eq(feed_at(1, 20, 10, 10), RML_ASSEMBLED_BROKEN);
}
END_TEST

START_TEST(refused_messages_are_not_lost)
{
    rml_assembly_skip(&assembly, 0);
    rml_assembly_skip(&assembly, 0); /* its second frame */
    rml_assembly_skip(&assembly, 7); /* not the next one: what is between is missing */
    ck_assert_int_eq(feed_at(1, 20, 0, 10), RML_ASSEMBLED_MORE);
    rml_assembly_skip(&assembly, 1);
    ck_assert_int_eq(feed_at(2, 1, 0, 1), RML_ASSEMBLED_WHOLE);
    ck_assert_uint_eq(lost, 0);
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
        if (feed_at(assembly.next + (uint64_t) (rand() % 3), total, offset, length) ==
            RML_ASSEMBLED_WHOLE) {
            expect_whole(total);
        }
        ck_assert_ptr_null(whole);
        ck_assert(!assembly.message || assembly.message->size < assembly.total);
    }
    rml_assembly_reset(&assembly);
}
END_TEST

UNIT_MAIN("rml/assemble", one_frame, many_frames, memory_follows_the_bytes,
          frames_that_do_not_continue, sequences_are_checked, a_new_incarnation_begins_at_zero,
          refused_messages_are_not_lost, random_frames)
