/* An agent: a process that starts a daemon on another node (ssh), or is that daemon (a simulated
 * node), or starts all (srun). The daemon reads what it must know, the job's key first of all, from
 * the agent's standard input. */
#ifndef LAUNCHER_AGENT_AGENT_H
#define LAUNCHER_AGENT_AGENT_H

#include <launcher/shepherd/shepherd.h>

#define AGENT_APP 0u                          /* the number of all agents' program */
#define AGENT_ID(vpid) (0x80000000u | (vpid)) /* the shepherd's id of the agent of a daemon */

struct agent_command {
    enum proc_kind kind;
    char *const *words;
    char *const *env;    /* NULL: this process's */
    enum proc_stdio err; /* its stderr */
};

/* What the shepherd says of agents, to whom they belong; on the loop. */
struct agent_ops {
    /* Takes both descriptors; errors -1: the agent's stderr is this process's. */
    void (*started)(void *arg, uint32_t id, int input, int errors);
    void (*failed)(void *arg, uint32_t id, int error);
    void (*exited)(void *arg, uint32_t id, int wait_status);
};
struct agent_watcher {
    const struct agent_ops *ops; /* borrowed, as is arg; NULL: there are no agents */
    void *arg;
};

/* Adds the words of a command, split at spaces, to a NULL-ended array of strings. False: no memory.
 */
bool agent_split(char ***words, const char *command) KEEL_MUST_CHECK;
/* Hands a command to the shepherd, to be run as id. All agents use one number of a program, the
 * first: its ranks were ordered before an agent is started while a job runs. 0, or -errno: the
 * program cannot be found. */
int agent_run(struct shepherd *shepherd, uint32_t id,
              const struct agent_command *command) KEEL_MUST_CHECK;
/* Writes the text (size bytes; at most what an empty pipe holds) to a started agent's standard
 * input, and closes that; wipes and frees the text. 0 or -errno: one that has closed its end is not
 * an error, it has ended or will be late, and the reason for that says more. */
int agent_tell(int input, char *text, size_t size) KEEL_MUST_CHECK;

/* Why a daemon was not heard of, as its agent's end tells it: "the agent ended with code 7 before
 * the daemon called home". program: the daemon's command; said: the agent's last line, NULL:
 * it said nothing. Pure. */
void agent_explain_end(char *text, size_t size, int wait_status, const char *program,
                       const char *said);
/* How a process ended, behind its name: "was killed by signal 9", "ended with code 1". Pure. */
void agent_describe_end(char *text, size_t size, int wait_status);

#endif
