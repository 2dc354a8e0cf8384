/* Unit tests: a file defines its cases with START_TEST and one UNIT_MAIN. Output is TAP; every case
 * runs in its own process with a time limit (30 s, 120 s under AddressSanitizer, or
 * CK_DEFAULT_TIMEOUT). CK_RUN_CASE=test_a runs one. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <check.h>

void unit_limit(void); /* before the cases are made: they take the limit with them */
int unit_main(Suite *suite);
int unit_skip(const char *reason); /* what a main returns that runs no case */
/* This process's memory that is of no file, counted page by page; statm is off by dozens. */
long unit_resident_bytes(void);

/* UNIT_MAIN("dss", test_a, test_b, ...): a main that runs these cases. */
#define UNIT_MAIN(title, ...) UNIT_MAIN_UNLESS(title, NULL, __VA_ARGS__)

/* obstacle is an expression: why this machine cannot run them, so that they are skipped; or NULL.
 */
#define UNIT_MAIN_UNLESS(title, obstacle, ...)                          \
    int main(void)                                                      \
    {                                                                   \
        const TTest *const cases[] = {__VA_ARGS__};                     \
        const char *why_not = obstacle;                                 \
        if (why_not) {                                                  \
            return unit_skip(why_not);                                  \
        }                                                               \
        unit_limit();                                                   \
        Suite *suite = suite_create(title);                             \
        for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) { \
            TCase *tcase = tcase_create(cases[i]->name);                \
            tcase_add_test(tcase, cases[i]);                            \
            suite_add_tcase(suite, tcase);                              \
        }                                                               \
        return unit_main(suite);                                        \
    }

#endif
