/* What this machine lets a job have at the same time. Both say no only where it cannot be, and name
 * the limit: ORTE_ERR_OUT_OF_RESOURCE, with the reason. */
#ifndef LAUNCHER_LIMITS_H
#define LAUNCHER_LIMITS_H

#include <keel/types.h>

/* Processes of this user, besides those that there are. */
int limits_processes(uint64_t count, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* The pipes and sockets of so many ranks, in this process. */
int limits_descriptors(uint64_t ranks, char *reason, size_t reason_size) KEEL_MUST_CHECK;

#endif
