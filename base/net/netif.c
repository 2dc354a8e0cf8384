#include <config.h>

#include <arpa/inet.h>
#include <base/net/netif.h>
#include <base/settings/param.h>
#include <base/text/sysfile.h>
#include <base/text/words.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { RULES_MAX = 64, RULE_MAX = 64 /* characters, with the NUL */, INTERFACES_MAX = 4096 };
enum { LEAST_MTU = 576 /* that every interface has */ };

/* One item of a list: a name, or a block when name is empty. */
struct rule {
    char name[IF_NAMESIZE];
    struct netif_block block;
};
struct rules {
    struct rule rule[RULES_MAX];
    size_t count;
};

/* ---- blocks ---- */

/* Keeps the first bits of the bytes and clears the rest. */
static void keep_prefix(uint8_t *bytes, size_t size, unsigned prefix)
{
    for (size_t i = 0; i < size; i++) {
        unsigned keep = prefix >= 8 ? 8 : prefix;
        bytes[i] &= (uint8_t) (0xff00u >> keep);
        prefix -= keep;
    }
}

int netif_block_parse(struct netif_block *block, const char *text)
{
    char host[INET6_ADDRSTRLEN];
    struct netif_block made = {.family = strchr(text, ':') ? AF_INET6 : AF_INET};
    const int64_t bits = made.family == AF_INET ? 32 : 128;
    int64_t prefix = bits;
    size_t length = strcspn(text, "/");
    if (length >= sizeof(host)) {
        return ORTE_ERR_BAD_PARAM;
    }
    memcpy(host, text, length);
    host[length] = '\0';
    if (inet_pton(made.family, host, made.bytes) != 1) {
        return ORTE_ERR_BAD_PARAM;
    }
    if (text[length] == '/' &&
        (text[length + 1 + strspn(text + length + 1, "0123456789")] != '\0' ||
         param_parse_int(text + length + 1, false, 0, bits, &prefix) != ORTE_SUCCESS)) {
        return ORTE_ERR_BAD_PARAM;
    }
    made.prefix = (unsigned) prefix;
    keep_prefix(made.bytes, sizeof(made.bytes), made.prefix);
    *block = made;
    return ORTE_SUCCESS;
}

static const uint8_t *addr_bytes(const struct sockaddr *addr, size_t *size)
{
    switch (addr->sa_family) {
    case AF_INET:
        *size = 4;
        return (const uint8_t *) &((const struct sockaddr_in *) (const void *) addr)->sin_addr;
    case AF_INET6:
        *size = 16;
        return (const uint8_t *) &((const struct sockaddr_in6 *) (const void *) addr)->sin6_addr;
    default:
        *size = 0;
        return NULL;
    }
}

bool netif_block_has(const struct netif_block *block, const struct sock_addr *addr)
{
    size_t size;
    uint8_t bytes[16] = {0};
    const uint8_t *own = addr_bytes((const struct sockaddr *) &addr->storage, &size);
    if (addr->storage.ss_family != block->family || !own) {
        return false;
    }
    memcpy(bytes, own, size);
    keep_prefix(bytes, sizeof(bytes), block->prefix);
    return memcmp(bytes, block->bytes, size) == 0;
}

/* ---- rules ---- */

static int parse_rule(struct rule *rule, const char *text)
{
    *rule = (struct rule){.name = ""};
    if (netif_block_parse(&rule->block, text) == ORTE_SUCCESS) {
        return ORTE_SUCCESS;
    }
    size_t length = strlen(text);
    if (length == 0 || length >= sizeof(rule->name) || text[strcspn(text, "/ \t")] != '\0') {
        return ORTE_ERR_BAD_PARAM;
    }
    memcpy(rule->name, text, length + 1);
    return ORTE_SUCCESS;
}

static int parse_rules(struct rules *rules, const char *text, char *reason, size_t reason_size)
{
    rules->count = 0;
    for (const char *rest = text; rest && *rest;) {
        char item[RULE_MAX];
        struct word word = word_next(&rest);
        int written = snprintf(item, sizeof(item), "%.*s", (int) word.length, word.at);
        if (rules->count == RULES_MAX) {
            snprintf(reason, reason_size, "more than %d interfaces in a list", RULES_MAX);
            return ORTE_ERR_BAD_PARAM;
        }
        if (written <= 0 || (size_t) written >= sizeof(item) ||
            parse_rule(&rules->rule[rules->count], item) != ORTE_SUCCESS) {
            snprintf(reason, reason_size, "\"%.*s\" is neither an interface nor an address block",
                     RULE_MAX, item);
            return ORTE_ERR_BAD_PARAM;
        }
        rules->count++;
    }
    return ORTE_SUCCESS;
}

static bool rules_match(const struct rules *rules, const struct netif *netif)
{
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->rule[i];
        if (*rule->name ? strcmp(rule->name, netif->name) == 0
                        : netif_block_has(&rule->block, &netif->addr)) {
            return true;
        }
    }
    return false;
}

