/* Messages between keelrun and a DVM: what waits is bounded, and an end is told from a silence. */
#include <config.h>

#include <base/data/clock.h>
#include <base/net/sock.h>
#include <fcntl.h>
#include <launcher/standing/talk.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>
#include <wireup/frame.h>
#include <wireup/proto.h>

START_TEST(test_what_nobody_reads_is_bounded)
{
    struct talk talk;
    static char block[1 << 20];
    int ends[2];
    size_t sent = 0;
    ck_assert_int_eq(fd_socketpair(ends, SOCK_STREAM), 0);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    talk_open(&talk, ends[0]);
    while (sent <= 2 * TALK_WAITING_MAX &&
           talk_send(&talk, proto_new(TALK_SAID, "b", block, sizeof(block)))) {
        sent += sizeof(block);
    }
    ck_assert_uint_gt(sent, TALK_WAITING_MAX / 2);
    ck_assert_uint_le(bytes_waiting(&talk.out), TALK_WAITING_MAX + 64);
    ck_assert_uint_le(sent, 2 * TALK_WAITING_MAX);
    talk_close(&talk);
    close(ends[1]);
}
END_TEST

START_TEST(test_an_end_and_a_silence_are_told_apart)
{
    struct talk talk;
    opal_buffer_t *buffer = NULL;
    int ends[2];
    ck_assert_int_eq(fd_socketpair(ends, SOCK_STREAM), 0);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    talk_open(&talk, ends[0]);
    ck_assert_int_eq(talk_wait(&talk, clock_us() + 20000, &buffer), ORTE_ERR_TIMEOUT);
    struct bytes out = {0};
    opal_buffer_t *last = proto_new(TALK_SAID, "s", "last");
    ck_assert_int_eq(frame_put(&out, last, TALK_FRAME_MAX), ORTE_SUCCESS);
    OBJ_RELEASE(last);
    ck_assert_int_eq(fd_write_all(ends[1], out.data, bytes_waiting(&out)), 0);
    close(ends[1]);
    ck_assert_int_eq(talk_wait(&talk, clock_us() + 5000000, &buffer), ORTE_SUCCESS);
    OBJ_RELEASE(buffer);
    ck_assert_int_eq(talk_wait(&talk, clock_us() + 5000000, &buffer), ORTE_ERR_COMM_FAILURE);
    talk_close(&talk);
    bytes_fini(&out);
}
END_TEST

START_TEST(test_a_blocked_signal_ends_the_wait)
{
    opal_buffer_t *buffer = NULL;
    int ends[2], status;
    ck_assert_int_eq(fd_socketpair(ends, SOCK_STREAM), 0);
    pid_t child = fork();
    if (child == 0) {
        struct talk talk;
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        signal(SIGINT, SIG_DFL); /* Check handles it */
        raise(SIGINT);           /* stays pending until it waits */
        talk_open(&talk, ends[0]);
        _exit(talk_wait(&talk, clock_us() + 10000000, &buffer) == ORTE_ERR_TIMEOUT);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGINT);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

UNIT_MAIN("talk")
