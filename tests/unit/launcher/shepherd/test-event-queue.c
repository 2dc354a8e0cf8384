/* The shepherd's events, to a daemon that reads, does not read, or is gone. */
#include <config.h>

#include <launcher/shepherd/event_queue.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct event_queue queue;
static int daemon_end;

static void open_queue(void)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    event_queue_open(&queue, pair[0]);
    daemon_end = pair[1];
}

/* How many events one read gives; fds: how many descriptors came with them, closed here. */
static size_t receive(struct shepherd_event *events, size_t most, size_t *fds)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(EVENT_BATCH_FDS * sizeof(int))];
    } control;
    struct iovec part = {events, most * sizeof(*events)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t size = recvmsg(daemon_end, &message, MSG_DONTWAIT);
    const struct cmsghdr *header = size > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    *fds = header ? (header->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
    for (size_t i = 0; i < *fds; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
        close(fd);
    }
    return size < 0 ? 0 : (size_t) size / sizeof(*events);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

START_TEST(descriptors_go_with_their_batch)
{
    struct shepherd_event events[8];
    size_t fds;
    open_queue();
    int ours[PROC_FDS] = {dup(daemon_end), -1, dup(daemon_end), -1};
    event_queue_add(&queue, (struct shepherd_event){EVENT_FAILED, 7, ENOENT, START_EXEC});
    event_queue_add_start(&queue, 8, 1234, ours);
    ck_assert(event_queue_flush(&queue));
    ck_assert(!is_open(ours[0]) && !is_open(ours[2]));
    ck_assert_uint_eq(receive(events, 8, &fds), 3);
    ck_assert_uint_eq(fds, 2);
    ck_assert_uint_eq(events[0].type, EVENT_FDS);
    ck_assert_int_eq(events[0].value, 2);
    ck_assert_uint_eq(events[1].id, 7);
    ck_assert_uint_eq(events[2].type, EVENT_STARTED);
    ck_assert_uint_eq(events[2].detail, 1 | 1 << 2);
    event_queue_add(&queue, (struct shepherd_event){EVENT_EXITED, 8, 0, 0});
    ck_assert(event_queue_flush(&queue));
    ck_assert_uint_eq(receive(events, 8, &fds), 1); /* no descriptors, no EVENT_FDS */
    ck_assert_uint_eq(fds, 0);
}
END_TEST

START_TEST(what_waits_is_bounded_and_in_order)
{
    struct shepherd_event events[512];
    size_t fds, count;
    uint32_t added = 0, seen = 0;
    int small = 1;
    open_queue();
    setsockopt(queue.sock, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    while (event_queue_fits(&queue, 0)) {
        ck_assert_uint_lt(added, 100000);
        event_queue_add(&queue, (struct shepherd_event){EVENT_EXITED, added++, 0, 0});
        if (!event_queue_fits(&queue, 0)) {
            ck_assert(event_queue_flush(&queue));
        }
    }
    ck_assert(event_queue_is_blocked(&queue));
    while ((count = receive(events, 512, &fds)) > 0) {
        for (size_t i = 0; i < count; i++) {
            ck_assert_uint_eq(events[i].id, seen++);
        }
        ck_assert(event_queue_flush(&queue));
    }
    ck_assert_uint_eq(seen, added);
    ck_assert(!event_queue_is_blocked(&queue));
}
END_TEST

START_TEST(descriptors_that_do_not_fit_wait)
{
    open_queue();
    for (uint32_t id = 0; event_queue_fits(&queue, PROC_FDS); id++) {
        int ours[PROC_FDS];
        for (int i = 0; i < PROC_FDS; i++) {
            ours[i] = dup(daemon_end);
        }
        event_queue_add_start(&queue, id, 1, ours);
    }
    ck_assert(event_queue_fits(&queue, 0));
    ck_assert(event_queue_flush(&queue));
    ck_assert(event_queue_fits(&queue, PROC_FDS));
    event_queue_close(&queue);
}
END_TEST

START_TEST(a_daemon_that_is_gone_is_told_nothing)
{
    open_queue();
    close(daemon_end);
    int before = dup(queue.sock), after = dup(queue.sock);
    event_queue_add_start(&queue, 1, 1, (int[PROC_FDS]){before, -1, -1, -1});
    ck_assert(!event_queue_flush(&queue));
    event_queue_close(&queue);
    ck_assert(!is_open(before));
    ck_assert(!event_queue_is_blocked(&queue));
    event_queue_add_start(&queue, 2, 2, (int[PROC_FDS]){after, -1, -1, -1});
    ck_assert(!is_open(after));
    ck_assert(event_queue_fits(&queue, PROC_FDS));
    ck_assert(event_queue_flush(&queue));
}
END_TEST

UNIT_MAIN("event_queue")
