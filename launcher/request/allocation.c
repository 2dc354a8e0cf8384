#include <config.h>

#include <launcher/request/allocation.h>

#include <base/data/strings.h>
#include <launcher/request/hostlist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    SLOTS_MAX = 1 << 20,
    JOB_DIGITS_MAX = 10,
    SHOWN_MAX = 80,
    HOST_MAX = 256,
    LINE_MAX_BYTES = 4096,
};

struct variable {
    const char *name, *value; /* value NULL: not set */
};

/* The first of two names that is set, to something; Slurm keeps some that are older. */
static struct variable either(const char *name, const char *old_name)
{
    const char *value = getenv(name), *old_value = old_name ? getenv(old_name) : NULL;
    if ((!value || !*value) && old_value && *old_value) {
        return (struct variable){old_name, old_value};
    }
    return (struct variable){name, value && *value ? value : NULL};
}

/* Names a variable, the beginning of its value, and what is wrong with it. */
static int wrong(const struct variable *variable, const char *what, char *reason,
                 size_t reason_size)
{
    char shown[SHOWN_MAX + 4];
    snprintf(shown, sizeof(shown), "%.*s%s", SHOWN_MAX, variable->value,
             strlen(variable->value) > SHOWN_MAX ? "..." : "");
    for (char *at = shown; *at; at++) {
        *at = (unsigned char) *at < ' ' || *at == 0x7f ? '?' : *at;
    }
    snprintf(reason, reason_size, "%s=%s: %s", variable->name, shown, what);
    return ORTE_ERR_BAD_PARAM;
}

/* Under srun the variables of tasks are the step's. */
static bool in_a_step(void)
{
    return getenv("SLURM_STEP_ID") != NULL;
}

