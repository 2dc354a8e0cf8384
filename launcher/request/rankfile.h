/* The files of --map-by rankfile and seq; docs/mapping.md draws them. Errors are as in hostfile.h.
 */
#ifndef LAUNCHER_REQUEST_RANKFILE_H
#define LAUNCHER_REQUEST_RANKFILE_H

#include <launcher/request/nodes/node_list.h>
#include <launcher/request/placement.h>

/* Lines "rank N=HOST [slot=CPUS]", one for each rank from 0 on. Sets ranks, rank_count and file. */
int rankfile_read(struct placement *placement, const char *path, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
/* The same of a text of size bytes; pure. */
int rankfile_parse(struct placement *placement, const char *path, const char *text, size_t size,
                   char *reason, size_t reason_size) KEEL_MUST_CHECK;
void rankfile_free(struct rank_place *ranks, uint32_t count);

/* A hostfile of which each line is a rank: sets sequence and file. */
int sequence_read(struct placement *placement, const char *path, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
/* The same of hosts that were read; takes their names. */
int sequence_set(struct placement *placement, struct node_list *list,
                 const char *path) KEEL_MUST_CHECK;

/* "0-3,8" */
bool cpu_list_ok(const char *text);
/* What stands behind "slot=": "0-3,8", "*", or one of these behind "PACKAGES:". */
bool rank_cpus_ok(const char *text);

#endif
