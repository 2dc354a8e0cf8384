/* forger record INTERFACE COUNT FILE: keeps so many of the UDP datagrams over IPv4 that pass an
 * interface; says "records" when it has begun, and "recorded" when it has them. forger replay FILE:
 * sends them again, each to where it went, from a port of its own. forger flood COUNT SEED: sends
 * so many datagrams that look like usnic's to all sockets that /proc/net/udp has: of any bytes;
 * packets and frames with guessed tokens; packets whose checksum is wrong.
 *
 * The last two say how many they have sent. Needs root. */
#include <config.h>

#include <arpa/inet.h>
#include <base/data/crc32c.h>
#include <btl/usnic/wire/packet.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <tests/lib/sim/queue.h>

enum {
    DATAGRAM_MOST = 1472,
    SOCKETS_MOST = 64,
    INDEXES = 4,
    CONTROL_FIRST = 0xe0,
    CONTROLS = 6,
    CONTROL_BYTES = 20,
    CONTROL_SUMMED = 16,
};

struct datagram {
    struct sockaddr_in to;
    uint32_t size;
    uint8_t bytes[DATAGRAM_MOST];
};

static void require(bool holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

/* ---- record ---- */

static int listen_to(const char *interface)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_IP),
                             .sll_ifindex = (int) if_nametoindex(interface)};
    int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    require(at.sll_ifindex > 0 && fd >= 0, interface);
    require(bind(fd, (struct sockaddr *) &at, sizeof(at)) == 0, interface);
    return fd;
}

/* False: it is no whole datagram without options. */
static bool datagram_read(struct datagram *datagram, const uint8_t *data, size_t size)
{
    struct iphdr ip;
    struct udphdr udp;

    if (size < sizeof(ip) + sizeof(udp)) {
        return false;
    }
    memcpy(&ip, data, sizeof(ip));
    memcpy(&udp, data + sizeof(ip), sizeof(udp));
    datagram->size = (uint32_t) (size - sizeof(ip) - sizeof(udp));
    if (ip.ihl != 5 || ip.protocol != IPPROTO_UDP || datagram->size > DATAGRAM_MOST ||
        ntohs(udp.len) != datagram->size + sizeof(udp)) {
        return false;
    }
    datagram->to = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = udp.dest, .sin_addr = {.s_addr = ip.daddr}};
    memcpy(datagram->bytes, data + sizeof(ip) + sizeof(udp), datagram->size);
    return true;
}

static int record(const char *interface, unsigned long count, const char *path)
{
    static uint8_t data[65536];
    struct datagram datagram = {.size = 0};
    int fd = listen_to(interface);
    FILE *file = fopen(path, "we");

    require(file != NULL, path);
    puts("records");
    fflush(stdout);
    while (count > 0) {
        ssize_t size = recv(fd, data, sizeof(data), 0);
        require(size >= 0, interface);
        if (datagram_read(&datagram, data, (size_t) size)) {
            require(fwrite(&datagram, sizeof(datagram), 1, file) == 1, path);
            count--;
        }
    }
    require(fclose(file) == 0, path);
    puts("recorded");
    return 0;
}

/* ---- replay ---- */

static bool datagram_send(int fd, const struct datagram *datagram)
{
    return sendto(fd, datagram->bytes, datagram->size, 0, (const struct sockaddr *) &datagram->to,
                  sizeof(datagram->to)) == (ssize_t) datagram->size;
}

static int replay(const char *path)
{
    struct datagram datagram;
    unsigned long sent = 0;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    FILE *file = fopen(path, "re");

    require(file && fd >= 0, path);
    while (fread(&datagram, sizeof(datagram), 1, file) == 1) {
        sent += datagram_send(fd, &datagram);
    }
    fclose(file);
    printf("sent %lu\n", sent);
    return 0;
}

/* ---- flood ---- */

