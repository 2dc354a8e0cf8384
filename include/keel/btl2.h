/* The Byte Transfer Layer, version 2.0: what programs and layers written for Open MPI 1.3 to 1.7
 * call. Names are BTL 2.0's (Open MPI's trunk, June 2012) with the prefix mca_btl2_ in place of
 * mca_btl_, so that a file may use both versions; types, values and order are its own. The header
 * <ompi/mca/btl/btl.h> of the old include paths has the old names.
 *
 * Keel has one 2.0 module for each of its 3.0 modules (keel/btl.h). keel_btl2(7) tells what differs
 * from 3.0; in short:
 *  1. A descriptor has source and destination segments, which carry keys. prepare_src and
 *     prepare_dst fill them in; the program sends the segments to its peer as they are.
 *  2. send, put and get return OPAL_SUCCESS and call des_cbfunc exactly once for each call, perhaps
 *     before they return; or an error, and then the descriptor is the caller's and nothing is
 *     called.
 *  3. Callbacks, and which threads may call what, are as in keel/btl.h, rules 3 and 4.
 */
#ifndef KEEL_BTL2_H
#define KEEL_BTL2_H

#include <keel/btl.h>

BEGIN_C_DECLS

struct mca_btl2_base_module_t;
struct mca_btl2_base_endpoint_t;
struct mca_btl2_base_descriptor_t;

/* Memory that was registered once, for several descriptors: an argument of prepare. Of the
 * original's mpool.h these are the parts that users of a BTL call. */
struct mca_mpool_base_registration_t {
    mca_mpool_base_module_t *mpool; /* whose it is */
    unsigned char *base, *bound;    /* its first and its last byte */
    int32_t ref_count;              /* its owner, and the descriptors that use it */
    uint32_t flags;                 /* MCA_BTL_REG_FLAG_* */
};
typedef struct mca_mpool_base_registration_t mca_mpool_base_registration_t;
struct mca_mpool_base_module_t {
    /* Opens memory to puts and gets of any peer; flags is not used. OPAL_ERR_OUT_OF_RESOURCE: there
     * is no room. */
    int (*mpool_register)(mca_mpool_base_module_t *mpool, void *addr, size_t size, uint32_t flags,
                          mca_mpool_base_registration_t **registration);
    /* The memory is closed when no descriptor uses it any more. */
    int (*mpool_deregister)(mca_mpool_base_module_t *mpool,
                            mca_mpool_base_registration_t *registration);
};

#define MCA_BTL2_NO_ORDER 255

/* Tags, of which 2.0 and 3.0 share one table: a tag is an application's of either. */
#define MCA_BTL2_AM_FRAMEWORK_MASK 0xD0
#define MCA_BTL2_TAG_BTL 0x20
#define MCA_BTL2_TAG_FT 0x30
#define MCA_BTL2_TAG_PML 0x40
#define MCA_BTL2_TAG_OSC_RDMA 0x60
#define MCA_BTL2_TAG_USR 0x80
#define MCA_BTL2_TAG_MAX 255
#define MCA_BTL2_TAG_IB (MCA_BTL2_TAG_BTL + 0)
#define MCA_BTL2_TAG_UDAPL (MCA_BTL2_TAG_BTL + 1)

typedef uint8_t mca_btl2_base_tag_t;

/* btl_flags. */
#define MCA_BTL2_FLAGS_SEND 0x0001
#define MCA_BTL2_FLAGS_PUT 0x0002
#define MCA_BTL2_FLAGS_GET 0x0004
#define MCA_BTL2_FLAGS_RDMA (MCA_BTL2_FLAGS_GET | MCA_BTL2_FLAGS_PUT)
#define MCA_BTL2_FLAGS_SEND_INPLACE 0x0008
#define MCA_BTL2_FLAGS_NEED_ACK 0x0010
#define MCA_BTL2_FLAGS_NEED_CSUM 0x0020
#define MCA_BTL2_FLAGS_RDMA_MATCHED 0x0040 /* one put or get of a descriptor at a time */
#define MCA_BTL2_FLAGS_RDMA_COMPLETION 0x0080
#define MCA_BTL2_FLAGS_HETEROGENEOUS_RDMA 0x0100
#define MCA_BTL2_FLAGS_FAILOVER_SUPPORT 0x0200
#define MCA_BTL2_FLAGS_CUDA_PUT 0x0400
#define MCA_BTL2_FLAGS_CUDA_GET 0x0800
#define MCA_BTL2_FLAGS_CUDA_RDMA (MCA_BTL2_FLAGS_CUDA_GET | MCA_BTL2_FLAGS_CUDA_PUT)

