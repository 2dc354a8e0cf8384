/* Who copies what is put or got: the peer, or this side by single copy (cma.h).
 *
 * A peer that polls copies several times as fast as the kernel does from outside: put and get go
 * through it, as requests in the ring (btl/emulation/rdma_am.h). When it has not answered for
 * btl_sm_patience, this side copies what is left, and what comes in the next while.
 *
 * Who carries out a request claims it first, by a compare-and-swap on one word in the cell of the
 * peer's board: the number of the last request that somebody has claimed (board.h). The peer claims
 * one after the other, in their order, just before it copies; this side all that are left, at once.
 * So each is carried out once: not late, over what came after it, and not again. */
#ifndef BTL_SM_HELP_H
#define BTL_SM_HELP_H

#include <btl/interface/base.h>

struct sm_module;

/* What is known of a peer's help. */
struct sm_help {
    uint32_t heard;     /* of its replies, when it was last looked at */
    unsigned looks;     /* since then, without another */
    uint64_t quiet_us;  /* when the first of these was */
    uint64_t absent_us; /* it is not asked before; 0: it is asked */
    uint64_t tail;      /* nor before it has consumed up to this position of the ring */
};

/* For rdma_am. */
bool sm_claims(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
               uint32_t number);

/* For a new ring, too. */
void sm_help_init(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint);
/* Whether the peer, whose memory could be copied from here, may be asked to copy. */
bool sm_helps(struct mca_btl_base_endpoint_t *endpoint);
/* Whether it is to copy a part of an operation that is this side's: it polls, and reads what it is
 * asked for. */
bool sm_shares(const struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint);
/* Progress's part of what is shared: copies one chunk and returns 1. Where none is left, it takes
 * over what the peer has not begun, and returns 0, as where nothing is shared. */
int sm_help_work(struct sm_module *module);
/* Progress's part, now and then: copies what one peer has left lying. */
void sm_help_check(struct sm_module *module, uint64_t now);

#endif
