/* Who am I: what the launcher says in the environment. */
#ifndef BOOTSTRAP_ENV_H
#define BOOTSTRAP_ENV_H

#include <keel/types.h>
#include <wireup/job_map.h>

enum self_kind {
    SELF_NATIVE,    /* a rank that keelrun started */
    SELF_PMIX,      /* one that a PMIx server knows; pmix/client.h tells the rest */
    SELF_SINGLETON, /* nobody launched this process: a job of one */
    SELF_TOOL,      /* one that joins a running job from outside */
};

struct self {
    enum self_kind kind;
    char uuid[JOB_UUID_TEXT];
    orte_process_name_t name;
    uint32_t size;
    uint32_t app;             /* which of the job's programs */
    const char *daemon, *hnp; /* contact strings; borrowed from the environment */
    const char *session_dir;  /* borrowed; NULL: none */
    const char *node;         /* the node's name, or NULL */
    bool yield;               /* more ranks than processors */
};

/* Reads the environment, and the parameter bootstrap. Neither keelrun's variables nor PMIx's: a
 * singleton, with a random name. Some missing or malformed: ORTE_ERR_BAD_PARAM, and reason names
 * the variable. */
int self_read(struct self *self, char *reason, size_t reason_size) KEEL_MUST_CHECK;

/* Instead: a tool, whose name is invalid until it gets one. */
void self_become_tool(struct self *self);

#endif
