/* The Point-to-point Transport Layer, version 1.0: fragments of messages over one transport. The
 * layer above (PML) owns requests, matches them, and divides messages among PTLs.
 *
 * Names, types, values and order are those of Open MPI's PTL (2005). In short:
 *  1. A send request starts with ptl_send of its first fragment, of at most ptl_first_frag_size
 *     bytes. What is left goes by ptl_put, over any of the peer's PTLs, when the first fragment was
 *     acknowledged. The PTL adds the bytes that it takes to req_offset, before it sends them; they
 *     may be fewer than asked for.
 *  2. ptl_send_progress tells that bytes are sent, once for each byte that was taken: those of a
 *     fragment with MCA_PTL_FLAGS_ACK when the acknowledgement came, others when the PTL needs them
 *     no more. It may come before ptl_send or ptl_put returns. A first fragment without bytes is
 *     told of, too, once.
 *  3. The first fragment goes to ptl_match when its header is there. The PML calls ptl_matched, in
 *     that call or later, with the receive request in frag_request. Then the PTL copies the bytes,
 *     acknowledges if the flags ask for it, and tells ptl_recv_progress. Of later fragments it does
 *     the same by itself. The fragment is the PTL's again after ptl_matched.
 *  4. A module with MCA_PTL_GET may announce a whole message with its first fragment. ptl_matched
 *     then sets req_fetch, and the PML calls ptl_get on the peer's PTLs of that component. ptl_get
 *     adds what it takes to req_offset; ptl_recv_progress tells when the bytes are there. At the
 *     end the PML calls ptl_recv_end (keel/ptl_ext.h).
 *  5. Everything comes from the calling thread, inside the PTL's functions and inside progress.
 */
#ifndef KEEL_PTL_H
#define KEEL_PTL_H

#include <keel/ptl_base.h>
#include <keel/types.h>

BEGIN_C_DECLS

struct mca_ptl_base_module_t;
struct mca_ptl_base_peer_t; /* a PTL's own: how it reaches a peer */
struct mca_pml_base_ptl_t;  /* a PML's own */
struct opal_list_t;

typedef uint64_t mca_ptl_sequence_t;
typedef uint64_t mca_ptl_tstamp_t; /* nanoseconds of a monotonic clock */
typedef struct opal_list_t mca_ptl_queue_t;

/* What a component's control changes. */
typedef enum {
    MCA_PTL_ENABLE /* value: a bool, whether it forwards */
} mca_ptl_control_t;

/* ptl_flags: what a module can do. */
#define MCA_PTL_PUT 1
#define MCA_PTL_GET 2

/* Finds the transport's devices and makes a module for each. Returns a malloc'd array of *num_ptls
 * modules (the framework frees the array), or NULL and 0. */
typedef struct mca_ptl_base_module_t **(*mca_ptl_base_component_init_fn_t)(
    int *num_ptls, bool enable_progress_threads, bool enable_mpi_threads);
/* Changes a parameter, an mca_ptl_control_t, while the component runs. */
typedef int (*mca_ptl_base_component_control_fn_t)(int param, void *value, size_t size);
/* Polls all modules of the component; tstamp: the time now. */
typedef int (*mca_ptl_base_component_progress_fn_t)(mca_ptl_tstamp_t tstamp);

struct mca_ptl_base_component_1_0_0_t {
    mca_base_component_t ptlm_version;
    mca_base_component_data_1_0_0_t ptlm_data;
    mca_ptl_base_component_init_fn_t ptlm_init;
    mca_ptl_base_component_control_fn_t ptlm_control;
    mca_ptl_base_component_progress_fn_t ptlm_progress;
};
typedef struct mca_ptl_base_component_1_0_0_t mca_ptl_base_component_1_0_0_t;
typedef struct mca_ptl_base_component_1_0_0_t mca_ptl_base_component_t;

/* Releases what the module holds, and its memory if that is not static. */
typedef int (*mca_ptl_base_module_finalize_fn_t)(struct mca_ptl_base_module_t *ptl);
/* Sets bit i of reachable for each process that the module reaches, and may fill peer[i], which the
 * other functions get for it. After an error none was added. */
typedef int (*mca_ptl_base_module_add_procs_fn_t)(struct mca_ptl_base_module_t *ptl, size_t nprocs,
                                                  struct ompi_proc_t **procs,
                                                  struct mca_ptl_base_peer_t **peer,
                                                  struct ompi_bitmap_t *reachable);
/* Nothing will be sent to these processes any more. */
typedef int (*mca_ptl_base_module_del_procs_fn_t)(struct mca_ptl_base_module_t *ptl, size_t nprocs,
                                                  struct ompi_proc_t **procs,
                                                  struct mca_ptl_base_peer_t **peer);
/* Prepares the ptl_cache_bytes behind a request that the PML keeps for this module, once. */
typedef int (*mca_ptl_base_module_request_init_fn_t)(struct mca_ptl_base_module_t *ptl,
                                                     struct mca_ptl_base_send_request_t *request);
