/* The agents of one node: each starts the daemon of another node, at most so many at a time, and
 * again if it may have come too early. keelrun has them, and so has a daemon that starts others for
 * it. An agent runs as long as its daemon; at a time means until the daemon has called home.
 * Everything runs on the loop. */
#ifndef LAUNCHER_AGENT_AGENTS_H
#define LAUNCHER_AGENT_AGENTS_H

#include <base/loop/loop.h>
#include <launcher/agent/agent.h>

struct agents;

struct agents_config {
    /* Called as WORDS HOST PROGRAM --vpid N; like ssh, an agent gives what is behind HOST to a
     * shell. */
    char *const *words;   /* NULL, or none: the daemons are children of this process's shepherd */
    char *const *program; /* the daemon's, where it has to be quoted for the shell */
    uint32_t max;         /* at a time; 0: all */
    uint32_t retries;     /* of an agent that has ended with code 255: ssh did not get through */
    uint64_t limit_us; /* what an agent may take, with all its retries; 0: as long as its owner lets
                          it */
};

struct agents_owner {
    /* What this daemon is to be told; malloc'd. NULL: reason says why. */
    char *(*home)(void *arg, uint32_t vpid, size_t *size, char *reason, size_t reason_size);
    /* Its daemon has not come home, and will not: the agent has ended. said: all its lines,
     * NULL-ended, or NULL. */
    void (*failed)(void *arg, uint32_t vpid, const char *why, char *const *said);
    /* A line of an agent whose daemon is home, for the user. */
    void (*says)(void *arg, const char *line);
};

/* The config is copied. */
int agents_create(struct agents **agents, struct loop *loop, struct shepherd *shepherd,
                  const struct agents_config *config, const struct agents_owner *owner,
                  void *arg) KEEL_MUST_CHECK;
void agents_destroy(struct agents *agents);

/* Starts the daemon of one more node, now or when there is room; host: where the agent is to go, as
 * HOST or USER@HOST. failed may be called at once. ORTE_EXISTS: it was started already. */
int agents_start(struct agents *agents, uint32_t vpid, const char *host) KEEL_MUST_CHECK;
/* The daemon has called home. */
void agents_home(struct agents *agents, uint32_t vpid);
/* No more starts; who has not come home is not told any more. */
void agents_stop(struct agents *agents);
/* After agents_stop: more are to be started. */
void agents_go_on(struct agents *agents);
/* Nobody waits for this daemon any longer: its agent ends if it has not come home. */
void agents_end(struct agents *agents, uint32_t vpid);

/* Their arg is the agents; NULL: they are destroyed. */
extern const struct agent_ops agents_ops;

#endif
