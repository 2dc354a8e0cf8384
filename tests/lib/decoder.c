#include <config.h>

#include <tests/lib/decoder.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20000 };

opal_buffer_t *decoder_load(const void *data, size_t size)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    void *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    ck_assert_int_eq(opal_dss.load(buffer, copy, (int32_t) size), OPAL_SUCCESS);
    return buffer;
}

void decoder_refuses_beginnings(const struct decoder *decoder, opal_buffer_t *whole)
{
    uint8_t *read = malloc(decoder->size), *before = malloc(decoder->size);
    memset(before, 0x5a, decoder->size);
    memcpy(read, before, decoder->size);
    for (size_t size = 0; size < whole->bytes_used; size++) {
        opal_buffer_t *buffer = decoder_load(whole->base_ptr, size);
        ck_assert_int_ne(decoder->unpack(buffer, read), OPAL_SUCCESS);
        ck_assert_mem_eq(read, before, decoder->size);
        OBJ_RELEASE(buffer);
    }
    free(read);
    free(before);
    OBJ_RELEASE(whole);
}

void decoder_survives_noise(const struct decoder *decoder, opal_buffer_t *whole)
{
    size_t size = whole->bytes_used;
    uint8_t *bytes = malloc(size);
    void *read = malloc(decoder->size);
    srandom(2);
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(bytes, whole->base_ptr, size);
        for (long changes = random() % 3; changes >= 0; changes--) {
            bytes[(size_t) random() % size] = (uint8_t) random();
        }
        opal_buffer_t *buffer = decoder_load(bytes, size);
        if (decoder->unpack(buffer, read) == OPAL_SUCCESS) {
            decoder->check(read);
            decoder->fini(read);
        }
        OBJ_RELEASE(buffer);
    }
    free(bytes);
    free(read);
    OBJ_RELEASE(whole);
}
