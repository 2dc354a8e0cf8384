#include <config.h>

#include <base/crypto.h>
#include <base/le.h>
#include <btl/tcp/tcp_card.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CARD_HEAD = 24, CARD_ENTRY = 24 };

static size_t address_bytes(int family)
{
    return family == AF_INET ? 4 : 16;
}

size_t tcp_card_encode(uint8_t out[TCP_CARD_BYTES], const struct tcp_card *card)
{
    memset(out, 0, TCP_CARD_BYTES);
    out[0] = TCP_CARD_VERSION;
    out[1] = (uint8_t) card->count;
    put_le64(out + 8, card->incarnation);
    put_le64(out + 16, card->netstack);
    for (size_t i = 0; i < card->count; i++) {
        const struct tcp_address *address = &card->addresses[i];
        uint8_t *at = out + CARD_HEAD + i * CARD_ENTRY;
        at[0] = address->family == AF_INET ? 4 : 6;
        at[1] = (uint8_t) address->prefix;
        put_le16(at + 2, address->port);
        put_le32(at + 4, address->speed_mbps);
        memcpy(at + 8, address->bytes, address_bytes(address->family));
    }
    return CARD_HEAD + card->count * CARD_ENTRY;
}

static int address_decode(struct tcp_address *address, const uint8_t *in)
{
    static const uint8_t zero[12];

    *address = (struct tcp_address){
        .family = in[0] == 4 ? AF_INET : AF_INET6,
        .prefix = in[1],
        .port = get_le16(in + 2),
        .speed_mbps = get_le32(in + 4),
    };
    size_t size = address_bytes(address->family);
    if ((in[0] != 4 && in[0] != 6) || address->prefix > size * 8 || address->port == 0 ||
        memcmp(in + 8 + size, zero, 16 - size) != 0) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    memcpy(address->bytes, in + 8, size);
    return OPAL_SUCCESS;
}

int tcp_card_decode(struct tcp_card *card, const void *data, size_t size)
{
    const uint8_t *in = data;
    static const uint8_t zero[6];
    struct tcp_card out = {0};

    if (size < 1 || in[0] != TCP_CARD_VERSION) {
        return size < 1 ? OPAL_ERR_UNPACK_FAILURE : OPAL_ERR_NOT_SUPPORTED;
    }
    if (size < CARD_HEAD || in[1] > TCP_CARD_ADDRESSES ||
        size != CARD_HEAD + (size_t) in[1] * CARD_ENTRY || memcmp(in + 2, zero, 6) != 0) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    out.incarnation = get_le64(in + 8);
    out.netstack = get_le64(in + 16);
    out.count = in[1];
    for (size_t i = 0; i < out.count; i++) {
        int status = address_decode(&out.addresses[i], in + CARD_HEAD + i * CARD_ENTRY);
        if (status != OPAL_SUCCESS) {
            return status;
        }
    }
    *card = out;
    return OPAL_SUCCESS;
}

bool tcp_address_set(struct tcp_address *address, const struct netif *netif, uint16_t port)
{
    struct tcp_address out = {
        .family = netif->addr.storage.ss_family,
        .prefix = netif->prefix,
        .port = port,
        .speed_mbps = netif->speed_mbps,
    };
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
    *address = out;
    return true;
}

void tcp_address_sock(struct sock_addr *addr, const struct tcp_address *address)
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

