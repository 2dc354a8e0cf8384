/* Daemons of other jobs: which of them is in reserve, and which ones end. The shepherd is the test.
 */
#include <config.h>

#include <errno.h>
#include <launcher/node/daemon.h>
#include <launcher/node/hosted.h>
#include <launcher/node/orders/hosting.h>
#include <signal.h>
#include <sys/socket.h>
#include <tests/lib/unit.h>
#include <unistd.h>
#include <wireup/proto.h>

enum { WAIT_MS = 20000, STEP_MS = 10 };

/* A process that the shepherd was told to start. */
struct forked {
    uint32_t id;
    int line; /* its end; -1: it has not come up */
};

static struct daemon daemon_;
static struct forked forks[8];
static unsigned forked, ended; /* ended: reports that one serves its job no more */
static uint32_t signalled;     /* who got the last signal, and which */
static int last_signal;

void shepherd_define_app(struct shepherd *shepherd, uint32_t app, const struct start_app *spec)
{
    (void) shepherd;
    (void) app;
    ck_assert(spec->socket);
}

void shepherd_start_proc(struct shepherd *shepherd, uint32_t app, const struct start_proc *proc)
{
    (void) shepherd;
    (void) app;
    ck_assert_uint_lt(forked, sizeof(forks) / sizeof(*forks));
    forks[forked++] = (struct forked){proc->id, -1};
}

void shepherd_signal(struct shepherd *shepherd, uint32_t id, int signal)
{
    (void) shepherd;
    signalled = id;
    last_signal = signal;
}

void daemon_report(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint8_t report = 0;
    (void) daemon;
    ck_assert_int_eq(proto_unpack(buffer, "c", &report), OPAL_SUCCESS);
    ended += report == REPORT_UNHOSTED;
    OBJ_RELEASE(buffer);
}

static void stop(struct loop_timer *timer)
{
    loop_stop(timer->loop);
}

static void run_a_while(void)
{
    struct loop_timer timer;
    loop_timer_init(&timer, daemon_.loop, stop);
    loop_timer_start(&timer, STEP_MS * 1000u);
    loop_run(daemon_.loop);
}

static void run_until(const unsigned *count, unsigned wanted)
{
    for (int ms = 0; *count < wanted; ms += STEP_MS) {
        ck_assert_int_lt(ms, WAIT_MS);
        run_a_while();
    }
    ck_assert_uint_eq(*count, wanted);
}

static void open_node(void)
{
    forked = ended = 0;
    last_signal = 0;
    daemon_ = (struct daemon){0};
    ck_assert_int_eq(loop_create(&daemon_.loop), ORTE_SUCCESS);
}

static void close_node(void)
{
    hosted_destroy(&daemon_);
    loop_destroy(daemon_.loop);
    for (unsigned i = 0; i < forked; i++) {
        close(forks[i].line);
    }
}

