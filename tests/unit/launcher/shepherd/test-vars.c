#include <config.h>

#include <launcher/shepherd/vars.h>
#include <stdio.h>
#include <string.h>
#include <tests/lib/unit.h>

START_TEST(test_a_variable_is_there_once)
{
    struct vars vars = {0};
    vars_append(&vars, strdup("A=1"));
    vars_append(&vars, strdup("AB=2"));
    vars_set(&vars, strdup("A=3"));
    vars_format(&vars, "C=%d", 4);
    vars_format(&vars, "AB=%s", "");
    ck_assert(!vars.failed);
    ck_assert_uint_eq(strings_count(vars.strings), 3);
    ck_assert_str_eq(vars.strings[0], "A=3");
    ck_assert_str_eq(vars.strings[1], "AB=");
    ck_assert_str_eq(vars.strings[2], "C=4");
    ck_assert_ptr_null(vars.strings[3]);
    vars_set(&vars, NULL); /* as strdup without memory */
    ck_assert(vars.failed);
    vars_fini(&vars);
    ck_assert_ptr_null(vars.strings);
}
END_TEST

START_TEST(test_many_variables)
{
    struct vars vars = {0};
    for (int i = 0; i < 1000; i++) {
        vars_format(&vars, "NAME_%d=%d", i, i);
    }
    ck_assert_uint_eq(strings_count(vars.strings), 1000);
    ck_assert_str_eq(vars.strings[999], "NAME_999=999");
    ck_assert_ptr_null(vars.strings[1000]);
    vars_fini(&vars);
}
END_TEST

START_TEST(test_foreign_variables)
{
    static const char *const foreign[] = {"PMI_RANK=1",
                                          "PMI_FD=6",
                                          "PMI2_FD=1",
                                          "PMIX_NAMESPACE=x",
                                          "PMIX_SERVER_URI41=x",
                                          "PMIX_MCA_psec=none",
                                          "MPI_LOCALNRANKS=1",
                                          "HYDI_CONTROL_FD=7",
                                          "OMPI_COMM_WORLD_RANK=1",
                                          "OMPI_MCA_orte_hnp_uri=x",
                                          "OMPI_MCA_ess=^singleton",
                                          "OMPI_MCA_ess_base_jobid=1",
                                          "OMPI_UNIVERSE_SIZE=1",
                                          "SLURM_STEP_ID=0",
                                          "SLURM_STEPID=0",
                                          "SLURM_PROCID=0",
                                          "SLURM_NTASKS=2",
                                          "SLURM_SRUN_COMM_PORT=1",
                                          "SLURM_PMIXP_ABORT_AGENT_PORT=1",
                                          "SRUN_DEBUG=3",
                                          "KEEL_RANK=1"};
    static const char *const own[] = {"PATH=/bin",
                                      "PMI=x",
                                      "OMPI_MCA_btl=self",
                                      "OMPI_MCA_pml=ob1",
                                      "OMPI_MCA_orte_base_help_aggregate=0",
                                      "PMIX_MCA_psec_verbose=1",
                                      "MPIR_CVAR_NUM_CLIQUES=2",
                                      "MPIX=y",
                                      "KEEL_MCA_log_verbose=1",
                                      "KEEL_RANKS=1",
                                      "SLURM_JOB_ID=1",
                                      "SLURM_JOB_NODELIST=n1",
                                      "SLURM_CPUS_ON_NODE=4",
                                      "SLURM_SUBMIT_DIR=/",
                                      "SLURM_CONF=x",
                                      "SLURMD_NODENAME=n1",
                                      "",
                                      "="};
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
        ck_assert_msg(vars_is_foreign(foreign[i]), "%s", foreign[i]);
    }
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        ck_assert_msg(!vars_is_foreign(own[i]), "%s", own[i]);
    }
}
END_TEST

/* A job's options must not change how its daemons are started. */
START_TEST(test_options_of_srun)
{
    static const char *const options[] = {
        "SLURM_STDINMODE=none", "SLURM_NTASKS=4",          "SLURM_EXPORT_ENV=NONE",
        "SLURM_CPU_BIND=cores", "SLURM_LABELIO=1",         "SLURM_MPI_TYPE=pmix",
        "SRUN_CPUS_PER_TASK=2", "SLURM_NTASKS_PER_NODE=4", "SLURM_KILL_BAD_EXIT=1",
        "SLURM_EXACT=1",        "SLURM_CLUSTERS=other",    "SLURM_TASK_PROLOG=/x"};
    static const char *const others[] = {"SLURM_JOB_ID=1",     "SLURM_JOBID=1",     "SLURM_CONF=/x",
                                         "SLURMD_NODENAME=n1", "PATH=/bin",         "SLURM=1",
                                         "SBATCH_EXPORT=NONE", "SLURM_SUBMIT_DIR=/"};
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        ck_assert_msg(vars_is_srun_option(options[i]), "%s", options[i]);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        ck_assert_msg(!vars_is_srun_option(others[i]), "%s", others[i]);
    }
}
END_TEST

static const char *after_adding(const char *assignment, const char *folder)
{
    static char text[64];
    struct vars vars = {0};
    if (assignment) {
        vars_set(&vars, strdup(assignment));
    }
    vars_set(&vars, strdup("PATHS=/n"));
    vars_add_folder(&vars, "PATH", folder);
    ck_assert(!vars.failed);
    snprintf(text, sizeof(text), "%s", vars.strings[assignment ? 0 : 1]);
    vars_fini(&vars);
    return text;
}

START_TEST(test_folders_are_added_at_the_end)
{
    ck_assert_str_eq(after_adding(NULL, "/k"), "PATH=/k");
    ck_assert_str_eq(after_adding("PATH=", "/k"), "PATH=/k");
    ck_assert_str_eq(after_adding("PATH=/a", "/k"), "PATH=/a:/k");
    ck_assert_str_eq(after_adding("PATH=/a:", "/k l"), "PATH=/a::/k l");
    ck_assert_str_eq(after_adding("PATH=/k", "/k"), "PATH=/k");
    ck_assert_str_eq(after_adding("PATH=/a:/k:/b", "/k"), "PATH=/a:/k:/b");
    ck_assert_str_eq(after_adding("PATH=/k/l:/kk", "/k"), "PATH=/k/l:/kk:/k");
}
END_TEST

UNIT_MAIN("vars")
