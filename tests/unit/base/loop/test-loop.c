#include <config.h>

#include <base/data/clock.h>
#include <base/loop/loop.h>
#include <base/net/sock.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <tests/lib/unit.h>
#include <time.h>
#include <unistd.h>

static struct loop *loop;

static void make_loop(void)
{
    ck_assert_int_eq(loop_create(&loop), ORTE_SUCCESS);
}

/* ---- tasks ---- */

static char order[64];
static unsigned ran;

struct letter {
    struct loop_task task;
    char letter;
};

static void note_letter(struct loop_task *task)
{
    order[ran++] = container_of(task, struct letter, task)->letter;
}

static void stop(struct loop_task *task)
{
    (void) task;
    loop_stop(loop);
}

START_TEST(tasks_run_in_order)
{
    struct letter letters[5] = {{{.run = note_letter}, 'a'},
                                {{.run = note_letter}, 'b'},
                                {{.run = note_letter}, 'c'},
                                {{.run = note_letter}, 'd'},
                                {{.run = note_letter}, 'e'}};
    struct loop_task end = {.run = stop};
    make_loop();
    for (int i = 0; i < 5; i++) {
        loop_post(loop, &letters[i].task);
    }
    loop_post(loop, &letters[0].task); /* still waiting: a no-op */
    ck_assert(loop_cancel(loop, &letters[2].task));
    ck_assert(!loop_cancel(loop, &letters[2].task));
    loop_post(loop, &end);
    loop_run(loop);
    ck_assert_str_eq(order, "abde");
    ck_assert(!loop_cancel(loop, &letters[0].task));
    loop_destroy(loop);
}
END_TEST

static void post_inside(struct loop_task *task)
{
    static struct letter inner = {{.run = note_letter}, 'i'};
    (void) task;
    ck_assert(loop_is_calling(loop));
    ck_assert(!loop_post_quietly(loop, &inner.task)); /* it looks before it sleeps */
}

START_TEST(a_quiet_post_says_whether_to_wake)
{
    struct letter letter = {{.run = note_letter}, 'a'}, other = {{.run = note_letter}, 'b'};
    struct loop_task inside = {.run = post_inside}, end = {.run = stop};
    make_loop();
    ck_assert(!loop_is_calling(loop));
    ck_assert(loop_post_quietly(loop, &letter.task));
    ck_assert(!loop_post_quietly(loop, &other.task)); /* the first one does */
    loop_wake(loop);
    loop_poll(loop);
    ck_assert_str_eq(order, "ab");
    ck_assert(loop_post_quietly(loop, &inside));
    loop_wake(loop);
    loop_poll(loop);
    ck_assert_str_eq(order, "abi");
    loop_post(loop, &end);
    loop_run(loop);
    ck_assert(!loop_is_calling(loop));
    loop_destroy(loop);
}
END_TEST

static struct letter second = {{.run = note_letter}, '2'};

static void cancel_second(struct loop_task *task)
{
    (void) task;
    ck_assert(loop_cancel(loop, &second.task));
    order[ran++] = '1';
}

START_TEST(a_task_cancels_one_of_its_batch)
{
    struct loop_task first = {.run = cancel_second}, end = {.run = stop};
    make_loop();
    loop_post(loop, &first);
    loop_post(loop, &second.task);
    loop_post(loop, &end);
    loop_run(loop);
    ck_assert_str_eq(order, "1");
    loop_post(loop, &second.task); /* and it can be posted again */
    loop_post(loop, &end);
    loop_run(loop);
    ck_assert_str_eq(order, "12");
    loop_destroy(loop);
}
END_TEST

static void free_self(struct loop_task *task)
{
    ran++;
    free(task);
}

START_TEST(a_task_frees_itself)
{
    make_loop();
    for (int i = 0; i < 10; i++) {
        struct loop_task *task = calloc(1, sizeof(*task));
        task->run = free_self;
        loop_post(loop, task);
    }
    loop_poll(loop);
    ck_assert_uint_eq(ran, 10);
    loop_destroy(loop);
}
END_TEST

static void post_again(struct loop_task *task)
{
    ran++;
    loop_post(loop, task);
}

static void stop_loop(struct loop_timer *timer)
{
    loop_stop(timer->loop);
}

START_TEST(a_task_that_posts_itself_starves_nobody)
{
    struct loop_task task = {.run = post_again};
    struct loop_timer timer;
    make_loop();
    loop_timer_init(&timer, loop, stop_loop);
    loop_timer_start(&timer, 20000);
    loop_post(loop, &task);
    loop_run(loop);
    ck_assert_uint_gt(ran, 10);
    ck_assert(loop_cancel(loop, &task));
    loop_destroy(loop);
}
END_TEST

START_TEST(stop_leaves_the_rest_posted)
{
    struct loop_task end = {.run = stop};
    struct letter later = {{.run = note_letter}, 'x'};
    make_loop();
    loop_post(loop, &end);
    loop_post(loop, &later.task);
    loop_run(loop);
    ck_assert_uint_eq(ran, 0);
    loop_poll(loop);
    ck_assert_str_eq(order, "x");
    loop_destroy(loop);
}
END_TEST

