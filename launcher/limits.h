/* What this machine lets a job have at the same time. Each says no where it cannot be, or only
 * just, and names the limit: ORTE_ERR_OUT_OF_RESOURCE, with the reason. */
#ifndef LAUNCHER_LIMITS_H
#define LAUNCHER_LIMITS_H

#include <keel/types.h>

/* Processes of this user, besides those that there are. */
int limits_processes(uint64_t count, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* The pipes and sockets of so many ranks, in this process; before its services are started. */
int limits_ranks(uint64_t ranks, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* The links of so many daemons to this process; before the first is started. */
int limits_daemons(uint64_t daemons, char *reason, size_t reason_size) KEEL_MUST_CHECK;

#endif
