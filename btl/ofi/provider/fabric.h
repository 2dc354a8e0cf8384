/* The provider of this transport: reliable datagrams, and what shm needs beyond the others. */
#ifndef BTL_OFI_FABRIC_H
#define BTL_OFI_FABRIC_H

#include <btl/fabric/fabric.h>

/* Opens an endpoint; wanted's endpoint type is not looked at. As fabric_choose and fabric_start. */
int ofi_fabric_open(struct fabric *fabric, const struct fabric_wanted *wanted, char *reason,
                    size_t reason_size) KEEL_MUST_CHECK;

#endif
