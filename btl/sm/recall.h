/* Puts and gets that the peer carries out, and that are taken back when it does not get to them.
 *
 * A peer that polls copies several times as fast as the kernel does from outside: put and get go
 * through it, as frames in the ring (btl/rdma_am.h). When it has not answered for btl_sm_patience,
 * they are taken back and done by single copy, and so are those of the next while.
 *
 * A put is carried out once: neither late, over what came after it, nor again, over what the peer
 * has made of it meanwhile. The peer counts in its line, before and after each put, and between
 * looks whether it was taken back; the other side says so first (sm_tx_ring_recall), and then looks
 * at the count. A full barrier lies between the two on each side, so one of them sees the other:
 * the peer does not begin, or the initiator waits until it has ended, and for the answers to all
 * that it has carried out. Gets change nothing there, and what comes of them late is ignored. */
#ifndef BTL_SM_RECALL_H
#define BTL_SM_RECALL_H

#include <btl/base.h>

struct sm_module;

/* What is known of a peer's help. */
struct sm_help {
    uint32_t heard;     /* of its replies, when it was last looked at */
    unsigned looks;     /* since then, without another */
    uint64_t quiet_us;  /* when the first of these was */
    uint64_t absent_us; /* until then it is not asked; 0: it is */
};

/* For rdma_am. */
bool sm_put_begins(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint);
void sm_put_ends(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint);

void sm_help_init(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint);
/* Whether the peer, whose memory could be copied from here, is to copy all the same. */
bool sm_helps(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint);
/* Progress's part, now and then: takes back what one peer has left lying. */
void sm_recall_check(struct sm_module *module, uint64_t now);

#endif
