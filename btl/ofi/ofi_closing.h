/* The end of peers: byes, del_procs, restarts. */
#ifndef BTL_OFI_CLOSING_H
#define BTL_OFI_CLOSING_H

#include <btl/ofi/ofi_peer.h>

/* Everything that the peer sent before has been taken. */
void ofi_bye_received(struct ofi_module *ofi, struct ofi_peer *peer);
/* As end of struct btl_component: lets what is in flight end, says BYE, ends the endpoints. Bounded
 * by btl_ofi_flush_timeout_ms. */
void ofi_endpoints_end(mca_btl_base_module_t *btl, ofi_endpoint **endpoints, size_t count);
/* For a restart: ends all operations with an error; every endpoint is idle and knows no address,
 * broken ones included; those that nobody added are gone. */
void ofi_endpoints_restart(struct ofi_module *ofi);

#endif
