/* What goes up from modules (btl/base.h), on its way through taps. */
#ifndef BTL_UPCALL_H
#define BTL_UPCALL_H

#include <btl/tap.h>

/* Passes a message on that this tap was given: to the next one outward, or to the tag's callback.
 */
void btl_deliver_outward(const struct btl_tap *tap, struct mca_btl_base_endpoint_t *endpoint,
                         uint8_t channel, mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments,
                         size_t count);
/* Forgets tags and observer; says how many messages were dropped. */
void btl_upcalls_close(void);

#endif
