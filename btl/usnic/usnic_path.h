/* The path to each peer: what the checker (engine/check.h) finds, and what becomes of it. A session
 * begins with small packets, whose size is raised as larger ones have been answered. */
#ifndef BTL_USNIC_PATH_H
#define BTL_USNIC_PATH_H

#include <btl/usnic/usnic_peer.h>

/* The session has begun; or it has stalled. */
void usnic_path_begin(usnic_endpoint *peer);
void usnic_path_end(usnic_endpoint *peer);
/* A probe of this size was answered. */
void usnic_path_answered(usnic_endpoint *peer, size_t size);
/* Called by each pass of progress. */
void usnic_path_progress(struct usnic_module *usnic);

#endif
