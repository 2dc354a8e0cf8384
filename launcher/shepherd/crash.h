/* How a process stops at the signal that is about to end it, so that a debugger can look at it: the
 * module CRASH_MODULE, which it loads by LD_PRELOAD (crash.c), has it traced by its parent, the
 * shepherd, which is named by CRASH_ENV, and queues the signal with CRASH_VALUE; the shepherd sees
 * that, and leaves it stopped. */
#ifndef LAUNCHER_SHEPHERD_CRASH_H
#define LAUNCHER_SHEPHERD_CRASH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define CRASH_MODULE "keel-crash.so"
#define CRASH_ENV "KEEL_STACK_TRACES" /* the shepherd's pid */
#define CRASH_FUNCTION "keel_crash"   /* the module's, between the signal and the stop */

static const int crash_signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
enum { CRASH_VALUE = 0x4b65656c };
enum { CRASH_SIGNALS = sizeof(crash_signals) / sizeof(*crash_signals) };

static inline bool crash_has(int number)
{
    size_t i = 0;
    while (i < CRASH_SIGNALS && crash_signals[i] != number) {
        i++;
    }
    return i < CRASH_SIGNALS;
}

#endif