int netif_choose(const char *include, const char *exclude, struct netif *list, size_t *count,
                 char *reason, size_t reason_size)
{
    struct rules rules;
    bool including = include && *include, excluding = exclude && *exclude;
    if (including && excluding) {
        snprintf(reason, reason_size, "interfaces are both included and excluded; choose one");
        return ORTE_ERR_BAD_PARAM;
    }
    const char *text = including ? include : excluding ? exclude : "";
    int rc = parse_rules(&rules, text, reason, reason_size);
    if (rc != ORTE_SUCCESS) {
        return rc;
    }
    size_t chosen = 0, others = 0, kept = 0;
    for (size_t i = 0; i < *count; i++) {
        bool choose = rules_match(&rules, &list[i]) == including;
        chosen += choose;
        others += choose && !list[i].loopback;
    }
    if (chosen == 0 && *text) {
        snprintf(reason, reason_size, "no interface that is up %s \"%s\"",
                 including ? "is one of" : "is left without", text);
        return ORTE_ERR_NOT_FOUND;
    }
    bool loopback_too = including || others == 0;
    for (size_t i = 0; i < *count; i++) {
        if (rules_match(&rules, &list[i]) == including && (loopback_too || !list[i].loopback)) {
            list[kept++] = list[i];
        }
    }
    *count = kept;
    return ORTE_SUCCESS;
}

/* ---- the system's interfaces ---- */

static bool is_usable(const struct ifaddrs *entry)
{
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP) || !(entry->ifa_flags & IFF_RUNNING)) {
        return false;
    }
    if (entry->ifa_addr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *) entry->ifa_addr;
        return !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);
    }
    return entry->ifa_addr->sa_family == AF_INET;
}

static unsigned mask_length(const struct sockaddr *mask, int family)
{
    size_t size;
    unsigned bits = 0;
    const uint8_t *bytes = mask && mask->sa_family == family ? addr_bytes(mask, &size) : NULL;
    if (!bytes) {
        return family == AF_INET ? 32 : 128;
    }
    while (bits < 8 * size && (bytes[bits / 8] & (0x80u >> (bits % 8)))) {
        bits++;
    }
    return bits;
}

/* A number that the kernel tells of an interface, at least least; else none. Some devices have no
 * speed, and say so by -1 or an error; most virtual ones have no device. */
static int64_t read_number(const char *name, const char *what, int64_t least, int64_t none)
{
    char path[80], text[24];
    int64_t number;
    snprintf(path, sizeof(path), "/sys/class/net/%.15s/%s", name, what);
    return sysfile_line(path, text, sizeof(text)) &&
                   param_parse_int(text, false, least, INT32_MAX, &number) == ORTE_SUCCESS
               ? number
               : none;
}

/* From the socket's own network namespace; /sys may show another one's. */
static uint32_t read_mtu(const char *name)
{
    struct ifreq request = {.ifr_name = ""};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%.15s", name);
    bool known = fd >= 0 && ioctl(fd, SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 0;
    fd_close(&fd);
    return known ? (uint32_t) request.ifr_mtu : LEAST_MTU;
}

static void describe(struct netif *netif, const struct ifaddrs *entry)
{
    int family = entry->ifa_addr->sa_family;
    *netif = (struct netif){.loopback = entry->ifa_flags & IFF_LOOPBACK};
    snprintf(netif->name, sizeof(netif->name), "%.15s", entry->ifa_name);
    netif->addr.length =
        family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    memcpy(&netif->addr.storage, entry->ifa_addr, netif->addr.length);
    netif->prefix = mask_length(entry->ifa_netmask, family);
    netif->index = if_nametoindex(netif->name);
    netif->mtu_bytes = read_mtu(netif->name);
    netif->numa_node = (int) read_number(netif->name, "device/numa_node", 0, -1);
    netif->speed_mbps = netif->loopback ? 0 : (uint32_t) read_number(netif->name, "speed", 1, 0);
}

/* Appends the usable entries of one family, loopback or not. */
static size_t append(struct netif *list, size_t count, const struct ifaddrs *entries, int family,
                     bool loopback)
{
    for (const struct ifaddrs *entry = entries; entry && count < INTERFACES_MAX;
         entry = entry->ifa_next) {
        if (is_usable(entry) && entry->ifa_addr->sa_family == family &&
            !!(entry->ifa_flags & IFF_LOOPBACK) == loopback) {
            describe(&list[count++], entry);
        }
    }
    return count;
}

static int enumerate(struct netif **list, size_t *count, char *reason, size_t reason_size)
{
    struct ifaddrs *entries;
    if (getifaddrs(&entries) < 0) {
        snprintf(reason, reason_size, "cannot list the interfaces: %s", strerror(errno));
        return ORTE_ERR_IN_ERRNO;
    }
    size_t room = 0, used = 0;
    for (const struct ifaddrs *entry = entries; entry; entry = entry->ifa_next) {
        room += is_usable(entry);
    }
    struct netif *made = calloc(room ? room : 1, sizeof(*made));
    if (made) {
        used = append(made, used, entries, AF_INET, false);
        used = append(made, used, entries, AF_INET6, false);
        used = append(made, used, entries, AF_INET, true);
        used = append(made, used, entries, AF_INET6, true);
    }
    freeifaddrs(entries);
    if (!made) {
        snprintf(reason, reason_size, "out of memory");
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *list = made;
    *count = used;
    return ORTE_SUCCESS;
}

int netif_list(const char *include, const char *exclude, struct netif **list, size_t *count,
               char *reason, size_t reason_size)
{
    struct netif *made = NULL;
    size_t used = 0;
    int rc = enumerate(&made, &used, reason, reason_size);
    if (rc == ORTE_SUCCESS) {
        rc = netif_choose(include, exclude, made, &used, reason, reason_size);
    }
    if (rc != ORTE_SUCCESS || used == 0) {
        free(made);
        made = NULL;
        used = 0;
    }
    if (rc == ORTE_SUCCESS) {
        *list = made;
        *count = used;
    }
    return rc;
}
