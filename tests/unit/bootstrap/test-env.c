#include <config.h>

#include <base/settings/param.h>
#include <bootstrap/env.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

#define UUID "0123456789abcdef0123456789abcdef"

static struct self self;
static char reason[256];

static void set_all(void)
{
    unsetenv(ENV_PMIX_NSPACE);
    unsetenv(ENV_PMIX_RANK);
    setenv(ENV_DAEMON, "327680.1;unix:///nowhere", 1);
    setenv(ENV_JOB, UUID, 1);
    setenv(ENV_JOBID, "327681", 1);
    setenv(ENV_SIZE, "4", 1);
    setenv(ENV_RANK, "3", 1);
    setenv(ENV_NODE, "far", 1);
    setenv(ENV_SESSION_DIR, "/nowhere", 1);
    setenv(ENV_YIELD, "1", 1);
    setenv(ENV_HNP, "327680.0;unix:///first", 1);
    setenv(ENV_APP, "2", 1);
}

START_TEST(test_a_rank_knows_itself)
{
    set_all();
    ck_assert_msg(self_read(&self, reason, sizeof(reason)) == ORTE_SUCCESS, "%s", reason);
    ck_assert_int_eq(self.kind, SELF_NATIVE);
    ck_assert_str_eq(self.uuid, UUID);
    ck_assert_uint_eq(self.name.jobid, 327681);
    ck_assert_uint_eq(self.name.vpid, 3);
    ck_assert_uint_eq(self.size, 4);
    ck_assert_str_eq(self.daemon, "327680.1;unix:///nowhere");
    ck_assert_str_eq(self.node, "far");
    ck_assert_str_eq(self.session_dir, "/nowhere");
    ck_assert_str_eq(self.hnp, "327680.0;unix:///first");
    ck_assert_uint_eq(self.app, 2);
    ck_assert(self.yield);
}
END_TEST

START_TEST(test_alone_it_is_a_singleton)
{
    struct self other;
    set_all();
    unsetenv(ENV_DAEMON);
    ck_assert_int_eq(self_read(&self, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_int_eq(self.kind, SELF_SINGLETON);
    ck_assert_uint_eq(self.size, 1);
    ck_assert_uint_eq(self.name.vpid, 0);
    ck_assert_uint_eq(self.name.jobid & 0xffff, 1);
    ck_assert_uint_ne(self.name.jobid >> 16, 0);
    ck_assert_uint_ne(self.name.jobid >> 16, 0xffff);
    ck_assert_uint_eq(strlen(self.uuid), JOB_UUID_TEXT - 1);
    ck_assert_int_eq(self_read(&other, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_str_ne(self.uuid, other.uuid);
}
END_TEST

/* With one variable changed (NULL: not set), the reading fails, names it, and changes nothing. */
static void assert_refused(const char *name, const char *value)
{
    struct self before;
    set_all();
    if (value) {
        setenv(name, value, 1);
    } else {
        unsetenv(name);
    }
    memset(&self, 0x55, sizeof(self));
    before = self;
    reason[0] = 0;
    ck_assert_msg(self_read(&self, reason, sizeof(reason)) == ORTE_ERR_BAD_PARAM, "%s=%s", name,
                  value ? value : "(not set)");
    ck_assert_msg(strstr(reason, name), "'%s' does not name %s", reason, name);
    ck_assert(memcmp(&self, &before, sizeof(self)) == 0);
}

START_TEST(test_what_makes_no_sense_is_named)
{
    static const char *const numbers[] = {
        "", "abc", "-1", "1x", "0x1", "1e3", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        assert_refused(ENV_RANK, numbers[i]);
        assert_refused(ENV_SIZE, numbers[i]);
        assert_refused(ENV_JOBID, numbers[i]);
    }
    assert_refused(ENV_APP, "x");
    assert_refused(ENV_RANK, "4");
    assert_refused(ENV_SIZE, "1048577");
    assert_refused(ENV_JOBID, "4294967295");
    assert_refused(ENV_JOB, "");
    assert_refused(ENV_JOB, UUID "0");
    assert_refused(ENV_JOB, "0123456789abcdef0123456789abcdeg");
    assert_refused(ENV_RANK, NULL);
    assert_refused(ENV_SIZE, NULL);
    assert_refused(ENV_JOBID, NULL);
    assert_refused(ENV_JOB, NULL);
}
END_TEST

START_TEST(test_a_job_without_ranks_has_no_rank)
{
    set_all();
    setenv(ENV_SIZE, "0", 1);
    setenv(ENV_RANK, "0", 1);
    ck_assert_int_eq(self_read(&self, reason, sizeof(reason)), ORTE_ERR_BAD_PARAM);
}
END_TEST

static enum self_kind kind_with(const char *nspace)
{
    setenv(ENV_PMIX_NSPACE, nspace, 1);
    setenv(ENV_PMIX_RANK, "0", 1);
    ck_assert_msg(self_read(&self, reason, sizeof(reason)) == ORTE_SUCCESS, "%s", reason);
    return self.kind;
}

START_TEST(test_the_inner_launcher_counts)
{
    set_all();
    ck_assert_int_eq(kind_with("keel-" UUID), SELF_NATIVE); /* keelrun offers both */
    ck_assert_int_eq(kind_with("keel-" UUID ".1"), SELF_NATIVE);
    ck_assert_int_eq(kind_with("1174863873"), SELF_PMIX); /* it started another launcher */
    ck_assert_int_eq(kind_with("keel-ffffffffffffffffffffffffffffffff"), SELF_PMIX);
    unsetenv(ENV_DAEMON);
    unsetenv(ENV_JOB);
    ck_assert_int_eq(kind_with("keel-" UUID), SELF_PMIX);
    ck_assert_int_eq(kind_with("slurm.pmix.1.0"), SELF_PMIX);
    unsetenv(ENV_PMIX_RANK);
    ck_assert_int_eq(self_read(&self, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_int_eq(self.kind, SELF_SINGLETON);
}
END_TEST

START_TEST(test_a_singleton_when_asked)
{
    set_all();
    ck_assert_int_eq(param_override("bootstrap", "singleton"), ORTE_SUCCESS);
    ck_assert_int_eq(kind_with("slurm.pmix.1.0"), SELF_SINGLETON);
}
END_TEST

START_TEST(test_pmix_when_asked)
{
    set_all();
    ck_assert_int_eq(param_override("bootstrap", "pmix"), ORTE_SUCCESS);
    ck_assert_int_eq(kind_with("keel-" UUID), SELF_PMIX);
    unsetenv(ENV_PMIX_NSPACE);
    ck_assert_int_eq(self_read(&self, reason, sizeof(reason)), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, ENV_PMIX_NSPACE));
}
END_TEST

START_TEST(test_native_when_asked)
{
    set_all();
    ck_assert_int_eq(param_override("bootstrap", "native"), ORTE_SUCCESS);
    ck_assert_int_eq(kind_with("slurm.pmix.1.0"), SELF_NATIVE);
    unsetenv(ENV_DAEMON);
    ck_assert_int_eq(self_read(&self, reason, sizeof(reason)), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, ENV_DAEMON));
}
END_TEST

UNIT_MAIN("env")
