/* Starts the other nodes' daemons, through agents. What a daemon must know, the job's key first of
 * all, goes to its standard input. */
#include <config.h>

#include <launcher/plm/plm.h>

#include <base/data/strings.h>
#include <base/net/sock.h>
#include <base/settings/param.h>
#include <errno.h>
#include <launcher/node/daemon.h>
#include <launcher/request/run_request.h>
#include <launcher/shepherd/program.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const choices[] = {"auto", "slurm", "rsh", "ssh", NULL};
static struct param choice =
    PARAM_ENUM("plm", "auto", choices,
               "How daemons are started: by srun (slurm), by plm_rsh_agent (rsh or ssh), or (auto) "
               "by srun within a Slurm allocation");
PARAM_ROWS("launcher", choice);

enum plm_choice plm_choice(void)
{
    return (enum plm_choice) param_int(&choice);
}

size_t plm_split(char *text, char **words, size_t max)
{
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t", &rest); word && count < max;
         word = strtok_r(NULL, " \t", &rest)) {
        words[count++] = word;
    }
    return count;
}

void plm_describe_end(char *text, size_t size, int wait_status)
{
    if (WIFSIGNALED(wait_status)) {
        snprintf(text, size, "was killed by signal %d", WTERMSIG(wait_status));
    } else {
        snprintf(text, size, "ended with code %d", WEXITSTATUS(wait_status));
    }
}

void plm_init(struct plm *plm, struct loop *loop, struct shepherd *shepherd,
              struct channel_end *front, const struct plm_owner *owner, void *arg)
{
    *plm = (struct plm){.loop = loop, .shepherd = shepherd, .owner = owner, .arg = arg};
    step_init(&plm->step, loop, front);
}

void plm_fini(struct plm *plm)
{
    plm_started(plm);
    step_fini(&plm->step);
    free(plm->agents);
    crypto_wipe(plm->config.key, sizeof(plm->config.key));
}

void plm_fail(struct plm *plm, int exit_code, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    plm->owner->fail(plm->arg, exit_code, text);
}

const char *plm_node(const struct plm *plm, uint32_t vpid)
{
    return plm->owner->node(plm->arg, vpid);
}

bool plm_is_home(const struct plm *plm, uint32_t vpid)
{
    return plm->owner->is_home(plm->arg, vpid);
}

bool plm_is_slurm(const struct plm *plm)
{
    return plm->ops == &plm_slurm;
}

static void cannot_start(struct plm *plm, uint32_t id, const char *program, int error)
{
    char *whom = plm->ops->whom(plm, id);
    plm_fail(plm, EXIT_RUNTIME, "cannot start the %s: %s%s%s", whom ? whom : "daemons",
             program ? program : "", program ? ": " : "", strerror(error));
    free(whom);
}

bool plm_start_agent(struct plm *plm, uint32_t id, enum proc_kind kind, char *const *words,
                     char *const *env)
{
    char program[4096];
    int found = program_resolve(words[0], program, sizeof(program));
    if (found < 0) {
        cannot_start(plm, id, words[0], -found);
        return false;
    }
    struct start_app app = {
        .kind = kind,
        .program = program,
        .argv = words,
        .env = env ? env : environ,
        .out = STDIO_NULL,
        .err = kind == PROC_STEP ? STDIO_PIPE : STDIO_INHERIT,
    };
    struct start_proc proc = {.id = id, .in = STDIO_PIPE};
    uint32_t number = plm->config.first_app + (id - AGENT_ID(0));
    shepherd_define_app(plm->shepherd, number, &app);
    shepherd_start_proc(plm->shepherd, number, &proc);
    return true;
}

void plm_start(struct plm *plm, const struct plm_config *config, char *keeld)
{
    plm->config = *config;
    plm->ops = config->slurm_job && plm_choice() < PLM_RSH ? &plm_slurm : &plm_rsh;
    (void) plm->ops->start(plm, keeld);
}

void plm_started(struct plm *plm)
{
    loop_timer_stop(&plm->patience);
}

bool plm_end(struct plm *plm)
{
    plm->ending = true;
    return plm->ops && plm->ops->end && plm->ops->end(plm);
}

/* What the daemons of an agent are told; malloc'd. NULL: reason says why. */
static char *make_home(const struct plm *plm, uint32_t id, size_t *size, char *reason,
                       size_t reason_size)
{
    const struct plm_config *config = &plm->config;
    char *text = NULL;
    snprintf(reason, reason_size, "out of memory");
    struct home home = {
        .family = config->family,
        .count = config->count,
        .radix = config->radix,
        .contact = strdup(config->contact),
        .topology = config->topology,
        .settings = strings_copy(config->settings),
    };
    memcpy(home.uuid, config->uuid, sizeof(home.uuid));
    memcpy(home.key, config->key, sizeof(home.key));
    if (home.contact && home.settings && plm->ops->fill(plm, id, &home)) {
        text = home_print(&home, size, reason, reason_size);
    }
    home_fini(&home);
    return text;
}

void plm_agent_started(struct plm *plm, uint32_t id, int input, int errors)
{
    if (errors >= 0) {
        step_open(&plm->step, errors);
    }
    size_t size = 0;
    char reason[256];
    char *text = make_home(plm, id, &size, reason, sizeof(reason));
    /* it fits a pipe, which is empty; an agent that has closed its end has ended, or will be late,
     * and the reason for that says more */
    int error = text ? fd_write_all(input, text, size) : 0;
    if (!text || (error != 0 && error != -EPIPE)) {
        char *whom = plm->ops->whom(plm, id);
        plm_fail(plm, EXIT_RUNTIME, "cannot start the %s: %s%s", whom ? whom : "daemons",
                 text ? "the agent takes no input: " : "", text ? strerror(-error) : reason);
        free(whom);
    }
    if (text) {
        crypto_wipe(text, size);
    }
    free(text);
    fd_close(&input);
}

void plm_agent_failed(struct plm *plm, uint32_t id, int error)
{
    cannot_start(plm, id, NULL, error);
    plm->ops->exited(plm, id, 0);
}

void plm_agent_exited(struct plm *plm, uint32_t id, int wait_status)
{
    plm->ops->exited(plm, id, wait_status);
}

void plm_came_home(struct plm *plm)
{
    if (plm->ops->came_home) {
        plm->ops->came_home(plm);
    }
}
