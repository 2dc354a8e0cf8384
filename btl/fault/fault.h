/* Fault points of every module: a tap that fails on purpose, as the parameter fault asks for
 * (base/settings/fault.h), inside what the contract allows; only duplicate breaks it, for the
 * checking tap to find. Points: btl.any.alloc, .send, .put, .get, .atomic, .register. */
#ifndef BTL_FAULT_H
#define BTL_FAULT_H

#include <btl/modules/tap.h>

/* NULL with ORTE_SUCCESS when no rule names a point of these. */
int fault_tap_create(mca_btl_base_module_t *module, struct btl_tap **tap) KEEL_MUST_CHECK;

#endif
