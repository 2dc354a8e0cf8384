/* Messages in frames, between keelrun and a DVM: they come back in order, however the bytes come,
 * and frames that cannot be are refused. */
#include <config.h>

#include <base/data/clock.h>
#include <base/data/le.h>
#include <base/net/sock.h>
#include <fcntl.h>
#include <launcher/standing/talk.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>
#include <wireup/proto.h>

static void put(struct bytes *out, uint32_t number, const char *text)
{
    opal_buffer_t *buffer = proto_new(TALK_SAID, "us", number, text);
    ck_assert_int_eq(talk_put(out, buffer), ORTE_SUCCESS);
    OBJ_RELEASE(buffer);
}

static void check_next(struct bytes *in, uint32_t number, const char *text)
{
    opal_buffer_t *buffer;
    uint8_t kind;
    uint32_t got_number;
    char *got;
    ck_assert_int_eq(talk_next(in, &buffer), ORTE_SUCCESS);
    ck_assert_ptr_nonnull(buffer);
    ck_assert_int_eq(proto_unpack(buffer, "cus", &kind, &got_number, &got), OPAL_SUCCESS);
    ck_assert_uint_eq(kind, TALK_SAID);
    ck_assert_uint_eq(got_number, number);
    ck_assert_str_eq(got, text);
    free(got);
    OBJ_RELEASE(buffer);
}

START_TEST(test_messages_come_back_in_order)
{
    struct bytes out = {0};
    opal_buffer_t *buffer;
    put(&out, 1, "one");
    put(&out, 2, "");
    check_next(&out, 1, "one");
    check_next(&out, 2, "");
    ck_assert_int_eq(talk_next(&out, &buffer), ORTE_SUCCESS);
    ck_assert_ptr_null(buffer);
    bytes_fini(&out);
}
END_TEST

START_TEST(test_a_message_comes_when_its_last_byte_does)
{
    struct bytes out = {0}, in = {0};
    opal_buffer_t *buffer;
    put(&out, 7, "whole");
    for (size_t i = 0; i + 1 < bytes_waiting(&out); i++) {
        ck_assert(bytes_append(&in, out.data + i, 1));
        ck_assert_int_eq(talk_next(&in, &buffer), ORTE_SUCCESS);
        ck_assert_ptr_null(buffer);
    }
    ck_assert(bytes_append(&in, out.data + out.tail - 1, 1));
    check_next(&in, 7, "whole");
    bytes_fini(&out);
    bytes_fini(&in);
}
END_TEST

START_TEST(test_frames_that_cannot_be_are_refused)
{
    static const uint32_t sizes[] = {0, TALK_FRAME_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct bytes in = {0};
        uint8_t header[4];
        opal_buffer_t *buffer;
        put_le32(header, sizes[i]);
        ck_assert(bytes_append(&in, header, sizeof(header)));
        ck_assert_int_eq(talk_next(&in, &buffer), ORTE_ERR_UNPACK_FAILURE);
        bytes_fini(&in);
    }
}
END_TEST

START_TEST(test_what_nobody_reads_is_bounded)
{
    struct bytes out = {0};
    static char block[1 << 20];
    int status = ORTE_SUCCESS;
    size_t sent = 0;
    for (; status == ORTE_SUCCESS && sent <= TALK_WAITING_MAX; sent += sizeof(block)) {
        opal_buffer_t *buffer = proto_new(TALK_SAID, "b", block, sizeof(block));
        status = talk_put(&out, buffer);
        OBJ_RELEASE(buffer);
    }
    ck_assert_int_eq(status, ORTE_ERR_OUT_OF_RESOURCE);
    ck_assert_uint_le(bytes_waiting(&out), TALK_WAITING_MAX + 64);
    bytes_fini(&out);
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
    put(&out, 3, "last");
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
