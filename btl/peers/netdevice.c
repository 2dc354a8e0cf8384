#include <config.h>

#include <arpa/inet.h>
#include <base/net/netif.h>
#include <btl/peers/netdevice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL "0.0.0.0/0,::/0" /* loopback interfaces as well */

static void print_address(char text[INET6_ADDRSTRLEN + 8], const struct netif *netif)
{
    const struct sockaddr_storage *storage = &netif->addr.storage;
    const void *bytes = &((const struct sockaddr_in *) (const void *) storage)->sin_addr;
    char host[INET6_ADDRSTRLEN] = "";
    if (storage->ss_family == AF_INET6) {
        bytes = &((const struct sockaddr_in6 *) (const void *) storage)->sin6_addr;
    }
    (void) !inet_ntop(storage->ss_family, bytes, host, sizeof(host));
    snprintf(text, INET6_ADDRSTRLEN + 8, "%s/%u", host, netif->prefix);
}

static bool has(const struct netif *list, size_t count, const struct netif *netif)
{
    size_t i = 0;
    while (i < count && (list[i].index != netif->index ||
                         memcmp(&list[i].addr, &netif->addr, sizeof(netif->addr)) != 0)) {
        i++;
    }
    return i < count;
}

static void show(const struct netif *netif, const char *unused, keel_device_fn visit, void *arg)
{
    char address[INET6_ADDRSTRLEN + 8];
    print_address(address, netif);
    visit(arg, &(struct keel_device){
                   .name = netif->name,
                   .address = address,
                   .about = netif->loopback ? "loopback" : "",
                   .mtu_bytes = netif->mtu_bytes,
                   .speed_mbps = netif->speed_mbps,
                   .numa_node = netif->numa_node,
                   .unused = unused,
               });
}

void netdevices_each(const char *include, const char *exclude, keel_device_fn visit, void *arg)
{
    struct netif *all = NULL;
    size_t count = 0;
    char reason[256] = "not among the interfaces that are chosen";
    if (netif_list(ALL, NULL, &all, &count, reason, sizeof(reason)) != ORTE_SUCCESS) {
        return;
    }
    size_t chosen_count = count;
    struct netif *chosen = calloc(count + 1, sizeof(*chosen));
    if (chosen && count > 0) {
        memcpy(chosen, all, count * sizeof(*chosen));
        if (netif_choose(include, exclude, chosen, &chosen_count, reason, sizeof(reason)) !=
            ORTE_SUCCESS) {
            chosen_count = 0; /* reason says why */
        }
    }
    for (size_t i = 0; chosen && i < count; i++) {
        show(&all[i], has(chosen, chosen_count, &all[i]) ? NULL : reason, visit, arg);
    }
    free(chosen);
    free(all);
}
