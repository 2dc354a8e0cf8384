#include <stdlib.h>
#include <tests/lib/unit.h>

void unit_limit(void)
{
    if (!getenv("CK_DEFAULT_TIMEOUT")) {
        setenv("CK_DEFAULT_TIMEOUT", "10", 1);
    }
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
