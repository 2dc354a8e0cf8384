/* How a daemon is started on another host: the agent's command here, and the daemon's command
 * there, which the agent gives to a shell. */
#ifndef LAUNCHER_PLM_REMOTE_H
#define LAUNCHER_PLM_REMOTE_H

#include <keel/types.h>

struct remote {
    char **agent;   /* owned, NULL-ended: its words */
    char **program; /* owned, NULL-ended: the daemon's, quoted for a shell */
};

/* From the parameters; keeld: the daemon's program here. ORTE_ERR_BAD_PARAM: one of them makes no
 * sense; ORTE_ERR_NOT_FOUND: the agent is not there; reason says why. remote_fini in every case. */
int remote_make(struct remote *remote, const char *keeld, char *reason,
                size_t reason_size) KEEL_MUST_CHECK;
/* The daemon's command. launch_agent: its words, as the user gave them; "": keeld. prefix: where
 * Keel is installed there; "": where it is here. NULL-ended; NULL: no memory. Pure. */
char **remote_program(const char *keeld, const char *launch_agent,
                      const char *prefix) KEEL_MUST_CHECK;
void remote_fini(struct remote *remote);

#endif
