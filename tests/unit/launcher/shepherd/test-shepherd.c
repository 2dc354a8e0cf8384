#include <config.h>

#include <base/data/clock.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <tests/unit/launcher/shepherd/world.h>
#include <unistd.h>

static struct world world;

START_TEST(test_reports_start_and_exit_codes)
{
    world_open(&world);
    world_define_sh(&world, 0, PROC_RANK, "exit 7");
    world_define_sh(&world, 1, PROC_RANK, "kill -SEGV $$");
    world_start(&world, 0, 5);
    world_start(&world, 1, 6);
    world_run_until(&world, &world.exited, 2, 5000);
    ck_assert_int_gt(world.procs[5].pid, 0);
    ck_assert(WIFEXITED(world.procs[5].status) && WEXITSTATUS(world.procs[5].status) == 7);
    ck_assert(WIFSIGNALED(world.procs[6].status) && WTERMSIG(world.procs[6].status) == SIGSEGV);
    world_close(&world);
}
END_TEST

static void define(uint32_t app, const char *program, const char *wdir)
{
    char *argv[] = {(char *) "program", NULL};
    char *env[] = {NULL};
    struct start_app spec = {
        .program = program, .argv = argv, .env = env, .wdir = wdir, .out = STDIO_PIPE};
    shepherd_define_app(world.shepherd, app, &spec);
}

static void assert_fails(uint32_t id, enum start_stage stage, int error)
{
    ck_assert_msg(world.procs[id].failed, "process %u has not failed", id);
    ck_assert_int_eq(world.procs[id].stage, stage);
    ck_assert_int_eq(world.procs[id].error, error);
}

START_TEST(test_says_at_which_stage_a_start_fails)
{
    world_open(&world);
    define(0, "/nonexistent/program", NULL);
    define(1, "/etc/passwd", NULL);
    define(2, "/bin/true", "/nonexistent");
    define(3, "/bin/true", NULL);
    for (uint32_t id = 0; id < 3; id++) {
        world_start(&world, id, id);
    }
    struct start_proc bound = {.id = 3, .cpus = "16383"}; /* no kernel has so many */
    shepherd_start_proc(world.shepherd, 3, &bound);
    world_start(&world, 99, 4); /* not defined */
    world_run_until(&world, &world.failed, 5, 5000);
    assert_fails(0, START_EXEC, ENOENT);
    assert_fails(1, START_EXEC, EACCES);
    assert_fails(2, START_WDIR, ENOENT);
    assert_fails(3, START_BIND, EINVAL);
    assert_fails(4, START_EXEC, EINVAL);
    ck_assert_uint_eq(world.started, 0);
    world_close(&world);
}
END_TEST

START_TEST(test_starts_many_processes_quickly)
{
    static const unsigned counts[] = {1, 16, 64, 256};
    uint32_t id = 0;
    world_open(&world);
    define(0, "/bin/true", NULL);
    for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        uint64_t begin = clock_us();
        for (unsigned k = 0; k < counts[i]; k++) {
            world_start(&world, 0, id++);
        }
        world_run_until(&world, &world.exited, id, 8000);
        printf("# %u processes: %.1f ms\n", counts[i], (double) (clock_us() - begin) / 1000);
    }
    for (uint32_t k = 0; k < id; k++) {
        ck_assert_int_eq(world.procs[k].status, 0);
        ck_assert_int_eq(world.procs[k].fds[0], -1);
        ck_assert_int_ge(world.procs[k].fds[1], 0);
        ck_assert_int_eq(world.procs[k].fds[2], -1);
    }
    world_close(&world);
}
END_TEST

