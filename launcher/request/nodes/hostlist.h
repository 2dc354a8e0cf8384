/* How Slurm writes many nodes in few characters: "n[1-3,07],gpu1" for n1, n2, n3, n07 and gpu1; and
 * a number for each of them in order: "4(x2),3" for 4, 4 and 3. */
#ifndef LAUNCHER_REQUEST_NODES_HOSTLIST_H
#define LAUNCHER_REQUEST_NODES_HOSTLIST_H

#include <keel/types.h>

#define HOSTLIST_MAX 65536u   /* nodes */
#define HOSTLIST_NAME_MAX 253 /* characters of one name */

struct hostlist {
    char **names; /* owned, as the names are */
    uint32_t count;
};

/* Pure. Names have letters, digits, '.', '-' and '_', and do not begin with '-'. An error
 * (ORTE_ERR_BAD_PARAM; VALUE_OUT_OF_BOUNDS: more than HOSTLIST_MAX) is explained with the place in
 * the text. */
int hostlist_expand(struct hostlist *list, const char *text, char *reason,
                    size_t reason_size) KEEL_MUST_CHECK;
/* The short form of names as above, in their order; malloc'd, NULL: no memory. */
char *hostlist_print(const char *const *names, uint32_t count) KEEL_MUST_CHECK;
void hostlist_fini(struct hostlist *list);

/* Pure. One number from 1 to max for each of count nodes, not fewer and not more. */
int hostlist_numbers(uint32_t *numbers, uint32_t count, uint32_t max, const char *text,
                     char *reason, size_t reason_size) KEEL_MUST_CHECK;

#endif
