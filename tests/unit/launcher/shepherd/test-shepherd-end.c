#include <config.h>

#include <base/data/clock.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/shepherd/sweep.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <tests/unit/launcher/shepherd/world.h>
#include <unistd.h>

static struct world world;

/* A rank that prints its own pid and that of a grandchild which left its session and its parent. */
static const char with_daemon[] = "(setsid sh -c 'echo $$; exec sleep 1000' &) & wait; sleep 1000";

static char *make_folder(void)
{
    static char path[64];
    char inner[128];
    snprintf(path, sizeof(path), "/tmp/keel-test-guard-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
    snprintf(inner, sizeof(inner), "%s/sub", path);
    mkdir(inner, 0700);
    snprintf(inner, sizeof(inner), "%s/sub/file", path);
    close(open(inner, O_CREAT | O_WRONLY, 0600));
    snprintf(inner, sizeof(inner), "%s/link", path);
    ck_assert_int_eq(symlink("/etc", inner), 0);
    return path;
}

static pid_t only_child(void)
{
    pid_t children[4];
    ck_assert_uint_eq(sweep_children(children, 4), 1);
    return children[0];
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == pid;
}

/* A daemon gets signals with its group, to which a new shepherd belongs for a moment. */
START_TEST(test_a_new_shepherd_gets_no_signal_of_its_daemon)
{
    sigset_t term;
    struct timespec at_once = {0, 0};
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    setpgid(0, 0);
    for (int i = 0; i < 50; i++) {
        struct shepherd *shepherd;
        ck_assert_int_eq(shepherd_start(&shepherd), 0);
        pthread_sigmask(SIG_BLOCK, &term, NULL);
        kill(0, SIGTERM);
        ck_assert_int_eq(sigtimedwait(&term, NULL, &at_once), SIGTERM);
        pthread_sigmask(SIG_UNBLOCK, &term, NULL);
        pid_t pid = only_child();
        while (getsid(pid) != pid && !has_ended(pid)) {
            usleep(100);
        }
        ck_assert(!has_ended(pid));
        shepherd_end(shepherd);
    }
}
END_TEST

START_TEST(test_shepherd_stands_apart_from_the_terminal)
{
    world_open(&world);
    pid_t shepherd = only_child();
    world_define_sh(&world, 0, PROC_RANK, "echo up; exec sleep 1000");
    world_start(&world, 0, 0);
    world_run_until(&world, &world.started, 1, 5000);
    ck_assert_int_eq(getsid(shepherd), shepherd);
    ck_assert_int_eq(getsid(world.procs[0].pid), world.procs[0].pid);
    kill(shepherd, SIGINT);
    kill(shepherd, SIGTERM);
    kill(shepherd, SIGHUP);
    world_start(&world, 0, 1);
    world_run_until(&world, &world.started, 2, 5000);
    world_close(&world);
}
END_TEST

START_TEST(test_orderly_end_leaves_nothing)
{
    const char *folder = make_folder();
    world_open(&world);
    world_define_sh(&world, 0, PROC_RANK, with_daemon);
    world_start(&world, 0, 0);
    shepherd_guard(world.shepherd, folder);
    shepherd_guard(world.shepherd, "/tmp/keel-test-guard-never-made");
    world_run_until(&world, &world.started, 1, 5000);
    pid_t rank = world.procs[0].pid, daemon = atoi(world_read_line(&world, 0));
    ck_assert_int_gt(daemon, 1);
    ck_assert_int_ne(getsid(daemon), getsid(rank));
    uint64_t begin = clock_us();
    world_close(&world);
    ck_assert_uint_lt(clock_us() - begin, 1000000);
    ck_assert(gone_within(rank, 0) && gone_within(daemon, 0));
    ck_assert(missing_within(folder, 0));
    ck_assert_int_eq(access("/etc/passwd", F_OK), 0);
    ck_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}
END_TEST

/* For the next job: nothing is left of the first, not even what its programs were. */
START_TEST(test_a_cleared_one_begins_anew)
{
    static const struct shepherd_ops none = {0};
    const char *folder = make_folder();
    world_open(&world);
    world_define_sh(&world, 0, PROC_RANK, with_daemon);
    shepherd_guard(world.shepherd, folder);
    world_start(&world, 0, 0);
    world_run_until(&world, &world.started, 1, 5000);
    pid_t rank = world.procs[0].pid, daemon = atoi(world_read_line(&world, 0));
    for (uint32_t id = 1; id < 40; id++) {
        world_start(&world, 0, id); /* events and descriptors that nobody takes any more */
    }
    ck_assert(shepherd_clear(world.shepherd));
    ck_assert(gone_within(rank, 0) && gone_within(daemon, 0));
    ck_assert(missing_within(folder, 0));
    ck_assert_uint_eq(world.exited, 0);

    world_attach(&world);
    ck_assert_int_eq(shepherd_attach(world.shepherd, world.loop, &none, NULL), ORTE_EXISTS);
    world_start(&world, 0, 40);
    world_run_until(&world, &world.failed, 1, 5000);
    ck_assert_int_eq(world.procs[40].error, EINVAL);
    world_define_sh(&world, 0, PROC_RANK, "echo next; exit 3");
    world_start(&world, 0, 41);
    world_run_until(&world, &world.exited, 1, 5000);
    ck_assert_str_eq(world_read(&world, 41), "next\n");
    ck_assert_int_eq(WEXITSTATUS(world.procs[41].status), 3);
    ck_assert(shepherd_clear(world.shepherd) && shepherd_clear(world.shepherd));
    world_close(&world);
    ck_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}
END_TEST

START_TEST(test_one_that_is_gone_is_not_cleared)
{
    const char *folder = make_folder();
    world_open(&world);
    shepherd_guard(world.shepherd, folder);
    world_define_sh(&world, 0, PROC_RANK, with_daemon);
    world_start(&world, 0, 0);
    world_run_until(&world, &world.started, 1, 5000);
    kill(only_child(), SIGKILL);
    ck_assert(!shepherd_clear(world.shepherd));
    world_close(&world);
    ck_assert(missing_within(folder, 0));
    ck_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}
END_TEST

/* Starts a process when the sweep is over: until then starts are refused. */
static void start_after_sweep(uint32_t app, uint32_t id)
{
    unsigned started = world.started;
    for (int attempt = 0; world.started == started; attempt++, id++) {
        unsigned failed = world.failed;
        ck_assert_int_lt(attempt, 100);
        usleep(20000);
        world_start(&world, app, id);
        while (world.started == started && world.failed == failed) {
            loop_poll(world.loop);
            usleep(200);
        }
        ck_assert(world.started > started || world.procs[id].error == ECANCELED);
    }
}

START_TEST(test_kill_all_ends_descendants_and_refuses_starts_meanwhile)
{
    world_open(&world);
    world_define_sh(&world, 0, PROC_RANK, with_daemon);
    world_start(&world, 0, 0);
    world_start(&world, 0, 1);
    world_run_until(&world, &world.started, 2, 5000);
    pid_t daemons[2];
    for (uint32_t id = 0; id < 2; id++) {
        daemons[id] = atoi(world_read_line(&world, id));
        ck_assert_int_gt(daemons[id], 1);
    }
    shepherd_kill_all(world.shepherd);
    world_start(&world, 0, 2);
    world_run_until(&world, &world.exited, 2, 2000);
    world_run_until(&world, &world.failed, 1, 2000);
    ck_assert_int_eq(world.procs[2].error, ECANCELED);
    for (uint32_t id = 0; id < 2; id++) {
        ck_assert_int_eq(WTERMSIG(world.procs[id].status), SIGKILL);
        ck_assert(gone_within(daemons[id], 2000));
    }
    start_after_sweep(0, 3);
    world_close(&world);
}
END_TEST

START_TEST(test_kill_ranks_leaves_agents_alone)
{
    world_open(&world);
    world_define_sh(&world, 0, PROC_RANK, with_daemon);
    world_define_sh(&world, 1, PROC_AGENT, with_daemon);
    world_start(&world, 0, 0);
    world_start(&world, 1, 1);
    world_run_until(&world, &world.started, 2, 5000);
    pid_t of_rank = atoi(world_read_line(&world, 0));
    world_read_line(&world, 1);
    shepherd_kill_ranks(world.shepherd);
    world_run_until(&world, &world.exited, 1, 2000);
    ck_assert(world.procs[0].exited);
    ck_assert(gone_within(of_rank, 2000));
    start_after_sweep(0, 2); /* it ends although the agent lives */
    ck_assert_int_eq(kill(world.procs[1].pid, 0), 0);
    ck_assert_uint_eq(world.exited, 1);
    world_close(&world);
}
END_TEST

START_TEST(test_agents_may_end_by_themselves)
{
    world_open(&world);
    world_define_sh(
        &world, 0, PROC_AGENT,
        "trap 'sleep 0.1; echo bye; exit 3' TERM; echo up; while :; do sleep 0.02; done");
    world_define_sh(&world, 1, PROC_AGENT, "trap '' TERM; echo up; while :; do sleep 0.02; done");
    world_define_sh(&world, 2, PROC_RANK, "trap '' TERM; echo up; while :; do sleep 0.02; done");
    for (uint32_t id = 0; id < 3; id++) {
        world_start(&world, id, id);
    }
    world_run_until(&world, &world.started, 3, 5000);
    for (uint32_t id = 0; id < 3; id++) {
        world_read_line(&world, id);
    }
    uint64_t begin = clock_us();
    shepherd_kill_all(world.shepherd);
    world_run_until(&world, &world.exited, 3, 3000);
    uint64_t took = clock_us() - begin;
    ck_assert(took >= 450000 && took < 1500000);
    ck_assert(WIFEXITED(world.procs[0].status) && WEXITSTATUS(world.procs[0].status) == 3);
    ck_assert_str_eq(world_read(&world, 0), "up\nbye\n");
    ck_assert_int_eq(WTERMSIG(world.procs[1].status), SIGKILL);
    ck_assert_int_eq(WTERMSIG(world.procs[2].status), SIGKILL);
    world_close(&world);
}
END_TEST

START_TEST(test_steps_may_end_before_they_are_signalled)
{
    world_open(&world);
    world_define_sh(&world, 0, PROC_STEP,
                    "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.02; done");
    world_define_sh(&world, 1, PROC_STEP, "trap 'exit 4' TERM; echo up; sleep 0.1; exit 5");
    for (uint32_t id = 0; id < 2; id++) {
        world_start(&world, id, id);
    }
    world_run_until(&world, &world.started, 2, 5000);
    for (uint32_t id = 0; id < 2; id++) {
        world_read_line(&world, id);
    }
    uint64_t begin = clock_us();
    shepherd_kill_all(world.shepherd);
    world_run_until(&world, &world.exited, 2, 3000);
    uint64_t took = clock_us() - begin;
    ck_assert(took >= 300000 && took < 1500000);
    ck_assert_int_eq(WEXITSTATUS(world.procs[0].status), 3);
    ck_assert_str_eq(world_read(&world, 0), "up\nbye\n");
    ck_assert_int_eq(WEXITSTATUS(world.procs[1].status), 5);
    world_close(&world);
}
END_TEST

/* An agent that is a daemon itself, with a shepherd of its own. It is run as a program (see main),
 * so nothing of Check's is there. Prints the pids of its rank and of what that left behind. */
static void agent_started(void *arg, uint32_t id, pid_t pid, int fds[PROC_FDS])
{
    char text[32] = "";
    (void) arg;
    (void) id;
    struct pollfd wait = {.fd = fds[1], .events = POLLIN};
    if (poll(&wait, 1, 5000) == 1 && read(fds[1], text, sizeof(text) - 1) > 0) {
        printf("%d %s", pid, text);
        fflush(stdout);
    }
}

static void agent_failed(void *arg, uint32_t id, enum start_stage stage, int error)
{
    (void) arg;
    (void) id;
    (void) stage;
    _exit(error);
}

static void agent_exited(void *arg, uint32_t id, int wait_status, uint32_t peak_kib)
{
    (void) arg;
    (void) id;
    (void) peak_kib;
    _exit(wait_status != 0);
}

static void agent_lost(void *arg)
{
    (void) arg;
    _exit(1);
}

static int agent_main(const char *folder)
{
    static const struct shepherd_ops ops = {agent_started, agent_failed, agent_exited, agent_lost,
                                            NULL};
    struct shepherd *shepherd;
    struct loop *loop;
    char *argv[] = {(char *) "sh", (char *) "-c", (char *) (uintptr_t) with_daemon, NULL};
    struct start_app app = {.program = "/bin/sh", .argv = argv, .env = environ, .out = STDIO_PIPE};
    struct start_proc proc = {.id = 0};
    if (shepherd_start(&shepherd) != 0 || loop_create(&loop) != ORTE_SUCCESS ||
        shepherd_attach(shepherd, loop, &ops, NULL) != ORTE_SUCCESS) {
        return 1;
    }
    shepherd_guard(shepherd, folder);
    shepherd_define_app(shepherd, 0, &app);
    shepherd_start_proc(shepherd, 0, &proc);
    alarm(30);
    loop_run(loop);
    return 1;
}

static void define_agent(uint32_t app, const char *folder)
{
    char *argv[] = {(char *) "agent", (char *) "--agent", (char *) (uintptr_t) folder, NULL};
    struct start_app spec = {.kind = PROC_AGENT,
                             .program = "/proc/self/exe",
                             .argv = argv,
                             .env = environ,
                             .out = STDIO_PIPE,
                             .err = STDIO_INHERIT};
    shepherd_define_app(world.shepherd, app, &spec);
}

UNIT_LOOP(test_the_shepherd_of_a_killed_agent_is_given_time, 0, 10)
{
    int rank, orphan;
    const char *folder = make_folder();
    world_open(&world);
    define_agent(0, folder);
    world_define_sh(&world, 1, PROC_RANK, "sleep 1000");
    world_start(&world, 0, 0);
    world_start(&world, 1, 1);
    world_run_until(&world, &world.started, 2, 5000);
    ck_assert_int_eq(sscanf(world_read_line(&world, 0), "%d %d", &rank, &orphan), 2);
    kill(world.procs[0].pid, SIGKILL);
    _i % 2 ? shepherd_kill_ranks(world.shepherd) : shepherd_kill_all(world.shepherd);
    world_run_until(&world, &world.exited, 2, 2000);
    ck_assert(missing_within(folder, 2000));
    ck_assert(gone_within(rank, 2000) && gone_within(orphan, 2000));
    world_close(&world);
}
END_TEST

START_TEST(test_kill_9_of_an_agents_parent_daemon_ends_all_levels)
{
    int rank, orphan, fds[2];
    char text[64] = "";
    const char *folder = make_folder();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    ck_assert_int_eq(pipe(fds), 0);
    pid_t daemon = fork();
    if (daemon == 0) {
        world_open(&world);
        define_agent(0, folder);
        world_start(&world, 0, 0);
        world_run_until(&world, &world.started, 1, 5000);
        const char *line = world_read_line(&world, 0);
        ck_assert_int_gt(write(fds[1], line, strlen(line)), 0);
        pause();
    }
    ck_assert_int_gt(read(fds[0], text, sizeof(text) - 1), 0);
    ck_assert_int_eq(sscanf(text, "%d %d", &rank, &orphan), 2);
    kill(daemon, SIGKILL);
    ck_assert(gone_within(rank, 2000) && gone_within(orphan, 2000));
    ck_assert(missing_within(folder, 2000));
    ck_assert(gone_within(daemon, 2000));
}
END_TEST

enum { FAKE_RANKS = 3 };

/* A daemon that starts ranks, tells their pids, and waits to be killed. */
static void fake_daemon(int out, const char *folder)
{
    pid_t pids[2 * FAKE_RANKS + 1];
    world_open(&world);
    pids[2 * FAKE_RANKS] = only_child();
    shepherd_guard(world.shepherd, folder);
    world_define_sh(&world, 0, PROC_RANK, with_daemon);
    for (uint32_t id = 0; id < FAKE_RANKS; id++) {
        world_start(&world, 0, id);
    }
    world_run_until(&world, &world.started, FAKE_RANKS, 5000);
    for (uint32_t id = 0; id < FAKE_RANKS; id++) {
        pids[2 * id] = world.procs[id].pid;
        pids[2 * id + 1] = atoi(world_read_line(&world, id));
    }
    ck_assert_int_eq(write(out, pids, sizeof(pids)), sizeof(pids));
    pause();
    _exit(1);
}

/* Forks one; the caller becomes the parent of all that it may leave behind. */
static pid_t start_fake(const char *folder, pid_t pids[2 * FAKE_RANKS + 1])
{
    int fds[2];
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    ck_assert_int_eq(pipe(fds), 0);
    pid_t daemon = fork();
    if (daemon == 0) {
        close(fds[0]);
        fake_daemon(fds[1], folder);
    }
    close(fds[1]);
    size_t size = (2 * FAKE_RANKS + 1) * sizeof(*pids);
    ck_assert_int_eq(read(fds[0], pids, size), (ssize_t) size);
    close(fds[0]);
    return daemon;
}

START_TEST(test_kill_9_of_the_daemon_leaves_nothing)
{
    pid_t pids[2 * FAKE_RANKS + 1];
    const char *folder = make_folder();
    pid_t daemon = start_fake(folder, pids);
    uint64_t begin = clock_us();
    kill(daemon, SIGKILL);
    ck_assert_int_eq(waitpid(daemon, NULL, 0), daemon);
    for (int i = 0; i < 2 * FAKE_RANKS + 1; i++) {
        ck_assert_int_gt(pids[i], 1);
        ck_assert_msg(gone_within(pids[i], 2000), "process %d (%d) is left", i, pids[i]);
    }
    ck_assert(missing_within(folder, 0));
    ck_assert_uint_lt(clock_us() - begin, 2000000);
}
END_TEST

/* Both at once: the ranks die with their parent; what left them behind has only the reaper above.
 */
START_TEST(test_kill_9_of_both_ends_the_ranks)
{
    pid_t pids[2 * FAKE_RANKS + 1];
    char *folder = make_folder();
    pid_t daemon = start_fake(folder, pids);
    kill(pids[2 * FAKE_RANKS], SIGSTOP); /* so that it cannot act between the two */
    kill(daemon, SIGKILL);
    kill(pids[2 * FAKE_RANKS], SIGKILL);
    ck_assert_int_eq(waitpid(daemon, NULL, 0), daemon);
    for (int i = 0; i < FAKE_RANKS; i++) {
        ck_assert(gone_within(pids[2 * i], 2000));
    }
    uint64_t now = clock_us();
    ck_assert(sweep_until(NULL, 0, now, now + 2000000)); /* as the next subreaper may */
    for (int i = 0; i < FAKE_RANKS; i++) {
        ck_assert(gone_within(pids[2 * i + 1], 0));
    }
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* On a busy machine many take longer than the limit, but some end all the time. */
START_TEST(test_each_end_puts_the_limit_off)
{
    for (unsigned i = 1; i <= 3; i++) {
        if (fork() == 0) {
            usleep(i * 500000);
            _exit(0);
        }
    }
    uint64_t now = clock_us();
    ck_assert(sweep_until(NULL, 0, UINT64_MAX, now + 1000000));
    ck_assert_uint_ge(clock_us() - now, 1400000);
}
END_TEST

START_TEST(test_kill_9_of_the_shepherd_leaves_nothing)
{
    const char *folder = make_folder();
    pid_t daemons[2];
    pid_t stranger = fork(); /* a child that the daemon had before */
    if (stranger == 0) {
        pause();
        _exit(0);
    }
    world_open(&world);
    pid_t children[4];
    ck_assert_uint_eq(sweep_children(children, 4), 2);
    pid_t shepherd = children[0] == stranger ? children[1] : children[0];
    shepherd_guard(world.shepherd, folder);
    world_define_sh(&world, 0, PROC_RANK, with_daemon);
    world_start(&world, 0, 0);
    world_start(&world, 0, 1);
    world_run_until(&world, &world.started, 2, 5000);
    for (uint32_t id = 0; id < 2; id++) {
        daemons[id] = atoi(world_read_line(&world, id));
    }
    uint64_t begin = clock_us();
    kill(shepherd, SIGKILL);
    while (!world.lost) {
        ck_assert_uint_lt(clock_us() - begin, 1000000);
        loop_poll(world.loop);
    }
    shepherd_reap_orphans(world.shepherd);
    ck_assert_uint_lt(clock_us() - begin, 2000000);
    for (uint32_t id = 0; id < 2; id++) {
        ck_assert(gone_within(world.procs[id].pid, 0));
        ck_assert(gone_within(daemons[id], 0));
    }
    ck_assert(missing_within(folder, 0));
    ck_assert_int_eq(kill(stranger, 0), 0);
    folder = make_folder(); /* by what was under way when the shepherd was lost */
    shepherd_guard(world.shepherd, folder);
    world_close(&world);
    ck_assert(missing_within(folder, 0));
    kill(stranger, SIGKILL);
    ck_assert_int_eq(waitpid(stranger, NULL, 0), stranger);
}
END_TEST

START_TEST(test_end_does_not_wait_for_a_stopped_shepherd_for_ever)
{
    const char *folder = make_folder();
    world_open(&world);
    pid_t shepherd = only_child();
    shepherd_guard(world.shepherd, folder);
    world_define_sh(&world, 0, PROC_RANK, with_daemon);
    world_start(&world, 0, 0);
    world_run_until(&world, &world.started, 1, 5000);
    pid_t daemon = atoi(world_read_line(&world, 0));
    kill(shepherd, SIGSTOP);
    uint64_t begin = clock_us();
    world_close(&world);
    ck_assert_uint_lt(clock_us() - begin, 4000000);
    ck_assert(gone_within(shepherd, 0) && gone_within(daemon, 0));
    ck_assert(missing_within(folder, 0));
}
END_TEST

START_TEST(test_ending_nothing_is_quick)
{
    shepherd_end(NULL);
    uint64_t begin = clock_us();
    struct shepherd *shepherd;
    ck_assert_int_eq(shepherd_start(&shepherd), 0);
    shepherd_end(shepherd); /* never attached */
    ck_assert_uint_lt(clock_us() - begin, 500000);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--agent") == 0) {
        return agent_main(argv[2]);
    }
    return unit_run("shepherd-end", 0);
}
