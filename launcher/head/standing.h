/* A standing DVM: daemons without a job of their own, on which keelruns of this host and user have
 * theirs started. It keeps the account of the nodes' slots: one keelrun at a time plans its job,
 * and takes slots until it hangs up. Everything runs on the loop. */
#ifndef LAUNCHER_HEAD_STANDING_H
#define LAUNCHER_HEAD_STANDING_H

#include <keel/buffer.h>
#include <keel/types.h>

struct hnp;
struct standing;

/* Before the daemons are started: when they stand, keelruns are listened for and the front end is
 * told. */
int standing_create(struct standing **standing, struct hnp *hnp) KEEL_MUST_CHECK;
void standing_destroy(struct standing *standing);
/* Ends the jobs, and then the DVM; when it is called again, the DVM at once. */
void standing_end(struct standing *standing);
bool standing_ends(const struct standing *standing); /* has it been called? */

/* Is it the daemon of a node that was not removed, and is not being added? */
bool standing_has(const struct standing *standing, uint32_t vpid);

/* Reports of daemons. */
int standing_hosted(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer);   /* REPORT_HOSTED */
int standing_unhosted(struct hnp *hnp, uint32_t from, opal_buffer_t *buffer); /* REPORT_UNHOSTED */

#endif