START_TEST(test_sets_folder_environment_and_processors)
{
    char *argv[] = {(char *) "sh", (char *) "-c",
                    (char *) "pwd; echo \"$A|$B|$C\"; grep Cpus_allowed_list /proc/self/status",
                    NULL};
    char *env[] = {(char *) "PATH=/bin:/usr/bin", (char *) "A=app", (char *) "AB=x",
                   (char *) "B=app b", NULL};
    char *own[] = {(char *) "B=own b", (char *) "C=own c", NULL};
    cpu_set_t all;
    char first[16];
    sched_getaffinity(0, sizeof(all), &all);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &all)) {
        cpu++;
    }
    snprintf(first, sizeof(first), "%d", cpu);
    world_open(&world);
    struct start_app spec = {.program = "/bin/sh",
                             .argv = argv,
                             .env = env,
                             .wdir = "/usr",
                             .out = STDIO_PIPE,
                             .err = STDIO_INHERIT};
    shepherd_define_app(world.shepherd, 0, &spec);
    struct start_proc proc = {.id = 0, .env = own, .cpus = first};
    shepherd_start_proc(world.shepherd, 0, &proc);
    world_start(&world, 0, 1); /* nothing of the first one's sticks to the app */
    world_run_until(&world, &world.started, 2, 5000);
    char expected[128];
    snprintf(expected, sizeof(expected), "/usr\napp|own b|own c\nCpus_allowed_list:\t%d\n", cpu);
    ck_assert_str_eq(world_read(&world, 0), expected);
    ck_assert_str_eq(strtok(strchr(strdup(world_read(&world, 1)), '\n') + 1, "\n"), "app|app b|");
    world_close(&world);
}
END_TEST

enum { COPY_BYTES = 3 << 20 };

/* Writes what the pipe takes and reads what there is. */
static void copy_some(struct world_proc *proc, const char *sent, size_t *out, char *received,
                      size_t *in)
{
    struct pollfd fds[2] = {{proc->fds[0], *out < COPY_BYTES ? POLLOUT : 0, 0},
                            {proc->fds[1], POLLIN, 0}};
    ck_assert_int_gt(poll(fds, 2, 5000), 0);
    if (fds[0].revents & POLLOUT) {
        ssize_t n = write(proc->fds[0], sent + *out, COPY_BYTES - *out);
        *out += n > 0 ? (size_t) n : 0;
        if (*out == COPY_BYTES) {
            close(proc->fds[0]);
            proc->fds[0] = -1;
        }
    }
    if (fds[1].revents) {
        ssize_t n = read(proc->fds[1], received + *in, COPY_BYTES + 1 - *in);
        *in += n > 0 ? (size_t) n : 0;
    }
}

START_TEST(test_pipes_carry_every_byte)
{
    char *sent = malloc(COPY_BYTES), *received = malloc(COPY_BYTES + 1);
    size_t out = 0, in = 0;
    for (size_t i = 0; i < COPY_BYTES; i++) {
        sent[i] = (char) (i * 2654435761u >> 13);
    }
    signal(SIGPIPE, SIG_IGN);
    world_open(&world);
    world_define_sh(&world, 0, PROC_RANK, "exec cat");
    struct start_proc proc = {.id = 0, .in = STDIO_PIPE};
    shepherd_start_proc(world.shepherd, 0, &proc);
    world_run_until(&world, &world.started, 1, 5000);
    while (in < COPY_BYTES) {
        copy_some(&world.procs[0], sent, &out, received, &in);
    }
    world_run_until(&world, &world.exited, 1, 5000);
    ck_assert_int_eq(world.procs[0].status, 0);
    ck_assert_int_eq(read(world.procs[0].fds[1], received + in, 1), 0);
    ck_assert_mem_eq(sent, received, COPY_BYTES);
    world_close(&world);
    free(sent);
    free(received);
}
END_TEST

/* Whoever writes to it sees a terminal; whoever reads it sees the bytes as they were written. It
 * controls nobody, although the rank leads a session. */
START_TEST(test_a_pty_carries_bytes_as_they_are)
{
    char *argv[] = {
        (char *) "sh", (char *) "-c",
        (char *) "[ -t 1 ] && [ ! -t 2 ] && stty size <&1; printf 'a\\r\\nb\\n\\003\\004';"
                 "(: </dev/tty) 2>/dev/null || printf none",
        NULL};
    struct start_app spec = {.program = "/bin/sh",
                             .argv = argv,
                             .env = environ,
                             .out = STDIO_PTY,
                             .err = STDIO_PIPE,
                             .window = {25, 132}};
    world_open(&world);
    shepherd_define_app(world.shepherd, 0, &spec);
    for (uint32_t id = 0; id < 100; id++) {
        world_start(&world, 0, id);
    }
    world_run_until(&world, &world.exited, 100, 5000); /* the last bytes outlive their writer */
    for (uint32_t id = 0; id < 100; id++) {
        ck_assert_str_eq(world_read(&world, id), "25 132\na\r\nb\n\003\004none");
    }
    world_close(&world);
}
END_TEST

