/* Requests for room: those that wait, and who is called when. */
#ifndef BTL_PENDING_H
#define BTL_PENDING_H

#include <btl/modules/entry.h>

/* As in struct keel_btl_ext. */
int btl_pending_add(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                    struct keel_btl_pending *request) KEEL_MUST_CHECK;
int btl_pending_remove(mca_btl_base_module_t *module, struct keel_btl_pending *request);
/* One of the module's waits. */
bool btl_pending_has(const struct btl_module_entry *entry);
/* Whether any waits; then btl_pending_call, at the end of a pass, calls those for whom there is
 * room. Returns how many. */
extern size_t btl_pending_count;
int btl_pending_call(void);

#endif
