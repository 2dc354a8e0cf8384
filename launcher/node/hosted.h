/* Daemons of other jobs, which a standing daemon starts on its node: its HNP says which
 * (ORDER_HOST), and which have not ended in time (ORDER_UNHOST); it is told what they write to
 * their standard error and how they end (REPORT_HOSTED, REPORT_UNHOSTED). A job's daemons end their
 * part by themselves with their job; those that do not are killed. One that has ended it in order
 * is kept in reserve for the next job; where there is none, one is started ahead. On the loop. */
#ifndef LAUNCHER_NODE_HOSTED_H
#define LAUNCHER_NODE_HOSTED_H

#include <keel/buffer.h>
#include <keel/types.h>

struct daemon;

int hosted_start(struct daemon *daemon, opal_buffer_t *buffer); /* ORDER_HOST */
int hosted_over(struct daemon *daemon, opal_buffer_t *buffer);  /* ORDER_UNHOST */
void hosted_destroy(struct daemon *daemon);

/* The shepherd's events, also of agents, which are not hosted: false. */
bool hosted_started(struct daemon *daemon, uint32_t id, int line, int errors);
bool hosted_failed(struct daemon *daemon, uint32_t id, int error);
bool hosted_exited(struct daemon *daemon, uint32_t id, int wait_status);

#endif
