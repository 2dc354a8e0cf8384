/* What the machine lets a job have: the limit that is named is the one that is hit. */
#include <config.h>

#include <launcher/node/limits.h>
#include <string.h>
#include <sys/resource.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static char reason[256];

START_TEST(test_processes)
{
    ck_assert_int_eq(limits_processes(0, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_int_eq(limits_processes(1, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_int_eq(limits_processes(UINT64_MAX, reason, sizeof(reason)),
                     ORTE_ERR_OUT_OF_RESOURCE);
    ck_assert_ptr_nonnull(strstr(reason, "processes are too many: the limit is "));
    ck_assert_ptr_nonnull(strchr(reason, '('));
}
END_TEST

START_TEST(test_descriptors)
{
    struct rlimit limit = {.rlim_cur = 40, .rlim_max = 40};
    int lowest = dup(STDERR_FILENO);
    close(lowest);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    uint64_t most = (40 - 5 - (uint64_t) lowest) / 3;
    ck_assert_int_eq(limits_ranks(most, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_int_eq(limits_ranks(most + 1, reason, sizeof(reason)), ORTE_ERR_OUT_OF_RESOURCE);
    ck_assert_ptr_nonnull(strstr(reason, "and the limit is 40 (ulimit -n)"));
    most = 40 - 5 - (uint64_t) lowest;
    ck_assert_int_eq(limits_daemons(most, false, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_int_eq(limits_daemons(most + 1, false, reason, sizeof(reason)),
                     ORTE_ERR_OUT_OF_RESOURCE);
    ck_assert_ptr_nonnull(strstr(reason, " daemons need 41 open files "));
    ck_assert_int_eq(limits_daemons(most / 2, true, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_int_eq(limits_daemons(most / 2 + 1, true, reason, sizeof(reason)),
                     ORTE_ERR_OUT_OF_RESOURCE);
    int after = dup(STDERR_FILENO); /* nothing stays open */
    ck_assert_int_eq(after, lowest);
    while (dup(STDERR_FILENO) >= 0) {
    }
    ck_assert_int_eq(limits_ranks(1, reason, sizeof(reason)), ORTE_ERR_OUT_OF_RESOURCE);
    ck_assert_int_eq(limits_ranks(0, reason, sizeof(reason)), ORTE_SUCCESS);
    for (int fd = lowest; fd < 40; fd++) {
        close(fd);
    }
}
END_TEST

UNIT_MAIN("limits")
