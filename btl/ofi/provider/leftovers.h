/* The provider shm keeps each endpoint in a file of /dev/shm. It has holes: where there is no room
 * for them any more, whoever writes to one is killed; so they are filled at once. And it stays
 * behind when its process is killed: endpoints get names that tell whose they are, and who opens
 * one removes those of dead processes of the same user. */
#ifndef BTL_OFI_LEFTOVERS_H
#define BTL_OFI_LEFTOVERS_H

#include <keel/types.h>
#include <sys/types.h>

enum { OFI_LEFTOVER_NAME = 64 };

/* "keel-ofi.NAMESPACE.PID": the namespace tells which processes the number is for. */
void ofi_leftover_name(char name[OFI_LEFTOVER_NAME], uint64_t space, pid_t pid);
/* The process of a file name of this namespace; 0: it is none of ours. */
pid_t ofi_leftover_owner(const char *name, uint64_t space);
/* This process's namespace of process numbers; 0: unknown. */
uint64_t ofi_leftover_space(void);
/* Fills the holes of the file; returns 0 or an errno. */
int ofi_leftover_reserve(const char *path);
/* Bytes that the folder's file system has room for; 0: unknown, or none. */
uint64_t ofi_leftover_room(const char *folder);
/* Removes what dead processes left in folder; returns how many files. */
unsigned ofi_leftovers_remove(const char *folder, uint64_t space);

#endif
