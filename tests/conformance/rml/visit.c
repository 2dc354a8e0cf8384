/* The cells of get_new_name, which only a tool can fill: a process that keelrun did not start.
 *
 *   visit CONTACT       of a keelrun with tools_max 1 */
#include <fcntl.h>
#include <keel/keel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <tests/conformance/rml/cells.h>
#include <unistd.h>

orte_process_name_t me, left, right;
uint32_t ranks;
static int done;
static const char *program, *hnp;

void must_hold(bool holds, const char *condition, const char *file, int line)
{
    if (!holds) {
        fprintf(stderr, "%s, %s: not so: %s (%s:%d)\n", current ? fn_names[current->fn] : "",
                current ? outcome_names[current->outcome] : "", condition, file, line);
        exit(1);
    }
}

void wait_until(const bool *ended)
{
    while (!*ended) {
        (void) keel_progress();
    }
}

void all_together(void)
{
}

void wait_idly(void)
{
    (void) keel_progress();
}

/* A tool in the state before enable_comm. */
static void begin(const char *contact)
{
    struct keel_options options = KEEL_OPTIONS_DEFAULT;
    options.enable_comm = false;
    options.contact = contact;
    must(keel_init(&options) == ORTE_SUCCESS);
    must(keel_my_name()->jobid == ORTE_JOBID_INVALID && keel_my_name()->vpid == ORTE_VPID_INVALID);
}

static void end(void)
{
    must(keel_finalize() == ORTE_SUCCESS);
}

/* --- what succeeds --- */

/* The name is a tool's, is given once, and communication begins with it. */
static void new_name(void)
{
    orte_process_name_t name, again = {1, 2};
    orte_jobid_t job;
    begin(hnp);
    must(orte_rml.get_new_name(NULL) == ORTE_ERR_BAD_PARAM);
    must(orte_rml.get_new_name(&name) == ORTE_SUCCESS);
    must(name.jobid == keel_my_name()->jobid && name.vpid == keel_my_name()->vpid);
    must(name.jobid >> 16 == (uint32_t) strtoul(hnp, NULL, 10) >> 16);
    must((name.jobid & 0xffff) > 1 && name.vpid < ORTE_VPID_WILDCARD);
    must(orte_rml.get_new_name(&again) == ORTE_ERR_NOT_SUPPORTED);
    must(again.jobid == 1 && again.vpid == 2);
    must(keel_tool_job(&job, &ranks) == ORTE_ERR_COMM_DISABLED);
    must(orte_rml.enable_comm() == ORTE_SUCCESS);
    must(orte_rml.get_new_name(&again) == ORTE_ERR_NOT_SUPPORTED);
    must(name.jobid == keel_my_name()->jobid && name.vpid == keel_my_name()->vpid);
    must(keel_tool_job(&job, &ranks) == ORTE_SUCCESS && ranks > 0);
    char byte = 'x';
    struct iovec part = {&byte, 1};
    orte_process_name_t rank = {job, ranks - 1};
    must(orte_rml.send(&rank, &part, 1, 5000, KEEL_RML_DELIVERED) == 1);
    end();
}

/* enable_comm has this process named by itself. */
static void name_without_asking(void)
{
    orte_process_name_t name;
    begin(hnp);
    must(orte_rml.enable_comm() == ORTE_SUCCESS);
    must(keel_my_name()->jobid != ORTE_JOBID_INVALID);
    must(orte_rml.get_new_name(&name) == ORTE_ERR_NOT_SUPPORTED);
    end();
}

/* --- what does not --- */

static char folder[] = "/tmp/keel-visit-XXXXXX";

/* A keelrun that is not there; listening: that says nothing. Returns its contact string. */
static const char *make_deaf(bool listening, int *fd)
{
    static char contact[128];
    char key[64] = "";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    must(mkdtemp(folder) != NULL);
    snprintf(contact, sizeof(contact), "%s/tool.key", folder);
    int file = open(contact, O_WRONLY | O_CREAT | O_EXCL, 0600);
    must(file >= 0 && write(file, key, 32) == 32 && close(file) == 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/oob", folder);
    *fd = -1;
    if (listening) {
        *fd = socket(AF_UNIX, SOCK_STREAM, 0);
        must(*fd >= 0 && bind(*fd, (struct sockaddr *) &address, sizeof(address)) == 0);
        must(listen(*fd, 5) == 0);
    }
    snprintf(contact, sizeof(contact), "65536.0;unix://%s", address.sun_path);
    return contact;
}

static void end_deaf(int fd)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/tool.key", folder);
    must(unlink(path) == 0);
    if (fd >= 0) {
        close(fd);
        snprintf(path, sizeof(path), "%s/oob", folder);
        must(unlink(path) == 0);
    }
    must(rmdir(folder) == 0);
    memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
}

static void nobody_names(bool listening, int status)
{
    int fd;
    orte_process_name_t name = {3, 4};
    begin(make_deaf(listening, &fd));
    for (int i = 0; i < 2; i++) {
        must(orte_rml.get_new_name(&name) == status);
        must(name.jobid == 3 && name.vpid == 4);
        must(keel_my_name()->jobid == ORTE_JOBID_INVALID);
    }
    must(orte_rml.enable_comm() == status);
    end();
    end_deaf(fd);
}

/* Another process wants a second name. */
static void no_more_names(void)
{
    begin(hnp);
    must(orte_rml.enable_comm() == ORTE_SUCCESS);
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, hnp, "second", (char *) NULL);
        _exit(127);
    }
    int status = 1;
    must(waitpid(child, &status, 0) == child && status == 0);
    end();
}

static void second(void)
{
    orte_process_name_t name;
    begin(hnp);
    must(orte_rml.get_new_name(&name) == ORTE_ERR_OUT_OF_RESOURCE);
    end();
}

/* --- the cells --- */

static void as_a_tool(const struct cell *cell)
{
    switch (cell->outcome) {
    case SUCCESS:
        name_without_asking();
        break;
    case BEFORE_ENABLE:
        new_name();
        break;
    case UNREACH:
        nobody_names(false, ORTE_ERR_UNREACH);
        break;
    case TIMEOUT:
        nobody_names(true, ORTE_ERR_TIMEOUT);
        break;
    case OUT_OF_RESOURCE:
        no_more_names();
        break;
    default:
        must(!"a cell of a tool's");
    }
}

static void run(const struct cell *cell)
{
    current = cell;
    as_a_tool(cell);
    done++;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return 2;
    }
    program = argv[0];
    hnp = argv[1];
    (void) setenv("KEEL_MCA_oob_connect_timeout_ms", "300", 0);
    if (argc > 2) {
        second();
        return 0;
    }
    must(table_faults() == 0);
    for (enum outcome outcome = SUCCESS; outcome < OUTCOMES; outcome++) {
        each_cell(IN_TOOL, outcome, run);
    }
    printf("%d cells of a tool hold\n", done);
    return 0;
}