static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;

    return memcmp(a, b, whole) == 0 && (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

static bool is_loopback(const struct tcp_address *address)
{
    static const uint8_t one[16] = {[15] = 1};

    return address->family == AF_INET ? address->bytes[0] == 127
                                      : memcmp(address->bytes, one, 16) == 0;
}

static bool is_private(const struct tcp_address *address)
{
    const uint8_t *b = address->bytes;

    if (address->family == AF_INET6) {
        return (b[0] & 0xfe) == 0xfc;
    }
    return b[0] == 10 || (b[0] == 172 && (b[1] & 0xf0) == 16) || (b[0] == 192 && b[1] == 168) ||
           (b[0] == 169 && b[1] == 254) || (b[0] == 100 && (b[1] & 0xc0) == 64);
}

enum way { NO_WAY, OTHER_KIND, SAME_KIND, SAME_SUBNET };

/* How good a way from this address of mine to that one is. */
static enum way pair_class(const struct tcp_address *mine, const struct tcp_address *peer)
{
    if (mine->family != peer->family || is_loopback(mine) != is_loopback(peer)) {
        return NO_WAY;
    }
    if (mine->prefix == peer->prefix && same_prefix(mine->bytes, peer->bytes, peer->prefix)) {
        return SAME_SUBNET;
    }
    return is_private(mine) == is_private(peer) ? SAME_KIND : OTHER_KIND;
}

static bool is_mine(const struct tcp_card *mine, const struct tcp_address *address)
{
    for (size_t i = 0; i < mine->count; i++) {
        const struct tcp_address *own = &mine->addresses[i];
        if (own->family == address->family &&
            memcmp(own->bytes, address->bytes, sizeof(own->bytes)) == 0) {
            return true;
        }
    }
    return false;
}

/* Class first, then the speed of the slower end. 0: no way. */
static uint64_t address_score(const struct tcp_card *mine, const struct tcp_card *peer,
                              const struct tcp_address *address)
{
    uint64_t best = 0;
    bool here = mine->netstack == peer->netstack;

    if (!here && (is_loopback(address) || is_mine(mine, address))) {
        return 0;
    }
    for (size_t i = 0; i < mine->count; i++) {
        const struct tcp_address *own = &mine->addresses[i];
        uint64_t class = (uint64_t) pair_class(own, address);
        uint32_t speed =
            own->speed_mbps < address->speed_mbps ? own->speed_mbps : address->speed_mbps;
        uint64_t score = class ? class << 32 | speed : 0;
        best = score > best ? score : best;
    }
    return best;
}

size_t tcp_pair(size_t order[TCP_CARD_ADDRESSES], const struct tcp_card *mine,
                const struct tcp_card *peer)
{
    uint64_t scores[TCP_CARD_ADDRESSES];
    size_t count = 0;

    for (size_t i = 0; i < peer->count; i++) {
        uint64_t score = address_score(mine, peer, &peer->addresses[i]);
        size_t at = count;
        if (score == 0) {
            continue;
        }
        for (; at > 0 && scores[at - 1] < score; at--) {
            scores[at] = scores[at - 1];
            order[at] = order[at - 1];
        }
        scores[at] = score;
        order[at] = i;
        count++;
    }
    return count;
}

/* My interface in the subnet of a peer's address; 0: none. */
static unsigned interface_to(const struct tcp_card *mine, const struct tcp_address *address)
{
    for (size_t i = 0; i < mine->count; i++) {
        if (!is_loopback(address) && pair_class(&mine->addresses[i], address) == SAME_SUBNET) {
            return mine->addresses[i].interface;
        }
    }
    return 0;
}

/* The address first, then the best one over each other interface. */
static size_t distinct_ways(size_t ways[TCP_CARD_ADDRESSES + 1], const struct tcp_card *mine,
                            const struct tcp_card *peer, size_t first)
{
    size_t order[TCP_CARD_ADDRESSES], count = 1;
    unsigned used[TCP_CARD_ADDRESSES + 1] = {interface_to(mine, &peer->addresses[first])};
    size_t candidates = tcp_pair(order, mine, peer);

    ways[0] = first;
    for (size_t i = 0; i < candidates; i++) {
        unsigned interface = interface_to(mine, &peer->addresses[order[i]]);
        bool new = interface != 0;
        for (size_t at = 0; at < count && new; at++) {
            new = used[at] != interface;
        }
        if (new) {
            used[count] = interface;
            ways[count++] = order[i];
        }
    }
    return count;
}

size_t tcp_pair_more(size_t more[TCP_LANES], const struct tcp_card *mine,
                     const struct tcp_card *peer, size_t first, size_t wanted)
{
    size_t ways[TCP_CARD_ADDRESSES + 1];
    size_t found = distinct_ways(ways, mine, peer, first);
    size_t count = wanted > 0 ? wanted : mine->netstack == peer->netstack ? 1 : found;

    count = count <= TCP_LANES ? count : TCP_LANES + 1;
    for (size_t i = 1; i < count; i++) {
        more[i - 1] = ways[i % found];
    }
    return count - 1;
}

uint64_t tcp_netstack(void)
{
    struct crypto_hash hash;
    uint8_t digest[32];
    char boot[64] = "";
    struct stat space = {0};

    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t got = read(fd, boot, sizeof(boot));
        (void) got; /* without it the namespace alone decides */
        close(fd);
    }
    (void) stat("/proc/self/ns/net", &space);
    crypto_hash_begin(&hash);
    crypto_hash_update(&hash, boot, sizeof(boot));
    uint64_t inode = (uint64_t) space.st_ino;
    crypto_hash_update(&hash, &inode, sizeof(inode));
    crypto_hash_end(&hash, digest);
    return get_le64(digest);
}
