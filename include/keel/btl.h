/* The Byte Transfer Layer, version 3.0: active messages, put, get and atomics over one transport.
 *
 * Names, types, values and order are BTL 3.0's (Open MPI, February 2015). docs/btl.md is the
 * contract in full; in short:
 *  1. send returns 1: done, no callback unless SEND_ALWAYS_CALLBACK asks for one; 0: the module has
 *     the descriptor, one callback will come, perhaps before the call returns; negative: the caller
 *     still owns the descriptor, no callback.
 *  2. put and get return 0 and call back exactly once (again perhaps before they return), or are
 *     negative and never call back. A caller accepts 1 (done, no callback) as well.
 *  3. Callbacks and received messages come from the calling thread, inside the module's calls and
 *     inside progress. No lock is held. They may call every function but del_procs, which returns
 *     RESOURCE_BUSY there, and finalize. keel_finalize and keel_host_close are refused, too.
 *  4. One thread at a time calls the modules of a process, unless the program asks for more:
 *     keel_threads(7). Then callbacks come from any of the threads in Keel, or from the progress
 *     thread, one at a time, with a lock of Keel's held that their own calls may take again.
 */
#ifndef KEEL_BTL_H
#define KEEL_BTL_H

#include <keel/bitmap.h>
#include <keel/convertor.h>
#include <keel/object.h>
#include <keel/types.h>

BEGIN_C_DECLS

struct mca_btl_base_module_t;
struct mca_btl_base_endpoint_t;
struct mca_btl_base_descriptor_t;

/* The head of a descriptor: its place in the pool that it came from. */
struct ompi_free_list_item_t {
    opal_object_t super;
    struct ompi_free_list_item_t *next; /* while free */
    void *pool;                         /* owner; borrowed */
};
typedef struct ompi_free_list_item_t ompi_free_list_item_t;

struct mca_mpool_base_module_t;
typedef struct mca_mpool_base_module_t mca_mpool_base_module_t;

/* A registration handle: btl_registration_handle_size flat bytes, to be sent to peers as they are.
 */
struct mca_btl_base_registration_handle_t;
typedef struct mca_btl_base_registration_handle_t mca_btl_base_registration_handle_t;

/* For register_mem: whichever endpoint. */
#define MCA_BTL_ENDPOINT_ANY (struct mca_btl_base_endpoint_t *) -1

typedef uint8_t mca_btl_base_tag_t;

#define MCA_BTL_NO_ORDER 255

/* Tag classes of the original's frameworks. All tags from 0 to 255 are an application's to use. */
#define MCA_BTL_AM_FRAMEWORK_MASK 0xD0
#define MCA_BTL_TAG_BTL 0x20
#define MCA_BTL_TAG_PML 0x40
#define MCA_BTL_TAG_OSC_RDMA 0x60
#define MCA_BTL_TAG_USR 0x80
#define MCA_BTL_TAG_MAX 255
#define MCA_BTL_TAG_IB (MCA_BTL_TAG_BTL + 0)
#define MCA_BTL_TAG_UDAPL (MCA_BTL_TAG_BTL + 1)
#define MCA_BTL_TAG_SMCUDA (MCA_BTL_TAG_BTL + 2)

/* btl_flags: what a module can do. */
#define MCA_BTL_FLAGS_SEND 0x0001
#define MCA_BTL_FLAGS_PUT 0x0002
#define MCA_BTL_FLAGS_GET 0x0004
#define MCA_BTL_FLAGS_RDMA (MCA_BTL_FLAGS_GET | MCA_BTL_FLAGS_PUT)
#define MCA_BTL_FLAGS_SEND_INPLACE 0x0008 /* sends from user memory without registration */
#define MCA_BTL_FLAGS_NEED_ACK 0x0010
#define MCA_BTL_FLAGS_NEED_CSUM 0x0020
#define MCA_BTL_FLAGS_RDMA_MATCHED 0x0040 /* deprecated in 3.0 */
#define MCA_BTL_FLAGS_RDMA_COMPLETION 0x0080
#define MCA_BTL_FLAGS_HETEROGENEOUS_RDMA 0x0100
#define MCA_BTL_FLAGS_FAILOVER_SUPPORT 0x0200
#define MCA_BTL_FLAGS_CUDA_PUT 0x0400
#define MCA_BTL_FLAGS_CUDA_GET 0x0800
#define MCA_BTL_FLAGS_CUDA_RDMA (MCA_BTL_FLAGS_CUDA_GET | MCA_BTL_FLAGS_CUDA_PUT)
#define MCA_BTL_FLAGS_CUDA_COPY_ASYNC_SEND 0x1000
#define MCA_BTL_FLAGS_CUDA_COPY_ASYNC_RECV 0x2000
#define MCA_BTL_FLAGS_SIGNALED 0x4000
#define MCA_BTL_FLAGS_ATOMIC_OPS 0x08000
#define MCA_BTL_FLAGS_ATOMIC_FOPS 0x10000