static size_t sockets_find(struct sockaddr_in at[SOCKETS_MOST])
{
    char line[512];
    size_t count = 0;
    FILE *file = fopen("/proc/net/udp", "re");

    require(file != NULL, "/proc/net/udp");
    while (count < SOCKETS_MOST && fgets(line, sizeof(line), file)) {
        unsigned address, port;
        if (sscanf(line, " %*d: %8x:%4x", &address, &port) == 2) {
            at[count++] = (struct sockaddr_in){.sin_family = AF_INET,
                                               .sin_port = htons((uint16_t) port),
                                               .sin_addr = {.s_addr = address}};
        }
    }
    fclose(file);
    return count;
}

static void any_bytes(struct datagram *datagram, struct sim_random *random)
{
    datagram->size = sim_below(random, DATAGRAM_MOST + 1);
    for (size_t i = 0; i < datagram->size; i++) {
        datagram->bytes[i] = (uint8_t) sim_random(random);
    }
}

/* Right but for its token, and its checksum if that is to be wrong. */
static void a_packet(struct datagram *datagram, struct sim_random *random, bool wrong)
{
    bool acks = sim_below(random, 2) == 0;
    uint8_t ranges = (uint8_t) sim_below(random, USNIC_RANGES + 1);
    size_t most = DATAGRAM_MOST - USNIC_HEADER_BYTES - USNIC_RANGES * USNIC_RANGE_BYTES;
    struct usnic_header header = {
        .kind = acks ? USNIC_ACK : USNIC_PACKET,
        .ranges = ranges,
        .credit = (uint16_t) sim_random(random),
        .index = sim_below(random, INDEXES),
        .token = sim_random(random),
        .sequence = (uint32_t) sim_random(random),
        .ack = (uint32_t) sim_random(random),
        .delay = USNIC_NO_ECHO,
        .length = acks ? 0 : (uint16_t) (1 + sim_below(random, (uint32_t) most))};

    any_bytes(datagram, random);
    datagram->size = USNIC_HEADER_BYTES + header.length + (uint32_t) ranges * USNIC_RANGE_BYTES;
    usnic_header_encode(datagram->bytes, &header);
    usnic_packet_sum(datagram->bytes, datagram->size);
    datagram->bytes[datagram->size - 1] ^= wrong;
}

/* A control frame, a hello among them; sound, where its size is right. */
static void a_frame(struct datagram *datagram, struct sim_random *random)
{
    static const uint8_t hello[] = {CONTROL_FIRST, 2, 20, 0, 0, 0, 0, 0, 'K', 'L', 'u', 's'};

    any_bytes(datagram, random);
    memcpy(datagram->bytes, hello, sizeof(hello));
    datagram->bytes[0] = (uint8_t) (CONTROL_FIRST + sim_below(random, CONTROLS));
    if (datagram->bytes[0] > CONTROL_FIRST) {
        datagram->size = CONTROL_BYTES;
        put_le32(datagram->bytes + 4, sim_below(random, INDEXES));
        put_le64(datagram->bytes + 8, sim_random(random));
        put_le32(datagram->bytes + CONTROL_SUMMED, crc32c(0, datagram->bytes, CONTROL_SUMMED));
    }
}

static void forge(struct datagram *datagram, struct sim_random *random)
{
    switch (sim_below(random, 4)) {
    case 0:
        any_bytes(datagram, random);
        break;
    case 1:
        a_frame(datagram, random);
        break;
    default:
        a_packet(datagram, random, sim_below(random, 2) == 0);
    }
}

static int flood(unsigned long count, uint64_t seed)
{
    struct sockaddr_in at[SOCKETS_MOST];
    struct sim_random random = {.state = seed};
    struct datagram datagram = {.size = 0};
    unsigned long sent = 0;
    size_t sockets = sockets_find(at);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    require(fd >= 0, "socket");
    for (unsigned long i = 0; sockets > 0 && i < count; i++) {
        forge(&datagram, &random);
        datagram.to = at[i % sockets];
        sent += datagram_send(fd, &datagram);
    }
    printf("sent %lu to %zu sockets\n", sent, sockets);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "record") == 0) {
        return record(argv[2], strtoul(argv[3], NULL, 10), argv[4]);
    }
    if (argc == 3 && strcmp(argv[1], "replay") == 0) {
        return replay(argv[2]);
    }
    if (argc == 4 && strcmp(argv[1], "flood") == 0) {
        return flood(strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    }
    return 2;
}
