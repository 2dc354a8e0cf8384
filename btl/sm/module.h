/* The module's and its endpoints' state. One thread at a time.
 *
 * An endpoint that ended lingers until its peer reads no more; progress frees it. */
#ifndef BTL_SM_MODULE_H
#define BTL_SM_MODULE_H

#include <base/data/list.h>
#include <base/data/pool.h>
#include <btl/emulation/rdma_am.h>
#include <btl/modules/module.h>
#include <btl/peers/peer.h>
#include <btl/sm/cma.h>
#include <btl/sm/help.h>
#include <btl/sm/pace.h>
#include <btl/sm/peer.h>
#include <btl/sm/regions.h>
#include <btl/sm/segment/segment.h>

/* Most completions of puts and gets in one pass; callbacks may add more as they go. */
#define SM_COMPLETE_MAX 256

struct sm_params {
    size_t eager_limit, eager_count;
    size_t max_send_size, max_send_count;
    size_t inline_limit;
    uint32_t ring_slots, max_peers, max_regions;
    enum sm_backing_choice backing;
    bool use_cma;
    uint32_t patience_us;
    bool bell; /* also where it costs the peers barriers */
};

enum sm_cma_state { SM_CMA_UNTRIED, SM_CMA_WORKS, SM_CMA_OFF };

/* What goes to the peer. */
struct sm_tx {
    bool open;    /* the ring exists and is announced */
    bool ready;   /* and the peer is UP: the one thing that sends look at */
    bool stalled; /* a send found the ring full */
    struct sm_tx_ring ring;
    const _Atomic uint32_t *sleeps; /* of the peer's bell; */
    uint32_t hush;                  /* while it is this, nobody needs to be rung for */
    uint32_t ring_index;            /* in my segment */
    struct sm_claim claim;
    struct list inflight; /* of struct desc_send: what the peer may still read, in ring order */
    struct list link;     /* in module->waiting while something is in flight or stalled */
};

/* What comes from the peer. */
struct sm_rx {
    bool open;
    bool closing;  /* the peer closed its ring: what is in it is all */
    bool hot;      /* in module->hot, else in module->quiet */
    unsigned idle; /* polls without a message */
    struct sm_rx_ring ring;
    uint32_t cell; /* of my board */
    uint32_t hot_index;
    struct list link;
    bool behind; /* the last pass left messages in the ring */
};

/* tx and what rx_poll needs of rx begin at a cache line each. */
struct mca_btl_base_endpoint_t {
    struct btl_peer life; /* first; UP: its segment is mapped */
    struct sm_peer *peer; /* owned; NULL: its card has not come */
    enum sm_cma_state cma;
    bool given_up; /* it fails from progress, and its ring is not read any more */
    struct sm_tx tx;
    struct sm_rx rx;
    struct rdma_am_peer am;
    struct sm_help help;  /* of the peer's with puts and gets */
    struct sm_pace *pace; /* owned; NULL: no put or get was long enough yet */
    struct sm_process process;
    struct sm_card card;
    struct list lingering; /* in the module's */
    char *refusal;         /* owned; NULL, or why its segment could not be mapped */
};

/* A put or get that is done and waits for progress to call back. */
struct sm_op {
    struct list link;
    struct mca_btl_base_endpoint_t *endpoint;
    struct rdma_call call;
    int status;
};

/* For btl/framework/stats.h. */
struct sm_counts {
    uint64_t copies, copied_bytes, by_target, shared, stalls;
};

struct sm_module {
    mca_btl_base_module_t super; /* first */
    struct sm_counts counts;
    struct sm_params params;
    uint32_t node, local_rank;
    struct sm_segment *segment;
    struct sm_bell bell;
    struct desc_set descs; /* their payloads are the segment's fragments */
    struct region_table *regions;
    struct rdma_am *am;
    struct pool ops;

    struct list lingering; /* endpoints that broke or ended; the peers may still read their rings */
    struct btl_peers peers;
    struct list waiting;  /* endpoints, by tx.link */
    struct list done_ops; /* struct sm_op */

    struct mca_btl_base_endpoint_t **hot; /* open rx, polled in every pass; max_peers of them */
    uint32_t hot_count;
    struct list quiet;                      /* open rx without traffic: one is polled a pass */
    struct mca_btl_base_endpoint_t **cells; /* who writes the ring announced in a cell */
    uint64_t doorbell;                      /* as last seen */
    bool rescan; /* an announcement waits for an older ring of the same peer to drain */

    uint32_t *free_rings; /* a stack */
    uint32_t free_ring_count;
    uint32_t rings_made;
    bool warned; /* of a lack of memory */
    uint32_t passes;
    uint64_t checked_us; /* when the peers waited for were last checked to be alive */
};

static inline struct sm_module *sm_of(mca_btl_base_module_t *btl)
{
    return (struct sm_module *) (void *) btl;
}

/* module.c */
int sm_module_create(struct sm_module **module, const struct sm_params *params, char *reason,
                     size_t reason_size) KEEL_MUST_CHECK;
int sm_module_progress(mca_btl_base_module_t *btl);
int sm_module_restart(mca_btl_base_module_t *btl);
/* For a segment whose card no peer has: makes its bell, if it can have one. */
void sm_module_open_bell(struct sm_module *module);
/* As sm_segment_commit; the first shortage leaves a warning: what needs memory waits from here on.
 */
