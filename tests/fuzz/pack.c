/* Packed messages: whatever the claim and the stream, nothing is unpacked but what they agree on
 * and what is believed; and what is packed comes back. */
#include <config.h>

#include <base/data/le.h>
#include <rml/message/pack.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

enum { MAX = 1 << 20, RATIO_MAX = 1032 };

/* True: it was taken. */
static bool unpack(const uint8_t *bytes, size_t size, size_t max)
{
    uint8_t *data = (uint8_t *) (uintptr_t) bytes;
    size_t unpacked = 77;
    int status = rml_unpack(bytes, size, max, &data, &unpacked);
    if (status != ORTE_SUCCESS) {
        fuzz_check(data == bytes && unpacked == 77, "an error has no effect");
        fuzz_check(status == ORTE_ERR_BAD_PARAM || status == ORTE_ERR_VALUE_OUT_OF_BOUNDS,
                   "an error has its reason");
        return false;
    }
    fuzz_check(unpacked > 0 && unpacked <= max, "no more is unpacked than is believed");
    fuzz_check(unpacked == get_le32(bytes), "a message has the size that it claims");
    fuzz_check(unpacked / RATIO_MAX <= size, "memory follows the bytes that came");
    free(data);
    return true;
}

/* The same stream under the claim that the bytes make, and under all near it. */
static void unpack_near(uint8_t *bytes, size_t size)
{
    unsigned taken = 0;
    uint32_t claim = size >= RML_PACK_HEAD ? get_le32(bytes) : 0;
    taken += unpack(bytes, size, MAX);
    for (uint32_t more = 1; size > RML_PACK_HEAD && more <= 2; more++) {
        put_le32(bytes, claim + more);
        taken += unpack(bytes, size, MAX);
    }
    fuzz_check(taken <= 1, "a stream has one size");
}

static void pack(const uint8_t *bytes, size_t size)
{
    size_t packed_size = 77, back_size = 0;
    uint8_t *back = NULL, *packed = rml_pack(bytes, size, &packed_size);
    if (!packed) {
        fuzz_check(packed_size == 77, "what is not packed has no size");
        return;
    }
    fuzz_check(packed_size <= size - size / 8, "what is packed is smaller by an eighth");
    fuzz_check(rml_unpack(packed, packed_size, size, &back, &back_size) == ORTE_SUCCESS &&
                   back_size == size && memcmp(back, bytes, size) == 0,
               "what was packed comes back");
    fuzz_check(!unpack(packed, packed_size, size - 1), "a smaller limit holds");
    free(back);
    free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    size_t left;
    uint8_t *bytes = feed_copy(&feed, size, &left);
    pack(bytes, left);
    unpack_near(bytes, left);
    free(bytes);
    return 0;
}
