/* Fault points of every module: a module that stands before it and fails on purpose, as the
 * parameter fault asks for (base/fault.h), inside what the contract allows; only duplicate breaks
 * it, for the checking module to find. Points: btl.any.alloc, .send, .put, .get, .atomic,
 * .register. */
#ifndef FAULT_LAYER_H
#define FAULT_LAYER_H

#include <base/fault.h>
#include <base/list.h>
#include <btl/layer.h>

/* NULL with ORTE_SUCCESS when no rule names a point of these. */
int fault_layer_create(mca_btl_base_module_t *inner, struct btl_layer **layer) KEEL_MUST_CHECK;

/* ---- inside btl/fault ---- */

/* Operations that are held back at a time; beyond it calls are short of resources. */
#define FAULT_HELD_MAX 256

struct fault_layer {
    struct btl_layer layer; /* first */
    struct list held;       /* of struct fault_op, in the order of the calls */
    unsigned held_count;
    struct keel_btl_ext ext;
};

/* A call, to be made later or ended with an error. */
struct fault_op {
    struct list link; /* in held, while it waits */
    struct fault_layer *owner;
    uint64_t due_us;
    int status; /* OPAL_SUCCESS: the call is made when it is due; else the callback has this */
    struct mca_btl_base_endpoint_t *endpoint;
    mca_btl_base_descriptor_t *descriptor; /* of a send; NULL: a put, get or atomic */
    uint8_t channel;
    mca_btl_base_tag_t tag; /* of a send, both */
    enum call_kind kind;
    struct atomic_call call; /* the caller's; its remote handle is NULL, or remote, once held */
    unsigned char remote[MCA_BTL_REG_HANDLE_MAX_SIZE];
    bool twice; /* calls back twice */
    bool waits; /* its call is still running, and frees it */
    bool ended;
};

static inline struct fault_layer *fault_layer_of(mca_btl_base_module_t *btl)
{
    return (struct fault_layer *) (void *) btl;
}

/* What a call returns for error=NAME. */
int fault_status(int64_t error);
/* hold.c: keeps an operation back; it is the layer's from here on. False: too many are. */
bool fault_hold(struct fault_layer *layer, struct fault_op *op, int64_t delay_ms);
/* Whether a send to this endpoint is held: others wait behind it. */
bool fault_holds_send(const struct fault_layer *layer,
                      const struct mca_btl_base_endpoint_t *endpoint);
/* Whether a put, get or atomic to this endpoint (NULL: any) is held. */
bool fault_holds_rdma(const struct fault_layer *layer,
                      const struct mca_btl_base_endpoint_t *endpoint);
int fault_progress(struct btl_layer *layer);
/* Ends what is held for this endpoint (NULL: any) with an error. */
void fault_end(struct fault_layer *layer, const struct mca_btl_base_endpoint_t *endpoint);

/* ops.c */
void fault_ops_table(mca_btl_base_module_t *table);
/* Makes the call; returns what the module's function does. */
int fault_op_call(struct fault_op *op);
/* Calls back. The record is freed, or will be by its call. */
void fault_op_end(struct fault_op *op, int status);

#endif
