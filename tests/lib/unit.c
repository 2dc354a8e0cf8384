#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

/* A limit is for what hangs: a busy machine is not a failure, and the sanitizers cost a factor. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT_S "120"
#else
#define LIMIT_S "30"
#endif

static void set_limit(void)
{
    if (!getenv("CK_DEFAULT_TIMEOUT")) {
        setenv("CK_DEFAULT_TIMEOUT", LIMIT_S, 1);
    }
}

long unit_resident_bytes(void)
{
    long kilobytes = -1;
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    ck_assert_ptr_nonnull(file);
    while (kilobytes < 0 && fgets(line, sizeof(line), file)) {
        (void) !sscanf(line, "Anonymous: %ld kB", &kilobytes);
    }
    fclose(file);
    ck_assert_int_ge(kilobytes, 0);
    return kilobytes * 1024;
}

static int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Named by the linker. Weak: some programs have no case. */
extern const struct unit_case *const __start_unit_cases[] __attribute__((weak));
extern const struct unit_case *const __stop_unit_cases[] __attribute__((weak));

static int by_place(const void *one, const void *other)
{
    const TTest *a = (*(const struct unit_case *const *) one)->test;
    const TTest *b = (*(const struct unit_case *const *) other)->test;
    int files = strcmp(a->file, b->file);
    return files != 0 ? files : a->line - b->line;
}

int unit_run(const char *title, int limit_s)
{
    size_t count = (size_t) (__stop_unit_cases - __start_unit_cases);
    const struct unit_case **cases = calloc(count, sizeof(*cases));
    if (!cases) {
        return EXIT_FAILURE;
    }
    Suite *suite = suite_create(title);
    memcpy(cases, __start_unit_cases, count * sizeof(*cases));
    qsort(cases, count, sizeof(*cases), by_place);
    set_limit();
    for (size_t i = 0; i < count; i++) {
        TCase *tcase = tcase_create(cases[i]->test->name);
        if (limit_s > 0) {
            tcase_set_timeout(tcase, limit_s);
        }
        tcase_add_loop_test(tcase, cases[i]->test, cases[i]->first, cases[i]->end);
        suite_add_tcase(suite, tcase);
    }
    free(cases);
    return run_suite(suite);
}

int unit_skip(const char *reason)
{
    printf("1..0 # SKIP %s\n", reason);
    return EXIT_SUCCESS;
}
