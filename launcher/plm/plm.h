/* Starting the other nodes' daemons. What is the same however they are started is in plm.c; each
 * way to start them is one operations table. An agent's id is AGENT_ID(vpid) where it starts one
 * daemon, AGENT_ID(HNP_VPID) where it starts all. */
#ifndef LAUNCHER_PLM_PLM_H
#define LAUNCHER_PLM_PLM_H

#include <launcher/head/hnp.h>
#include <launcher/node/home.h>

struct plm_ops {
    /* Starts the agents, by plm_spawn. keeld: the daemon's program. False: the job has failed. */
    bool (*start)(struct hnp *hnp, char *keeld);
    /* Whom the agent starts, for messages: "daemon of node far"; malloc'd, NULL: no memory. */
    char *(*whom)(const struct hnp *hnp, uint32_t id);
    /* Adds to what an agent's daemons are told who they are. False: no memory. The strings are
     * freed by home_fini. */
    bool (*fill)(const struct hnp *hnp, uint32_t id, struct home *home);
    void (*exited)(struct hnp *hnp, uint32_t id, int wait_status);
    void (*came_home)(struct hnp *hnp); /* one more daemon has; may be NULL */
    /* keelrun is about to end. True: not before the agent has. May be NULL. */
    bool (*end)(struct hnp *hnp);
};

extern const struct plm_ops plm_rsh;   /* an agent for each, or children of this node */
extern const struct plm_ops plm_slurm; /* one srun for all */

/* The parameter plm. */
enum plm_choice { PLM_AUTO, PLM_SLURM, PLM_RSH, PLM_SSH };
enum plm_choice plm_choice(void);

/* How a process ended, behind its name: "was killed by signal 9", "ended with code 1". */
void plm_describe_end(char *text, size_t size, int wait_status);
/* Adds the words of a command, split at spaces; text is changed. Returns how many there are. */
size_t plm_split(char *text, char **words, size_t max);
/* Hands an agent's command to the shepherd; env NULL: this process's. False: the job has failed. */
bool plm_spawn(struct hnp *hnp, uint32_t id, enum spawn_kind kind, char *const *words,
               char *const *env);

#endif