/* ---- threads ---- */

enum { POSTERS = 4, POSTS = 2000 };

struct posted {
    struct loop_task task;
    int thread, number;
};
static int expected[POSTERS]; /* loop's thread only */
static atomic_int done_count;
static sem_t done;

static void check_order(struct loop_task *task)
{
    struct posted *posted = container_of(task, struct posted, task);
    ck_assert_int_eq(posted->number, expected[posted->thread]++);
    ck_assert(loop_is_current(loop));
    free(posted);
    if (atomic_fetch_add(&done_count, 1) + 1 == POSTERS * POSTS) {
        sem_post(&done);
    }
}

static void *post_many(void *arg)
{
    for (int i = 0; i < POSTS; i++) {
        struct posted *posted = calloc(1, sizeof(*posted));
        *posted = (struct posted){{.run = check_order}, (int) (intptr_t) arg, i};
        loop_post(loop, &posted->task);
    }
    return NULL;
}

static void wait_done(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 8;
    ck_assert_int_eq(sem_timedwait(&done, &end), 0);
}

START_TEST(four_threads_post)
{
    pthread_t threads[POSTERS];
    make_loop();
    sem_init(&done, 0, 0);
    ck_assert(loop_is_current(loop));
    ck_assert_int_eq(loop_start_thread(loop), ORTE_SUCCESS);
    ck_assert(!loop_is_current(loop));
    for (intptr_t i = 0; i < POSTERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, post_many, (void *) i), 0);
    }
    wait_done();
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(threads[i], NULL);
    }
    loop_stop(loop);
    ck_assert(loop_is_current(loop));
    ck_assert_int_eq(atomic_load(&done_count), POSTERS * POSTS);
    loop_destroy(loop);
}
END_TEST

/* Each round trip finds the loop asleep or about to sleep: a lost wake-up would hang. */
static void answer(struct loop_task *task)
{
    (void) task;
    sem_post(&done);
}

START_TEST(no_wakeup_is_lost)
{
    struct loop_task task = {.run = answer};
    make_loop();
    sem_init(&done, 0, 0);
    ck_assert_int_eq(loop_start_thread(loop), ORTE_SUCCESS);
    for (int i = 0; i < 5000; i++) {
        loop_post(loop, &task);
        wait_done();
    }
    loop_destroy(loop); /* stops and joins */
}
END_TEST

static sigset_t thread_mask;

static void read_mask(struct loop_task *task)
{
    (void) task;
    pthread_sigmask(SIG_BLOCK, NULL, &thread_mask);
    sem_post(&done);
}

START_TEST(the_thread_blocks_signals)
{
    struct loop_task task = {.run = read_mask};
    sigset_t own;
    make_loop();
    sem_init(&done, 0, 0);
    ck_assert_int_eq(loop_start_thread(loop), ORTE_SUCCESS);
    pthread_sigmask(SIG_BLOCK, NULL, &own);
    ck_assert_int_eq(sigismember(&own, SIGINT), 0);
    loop_post(loop, &task);
    wait_done();
    ck_assert_int_eq(sigismember(&thread_mask, SIGINT), 1);
    ck_assert_int_eq(sigismember(&thread_mask, SIGCHLD), 1);
    loop_destroy(loop);
}
END_TEST

static void *stop_from_thread(void *arg)
{
    loop_stop(arg);
    return NULL;
}

START_TEST(another_thread_stops_run)
{
    pthread_t thread;
    make_loop();
    ck_assert_int_eq(pthread_create(&thread, NULL, stop_from_thread, loop), 0);
    loop_run(loop);
    pthread_join(thread, NULL);
    loop_destroy(loop);
}
END_TEST

START_TEST(a_thread_stops_itself_and_is_joined)
{
    struct loop_task end = {.run = stop};
    make_loop();
    ck_assert_int_eq(loop_start_thread(loop), ORTE_SUCCESS);
    loop_post(loop, &end);
    loop_destroy(loop);
    loop_destroy(NULL);
}
END_TEST

/* ---- timers ---- */

struct timed {
    struct loop_timer timer;
    char letter;
    bool last;
};

static void note_timer(struct loop_timer *timer)
{
    struct timed *timed = container_of(timer, struct timed, timer);
    ck_assert(!timer->started);
    order[ran++] = timed->letter;
    if (timed->last) {
        loop_stop(timer->loop);
    }
}

