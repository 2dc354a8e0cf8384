/* What this node's ranks do, told to the head when the user asks or the job's time is over. */
#ifndef LAUNCHER_NODE_EXPLAIN_H
#define LAUNCHER_NODE_EXPLAIN_H

#include <keel/buffer.h>

struct daemon;

int explain_ranks(struct daemon *daemon, opal_buffer_t *buffer); /* ORDER_EXPLAIN */
/* A rank has said what it does, or will not. */
void explain_looked(struct daemon *daemon);
void explain_destroy(struct daemon *daemon);

#endif
