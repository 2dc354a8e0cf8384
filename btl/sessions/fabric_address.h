/* The address of a libfabric endpoint, as its provider wrote it: what cards and hellos carry. */
#ifndef BTL_FABRIC_ADDRESS_H
#define BTL_FABRIC_ADDRESS_H

#include <keel/types.h>

enum { FABRIC_ADDRESS_MAX = 256 };

struct fabric_address {
    uint32_t format; /* libfabric's FI_ADDR_*, FI_SOCKADDR_* */
    size_t size;
    uint8_t bytes[FABRIC_ADDRESS_MAX];
};

#endif
