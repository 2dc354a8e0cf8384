#include <config.h>

#include <base/types/dss.h>
#include <string.h>

static uint64_t extend_sign(uint64_t value, size_t width)
{
    unsigned shift = 64 - 8 * (unsigned) width;
    return (uint64_t) ((int64_t) (value << shift) >> shift);
}

uint64_t dss_number_load(const void *at, size_t width, bool is_signed)
{
    uint64_t value = 0;
    uint32_t value32;
    uint16_t value16;
    switch (width) {
    case 1:
        value = *(const uint8_t *) at;
        break;
    case 2:
        memcpy(&value16, at, sizeof(value16));
        value = value16;
        break;
    case 4:
        memcpy(&value32, at, sizeof(value32));
        value = value32;
        break;
    default:
        memcpy(&value, at, sizeof(value));
        break;
    }
    return is_signed ? extend_sign(value, width) : value;
}

void dss_number_store(void *at, size_t width, uint64_t value)
{
    uint8_t value8 = (uint8_t) value;
    uint16_t value16 = (uint16_t) value;
    uint32_t value32 = (uint32_t) value;
    switch (width) {
    case 1:
        memcpy(at, &value8, sizeof(value8));
        break;
    case 2:
        memcpy(at, &value16, sizeof(value16));
        break;
    case 4:
        memcpy(at, &value32, sizeof(value32));
        break;
    default:
        memcpy(at, &value, sizeof(value));
        break;
    }
}

uint64_t dss_number_decode(const char *at, size_t width, bool is_signed)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) {
        value = value << 8 | (uint8_t) at[i];
    }
    return is_signed ? extend_sign(value, width) : value;
}

void dss_number_encode(char *at, size_t width, uint64_t value)
{
    for (size_t i = width; i > 0; value >>= 8) {
        at[--i] = (char) (uint8_t) value;
    }
}
