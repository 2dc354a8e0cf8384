#include <config.h>

#include <base/net/linkwatch.h>
#include <base/net/sock.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

enum {
    BATCH = 512, /* most datagrams in one look: about what the socket holds */
    DATAGRAM = 8192,
};

static void watch_open(struct linkwatch *watch)
{
    const struct sockaddr_nl groups = {.nl_family = AF_NETLINK,
                                       .nl_groups =
                                           RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};

    watch->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (watch->fd >= 0 && bind(watch->fd, (const struct sockaddr *) &groups, sizeof(groups)) != 0) {
        fd_close(&watch->fd);
    }
    watch->open = true;
}

static bool tells(uint16_t type, const uint8_t *body, size_t size)
{
    struct ifinfomsg link;

    if (type != RTM_NEWLINK || size < sizeof(link)) {
        return type == RTM_NEWADDR;
    }
    memcpy(&link, body, sizeof(link));
    return (link.ifi_flags & IFF_UP) && (link.ifi_flags & IFF_RUNNING);
}

bool linkwatch_read(const void *data, size_t size)
{
    const uint8_t *at = data;
    struct nlmsghdr header;
    bool rose = false;

    while (size >= sizeof(header)) {
        memcpy(&header, at, sizeof(header));
        if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > size) {
            break;
        }
        rose = rose ||
               tells(header.nlmsg_type, at + sizeof(header), header.nlmsg_len - sizeof(header));
        size_t step = NLMSG_ALIGN((size_t) header.nlmsg_len);
        at += step < size ? step : size;
        size -= step < size ? step : size;
    }
    return rose;
}

/* One datagram. True: there may be more. What was too much for the socket may have told of it. */
static bool receive(int fd, bool *rose)
{
    uint8_t data[DATAGRAM];
    struct sockaddr_nl from = {0};
    socklen_t length = sizeof(from);
    ssize_t size = recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *) &from, &length);

    if (size < 0) {
        *rose = *rose || errno == ENOBUFS;
        return errno == ENOBUFS;
    }
    *rose = *rose || (from.nl_pid == 0 && linkwatch_read(data, (size_t) size)); /* the kernel's */
    return true;
}

bool linkwatch_rose(struct linkwatch *watch, uint64_t now_us)
{
    bool rose = false;

    if (now_us < watch->look_us) {
        return false;
    }
    if (!watch->open) {
        watch_open(watch);
    }
    for (int i = 0; i < BATCH && receive(watch->fd, &rose); i++) {
    }
    watch->look_us = now_us + (rose ? LINKWATCH_REST_US : LINKWATCH_LOOK_US);
    return rose;
}

void linkwatch_close(struct linkwatch *watch)
{
    if (watch->open) {
        fd_close(&watch->fd);
    }
    *watch = (struct linkwatch){0};
}
