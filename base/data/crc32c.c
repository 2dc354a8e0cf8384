#include <config.h>

#include <base/data/crc32c.h>
#include <base/data/le.h>
#include <stdbool.h>

uint32_t crc32c_table(uint32_t crc, const void *data, size_t size)
{
    /* the remainder of each half of a byte, by the reflected polynomial 0x82f63b78 */
    static const uint32_t remainders[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    const uint8_t *at = data;

    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ remainders[crc & 0xf];
        crc = crc >> 4 ^ remainders[crc & 0xf];
    }
    return ~crc;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <nmmintrin.h>
#include <wmmintrin.h>

#define CRC_TARGET __attribute__((target("sse4.2,pclmul")))

/* The instruction takes three cycles, and three may be under way: long data is summed in blocks of
 * three parts beside each other. The remainder of a part moves over the next ones by a carry-less
 * product with x^(8 * bytes - 33) modulo the polynomial. */
enum { PART = 152, BLOCK = 3 * PART };
#define OVER_ONE 0x7e908048
#define OVER_TWO 0x78d9ccb7

CRC_TARGET static uint64_t moved(uint64_t sum, int64_t power)
{
    __m128i product =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t) sum), _mm_cvtsi64_si128(power), 0);

    return (uint64_t) _mm_cvtsi128_si64(product);
}

CRC_TARGET static uint64_t block(uint64_t sum, const uint8_t *at)
{
    uint64_t second = 0, third = 0;
    size_t i;

    for (i = 0; i < PART - 8; i += 8) {
        sum = _mm_crc32_u64(sum, get_le64(at + i));
        second = _mm_crc32_u64(second, get_le64(at + PART + i));
        third = _mm_crc32_u64(third, get_le64(at + 2 * PART + i));
    }
    sum = _mm_crc32_u64(sum, get_le64(at + i));
    second = _mm_crc32_u64(second, get_le64(at + PART + i));
    return _mm_crc32_u64(third, get_le64(at + 2 * PART + i) ^ moved(sum, OVER_TWO) ^
                                    moved(second, OVER_ONE));
}

CRC_TARGET static uint32_t by_instruction(uint32_t crc, const uint8_t *at, size_t size)
{
    uint64_t sum = ~crc;

    for (; size >= BLOCK; at += BLOCK, size -= BLOCK) {
        sum = block(sum, at);
    }
    for (; size >= 8; at += 8, size -= 8) {
        sum = _mm_crc32_u64(sum, get_le64(at));
    }
    uint32_t rest = (uint32_t) sum;
    for (; size > 0; at++, size--) {
        rest = _mm_crc32_u8(rest, *at);
    }
    return ~rest;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    bool has_both = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");

    return has_both ? by_instruction(crc, data, size) : crc32c_table(crc, data, size);
}

#else

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    return crc32c_table(crc, data, size);
}

#endif
