/* keel_btl_ext of every module. */
#ifndef BTL_EXT_H
#define BTL_EXT_H

#include <btl/entry.h>

void btl_ext_register_params(void);
/* Fills entry->ext. */
void btl_ext_init(struct btl_module_entry *entry);

#endif