#define MCA_BTL2_EXCLUSIVITY_HIGH (64 * 1024)
#define MCA_BTL2_EXCLUSIVITY_DEFAULT 1024
#define MCA_BTL2_EXCLUSIVITY_LOW 0

#define MCA_BTL2_ERROR_FLAGS_FATAL 0x1
#define MCA_BTL2_ERROR_FLAGS_NONFATAL 0x2

/* A call's status by the descriptor's callback. */
typedef void (*mca_btl2_base_completion_fn_t)(struct mca_btl2_base_module_t *module,
                                              struct mca_btl2_base_endpoint_t *endpoint,
                                              struct mca_btl2_base_descriptor_t *descriptor,
                                              int status);

/* Memory, and what a peer needs to access it. The key's words are Keel's: those of a segment that a
 * peer gets are all sent. */
struct mca_btl2_base_segment_t {
    opal_ptr_t seg_addr;
    uint32_t seg_len;
    union {
        uint32_t key32[4];
        uint64_t key64[2];
        uint8_t key8[16];
    } seg_key;
};
typedef struct mca_btl2_base_segment_t mca_btl2_base_segment_t;

struct mca_btl2_base_descriptor_t {
    ompi_free_list_item_t super;
    mca_btl2_base_segment_t *des_src; /* send, put: mine; get: the peer's */
    size_t des_src_cnt;
    mca_btl2_base_segment_t *des_dst; /* receive, get: mine; put: the peer's */
    size_t des_dst_cnt;
    mca_btl2_base_completion_fn_t des_cbfunc; /* NULL: no callback */
    void *des_cbdata;                         /* the caller's */
    void *des_context;                        /* the caller's; received: the sender's endpoint */
    uint32_t des_flags;                       /* MCA_BTL2_DES_* */
    uint8_t order;                            /* valid in the completion callback */
};
typedef struct mca_btl2_base_descriptor_t mca_btl2_base_descriptor_t;
/* OBJ_CLASS_DECLARATION: for classes of an application's own that begin with a descriptor. */
extern const opal_class_t
    mca_btl2_base_descriptor_t_class KEEL_PUBLIC(mca_btl2_base_descriptor_t_class);

#define MCA_BTL2_DES_FLAGS_PRIORITY 0x0001
#define MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP 0x0002  /* the module frees it after its completion */
#define MCA_BTL2_DES_SEND_ALWAYS_CALLBACK 0x0004 /* is so without it as well */
/* For prepare: what the memory is for; a descriptor prepared so is not sent. */
#define MCA_BTL2_DES_FLAGS_PUT 0x0010
#define MCA_BTL2_DES_FLAGS_GET 0x0020

#define MCA_BTL2_DES_MAX_SEGMENTS 16

struct mca_btl2_base_header_t {
    mca_btl2_base_tag_t tag;
};
typedef struct mca_btl2_base_header_t mca_btl2_base_header_t;
#define MCA_BTL2_BASE_HEADER_HTON(hdr)
#define MCA_BTL2_BASE_HEADER_NTOH(hdr)

/* As in 3.0. Keel makes the modules itself: keel_btl2_modules. */
typedef struct mca_btl2_base_module_t **(*mca_btl2_base_component_init_fn_t)(
    int *num_btls, bool enable_progress_threads, bool enable_mpi_threads);
typedef int (*mca_btl2_base_component_progress_fn_t)(void);

/* A message arrived: its bytes are in des_dst. They and the descriptor end with the callback, and
 * are read-only. */
typedef void (*mca_btl2_base_module_recv_cb_fn_t)(struct mca_btl2_base_module_t *btl,
                                                  mca_btl2_base_tag_t tag,
                                                  mca_btl2_base_descriptor_t *descriptor,
                                                  void *cbdata);

typedef struct mca_btl2_active_message_callback_t {
    mca_btl2_base_module_recv_cb_fn_t cbfunc;
    void *cbdata;
} mca_btl2_active_message_callback_t;

