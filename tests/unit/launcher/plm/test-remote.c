/* How a daemon is called on another host. */
#include <config.h>

#include <base/data/strings.h>
#include <base/settings/param.h>
#include <launcher/plm/remote.h>
#include <stdio.h>
#include <string.h>
#include <tests/lib/unit.h>

/* The words, with a bar between them. */
static const char *program(const char *keeld, const char *launch_agent, const char *prefix)
{
    static char text[512];
    char **words = remote_program(keeld, launch_agent, prefix);
    text[0] = '\0';
    ck_assert_ptr_nonnull(words);
    for (char **word = words; *word; word++) {
        strcat(strcat(text, word == words ? "" : "|"), *word);
    }
    strings_free(words);
    return text;
}

START_TEST(test_the_same_place)
{
    ck_assert_str_eq(program("/opt/keel/bin/keeld", "", ""), "/opt/keel/bin/keeld");
    ck_assert_str_eq(program("/it's here/keeld", " ", ""), "'/it'\\''s here/keeld'");
}
END_TEST

START_TEST(test_another_prefix)
{
    ck_assert_str_eq(program("/opt/keel/bin/keeld", "", "/sw/keel"), "/sw/keel/bin/keeld");
    ck_assert_str_eq(program("/opt/keel/bin/keeld", "", "/my sw"), "'/my sw/bin/keeld'");
}
END_TEST

START_TEST(test_another_command)
{
    ck_assert_str_eq(program("/k", "keeld", ""), "keeld");
    ck_assert_str_eq(program("/k", "env A=1  /sw/keeld ", ""), "env|A=1|/sw/keeld");
    ck_assert_str_eq(program("/k", "my-keeld -v", "/sw"), "/sw/bin/my-keeld|-v");
    ck_assert_str_eq(program("/k", "/x/keeld", "/sw"), "/x/keeld");
}
END_TEST

static char reason[256];

static int make(const char *agent, const char *prefix)
{
    struct remote remote;
    ck_assert_int_eq(param_override("plm_rsh_agent", agent), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("plm_prefix", prefix), ORTE_SUCCESS);
    int status = remote_make(&remote, "/k", reason, sizeof(reason));
    if (status == ORTE_SUCCESS) {
        ck_assert_str_eq(remote.agent[0], "sh");
        ck_assert_str_eq(remote.program[0], "/sw/bin/keeld");
    }
    remote_fini(&remote);
    remote_fini(&remote);
    return status;
}

START_TEST(test_parameters)
{
    ck_assert_int_eq(make("sh -x", "/sw"), ORTE_SUCCESS);
}
END_TEST

START_TEST(test_no_agent)
{
    ck_assert_int_eq(make(" ", ""), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "plm_rsh_agent is empty"));
}
END_TEST

START_TEST(test_an_agent_that_is_missing)
{
    ck_assert_int_eq(make("/nowhere/ssh -x", ""), ORTE_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(reason, "/nowhere/ssh: No such file"));
}
END_TEST

START_TEST(test_a_prefix_that_is_no_path)
{
    ck_assert_int_eq(make("sh", "sw/keel"), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "plm_prefix (--prefix) is sw/keel"));
}
END_TEST

UNIT_MAIN("remote")