#define MCA_BTL_EXCLUSIVITY_HIGH (64 * 1024)
#define MCA_BTL_EXCLUSIVITY_DEFAULT 1024
#define MCA_BTL_EXCLUSIVITY_LOW 0

#define MCA_BTL_ERROR_FLAGS_FATAL 0x1
#define MCA_BTL_ERROR_FLAGS_NONFATAL 0x2
#define MCA_BTL_ERROR_FLAGS_ADD_CUDA_IPC 0x4

/* What a registered region may be used for. */
enum {
    MCA_BTL_REG_FLAG_LOCAL_WRITE = 0x00000001,   /* target of my own get */
    MCA_BTL_REG_FLAG_REMOTE_READ = 0x00000002,   /* source of a peer's get */
    MCA_BTL_REG_FLAG_REMOTE_WRITE = 0x00000004,  /* target of a peer's put */
    MCA_BTL_REG_FLAG_REMOTE_ATOMIC = 0x00000008, /* target of a peer's atomics */
    MCA_BTL_REG_FLAG_ACCESS_ANY = 0x0000000f,
};

enum {
    MCA_BTL_ATOMIC_SUPPORTS_ADD = 0x00000001,
    MCA_BTL_ATOMIC_SUPPORTS_AND = 0x00000200,
    MCA_BTL_ATOMIC_SUPPORTS_OR = 0x00000400,
    MCA_BTL_ATOMIC_SUPPORTS_XOR = 0x00000800,
    MCA_BTL_ATOMIC_SUPPORTS_CSWAP = 0x10000000,
    MCA_BTL_ATOMIC_SUPPORTS_GLOB = 0x20000000, /* may be mixed with the CPU's atomics */
};

enum mca_btl_base_atomic_op_t {
    MCA_BTL_ATOMIC_ADD = 0x0001,
    MCA_BTL_ATOMIC_AND = 0x0011,
    MCA_BTL_ATOMIC_OR = 0x0012,
    MCA_BTL_ATOMIC_XOR = 0x0014,
};
typedef enum mca_btl_base_atomic_op_t mca_btl_base_atomic_op_t;

/* A send completed: the descriptor may be used again or freed. */
typedef void (*mca_btl_base_completion_fn_t)(struct mca_btl_base_module_t *module,
                                             struct mca_btl_base_endpoint_t *endpoint,
                                             struct mca_btl_base_descriptor_t *descriptor,
                                             int status);
/* A put, get or atomic completed: it is visible at the target, local memory may be changed and
 * local_handle deregistered. */
typedef void (*mca_btl_base_rdma_completion_fn_t)(
    struct mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
    void *local_address, struct mca_btl_base_registration_handle_t *local_handle, void *context,
    void *cbdata, int status);

struct mca_btl_base_segment_t {
    opal_ptr_t seg_addr;
    uint64_t seg_len;
};
typedef struct mca_btl_base_segment_t mca_btl_base_segment_t;

struct mca_btl_base_descriptor_t {
    ompi_free_list_item_t super;
    mca_btl_base_segment_t *des_segments; /* sender: what to send; receiver: what arrived */
    size_t des_segment_count;
    mca_btl_base_completion_fn_t des_cbfunc; /* NULL: no callback */
    void *des_cbdata;                        /* the caller's */
    void *des_context;                       /* the caller's */
    uint32_t des_flags;                      /* MCA_BTL_DES_* */
    uint8_t order;                           /* valid in the completion callback */
};
typedef struct mca_btl_base_descriptor_t mca_btl_base_descriptor_t;
/* OBJ_CLASS_DECLARATION: for classes of an application's own that begin with a descriptor. */
extern const opal_class_t
    mca_btl_base_descriptor_t_class KEEL_PUBLIC(mca_btl_base_descriptor_t_class);