/* What btl_register has set; one entry a tag, tag 255 included. */
extern mca_btl2_active_message_callback_t
    mca_btl2_base_active_message_trigger[MCA_BTL2_TAG_MAX + 1] KEEL_PUBLIC(
        mca_btl2_base_active_message_trigger);

struct mca_btl2_base_component_2_0_0_t {
    mca_base_component_t btl_version;
    mca_base_component_data_t btl_data;
    mca_btl2_base_component_init_fn_t btl_init;
    mca_btl2_base_component_progress_fn_t btl_progress;
};
typedef struct mca_btl2_base_component_2_0_0_t mca_btl2_base_component_2_0_0_t;
typedef struct mca_btl2_base_component_2_0_0_t mca_btl2_base_component_t;
typedef struct mca_btl2_base_component_2_0_0_t mca_btl2_base_component_1_0_1_t;
typedef struct mca_btl2_base_component_2_0_0_t mca_btl2_base_component_1_0_0_t;

typedef int (*mca_btl2_base_module_finalize_fn_t)(struct mca_btl2_base_module_t *btl);
/* As in 3.0, endpoints counted together with those that 3.0's btl_add_procs gave: it is the same
 * endpoint of the same peer. reachable may be NULL. */
typedef int (*mca_btl2_base_module_add_procs_fn_t)(struct mca_btl2_base_module_t *btl,
                                                   size_t nprocs, struct ompi_proc_t **procs,
                                                   struct mca_btl2_base_endpoint_t **endpoints,
                                                   struct opal_bitmap_t *reachable);
typedef int (*mca_btl2_base_module_del_procs_fn_t)(struct mca_btl2_base_module_t *btl,
                                                   size_t nprocs, struct ompi_proc_t **procs,
                                                   struct mca_btl2_base_endpoint_t **peer);
/* Sets the callback of a tag for all modules; cbfunc NULL removes it. */
typedef int (*mca_btl2_base_module_register_fn_t)(struct mca_btl2_base_module_t *btl,
                                                  mca_btl2_base_tag_t tag,
                                                  mca_btl2_base_module_recv_cb_fn_t cbfunc,
                                                  void *cbdata);
/* flags: MCA_BTL2_ERROR_FLAGS_*; errproc: the peer, or NULL; btlinfo: text, ends with the call. */
typedef void (*mca_btl2_base_module_error_cb_fn_t)(struct mca_btl2_base_module_t *btl,
                                                   int32_t flags, struct ompi_proc_t *errproc,
                                                   char *btlinfo);
typedef int (*mca_btl2_base_module_register_error_fn_t)(struct mca_btl2_base_module_t *btl,
                                                        mca_btl2_base_module_error_cb_fn_t cbfunc);
/* A descriptor whose des_src has one segment of exactly size bytes. NULL: size above
 * btl_max_send_size, or out of descriptors (try again later). */
typedef mca_btl2_base_descriptor_t *(*mca_btl2_base_module_alloc_fn_t)(
    struct mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint, uint8_t order,
    size_t size, uint32_t flags);
/* NULL: nothing happens. The memory that it registered is closed to peers from here on. */
typedef int (*mca_btl2_base_module_free_fn_t)(struct mca_btl2_base_module_t *btl,
                                              mca_btl2_base_descriptor_t *descriptor);
/* A descriptor for reserve bytes of header followed by up to *size bytes of the convertor, which
 * moves on; *size tells how many. keel_btl2(7) has what is left in place and what is packed. NULL:
 * out of descriptors, memory or regions; or registration does not cover the bytes. */
typedef struct mca_btl2_base_descriptor_t *(*mca_btl2_base_module_prepare_fn_t)(
    struct mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
    mca_mpool_base_registration_t *registration, struct opal_convertor_t *convertor, uint8_t order,
    size_t reserve, size_t *size, uint32_t flags);
/* Sends des_src. Any number of sends of a descriptor may be under way. A shortage
 * (OPAL_ERR_OUT_OF_RESOURCE, TEMP_OUT_OF_RESOURCE, RESOURCE_BUSY): try again later. */
typedef int (*mca_btl2_base_module_send_fn_t)(struct mca_btl2_base_module_t *btl,
                                              struct mca_btl2_base_endpoint_t *endpoint,
                                              struct mca_btl2_base_descriptor_t *descriptor,
                                              mca_btl2_base_tag_t tag);
