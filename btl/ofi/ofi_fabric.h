/* The provider: how it was chosen, and its objects. */
#ifndef BTL_OFI_FABRIC_H
#define BTL_OFI_FABRIC_H

#include <btl/ofi/libfabric.h>
#include <btl/ofi/ofi_card.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

struct ofi_wanted {
    const char *provider; /* its exact name: "tcp;ofi_rxm" */
    const char *domain;   /* its exact name; "": the first */
    const char *address;  /* the node to bind to; "": the provider's choice */
    bool rma, atomics;    /* native ones */
    int mr_mode;          /* FI_MR_*: asked for though the provider may do without */
    size_t receives;      /* buffers that will be posted */
};

struct ofi_mr;

struct ofi_fabric {
    const struct libfabric *lib; /* NULL: not open */
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct ofi_mr *memory_mr; /* of the module's own memory, where the provider wants it */
    void *memory_desc;
    uint8_t *memory; /* the module's buffers */
    size_t memory_bytes, memory_used;
    struct ofi_address address; /* the endpoint's */
};

/* Opens an endpoint. NOT_AVAILABLE with the reason; to be closed in any case. fabric is zero, or
 * was shut. */
int ofi_fabric_open(struct ofi_fabric *fabric, const struct ofi_wanted *wanted, char *reason,
                    size_t reason_size) KEEL_MUST_CHECK;
/* Closes the endpoint: the provider lets go of all memory that it was given. */
void ofi_fabric_stop(struct ofi_fabric *fabric);
/* Closes all but the module's own memory. */
void ofi_fabric_shut(struct ofi_fabric *fabric);
void ofi_fabric_close(struct ofi_fabric *fabric);
/* Maps the module's own memory, if it is not yet, and registers it where the provider wants that.
 */
int ofi_fabric_map(struct ofi_fabric *fabric, size_t size, char *reason,
                   size_t reason_size) KEEL_MUST_CHECK;
/* The next piece of it, aligned to 64 bytes. */
uint8_t *ofi_fabric_carve(struct ofi_fabric *fabric, size_t size);
bool ofi_fabric_wants_local(const struct ofi_fabric *fabric);

/* ORTE/OPAL status of a libfabric error, positive or negative. */
int ofi_status(int error);
const char *ofi_strerror(const struct ofi_fabric *fabric, int error);

#endif
