/* Hostfiles: a line for each host, or for several, with their slots. */
#ifndef LAUNCHER_REQUEST_NODES_HOSTFILE_H
#define LAUNCHER_REQUEST_NODES_HOSTFILE_H

#include <launcher/request/nodes/node_list.h>

#define HOSTFILE_SIZE_MAX (4u << 20) /* bytes */

/* A file of at most HOSTFILE_SIZE_MAX bytes, none of them 0; malloc'd, and ended with 0. waits: it
 * may be a FIFO or a device, which blocks for file_timeout_s at most; else only a regular file. An
 * error's reason begins with "FILE: ". */
int hostfile_load(char **text, size_t *size, const char *path, bool waits, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
/* Reads a file and adds its hosts. "#" begins a comment; a line is
 *
 *   HOSTS [slots=N] [max_slots=N]
 *
 * HOSTS as in node_list_parse ("alpha", "alpha:4", "n[01-16]"). max_slots, or max-slots, alone
 * gives as many slots. An error's reason begins with "FILE:LINE: ", or "FILE: " where there is no
 * line: ORTE_ERR_BAD_PARAM, ORTE_ERR_FILE_OPEN_FAILURE, ORTE_ERR_FILE_READ_FAILURE (too large, no
 * text), ORTE_ERR_OUT_OF_RESOURCE. */
int hostfile_read(struct node_list *list, const char *path, bool waits, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
/* The same of a text, which need not end with 0; pure. path is for reasons. */
int hostfile_parse(struct node_list *list, const char *path, const char *text, size_t size,
                   char *reason, size_t reason_size) KEEL_MUST_CHECK;

#endif
