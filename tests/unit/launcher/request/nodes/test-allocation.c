#include <config.h>

#include <base/data/strings.h>
#include <launcher/request/nodes/allocation.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct allocation allocation;
static char reason[512];

/* The environment is what is given, NAME=VALUE with spaces between, and nothing else of Slurm's. */
static int find(const char *variables)
{
    char text[4096];
    clearenv();
    snprintf(text, sizeof(text), "%s", variables);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        *equals = '\0';
        setenv(word, equals + 1, 1);
    }
    reason[0] = '\0';
    return allocation_find(&allocation, reason, sizeof(reason));
}

static void assert_finds(const char *variables, const char *nodes)
{
    char joined[1024] = "";
    ck_assert_msg(find(variables) == ORTE_SUCCESS, "%s: %s", variables, reason);
    for (size_t i = 0; i < allocation.count; i++) {
        size_t used = strlen(joined);
        snprintf(joined + used, sizeof(joined) - used, "%s%s:%u", i ? " " : "",
                 allocation.nodes[i].name, allocation.nodes[i].slots);
    }
    ck_assert_msg(strcmp(joined, nodes) == 0, "%s: %s", variables, joined);
}

START_TEST(test_no_allocation_is_empty)
{
    static const char *const none[] = {"", "SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=n1",
                                       "SLURM_JOB_ID= SLURM_JOB_NODELIST=n1",
                                       "SLURM_CONF=/x SLURM_TASKS_PER_NODE=4"};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        assert_finds(none[i], "");
        ck_assert_ptr_null(allocation.job);
    }
}
END_TEST

#define TWO "SLURM_JOB_ID=12 SLURM_JOB_NODELIST=n[1-2] "

START_TEST(test_nodes_have_a_slot_for_each_task)
{
    assert_finds(TWO "SLURM_TASKS_PER_NODE=4,3 SLURM_JOB_CPUS_PER_NODE=8(x2)", "n1:4 n2:3");
    ck_assert_str_eq(allocation.job, "12");
    ck_assert_ptr_null(allocation.here);
    allocation_fini(&allocation);
    allocation_fini(&allocation);
    assert_finds("SLURM_JOBID=12 SLURM_NODELIST=a,b[7-8] SLURM_TASKS_PER_NODE=2(x3) "
                 "SLURMD_NODENAME=b7",
                 "a:2 b7:2 b8:2");
    ck_assert_str_eq(allocation.here, "b7");
    allocation_fini(&allocation);
}
END_TEST

/* In a step SLURM_TASKS_PER_NODE, SLURM_NNODES and the like are the step's. */
START_TEST(test_a_step_does_not_confuse)
{
    assert_finds(TWO "SLURM_STEP_ID=0 SLURM_STEP_NODELIST=n1 SLURM_TASKS_PER_NODE=1 "
                     "SLURM_NNODES=1 SLURM_JOB_CPUS_PER_NODE=8,6",
                 "n1:8 n2:6");
    allocation_fini(&allocation);
    assert_finds(TWO "SLURM_STEP_ID=0 SLURM_TASKS_PER_NODE=1 SLURM_JOB_CPUS_PER_NODE=8,3 "
                     "SLURM_CPUS_PER_TASK=4",
                 "n1:2 n2:1");
    allocation_fini(&allocation);
    assert_finds(TWO "SLURM_JOB_CPUS_PER_NODE=8(x2) SLURM_CPUS_PER_TASK=2", "n1:4 n2:4");
    allocation_fini(&allocation);
}
END_TEST

static void assert_refused(const char *variables, const char *text)
{
    ck_assert_msg(find(variables) == ORTE_ERR_BAD_PARAM, "%s", variables);
    ck_assert_msg(strstr(reason, text) == reason, "%s: %s", variables, reason);
}

