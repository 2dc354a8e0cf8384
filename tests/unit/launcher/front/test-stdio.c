#include <config.h>

#include <base/data/clock.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/front/stdio.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { LIMIT = 256 * 1024, TOTAL = 4 << 20 };

static struct loop *loop;
static size_t written;
static unsigned failures;
static int failure;
static bool without_thread;

static void on_written(void *arg, size_t bytes)
{
    ck_assert_ptr_eq(arg, &written);
    written += bytes;
}

static void on_failed(void *arg, int error)
{
    (void) arg;
    failures++;
    failure = error;
}

static const struct stdio_writer_ops writer_ops = {on_written, on_failed};

/* A thread needs a descriptor to be woken by, and there is none. */
static void forbid_threads(void)
{
    struct rlimit limit;
    int lowest = dup(0);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = (rlim_t) lowest;
    close(lowest);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static struct stdio_writer *make_writer(int fd)
{
    struct stdio_writer *writer;
    ck_assert_int_eq(loop_create(&loop), ORTE_SUCCESS);
    ck_assert_int_eq(stdio_writer_create(&writer, loop, fd, LIMIT, &writer_ops, &written),
                     ORTE_SUCCESS);
    if (without_thread) {
        forbid_threads();
    }
    return writer;
}

static void poll_once(void)
{
    loop_poll(loop);
    usleep(200);
}

struct sink {
    int fd;
    char *data;
    size_t size;
};

/* A slow reader with small bites. */
static void *drain(void *arg)
{
    struct sink *sink = arg;
    ssize_t got;
    while ((got = read(sink->fd, sink->data + sink->size, 10007)) > 0) {
        sink->size += (size_t) got;
    }
    return NULL;
}

static void every_byte_is_written_in_order(void)
{
    int fds[2];
    char *data = malloc(TOTAL);
    struct sink sink = {.data = malloc(TOTAL + 10007)};
    pthread_t thread;
    for (size_t i = 0; i < TOTAL; i++) {
        data[i] = (char) (i * 2654435761u >> 11);
    }
    ck_assert_int_eq(pipe(fds), 0);
    sink.fd = fds[0];
    pthread_create(&thread, NULL, drain, &sink);
    struct stdio_writer *writer = make_writer(fds[1]);
    for (size_t at = 0; at < TOTAL;) {
        size_t size = 1 + at % 70001;
        size = size < TOTAL - at ? size : TOTAL - at;
        if (stdio_writer_put(writer, data + at, size)) {
            at += size;
            ck_assert_uint_eq(stdio_writer_room(writer), LIMIT - (at - written));
        } else {
            ck_assert_uint_lt(stdio_writer_room(writer), size);
            poll_once();
        }
    }
    while (written < TOTAL) {
        poll_once();
    }
    ck_assert_uint_eq(stdio_writer_room(writer), LIMIT);
    ck_assert_uint_eq(stdio_writer_end(writer), 0);
    ck_assert_int_eq(fcntl(fds[1], F_GETFL) & O_NONBLOCK, 0);
    close(fds[1]);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(sink.size, TOTAL);
    ck_assert_mem_eq(sink.data, data, TOTAL);
    loop_destroy(loop);
    free(sink.data);
    free(data);
}

START_TEST(test_every_byte_is_written_in_order)
{
    every_byte_is_written_in_order();
}
END_TEST

START_TEST(test_every_byte_is_written_without_a_thread)
{
    without_thread = true;
    every_byte_is_written_in_order();
}
END_TEST

START_TEST(test_the_buffer_is_bounded)
{
    static char data[LIMIT + 1];
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    struct stdio_writer *writer = make_writer(fds[1]);
    ck_assert(!stdio_writer_put(writer, data, LIMIT + 1));
    ck_assert(stdio_writer_put(writer, data, 0));
    ck_assert(stdio_writer_put(writer, data, LIMIT));
    ck_assert(!stdio_writer_put(writer, data, 1));
    ck_assert_uint_eq(stdio_writer_end(writer) > 0, 1); /* a pipe holds less */
    loop_destroy(loop);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

/* Nobody reads: the end comes all the same, and says what is lost. */
START_TEST(test_a_stuck_writer_can_be_ended)
{
    static char data[LIMIT];
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    int capacity = fcntl(fds[1], F_GETPIPE_SZ);
    struct stdio_writer *writer = make_writer(fds[1]);
    ck_assert(stdio_writer_put(writer, data, LIMIT));
    for (int in_pipe = 0; in_pipe < capacity;) { /* then the thread is in write, for ever */
        ck_assert_int_eq(ioctl(fds[0], FIONREAD, &in_pipe), 0);
    }
    uint64_t begin = clock_us();
    size_t left = stdio_writer_end(writer);
    ck_assert_uint_lt(clock_us() - begin, 100000);
    ck_assert_uint_ge(left, LIMIT - (size_t) capacity);
    loop_destroy(loop);
}
END_TEST

static void a_broken_pipe_is_told_once_and_the_rest_dropped(void)
{
    int fds[2];
    signal(SIGPIPE, without_thread ? SIG_IGN : SIG_DFL); /* blocked in the thread: ends nobody */
    ck_assert_int_eq(pipe(fds), 0);
    close(fds[0]);
    struct stdio_writer *writer = make_writer(fds[1]);
    for (int i = 0; i < 3; i++) {
        ck_assert(stdio_writer_put(writer, "text", 4));
        while (written < 4 * ((size_t) i + 1)) {
            poll_once();
        }
    }
    ck_assert_uint_eq(failures, 1);
    ck_assert_int_eq(failure, EPIPE);
    ck_assert_uint_eq(stdio_writer_end(writer), 0);
    loop_destroy(loop);
}

START_TEST(test_a_broken_pipe_is_told_once_and_the_rest_dropped)
{
    a_broken_pipe_is_told_once_and_the_rest_dropped();
}
END_TEST

START_TEST(test_a_broken_pipe_is_told_without_a_thread)
{
    without_thread = true;
    a_broken_pipe_is_told_once_and_the_rest_dropped();
}
END_TEST

START_TEST(test_a_full_device_is_told)
{
    struct stdio_writer *writer = make_writer(open("/dev/full", O_WRONLY));
    ck_assert(stdio_writer_put(writer, "text", 4));
    while (failures == 0) {
        poll_once();
    }
    ck_assert_int_eq(failure, ENOSPC);
    stdio_writer_end(writer);
    loop_destroy(loop);
}
END_TEST

START_TEST(test_ending_unused_ones)
{
    stdio_writer_end(NULL);
    stdio_reader_end(NULL);
    struct stdio_writer *writer = make_writer(1);
    ck_assert_uint_eq(stdio_writer_end(writer), 0);
    loop_destroy(loop);
}
END_TEST

/* A non-blocking descriptor, as another process may leave it. */
START_TEST(test_a_non_blocking_pipe_is_waited_for)
{
    static char data[LIMIT], received[LIMIT];
    int fds[2];
    size_t got = 0;
    ck_assert_int_eq(pipe2(fds, O_NONBLOCK), 0);
    struct stdio_writer *writer = make_writer(fds[1]);
    ck_assert(stdio_writer_put(writer, data, LIMIT));
    while (got < LIMIT) {
        ssize_t n = read(fds[0], received + got, LIMIT - got);
        got += n > 0 ? (size_t) n : 0;
        poll_once();
    }
    while (written < LIMIT) {
        poll_once();
    }
    ck_assert_uint_eq(stdio_writer_end(writer), 0);
    loop_destroy(loop);
}
END_TEST

/* The reader. */

static char input[TOTAL];
static size_t input_size;
static unsigned ends;
static int end_error;
static struct stdio_reader *reader;

static void on_data(void *arg, const void *data, size_t size)
{
    ck_assert_ptr_eq(arg, input);
    ck_assert_uint_le(input_size + size, sizeof(input));
    memcpy(input + input_size, data, size);
    input_size += size;
}

static void on_ended(void *arg, int error)
{
    (void) arg;
    ends++;
    end_error = error;
}

static void make_reader(int fd)
{
    static const struct stdio_reader_ops ops = {on_data, on_ended};
    ck_assert_int_eq(loop_create(&loop), ORTE_SUCCESS);
    ck_assert_int_eq(stdio_reader_create(&reader, loop, fd, &ops, input), ORTE_SUCCESS);
    if (without_thread) {
        forbid_threads();
    }
}

static void poll_for(unsigned ms)
{
    uint64_t limit = clock_us() + ms * 1000u;
    while (clock_us() < limit) {
        poll_once();
    }
}

static void nothing_is_read_that_is_not_allowed(void)
{
    int fds[2], left;
    ck_assert_int_eq(pipe(fds), 0);
    ck_assert_int_eq(write(fds[1], "0123456789", 10), 10);
    make_reader(fds[0]);
    poll_for(30);
    ck_assert_uint_eq(input_size, 0);
    stdio_reader_allow(reader, 4);
    while (input_size < 4) {
        poll_once();
    }
    poll_for(30);
    ck_assert_uint_eq(input_size, 4);
    ioctl(fds[0], FIONREAD, &left);
    ck_assert_int_eq(left, 6);
    close(fds[1]);
    stdio_reader_allow(reader, 100);
    while (ends == 0) {
        poll_once();
    }
    ck_assert_mem_eq(input, "0123456789", 10);
    ck_assert_int_eq(end_error, 0);
    stdio_reader_allow(reader, 100);
    poll_for(30);
    ck_assert_uint_eq(ends, 1);
    stdio_reader_end(reader);
    loop_destroy(loop);
}

START_TEST(test_nothing_is_read_that_is_not_allowed)
{
    nothing_is_read_that_is_not_allowed();
}
END_TEST

START_TEST(test_nothing_is_read_without_a_thread_that_is_not_allowed)
{
    without_thread = true;
    nothing_is_read_that_is_not_allowed();
}
END_TEST

static void every_byte_is_read_in_order(void)
{
    char path[] = "/tmp/keel-test-stdio-XXXXXX";
    char *data = malloc(TOTAL);
    int fd = mkstemp(path);
    unlink(path);
    for (size_t i = 0; i < TOTAL; i++) {
        data[i] = (char) (i * 2654435761u >> 11);
    }
    ck_assert_int_eq(write(fd, data, TOTAL), TOTAL);
    lseek(fd, 0, SEEK_SET);
    make_reader(fd);
    while (ends == 0) {
        stdio_reader_allow(reader, 100001);
        poll_once();
    }
    ck_assert_uint_eq(input_size, TOTAL);
    ck_assert_mem_eq(input, data, TOTAL);
    stdio_reader_end(reader);
    loop_destroy(loop);
    free(data);
}

START_TEST(test_every_byte_is_read_in_order)
{
    every_byte_is_read_in_order();
}
END_TEST

START_TEST(test_every_byte_is_read_without_a_thread)
{
    without_thread = true;
    every_byte_is_read_in_order();
}
END_TEST

START_TEST(test_a_waiting_reader_can_be_ended)
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    make_reader(fds[0]);
    stdio_reader_allow(reader, 100);
    poll_for(20);
    uint64_t begin = clock_us();
    stdio_reader_end(reader);
    ck_assert_uint_lt(clock_us() - begin, 100000);
    loop_destroy(loop);
}
END_TEST

START_TEST(test_a_closed_descriptor_is_at_its_end)
{
    make_reader(dup2(0, 200));
    close(200);
    stdio_reader_allow(reader, 100);
    while (ends == 0) {
        poll_once();
    }
    ck_assert_int_eq(end_error, 0);
    stdio_reader_end(reader);
    loop_destroy(loop);
    make_reader(open("/", O_RDONLY));
    stdio_reader_allow(reader, 100);
    while (ends == 1) {
        poll_once();
    }
    ck_assert_int_eq(end_error, EISDIR);
    stdio_reader_end(reader);
    loop_destroy(loop);
}
END_TEST

/* In the background of a terminal: an end of file, and no stop. */
static void read_in_background(void)
{
    setpgid(0, 0);
    make_reader(0);
    stdio_reader_allow(reader, 100);
    for (int i = 0; i < 10000 && ends == 0; i++) {
        poll_once();
    }
    stdio_reader_end(reader);
    _exit(ends == 1 && end_error == 0 && input_size == 0 ? 0 : 1);
}

START_TEST(test_a_terminal_does_not_stop_a_background_job)
{
    int master, status;
    pid_t session = forkpty(&master, NULL, NULL, NULL);
    ck_assert_int_ge(session, 0);
    if (session == 0) { /* leads the session; its group is in the foreground */
        pid_t child = fork();
        if (child == 0) {
            read_in_background();
        }
        _exit(waitpid(child, &status, WUNTRACED) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                               : 2);
    }
    ck_assert_int_eq(waitpid(session, &status, 0), session);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    close(master);
}
END_TEST

UNIT_MAIN("stdio")
