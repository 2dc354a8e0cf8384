/* Tables that take the lock (btl/lock.h): where it is used, the functions of each outermost module
 * are replaced, in its own table, by ones that take it and then call the module's. So pointers to
 * modules and endpoints stay what they are, and a process that does not use the lock has the
 * modules' own tables. */
#ifndef BTL_GUARD_H
#define BTL_GUARD_H

#include <keel/btl_ext.h>

/* Guards these modules, after all layers were added. */
int btl_guards_add(mca_btl_base_module_t **modules, size_t count) KEEL_MUST_CHECK;
/* The modules must not be used any more, or have their own functions back by themselves. */
void btl_guards_remove(void);

/* The table that has the module's own functions: changed with the lock held. */
mca_btl_base_module_t *btl_guard_table(mca_btl_base_module_t *module);
/* NULL: not guarded. */
const struct keel_btl_ext *btl_guard_ext(const mca_btl_base_module_t *module);

#endif