START_TEST(test_errors_name_the_variable_and_its_value)
{
    assert_refused(TWO, "SLURM_JOB_NODELIST=n[1-2]: SLURM_TASKS_PER_NODE or SLURM_JOB_CPUS_PER_");
    assert_refused(TWO "SLURM_TASKS_PER_NODE=4",
                   "SLURM_TASKS_PER_NODE=4: character 2: numbers for 2");
    assert_refused(TWO "SLURM_TASKS_PER_NODE=1,2,3", "SLURM_TASKS_PER_NODE=1,2,3: character 4: ");
    assert_refused(TWO "SLURM_TASKS_PER_NODE=0(x2)", "SLURM_TASKS_PER_NODE=0(x2): character 6: a ");
    assert_refused(TWO "SLURM_TASKS_PER_NODE=1048577(x2)", "SLURM_TASKS_PER_NODE=1048577(x2): ");
    assert_refused(TWO "SLURM_JOB_CPUS_PER_NODE=2(x2) SLURM_CPUS_PER_TASK=x",
                   "SLURM_CPUS_PER_TASK=x: character 1: ");
    assert_refused("SLURM_JOB_ID=1 SLURM_JOB_NODELIST=n[1- SLURM_TASKS_PER_NODE=1",
                   "SLURM_JOB_NODELIST=n[1-: character 3: there is no ']'");
    assert_refused("SLURM_JOBID=1 SLURM_NODELIST=-x SLURM_TASKS_PER_NODE=1",
                   "SLURM_NODELIST=-x: character 1: a name begins with '-'");
    assert_refused("SLURM_JOB_ID=1x SLURM_JOB_NODELIST=n1 SLURM_TASKS_PER_NODE=1",
                   "SLURM_JOB_ID=1x: not the number of a job");
    assert_refused("SLURM_JOB_ID=12345678901 SLURM_JOB_NODELIST=n1 SLURM_TASKS_PER_NODE=1",
                   "SLURM_JOB_ID=12345678901: not");
    assert_refused("SLURM_JOB_ID=1 SLURM_JOB_NODELIST=a\033[31m SLURM_TASKS_PER_NODE=1",
                   "SLURM_JOB_NODELIST=a?[31m: character 2: this cannot");
}
END_TEST

START_TEST(test_a_long_value_is_cut)
{
    char variables[2100] = "SLURM_JOB_ID=1 SLURM_TASKS_PER_NODE=1 SLURM_JOB_NODELIST=";
    memset(variables + strlen(variables), '[', 2000);
    ck_assert_int_eq(find(variables), ORTE_ERR_BAD_PARAM);
    ck_assert_uint_lt(strlen(reason), 200);
    ck_assert_ptr_nonnull(strstr(reason, "[[[...: character 2: "));
}
END_TEST

static const char *value(char *const *env, const char *name)
{
    for (; env && *env; env++) {
        if (strncmp(*env, name, strlen(name)) == 0 && (*env)[strlen(name)] == '=') {
            return strchr(*env, '=') + 1;
        }
    }
    return "";
}

START_TEST(test_the_allocation_is_given_on)
{
    char **env = NULL;
    ck_assert(strings_add(&env, strdup("SLURM_NTASKS=7")));
    clearenv();
    setenv("SLURM_NTASKS", "3", 1);
    setenv("SLURM_NNODES", "2", 1);
    setenv("SLURM_CPUS_PER_TASK", "4", 1);
    ck_assert(allocation_give_on(&env));
    ck_assert_str_eq(value(env, "SLURM_NTASKS"), "7"); /* -x counts more */
    ck_assert_str_eq(value(env, "SLURM_NNODES"), "2");
    ck_assert_str_eq(value(env, "SLURM_CPUS_PER_TASK"), "4");
    ck_assert_uint_eq(strings_count(env), 3);
    strings_free(env);
    env = NULL;
    setenv("SLURM_STEP_ID", "0", 1);
    ck_assert(allocation_give_on(&env));
    ck_assert_uint_eq(strings_count(env), 1);
    ck_assert_str_eq(value(env, "SLURM_CPUS_PER_TASK"), "4");
    strings_free(env);
}
END_TEST

