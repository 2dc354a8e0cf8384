/* The rails to a process that can carry frames, of those that the choice of rails has for it. */
#ifndef PTL_RAIL_WAY_H
#define PTL_RAIL_WAY_H

#include <ptl/rail/rail.h>

struct rail_way {
    struct rail_module *module; /* NULL: there is none */
    struct mca_btl_base_endpoint_t *endpoint;
};

/* This rail where it leads to the process now, else the best one. */
struct rail_way rail_way_any(const opal_proc_t *proc, const struct rail_module *preferred);
/* The best one that is connected; without any the best one. */
struct rail_way rail_way_connected(const opal_proc_t *proc);

/* A frame whose rest, of size bytes, lies elsewhere than its head. */
static inline int rail_way_put(const struct rail_way *way, uint8_t *head, size_t head_size,
                               uint8_t *bytes, size_t size)
{
    const struct rail_module *module = way->module;
    opal_convertor_t rest;
    if (size > 0) {
        opal_convertor_prepare(&rest, bytes, size);
    }
    return module->ext->channel_sendi(module->btl, way->endpoint, size > 0 ? &rest : NULL, head,
                                      head_size, size, MCA_BTL_NO_ORDER, 0, RAIL_CHANNEL, RAIL_TAG,
                                      NULL);
}

#endif