START_TEST(test_stderr_can_be_stdout)
{
    static const enum proc_stdio kinds[] = {STDIO_PIPE, STDIO_PTY};
    char *argv[] = {(char *) "sh", (char *) "-c",
                    (char *) "printf a; printf b >&2; printf c; printf d >&2", NULL};
    world_open(&world);
    for (uint32_t id = 0; id < 2; id++) {
        struct start_app spec = {.program = "/bin/sh",
                                 .argv = argv,
                                 .env = environ,
                                 .out = kinds[id],
                                 .err = STDIO_MERGED,
                                 .window = {25, 80}};
        shepherd_define_app(world.shepherd, id, &spec);
        world_start(&world, id, id);
    }
    world_run_until(&world, &world.exited, 2, 5000);
    for (uint32_t id = 0; id < 2; id++) {
        ck_assert_str_eq(world_read(&world, id), "abcd");
    }
    world_close(&world);
}
END_TEST

/* A rank's socket is its descriptor 3, whatever is closed besides; it is not the shepherd's own. */
START_TEST(test_a_socket_carries_both_ways)
{
    char text[16] = "";
    char *argv[] = {(char *) "sh", (char *) "-c",
                    (char *) "read -r line <&3 && echo \"got $line\" >&3", NULL};
    struct start_app spec = {.program = "/bin/sh", .argv = argv, .env = environ, .socket = true};
    world_open(&world);
    shepherd_define_app(world.shepherd, 0, &spec);
    for (uint32_t id = 0; id < 100; id++) {
        world_start(&world, 0, id);
    }
    world_run_until(&world, &world.started, 100, 5000);
    for (uint32_t id = 0; id < 100; id++) {
        int fd = world.procs[id].fds[RANK_SOCKET];
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
        ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
        ck_assert_int_eq(world.procs[id].fds[1], -1);
        ck_assert_int_eq(send(fd, "abc\n", 4, MSG_NOSIGNAL), 4);
    }
    world_run_until(&world, &world.exited, 100, 5000);
    for (uint32_t id = 0; id < 100; id++) {
        int fd = world.procs[id].fds[RANK_SOCKET];
        ck_assert_int_eq(world.procs[id].status, 0);
        ck_assert_int_eq(recv(fd, text, sizeof(text), 0), 8);
        ck_assert_mem_eq(text, "got abc\n", 8);
        ck_assert_int_eq(recv(fd, text, sizeof(text), 0), 0);
    }
    world_close(&world);
}
END_TEST

/* Nothing of what the daemon inherited or opened reaches a rank. */
START_TEST(test_ranks_start_clean)
{
    sigset_t blocked;
    int leak = open("/dev/null", O_RDONLY); /* without close-on-exec, as a shell leaves them */
    ck_assert_int_ge(leak, 0);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    world_open(&world);
    world_define_sh(&world, 0, PROC_RANK,
                    "echo /proc/$$/fd/*; grep -E 'Sig(Blk|Ign)' /proc/self/status;"
                    "[ $(ps -o pgid= $$) = $$ ] && [ $(ps -o sid= $$) = $$ ] && echo leads");
    world_start(&world, 0, 0);
    world_run_until(&world, &world.started, 1, 5000);
    char expected[256];
    int pid = world.procs[0].pid;
    snprintf(expected, sizeof(expected),
             "/proc/%d/fd/0 /proc/%d/fd/1 /proc/%d/fd/2\n"
             "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nleads\n",
             pid, pid, pid);
    char *text = (char *) (uintptr_t) world_read(&world, 0);
    /* 32 and 33 are the C library's own: posix_spawn, by which make starts us, ignores them */
    char *own = strstr(text, "0000000180000000");
    if (own) {
        memset(own, '0', 16);
    }
    /* the shell may have the folder open while it lists it */
    char also[64];
    snprintf(also, sizeof(also), " /proc/%d/fd/3\n", pid);
    char *extra = strstr(text, also);
    if (extra) {
        memmove(extra, extra + strlen(also) - 1, strlen(extra + strlen(also) - 1) + 1);
    }
    ck_assert_str_eq(text, expected);
    world_close(&world);
    close(leak);
}
END_TEST

