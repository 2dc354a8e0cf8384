/* Network interfaces: which are up, and which of them a list of names and CIDR blocks chooses. */
#ifndef BASE_NETIF_H
#define BASE_NETIF_H

#include <base/sock.h>
#include <keel/types.h>

struct netif {
    char name[16];
    struct sock_addr addr; /* port 0 */
    unsigned prefix;       /* length of the netmask */
    bool loopback;
    uint32_t speed_mbps;   /* 0: unknown */
};

/* Interfaces that are up, IPv4 first, malloc'd. include and exclude: comma-separated names or CIDR
 * blocks ("eth0,10.0.0.0/8"), empty: no rule; both given: ORTE_ERR_BAD_PARAM, as for a text that
 * does not parse. Loopback interfaces come last, and only when they are asked for by include or
 * there is nothing else. An include that matches nothing: ORTE_ERR_NOT_FOUND. */
int netif_list(const char *include, const char *exclude, struct netif **list, size_t *count,
               char *reason, size_t reason_size) KEEL_MUST_CHECK;

#endif
