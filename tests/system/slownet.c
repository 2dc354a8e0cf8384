/* slownet DELAY JITTER LOSS PID...: a slow network between the network namespaces of processes. In
 * each it makes an interface "slow"; the Nth gets what goes to an IPv4 address that ends in N. A
 * packet takes DELAY milliseconds, up to JITTER more or less, so that some overtake others; LOSS of
 * a hundred get lost. Says "ready" on standard output, and goes on until its parent ends. Needs
 * root and /dev/net/tun. */
#include <config.h>

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { HOSTS_MAX = 16, PACKET_MAX = 2048, WAITING_MAX = 8192, IPV4_DESTINATION = 16 };

struct packet {
    uint64_t due_us;
    int to;
    size_t size;
    uint8_t data[PACKET_MAX];
};

static int hosts[HOSTS_MAX], host_count;
static uint64_t delay_us, jitter_us, loss_percent;
static struct packet *heap[WAITING_MAX]; /* the first to leave is at 0 */
static size_t waiting;

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000u + (uint64_t) now.tv_nsec / 1000u;
}

static void swap(size_t a, size_t b)
{
    struct packet *packet = heap[a];
    heap[a] = heap[b];
    heap[b] = packet;
}

static void push(struct packet *packet)
{
    size_t at = waiting++;
    heap[at] = packet;
    while (at > 0 && heap[at]->due_us < heap[(at - 1) / 2]->due_us) {
        swap(at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static struct packet *pop(void)
{
    struct packet *first = heap[0];
    heap[0] = heap[--waiting];
    for (size_t at = 0, next; (next = 2 * at + 1) < waiting; at = next) {
        next += next + 1 < waiting && heap[next + 1]->due_us < heap[next]->due_us;
        if (heap[at]->due_us <= heap[next]->due_us) {
            break;
        }
        swap(at, next);
    }
    return first;
}

/* One packet that a host has sent. */
static void take(int fd)
{
    struct packet *packet = malloc(sizeof(*packet));
    ssize_t size = packet ? read(fd, packet->data, sizeof(packet->data)) : -1;
    int to = size >= 20 && packet->data[0] >> 4 == 4 ? packet->data[IPV4_DESTINATION + 3] : 0;
    if (to < 1 || to > host_count || waiting == WAITING_MAX ||
        (uint64_t) random() % 100 < loss_percent) {
        free(packet);
        return;
    }
    packet->to = hosts[to - 1];
    packet->size = (size_t) size;
    packet->due_us = now_us() + delay_us - jitter_us + (uint64_t) random() % (2 * jitter_us + 1);
    push(packet);
}

static void deliver(void)
{
    while (waiting > 0 && heap[0]->due_us <= now_us()) {
        struct packet *packet = pop();
        (void) !write(packet->to, packet->data, packet->size);
        free(packet);
    }
}

static void carry(void)
{
    struct pollfd polls[HOSTS_MAX];
    for (int i = 0; i < host_count; i++) {
        polls[i] = (struct pollfd){.fd = hosts[i], .events = POLLIN};
    }
    for (;;) {
        uint64_t now = now_us();
        int wait_ms = waiting == 0            ? -1
                      : heap[0]->due_us > now ? (int) ((heap[0]->due_us - now) / 1000) + 1
                                              : 0;
        (void) poll(polls, (nfds_t) host_count, wait_ms);
        for (int i = 0; i < host_count; i++) {
            if (polls[i].revents & POLLIN) {
                take(hosts[i]);
            }
        }
        deliver();
    }
}

/* The interface in the namespace of a process. */
static int plug_in(const char *pid)
{
    char path[64];
    struct ifreq request = {.ifr_name = "slow", .ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0 || setns(namespace, CLONE_NEWNET) < 0) {
        return -1;
    }
    close(namespace);
    int fd =
        open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK); /* of this namespace from now on */
    return fd >= 0 && ioctl(fd, TUNSETIFF, &request) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc < 5 || argc - 4 > HOSTS_MAX) {
        return 2;
    }
    delay_us = (uint64_t) atoi(argv[1]) * 1000;
    jitter_us = (uint64_t) atoi(argv[2]) * 1000;
    loss_percent = (uint64_t) atoi(argv[3]);
    for (int i = 4; i < argc; i++) {
        hosts[host_count] = plug_in(argv[i]);
        if (hosts[host_count++] < 0) {
            perror("slownet");
            return 1;
        }
    }
    puts("ready");
    fflush(stdout);
    carry();
}
