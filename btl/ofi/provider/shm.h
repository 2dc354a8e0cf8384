/* What the provider shm needs beyond the others: its endpoint is a file in /dev/shm. */
#ifndef BTL_OFI_SHM_H
#define BTL_OFI_SHM_H

#include <btl/fabric/fabric.h>

bool ofi_is_shm(const struct fabric_wanted *wanted);
/* Before the endpoint is opened: gives it a name that tells whose it is, and removes what the dead
 * have left. */
void ofi_shm_name(struct fabric *fabric);
/* Has all of the endpoint's file made: later a process would be killed when there is no room.
 * Returns 0 or libfabric's negative error. */
int ofi_shm_reserve(const struct fabric *fabric);
/* Adds to a reason how full the folder is, which the provider does not say. */
void ofi_shm_explain(char *reason, size_t reason_size);

#endif
