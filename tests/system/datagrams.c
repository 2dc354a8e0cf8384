/* datagrams FROM_PID FROM_ADDRESS TO_PID TO_ADDRESS COUNT SIZE: sends datagrams from the network
 * namespace of one process to that of another, until all have come or none for a second, and
 * says what came: how many, of how many different ones, how many behind a later one, short, and
 * with wrong data. */
#include <config.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COUNT_MAX = 100000, SIZE_LEAST = 8, SIZE_MOST = 65507, QUIET_MS = 1000, BUFFER = 64 << 20 };

static bool seen[COUNT_MAX];
static uint32_t got, distinct, late, short_ones, wrong, next;

static void require(bool holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

/* A socket in the namespace of a process, bound to an address there. */
static int open_there(const char *pid, const char *text, struct sockaddr_in *address)
{
    char path[64];
    const int size = BUFFER;
    socklen_t length = sizeof(*address);
    snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    require(namespace >= 0 && setns(namespace, CLONE_NEWNET) == 0, path);
    close(namespace);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    require(fd >= 0 && inet_pton(AF_INET, text, &address->sin_addr) == 1, text);
    (void) setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
    require(bind(fd, (struct sockaddr *) address, length) == 0, text);
    require(getsockname(fd, (struct sockaddr *) address, &length) == 0, text);
    return fd;
}

static void fill(uint8_t *data, size_t size, uint32_t number)
{
    memset(data, (int) (number % 251), size);
    memcpy(data, &number, sizeof(number));
}

static void look(const uint8_t *data, size_t size, size_t whole, uint32_t count)
{
    uint8_t expected[SIZE_MOST];
    uint32_t number = UINT32_MAX;
    got++;
    short_ones += size < whole;
    if (size >= sizeof(number)) {
        memcpy(&number, data, sizeof(number));
    }
    if (size < whole || number >= count) {
        wrong += size == whole;
        return;
    }
    fill(expected, whole, number);
    if (memcmp(data, expected, whole) != 0) {
        wrong++;
        return;
    }
    distinct += !seen[number];
    seen[number] = true;
    late += number < next;
    next = number > next ? number : next;
}

static void take(int fd, size_t whole, uint32_t count)
{
    static uint8_t data[SIZE_MOST];
    ssize_t size;
    while ((size = recv(fd, data, sizeof(data), MSG_DONTWAIT)) >= 0) {
        look(data, (size_t) size, whole, count);
    }
}

int main(int argc, char **argv)
{
    static uint8_t data[SIZE_MOST];
    struct sockaddr_in from, to;
    if (argc != 7) {
        return 2;
    }
    uint32_t count = (uint32_t) atoi(argv[5]);
    size_t size = (size_t) atoi(argv[6]);
    if (count > COUNT_MAX || size < SIZE_LEAST || size > SIZE_MOST) {
        return 2;
    }
    int sender = open_there(argv[1], argv[2], &from);
    int receiver = open_there(argv[3], argv[4], &to);
    for (uint32_t i = 0; i < count; i++) {
        fill(data, size, i);
        (void) sendto(sender, data, size, 0, (struct sockaddr *) &to, sizeof(to));
        take(receiver, size, count);
    }
    struct pollfd poll_receiver = {.fd = receiver, .events = POLLIN};
    while (distinct < count && poll(&poll_receiver, 1, QUIET_MS) > 0) {
        take(receiver, size, count);
    }
    printf("got %u distinct %u late %u short %u wrong %u\n", got, distinct, late, short_ones,
           wrong);
    return 0;
}
