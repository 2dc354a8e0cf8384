#include <tests/lib/unit.h>

#include <keel/bitmap.h>

static opal_bitmap_t bm;

static void start(int size)
{
    OBJ_CONSTRUCT(&bm, opal_bitmap_t);
    ck_assert_int_eq(opal_bitmap_init(&bm, size), OPAL_SUCCESS);
}

START_TEST(sets_and_clears)
{
    start(130);
    static const int bits[] = {0, 1, 63, 64, 65, 127, 128, 129};
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        ck_assert(!opal_bitmap_is_set_bit(&bm, bits[i]));
        ck_assert_int_eq(opal_bitmap_set_bit(&bm, bits[i]), OPAL_SUCCESS);
        ck_assert(opal_bitmap_is_set_bit(&bm, bits[i]));
    }
    ck_assert(!opal_bitmap_is_set_bit(&bm, 2));
    ck_assert_int_eq(opal_bitmap_clear_bit(&bm, 64), OPAL_SUCCESS);
    ck_assert(!opal_bitmap_is_set_bit(&bm, 64));
    ck_assert(opal_bitmap_is_set_bit(&bm, 63));
    ck_assert(opal_bitmap_is_set_bit(&bm, 65));
    OBJ_DESTRUCT(&bm);
}
END_TEST

START_TEST(grows)
{
    start(1);
    ck_assert_int_eq(opal_bitmap_set_bit(&bm, 0), OPAL_SUCCESS);
    ck_assert_int_eq(opal_bitmap_set_bit(&bm, 100000), OPAL_SUCCESS);
    int set = 0;
    for (int i = 0; i <= 100064; i++) {
        set += opal_bitmap_is_set_bit(&bm, i);
    }
    ck_assert_int_eq(set, 2);
    ck_assert(opal_bitmap_is_set_bit(&bm, 0));
    ck_assert(opal_bitmap_is_set_bit(&bm, 100000));
    OBJ_DESTRUCT(&bm);
}
END_TEST

START_TEST(refuses)
{
    OBJ_CONSTRUCT(&bm, opal_bitmap_t);
    int position;
    ck_assert_int_eq(opal_bitmap_init(NULL, 1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_bitmap_init(&bm, -1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_bitmap_set_max_size(NULL, 1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_bitmap_set_max_size(&bm, -1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_bitmap_set_bit(NULL, 0), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_bitmap_set_bit(&bm, -1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_bitmap_clear_bit(NULL, 0), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_bitmap_clear_bit(&bm, -1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_bitmap_clear_all_bits(NULL), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_bitmap_set_all_bits(NULL), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_bitmap_find_and_set_first_unset_bit(NULL, &position), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_bitmap_find_and_set_first_unset_bit(&bm, NULL), OPAL_ERR_BAD_PARAM);
    ck_assert(!opal_bitmap_is_set_bit(NULL, 0));
    ck_assert(!opal_bitmap_is_set_bit(&bm, -1));
    ck_assert(!opal_bitmap_is_set_bit(&bm, INT32_MAX));
    ck_assert_int_eq(opal_bitmap_clear_bit(&bm, INT32_MAX), OPAL_SUCCESS);
    OBJ_DESTRUCT(&bm);
}
END_TEST

START_TEST(keeps_to_the_maximum)
{
    OBJ_CONSTRUCT(&bm, opal_bitmap_t);
    ck_assert_int_eq(opal_bitmap_set_max_size(&bm, 128), OPAL_SUCCESS);
    ck_assert_int_eq(opal_bitmap_init(&bm, 129), OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_int_eq(opal_bitmap_init(&bm, 64), OPAL_SUCCESS);
    ck_assert_int_eq(opal_bitmap_set_bit(&bm, 128), OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_int_eq(bm.array_size, 1);
    ck_assert_int_eq(opal_bitmap_set_bit(&bm, 127), OPAL_SUCCESS);
    ck_assert_int_eq(bm.array_size, 2);
    ck_assert_int_eq(opal_bitmap_set_all_bits(&bm), OPAL_SUCCESS);
    int position = 7;
    ck_assert_int_eq(opal_bitmap_find_and_set_first_unset_bit(&bm, &position),
                     OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_int_eq(position, 7);
    OBJ_DESTRUCT(&bm);
}
END_TEST

START_TEST(finds_the_first_unset)
{
    OBJ_CONSTRUCT(&bm, opal_bitmap_t); /* an empty one grows, too */
    int position;
    for (int i = 0; i < 200; i++) {
        ck_assert_int_eq(opal_bitmap_find_and_set_first_unset_bit(&bm, &position), OPAL_SUCCESS);
        ck_assert_int_eq(position, i);
    }
    opal_bitmap_clear_bit(&bm, 63);
    opal_bitmap_clear_bit(&bm, 130);
    opal_bitmap_find_and_set_first_unset_bit(&bm, &position);
    ck_assert_int_eq(position, 63);
    opal_bitmap_find_and_set_first_unset_bit(&bm, &position);
    ck_assert_int_eq(position, 130);
    OBJ_DESTRUCT(&bm);
}
END_TEST

START_TEST(all_bits)
{
    start(100);
    ck_assert_int_eq(opal_bitmap_set_all_bits(&bm), OPAL_SUCCESS);
    for (int i = 0; i < 100; i++) {
        ck_assert(opal_bitmap_is_set_bit(&bm, i));
    }
    ck_assert_int_eq(opal_bitmap_clear_all_bits(&bm), OPAL_SUCCESS);
    for (int i = 0; i < 128; i++) {
        ck_assert(!opal_bitmap_is_set_bit(&bm, i));
    }
    opal_bitmap_set_bit(&bm, 3);
    ck_assert_int_eq(opal_bitmap_init(&bm, 10), OPAL_SUCCESS); /* again: empty */
    ck_assert(!opal_bitmap_is_set_bit(&bm, 3));
    OBJ_DESTRUCT(&bm);
}
END_TEST

UNIT_MAIN("bitmap")