START_TEST(test_long_arguments_arrive_and_too_long_ones_are_refused)
{
    enum { LONG = 100000, TOO_LONG = 17 << 20 };
    char *text = malloc(TOO_LONG + 1);
    memset(text, 'x', TOO_LONG);
    text[LONG] = 0;
    char *argv[] = {(char *) "sh", (char *) "-c", (char *) "printf %s \"$1$2\" | wc -c",
                    (char *) "sh", text,          (char *) "a\nb 'c\" \xc3\xa9",
                    NULL};
    struct start_app spec = {.program = "/bin/sh", .argv = argv, .env = environ, .out = STDIO_PIPE};
    world_open(&world);
    shepherd_define_app(world.shepherd, 0, &spec);
    world_start(&world, 0, 0);
    text[LONG] = 'x';
    text[TOO_LONG] = 0;
    shepherd_define_app(world.shepherd, 0, &spec);
    world_start(&world, 0, 1);
    text[1 << 20] = 0; /* fits a command, but not execve */
    shepherd_define_app(world.shepherd, 0, &spec);
    world_start(&world, 0, 2);
    char *own[] = {text, NULL};
    text[1 << 20] = 'x';
    struct start_proc proc = {.id = 3, .env = own};
    shepherd_start_proc(world.shepherd, 0, &proc);
    world_run_until(&world, &world.failed, 3, 5000);
    ck_assert_str_eq(world_read(&world, 0), "100010\n");
    for (uint32_t id = 1; id <= 3; id++) {
        assert_fails(id, START_EXEC, E2BIG);
    }
    world_close(&world);
    free(text);
}
END_TEST

START_TEST(test_signals_reach_the_whole_process_group)
{
    world_open(&world);
    world_define_sh(&world, 0, PROC_RANK, "sleep 1000 & echo $!; wait");
    world_start(&world, 0, 0);
    world_run_until(&world, &world.started, 1, 5000);
    pid_t sleeper = atoi(world_read_line(&world, 0));
    ck_assert_int_gt(sleeper, 1);
    shepherd_signal(world.shepherd, 0, SIGTERM);
    world_run_until(&world, &world.exited, 1, 5000);
    ck_assert_int_eq(WTERMSIG(world.procs[0].status), SIGTERM);
    ck_assert(gone_within(sleeper, 2000));
    shepherd_signal(world.shepherd, 0, SIGTERM); /* nobody any more */
    world_close(&world);
}
END_TEST

START_TEST(test_what_is_cancelled_is_not_started)
{
    world_open(&world);
    world_define_sh(&world, 0, PROC_RANK, "echo up; exec sleep 1000");
    world_start(&world, 0, 0);
    world_run_until(&world, &world.started, 1, 5000);
    for (uint32_t id = 1; id < 100; id++) {
        world_start(&world, 0, id); /* nothing is sent before the loop runs */
    }
    shepherd_cancel_starts(world.shepherd);
    world_start(&world, 0, 100);
    shepherd_signal(world.shepherd, 100, SIGTERM); /* it follows the start */
    world_run_until(&world, &world.exited, 1, 5000);
    ck_assert_uint_eq(world.failed, 99);
    for (uint32_t id = 1; id < 100; id++) {
        assert_fails(id, START_FORK, ECANCELED);
    }
    ck_assert(world.procs[100].exited && WTERMSIG(world.procs[100].status) == SIGTERM);
    ck_assert(world.procs[0].started && !world.procs[0].exited);
    world_close(&world);
}
END_TEST

