/* Session folders that nobody removes, because a daemon was killed together with its shepherd.
 *
 * A daemon holds its session folder by a lock on a file in it, which ends with the process. Whoever
 * comes later removes what is not held any more. The file's name is this host's: on a file system
 * that several hosts share, only a host's own folders are looked at. It appears under that name
 * when it is locked, so that a new folder is never taken for a leftover. */
#ifndef BASE_LEFTOVERS_H
#define BASE_LEFTOVERS_H

#include <keel/types.h>

/* What a daemon has in memory besides its session folder is called SESSION_SHM JOB-VPID, a folder
 * of this user's. */
#define SESSION_SHM "/dev/shm/keel-"

/* Holds a session folder. Returns the descriptor that does, to be closed by the caller, or -errno:
 * it is not held, and so never removed as a leftover. */
int leftovers_hold(const char *session) KEEL_MUST_CHECK;
/* Removes this user's session folders on this host that were held and are not any more, and what is
 * in memory with them. Others are left alone: another user's, those with more rights than 0700,
 * links. Calls over with the id of each job that has no folder left here because of that. */
void leftovers_sweep(void (*over)(const char *job));

#endif
