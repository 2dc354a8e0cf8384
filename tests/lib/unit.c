#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/unit.h>

/* A limit is for what hangs: a busy machine is not a failure, and the sanitizers cost a factor. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT_S "120"
#else
#define LIMIT_S "30"
#endif

void unit_limit(void)
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

int unit_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int unit_skip(const char *reason)
{
    printf("1..0 # SKIP %s\n", reason);
    return EXIT_SUCCESS;
}
