#include <config.h>

#include <launcher/shepherd/vars.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vars_append(struct vars *vars, char *assignment)
{
    vars->failed = !strings_add(&vars->strings, assignment) || vars->failed;
}

void vars_set(struct vars *vars, char *assignment)
{
    vars->failed = !strings_set(&vars->strings, assignment) || vars->failed;
}

void vars_format(struct vars *vars, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) {
        text = NULL;
    }
    va_end(arguments);
    vars_set(vars, text);
}

static bool holds_folder(const char *list, const char *folder)
{
    size_t size = strlen(folder);
    for (; *list; list += strcspn(list, ":"), list += *list == ':') {
        if (strcspn(list, ":") == size && strncmp(list, folder, size) == 0) {
            return true;
        }
    }
    return false;
}

void vars_add_folder(struct vars *vars, const char *name, const char *folder)
{
    const char *value = strings_value(vars->strings, name), *list = value ? value : "";
    if (!holds_folder(list, folder)) {
        vars_format(vars, "%s=%s%s%s", name, list, *list ? ":" : "", folder);
    }
}

void vars_fini(struct vars *vars)
{
    strings_free(vars->strings);
    *vars = (struct vars){0};
}

/* Names, or beginnings of names where a star ends them; the first that fits decides, and one after
 * '!' is kept. */
static const char *const foreign[] = {
    "KEEL_RANK", "KEEL_LOCAL_RANK",
    /* PMI-1 and PMI-2, hydra's own */
    "PMI_*", "PMI2_*", "MPI_LOCALNRANKS", "MPI_LOCALRANKID", "HYDI_*",
    "MPIR_CVAR_CH3_INTERFACE_HOSTNAME",
    /* PMIx: a security or storage module that the server did not choose fails or hangs */
    "PMIX_MCA_psec", "PMIX_MCA_gds", "PMIX_MCA_ptl", "!PMIX_MCA_*", "PMIX_*",
    /* Open MPI: what mpirun tells its processes, and what makes a process a singleton */
    "OMPI_COMM_WORLD_*", "OMPI_UNIVERSE_SIZE", "OMPI_WORLD_*", "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_NUM_APP_CTX", "OMPI_FIRST_RANKS", "OMPI_COMMAND", "OMPI_ARGV", "OMPI_FILE_LOCATION",
    "OMPI_PARENT_PORT", "OMPI_MCA_ess", "OMPI_MCA_ess_base_*", "OMPI_MCA_schizo", "OMPI_MCA_pmix",
    "OMPI_MCA_initial_wdir", "OMPI_MCA_num_procs", "OMPI_MCA_cpu_type", "OMPI_MCA_orte_app_num",
    "OMPI_MCA_orte_bound_at_launch", "OMPI_MCA_orte_ess_*", "OMPI_MCA_orte_hnp_uri",
    "OMPI_MCA_orte_jobfam_session_dir", "OMPI_MCA_orte_launch", "OMPI_MCA_orte_local_daemon_uri",
    "OMPI_MCA_orte_num_nodes", "OMPI_MCA_orte_precondition_transports", "OMPI_MCA_orte_tmpdir_base",
    "OMPI_MCA_orte_top_session_dir", "ORTE_SCHIZO_DETECTION", "JSM_JSRUN_PORT",
    /* Slurm: one task of a step, which is a daemon or a batch script; and counts that are the
     * step's there (allocation_give_on has the job's) */
    "SLURM_STEP*", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS", "SLURM_TASK_PID",
    "SLURM_SRUN_*", "SLURM_LAUNCH_NODE_IPADDR", "SLURM_PMI*", "SLURM_MPI_TYPE", "SLURM_UMASK",
    "SLURM_PRIO_PROCESS", "SLURM_DISTRIBUTION", "SLURM_CPU_BIND*", "SLURM_MEM_BIND*", "SRUN_*",
    "SLURM_NNODES", "SLURM_NODELIST", "SLURM_NPROCS", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE"};

static const char *const srun_options[] = {"!SLURM_JOB_*",
                                           "!SLURM_JOBID",
                                           "!SLURM_CONF*",
                                           "!SLURM_JWT",
                                           "!SLURM_CLUSTER_NAME",
                                           "!SLURM_WORKING_CLUSTER",
                                           "!SLURM_SUBMIT_*",
                                           "!SLURM_ARRAY_*",
                                           "!SLURM_NODE_ALIASES",
                                           "!SLURM_RESTART_COUNT",
                                           "!SLURM_TOPOLOGY_*",
                                           "SLURM_*",
                                           "SRUN_*"};

static bool fits(const char *pattern, const char *name, size_t length)
{
    size_t size = strlen(pattern);
    if (pattern[size - 1] == '*') {
        return length >= size - 1 && strncmp(pattern, name, size - 1) == 0;
    }
    return length == size && strncmp(pattern, name, size) == 0;
}

static bool is_among(const char *assignment, const char *const *patterns, size_t count)
{
    size_t length = strcspn(assignment, "=");
    for (size_t i = 0; i < count; i++) {
        bool keep = patterns[i][0] == '!';
        if (patterns[i][keep] == assignment[0] && fits(patterns[i] + keep, assignment, length)) {
            return !keep;
        }
    }
    return false;
}

bool vars_is_foreign(const char *assignment)
{
    return is_among(assignment, foreign, sizeof(foreign) / sizeof(*foreign));
}

bool vars_is_srun_option(const char *assignment)
{
    return is_among(assignment, srun_options, sizeof(srun_options) / sizeof(*srun_options));
}
