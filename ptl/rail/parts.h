/* A frame that is too long for a rail comes in parts: a rail brings those of one at a time. */
#ifndef PTL_RAIL_PARTS_H
#define PTL_RAIL_PARTS_H

#include <base/data/list.h>
#include <ptl/rail/wire.h>

struct mca_btl_base_endpoint_t;

struct rail_parts {
    struct list link;
    const struct mca_btl_base_endpoint_t *endpoint; /* over which they come */
    uint8_t *bytes;                                 /* owned; NULL: none have come */
    uint32_t number, size, come;
};

/* Of those in the list. NULL: none come over the rail. */
struct rail_parts *rail_parts_over(const struct list *all,
                                   const struct mca_btl_base_endpoint_t *endpoint);
/* In the place of those that came over the rail before (NULL: none). NULL: no memory. */
struct rail_parts *rail_parts_begin(struct list *all, struct rail_parts *before,
                                    const struct mca_btl_base_endpoint_t *endpoint,
                                    const struct rail_part *part);
/* Frees them; they may have been taken from the list. */
void rail_parts_end(struct rail_parts *parts);

#endif
