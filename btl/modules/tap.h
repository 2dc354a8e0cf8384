/* Taps: what stands before a module, to lock, to hold, to check, to count or to fail on purpose.
 *
 *   caller -> table -> packed into a struct btl_call -> lock -> hold -> check -> stats -> fault
 *          -> unpacked into the module's own function
 *
 * While a module has taps, the functions of its table are replaced in place (but put, get and the
 * atomics, which pack their arguments in any case), so it keeps its address, its endpoints and its
 * limits; its own functions are kept aside (btl_own). What a module does inside of a call never
 * passes a tap: it uses its own functions. A module without taps has its own table, and costs
 * nothing. One thread at a time; where several use the data plane, the lock's tap is the first, and
 * the others come and go with the lock held. */
#ifndef BTL_TAP_H
#define BTL_TAP_H

#include <btl/interface/base.h>

/* The functions of a module's table that taps see, then those of keel_btl_ext. btl_ft_event, which
 * is told no module, is none of them. */
enum btl_slot {
    BTL_ADD_PROCS,
    BTL_DEL_PROCS,
    BTL_REGISTER,
    BTL_REGISTER_ERROR,
    BTL_FINALIZE,
    BTL_DUMP,
    BTL_ALLOC,
    BTL_FREE,
    BTL_PREPARE_SRC,
    BTL_REGISTER_MEM,
    BTL_DEREGISTER_MEM,
    BTL_SEND,
    BTL_SENDI,
    BTL_PUT,
    BTL_GET,
    BTL_ATOMIC_OP,
    BTL_ATOMIC_FOP,
    BTL_ATOMIC_CSWAP,
    BTL_FLUSH,
    BTL_PENDING_ADD,
    BTL_PENDING_REMOVE,
    BTL_WAIT_FD,
    BTL_WAIT_ARM,
    BTL_CHANNEL_REGISTER,
    BTL_SLOTS
};

/* A call of one of them: the arguments behind the module, and what it returns. */
struct btl_call {
    enum btl_slot slot;
    struct mca_btl_base_endpoint_t *endpoint; /* NULL: the slot or the call has none */
    const void *from;                         /* where it was made, for reports */
    union {
        struct {
            size_t count;
            opal_proc_t **procs;
            struct mca_btl_base_endpoint_t **endpoints;
            opal_bitmap_t *reachable; /* of add_procs */
        } procs;
        struct {
            uint8_t at; /* the tag, or the channel */
            mca_btl_base_module_recv_cb_fn_t cbfunc;
            void *cbdata;
        } receiver;
        mca_btl_base_module_error_cb_fn_t error;
        int verbose;
        struct {
            opal_convertor_t *convertor; /* of prepare_src, as reserve and *taken */
            size_t reserve, size, *taken;
            uint32_t flags;
            uint8_t order;
        } make;
        struct {
            void *base;
            size_t size;
            uint32_t flags;
        } region;
        mca_btl_base_registration_handle_t *handle; /* of deregister_mem */
        struct {
            mca_btl_base_descriptor_t *descriptor;
            mca_btl_base_tag_t tag;
            uint8_t channel; /* 0, or by channel_send of the extension */
        } send;              /* and free, which has no tag */
        struct {
            opal_convertor_t *convertor;
            void *header;
            size_t header_size, payload_size;
            mca_btl_base_descriptor_t **descriptor;
            uint32_t flags;
            uint8_t order, channel;
            mca_btl_base_tag_t tag;
        } sendi;
        struct atomic_call rdma; /* put, get and atomics; atomic is the atomics' alone */
        struct keel_btl_pending *pending;
    };
    int status;
    void *made; /* what alloc, prepare_src or register_mem returns */
};

/* From the outside in. */
enum btl_tap_place {
    BTL_TAP_LOCK,
    BTL_TAP_HOLD,
    BTL_TAP_CHECK,
    BTL_TAP_STATS,
    BTL_TAP_FAULT,
    BTL_TAP_PLACES
};

struct btl_tap;

