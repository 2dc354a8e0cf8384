/* What debuggers say of a process, as stacks: addresses and arguments go, and whatever is said is
 * bounded. */
#include <config.h>

#include <launcher/node/explain/stacks.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static struct stacks stacks;

static int parse(const char *text)
{
    return stacks_parse(&stacks, text, strlen(text));
}

START_TEST(test_threads_and_frames)
{
    int status = parse("[New LWP 7]\n"
                       "warning: #0 is not a frame\n"
                       "0x00007f0000001234 in pause () from /lib/libc.so.6\n"
                       "\n"
                       "Thread 2 (Thread 0x7f1 (LWP 7) \"keel-loop\"):\n"
                       "#0  0x00007f0000001234 in epoll_wait (...) from /lib/libc.so.6\n"
                       "#1  loop_run (...) at ../base/loop/loop.c:12\n"
                       "\n"
                       "Thread 1 (Thread 0x7f2 (LWP 6) \"member\"):\n"
                       "#0  0x00007f0000001234 in pause () from /lib/libc.so.6\n"
                       "#1  0x0000000000401000 in operator() (...)\n"
                       "#2  main (...) at member.c:30\n"
                       "[Inferior 1 (process 6) detached]\n");
    ck_assert_int_eq(status, ORTE_SUCCESS);
    ck_assert_uint_eq(stacks.count, 2);
    ck_assert(!stacks.list[0].main);
    ck_assert_str_eq(stacks.list[0].frames, "epoll_wait from /lib/libc.so.6\n"
                                            "loop_run at ../base/loop/loop.c:12\n");
    ck_assert(stacks.list[1].main);
    ck_assert_str_eq(stacks.list[1].frames, "pause from /lib/libc.so.6\n"
                                            "operator()\n"
                                            "main at member.c:30\n");
    stacks_fini(&stacks);
}
END_TEST

START_TEST(test_without_frames_there_is_no_stack)
{
    static const char refused[] = "Could not attach to process.\n"
                                  "ptrace: Operation not permitted.\n"
                                  "No stack.\n";
    char why[64];
    ck_assert_int_eq(parse(""), ORTE_ERR_NOT_FOUND);
    ck_assert_int_eq(parse(refused), ORTE_ERR_NOT_FOUND);
    ck_assert_int_eq(parse("Thread 1 (process 6):\n\nThread 2 (process 7):\n#"),
                     ORTE_ERR_NOT_FOUND);
    ck_assert_int_eq(parse("Thread 1 (process 6):\n\nThread 2 (process 7):\n#0 f"), ORTE_SUCCESS);
    ck_assert_uint_eq(stacks.count, 1);
    ck_assert(!stacks.list[0].main);
    stacks_fini(&stacks);
    stacks_why(why, sizeof(why), refused, strlen(refused));
    ck_assert_str_eq(why, "ptrace: Operation not permitted.");
    static const char eu_stack[] =
        "eu-stack: attach: Operation not permitted\neu-stack: no frames\n";
    stacks_why(why, sizeof(why), eu_stack, strlen(eu_stack));
    ck_assert_str_eq(why, "eu-stack: attach: Operation not permitted");
    stacks_why(why, sizeof(why), "first\nlast \033\n\n", 14);
    ck_assert_str_eq(why, "last ?");
    stacks_why(why, sizeof(why), "", 0);
    ck_assert_str_eq(why, "");
}
END_TEST

static void assert_forbidden(const char *said, int tracer, const char *scope, const char *wanted)
{
    char why[256];
    snprintf(why, sizeof(why), "%s", said);
    stacks_forbidden(why, sizeof(why), tracer, scope);
    ck_assert_str_eq(why, wanted);
}

START_TEST(test_a_refusal_has_the_kernels_reason)
{
    static const char refusal[] = "ptrace: Operation not permitted.";
    assert_forbidden(refusal, 0, "", refusal);
    assert_forbidden(refusal, 0, "0", refusal);
    assert_forbidden(refusal, 0, "4", refusal);
    assert_forbidden(refusal, 0, "12", refusal);
    assert_forbidden("No such process", 17, "2", "No such process");
    assert_forbidden(refusal, 17, "1", "ptrace is forbidden: process 17 traces it already");
    assert_forbidden(refusal, 0, "1",
                     "ptrace is forbidden: kernel.yama.ptrace_scope is 1: it does not let its "
                     "parent trace it (PR_SET_PTRACER)");
    assert_forbidden(refusal, 0, "2",
                     "ptrace is forbidden: kernel.yama.ptrace_scope is 2: only those with "
                     "CAP_SYS_PTRACE may trace");
    assert_forbidden("eu-stack: attach: Operation not permitted", 0, "3",
                     "ptrace is forbidden: kernel.yama.ptrace_scope is 3: nobody may trace until "
                     "the node is started anew");
}
END_TEST

