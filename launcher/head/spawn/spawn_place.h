/* Where the ranks go that a rank spawns: on the nodes that there are, as the info of its
 * MPI_Comm_spawn says. docs/mpi.md has the rules. */
#ifndef LAUNCHER_HEAD_SPAWN_PLACE_H
#define LAUNCHER_HEAD_SPAWN_PLACE_H

#include <launcher/head/hnp.h>
#include <launcher/node/orders/orders.h>

/* Keys of the info that ask for what keelrun shows of the ranks; their value is "true". */
#define SPAWN_REPORT_BINDINGS "report-bindings"
#define SPAWN_DISPLAY_MAP "display-map"
#define SPAWN_DISPLAY_ALLOCATION "display-allocation"

struct spawn_program {
    uint32_t count;
    char **info; /* owned, NULL-ended: KEY=VALUE, the keys of MPI_Comm_spawn */
};

/* Some may be idle, without a daemon (NO_DAEMON) or with one. Sets spawned's app_of, node_of,
 * local_rank_of and cpus, of which there are none before, for its app_count programs.
 * ORTE_ERR_NOT_SUPPORTED: a key that is not known, or such a value; ORTE_ERR_NOT_FOUND: a host that
 * is none of the nodes; ORTE_ERR_NOT_AVAILABLE: they need topologies, and unknown, which is empty
 * before, is set to those of its nodes that have none yet; ORTE_ERR_OUT_OF_RESOURCE: they do not
 * fit, or no memory; others are those of hostfile_read. reason says what is wrong; on success it is
 * "", or says what the user should know. Reads hostfiles. */
int spawn_place(const struct hnp *hnp, struct spawned *spawned,
                const struct spawn_program *programs, struct node_set *unknown, char *reason,
                size_t reason_size) KEEL_MUST_CHECK;

#endif