#define MCA_BTL_DES_FLAGS_PRIORITY 0x0001
#define MCA_BTL_DES_FLAGS_BTL_OWNERSHIP 0x0002 /* the module frees it after its completion */
#define MCA_BTL_DES_SEND_ALWAYS_CALLBACK 0x0004
#define MCA_BTL_DES_FLAGS_CUDA_COPY_ASYNC 0x0008
#define MCA_BTL_DES_FLAGS_PUT 0x0010
#define MCA_BTL_DES_FLAGS_GET 0x0020
#define MCA_BTL_DES_FLAGS_SIGNAL 0x0040

#define MCA_BTL_DES_MAX_SEGMENTS 16
#define MCA_BTL_SEG_MAX_SIZE 256
#define MCA_BTL_REG_HANDLE_MAX_SIZE 256

struct mca_btl_base_header_t {
    mca_btl_base_tag_t tag;
};
typedef struct mca_btl_base_header_t mca_btl_base_header_t;
#define MCA_BTL_BASE_HEADER_HTON(hdr)
#define MCA_BTL_BASE_HEADER_NTOH(hdr)

/* Finds the transport's devices and makes a module for each; publishes their cards. Returns a
 * malloc'd array of *num_btls modules (the framework frees the array), or NULL and 0. */
typedef struct mca_btl_base_module_t **(*mca_btl_base_component_init_fn_t)(
    int *num_btls, bool enable_progress_threads, bool enable_mpi_threads);
/* Polls; returns the number of events. */
typedef int (*mca_btl_base_component_progress_fn_t)(void);

/* A message arrived. The descriptor and its bytes end with the callback. The bytes are read-only:
 * they may be the sender's own, or lie where a write faults. A callback that changes them copies
 * them first. */
typedef void (*mca_btl_base_module_recv_cb_fn_t)(struct mca_btl_base_module_t *btl,
                                                 mca_btl_base_tag_t tag,
                                                 mca_btl_base_descriptor_t *descriptor,
                                                 void *cbdata);

typedef struct mca_btl_active_message_callback_t {
    mca_btl_base_module_recv_cb_fn_t cbfunc;
    void *cbdata;
} mca_btl_active_message_callback_t;

/* One entry a tag. The seed sizes the table MCA_BTL_TAG_MAX, which leaves no room for tag 255. */
extern mca_btl_active_message_callback_t
    mca_btl_base_active_message_trigger[MCA_BTL_TAG_MAX + 1] KEEL_PUBLIC(
        mca_btl_base_active_message_trigger);

struct mca_btl_base_component_3_0_0_t {
    mca_base_component_t btl_version;
    mca_base_component_data_t btl_data;
    mca_btl_base_component_init_fn_t btl_init;
    mca_btl_base_component_progress_fn_t btl_progress;
};
typedef struct mca_btl_base_component_3_0_0_t mca_btl_base_component_3_0_0_t;
typedef struct mca_btl_base_component_3_0_0_t mca_btl_base_component_t;
typedef struct mca_btl_base_component_3_0_0_t mca_btl_base_component_2_0_0_t;

typedef int (*mca_btl_base_module_finalize_fn_t)(struct mca_btl_base_module_t *btl);
/* Fills endpoints[i] (NULL: not reachable) and sets bit i of reachable (which may be NULL). A peer
 * that was added before has the same endpoint; how often it was added is counted. */
typedef int (*mca_btl_base_module_add_procs_fn_t)(struct mca_btl_base_module_t *btl, size_t nprocs,
                                                  struct opal_proc_t **procs,
                                                  struct mca_btl_base_endpoint_t **endpoints,
                                                  struct opal_bitmap_t *reachable);
/* An endpoint that was deleted as often as it was added ends: what is in flight completes once
 * each, with success or an error, and the endpoint is freed. BAD_PARAM: one was deleted more often
 * than the caller added it (those of keel_rails are Keel's); the others are deleted all the same.
 * RESOURCE_BUSY: called in a callback; nothing happened. */
typedef int (*mca_btl_base_module_del_procs_fn_t)(struct mca_btl_base_module_t *btl, size_t nprocs,
                                                  struct opal_proc_t **procs,
                                                  struct mca_btl_base_endpoint_t **peer);
/* Sets the callback of a tag for all modules; cbfunc NULL removes it. */
typedef int (*mca_btl_base_module_register_fn_t)(struct mca_btl_base_module_t *btl,
                                                 mca_btl_base_tag_t tag,
                                                 mca_btl_base_module_recv_cb_fn_t cbfunc,
                                                 void *cbdata);