/* All but place and call may be NULL. */
struct btl_tap_ops {
    enum btl_tap_place place;
    /* Acts, and passes the call on by btl_tap_next, or answers it itself. Before that, status is
     * OPAL_ERR_OUT_OF_RESOURCE, made NULL, and what sendi is to leave NULL. */
    void (*call)(struct btl_tap *tap, struct btl_call *call);
    /* The module received a message: it is passed on by btl_deliver_outward. */
    void (*deliver)(struct btl_tap *tap, struct mca_btl_base_endpoint_t *endpoint, uint8_t channel,
                    mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments, size_t count);
    /* The module reports that a peer (or NULL) failed; the report goes up by itself. */
    void (*failed)(struct btl_tap *tap, int32_t flags, opal_proc_t *proc);
    /* A checkpoint or restart of the module ended well: nothing is under way. */
    void (*drained)(struct btl_tap *tap);
    /* Of a tap that keeps calls back: it keeps none now; makes those that are due, and returns how
     * many; ends all with an error, for a restart. */
    bool (*is_quiet)(const struct btl_tap *tap);
    int (*progress)(struct btl_tap *tap);
    void (*end)(struct btl_tap *tap);
    void (*destroy)(struct btl_tap *tap); /* after the module's finalize */
};

struct btl_tap {
    const struct btl_tap_ops *ops;
    struct btl_taps *taps; /* borrowed */
};

/* What stands before one module. */
struct btl_taps {
    mca_btl_base_module_t *module;        /* borrowed */
    const struct keel_btl_ext *own_ext;   /* borrowed; NULL: the module has none */
    const mca_btl_base_module_t *packing; /* the functions in its table, while there are taps */
    mca_btl_base_module_t own;            /* its functions, while there are taps */
    struct keel_btl_ext ext;
    struct btl_tap *at[BTL_TAP_PLACES];
    struct btl_taps *next; /* in btl_tapped */
};

void btl_taps_init(struct btl_taps *taps, mca_btl_base_module_t *module,
                   const struct keel_btl_ext *ext);
/* After the module's finalize: destroys the taps. */
void btl_taps_fini(struct btl_taps *taps);
/* Puts the tap at its place, which is empty. */
void btl_tap_add(struct btl_taps *taps, struct btl_tap *tap);
/* The module gets its own functions back with the last one. */
void btl_tap_remove(struct btl_tap *tap);
/* Hands a call to the first tap; returns its status. */
int btl_tap_first(const mca_btl_base_module_t *module, struct btl_call *call);
/* The last step of a put, a get or an atomic (btl/modules/table.c): the component's own function,
 * unless the call is to be refused. */
int btl_make_rdma(mca_btl_base_module_t *module, const struct btl_call *call);
/* Hands a call to the next tap, or to the module; fills in what it returns. */
void btl_tap_next(const struct btl_tap *tap, struct btl_call *call);

/* Passes a message on that this tap was given: to the next one outward, or to the tag's callback.
 */
void btl_deliver_outward(const struct btl_tap *tap, struct mca_btl_base_endpoint_t *endpoint,
                         uint8_t channel, mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments,
                         size_t count);
/* del_procs of a module would end this endpoint. */
bool btl_del_ends(const mca_btl_base_module_t *module,
                  const struct mca_btl_base_endpoint_t *endpoint);

/* NULL: keel_btl_ext is the module's own. */
const struct keel_btl_ext *btl_taps_ext(const mca_btl_base_module_t *module);
/* For ft_event, of all taps. */
bool btl_taps_quiet(const struct btl_taps *taps);
void btl_taps_end(struct btl_taps *taps);
void btl_taps_drained(struct btl_taps *taps);
/* Of all modules. keep: one has to be polled for. */
int btl_taps_progress(void);
bool btl_taps_keep(void);

extern struct btl_taps *btl_tapped; /* of the modules with taps; NULL: messages pay one branch */
struct btl_taps *btl_taps_find(const mca_btl_base_module_t *module);

/* NULL: the module has no taps. */
static inline struct btl_taps *btl_taps_of(const mca_btl_base_module_t *module)
{
    return __builtin_expect(btl_tapped != NULL, false) ? btl_taps_find(module) : NULL;
}

/* The module's own functions, for calls from its own inside. */
static inline const mca_btl_base_module_t *btl_own(const mca_btl_base_module_t *module)
{
    const struct btl_taps *taps = btl_taps_of(module);
    return taps ? &taps->own : module;
}

#endif
