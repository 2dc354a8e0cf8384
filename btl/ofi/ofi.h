/* The ofi module: what its files, which README.md lists, share. One thread at a time. */
#ifndef BTL_OFI_H
#define BTL_OFI_H

#include <base/data/list.h>
#include <base/data/pool.h>
#include <base/data/reorder.h>
#include <btl/emulation/rdma_am.h>
#include <btl/fabric/fabric_receive.h>
#include <btl/modules/module.h>
#include <btl/ofi/provider/fabric.h>
#include <btl/ofi/wire/card.h>
#include <btl/ofi/wire/wire.h>
#include <btl/peers/peer.h>

enum {
    OFI_CALL_DEPTH = 8, /* completions inside sends nest so deep; the rest waits for progress */
    OFI_CONTROL_BYTES = 512, /* a hello or bye */
    OFI_CONTROLS = 64        /* of them in flight */
};
_Static_assert((size_t) OFI_CONTROL_BYTES >= (size_t) BTL_HELLO_MAX, "a hello fits");

typedef struct mca_btl_base_endpoint_t ofi_endpoint;
struct ofi_traits;

/* What a completion leads back to that is not a receive. The provider has context until then. */
enum ofi_op_kind { OFI_OP_SEND, OFI_OP_CONTROL, OFI_OP_RDMA };
struct ofi_op {
    struct fi_context2 context; /* first */
    enum ofi_op_kind kind;
};

/* A receive buffer: posted, or held until its turn in a peer's sequence. */
struct ofi_rx {
    struct fabric_rx rx;        /* first */
    struct reorder_frame early; /* while a peer's order keeps it */
    size_t size;                /* of what arrived */
};

/* What the provider has to send: a descriptor, control bytes, or an operation on remote memory. */
struct ofi_tx {
    struct pool_item item;
    struct ofi_op op;
    struct list link;   /* in its peer's flight */
    ofi_endpoint *peer; /* NULL: the peer is gone, and everybody was told */
    mca_btl_base_descriptor_t *descriptor;
    size_t cost; /* of the peer's window */
    uint8_t *control;
    /* OFI_OP_RDMA */
    struct rdma_call call;
    bool put, atomic;
    mca_btl_base_descriptor_t *copy; /* of the local memory, or an atomic's words; NULL: itself */
    struct fabric_mr *mr;            /* the local memory's, where the provider wants one */
    struct list by_age;              /* in the module's list */
    uint64_t deadline_us;
};

struct ofi_params {
    uint64_t rma_us;
    uint64_t silence_us; /* 0: for ever */
};

/* The provider's own put, get and atomics. */
struct ofi_native {
    bool wants_rma, wants_atomics; /* of the provider, before it is chosen */
    struct ofi_regions *regions;   /* owned; NULL: put, get and atomics go over sends */
    bool atomics;                  /* false: atomics go over sends */
    struct list by_age;            /* operations under way, the oldest first */
    uint64_t last_key;             /* of memory that is no region; below any region's key */
};

struct ofi_module {
    mca_btl_base_module_t super;  /* first */
    struct desc_set descs;        /* second */
    struct region_table *regions; /* third */
    struct btl_peers peers;
    struct btl_greeter greeter;
    struct ofi_params params;
    struct fabric fabric;
    struct ofi_card card; /* mine */
    const struct ofi_traits *traits;
    struct ofi_native native;
    struct rdma_am *am;
    struct pool txs;                 /* struct ofi_tx */
    size_t in_flight;                /* of them with the provider */
    size_t operations;               /* of them puts, gets and atomics that were not given up */
    uint8_t *controls[OFI_CONTROLS]; /* free buffers */
    size_t control_count;
    size_t inject;    /* most bytes that need no completion, header included; 0: all have one */
    size_t window;    /* bytes that may be in flight to a peer; 0: the provider sees to it */
    uint8_t *scratch; /* as many */

    struct fabric_receives rx; /* struct ofi_rx */
    struct list owing;         /* endpoints that wait for room to say that their session is lost */
    struct list abandoned;     /* transmissions that nobody waits for */
    unsigned depth;            /* of completions inside sends */
    unsigned idle_polls;       /* since the last event */
    unsigned busy_polls;
    uint64_t look_us;      /* when ofi_silence_check looks at the peers next */
    unsigned probes;       /* of their hosts that are open, about, beside first_probes */
    unsigned first_probes; /* those that outlive looks */
    uint64_t dropped;      /* frames that proved nothing */
    uint64_t busy;         /* calls that the provider had no room for */
};
BTL_MODULE_BEGINS(struct ofi_module);

static inline struct ofi_module *ofi_of(mca_btl_base_module_t *btl)
{
    return (struct ofi_module *) (void *) btl;
}

/* Takes one for an operation that the provider will be given; NULL: no more. */
struct ofi_tx *ofi_tx_get(struct ofi_module *ofi, ofi_endpoint *peer, enum ofi_op_kind kind);
/* The provider is done with it, or never had it. */
void ofi_tx_put(struct ofi_module *ofi, struct ofi_tx *tx);
/* What a libfabric call that did not start an operation means for the caller. */
int ofi_refused(struct ofi_module *ofi, ofi_endpoint *peer, ssize_t rc);

/* Without a provider yet, or any memory of its own. */
struct ofi_module *ofi_module_create(void);
extern struct btl_component btl_ofi_component;
/* All endpoints are gone. */
void ofi_module_destroy(struct ofi_module *ofi);
/* The provider's endpoint is closed: it has forgotten what was abandoned. */
void ofi_abandoned_release(struct ofi_module *ofi);
int ofi_restart(mca_btl_base_module_t *btl);
extern const struct btl_ext_ops ofi_ext;
/* Closes the endpoint of the provider's for good: every peer fails, for this reason. */
void ofi_shut(struct ofi_module *ofi, const char *why);
/* Another endpoint of the provider's and another card, after btl_peers_restart. */
int ofi_reopen(struct ofi_module *ofi) KEEL_MUST_CHECK;

/* One pass; returns the number of events. */
int ofi_poll(mca_btl_base_module_t *btl);
/* As describe of struct btl_component. */
void ofi_describe(mca_btl_base_module_t *btl, ofi_endpoint *peer, char *text, size_t size);

#endif
