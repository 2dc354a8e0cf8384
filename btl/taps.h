/* Which taps stand before a module: the lock's, where several threads use the data plane, and what
 * the parameters ask for. */
#ifndef BTL_TAPS_H
#define BTL_TAPS_H

#include <btl/entry.h>

void btl_taps_register_params(void);
/* For each open module, when all are open. locks: they take the lock (btl/lock.h). reason gets the
 * text of an error. */
int btl_taps_open(bool locks, char *reason, size_t reason_size) KEEL_MUST_CHECK;

#endif
