/* What a starting daemon is told on its standard input: lines of text, "name value", ended by a
 * line with a dot. Nothing of it is seen in arguments or environment. */
#ifndef LAUNCHER_HOME_H
#define LAUNCHER_HOME_H

#include <base/crypto.h>
#include <bootstrap/job_map.h>
#include <keel/types.h>

#define HOME_SIZE_MAX (48u * 1024u) /* less than a pipe holds */

struct home {
    uint8_t key[KEY_BYTES];
    char uuid[JOB_UUID_TEXT];
    orte_jobid_t family;
    uint32_t vpid, count, radix;
    char *node;      /* this node's name */
    char *nodes;     /* instead of vpid and node: those of all daemons but the HNP, by vpid */
    char *contact;   /* the HNP's */
    char **settings; /* NULL-ended: those of the form KEEL_MCA_NAME=VALUE are given on */
};

/* The text, malloc'd; NULL: no memory, or it would not fit. The strings are borrowed. */
char *home_print(const struct home *home, size_t *size);
/* Pure. The strings are malloc'd; reason names the line. */
int home_parse(struct home *home, const char *text, size_t size, char *reason,
               size_t reason_size) KEEL_MUST_CHECK;
/* Where home has nodes in place of a node: takes node and vpid of the first of names (NULL-ended)
 * that is among them. ORTE_ERR_NOT_FOUND: none is. */
int home_choose(struct home *home, const char *const *names, char *reason,
                size_t reason_size) KEEL_MUST_CHECK;
void home_fini(struct home *home);

#endif
