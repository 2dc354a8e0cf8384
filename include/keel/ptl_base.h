/* What keel/ptl.h names and does not define: version 1.0 of components, the headers of fragments,
 * fragments and requests, as far as a PTL and the layer above it (PML) share them. Structs of a PTL
 * or a PML begin with these. An address that goes to the peer and comes back (opal_ptr_t) is opaque
 * to the side that returns it, and need not be a pointer.
 */
#ifndef KEEL_PTL_BASE_H
#define KEEL_PTL_BASE_H

#include <keel/bitmap.h>
#include <keel/convertor.h>
#include <keel/types.h>

BEGIN_C_DECLS

struct mca_ptl_base_module_t;
struct mca_ptl_base_peer_t;

/* Version 1.0 of components has the struct of 2.0, whose last two functions are NULL. */
#define MCA_BASE_VERSION_1_0_0 \
    .mca_major_version = 1, .mca_minor_version = 0, .mca_release_version = 0
struct mca_base_component_data_1_0_0_t {
    bool mca_is_checkpointable;
};
typedef struct mca_base_component_data_1_0_0_t mca_base_component_data_1_0_0_t;

/* A bitmap by the name of that time: a pointer to one may be converted to a pointer to the other.
 */
struct ompi_bitmap_t {
    opal_bitmap_t super;
};
typedef struct ompi_bitmap_t ompi_bitmap_t;

/* hdr_type. */
#define MCA_PTL_HDR_TYPE_MATCH 1 /* a message that is whole, or needs no acknowledgement */
#define MCA_PTL_HDR_TYPE_RNDV 2  /* the first fragment of one to be acknowledged */
#define MCA_PTL_HDR_TYPE_FRAG 3  /* a later fragment */
#define MCA_PTL_HDR_TYPE_ACK 4   /* the first fragment was matched */
/* hdr_flags. */
#define MCA_PTL_FLAGS_ACK 1 /* acknowledge the first fragment when it is matched */

/* Words of 8 bytes that a received first fragment has for the PML: what the PML notes of a message
 * while no receive matches it, so that it need not allocate memory for one. */
#define KEEL_PTL_FRAG_WORDS 24

/* The headers, as a program sees them; what a PTL puts on its wire is its own matter. */
struct mca_ptl_base_common_header_t {
    uint8_t hdr_type;
    uint8_t hdr_flags;
};
typedef struct mca_ptl_base_common_header_t mca_ptl_base_common_header_t;

struct mca_ptl_base_match_header_t {
    mca_ptl_base_common_header_t hdr_common;
    uint16_t hdr_contextid;
    int32_t hdr_src; /* ranks in the context */
    int32_t hdr_dst; /* -1 in what was received: the receiver knows its own */
    int32_t hdr_tag;
    uint64_t hdr_msg_length; /* bytes of the message */
    uint16_t hdr_msg_seq;    /* its number among those of this source and context; wraps */
};
typedef struct mca_ptl_base_match_header_t mca_ptl_base_match_header_t;

struct mca_ptl_base_rendezvous_header_t {
    mca_ptl_base_match_header_t hdr_match;
    uint64_t hdr_frag_length; /* bytes of this fragment */
    opal_ptr_t hdr_src_ptr;   /* the send fragment, for the acknowledgement */
};
typedef struct mca_ptl_base_rendezvous_header_t mca_ptl_base_rendezvous_header_t;

struct mca_ptl_base_frag_header_t {
    mca_ptl_base_common_header_t hdr_common;
    uint64_t hdr_frag_length;
    uint64_t hdr_frag_offset; /* in the message */
    opal_ptr_t hdr_dst_ptr;   /* the receive request, as the acknowledgement named it */
};
typedef struct mca_ptl_base_frag_header_t mca_ptl_base_frag_header_t;

struct mca_ptl_base_ack_header_t {
    mca_ptl_base_common_header_t hdr_common;
    opal_ptr_t hdr_src_ptr;   /* hdr_src_ptr of what is acknowledged */
    opal_ptr_t hdr_dst_match; /* the receive request, for later fragments */
    opal_ptr_t hdr_dst_addr;  /* its buffer, for puts */
    uint64_t hdr_dst_size;    /* bytes of the buffer */
};
typedef struct mca_ptl_base_ack_header_t mca_ptl_base_ack_header_t;

union mca_ptl_base_header_t {
    mca_ptl_base_common_header_t hdr_common;
    mca_ptl_base_match_header_t hdr_match;
    mca_ptl_base_rendezvous_header_t hdr_rndv;
    mca_ptl_base_frag_header_t hdr_frag;
    mca_ptl_base_ack_header_t hdr_ack;
};
typedef union mca_ptl_base_header_t mca_ptl_base_header_t;

/* Requests are the PML's: it allocates, starts and completes them. */
struct mca_ptl_base_send_request_t {
    mca_ptl_base_match_header_t req_header; /* of its message, but for hdr_common */
    opal_convertor_t req_convertor;         /* of its data; a PTL moves a copy of it */
    /* Bytes that PTLs have taken. A PTL adds to it atomically before it sends, and subtracts what
     * it could not send after all. */
    size_t req_offset;
    bool req_cached; /* has ptl_cache_bytes behind it, which ptl_request_init has seen */
    /* What the acknowledgement of the first fragment said; the PTL that gets it fills them in. */
    opal_ptr_t req_peer_match;
    opal_ptr_t req_peer_addr;
    uint64_t req_peer_size;
    void *req_ptl; /* the PTL component's, from ptl_send until the request ends; NULL before */
};
typedef struct mca_ptl_base_send_request_t mca_ptl_base_send_request_t;

struct mca_ptl_base_recv_request_t {
    opal_convertor_t req_convertor; /* of the buffer; a PTL moves a copy of it */
    /* ptl_matched sets these, before it tells ptl_recv_progress, where the receiver is to fetch
     * what lies behind the first fragment; else they stay as they are. */
    bool req_fetch;
    opal_ptr_t req_peer_match; /* the sender's name for the message */
    /* Bytes of the message that have come or are being fetched. ptl_get adds to it before it
     * fetches, and subtracts what it could not fetch after all. */
    size_t req_offset;
    void *req_ptl; /* the PTL component's, from ptl_matched to ptl_recv_end; NULL before */
};
typedef struct mca_ptl_base_recv_request_t mca_ptl_base_recv_request_t;

/* Fragments are the PTL's. */
struct mca_ptl_base_fragment_t {
    struct mca_ptl_base_module_t *frag_owner;
    struct mca_ptl_base_peer_t *frag_peer; /* NULL: unknown */
    mca_ptl_base_header_t frag_header;
    void *frag_addr; /* the bytes, without the header */
    size_t frag_size;
};
typedef struct mca_ptl_base_fragment_t mca_ptl_base_fragment_t;

struct mca_ptl_base_recv_frag_t {
    mca_ptl_base_fragment_t frag_base;
    /* Set by the PML before ptl_matched; NULL: the message is dropped, and the PML is told nothing
     * of it. */
    struct mca_ptl_base_recv_request_t *frag_request;
    uint64_t frag_pml[KEEL_PTL_FRAG_WORDS]; /* the PML's, from ptl_match to ptl_matched */
};
typedef struct mca_ptl_base_recv_frag_t mca_ptl_base_recv_frag_t;

struct mca_ptl_base_send_frag_t {
    mca_ptl_base_fragment_t frag_base;
    struct mca_ptl_base_send_request_t *frag_request;
};
typedef struct mca_ptl_base_send_frag_t mca_ptl_base_send_frag_t;

END_C_DECLS
#endif
