/* What the ranks of a test's job check: the first thing that is not so ends the job. */
#ifndef TESTS_SYSTEM_MUST_H
#define TESTS_SYSTEM_MUST_H

#include <keel/keel.h>

#define must(condition)                                                         \
    do {                                                                        \
        if (!(condition)) {                                                     \
            keel_abort(3, "%s:%d: not so: %s", __FILE__, __LINE__, #condition); \
        }                                                                       \
    } while (0)

#endif
