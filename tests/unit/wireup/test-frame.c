/* Messages in frames: they come back in order, however the bytes come, and frames that cannot be
 * are refused. */
#include <config.h>

#include <base/data/le.h>
#include <stdlib.h>
#include <tests/lib/unit.h>
#include <wireup/frame.h>
#include <wireup/proto.h>

enum { KIND = 7, MAX = 1024 };

static void put(struct bytes *out, uint32_t number, const char *text)
{
    opal_buffer_t *buffer = proto_new(KIND, "us", number, text);
    ck_assert_int_eq(frame_put(out, buffer, MAX), ORTE_SUCCESS);
    OBJ_RELEASE(buffer);
}

static void check_next(struct bytes *in, uint32_t number, const char *text)
{
    opal_buffer_t *buffer;
    uint8_t kind;
    uint32_t got_number;
    char *got;
    ck_assert_int_eq(frame_next(in, MAX, &buffer), ORTE_SUCCESS);
    ck_assert_ptr_nonnull(buffer);
    ck_assert_int_eq(proto_unpack(buffer, "cus", &kind, &got_number, &got), OPAL_SUCCESS);
    ck_assert_uint_eq(kind, KIND);
    ck_assert_uint_eq(got_number, number);
    ck_assert_str_eq(got, text);
    free(got);
    OBJ_RELEASE(buffer);
}

START_TEST(test_messages_come_back_in_order)
{
    struct bytes out = {0};
    opal_buffer_t *buffer;
    put(&out, 1, "one");
    put(&out, 2, "");
    check_next(&out, 1, "one");
    check_next(&out, 2, "");
    ck_assert_int_eq(frame_next(&out, MAX, &buffer), ORTE_SUCCESS);
    ck_assert_ptr_null(buffer);
    bytes_fini(&out);
}
END_TEST

START_TEST(test_a_message_comes_when_its_last_byte_does)
{
    struct bytes out = {0}, in = {0};
    opal_buffer_t *buffer;
    put(&out, 7, "whole");
    for (size_t i = 0; i + 1 < bytes_waiting(&out); i++) {
        ck_assert(bytes_append(&in, out.data + i, 1));
        ck_assert_int_eq(frame_next(&in, MAX, &buffer), ORTE_SUCCESS);
        ck_assert_ptr_null(buffer);
    }
    ck_assert(bytes_append(&in, out.data + out.tail - 1, 1));
    check_next(&in, 7, "whole");
    bytes_fini(&out);
    bytes_fini(&in);
}
END_TEST

START_TEST(test_frames_that_cannot_be_are_refused)
{
    static const uint32_t sizes[] = {0, MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct bytes in = {0};
        uint8_t header[4];
        opal_buffer_t *buffer;
        put_le32(header, sizes[i]);
        ck_assert(bytes_append(&in, header, sizeof(header)));
        ck_assert_int_eq(frame_next(&in, MAX, &buffer), ORTE_ERR_UNPACK_FAILURE);
        bytes_fini(&in);
    }
}
END_TEST

START_TEST(test_what_is_too_large_is_not_put)
{
    static char block[MAX];
    struct bytes out = {0};
    opal_buffer_t *buffer = proto_new(KIND, "b", block, sizeof(block));
    ck_assert_int_eq(frame_put(&out, buffer, MAX), ORTE_ERR_OUT_OF_RESOURCE);
    ck_assert_uint_eq(bytes_waiting(&out), 0);
    ck_assert_int_eq(frame_put(&out, buffer, 2 * MAX), ORTE_SUCCESS);
    OBJ_RELEASE(buffer);
    buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(frame_put(&out, buffer, MAX), ORTE_ERR_OUT_OF_RESOURCE);
    OBJ_RELEASE(buffer);
    bytes_fini(&out);
}
END_TEST

UNIT_MAIN("frame")
