/* What the kernel tells of links and addresses. */
#include <config.h>

#include <base/net/linkwatch.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <tests/lib/unit.h>
#include <unistd.h>

/* A message of the kernel's, behind others; returns where the next one goes. */
static uint8_t *put(uint8_t *at, uint16_t type, unsigned flags)
{
    const struct ifinfomsg link = {.ifi_flags = flags};
    const struct nlmsghdr header = {.nlmsg_len = sizeof(header) + sizeof(link), .nlmsg_type = type};
    memcpy(at, &header, sizeof(header));
    memcpy(at + sizeof(header), &link, sizeof(link));
    return at + NLMSG_ALIGN(header.nlmsg_len);
}

static bool read_one(uint16_t type, unsigned flags)
{
    uint8_t data[64];
    return linkwatch_read(data, (size_t) (put(data, type, flags) - data));
}

START_TEST(what_comes_up_is_told_from_what_does_not)
{
    ck_assert(read_one(RTM_NEWLINK, IFF_UP | IFF_RUNNING));
    ck_assert(read_one(RTM_NEWADDR, 0));
    ck_assert(!read_one(RTM_NEWLINK, IFF_UP)); /* the cable is not there */
    ck_assert(!read_one(RTM_NEWLINK, 0));
    ck_assert(!read_one(RTM_DELLINK, IFF_UP | IFF_RUNNING));
    ck_assert(!read_one(RTM_DELADDR, 0));
    ck_assert(!read_one(NLMSG_ERROR, IFF_UP | IFF_RUNNING));
}
END_TEST

START_TEST(each_message_of_several_is_read)
{
    uint8_t data[128], *end = put(data, RTM_DELLINK, 0);
    end = put(end, RTM_NEWLINK, IFF_UP | IFF_RUNNING);
    ck_assert(linkwatch_read(data, (size_t) (end - data)));
    memcpy(data, &(uint32_t){3}, sizeof(uint32_t)); /* shorter than its header */
    ck_assert(!linkwatch_read(data, (size_t) (end - data)));
    memcpy(data, &(uint32_t){UINT32_MAX}, sizeof(uint32_t));
    ck_assert(!linkwatch_read(data, (size_t) (end - data)));
}
END_TEST

/* In memory of just that size, for AddressSanitizer. */
START_TEST(beginnings_tell_nothing)
{
    uint8_t data[64];
    size_t whole = (size_t) (put(data, RTM_NEWLINK, IFF_UP | IFF_RUNNING) - data);
    for (size_t size = 0; size < whole; size++) {
        uint8_t *copy = malloc(size + 1);
        memcpy(copy + 1, data, size); /* at an odd address, too */
        ck_assert(!linkwatch_read(copy + 1, size));
        free(copy);
    }
}
END_TEST

static void set_loopback(bool up)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = up ? IFF_UP : 0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(ioctl(fd, SIOCSIFFLAGS, &request), 0);
    close(fd);
}

START_TEST(the_kernel_tells_once_and_then_it_rests)
{
    struct linkwatch watch = {0};
    uint64_t now_us = 1000;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
        return; /* not here */
    }
    set_loopback(true); /* before anybody listens */
    set_loopback(false);
    ck_assert(!linkwatch_rose(&watch, now_us));
    set_loopback(true);
    ck_assert(!linkwatch_rose(&watch, now_us + LINKWATCH_LOOK_US - 1));
    ck_assert(linkwatch_rose(&watch, now_us += LINKWATCH_LOOK_US));
    for (int i = 0; i < 1000; i++) { /* more than the socket holds */
        set_loopback(i % 2 == 1);
    }
    ck_assert(!linkwatch_rose(&watch, now_us + LINKWATCH_REST_US - 1));
    ck_assert(linkwatch_rose(&watch, now_us += LINKWATCH_REST_US));
    for (int i = 0; i < 1000; i++) { /* what is left is read in time */
        (void) linkwatch_rose(&watch, now_us += LINKWATCH_REST_US);
    }
    set_loopback(false);
    ck_assert(!linkwatch_rose(&watch, now_us += LINKWATCH_REST_US));
    linkwatch_close(&watch);
    set_loopback(true);
    ck_assert(!linkwatch_rose(&watch, now_us += LINKWATCH_REST_US));
    linkwatch_close(&watch);
}
END_TEST

UNIT_MAIN("linkwatch")
