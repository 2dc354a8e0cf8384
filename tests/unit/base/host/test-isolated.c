#include <config.h>

#include <base/host/isolated.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { MEMORY = 64 << 20 };

static char reason[256];
static char *text;

static int run(int (*work)(FILE *, const void *), const void *arg)
{
    const struct isolated isolated = {.name = "the work",
                                      .work = work,
                                      .arg = arg,
                                      .memory_bytes = MEMORY,
                                      .cpu_s = 20,
                                      .time_s = 25,
                                      .text_max = 1000};
    return isolated_run(&isolated, &text, reason, sizeof(reason));
}

static void assert_fails(int status, int wanted, const char *why)
{
    ck_assert_int_eq(status, wanted);
    ck_assert_str_eq(reason, why);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
    ck_assert_int_eq(errno, ECHILD);
}

static int say(FILE *out, const void *arg)
{
    fputs(arg, out);
    return ORTE_SUCCESS;
}

START_TEST(what_is_written_comes_back)
{
    ck_assert_int_eq(run(say, "a\nb"), ORTE_SUCCESS);
    ck_assert_str_eq(text, "a\nb");
    free(text);
    ck_assert_int_eq(run(say, ""), ORTE_SUCCESS);
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

static int refuse(FILE *out, const void *arg)
{
    fputs(arg, out);
    return ORTE_ERR_NOT_AVAILABLE;
}

START_TEST(a_failure_has_its_status_and_reason)
{
    assert_fails(run(refuse, "there is none"), ORTE_ERR_NOT_AVAILABLE, "there is none");
}
END_TEST

static int crash(FILE *out, const void *arg)
{
    fputs("half", out);
    fflush(out);
    raise(*(const int *) arg);
    return ORTE_SUCCESS;
}

START_TEST(a_crash_is_an_error)
{
    static const int signals[] = {SIGSEGV, SIGABRT};
    assert_fails(run(crash, &signals[0]), ORTE_ERR_BAD_PARAM,
                 "the work was ended by signal 11 (Segmentation fault)");
    assert_fails(run(crash, &signals[1]), ORTE_ERR_BAD_PARAM,
                 "the work was ended by signal 6 (Aborted)");
}
END_TEST

static int leave(FILE *out, const void *arg)
{
    (void) out;
    _exit(*(const int *) arg);
}

START_TEST(an_exit_is_an_error)
{
    static const int code = 3;
    assert_fails(run(leave, &code), ORTE_ERR_BAD_PARAM, "the work ended with status 3");
}
END_TEST

static int write_much(FILE *out, const void *arg)
{
    for (int i = 0; i < *(const int *) arg; i++) {
        fputc('x', out);
    }
    return ORTE_SUCCESS;
}

START_TEST(too_much_text_is_an_error)
{
    static const int counts[] = {1000, 1001, 1 << 20};
    ck_assert_int_eq(run(write_much, &counts[0]), ORTE_SUCCESS);
    ck_assert_uint_eq(strlen(text), 1000);
    free(text);
    for (int i = 1; i < 3; i++) {
        assert_fails(run(write_much, &counts[i]), ORTE_ERR_BAD_PARAM,
                     "the work wrote more than 1000 bytes");
    }
}
END_TEST

static int sleep_on(FILE *out, const void *arg)
{
    fputs("half", out);
    fflush(out);
    while (*(const bool *) arg) {
        pause();
    }
    return ORTE_SUCCESS;
}

static int spin(FILE *out, const void *arg)
{
    (void) out;
    for (volatile int turns = 0; *(const bool *) arg;) {
        turns = !turns;
    }
    return ORTE_SUCCESS;
}

START_TEST(a_hang_is_an_error)
{
    static const bool yes = true;
    struct isolated isolated = {"the work", sleep_on, &yes, MEMORY, 1, 1, 1000};
    assert_fails(isolated_run(&isolated, &text, reason, sizeof(reason)), ORTE_ERR_BAD_PARAM,
                 "the work has not finished within 1 s");
    isolated.work = spin;
    isolated.time_s = 25;
    int status = isolated_run(&isolated, &text, reason, sizeof(reason));
    ck_assert_int_eq(status, ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "ended by signal")); /* SIGXCPU or, at once, SIGKILL */
}
END_TEST

/* A quarter of the memory at a time. */
static int take_memory(FILE *out, const void *arg)
{
    int count = 0;
    while (count < 8 && mmap(NULL, MEMORY / 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                             -1, 0) != MAP_FAILED) {
        count++;
    }
    (void) arg;
    fprintf(out, "%s", count < 1 ? "none" : count < 5 ? "bounded" : "all");
    return ORTE_SUCCESS;
}

START_TEST(memory_has_its_limit)
{
    ck_assert_int_eq(run(take_memory, NULL), ORTE_SUCCESS);
    ck_assert_str_eq(text, "bounded");
    free(text);
}
END_TEST

static void handle(int number)
{
    (void) number;
}

/* What the child has of its parent: descriptors, a handler and a mask. */
static int look(FILE *out, const void *arg)
{
    sigset_t mask;
    struct sigaction action;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    sigaction(SIGUSR1, NULL, &action);
    fprintf(out, "%d %d %d", fcntl(*(const int *) arg, F_GETFD), sigismember(&mask, SIGUSR2),
            action.sa_handler == SIG_DFL);
    return ORTE_SUCCESS;
}

START_TEST(the_child_has_nothing_of_its_parent)
{
    int fd = open("/dev/null", O_RDONLY);
    sigset_t mask, now;
    ck_assert_int_ge(fd, 3);
    signal(SIGUSR1, handle);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    ck_assert_int_eq(run(look, &fd), ORTE_SUCCESS);
    ck_assert_str_eq(text, "-1 0 1");
    free(text);
    sigprocmask(SIG_BLOCK, NULL, &now);
    ck_assert(sigismember(&now, SIGUSR2) && !sigismember(&now, SIGUSR1));
    ck_assert_int_eq(fcntl(fd, F_GETFD), 0);
    close(fd);
}
END_TEST

UNIT_MAIN("isolated")
