/* An endpoint of a libfabric provider: how the provider is chosen, the objects it opens, and the
 * memory of its user's buffers. For transports over reliable datagrams (FI_EP_RDM) and datagrams
 * (FI_EP_DGRAM). One thread at a time. */
#ifndef BTL_FABRIC_H
#define BTL_FABRIC_H

#include <btl/fabric/libfabric.h>
#include <btl/sessions/fabric_address.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

struct fabric_wanted {
    const char *provider; /* its exact name: "tcp;ofi_rxm"; "": any, of hints alone */
    const char *domain;   /* its exact name; "": the first */
    const char *address;  /* the node to bind to; "": the provider's choice */
    enum fi_ep_type endpoint;
    bool rma, atomics; /* native ones */
    int mr_mode;       /* FI_MR_*: asked for though the provider may do without */
    size_t receives;   /* buffers that will be posted */
};

struct fabric_mr;

struct fabric {
    const struct libfabric *lib; /* NULL: not open */
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct fabric_mr *memory_mr; /* of the module's own memory, where the provider wants it */
    void *memory_desc;
    uint8_t *memory; /* the module's buffers */
    size_t memory_bytes, memory_used;
    struct fabric_address address; /* the endpoint's */
    bool stays; /* its objects are not closed: nobody polls them any more, and the process frees
                   them */
};

/* All that libfabric offers of a kind of endpoints on this machine, to be freed by
 * (*lib)->freeinfo; NULL and OPAL_SUCCESS: nothing. NOT_AVAILABLE with the reason: libfabric cannot
 * be loaded. */
int fabric_offers(const struct libfabric **lib, enum fi_ep_type endpoint, struct fi_info **all,
                  char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* An offer whose address leads nowhere but to its own link, and only with a scope that a card
 * lacks. */
bool fabric_is_link_local(const struct fi_info *info);
/* Loads libfabric and finds the provider: from here on fabric->info, which the caller may change.
 * NOT_AVAILABLE with the reason; to be closed in any case. fabric is zero, or was shut. */
int fabric_choose(struct fabric *fabric, const struct fabric_wanted *wanted, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
/* Opens the endpoint that was chosen; errors as above. */
int fabric_start(struct fabric *fabric, const struct fabric_wanted *wanted, char *reason,
                 size_t reason_size) KEEL_MUST_CHECK;
/* Closes the endpoint: the provider lets go of all memory that it was given. One that stays is left
 * as it is, and may write where a get of its own is under way. */
void fabric_stop(struct fabric *fabric);
/* Closes all but the module's own memory. */
void fabric_shut(struct fabric *fabric);
void fabric_close(struct fabric *fabric);
/* Maps the module's own memory, if it is not yet, and registers it where the provider wants that.
 */
int fabric_map(struct fabric *fabric, size_t size, char *reason,
               size_t reason_size) KEEL_MUST_CHECK;
/* The next piece of it, aligned to 64 bytes. */
uint8_t *fabric_carve(struct fabric *fabric, size_t size);
bool fabric_wants_local(const struct fabric *fabric);

/* ORTE/OPAL status of a libfabric error, positive or negative. */
int fabric_status(int error);
const char *fabric_strerror(const struct fabric *fabric, int error);

#endif
