/* Input and output forwarding, a daemon's side: reads its ranks' stdout and stderr and sends them
 * to the HNP, within a window of bytes that the HNP has not yet written; writes what it is sent to
 * the standard input of those ranks that get it: one, or all, of which the slowest decides.
 *
 * Messages, all in the stdio class so that they keep their order; the first byte says which:
 *   daemon to HNP, RML_TAG_IOF_HNP:   IOF_OUTPUT u rank, u its pid, c stream (1, 2), b bytes
 *                                     IOF_DRAINED c whether some of it is lost
 *                                     IOF_INPUT_CREDIT u bytes; IOF_INPUT_CLOSED -
 *   HNP to daemon, RML_TAG_IOF_PROXY: IOF_INPUT b bytes (none: the end); IOF_OUTPUT_CREDIT u bytes;
 *                                     IOF_OUTPUT_CLOSED c stream: nobody reads it any more
 */
#ifndef LAUNCHER_NODE_IOF_H
#define LAUNCHER_NODE_IOF_H

#include <base/host/pty.h>
#include <base/loop/loop.h>
#include <rml/interface/core.h>

enum iof_kind {
    IOF_OUTPUT = 1,
    IOF_DRAINED,
    IOF_INPUT_CREDIT,
    IOF_INPUT_CLOSED,
    IOF_INPUT,
    IOF_OUTPUT_CREDIT,
    IOF_OUTPUT_CLOSED,
};

#define IOF_WINDOW (1024u * 1024u)      /* bytes of output under way from one daemon */
#define IOF_INPUT_WINDOW (256u * 1024u) /* bytes of input under way to the ranks of a daemon */

struct iof;

int iof_create(struct iof **iof, struct rml *rml, struct loop *loop,
               const orte_process_name_t *hnp) KEEL_MUST_CHECK;
void iof_destroy(struct iof *iof);
/* Takes the descriptor: a rank's output (stream 1 or 2; a pipe or a pty), or a rank's input. */
void iof_add_output(struct iof *iof, uint32_t rank, pid_t pid, int stream, int fd);
void iof_add_input(struct iof *iof, int fd);
/* To be called when a rank writes to a pty that nobody reads any more: a pipe would raise SIGPIPE.
 */
void iof_on_unread(struct iof *iof, void (*unread)(void *arg, uint32_t rank), void *arg);
/* The size of the ptys among the outputs. */
void iof_set_window(struct iof *iof, struct window window);
/* Output that does not come out of a descriptor. False: too much is under way, or the stream is
 * closed. */
bool iof_write(struct iof *iof, uint32_t rank, int stream, const void *data,
               size_t size) KEEL_MUST_CHECK;
/* From now on, the last end of file sends IOF_DRAINED. */
void iof_drain(struct iof *iof);

#endif
