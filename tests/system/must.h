/* What the ranks of a test's job check: the first thing that is not so ends the job. And the time,
 * as its script has it. */
#ifndef TESTS_SYSTEM_MUST_H
#define TESTS_SYSTEM_MUST_H

#include <keel/keel.h>
#include <time.h>

#define must(condition)                                                         \
    do {                                                                        \
        if (!(condition)) {                                                     \
            keel_abort(3, "%s:%d: not so: %s", __FILE__, __LINE__, #condition); \
        }                                                                       \
    } while (0)

static inline void must_succeed(int status, const char *what)
{
    if (status != OPAL_SUCCESS) {
        keel_abort(1, "%s: %s", what, opal_strerror(status));
    }
}

/* Since 1970. */
static inline uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

#endif