/* As in 3.0; a descriptor that a shortage returns has the whole size in des_src. */
typedef int (*mca_btl2_base_module_sendi_fn_t)(struct mca_btl2_base_module_t *btl,
                                               struct mca_btl2_base_endpoint_t *endpoint,
                                               struct opal_convertor_t *convertor, void *header,
                                               size_t header_size, size_t payload_size,
                                               uint8_t order, uint32_t flags,
                                               mca_btl2_base_tag_t tag,
                                               mca_btl2_base_descriptor_t **descriptor);
/* des_src to des_dst, which have the same number of bytes in any number of segments up to
 * MCA_BTL2_DES_MAX_SEGMENTS. The remote segments are those that the peer's prepare made, or parts
 * of them with the same key. What the peer refuses comes in the callback: OPAL_ERR_PERM, the key is
 * stale or was made for another use; OPAL_ERR_VALUE_OUT_OF_BOUNDS, the bytes lie outside. */
typedef int (*mca_btl2_base_module_put_fn_t)(struct mca_btl2_base_module_t *btl,
                                             struct mca_btl2_base_endpoint_t *endpoint,
                                             struct mca_btl2_base_descriptor_t *descriptor);
typedef int (*mca_btl2_base_module_get_fn_t)(struct mca_btl2_base_module_t *btl,
                                             struct mca_btl2_base_endpoint_t *endpoint,
                                             struct mca_btl2_base_descriptor_t *descriptor);
typedef void (*mca_btl2_base_module_dump_fn_t)(struct mca_btl2_base_module_t *btl,
                                               struct mca_btl2_base_endpoint_t *endpoint,
                                               int verbose);
typedef int (*mca_btl2_base_module_ft_event_fn_t)(int state);

struct mca_btl2_base_module_t {
    mca_btl2_base_component_t *btl_component;
    size_t btl_eager_limit;
    size_t btl_rndv_eager_limit;
    size_t btl_max_send_size;
    size_t btl_rdma_pipeline_send_length;
    size_t btl_rdma_pipeline_frag_size;
    size_t btl_min_rdma_pipeline_size;
    uint32_t btl_exclusivity;
    uint32_t btl_latency;
    uint32_t btl_bandwidth; /* MB/s */
    uint32_t btl_flags;     /* MCA_BTL2_FLAGS_* */

    mca_btl2_base_module_add_procs_fn_t btl_add_procs;
    mca_btl2_base_module_del_procs_fn_t btl_del_procs;
    mca_btl2_base_module_register_fn_t btl_register;
    mca_btl2_base_module_finalize_fn_t btl_finalize;
    mca_btl2_base_module_alloc_fn_t btl_alloc;
    mca_btl2_base_module_free_fn_t btl_free;
    mca_btl2_base_module_prepare_fn_t btl_prepare_src;
    mca_btl2_base_module_prepare_fn_t btl_prepare_dst;
    mca_btl2_base_module_send_fn_t btl_send;
    mca_btl2_base_module_sendi_fn_t btl_sendi;
    mca_btl2_base_module_put_fn_t btl_put;
    mca_btl2_base_module_get_fn_t btl_get;
    mca_btl2_base_module_dump_fn_t btl_dump;

    mca_mpool_base_module_t *btl_mpool; /* registers memory for several descriptors */
    mca_btl2_base_module_register_error_fn_t btl_register_error;
    mca_btl2_base_module_ft_event_fn_t btl_ft_event;
};
typedef struct mca_btl2_base_module_t mca_btl2_base_module_t;

#define MCA_BTL2_BASE_VERSION_2_0_0                                              \
    MCA_BASE_VERSION_2_0_0, .mca_type_name = "btl", .mca_type_major_version = 2, \
                            .mca_type_minor_version = 0, .mca_type_release_version = 0

/* The modules, one for each 3.0 module that is open, in their order; between keel_init and
 * keel_finalize (keel_host_open and keel_host_close). NULL and 0: none is, or no memory. They are
 * Keel's, and valid until it closes. By a thread that may call the data plane. */
mca_btl2_base_module_t **keel_btl2_modules(size_t *count) KEEL_EXPORT;

END_C_DECLS
#endif
