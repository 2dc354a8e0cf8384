/* Network cards as tests write them. */
#ifndef TESTS_UNIT_BTL_NETCARD_H
#define TESTS_UNIT_BTL_NETCARD_H

#include <arpa/inet.h>
#include <btl/peers/netcard.h>
#include <check.h>
#include <string.h>

/* Appends an address, which listens on port 1. */
static inline struct netcard_address *netcard_with(struct netcard *card, const char *host,
                                                   unsigned prefix, uint32_t speed,
                                                   uint32_t interface)
{
    struct netcard_address *address = &card->addresses[card->count++];

    *address = (struct netcard_address){.family = strchr(host, ':') ? AF_INET6 : AF_INET,
                                        .prefix = prefix,
                                        .port = 1,
                                        .speed_mbps = speed,
                                        .interface = interface};
    ck_assert_int_eq(inet_pton(address->family, host, address->bytes), 1);
    return address;
}

#endif
