/* What a shepherd has to say, to a daemon that reads, does not read, or is gone. */
#include <config.h>

#include <launcher/newsbox.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct newsbox box;
static int daemon_end;

static void open_box(void)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    newsbox_open(&box, pair[0]);
    daemon_end = pair[1];
}

/* How many news one read gives; fds: how many descriptors came with them, closed here. */
static size_t receive(struct news *news, size_t most, size_t *fds)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(NEWSBOX_FDS * sizeof(int))];
    } control;
    struct iovec part = {news, most * sizeof(*news)};
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
    return size < 0 ? 0 : (size_t) size / sizeof(*news);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

START_TEST(descriptors_go_with_their_batch)
{
    struct news news[8];
    size_t fds;
    open_box();
    int ours[SPAWN_FDS] = {dup(daemon_end), -1, dup(daemon_end), -1};
    newsbox_add(&box, (struct news){NEWS_FAILED, 7, ENOENT, SPAWN_STAGE_EXEC});
    newsbox_add_start(&box, 8, 1234, ours);
    ck_assert(newsbox_flush(&box));
    ck_assert(!is_open(ours[0]) && !is_open(ours[2]));
    ck_assert_uint_eq(receive(news, 8, &fds), 3);
    ck_assert_uint_eq(fds, 2);
    ck_assert_uint_eq(news[0].type, NEWS_FDS);
    ck_assert_int_eq(news[0].value, 2);
    ck_assert_uint_eq(news[1].id, 7);
    ck_assert_uint_eq(news[2].type, NEWS_STARTED);
    ck_assert_uint_eq(news[2].detail, 1 | 1 << 2);
    newsbox_add(&box, (struct news){NEWS_EXITED, 8, 0, 0});
    ck_assert(newsbox_flush(&box));
    ck_assert_uint_eq(receive(news, 8, &fds), 1); /* no descriptors, no NEWS_FDS */
    ck_assert_uint_eq(fds, 0);
}
END_TEST

START_TEST(what_waits_is_bounded_and_in_order)
{
    struct news news[512];
    size_t fds, count;
    uint32_t added = 0, seen = 0;
    int small = 1;
    open_box();
    setsockopt(box.sock, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    while (newsbox_fits(&box, 0)) {
        ck_assert_uint_lt(added, 100000);
        newsbox_add(&box, (struct news){NEWS_EXITED, added++, 0, 0});
        if (!newsbox_fits(&box, 0)) {
            ck_assert(newsbox_flush(&box));
        }
    }
    ck_assert(newsbox_is_blocked(&box));
    while ((count = receive(news, 512, &fds)) > 0) {
        for (size_t i = 0; i < count; i++) {
            ck_assert_uint_eq(news[i].id, seen++);
        }
        ck_assert(newsbox_flush(&box));
    }
    ck_assert_uint_eq(seen, added);
    ck_assert(!newsbox_is_blocked(&box));
}
END_TEST

START_TEST(descriptors_that_do_not_fit_wait)
{
    open_box();
    for (uint32_t id = 0; newsbox_fits(&box, SPAWN_FDS); id++) {
        int ours[SPAWN_FDS];
        for (int i = 0; i < SPAWN_FDS; i++) {
            ours[i] = dup(daemon_end);
        }
        newsbox_add_start(&box, id, 1, ours);
    }
    ck_assert(newsbox_fits(&box, 0));
    ck_assert(newsbox_flush(&box));
    ck_assert(newsbox_fits(&box, SPAWN_FDS));
    newsbox_close(&box);
}
END_TEST

START_TEST(a_daemon_that_is_gone_is_told_nothing)
{
    open_box();
    close(daemon_end);
    int before = dup(box.sock), after = dup(box.sock);
    newsbox_add_start(&box, 1, 1, (int[SPAWN_FDS]){before, -1, -1, -1});
    ck_assert(!newsbox_flush(&box));
    newsbox_close(&box);
    ck_assert(!is_open(before));
    ck_assert(!newsbox_is_blocked(&box));
    newsbox_add_start(&box, 2, 2, (int[SPAWN_FDS]){after, -1, -1, -1});
    ck_assert(!is_open(after));
    ck_assert(newsbox_fits(&box, SPAWN_FDS));
    ck_assert(newsbox_flush(&box));
}
END_TEST

UNIT_MAIN("newsbox", descriptors_go_with_their_batch, what_waits_is_bounded_and_in_order,
          descriptors_that_do_not_fit_wait, a_daemon_that_is_gone_is_told_nothing)
