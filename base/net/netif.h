/* Network interfaces: which are up, and which of them a list of names and CIDR blocks chooses. */
#ifndef BASE_NETIF_H
#define BASE_NETIF_H

#include <base/net/sock.h>
#include <keel/types.h>

struct netif {
    char name[16];
    struct sock_addr addr; /* port 0 */
    unsigned prefix;       /* length of the netmask */
    bool loopback;
    unsigned index; /* the kernel's number; an interface's addresses have the same */
    uint32_t mtu_bytes;
    uint32_t speed_mbps; /* 0: unknown */
    int numa_node;       /* that the device is attached to; -1: unknown */
};

/* Interfaces that are up, IPv4 first, malloc'd (NULL when there are none). include and exclude:
 * comma-separated names or CIDR blocks ("eth0,10.0.0.0/8"), NULL or empty: no rule; both given:
 * ORTE_ERR_BAD_PARAM, as for a text that does not parse. Loopback interfaces come last, and only
 * when they are asked for by include or there is nothing else. An include that matches nothing, or
 * an exclude that leaves nothing: ORTE_ERR_NOT_FOUND. Link-local IPv6 addresses are left out: they
 * mean nothing without their interface. */
int netif_list(const char *include, const char *exclude, struct netif **list, size_t *count,
               char *reason, size_t reason_size) KEEL_MUST_CHECK;

/* The choice alone: puts the chosen ones of list first, in order, and sets *count to their number.
 * On an error nothing changes. */
int netif_choose(const char *include, const char *exclude, struct netif *list, size_t *count,
                 char *reason, size_t reason_size) KEEL_MUST_CHECK;

/* An address block. */
struct netif_block {
    int family;        /* AF_INET or AF_INET6 */
    uint8_t bytes[16]; /* 4 of them for AF_INET; behind the prefix all zero */
    unsigned prefix;
};
/* "10.0.0.0/8", "fd00::/8", or an address alone, which is a block of one. Bits behind the prefix
 * are ignored. ORTE_ERR_BAD_PARAM: neither. */
int netif_block_parse(struct netif_block *block, const char *text) KEEL_MUST_CHECK;
bool netif_block_has(const struct netif_block *block, const struct sock_addr *addr);

#endif