int sm_commit(struct sm_module *module, enum sm_area area, uint32_t count) KEEL_MUST_CHECK;
/* Whether a descriptor for size bytes may be taken: every fragment that the pools would hand out
 * has memory. */
bool sm_fragment_ready(struct sm_module *module, size_t size);

/* component.c */
extern struct btl_component btl_sm_component;
/* The card, under the key of the module's life. */
int sm_publish_card(const struct sm_module *module) KEEL_MUST_CHECK;

extern const struct btl_ext_ops sm_ext;
/* module.c: describe of struct btl_component. */
void sm_describe(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, char *text,
                 size_t size);

/* endpoint.c: add, ended and fail of struct btl_component. */
struct mca_btl_base_endpoint_t *sm_endpoint_add(mca_btl_base_module_t *btl, opal_proc_t *proc);
void sm_endpoint_ended(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint);
void sm_endpoint_give_up(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                         const char *why);
extern const struct btl_peer_hooks sm_peer_hooks;
/* Of a peer that is not UP: asks for the card and maps the peer's segment. SUCCESS: it is mapped;
 * OUT_OF_RESOURCE: its card is on its way, or progress is about to report why it fails; UNREACH. */
int sm_endpoint_open(struct sm_module *module,
                     struct mca_btl_base_endpoint_t *endpoint) KEEL_MUST_CHECK;
/* The endpoint of a process that announces a ring and shows this card; made where there is none.
 * NULL: it is not to be read. Without a segment: the card that it published is on its way. */
struct mca_btl_base_endpoint_t *sm_endpoint_meet(struct sm_module *module,
                                                 const orte_process_name_t *name,
                                                 const struct sm_card *card);
/* From now on sends are refused; progress completes what is in flight with an error and reports
 * why. corrupt: the peer broke the rules, and nothing of it is read any more. Nothing is called
 * back from here. */
void sm_endpoint_fail(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                      bool corrupt, const char *why);
/* Where a peer no longer reads, and all that it wrote was taken: if it has left this process, and
 * nothing is under way to it, the next send announces another ring; else that is a failure. */
void sm_endpoint_left(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint);
/* Now and then: frees those that ended, finds peers that died or no longer read. */
void sm_endpoints_check(struct sm_module *module);
/* For a restart: as btl_peers_restart, and those that ended are freed. */
void sm_endpoints_restart(struct sm_module *module);
/* For finalize: frees all, whatever the peers still do. */
void sm_endpoints_destroy(struct sm_module *module);

/* send.c */
int sm_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
            mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag);
int sm_channel_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    mca_btl_base_descriptor_t *descriptor, uint8_t channel, mca_btl_base_tag_t tag);
int sm_channel_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     opal_convertor_t *convertor, void *header, size_t header_size,
                     size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                     mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor);
int sm_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
             opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
             uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
             mca_btl_base_descriptor_t **descriptor);
/* Moves what the peers have consumed to what is done. */
void sm_tx_collect(struct sm_module *module);
/* The same for one peer. Negative: the peer's count of consumed slots is impossible. */
int sm_tx_settle(struct sm_module *module,
                 struct mca_btl_base_endpoint_t *endpoint) KEEL_MUST_CHECK;
/* Refuses sends from now on; completes those that the peer has consumed. What it was asked for and
 * has not begun it never will. */
void sm_tx_halt(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint);
/* Ends the sending side, which is halted: completes what is in flight with status, tells the peer.
 * The ring and its fragments stay until sm_tx_release. */
void sm_tx_stop(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint, int status);
/* The peer no longer reads: ring and fragments are free. */
void sm_tx_release(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint);

/* receive.c */
int sm_rx_progress(struct sm_module *module);
/* Whether there is anything to take now; then the next pass takes some. */
bool sm_rx_due(struct sm_module *module);
/* refuses: for good. */
void sm_rx_stop(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint, bool refuses);

/* rdma.c */
mca_btl_base_registration_handle_t *sm_register_mem(mca_btl_base_module_t *btl,
                                                    struct mca_btl_base_endpoint_t *endpoint,
                                                    void *base, size_t size, uint32_t flags);
int sm_deregister_mem(mca_btl_base_module_t *btl, mca_btl_base_registration_handle_t *handle);
int sm_rdma(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
            const struct rdma_call *call, bool put);
int sm_atomic(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
              const struct atomic_call *call);
/* Calls back for what is done; returns how many. */
int sm_ops_complete(struct sm_module *module);
/* By single copy, for btl/emulation/rdma_am.h. NOT_AVAILABLE: nothing
 * happened, and single copy is over for this peer. */
int sm_copy_rest(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, bool put,
                 const struct rdma_call *rest);
/* The same at the target, where it is told the peer's address; the region was checked. */
int sm_reach(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, bool put,
             void *here, uint64_t there, size_t size);
/* For the same: how long one took that the target had a part in. */
void sm_time_of_asked(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      bool put, bool shared, size_t size, uint64_t began_ns);
/* Only those of one endpoint, now. */
void sm_ops_flush(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint);

#endif
