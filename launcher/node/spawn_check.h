/* Could ranks that are to be added be started here? What can be known before it is tried. */
#ifndef LAUNCHER_NODE_SPAWN_CHECK_H
#define LAUNCHER_NODE_SPAWN_CHECK_H

#include <launcher/node/daemon.h>

/* Looks for the folder and the program of each rank that is to run on this daemon's node; changes
 * nothing. reason names what is missing, and the node. ORTE_ERR_NOT_FOUND: it is not there, or may
 * not be used; ORTE_ERR_BAD_PARAM: the order does not fit the job. */
int spawn_check(const struct daemon *daemon, const struct spawned *spawned, char *reason,
                size_t reason_size) KEEL_MUST_CHECK;

#endif
