/* Who am I: what the launcher says in the environment. */
#ifndef BOOTSTRAP_ENV_H
#define BOOTSTRAP_ENV_H

#include <bootstrap/job_map.h>
#include <keel/types.h>

struct self {
    bool singleton; /* nobody launched this process: a job of one */
    char uuid[JOB_UUID_TEXT];
    orte_process_name_t name;
    uint32_t size;
    const char *daemon;      /* contact string; borrowed from the environment */
    const char *session_dir; /* borrowed; NULL: none */
    const char *node;        /* the node's name, or NULL */
    bool yield;              /* more ranks than processors */
};

/* Reads the environment. None of the variables: a singleton, with a random name. Some missing or
 * malformed: ORTE_ERR_BAD_PARAM, and reason names the variable. */
int self_read(struct self *self, char *reason, size_t reason_size) KEEL_MUST_CHECK;

#endif
