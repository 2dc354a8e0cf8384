/* cable NAME SEED PID...: a bad network between the network namespaces of processes. In each it
 * makes a TUN interface NAME; the Nth host gets what goes to an IPv4 address that ends in N.
 * Packets fare as impair.h says, with settings of their own for each direction. Says "ready" on
 * standard output, then answers each line of standard input with one line, until that ends or its
 * parent does:
 *
 *   all loss=2 delay=10     sets that for every direction; the answer is "ok", or what is wrong
 *   1>2 cut=1               the same for packets from the first host to the second
 *   1>2                     the answer counts what happened to them: "sent 12 cut 3 ..."
 *
 * What spoils a UDP datagram spoils its data alone, and takes its checksum away: a kernel that sees
 * the fault drops it, and no program would ever meet one. Needs root and /dev/net/tun. */
#include <config.h>

#include <base/data/clock.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <tests/lib/impair.h>
#include <unistd.h>

enum {
    HOSTS_MAX = 16,
    PACKET_MAX = 65536,
    WAITING_MAX = 65536, /* packets */
    AT_ONCE = 64,        /* packets from one host, then it is the next one's turn */
    IPV4_HEADER = 20,
    IPV4_DESTINATION = 16,
    DATAGRAM_HEADER = IPV4_HEADER + 8
};

struct packet {
    size_t size;
    uint8_t data[];
};

static int hosts[HOSTS_MAX], host_count;
static struct impair_line lines[HOSTS_MAX]; /* to each host */
static struct impair ways[HOSTS_MAX][HOSTS_MAX];
static struct sim_queue waiting; /* packets, for the host whose number is who */

/* --- packets --- */

static void put_be16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t) (value >> 8);
    at[1] = (uint8_t) value;
}

static void sum_header(uint8_t *header)
{
    uint32_t sum = 0;
    put_be16(header + 10, 0);
    for (int i = 0; i < IPV4_HEADER; i += 2) {
        sum += (uint32_t) header[i] << 8 | header[i + 1];
    }
    sum = (sum & 0xffff) + (sum >> 16);
    put_be16(header + 10, ~(sum + (sum >> 16)) & 0xffff);
}

/* A whole UDP datagram over IPv4, without options. */
static bool is_datagram(const struct packet *packet)
{
    const uint8_t *data = packet->data;
    return packet->size > DATAGRAM_HEADER && data[0] == 0x45 && data[9] == IPPROTO_UDP &&
           (data[6] & 0x3f) == 0 && data[7] == 0;
}

static void spoil(struct packet *packet, const struct impair_copy *copy)
{
    bool datagram = is_datagram(packet);
    size_t kept = datagram ? DATAGRAM_HEADER : 0;
    packet->size = copy->size > kept ? copy->size : kept;
    size_t bits = (packet->size - kept) * 8;
    if (copy->wrong_bit != IMPAIR_SOUND && bits > 0) {
        size_t bit = kept * 8 + copy->wrong_bit % bits;
        packet->data[bit / 8] ^= (uint8_t) (1u << bit % 8);
    }
    if (datagram) {
        put_be16(packet->data + 2, packet->size);
        put_be16(packet->data + IPV4_HEADER + 4, packet->size - IPV4_HEADER);
        put_be16(packet->data + IPV4_HEADER + 6, 0);
        sum_header(packet->data);
    }
}

static void hold(int to, const uint8_t *data, size_t size, const struct impair_copy *copy)
{
    struct packet *packet = waiting.count < WAITING_MAX ? malloc(sizeof(*packet) + size) : NULL;
    if (!packet) {
        return;
    }
    packet->size = size;
    memcpy(packet->data, data, size);
    if (copy->size < size || copy->wrong_bit != IMPAIR_SOUND) {
        spoil(packet, copy);
    }
    sim_at(&waiting, copy->at_ns, 0, to, packet);
}

/* One packet that a host has sent; false: there is none. */
static bool take(int from)
{
    static uint8_t data[PACKET_MAX];
    struct impair_copy copies[IMPAIR_COPIES];
    ssize_t size = read(hosts[from], data, sizeof(data));
    if (size <= 0) {
        return false;
    }
    int to = size >= IPV4_HEADER && data[0] >> 4 == 4 ? data[IPV4_DESTINATION + 3] - 1 : -1;
    if (to < 0 || to >= host_count) {
        return true;
    }
    int count = impair_packet(&ways[from][to], clock_ns(), (size_t) size, copies);
    for (int i = 0; i < count; i++) {
        hold(to, data, (size_t) size, &copies[i]);
    }
    return true;
}

