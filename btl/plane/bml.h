/* Rail choice (BML): which modules reach a peer, and in what shares. */
#ifndef BTL_BML_H
#define BTL_BML_H

#include <keel/host.h>

struct bml;

/* Uses all modules of btl_modules(). */
int bml_create(struct bml **bml) KEEL_MUST_CHECK;
/* Gives back every endpoint, then frees. */
void bml_destroy(struct bml *bml);
/* These peers may have rails: 16 bytes for each, until its rails are asked for, it comes by itself,
 * or it ends. ORTE_ERR_UNREACH when a peer is known to be reached by no module (reason names it);
 * the others count all the same. */
int bml_add_procs(struct bml *bml, opal_proc_t *const *procs, size_t count, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
/* Its process has ended, as the host knows: modules whose transport would not tell let its endpoint
 * fail, and no other module takes the place of one that lost it. Calls nothing back. */
void bml_peer_ended(struct bml *bml, const opal_proc_t *proc);
/* What came of what modules reported since the last call. Rails that failed are taken out, and
 * tried again; where none is left the next best module is asked. Rails that are back are used
 * again, and the lesser ones that stood in for them are standbys. changed is called for each peer
 * whose rails are others now. Not while a module runs. */
void bml_settle(struct bml *bml, void (*changed)(opal_proc_t *proc));
/* After a restart: modules that failed count again. */
void bml_restore(struct bml *bml, void (*changed)(opal_proc_t *proc));
/* A report waits for bml_settle. A variable, since every pass looks at it. */
extern bool bml_has_news;
/* Best first; NULL: none. The first call for a peer asks the modules, class by class from the
 * highest exclusivity down, and the first class that reaches it is its rails: by latency, then
 * bandwidth; weight by bandwidth; eager for those of the lowest latency; rdma for those with put or
 * get. The array stays until bml_destroy; one of an earlier state says what was. */
const struct keel_rail *bml_rails(struct bml *bml, const opal_proc_t *proc, size_t *count);

/* The pure part, for tests: sorts candidates and fills in weight, eager, send and rdma; returns how
 * many stay. */
size_t bml_choose(struct keel_rail *rails, size_t count);

#endif
