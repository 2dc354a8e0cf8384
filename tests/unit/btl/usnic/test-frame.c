/* The bytes of usnic's control frames. */
#include <btl/usnic/wire/frame.h>
#include <tests/lib/unit.h>

START_TEST(control_frames_have_these_bytes)
{
    static const uint8_t probe[USNIC_CONTROL_HEADER] = {
        0xe2, 2, 0xc0, 5, 7, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0x87, 0x4a, 0xb2, 0xb1};
    struct usnic_control_frame frame = {
        .kind = USNIC_PROBE, .size = 1472, .index = 7, .token = 0x0102030405060708};
    struct usnic_control_frame back;
    uint8_t bytes[1472] = {0};

    usnic_control_encode(bytes, &frame);
    ck_assert_mem_eq(bytes, probe, sizeof(probe));
    ck_assert_int_eq(usnic_control_decode(&back, bytes, sizeof(bytes)), OPAL_SUCCESS);
    ck_assert_uint_eq(back.kind, frame.kind);
    ck_assert_uint_eq(back.size, frame.size);
    ck_assert_uint_eq(back.index, frame.index);
    ck_assert_uint_eq(back.token, frame.token);
    ck_assert_int_ne(usnic_control_decode(&back, bytes, sizeof(bytes) - 1), OPAL_SUCCESS);
    ck_assert_int_ne(usnic_control_decode(&back, bytes, USNIC_CONTROL_HEADER - 1), OPAL_SUCCESS);
    frame.kind = USNIC_ECHO;
    usnic_control_encode(bytes, &frame);
    ck_assert_int_ne(usnic_control_decode(&back, bytes, sizeof(bytes)), OPAL_SUCCESS);
    ck_assert_int_eq(usnic_control_decode(&back, bytes, USNIC_CONTROL_HEADER), OPAL_SUCCESS);
    bytes[1] = 1;
    ck_assert_int_eq(usnic_control_decode(&back, bytes, USNIC_CONTROL_HEADER),
                     OPAL_ERR_NOT_SUPPORTED);
}
END_TEST

/* One bit lies between an ECHO and an OVER, which would end the session. */
START_TEST(corrupted_control_frames_are_refused)
{
    for (uint8_t kind = USNIC_OVER; kind <= USNIC_HERE; kind++) {
        const struct usnic_control_frame frame = {
            .kind = kind, .size = USNIC_CONTROL_HEADER, .index = 7, .token = 0x0102030405060708};
        struct usnic_control_frame back;
        uint8_t bytes[USNIC_CONTROL_HEADER];

        usnic_control_encode(bytes, &frame);
        ck_assert_int_eq(usnic_control_decode(&back, bytes, sizeof(bytes)), OPAL_SUCCESS);
        for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
            bytes[bit / 8] ^= (uint8_t) (1u << (bit % 8));
            ck_assert_int_ne(usnic_control_decode(&back, bytes, sizeof(bytes)), OPAL_SUCCESS);
            bytes[bit / 8] ^= (uint8_t) (1u << (bit % 8));
        }
    }
}
END_TEST

UNIT_MAIN("usnic-frame")
