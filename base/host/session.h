/* The session folder: where a daemon, or the ranks of a node that have none, keep sockets and small
 * files for one job.
 *
 *   $XDG_RUNTIME_DIR/keel/JOB/VPID    when that is set, exists and belongs to this user, else
 *   $TMPDIR/keel-UID/JOB/VPID         (/tmp when TMPDIR is not set or is no folder), else
 *   $TMPDIR/keel-UID-RANDOM/JOB/VPID  when another user has made a keel-UID there
 *
 * Every folder of ours is 0700 and checked by descriptor: one that another user made, that others
 * may enter, or that is a link is refused. */
#ifndef BASE_HOST_SESSION_H
#define BASE_HOST_SESSION_H

#include <keel/types.h>
#include <stdint.h>

/* What a file's name in the folder may need: with a slash and this many characters, its path still
 * fits a socket address. */
#define SESSION_NAME_MAX 22

/* Where the folder of a daemon is or will be; nothing is made. So that it can be guarded before it
 * exists. *path is malloc'd; uuid is 32 hex digits. On error, reason says what is wrong and where:
 * ORTE_ERR_BAD_PARAM (not a uuid, or characters that a contact string cannot hold),
 * ORTE_ERR_VALUE_OUT_OF_BOUNDS (the path is too long). */
int session_path(char **path, const char *uuid, uint32_t vpid, char *reason,
                 size_t reason_size) KEEL_MUST_CHECK;
/* Makes the folder at a path of session_path, and those above it. ORTE_ERR_PERM: one is not ours
 * alone; ORTE_EXISTS: the daemon's own is there already; ORTE_ERR_FILE_OPEN_FAILURE: anything else.
 */
int session_open(const char *path, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* Both, for a folder that the processes of a node share, which may be there already. */
int session_share(char **path, const char *uuid, uint32_t node, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
/* Removes a shared folder, JOB and the folder above it, each if it is empty. */
void session_leave(const char *path);
/* Removes the folder of session_path with all it holds, then JOB and the folder above it if they
 * are empty. Of a path that ends with '*', as in glob(3), every folder that matches is removed. */
void session_remove(const char *path);

/* Is the name a job's id, as that of a job's folder? */
bool session_is_job(const char *name);
/* Calls fn for each place where this user's jobs may have their folders: name, in the open folder
 * dir. The place may not exist, or may be a file of any kind and owner. */
void session_each_place(void (*fn)(void *arg, int dir, const char *name), void *arg);

/* Removes a folder with everything in it, if it belongs to this user; links are removed, not
 * followed, and other file systems not entered. 0 or -errno (what could not be removed stays). */
int folder_remove(const char *path);
int folder_remove_at(int dir, const char *path); /* in an open folder, as openat(2) */

#endif
