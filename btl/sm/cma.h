/* Single copy between two processes' memories by process_vm_readv and process_vm_writev, where the
 * kernel allows it. */
#ifndef BTL_SM_CMA_H
#define BTL_SM_CMA_H

#include <btl/sm/segment/card.h>
#include <btl/sm/segment/process.h>

/* Reads the peer's nonce from its memory: true when the kernel allows it and the process is the one
 * whose card this is. */
bool sm_cma_probe(struct sm_process *process, uint64_t nonce_address,
                  const uint8_t nonce[SM_NONCE_BYTES]);
/* Copies all or fails: UNREACH: the process is gone; NOT_AVAILABLE: the kernel does not allow it
 * any more; ERROR: an address is not mapped, some bytes may have been copied. */
int sm_cma_copy(struct sm_process *process, bool write, void *local, uint64_t remote,
                size_t size) KEEL_MUST_CHECK;

#endif