/* Undoes it: the PML keeps the request no longer. */
typedef void (*mca_ptl_base_module_request_fini_fn_t)(struct mca_ptl_base_module_t *ptl,
                                                      struct mca_ptl_base_send_request_t *request);
/* Sends the first fragment: size bytes from offset. flags: those of its header. An error: nothing
 * was taken. */
typedef int (*mca_ptl_base_module_send_fn_t)(struct mca_ptl_base_module_t *ptl,
                                             struct mca_ptl_base_peer_t *ptl_base_peer,
                                             struct mca_ptl_base_send_request_t *request,
                                             size_t offset, size_t size, int flags);
/* Sends later bytes of an acknowledged request, whose req_peer_* are known. */
typedef int (*mca_ptl_base_module_put_fn_t)(struct mca_ptl_base_module_t *ptl,
                                            struct mca_ptl_base_peer_t *ptl_base_peer,
                                            struct mca_ptl_base_send_request_t *request,
                                            size_t offset, size_t size, int flags);
/* Fetches bytes of a receive request: rule 4. NULL without MCA_PTL_GET. */
typedef int (*mca_ptl_base_module_get_fn_t)(struct mca_ptl_base_module_t *ptl,
                                            struct mca_ptl_base_peer_t *ptl_base_peer,
                                            struct mca_ptl_base_recv_request_t *request,
                                            size_t offset, size_t size, int flags);
/* Called by the PTL: a message begins. Returns whether a receive matched it at once. The header
 * stays where it is until the fragment is matched. */
typedef bool (*mca_ptl_base_module_match_fn_t)(struct mca_ptl_base_module_t *ptl,
                                               struct mca_ptl_base_recv_frag_t *recv_frag,
                                               struct mca_ptl_base_match_header_t *header);
/* A receive was matched to this fragment: rule 3. */
typedef void (*mca_ptl_base_module_matched_fn_t)(struct mca_ptl_base_module_t *ptl,
                                                 struct mca_ptl_base_recv_frag_t *request);
/* Called by the PTL: a fragment was received, and so much of it fitted into the user's buffer. */
typedef void (*mca_ptl_base_module_recv_progress_fn_t)(
    struct mca_ptl_base_module_t *ptl, struct mca_ptl_base_recv_request_t *recv_request,
    size_t bytes_received, size_t bytes_delivered);
/* Called by the PTL: rule 2. */
typedef void (*mca_ptl_base_module_send_progress_fn_t)(
    struct mca_ptl_base_module_t *ptl, struct mca_ptl_base_send_request_t *send_request,
    size_t bytes_sent);

struct mca_ptl_base_module_t {
    mca_ptl_base_component_t *ptl_component;
    size_t ptl_cache_size;      /* most send requests that the PML keeps for this module */
    size_t ptl_cache_bytes;     /* behind each of them for the module's use */
    size_t ptl_first_frag_size; /* most bytes of a first fragment */
    size_t ptl_min_frag_size;   /* less than this is not divided */
    size_t ptl_max_frag_size;   /* most bytes of a later fragment */
    uint32_t ptl_exclusivity;   /* of the modules that reach a peer the highest are used */
    uint32_t ptl_latency;       /* relative; the lowest send first fragments */
    uint32_t ptl_bandwidth;     /* MB/s */
    uint32_t ptl_flags;         /* MCA_PTL_* */

    mca_ptl_base_module_add_procs_fn_t ptl_add_procs;
    mca_ptl_base_module_del_procs_fn_t ptl_del_procs;
    mca_ptl_base_module_finalize_fn_t ptl_finalize;
    mca_ptl_base_module_send_fn_t ptl_send;
    mca_ptl_base_module_put_fn_t ptl_put;
    mca_ptl_base_module_get_fn_t ptl_get;
    mca_ptl_base_module_matched_fn_t ptl_matched;
    mca_ptl_base_module_request_init_fn_t ptl_request_init; /* NULL: no requests are kept */
    mca_ptl_base_module_request_fini_fn_t ptl_request_fini; /* NULL: no requests are kept */

    /* Filled in by the PML before anything is added. */
    mca_ptl_base_module_match_fn_t ptl_match;
    mca_ptl_base_module_send_progress_fn_t ptl_send_progress;
    mca_ptl_base_module_recv_progress_fn_t ptl_recv_progress;

    struct mca_ptl_base_module_t *ptl_stack; /* the module whose place this one took; or NULL */
    struct mca_pml_base_ptl_t *ptl_base;     /* the PML's */
};
typedef struct mca_ptl_base_module_t mca_ptl_base_module_t;

/* The beginning of a component's ptlm_version. */
#define MCA_PTL_BASE_VERSION_1_0_0 MCA_BASE_VERSION_1_0_0, "ptl", 1, 0, 0

END_C_DECLS
#endif