/* The kernel drops descriptors that do not fit the daemon's limit; the others keep their owners. */
START_TEST(test_lost_descriptors_end_only_their_process)
{
    struct rlimit limit, small;
    world_open(&world);
    world_define_sh(&world, 0, PROC_RANK, "echo $$; exec sleep 1000");
    int first = dup(0), second = dup(0); /* room for two */
    close(first);
    close(second);
    getrlimit(RLIMIT_NOFILE, &limit);
    small = limit;
    small.rlim_cur = (rlim_t) second + 1;
    setrlimit(RLIMIT_NOFILE, &small);
    for (uint32_t id = 0; id < 4; id++) {
        world_start(&world, 0, id);
    }
    world_run_until(&world, &world.started, 4, 5000);
    world_run_until(&world, &world.exited, 2, 5000);
    setrlimit(RLIMIT_NOFILE, &limit);
    for (uint32_t id = 0; id < 4; id++) {
        bool kept = world.procs[id].fds[1] >= 0;
        ck_assert_int_eq(kept, id < 2);
        ck_assert_int_eq(world.procs[id].exited, !kept);
        if (kept) {
            ck_assert_int_eq(atoi(world_read_line(&world, id)), world.procs[id].pid);
        }
    }
    world_close(&world);
}
END_TEST

static int loaded; /* by the daemon, before it starts the shepherd */

/* Descriptors above the standard ones. */
static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 3; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

static int speak(void)
{
    sigset_t blocked;
    char text[16] = "";
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    bool own_session = getsid(0) == getpid(), clean = !sigismember(&blocked, SIGTERM);
    ssize_t got = read(STDIN_FILENO, text, sizeof(text) - 1);
    dprintf(STDOUT_FILENO, "%d %d %d %d %.*s\n", loaded++, count_descriptors(), own_session, clean,
            got > 0 ? (int) got : 0, text);
    return 7;
}

START_TEST(test_forks_call_the_entry)
{
    struct start_app spec = {.kind = PROC_AGENT, .out = STDIO_PIPE, .err = STDIO_NULL};
    loaded = 41;
    world_open_with(&world, speak);
    loaded = 0;
    shepherd_define_app(world.shepherd, 0, &spec);
    for (uint32_t id = 0; id < 2; id++) {
        struct start_proc proc = {.id = id, .in = STDIO_PIPE};
        shepherd_start_proc(world.shepherd, 0, &proc);
    }
    world_run_until(&world, &world.started, 2, 5000);
    for (uint32_t id = 0; id < 2; id++) {
        ck_assert_int_eq(write(world.procs[id].fds[0], "word", 4), 4);
        ck_assert_str_eq(world_read_line(&world, id), "41 0 1 1 word\n");
    }
    world_run_until(&world, &world.exited, 2, 5000);
    ck_assert_int_eq(WEXITSTATUS(world.procs[0].status), 7);
    world_close(&world);
}
END_TEST

START_TEST(test_a_fork_that_fails_says_at_which_stage)
{
    world_open_with(&world, speak);
    define(0, NULL, "/nowhere");
    world_start(&world, 0, 0);
    world_run_until(&world, &world.failed, 1, 5000);
    assert_fails(0, START_WDIR, ENOENT);
    ck_assert_uint_eq(world.started, 0);
    world_close(&world);

    world_open(&world);
    define(0, NULL, NULL);
    world_start(&world, 0, 0);
    world_run_until(&world, &world.failed, 1, 5000);
    assert_fails(0, START_EXEC, EINVAL);
    world_close(&world);
}
END_TEST

START_TEST(test_the_umask_is_that_of_what_starts)
{
    world_open(&world);
    world_define_sh(&world, 0, PROC_RANK, "umask");
    shepherd_umask(world.shepherd, 0174);
    world_start(&world, 0, 0);
    world_run_until(&world, &world.exited, 1, 5000);
    ck_assert_str_eq(world_read(&world, 0), "0174\n");
    world_close(&world);
}
END_TEST

UNIT_MAIN("shepherd")
