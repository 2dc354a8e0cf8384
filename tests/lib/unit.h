/* Unit tests: a file defines its cases with START_TEST ... END_TEST, and ends with UNIT_MAIN, which
 * runs them all, in the order of the file. Output is TAP; every case runs in its own process with a
 * time limit (30 s, 120 s under AddressSanitizer, or CK_DEFAULT_TIMEOUT). CK_RUN_CASE=test_a runs
 * one. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <check.h>

/* The linker puts all cases of a program side by side. */
struct unit_case {
    const TTest *test;
    int first, end; /* it runs for each _i from first on, below end */
};
#undef START_TEST
#define START_TEST(name) UNIT_LOOP(name, 0, 1)
#define UNIT_LOOP(name, first_, end_)                                              \
    static void name##_case_run(int _i);                                           \
    static const TTest name##_test = {#name, name##_case_run, __FILE__, __LINE__}; \
    static const TTest *const name __attribute__((unused)) = &name##_test;         \
    static const struct unit_case name##_case = {&name##_test, first_, end_};      \
    static const struct unit_case *const name##_listed                             \
        __attribute__((section("unit_cases"), used)) = &name##_case;               \
    static void name##_case_run(int _i __attribute__((unused)))

/* A case that is one call: UNIT_CASE(many_frames_arrive, run(MANY_FRAMES)). */
#define UNIT_CASE(name, ...) \
    START_TEST(name)         \
    {                        \
        __VA_ARGS__;         \
    }                        \
    END_TEST

/* Runs all cases of the program; returns what main does. limit_s 0: the usual time limit. */
int unit_run(const char *title, int limit_s);
int unit_skip(const char *reason); /* what a main returns that runs no case */
/* This process's memory that is of no file, counted page by page; statm is off by dozens. */
long unit_resident_bytes(void);

/* A main that runs all cases. */
#define UNIT_MAIN(title, ...)      \
    int main(void)                 \
    {                              \
        return unit_run(title, 0); \
    }

/* obstacle is an expression: why this machine cannot run them, so that they are skipped; or NULL.
 */
#define UNIT_MAIN_UNLESS(title, obstacle)                         \
    int main(void)                                                \
    {                                                             \
        const char *why_not = obstacle;                           \
        return why_not ? unit_skip(why_not) : unit_run(title, 0); \
    }

/* An argument is how many schedules are run, SIM_COUNT; each case then has limit_s. */
#define UNIT_MAIN_COUNTED(title, limit_s)               \
    int main(int argc, char **argv)                     \
    {                                                   \
        if (argc > 1) {                                 \
            setenv("SIM_COUNT", argv[1], 1);            \
        }                                               \
        return unit_run(title, argc > 1 ? limit_s : 0); \
    }

#endif