static void deliver(void)
{
    struct sim_event event;
    while (waiting.count > 0 && waiting.heap[0].at <= clock_ns() && sim_next(&waiting, &event)) {
        struct packet *packet = event.what;
        (void) !write(hosts[event.who], packet->data, packet->size);
        free(packet);
    }
}

/* --- commands --- */

/* "1>2" is one way, "all" is every one; false: neither. */
static bool find_ways(const char *text, int *from, int *to)
{
    char rest;
    *from = *to = -1;
    if (strcmp(text, "all") == 0) {
        return true;
    }
    bool found = sscanf(text, "%d>%d%c", from, to, &rest) == 2 && *from > 0 && *to > 0 &&
                 *from <= host_count && *to <= host_count;
    --*from, --*to;
    return found;
}

static bool set_ways(int only_from, int only_to, const char *text)
{
    bool good = true;
    for (int from = 0; from < host_count; from++) {
        for (int to = 0; to < host_count; to++) {
            if (only_from < 0 || (from == only_from && to == only_to)) {
                good = impair_set(&ways[from][to].settings, text) && good;
            }
        }
    }
    return good;
}

static void count(int from, int to)
{
    for (int i = 0; i < IMPAIR_EVENTS; i++) {
        printf("%s%s %ju", i > 0 ? " " : "", impair_event_names[i],
               (uintmax_t) ways[from][to].counts[i]);
    }
    puts("");
}

static void obey(char *line)
{
    int from, to;
    char *words, *who = strtok_r(line, " ", &words);
    if (!who || !find_ways(who, &from, &to)) {
        printf("%s: neither all nor A>B\n", who ? who : "");
        return;
    }
    char *text = strtok_r(NULL, " ", &words);
    if (!text && from >= 0) {
        count(from, to);
        return;
    }
    for (; text; text = strtok_r(NULL, " ", &words)) {
        if (!set_ways(from, to, text)) {
            printf("%s: no setting\n", text);
            return;
        }
    }
    puts("ok");
}

/* Lines are short, and come one at a time. False: standard input has ended. */
static bool take_command(void)
{
    char line[512];
    ssize_t size = read(STDIN_FILENO, line, sizeof(line) - 1);
    if (size <= 0) {
        return false;
    }
    line[size] = '\0';
    line[strcspn(line, "\n")] = '\0';
    obey(line);
    fflush(stdout);
    return true;
}

/* --- life --- */

static void await(struct pollfd *polls, nfds_t count)
{
    struct timespec wait = {0, 0};
    uint64_t now = clock_ns();
    if (waiting.count > 0 && waiting.heap[0].at > now) {
        uint64_t left = waiting.heap[0].at - now;
        wait = (struct timespec){(time_t) (left / 1000000000u), (long) (left % 1000000000u)};
    }
    (void) ppoll(polls, count, waiting.count > 0 ? &wait : NULL, NULL);
}

static void carry(void)
{
    struct pollfd polls[HOSTS_MAX + 1] = {[0] = {.fd = STDIN_FILENO, .events = POLLIN}};
    for (int i = 0; i < host_count; i++) {
        polls[i + 1] = (struct pollfd){.fd = hosts[i], .events = POLLIN};
    }
    do {
        await(polls, (nfds_t) host_count + 1);
        for (int i = 0; i < host_count; i++) {
            for (int n = 0; polls[i + 1].revents & POLLIN && n < AT_ONCE && take(i); n++) {
            }
        }
        deliver();
    } while (!polls[0].revents || take_command());
}

/* The interface in the namespace of a process. */
static int plug_in(const char *name, const char *pid)
{
    char path[64];
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0 || setns(namespace, CLONE_NEWNET) < 0) {
        return -1;
    }
    close(namespace);
    /* of this namespace from now on */
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && ioctl(fd, TUNSETIFF, &request) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_TIMERSLACK, 1);
    if (argc < 4 || argc - 3 > HOSTS_MAX) {
        fputs("usage: cable NAME SEED PID...\n", stderr);
        return 2;
    }
    struct sim_random seeds = {.state = strtoull(argv[2], NULL, 0)};
    for (int i = 3; i < argc; i++) {
        hosts[host_count] = plug_in(argv[1], argv[i]);
        if (hosts[host_count++] < 0) {
            perror("cable");
            return 1;
        }
    }
    for (int i = 0; i < host_count * host_count; i++) {
        int from = i / host_count, to = i % host_count;
        impair_init(&ways[from][to], &lines[to], sim_random(&seeds));
    }
    puts("ready");
    fflush(stdout);
    carry();
    return 0;
}
