/* Endpoints: small, for a job has many that never talk. What a talking one needs is its peer. */
#ifndef BTL_OFI_ENDPOINT_H
#define BTL_OFI_ENDPOINT_H

#include <btl/ofi/ofi.h>

struct mca_btl_base_endpoint_t {
    struct list by_name; /* in its bucket */
    orte_process_name_t name;
    opal_proc_t *proc;     /* add_procs' (borrowed); NULL: not added */
    struct ofi_peer *peer; /* owned; NULL: nothing was ever said */
};

ofi_endpoint *ofi_endpoint_find(struct ofi_module *ofi, const orte_process_name_t *name);
/* There is none of this name; NULL: no memory. */
ofi_endpoint *ofi_endpoint_create(struct ofi_module *ofi, const orte_process_name_t *name);
/* As add of struct btl_component. */
ofi_endpoint *ofi_endpoint_add(mca_btl_base_module_t *btl, opal_proc_t *proc);
/* As the layers above know it: NULL where they have not added it. */
static inline ofi_endpoint *ofi_endpoint_face(ofi_endpoint *endpoint)
{
    return endpoint->proc ? endpoint : NULL;
}
/* The peer of an endpoint that is UP, else NULL and the status of an operation: OUT_OF_RESOURCE,
 * and it is on its way; UNREACH. */
struct ofi_peer *ofi_endpoint_want(struct ofi_module *ofi, ofi_endpoint *endpoint, int *status);
/* Its process has ended, as the host knows: its peer is to fail. */
void ofi_peer_ended(struct ofi_module *ofi, ofi_endpoint *endpoint);

#endif