START_TEST(test_eu_stack)
{
    int status = parse("PID 6 - process\n"
                       "TID 6:\n"
                       "#0  0x00007f41bce6cdd0 pause - /usr/lib/libc.so.6\n"
                       "    ../sysdeps/unix/sysv/linux/pause.c:29:10\n"
                       "#1  0x000055b6084121d4 main - /tmp/a\n"
                       "TID 7:\n"
                       "#0  0x00007f41bce6cdd0 operator - - /tmp/lib - b.so\n"
                       "#1  0x000055b608412091\n"
                       "    a.S:1\n"
                       "#2  0x000055b608412092 last\n");
    ck_assert_int_eq(status, ORTE_SUCCESS);
    ck_assert_uint_eq(stacks.count, 2);
    ck_assert(stacks.list[0].main && !stacks.list[1].main);
    ck_assert_str_eq(stacks.list[0].frames, "pause at ../sysdeps/unix/sysv/linux/pause.c:29\n"
                                            "main from /tmp/a\n");
    ck_assert_str_eq(stacks.list[1].frames, "operator - from /tmp/lib - b.so\n"
                                            "0x000055b608412091 at a.S:1\n"
                                            "last\n");
    stacks_fini(&stacks);
}
END_TEST

START_TEST(test_a_crash_begins_at_its_signal)
{
    int status = parse("Thread 2 (LWP 7):\n"
                       "#0  tgkill ()\n"
                       "#1  0x00007f0000001234 in keel_crash (...) from /lib/keel-crash.so\n"
                       "#2  <signal handler called>\n"
                       "#3  tumble (...) at crash.c:20\n"
                       "#4  <signal handler called>\n"
                       "#5  main ()\n"
                       "Thread 1 (LWP 6):\n"
                       "#0  <signal handler called>\n"
                       "#1  main (...)\n");
    ck_assert_int_eq(status, ORTE_SUCCESS);
    ck_assert(stacks.list[0].crashed && !stacks.list[1].crashed);
    ck_assert_str_eq(stacks.list[1].frames, "<signal handler called>\nmain\n");
    stacks_keep_crashed(&stacks);
    ck_assert_uint_eq(stacks.count, 1);
    ck_assert(stacks.list[0].main);
    ck_assert_str_eq(stacks.list[0].frames,
                     "tumble at crash.c:20\n<signal handler called>\nmain\n");
    stacks_fini(&stacks);
    status = parse("TID 6:\n#0 0x1 keel_crash\n#1 0x2 __restore_rt\n#2 0x3 f\nTID 7:\n#0 0x1 g\n");
    ck_assert_int_eq(status, ORTE_SUCCESS);
    stacks_keep_crashed(&stacks);
    ck_assert_uint_eq(stacks.count, 1);
    ck_assert_str_eq(stacks.list[0].frames, "f\n");
    stacks_fini(&stacks);
    ck_assert_int_eq(parse("Thread 1 (x):\n#0  f ()\nThread 2 (x):\n#0  g ()\n"), ORTE_SUCCESS);
    stacks_keep_crashed(&stacks);
    ck_assert_uint_eq(stacks.count, 2);
    stacks_fini(&stacks);
}
END_TEST

/* The text comes from a process that reads the rank's memory. */
START_TEST(test_any_text_is_bounded)
{
    enum { SIZE = 1 << 20 };
    char *all = malloc(SIZE);
    size_t used = 0;
    for (int thread = 0; thread < 2 * STACKS_MAX; thread++) {
        used += (size_t) snprintf(all + used, SIZE - used, "Thread %d (x):\n", thread);
        for (int frame = 0; frame < 2 * STACK_FRAMES_MAX; frame++) {
            used += (size_t) snprintf(all + used, SIZE - used, "#%d  f%0*d\033 (...)\n", frame,
                                      frame % 2 ? 100 : 1, frame);
        }
    }
    ck_assert_int_eq(stacks_parse(&stacks, all, used), ORTE_SUCCESS);
    ck_assert_uint_eq(stacks.count, STACKS_MAX);
    for (uint32_t i = 0; i < stacks.count; i++) {
        ck_assert_uint_le(strlen(stacks.list[i].frames), STACK_BYTES_MAX);
        ck_assert_ptr_null(strchr(stacks.list[i].frames, '\033'));
    }
    stacks_fini(&stacks);
    memset(all, 'x', SIZE);
    memcpy(all, "Thread 1 \n#0 ", 13);
    ck_assert_int_eq(stacks_parse(&stacks, all, SIZE), ORTE_SUCCESS);
    ck_assert_uint_lt(strlen(stacks.list[0].frames), STACK_FRAME_BYTES + 1);
    stacks_fini(&stacks);
    srand(1);
    for (int round = 0; round < 2000; round++) {
        static const char letters[] = "#0 1\nThread x(in) at from :\0\377TID  - /";
        for (int i = 0; i < 200; i++) {
            all[i] = letters[(size_t) rand() % (sizeof(letters) - 1)];
        }
        memcpy(all, "Thread 1 \n#", 11);
        if (stacks_parse(&stacks, all, 200) == ORTE_SUCCESS) {
            stacks_fini(&stacks);
        }
    }
    free(all);
}
END_TEST

UNIT_MAIN("stacks")
