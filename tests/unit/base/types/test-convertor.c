#include <tests/lib/unit.h>

#include <keel/convertor.h>
#include <string.h>

enum { SIZE = 40 };

static uint8_t flat[SIZE];      /* the data in order */
static uint8_t store[4 * SIZE]; /* where a scatter list's segments lie */

/* Scatter lists over SIZE bytes, zero-length segments among them. */
struct layout {
    const char *what;
    uint32_t count;
    size_t lengths[10];
};

static const struct layout layouts[] = {
    {"one segment", 1, {SIZE}},
    {"two halves", 2, {20, 20}},
    {"uneven", 4, {1, 30, 2, 7}},
    {"empty first", 3, {0, 15, 25}},
    {"empty last", 3, {15, 25, 0}},
    {"empty between", 7, {0, 0, 10, 0, 0, 30, 0}},
    {"single bytes", 6, {1, 1, 1, 1, 1, 35}},
};

enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

/* Lays the segments out with gaps; the gaps hold 0xee. */
static void lay_out(const struct layout *layout, struct iovec *segments)
{
    size_t at = 1, from = 0;
    memset(store, 0xee, sizeof(store));
    for (uint32_t i = 0; i < layout->count; i++) {
        size_t length = layout->lengths[i];
        segments[i] = (struct iovec){length > 0 ? store + at : NULL, length};
        memcpy(store + at, flat + from, length);
        from += length;
        at += length + 3;
    }
    ck_assert_uint_eq(from, SIZE);
}

static void fill_flat(void)
{
    for (size_t i = 0; i < SIZE; i++) {
        flat[i] = (uint8_t) (i + 1);
    }
}

static void move_to(opal_convertor_t *convertor, size_t position)
{
    size_t at = position;
    ck_assert_int_eq(opal_convertor_set_position(convertor, &at), OPAL_SUCCESS);
    ck_assert_uint_eq(at, position);
}

/* Packs size bytes at offset and compares; the bytes behind them stay as they were. */
static bool packs_right(opal_convertor_t *convertor, size_t offset, size_t size)
{
    uint8_t packed[SIZE + 8];
    size_t left = SIZE - offset, expected = size < left ? size : left, at = offset;
    memset(packed, 0xdd, sizeof(packed));
    return opal_convertor_set_position(convertor, &at) == OPAL_SUCCESS && at == offset &&
           opal_convertor_pack_bytes(convertor, packed, size) == expected &&
           memcmp(packed, flat + offset, expected) == 0 && packed[expected] == 0xdd &&
           convertor->bytes_converted == offset + expected;
}

START_TEST(packs_from_any_offset)
{
    fill_flat();
    for (int l = 0; l < LAYOUTS; l++) {
        struct iovec segments[10];
        opal_convertor_t convertor;
        lay_out(&layouts[l], segments);
        ck_assert_int_eq(opal_convertor_prepare_iovec(&convertor, segments, layouts[l].count), 0);
        ck_assert_uint_eq(opal_convertor_get_packed_size(&convertor), SIZE);
        for (size_t offset = 0; offset <= SIZE; offset++) {
            for (size_t size = 0; size <= SIZE + 3; size++) {
                if (!packs_right(&convertor, offset, size)) {
                    ck_abort_msg("%s, %zu bytes at %zu", layouts[l].what, size, offset);
                }
            }
        }
    }
}
END_TEST

/* Clears the data and unpacks it again, some bytes at a time. */
static bool unpacks_right(opal_convertor_t *convertor, const struct layout *layout,
                          struct iovec *segments, size_t piece)
{
    uint8_t expected[sizeof(store)];
    lay_out(layout, segments);
    memcpy(expected, store, sizeof(store));
    for (uint32_t i = 0; i < layout->count; i++) {
        if (segments[i].iov_len > 0) {
            memset(segments[i].iov_base, 0, segments[i].iov_len);
        }
    }
    if (opal_convertor_prepare_iovec(convertor, segments, layout->count) != OPAL_SUCCESS) {
        return false;
    }
    for (size_t done = 0; done < SIZE; done += piece) {
        size_t size = SIZE - done < piece ? SIZE - done : piece;
        if (opal_convertor_unpack_bytes(convertor, flat + done, size) != size) {
            return false;
        }
    }
    return opal_convertor_unpack_bytes(convertor, flat, 1) == 0 &&
           memcmp(store, expected, sizeof(store)) == 0;
}

START_TEST(unpacks_in_pieces)
{
    fill_flat();
    for (int l = 0; l < LAYOUTS; l++) {
        for (size_t piece = 1; piece <= SIZE; piece++) {
            struct iovec segments[10];
            opal_convertor_t convertor;
            if (!unpacks_right(&convertor, &layouts[l], segments, piece)) {
                ck_abort_msg("%s, pieces of %zu", layouts[l].what, piece);
            }
        }
    }
}
END_TEST

