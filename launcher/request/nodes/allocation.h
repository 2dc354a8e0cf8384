/* The nodes that a resource manager has given to the job in which keelrun runs, as its variables
 * and files tell: Slurm's in a batch script, under salloc, and inside a step of the job; PBS's and
 * TORQUE's PBS_NODEFILE, LSF's LSB_DJOB_HOSTFILE, LSB_MCPU_HOSTS or LSB_HOSTS, SGE's PE_HOSTFILE.
 */
#ifndef LAUNCHER_REQUEST_NODES_ALLOCATION_H
#define LAUNCHER_REQUEST_NODES_ALLOCATION_H

#include <launcher/request/nodes/node_list.h>

#define ALLOCATION_DVM "keel-dvm" /* the manager of nodes of a standing DVM */

struct allocation {
    const char *manager; /* "Slurm", "PBS", "LSF", "SGE" or a DVM; NULL: no allocation */
    char *job;           /* owned: its name for the job, Slurm's in digits; a DVM's URI file */
    struct node_request *nodes; /* owned; each has slots */
    size_t count;
    char *here; /* owned: this machine's name among them, if Slurm says it; NULL: it does not */
    const char *sign, *missing; /* no allocation, but this variable is one of a manager's job, whose
                                 * nodes that one would name; NULL: none is set */
};

/* Reads the environment. No allocation is no error: all is empty then. ORTE_ERR_BAD_PARAM: a
 * variable, or its file, makes no sense; reason names it and its value. A file that cannot be read
 * is an error as in hostfile_load. */
int allocation_find(struct allocation *allocation, char *reason,
                    size_t reason_size) KEEL_MUST_CHECK;
bool allocation_is_slurm(const struct allocation *allocation);
void allocation_fini(struct allocation *allocation);

/* Adds to a program's variables what Slurm says of the whole allocation (SLURM_NTASKS and the
 * like), where they are not set: a daemon's own describe the step that it was started in. False: no
 * memory.
 */
bool allocation_give_on(char ***env) KEEL_MUST_CHECK;

#endif
