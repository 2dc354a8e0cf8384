#include <config.h>

#include <base/data/crypto.h>
#include <base/data/le.h>
#include <base/host/topo.h>
#include <base/net/pairing.h>
#include <base/text/sysfile.h>
#include <btl/peers/netcard.h>
#include <netinet/in.h>
#include <sys/stat.h>

enum { HEAD = 16, ENTRY = 36, LOOPBACK_MBPS = 16000 };

/* ---- bytes ---- */

static size_t address_bytes(int family)
{
    return family == AF_INET ? 4 : 16;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
    static const uint8_t zero[16];

    return memcmp(bytes, zero, size) == 0;
}

size_t netcard_encode(uint8_t out[NETCARD_BYTES], const struct netcard *card)
{
    memset(out, 0, NETCARD_BYTES);
    out[0] = (uint8_t) card->count;
    put_le64(out + 8, card->netstack);
    for (size_t i = 0; i < card->count; i++) {
        const struct netcard_address *address = &card->addresses[i];
        uint8_t *at = out + HEAD + i * ENTRY;
        at[0] = address->family == AF_INET ? 4 : 6;
        at[1] = (uint8_t) address->prefix;
        put_le16(at + 2, address->port);
        put_le32(at + 4, address->speed_mbps);
        put_le32(at + 8, address->mtu_bytes);
        put_le32(at + 12, address->interface);
        at[16] = address->far;
        memcpy(at + 20, address->bytes, address_bytes(address->family));
    }
    return HEAD + card->count * ENTRY;
}

static int address_decode(struct netcard_address *address, const uint8_t *in)
{
    *address = (struct netcard_address){
        .family = in[0] == 4 ? AF_INET : AF_INET6,
        .prefix = in[1],
        .port = get_le16(in + 2),
        .speed_mbps = get_le32(in + 4),
        .mtu_bytes = get_le32(in + 8),
        .interface = get_le32(in + 12),
        .far = in[16],
    };
    size_t size = address_bytes(address->family);
    if ((in[0] != 4 && in[0] != 6) || address->prefix > size * 8 || in[16] > 1 ||
        !is_zero(in + 17, 3) || !is_zero(in + 20 + size, 16 - size)) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    memcpy(address->bytes, in + 20, size);
    return OPAL_SUCCESS;
}

int netcard_decode(struct netcard *card, const void *data, size_t size)
{
    const uint8_t *in = data;
    struct netcard out = {0};

    if (size < HEAD || in[0] > NETCARD_ADDRESSES || size != HEAD + (size_t) in[0] * ENTRY ||
        !is_zero(in + 1, 7)) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    out.count = in[0];
    out.netstack = get_le64(in + 8);
    for (size_t i = 0; i < out.count; i++) {
        int status = address_decode(&out.addresses[i], in + HEAD + i * ENTRY);
        if (status != OPAL_SUCCESS) {
            return status;
        }
    }
    *card = out;
    return OPAL_SUCCESS;
}

/* ---- this process ---- */

bool netcard_add(struct netcard *card, const struct netif *netif, uint16_t port)
{
    struct netcard_address out = {
        .family = netif->addr.storage.ss_family,
        .prefix = netif->prefix,
        .port = port,
        .speed_mbps = netif->loopback ? LOOPBACK_MBPS : netif->speed_mbps,
        .mtu_bytes = netif->mtu_bytes,
        .interface = netif->index,
        .far = !topo_node_is_near(netif->numa_node),
    };

    if (card->count == NETCARD_ADDRESSES) {
        return false;
    }
    if (out.family == AF_INET) {
        const struct sockaddr_in *in = (const void *) &netif->addr.storage;
        memcpy(out.bytes, &in->sin_addr, 4);
    } else if (out.family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *) &netif->addr.storage;
        if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr)) {
            return false;
        }
        memcpy(out.bytes, &in6->sin6_addr, 16);
    } else {
        return false;
    }
    card->addresses[card->count++] = out;
    return true;
}

void netcard_sock(struct sock_addr *addr, const struct netcard_address *address)
{
    memset(addr, 0, sizeof(*addr));
    if (address->family == AF_INET) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(address->port)};
        memcpy(&in.sin_addr, address->bytes, 4);
        memcpy(&addr->storage, &in, sizeof(in));
        addr->length = sizeof(in);
    } else {
        struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(address->port)};
        memcpy(&in6.sin6_addr, address->bytes, 16);
        memcpy(&addr->storage, &in6, sizeof(in6));
        addr->length = sizeof(in6);
    }
}

