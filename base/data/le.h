/* Little-endian integers at any address: the order of Keel's own wires. */
#ifndef BASE_LE_H
#define BASE_LE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void put_le16(uint8_t *at, uint16_t value)
{
    value = htole16(value);
    memcpy(at, &value, sizeof(value));
}

static inline void put_le32(uint8_t *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof(value));
}

static inline void put_le64(uint8_t *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof(value));
}

static inline uint16_t get_le16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof(value));
    return le16toh(value);
}

static inline uint32_t get_le32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return le32toh(value);
}

static inline uint64_t get_le64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return le64toh(value);
}

#endif