static void come_up(struct forked *one)
{
    int pair[2], errors[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(pipe(errors), 0);
    close(errors[1]);
    one->line = pair[1];
    ck_assert(hosted_started(&daemon_, one->id, pair[0], errors[0]));
}

static void order_job(uint64_t job)
{
    opal_buffer_t *order = proto_new_bare("qu", job, 1u);
    ck_assert_int_eq(proto_pack(order, "s", "what it is told"), ORTE_SUCCESS);
    ck_assert_int_eq(hosted_start(&daemon_, order), ORTE_SUCCESS);
    OBJ_RELEASE(order);
}

/* What it was told since it was looked at: > 0, nothing: -1, to end: 0. */
static ssize_t told(const struct forked *one)
{
    char text[64];
    ssize_t got = read(one->line, text, sizeof(text));
    ck_assert(got >= 0 || errno == EAGAIN);
    return got;
}

static void finish_job(const struct forked *one)
{
    unsigned before = ended;
    ck_assert_int_gt(told(one), 0);
    ck_assert_int_eq(write(one->line, "", 1), 1);
    run_until(&ended, before + 1);
}

START_TEST(test_one_daemon_serves_one_job_after_another)
{
    open_node();
    order_job(1);
    come_up(&forks[0]);
    finish_job(&forks[0]);
    order_job(2);
    finish_job(&forks[0]);
    ck_assert_uint_eq(forked, 1);
    close_node();
}
END_TEST

START_TEST(test_there_is_one_in_reserve_beside_a_job_that_runs_on)
{
    open_node();
    order_job(1);
    come_up(&forks[0]);
    run_until(&forked, 2);
    come_up(&forks[1]);
    order_job(2);
    ck_assert_int_gt(told(&forks[0]), 0);
    ck_assert_int_gt(told(&forks[1]), 0);
    close_node();
}
END_TEST

START_TEST(test_of_two_in_reserve_the_new_one_ends)
{
    open_node();
    order_job(1);
    come_up(&forks[0]);
    run_until(&forked, 2);
    come_up(&forks[1]);
    finish_job(&forks[0]);
    ck_assert_int_eq(told(&forks[1]), 0);
    ck_assert_int_eq(told(&forks[0]), -1);
    close_node();
}
END_TEST

/* The fork of the new one takes longer than the job. */
START_TEST(test_one_that_comes_up_when_it_is_not_wanted_any_more_ends)
{
    open_node();
    order_job(1);
    come_up(&forks[0]);
    run_until(&forked, 2);
    finish_job(&forks[0]);
    come_up(&forks[1]);
    ck_assert_int_eq(told(&forks[1]), 0);
    order_job(2);
    ck_assert_int_gt(told(&forks[0]), 0);
    close_node();
}
END_TEST

START_TEST(test_a_job_is_told_to_one_that_comes_up_late)
{
    open_node();
    order_job(1);
    ck_assert_uint_eq(forked, 1);
    run_until(&forked, 2);
    come_up(&forks[0]);
    ck_assert_int_gt(told(&forks[0]), 0);
    close_node();
}
END_TEST

static void end_job(uint64_t job)
{
    opal_buffer_t *order = proto_new_bare("q", job);
    ck_assert_int_eq(hosted_over(&daemon_, order), ORTE_SUCCESS);
    OBJ_RELEASE(order);
}

START_TEST(test_one_that_is_to_end_gets_SIGTERM_and_is_not_used_again)
{
    open_node();
    order_job(1);
    come_up(&forks[0]);
    end_job(2);
    ck_assert_int_eq(last_signal, 0);
    end_job(1);
    ck_assert_int_eq(last_signal, SIGTERM);
    ck_assert_uint_eq(signalled, forks[0].id);
    ck_assert_int_gt(told(&forks[0]), 0);
    ck_assert_int_eq(write(forks[0].line, "", 1), 1); /* it has ended its part just now */
    for (int ms = 0; told(&forks[0]) != 0; ms += STEP_MS) {
        ck_assert_int_lt(ms, WAIT_MS);
        run_a_while();
    }
    ck_assert_uint_eq(ended, 0);
    ck_assert(hosted_exited(&daemon_, forks[0].id, SIGTERM));
    ck_assert_uint_eq(ended, 1);
    close_node();
}
END_TEST

START_TEST(test_one_that_ignores_SIGTERM_is_killed)
{
    open_node();
    order_job(1);
    come_up(&forks[0]);
    end_job(1);
    for (int ms = 0; last_signal != SIGKILL; ms += STEP_MS) {
        ck_assert_int_lt(ms, WAIT_MS);
        run_a_while();
    }
    close_node();
}
END_TEST

START_TEST(test_an_end_that_comes_late_does_not_touch_the_next_job)
{
    open_node();
    order_job(1);
    come_up(&forks[0]);
    finish_job(&forks[0]);
    order_job(2);
    end_job(1);
    ck_assert_int_eq(last_signal, 0);
    close_node();
}
END_TEST

UNIT_MAIN("hosted")