static int read_nodes(struct allocation *allocation, const struct variable *list, char *reason,
                      size_t reason_size)
{
    struct hostlist names;
    char what[160];
    int status = hostlist_expand(&names, list->value, what, sizeof(what));
    if (status != ORTE_SUCCESS) {
        return wrong(list, what, reason, reason_size);
    }
    allocation->nodes = calloc(names.count, sizeof(*allocation->nodes));
    if (allocation->nodes) {
        allocation->count = names.count;
        for (uint32_t i = 0; i < names.count; i++) {
            allocation->nodes[i].name = names.names[i]; /* taken over */
        }
        names.count = 0;
    }
    hostlist_fini(&names);
    return allocation->nodes ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* How many processors a rank shall have; 1 where nothing is said. */
static int read_cpus_per_task(uint32_t *cpus, char *reason, size_t reason_size)
{
    char what[160];
    struct variable variable = either("SLURM_CPUS_PER_TASK", NULL);
    *cpus = 1;
    if (variable.value &&
        hostlist_numbers(cpus, 1, SLOTS_MAX, variable.value, what, sizeof(what)) != ORTE_SUCCESS) {
        return wrong(&variable, what, reason, reason_size);
    }
    return ORTE_SUCCESS;
}

/* A slot for each task that the job was made for; else by processors. */
static int read_slots(struct allocation *allocation, const struct variable *list, char *reason,
                      size_t reason_size)
{
    char what[160];
    uint32_t cpus_per_task = 1;
    int status = ORTE_SUCCESS;
    struct variable variable = either("SLURM_TASKS_PER_NODE", NULL);
    if (in_a_step() || !variable.value) {
        variable = either("SLURM_JOB_CPUS_PER_NODE", NULL);
        status = read_cpus_per_task(&cpus_per_task, reason, reason_size);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (!variable.value) {
        return wrong(list, "SLURM_TASKS_PER_NODE or SLURM_JOB_CPUS_PER_NODE is missing beside it",
                     reason, reason_size);
    }
    uint32_t *numbers = calloc(allocation->count, sizeof(*numbers));
    status = numbers ? hostlist_numbers(numbers, (uint32_t) allocation->count, SLOTS_MAX,
                                        variable.value, what, sizeof(what))
                     : ORTE_ERR_OUT_OF_RESOURCE;
    for (size_t i = 0; status == ORTE_SUCCESS && i < allocation->count; i++) {
        uint32_t slots = numbers[i] / cpus_per_task;
        allocation->nodes[i].slots = slots > 0 ? slots : 1;
    }
    free(numbers);
    return status == ORTE_ERR_BAD_PARAM ? wrong(&variable, what, reason, reason_size) : status;
}

static int read_all(struct allocation *allocation, const struct variable *job,
                    const struct variable *list, char *reason, size_t reason_size)
{
    size_t digits = strspn(job->value, "0123456789");
    if (job->value[digits] || digits > JOB_DIGITS_MAX) {
        return wrong(job, "not the number of a job", reason, reason_size);
    }
    int status = read_nodes(allocation, list, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = read_slots(allocation, list, reason, reason_size);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    const char *here = getenv("SLURMD_NODENAME");
    allocation->job = strdup(job->value);
    allocation->here = here ? strdup(here) : NULL;
    return allocation->job && (allocation->here || !here) ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

int allocation_find(struct allocation *out, char *reason, size_t reason_size)
{
    struct allocation read = {0};
    struct variable job = either("SLURM_JOB_ID", "SLURM_JOBID");
    struct variable list = either("SLURM_JOB_NODELIST", "SLURM_NODELIST");
    int status = ORTE_SUCCESS;
    if (job.value && list.value) {
        snprintf(reason, reason_size, "out of memory");
        status = read_all(&read, &job, &list, reason, reason_size);
    }
    if (status != ORTE_SUCCESS) {
        allocation_fini(&read);
        return status;
    }
    *out = read;
    return ORTE_SUCCESS;
}

/* The format in which a resource manager's variable has the nodes. */
enum node_format {
    FORMAT_FILE,  /* the path of a file: a line for each host or slot, the host first */
    FORMAT_HOSTS, /* a word for each slot: its host */
    FORMAT_SLOTS, /* two words for each host: its name, and the number of slots */
};

/* Does the file have more than one host? True, too, of a file that cannot be read. */
static bool file_names_several(const char *path)
{
    char first[HOST_MAX] = "", host[HOST_MAX], line[LINE_MAX_BYTES];
    struct stat st;
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    bool several = !file;
    while (file && !several && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%255s", host) == 1) {
            several = *first && strcmp(first, host) != 0;
            strcpy(first, host);
        }
    }
    if (file) {
        (void) fclose(file);
    }
    return several;
}

/* Does the list have more than one host? One word in step is a host. */
static bool list_names_several(const char *list, unsigned step)
{
    static const char blank[] = " \t\n";
    const char *first = list + strspn(list, blank), *host = first;
    size_t size = strcspn(first, blank);
    while (*host && strncmp(host, first, size) == 0 && strcspn(host, blank) == size) {
        for (unsigned i = 0; i < step; i++) {
            host += strcspn(host, blank);
            host += strspn(host, blank);
        }
    }
    return *host;
}

static bool names_several(enum node_format format, const char *value)
{
    return format == FORMAT_FILE ? file_names_several(value)
                                 : list_names_several(value, format == FORMAT_SLOTS ? 2 : 1);
}

const char *allocation_unread(const char **variable)
{
    static const struct {
        const char *manager, *variable;
        enum node_format format;
    } others[] = {
        {"PBS", "PBS_NODEFILE", FORMAT_FILE},    {"LSF", "LSB_DJOB_HOSTFILE", FORMAT_FILE},
        {"LSF", "LSB_MCPU_HOSTS", FORMAT_SLOTS}, {"LSF", "LSB_HOSTS", FORMAT_HOSTS},
        {"SGE", "PE_HOSTFILE", FORMAT_FILE},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        const char *value = getenv(others[i].variable);
        if (value && *value && names_several(others[i].format, value)) {
            *variable = others[i].variable;
            return others[i].manager;
        }
    }
    return NULL;
}

void allocation_fini(struct allocation *allocation)
{
    for (size_t i = 0; i < allocation->count; i++) {
        free(allocation->nodes[i].name);
    }
    free(allocation->nodes);
    free(allocation->job);
    free(allocation->here);
    *allocation = (struct allocation){0};
}

bool allocation_give_on(char ***env)
{
    static const char *const names[] = {
        "SLURM_CPUS_PER_TASK", "SLURM_NTASKS_PER_NODE", "SLURM_NNODES",        "SLURM_NODELIST",
        "SLURM_NPROCS",        "SLURM_NTASKS",          "SLURM_TASKS_PER_NODE"};
    size_t count = in_a_step() ? 2 : sizeof(names) / sizeof(*names); /* the rest are the step's */
    for (size_t i = 0; i < count; i++) {
        const char *value = getenv(names[i]);
        char *assignment = NULL;
        if (!value || strings_value(*env, names[i])) {
            continue;
        }
        if (asprintf(&assignment, "%s=%s", names[i], value) < 0) {
            return false;
        }
        if (!strings_add(env, assignment)) {
            return false;
        }
    }
    return true;
}
