/* The nodes that Slurm has given to the job in which keelrun runs, as its variables tell: in a
 * batch script, under salloc, and inside a step of the job. */
#ifndef LAUNCHER_REQUEST_ALLOCATION_H
#define LAUNCHER_REQUEST_ALLOCATION_H

#include <launcher/request/run_request.h>

struct allocation {
    char *job;                  /* owned: the number of Slurm's job, digits; NULL: no allocation */
    struct node_request *nodes; /* owned; each has slots */
    size_t count;
    char *here; /* owned: this machine's name among them, if Slurm says it; NULL: it does not */
};

/* Reads the environment. No allocation is no error: all is empty then. ORTE_ERR_BAD_PARAM: a
 * variable makes no sense; reason names it and its value. */
int allocation_find(struct allocation *allocation, char *reason,
                    size_t reason_size) KEEL_MUST_CHECK;
/* The name of another resource manager in whose job this is, on several nodes that nobody reads;
 * variable is where it tells them. NULL: there is none. */
const char *allocation_unread(const char **variable);
void allocation_fini(struct allocation *allocation);

/* Adds to a program's variables what Slurm says of the whole allocation (SLURM_NTASKS and the
 * like), where they are not set: a daemon's own describe the step that it was started in. False: no
 * memory.
 */
bool allocation_give_on(char ***env) KEEL_MUST_CHECK;

#endif
