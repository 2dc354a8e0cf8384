#include <config.h>

#include <launcher/request/nodes/allocation.h>

#include <base/data/strings.h>
#include <base/text/reason.h>
#include <launcher/request/nodes/hostfile.h>
#include <launcher/request/nodes/hostlist.h>
#include <launcher/request/nodes/span.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS_MAX = 1 << 20,
    JOB_DIGITS_MAX = 10,
    SHOWN_MAX = 80,
};

static const char SLURM[] = "Slurm";

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
    snprintf(reason, reason_size, "%s=%.*s%s: %s", variable->name, SHOWN_MAX, variable->value,
             strlen(variable->value) > SHOWN_MAX ? "..." : "", what);
    reason_printable(reason);
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

static int read_slurm(struct allocation *allocation, const struct variable *job,
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
    allocation->manager = SLURM;
    allocation->job = strdup(job->value);
    allocation->here = here ? strdup(here) : NULL;
    return allocation->job && (allocation->here || !here) ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* How another resource manager tells the nodes. */
enum node_format {
    FORMAT_FILE,       /* the path of a file: a line for each slot, its host first */
    FORMAT_FILE_SLOTS, /* the same: a line for each host, its name and the number of slots first */
    FORMAT_HOSTS,      /* a word for each slot: its host */
    FORMAT_SLOTS,      /* two words for each host: its name, and the number of slots */
};

static const struct manager {
    const char *name, *job, *nodes; /* the variables of its job's number, and of the nodes */
    enum node_format format;
} managers[] = {
    {"PBS", "PBS_JOBID", "PBS_NODEFILE", FORMAT_FILE},
    {"LSF", "LSB_JOBID", "LSB_DJOB_HOSTFILE", FORMAT_FILE},
    {"LSF", "LSB_JOBID", "LSB_MCPU_HOSTS", FORMAT_SLOTS},
    {"LSF", "LSB_JOBID", "LSB_HOSTS", FORMAT_HOSTS},
    {"SGE", "JOB_ID", "PE_HOSTFILE", FORMAT_FILE_SLOTS},
};

/* One host; number: its slots, NULL: one. */
static int add_host(struct node_list *list, struct span host, const struct span *number, char *what,
                    size_t what_size)
{
    uint32_t slots = 1;
    if (number && !node_number(number->at, number->size, NODE_SLOTS_MAX, &slots)) {
        snprintf(what, what_size, "host %.*s: a number of slots from 1 to %d is needed, not %.*s",
                 SPAN_SHOWN(host), NODE_SLOTS_MAX, number->size ? (int) number->size : 7,
                 number->size ? number->at : "nothing");
        return ORTE_ERR_BAD_PARAM;
    }
    return node_list_parse(list, host.at, host.size, slots, 0, what, what_size);
}

/* The text of a variable: all words are hosts, each with a number behind it or none. */
static int read_words(struct node_list *list, struct span text, bool numbered, char *what,
                      size_t what_size)
{
    int status = ORTE_SUCCESS;
    for (struct span host = span_word(&text); host.size > 0 && status == ORTE_SUCCESS;
         host = span_word(&text)) {
        struct span number = numbered ? span_word(&text) : host;
        status = add_host(list, host, numbered ? &number : NULL, what, what_size);
    }
    return status;
}

/* A file's: the first word of each line, or the first two. */
static int read_lines(struct node_list *list, const char *path, struct span text, bool numbered,
                      char *what, size_t what_size)
{
    struct lines lines = {text, 0};
    struct span line;
    char why[256] = "out of memory";
    int status = ORTE_SUCCESS;
    while (status == ORTE_SUCCESS && lines_next(&lines, &line)) {
        struct span host = span_word(&line), number = span_word(&line);
        if (!numbered && number.size > 0) {
            snprintf(why, sizeof(why), "'%.*s': a line is a host, and nothing else",
                     SPAN_SHOWN(number));
            status = ORTE_ERR_BAD_PARAM;
        } else if (host.size > 0) {
            status = add_host(list, host, numbered ? &number : NULL, why, sizeof(why));
        }
    }
    if (status != ORTE_SUCCESS) {
        snprintf(what, what_size, "%s:%u: %s", path, lines.number, why);
    }
    return status;
}

static int read_file(struct node_list *list, const char *path, bool numbered, char *what,
                     size_t what_size)
{
    char *text = NULL;
    size_t size;
    int status = hostfile_load(&text, &size, path, false, what, what_size);
    if (status == ORTE_SUCCESS) {
        status = read_lines(list, path, (struct span){text, size}, numbered, what, what_size);
    }
    if (status == ORTE_SUCCESS && list->count == 0) {
        snprintf(what, what_size, "%s: no host is in it", path);
        status = ORTE_ERR_BAD_PARAM;
    }
    free(text);
    return status;
}

/* Errors name the variable; a file's, its path and line. */
static int read_list(struct node_list *list, const struct manager *manager,
                     const struct variable *nodes, char *reason, size_t reason_size)
{
    bool numbered = manager->format == FORMAT_FILE_SLOTS || manager->format == FORMAT_SLOTS;
    char what[512] = "out of memory";
    int status;
    if (manager->format == FORMAT_FILE || manager->format == FORMAT_FILE_SLOTS) {
        status = read_file(list, nodes->value, numbered, what, sizeof(what));
        snprintf(reason, reason_size, "%s=%s", nodes->name, what);
        reason_printable(reason);
        return status;
    }
    struct span words = {nodes->value, strlen(nodes->value)};
    status = read_words(list, words, numbered, what, sizeof(what));
    if (status == ORTE_SUCCESS && list->count == 0) {
        snprintf(what, sizeof(what), "there is no host in it");
        status = ORTE_ERR_BAD_PARAM;
    }
    (void) wrong(nodes, what, reason, reason_size);
    return status;
}

/* The nodes that a resource manager other than Slurm has given, if there is one. */
static int read_other(struct allocation *allocation, char *reason, size_t reason_size)
{
    for (size_t i = 0; i < sizeof(managers) / sizeof(*managers); i++) {
        struct variable nodes = either(managers[i].nodes, NULL),
                        job = either(managers[i].job, NULL);
        struct node_list list = {0};
        if (!nodes.value) {
            continue;
        }
        int status = read_list(&list, &managers[i], &nodes, reason, reason_size);
        if (status != ORTE_SUCCESS) {
            node_list_fini(&list);
            return status;
        }
        allocation->manager = managers[i].name;
        allocation->count = list.count;
        allocation->nodes = node_list_take(&list);
        allocation->job = strdup(job.value ? job.value : "?");
        if (!allocation->job) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        reason_printable(allocation->job);
        return ORTE_SUCCESS;
    }
    return ORTE_SUCCESS;
}

/* What says that a manager's job of several nodes runs, where nothing says on which. An SGE job
 * without PE_HOSTFILE may have one slot. */
static void find_sign(struct allocation *allocation)
{
    static const struct {
        const char *sign, *missing, *slots;
    } signs[] = {
        {"SLURM_JOB_ID", "SLURM_JOB_NODELIST", NULL},
        {"PBS_JOBID", "PBS_NODEFILE", NULL},
        {"LSB_JOBID", "LSB_DJOB_HOSTFILE", NULL},
        {"LSB_AFFINITY_HOSTFILE", "LSB_DJOB_HOSTFILE", NULL},
        {"JOB_ID", "PE_HOSTFILE", "NSLOTS"},
    };
    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs) && !allocation->sign; i++) {
        const char *slots = signs[i].slots ? either(signs[i].slots, NULL).value : "several";
        if (either(signs[i].sign, NULL).value && slots && strcmp(slots, "1") != 0) {
            allocation->sign = signs[i].sign;
            allocation->missing = signs[i].missing;
        }
    }
}

int allocation_find(struct allocation *out, char *reason, size_t reason_size)
{
    struct allocation read = {0};
    struct variable job = either("SLURM_JOB_ID", "SLURM_JOBID");
    struct variable list = either("SLURM_JOB_NODELIST", "SLURM_NODELIST");
    snprintf(reason, reason_size, "out of memory");
    int status = job.value && list.value ? read_slurm(&read, &job, &list, reason, reason_size)
                                         : read_other(&read, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        allocation_fini(&read);
        return status;
    }
    if (read.count == 0) {
        find_sign(&read);
    }
    *out = read;
    return ORTE_SUCCESS;
}

bool allocation_is_slurm(const struct allocation *allocation)
{
    return allocation->manager && strcmp(allocation->manager, SLURM) == 0;
}

void allocation_fini(struct allocation *allocation)
{
    for (size_t i = 0; i < allocation->count; i++) {
        free(allocation->nodes[i].name);
        free(allocation->nodes[i].user);
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