/* A file of the current folder. */
static void write_nodes(const char *text)
{
    FILE *file = fopen("nodes-of-test-allocation", "we");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

#define FILE_IN(variable) variable "=nodes-of-test-allocation"

START_TEST(test_other_managers_give_nodes)
{
    write_nodes("n1\nn1\n\nn2\nn1\n");
    assert_finds("PBS_JOBID=7.server " FILE_IN("PBS_NODEFILE"), "n1:3 n2:1");
    ck_assert_str_eq(allocation.manager, "PBS");
    ck_assert_str_eq(allocation.job, "7.server");
    ck_assert(!allocation_is_slurm(&allocation));
    allocation_fini(&allocation);
    assert_finds("LSB_MCPU_HOSTS=n9 " FILE_IN("LSB_DJOB_HOSTFILE"), "n1:3 n2:1");
    ck_assert_str_eq(allocation.manager, "LSF");
    ck_assert_str_eq(allocation.job, "?");
    allocation_fini(&allocation);
    write_nodes("n1 2 all.q@n1 UNDEFINED\r\nn2.cluster 16 all.q@n2 0,0:0,1\n");
    assert_finds("JOB_ID=44 " FILE_IN("PE_HOSTFILE"), "n1:2 n2.cluster:16");
    ck_assert_str_eq(allocation.manager, "SGE");
    ck_assert_str_eq(allocation.job, "44");
    allocation_fini(&allocation);
    assert_finds(TWO "SLURM_TASKS_PER_NODE=4,3 " FILE_IN("PBS_NODEFILE"), "n1:4 n2:3");
    ck_assert(allocation_is_slurm(&allocation));
    allocation_fini(&allocation);
    unlink("nodes-of-test-allocation");
}
END_TEST

/* Of a variable with spaces. */
static int find_hosts(const char *name, const char *value)
{
    clearenv();
    setenv(name, value, 1);
    return allocation_find(&allocation, reason, sizeof(reason));
}

START_TEST(test_lsf_gives_nodes_in_variables)
{
    ck_assert_int_eq(find_hosts("LSB_MCPU_HOSTS", " n1 4  n2 2 n1 1 "), ORTE_SUCCESS);
    ck_assert_uint_eq(allocation.count, 2);
    ck_assert(allocation.nodes[0].slots == 5 && allocation.nodes[1].slots == 2);
    allocation_fini(&allocation);
    ck_assert_int_eq(find_hosts("LSB_HOSTS", "n1 n2 n1"), ORTE_SUCCESS);
    ck_assert_uint_eq(allocation.count, 2);
    ck_assert(allocation.nodes[0].slots == 2 && allocation.nodes[1].slots == 1);
    allocation_fini(&allocation);
}
END_TEST

START_TEST(test_their_errors_name_the_variable)
{
    static const struct {
        const char *name, *value, *why;
    } cases[] = {
        {"LSB_MCPU_HOSTS", "n1 4 n2",
         "LSB_MCPU_HOSTS=n1 4 n2: host n2: a number of slots from 1 "
         "to 1048576 is needed, not nothing"},
        {"LSB_MCPU_HOSTS", "n1 x", "LSB_MCPU_HOSTS=n1 x: host n1: a number of slots"},
        {"LSB_MCPU_HOSTS", "n1 0", "LSB_MCPU_HOSTS=n1 0: host n1: a number of slots"},
        {"LSB_HOSTS", "  ", "LSB_HOSTS=  : there is no host in it"},
        {"LSB_HOSTS", "n1 -x", "LSB_HOSTS=n1 -x: '-x': NAME or NAME:SLOTS is needed"},
        {"LSB_HOSTS", "a\033[31m", "LSB_HOSTS=a?[31m: 'a?[31m': "},
        {"PBS_NODEFILE", "/nonexistent/f", "PBS_NODEFILE=/nonexistent/f: No such file"},
        {"PBS_NODEFILE", "/dev/null", "PBS_NODEFILE=/dev/null: "},
        {"PE_HOSTFILE", "/tmp", "PE_HOSTFILE=/tmp: not a regular file"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ck_assert_int_ne(find_hosts(cases[i].name, cases[i].value), ORTE_SUCCESS);
        ck_assert_msg(strncmp(reason, cases[i].why, strlen(cases[i].why)) == 0, "%s", reason);
    }
    write_nodes("n1 2\nn2\n");
    ck_assert_int_ne(find_hosts("PE_HOSTFILE", "nodes-of-test-allocation"), ORTE_SUCCESS);
    ck_assert_msg(strstr(reason, "test-allocation:2: host n2: a number of slots") != NULL, "%s",
                  reason);
    write_nodes("n1\nn1\n-x\n");
    ck_assert_int_ne(find_hosts("PBS_NODEFILE", "nodes-of-test-allocation"), ORTE_SUCCESS);
    ck_assert_msg(strstr(reason, "test-allocation:3: '-x': ") != NULL, "%s", reason);
    unlink("nodes-of-test-allocation");
}
END_TEST

START_TEST(test_a_sign_of_a_job_without_nodes)
{
    static const struct {
        const char *variables, *sign, *missing;
    } cases[] = {
        {"", NULL, NULL},
        {"SLURM_JOB_ID=7", "SLURM_JOB_ID", "SLURM_JOB_NODELIST"},
        {"PBS_JOBID=1", "PBS_JOBID", "PBS_NODEFILE"},
        {"PBS_JOBID=1 PBS_NODEFILE=", "PBS_JOBID", "PBS_NODEFILE"},
        {"PBS_JOBID= JOB_ID=9", NULL, NULL},
        {"LSB_JOBID=3", "LSB_JOBID", "LSB_DJOB_HOSTFILE"},
        {"LSB_AFFINITY_HOSTFILE=/f", "LSB_AFFINITY_HOSTFILE", "LSB_DJOB_HOSTFILE"},
        {"JOB_ID=9 NSLOTS=4", "JOB_ID", "PE_HOSTFILE"},
        {"JOB_ID=9 NSLOTS=1", NULL, NULL},
        {"NSLOTS=4", NULL, NULL},
        {"PBS_JOBID=1 LSB_HOSTS=n1", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ck_assert_int_eq(find(cases[i].variables), ORTE_SUCCESS);
        ck_assert_pstr_eq(allocation.sign, cases[i].sign);
        ck_assert_pstr_eq(allocation.missing, cases[i].missing);
        allocation_fini(&allocation);
    }
}
END_TEST

UNIT_MAIN("allocation")