START_TEST(contiguous)
{
    fill_flat();
    opal_convertor_t convertor, copy;
    uint8_t packed[SIZE];
    opal_convertor_prepare(&convertor, flat, SIZE);
    move_to(&convertor, 5);
    copy = convertor; /* a copy stands by itself */
    memset(&convertor, 0xff, sizeof(convertor));
    ck_assert_uint_eq(opal_convertor_get_packed_size(&copy), SIZE);
    ck_assert_uint_eq(opal_convertor_pack_bytes(&copy, packed, SIZE), SIZE - 5);
    ck_assert_int_eq(memcmp(packed, flat + 5, SIZE - 5), 0);
}
END_TEST

START_TEST(empty_data)
{
    opal_convertor_t convertor;
    uint8_t byte = 0;
    size_t size = 9;
    struct iovec none[2] = {{NULL, 0}, {NULL, 0}};
    opal_convertor_prepare(&convertor, NULL, 0);
    ck_assert_uint_eq(opal_convertor_pack_bytes(&convertor, &byte, 1), 0);
    ck_assert_ptr_null(opal_convertor_current(&convertor, &size));
    ck_assert_uint_eq(size, 0);
    ck_assert_int_eq(opal_convertor_need_buffers(&convertor, 5), 0);
    ck_assert_int_eq(opal_convertor_prepare_iovec(&convertor, NULL, 0), OPAL_SUCCESS);
    ck_assert_uint_eq(opal_convertor_get_packed_size(&convertor), 0);
    move_to(&convertor, 0);
    ck_assert_int_eq(opal_convertor_prepare_iovec(&convertor, none, 2), OPAL_SUCCESS);
    ck_assert_uint_eq(opal_convertor_unpack_bytes(&convertor, &byte, 1), 0);
}
END_TEST

START_TEST(position_is_cut_to_the_end)
{
    opal_convertor_t convertor;
    opal_convertor_prepare(&convertor, flat, SIZE);
    size_t position = SIZE_MAX;
    ck_assert_int_eq(opal_convertor_set_position(&convertor, &position), OPAL_SUCCESS);
    ck_assert_uint_eq(position, SIZE);
    position = 3; /* and back */
    ck_assert_int_eq(opal_convertor_set_position(&convertor, &position), OPAL_SUCCESS);
    ck_assert_uint_eq(position, 3);
    ck_assert_int_eq(opal_convertor_set_position(NULL, &position), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_convertor_set_position(&convertor, NULL), OPAL_ERR_BAD_PARAM);
}
END_TEST

START_TEST(refuses_bad_lists)
{
    opal_convertor_t convertor;
    struct iovec overflow[2] = {{flat, SIZE_MAX}, {flat, 1}}, no_base[1] = {{NULL, 1}};
    ck_assert_int_eq(opal_convertor_prepare_iovec(&convertor, overflow, 2), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_convertor_prepare_iovec(&convertor, no_base, 1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_convertor_prepare_iovec(&convertor, NULL, 1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_convertor_prepare_iovec(NULL, overflow, 1), OPAL_ERR_BAD_PARAM);
}
END_TEST

START_TEST(current_and_need_buffers)
{
    struct iovec segments[10];
    opal_convertor_t convertor;
    fill_flat();
    lay_out(&layouts[5], segments); /* 0 0 10 0 0 30 0 */
    ck_assert_int_eq(opal_convertor_prepare_iovec(&convertor, segments, layouts[5].count), 0);
    size_t size = 100;
    ck_assert_ptr_eq(opal_convertor_current(&convertor, &size), segments[2].iov_base);
    ck_assert_uint_eq(size, 10);
    ck_assert_int_eq(opal_convertor_need_buffers(&convertor, 10), 0);
    ck_assert_int_eq(opal_convertor_need_buffers(&convertor, 11), 1);
    ck_assert_int_eq(opal_convertor_need_buffers(&convertor, 0), 0);
    move_to(&convertor, 10);
    size = 7;
    ck_assert_ptr_eq(opal_convertor_current(&convertor, &size), segments[5].iov_base);
    ck_assert_uint_eq(size, 7);
    ck_assert_uint_eq(convertor.bytes_converted, 10);                   /* it did not move */
    ck_assert_int_eq(opal_convertor_need_buffers(&convertor, 1000), 0); /* all that is left */
    move_to(&convertor, SIZE);
    ck_assert_ptr_null(opal_convertor_current(&convertor, &size));
    ck_assert_uint_eq(size, 0);
}
END_TEST

UNIT_MAIN("convertor")