/* flags: MCA_BTL_ERROR_FLAGS_*; errproc: the peer, or NULL; btlinfo: text, ends with the call. */
typedef void (*mca_btl_base_module_error_cb_fn_t)(struct mca_btl_base_module_t *btl, int32_t flags,
                                                  struct opal_proc_t *errproc, char *btlinfo);
typedef int (*mca_btl_base_module_register_error_fn_t)(struct mca_btl_base_module_t *btl,
                                                       mca_btl_base_module_error_cb_fn_t cbfunc);
/* A descriptor with one segment of exactly size bytes. NULL: size above btl_max_send_size, or out
 * of descriptors (try again later). The caller frees it, or sends it with BTL_OWNERSHIP. */
typedef mca_btl_base_descriptor_t *(*mca_btl_base_module_alloc_fn_t)(
    struct mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, uint8_t order,
    size_t size, uint32_t flags);
/* NULL: nothing happens. */
typedef int (*mca_btl_base_module_free_fn_t)(struct mca_btl_base_module_t *btl,
                                             mca_btl_base_descriptor_t *descriptor);
/* A descriptor for reserve bytes of header followed by up to *size bytes from the convertor, which
 * moves on; *size tells how many. With SEND_INPLACE and contiguous data the second segment is the
 * user's memory, which must stay unchanged until the send completes. */
typedef struct mca_btl_base_descriptor_t *(*mca_btl_base_module_prepare_fn_t)(
    struct mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
    struct opal_convertor_t *convertor, uint8_t order, size_t reserve, size_t *size,
    uint32_t flags);
/* Opens a region to put, get and atomics, from one endpoint or any; flags MCA_BTL_REG_FLAG_*. The
 * handle is the module's until deregister_mem, after which every access with it is refused. */
typedef struct mca_btl_base_registration_handle_t *(*mca_btl_base_module_register_mem_fn_t)(
    struct mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *base,
    size_t size, uint32_t flags);
typedef int (*mca_btl_base_module_deregister_mem_fn_t)(
    struct mca_btl_base_module_t *btl, struct mca_btl_base_registration_handle_t *handle);
/* Rule 1. Messages to one endpoint arrive in the order of the calls, whatever their order tags. Any
 * number of sends of a descriptor may be under way, each with a completion of its own; only the
 * last may have BTL_OWNERSHIP. */
typedef int (*mca_btl_base_module_send_fn_t)(struct mca_btl_base_module_t *btl,
                                             struct mca_btl_base_endpoint_t *endpoint,
                                             struct mca_btl_base_descriptor_t *descriptor,
                                             mca_btl_base_tag_t tag);
/* Sends header and payload at once: OPAL_SUCCESS, both were copied, no callback. OUT_OF_RESOURCE or
 * RESOURCE_BUSY: not sent; with descriptor non-NULL, *descriptor is one of the whole size (the
 * caller fills and sends it), or NULL. After any other result it is NULL. convertor may be NULL
 * when payload_size is 0. */
typedef int (*mca_btl_base_module_sendi_fn_t)(struct mca_btl_base_module_t *btl,
                                              struct mca_btl_base_endpoint_t *endpoint,
                                              struct opal_convertor_t *convertor, void *header,
                                              size_t header_size, size_t payload_size,
                                              uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                                              mca_btl_base_descriptor_t **descriptor);
/* Rule 2. NOT_AVAILABLE: size or alignment do not fit; OUT_OF_RESOURCE: try again later; BAD_PARAM:
 * no local memory or no remote handle; VALUE_OUT_OF_BOUNDS: the handle says that its region is
 * smaller. What only the target knows comes in the callback: PERM, it refused the handle. */
typedef int (*mca_btl_base_module_put_fn_t)(
    struct mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
    void *local_address, uint64_t remote_address,
    struct mca_btl_base_registration_handle_t *local_handle,
    struct mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
    mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata);
typedef int (*mca_btl_base_module_get_fn_t)(
    struct mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
    void *local_address, uint64_t remote_address,
    struct mca_btl_base_registration_handle_t *local_handle,
    struct mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
    mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata);
typedef int (*mca_btl_base_module_atomic_op64_fn_t)(
    struct mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
    uint64_t remote_address, struct mca_btl_base_registration_handle_t *remote_handle,
    mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
    mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata);
