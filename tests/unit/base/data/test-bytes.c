/* Bytes that grow: memory, sequences, queues. */
#include <config.h>

#include <base/data/bytes.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

START_TEST(memory_is_doubled_until_it_fits)
{
    size_t capacity = 0;
    char *data = bytes_grow(NULL, &capacity, 5, 4, 100);
    ck_assert_ptr_nonnull(data);
    ck_assert_uint_eq(capacity, 8);
    memcpy(data, "12345678", 8);
    char *same = bytes_grow(data, &capacity, 8, 4, 100);
    ck_assert_ptr_eq(same, data);
    ck_assert_uint_eq(capacity, 8);
    data = bytes_grow(data, &capacity, 33, 4, 100);
    ck_assert_ptr_nonnull(data);
    ck_assert_uint_eq(capacity, 64);
    ck_assert_mem_eq(data, "12345678", 8);
    free(data);
}
END_TEST

START_TEST(memory_never_exceeds_its_limit)
{
    size_t capacity = 0;
    char *data = bytes_grow(NULL, &capacity, 60, 4, 100);
    ck_assert_ptr_nonnull(data);
    data = bytes_grow(data, &capacity, 70, 4, 100);
    ck_assert_ptr_nonnull(data);
    ck_assert_uint_eq(capacity, 100);
    ck_assert_ptr_null(bytes_grow(data, &capacity, 101, 4, 100));
    ck_assert_uint_eq(capacity, 100);
    data[99] = 'x'; /* it is all there still */
    free(data);
    capacity = 0;
    data = bytes_grow(NULL, &capacity, 3, 200, 100);
    ck_assert_ptr_nonnull(data);
    ck_assert_uint_eq(capacity, 100);
    free(data);
}
END_TEST

START_TEST(a_sequence_keeps_what_was_appended)
{
    struct blob blob = {0};
    uint8_t piece[100];
    for (unsigned i = 0; i < 50; i++) {
        memset(piece, (int) i, sizeof(piece));
        ck_assert_int_eq(blob_append(&blob, piece, sizeof(piece)), ORTE_SUCCESS);
    }
    ck_assert_int_eq(blob_append(&blob, NULL, 0), ORTE_SUCCESS);
    ck_assert_uint_eq(blob.size, 5000);
    for (unsigned i = 0; i < 5000; i++) {
        ck_assert_uint_eq(blob.data[i], i / 100);
    }
    ck_assert_int_eq(blob_append(&blob, piece, SIZE_MAX / 2), ORTE_ERR_OUT_OF_RESOURCE);
    ck_assert_uint_eq(blob.size, 5000);
    ck_assert_int_eq(blob_reserve(&blob, 10000), ORTE_SUCCESS);
    const uint8_t *there = blob.data;
    for (unsigned i = 0; i < 100; i++) {
        ck_assert_int_eq(blob_append(&blob, piece, sizeof(piece)), ORTE_SUCCESS);
    }
    ck_assert_ptr_eq(blob.data, there);
    blob_fini(&blob);
    ck_assert_ptr_null(blob.data);
}
END_TEST

START_TEST(a_queue_gives_in_order_what_it_got)
{
    struct bytes queue = {0};
    unsigned put = 0, got = 0;
    for (unsigned round = 0; round < 400; round++) {
        uint8_t piece[97];
        for (size_t i = 0; i < sizeof(piece); i++) {
            piece[i] = (uint8_t) put++;
        }
        ck_assert(bytes_append(&queue, piece, sizeof(piece)));
        for (unsigned i = 0; i < 90; i++) {
            ck_assert_uint_eq((uint8_t) queue.data[queue.head], (uint8_t) got++);
            bytes_consume(&queue, 1);
        }
    }
    ck_assert_uint_eq(bytes_waiting(&queue), put - got);
    ck_assert(!bytes_reserve(&queue, SIZE_MAX / 2));
    ck_assert_uint_eq(bytes_waiting(&queue), put - got);
    bytes_consume(&queue, put - got);
    ck_assert_uint_eq(queue.head, 0);
    bytes_fini(&queue);
}
END_TEST

UNIT_MAIN("bytes")