uint64_t netcard_netstack(void)
{
    struct crypto_hash hash;
    uint8_t digest[32];
    char boot[64] = "";
    struct stat space = {0};

    /* Without it the namespace alone decides. */
    (void) sysfile_text("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
    (void) stat("/proc/self/ns/net", &space);
    crypto_hash_begin(&hash);
    crypto_hash_update(&hash, boot, sizeof(boot));
    uint64_t inode = (uint64_t) space.st_ino;
    crypto_hash_update(&hash, &inode, sizeof(inode));
    crypto_hash_end(&hash, digest);
    return get_le64(digest);
}

/* ---- how good a pair of addresses is ---- */

static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;

    return memcmp(a, b, whole) == 0 && (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

static bool is_loopback(const struct netcard_address *address)
{
    static const uint8_t one[16] = {[15] = 1};

    return address->family == AF_INET ? address->bytes[0] == 127
                                      : memcmp(address->bytes, one, 16) == 0;
}

static bool is_private(const struct netcard_address *address)
{
    const uint8_t *b = address->bytes;

    if (address->family == AF_INET6) {
        return (b[0] & 0xfe) == 0xfc;
    }
    return b[0] == 10 || (b[0] == 172 && (b[1] & 0xf0) == 16) || (b[0] == 192 && b[1] == 168) ||
           (b[0] == 169 && b[1] == 254) || (b[0] == 100 && (b[1] & 0xc0) == 64);
}

static bool has(const struct netcard *card, const struct netcard_address *address)
{
    for (size_t i = 0; i < card->count; i++) {
        const struct netcard_address *own = &card->addresses[i];
        if (own->family == address->family &&
            memcmp(own->bytes, address->bytes, sizeof(own->bytes)) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether an address of to's may lead from one process to the other. */
static bool leads(const struct netcard *from, const struct netcard *to,
                  const struct netcard_address *address)
{
    return from->netstack == to->netstack || (!is_loopback(address) && !has(from, address));
}

static enum netcard_way way(const struct netcard_address *mine, const struct netcard_address *peer)
{
    if (mine->family != peer->family || is_loopback(mine) != is_loopback(peer)) {
        return NETCARD_NO_WAY;
    }
    if (mine->prefix == peer->prefix && same_prefix(mine->bytes, peer->bytes, peer->prefix)) {
        return NETCARD_SAME_SUBNET;
    }
    return is_private(mine) == is_private(peer) ? NETCARD_SAME_KIND : NETCARD_OTHER_KIND;
}

/* Way, then speed, then distance, each with room for a sum of 16: a gain in one outweighs any loss
 * in those behind it. 0: no way. The same from both sides. */
static uint64_t weight(const struct netcard_address *mine, const struct netcard_address *peer)
{
    uint64_t class = (uint64_t) way(mine, peer);
    uint64_t speed = mine->speed_mbps < peer->speed_mbps ? mine->speed_mbps : peer->speed_mbps;

    return class == NETCARD_NO_WAY ? 0 : class << 56 | speed << 16 | (2u - mine->far - peer->far);
}

size_t netcard_order(size_t order[NETCARD_ADDRESSES], const struct netcard *mine,
                     const struct netcard *peer)
{
    uint64_t weights[NETCARD_ADDRESSES];
    size_t count = 0;

    for (size_t i = 0; i < peer->count; i++) {
        uint64_t best = 0;
        for (size_t own = 0; own < mine->count && leads(mine, peer, &peer->addresses[i]); own++) {
            uint64_t one = weight(&mine->addresses[own], &peer->addresses[i]);
            best = one > best ? one : best;
        }
        size_t at = count;
        for (; best > 0 && at > 0 && weights[at - 1] < best; at--) {
            weights[at] = weights[at - 1];
            order[at] = order[at - 1];
        }
        if (best > 0) {
            weights[at] = best;
            order[at] = i;
            count++;
        }
    }
    return count;
}

/* ---- pairs ---- */

/* Gives each address the number of its interface, from 0 on; returns how many there are. */
static size_t number_interfaces(size_t numbers[NETCARD_ADDRESSES], const struct netcard *card)
{
    size_t count = 0;

    for (size_t i = 0; i < card->count; i++) {
        numbers[i] = count;
        for (size_t before = 0; before < i; before++) {
            if (card->addresses[before].interface == card->addresses[i].interface) {
                numbers[i] = numbers[before];
            }
        }
        count += numbers[i] == count;
    }
    return count;
}

/* Of interfaces, the best weight of their addresses, and these. */
struct choices {
    uint64_t weights[NETCARD_ADDRESSES * NETCARD_ADDRESSES];
    struct netcard_pair best[NETCARD_ADDRESSES * NETCARD_ADDRESSES];
};

static void weigh(struct choices *choices, size_t at, const struct netcard *mine,
                  const struct netcard *peer, struct netcard_pair pair, enum netcard_way least)
{
    const struct netcard_address *own = &mine->addresses[pair.mine];
    const struct netcard_address *other = &peer->addresses[pair.peer];
    uint64_t found = way(own, other) >= least ? weight(own, other) : 0;

    if (found > choices->weights[at] && leads(mine, peer, other) && leads(peer, mine, own)) {
        choices->weights[at] = found;
        choices->best[at] = pair;
    }
}

/* own and others: of each side's addresses, the numbers that give a pair's place. */
static void weigh_all(struct choices *choices, const size_t *own, const size_t *others,
                      size_t columns, const struct netcard *mine, const struct netcard *peer,
                      enum netcard_way least, bool first)
{
    /* in the first side's order, so that of equal addresses both sides take the same */
    for (size_t i = 0; i < (first ? mine : peer)->count; i++) {
        for (size_t j = 0; j < (first ? peer : mine)->count; j++) {
            struct netcard_pair pair = {.mine = first ? i : j, .peer = first ? j : i};
            weigh(choices, own[pair.mine] * columns + others[pair.peer], mine, peer, pair, least);
        }
    }
}

/* The best of all pairs of addresses, in the order of netcard_pair; false: there is none. */
static bool best_pair(struct netcard_pair *pair, const struct netcard *mine,
                      const struct netcard *peer, bool first)
{
    static const size_t same[NETCARD_ADDRESSES]; /* one place for all */
    struct choices choices = {.weights = {0}};

    weigh_all(&choices, same, same, 1, mine, peer, NETCARD_OTHER_KIND, first);
    *pair = choices.best[0];
    return choices.weights[0] > 0;
}

size_t netcard_pair(struct netcard_pair pairs[NETCARD_ADDRESSES], const struct netcard *mine,
                    const struct netcard *peer, enum netcard_way least, bool first)
{
    struct choices choices = {.weights = {0}};
    size_t own[NETCARD_ADDRESSES], others[NETCARD_ADDRESSES], count = 0;
    size_t rows = number_interfaces(own, mine), columns = number_interfaces(others, peer);
    int partners[NETCARD_ADDRESSES];

    weigh_all(&choices, own, others, columns, mine, peer, least, first);
    if (pairing_find(choices.weights, rows, columns, first, partners) != ORTE_SUCCESS) {
        return 0;
    }
    for (size_t i = 0; i < rows; i++) {
        if (partners[i] != PAIRING_NONE) {
            pairs[count++] = choices.best[i * columns + (size_t) partners[i]];
        }
    }
    return count;
}

/* Those that serve. */
static size_t pairs_in_use(struct netcard_pair pairs[NETCARD_ADDRESSES], bool *subnet,
                           const struct netcard *mine, const struct netcard *peer, bool first)
{
    size_t count = 0;

    if (mine->netstack != peer->netstack) {
        count = netcard_pair(pairs, mine, peer, NETCARD_SAME_SUBNET, first);
    }
    *subnet = count > 0;
    return count > 0 ? count : best_pair(pairs, mine, peer, first);
}

int netcard_pair_of(struct netcard_pair *pair, bool *subnet, const struct netcard *mine,
                    const struct netcard *peer, bool first, uint32_t interface)
{
    struct netcard_pair pairs[NETCARD_ADDRESSES];
    size_t count = pairs_in_use(pairs, subnet, mine, peer, first);

    for (size_t i = 0; i < count; i++) {
        if (mine->addresses[pairs[i].mine].interface == interface) {
            *pair = pairs[i];
            return OPAL_SUCCESS;
        }
    }
    return count > 0 ? OPAL_ERR_NOT_AVAILABLE : OPAL_ERR_UNREACH;
}

size_t netcard_order_of(size_t order[NETCARD_ADDRESSES], const struct netcard *mine,
                        const struct netcard *peer, bool first, uint32_t interface)
{
    struct netcard_pair pairs[NETCARD_ADDRESSES];
    size_t all = netcard_order(order, mine, peer), kept = 0;
    bool subnet;
    size_t count = pairs_in_use(pairs, &subnet, mine, peer, first);

    for (size_t i = 0; i < all; i++) {
        uint32_t theirs = peer->addresses[order[i]].interface;
        bool taken = false;
        for (size_t p = 0; p < count; p++) {
            taken |= mine->addresses[pairs[p].mine].interface != interface &&
                     peer->addresses[pairs[p].peer].interface == theirs;
        }
        if (!taken) {
            order[kept++] = order[i];
        }
    }
    return kept;
}
