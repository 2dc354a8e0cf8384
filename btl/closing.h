/* The end of endpoints, many at a time: what counts as sent goes out, each peer is told, and
 * answers. The hooks of struct btl_peer_hooks do it; each step is bounded by flush_us. */
#ifndef BTL_CLOSING_H
#define BTL_CLOSING_H

#include <btl/peer.h>

/* As end of struct btl_component. */
void btl_peers_end(struct btl_peers *peers, struct mca_btl_base_endpoint_t **endpoints,
                   size_t count);
/* Those that there are, for finalize: nobody gets in any more, and nothing is reported. */
void btl_peers_end_all(struct btl_peers *peers);

#endif