typedef int (*mca_btl_base_module_atomic_fop64_fn_t)(
    struct mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
    void *local_address, uint64_t remote_address,
    struct mca_btl_base_registration_handle_t *local_handle,
    struct mca_btl_base_registration_handle_t *remote_handle, mca_btl_base_atomic_op_t op,
    uint64_t operand, int flags, int order, mca_btl_base_rdma_completion_fn_t cbfunc,
    void *cbcontext, void *cbdata);
typedef int (*mca_btl_base_module_atomic_cswap64_fn_t)(
    struct mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
    void *local_address, uint64_t remote_address,
    struct mca_btl_base_registration_handle_t *local_handle,
    struct mca_btl_base_registration_handle_t *remote_handle, uint64_t compare, uint64_t value,
    int flags, int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata);
/* Writes state to the log, whatever its verbosity: one endpoint's; or, with NULL, the module's, and
 * with verbose above 0 that of each peer in use. */
typedef void (*mca_btl_base_module_dump_fn_t)(struct mca_btl_base_module_t *btl,
                                              struct mca_btl_base_endpoint_t *endpoint,
                                              int verbose);
typedef int (*mca_btl_base_module_ft_event_fn_t)(int state);

struct mca_btl_base_module_t {
    mca_btl_base_component_t *btl_component;
    size_t btl_eager_limit;               /* most bytes of a first fragment, header included */
    size_t btl_rndv_eager_limit;          /* of a rendezvous' first fragment */
    size_t btl_max_send_size;             /* of any message */
    size_t btl_rdma_pipeline_send_length; /* bytes a pipeline sends by copy first */
    size_t btl_rdma_pipeline_frag_size;   /* bytes of one piece of a pipeline */
    size_t btl_min_rdma_pipeline_size;    /* below this no pipeline */
    uint32_t btl_exclusivity;
    uint32_t btl_latency;      /* relative: microseconds where known */
    uint32_t btl_bandwidth;    /* MB/s */
    uint32_t btl_flags;        /* MCA_BTL_FLAGS_* */
    uint32_t btl_atomic_flags; /* MCA_BTL_ATOMIC_SUPPORTS_* */
    size_t btl_registration_handle_size;
    /* One-sided limits: 0 for no alignment, SIZE_MAX for no limit. */
    size_t btl_get_limit;
    size_t btl_get_alignment;
    size_t btl_put_limit;
    size_t btl_put_alignment;

    mca_btl_base_module_add_procs_fn_t btl_add_procs;
    mca_btl_base_module_del_procs_fn_t btl_del_procs;
    mca_btl_base_module_register_fn_t btl_register;
    mca_btl_base_module_finalize_fn_t btl_finalize;
    mca_btl_base_module_alloc_fn_t btl_alloc;
    mca_btl_base_module_free_fn_t btl_free;
    mca_btl_base_module_prepare_fn_t btl_prepare_src;
    mca_btl_base_module_send_fn_t btl_send;
    mca_btl_base_module_sendi_fn_t btl_sendi;
    mca_btl_base_module_put_fn_t btl_put;
    mca_btl_base_module_get_fn_t btl_get;
    mca_btl_base_module_dump_fn_t btl_dump;

    mca_btl_base_module_atomic_op64_fn_t btl_atomic_op;
    mca_btl_base_module_atomic_fop64_fn_t btl_atomic_fop;
    mca_btl_base_module_atomic_cswap64_fn_t btl_atomic_cswap;

    mca_btl_base_module_register_mem_fn_t btl_register_mem;     /* NULL: no handles needed */
    mca_btl_base_module_deregister_mem_fn_t btl_deregister_mem; /* NULL: no handles needed */

    mca_mpool_base_module_t *btl_mpool; /* not used; NULL */
    mca_btl_base_module_register_error_fn_t btl_register_error;
    mca_btl_base_module_ft_event_fn_t btl_ft_event;
};
typedef struct mca_btl_base_module_t mca_btl_base_module_t;

#define MCA_BTL_BASE_VERSION_3_0_0                                               \
    MCA_BASE_VERSION_2_0_0, .mca_type_name = "btl", .mca_type_major_version = 3, \
                            .mca_type_minor_version = 0, .mca_type_release_version = 0

#define MCA_BTL_DEFAULT_VERSION(name)                                              \
    MCA_BTL_BASE_VERSION_3_0_0, .mca_component_name = name,                        \
                                .mca_component_major_version = OPAL_MAJOR_VERSION, \
                                .mca_component_minor_version = OPAL_MINOR_VERSION, \
                                .mca_component_release_version = OPAL_RELEASE_VERSION

END_C_DECLS
#endif
