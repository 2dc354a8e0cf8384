/* What a starting daemon is told on its standard input: lines of text, "name value", ended by a
 * line with a dot. Nothing of it is seen in arguments or environment. */
#ifndef LAUNCHER_NODE_ORDERS_HOME_H
#define LAUNCHER_NODE_ORDERS_HOME_H

#include <base/data/crypto.h>
#include <keel/types.h>
#include <wireup/job_map.h>

#define HOME_SIZE_MAX (48u * 1024u)       /* less than a pipe holds */
#define HOME_VERSION "2 " PACKAGE_VERSION /* of the text, and of Keel: the same at both ends */

/* What tells a job's daemons from all others. */
struct job_identity {
    char uuid[JOB_UUID_TEXT];
    orte_jobid_t family;            /* their jobid: family << 16 */
    uint8_t control_key[KEY_BYTES]; /* secret */
};

struct home {
    struct job_identity job;
    uint32_t vpid, count, radix;
    char *node;      /* this node's name */
    char *nodes;     /* instead of vpid and node: those of all daemons but the HNP, by vpid */
    char *contact;   /* the HNP's */
    bool topology;   /* the HNP wants to know this node's */
    bool agent;      /* standard error is the agent's: nobody reads it when the agent has gone */
    char **settings; /* NULL-ended: those of the form KEEL_MCA_NAME=VALUE are given on */
};

/* The parameter plm_start_timeout_s: what all daemons have to call home and to link to their
 * parents. */
uint64_t home_limit_us(void);
/* How long one of them tries: so that keelrun hears its reason before that is over. */
uint64_t home_try_us(void);

/* The text, malloc'd; NULL: reason says why. The strings are borrowed. */
char *home_print(const struct home *home, size_t *size, char *reason, size_t reason_size);
/* Pure. The strings are malloc'd; reason names the line. */
int home_parse(struct home *home, const char *text, size_t size, char *reason,
               size_t reason_size) KEEL_MUST_CHECK;
/* Where home has nodes in place of a node: takes node and vpid of the first of names (NULL-ended)
 * that is among them. ORTE_ERR_NOT_FOUND: none is. */
int home_choose(struct home *home, const char *const *names, char *reason,
                size_t reason_size) KEEL_MUST_CHECK;
void home_fini(struct home *home);

#endif