START_TEST(timers_fire_in_order)
{
    struct timed a = {.letter = 'a'}, b = {.letter = 'b'}, c = {.letter = 'c'}, d = {.letter = 'd'};
    d.last = true;
    make_loop();
    loop_timer_init(&a.timer, loop, note_timer);
    loop_timer_init(&b.timer, loop, note_timer);
    loop_timer_init(&c.timer, loop, note_timer);
    loop_timer_init(&d.timer, loop, note_timer);
    uint64_t begin = clock_us();
    loop_timer_start(&d.timer, 100000);
    loop_timer_start(&c.timer, 60000);
    loop_timer_start(&b.timer, 5000);
    loop_timer_start(&a.timer, 30000);
    loop_timer_start(&b.timer, 80000); /* moved */
    loop_timer_stop(&c.timer);
    loop_timer_stop(&c.timer);
    ck_assert(a.timer.started && !c.timer.started);
    loop_run(loop);
    ck_assert_str_eq(order, "abd");
    uint64_t took = clock_us() - begin;
    ck_assert_uint_ge(took, 90000);
    ck_assert_uint_lt(took, 5000000);
    loop_destroy(loop);
}
END_TEST

START_TEST(a_timer_far_away_does_not_overflow)
{
    struct timed far = {.letter = 'f'};
    make_loop();
    loop_timer_init(&far.timer, loop, note_timer);
    loop_timer_start(&far.timer, UINT64_MAX);
    loop_poll(loop);
    ck_assert_uint_eq(ran, 0);
    loop_timer_stop(&far.timer);
    loop_destroy(loop);
}
END_TEST

/* ---- descriptors ---- */

struct watched {
    struct loop_io io;
    unsigned reads, writes;
};

static void count_ready(struct loop_io *io, short events)
{
    struct watched *watched = container_of(io, struct watched, io);
    char byte;
    if (events & EV_READ) {
        watched->reads++;
        ck_assert_int_eq(read(io->fd, &byte, 1), 1);
    }
    if (events & EV_WRITE) {
        watched->writes++;
    }
}

START_TEST(descriptors_are_watched)
{
    struct watched watched = {.reads = 0};
    int fds[2];
    make_loop();
    ck_assert_int_eq(fd_socketpair(fds, SOCK_STREAM | SOCK_NONBLOCK), 0);
    loop_io_init(&watched.io, loop, fds[0], count_ready);
    ck_assert_int_eq(watched.io.events, 0);
    loop_io_watch(&watched.io, EV_READ);
    loop_poll(loop);
    ck_assert_uint_eq(watched.reads, 0);
    ck_assert_int_eq(write(fds[1], "abc", 3), 3);
    loop_poll(loop);
    loop_poll(loop); /* persistent */
    ck_assert_uint_eq(watched.reads, 2);
    ck_assert_uint_eq(watched.writes, 0);
    loop_io_watch(&watched.io, EV_READ | EV_WRITE);
    loop_poll(loop);
    ck_assert_uint_eq(watched.reads, 3);
    ck_assert_uint_eq(watched.writes, 1);
    loop_io_watch(&watched.io, EV_READ);
    loop_poll(loop);
    ck_assert_uint_eq(watched.writes, 1);
    loop_io_watch(&watched.io, 0);
    ck_assert_int_eq(write(fds[1], "d", 1), 1);
    loop_poll(loop);
    ck_assert_uint_eq(watched.reads, 3);
    fd_close(&fds[0]);
    fd_close(&fds[1]);
    loop_destroy(loop);
}
END_TEST

static void close_and_free(struct loop_io *io, short events)
{
    (void) events;
    int fd = io->fd;
    loop_io_watch(io, 0);
    close(fd);
    free(io);
    ran++;
    loop_stop(loop);
}

START_TEST(a_watcher_frees_itself)
{
    int fds[2];
    make_loop();
    ck_assert_int_eq(fd_socketpair(fds, SOCK_STREAM), 0);
    struct loop_io *io = calloc(1, sizeof(*io));
    loop_io_init(io, loop, fds[0], close_and_free);
    loop_io_watch(io, EV_READ);
    fd_close(&fds[1]); /* an end of file is readable */
    loop_run(loop);
    ck_assert_uint_eq(ran, 1);
    loop_destroy(loop);
}
END_TEST

static void poll_inside(struct loop_task *task)
{
    (void) task;
    loop_poll(loop);
    ran++;
}

START_TEST(poll_inside_a_callback_is_a_no_op)
{
    struct loop_task task = {.run = poll_inside};
    struct letter inner = {{.run = note_letter}, 'i'};
    make_loop();
    loop_post(loop, &task);
    loop_post(loop, &inner.task);
    loop_poll(loop);
    ck_assert_uint_eq(ran, 2);
    ck_assert_int_eq(order[1], 'i');
    loop_destroy(loop);
}
END_TEST

/* Too few are an error, not the process's end. */
START_TEST(few_descriptors_are_left)
{
    enum { MAX = 64 };
    int taken[MAX], count = 0, made = 0;
    struct rlimit few = {MAX, MAX};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (count < MAX && (taken[count] = dup(2)) >= 0) {
        count++;
    }
    for (int left = 0; left < 8; left++) {
        struct loop *one = NULL;
        if (loop_create(&one) == ORTE_SUCCESS) {
            made++;
        }
        loop_destroy(one);
        close(taken[--count]);
    }
    ck_assert(made > 0 && made < 8);
    while (count > 0) {
        close(taken[--count]);
    }
}
END_TEST

UNIT_MAIN("loop")
