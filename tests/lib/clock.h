/* Time for tests that wait: a program that has clock.c among its sources runs on a clock which
 * jumps over the time that nobody uses. While a thread works, the monotonic clock goes as the
 * kernel's does; when all threads of the process sleep, it goes on at once to the first time that
 * one of them waits for. What takes 5 s by the code's own deadlines takes some milliseconds, in the
 * same order.
 *
 * It stands in the place of the C library's clock_gettime and of the calls that wait for a time,
 * for the libraries of the program too (libevent). CLOCK_REALTIME stays: a test's own patience with
 * what hangs. Not for what waits for another process, for the kernel's own timers, or for much data on its
 * way through the kernel: there all threads sleep as well. */
#ifndef TESTS_LIB_CLOCK_H
#define TESTS_LIB_CLOCK_H

/* From here on this process and those it forks live in the kernel's time. */
void clock_keep_real(void);

#endif
