/* Session folders whose daemon was killed together with its shepherd, which would have removed
 * them.
 *
 * A daemon holds its session folder by a lock on a file in it. The lock ends with the process, and
 * a later daemon removes folders that were held and are not any more. The file is named after the
 * host, so that on a shared file system each host removes only its own folders. It gets this name
 * after it is locked, so that a new folder is never taken for a leftover. */
#ifndef BASE_LEFTOVERS_H
#define BASE_LEFTOVERS_H

#include <keel/types.h>

/* A daemon's folder in memory, besides its session folder, is SESSION_SHM JOB-VPID. */
#define SESSION_SHM "/dev/shm/keel-"

/* Holds a session folder. Returns the descriptor that does, to be closed by the caller, or -errno:
 * it is not held, and so never removed as a leftover. */
int leftovers_hold(const char *session) KEEL_MUST_CHECK;
/* Removes this user's session folders on this host that were held and are not any more, and their
 * folders in memory. Folders of other users, folders with more rights than 0700 and links are left
 * alone. Calls over with the id of each job whose last folder here was removed. */
void leftovers_sweep(void (*over)(const char *job));

/* Of a folder: nobody on this host has held it; somebody has, and is gone; somebody does. */
enum hold { HOLD_NONE, HOLD_LEFT, HOLD_LIVES };
typedef void leftovers_visit_fn(void *arg, const char *job, enum hold head, enum hold others);
/* Visits this user's jobs with session folders that daemons on this host hold or have held: what is
 * so of the head's, vpid 0, and the most of the others'. Folders as in leftovers_sweep; none is
 * changed. */
void leftovers_each(leftovers_visit_fn *visit, void *arg);

#endif
