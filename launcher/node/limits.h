/* The limits of this machine on what a job uses at the same time. Each call returns
 * ORTE_ERR_OUT_OF_RESOURCE if a limit is exceeded, or nearly; the reason names the limit. */
#ifndef LAUNCHER_NODE_LIMITS_H
#define LAUNCHER_NODE_LIMITS_H

#include <keel/types.h>

/* count more processes of this user. */
int limits_processes(uint64_t count, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* Pipes and sockets of this process for its ranks. Called before its services are started. */
int limits_ranks(uint64_t ranks, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* The daemons' links to this process, and where each has an agent here, what those say. Called
 * before the first daemon is started. */
int limits_daemons(uint64_t daemons, bool agents, char *reason, size_t reason_size) KEEL_MUST_CHECK;

#endif
