/* The PMI-1 server: MPICH's process manager interface, spoken on the socket that every rank
 * inherits (PMI_FD). docs/mpi.md lists variables and commands.
 *
 * A rank's requests are answered one after the other. What ranks put goes to all daemons with the
 * next barrier, as one allgather. A client that breaks the rules is dropped; one that had begun
 * takes its job with it, for its peers would wait for ever. */
#ifndef LAUNCHER_PMI1_PMI1_H
#define LAUNCHER_PMI1_PMI1_H

#include <launcher/node/service.h>

extern const struct service_ops pmi1_service_ops;

#endif
