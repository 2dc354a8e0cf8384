/* What Keel's PTLs and PMLs tell each other beyond PTL 1.0: failures, changes of the ways to a
 * peer, the end of a shortage, the end of requests, and the short way of messages in one piece. A
 * module that has MCA_PTL_FLAGS_EXTENDED in ptl_flags begins a struct keel_ptl_module_t; one
 * without it never fails, and is never short. Where all modules have it, ptlm_progress is told 0 for
 * the time: reading a clock costs as much as a pass.
 */
#ifndef KEEL_PTL_EXT_H
#define KEEL_PTL_EXT_H

#include <keel/ptl.h>

BEGIN_C_DECLS

/* In ptl_flags, beside MCA_PTL_PUT and MCA_PTL_GET: the module begins a struct keel_ptl_module_t.
 */
#define MCA_PTL_FLAGS_EXTENDED 0x100
/* What a path of the module may have lost, another path of the same component brings: while one is
 * left, nothing sent is lost, and what the module cannot finish it reports with OPAL_ERR_UNREACH.
 */
#define MCA_PTL_FLAGS_RECOVERS 0x200

struct keel_ptl_module_t {
    mca_ptl_base_module_t super;

    /* The module's. */
    /* The PML has done with a send request that has not ended: the module touches it no more and
     * tells nothing of it. */
    void (*ptl_send_end)(struct keel_ptl_module_t *ptl,
                         struct mca_ptl_base_send_request_t *request);
    /* The PML has done with a receive request whose req_ptl is not NULL: with status OPAL_SUCCESS
     * all that it wanted of the message is there, which the sender is told; else it gives up. The
     * module, any of those that the request used, touches request and buffer no more. Sets req_ptl
     * to NULL. */
    void (*ptl_recv_end)(struct keel_ptl_module_t *ptl, struct mca_ptl_base_recv_request_t *request,
                         int status);
    /* ptl_send of a whole message without a request, whose bytes lie together and are copied. The
     * header is filled as a request's; hdr_msg_length is at most ptl_first_frag_size. OPAL_SUCCESS:
     * it was taken, and nothing is told of it. Another status: nothing happened, and ptl_send says
     * why. NULL: there is only ptl_send. */
    int (*ptl_sendi)(struct keel_ptl_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                     const struct mca_ptl_base_match_header_t *header, const void *bytes);
    /* The process that sent this fragment, at the latest while its arrival is told; NULL: it is not
     * known. NULL: there is no such function. */
    struct ompi_proc_t *(*ptl_sender)(struct keel_ptl_module_t *ptl,
                                      const struct mca_ptl_base_recv_frag_t *frag);

    /* Filled in by the framework before anything is added, as ptl_match is; called by the module
     * from where it may call ptl_match. */
    /* What the module took of this request, and has not reported by ptl_send_progress, it will not
     * report: whether it has arrived is not known. The request is the PML's. */
    void (*ptl_send_failed)(struct keel_ptl_module_t *ptl,
                            struct mca_ptl_base_send_request_t *request, int status);
    /* Of what the module took, these bytes have not gone and are to be put: their receiver asks for
     * them (OPAL_SUCCESS), or a ptl_put of them was in vain. The request goes on. This module's
     * path is the one to put them by; where it has no room or, of a module with
     * MCA_PTL_FLAGS_RECOVERS, is lost, so is any other of that component. What is put is reported
     * by ptl_send_progress. */
    void (*ptl_put_wanted)(struct keel_ptl_module_t *ptl,
                           struct mca_ptl_base_send_request_t *request, size_t offset, size_t size,
                           int status);
    /* These bytes of a ptl_get will not come by this module; TEMP_OUT_OF_RESOURCE: they may, when
     * it is asked again. */
    void (*ptl_recv_failed)(struct keel_ptl_module_t *ptl,
                            struct mca_ptl_base_recv_request_t *request, size_t offset, size_t size,
                            int status);
    /* Whether the module reaches this process may have changed: ptl_add_procs tells. A process that
     * it still reaches has the peer that it had; that of one it does not reach any more is to be
     * deleted by ptl_del_procs. What failed with it was told before. */
    void (*ptl_peer_changed)(struct keel_ptl_module_t *ptl, struct ompi_proc_t *proc);
    /* After ptl_send, ptl_put or ptl_get has returned OPAL_ERR_OUT_OF_RESOURCE for this peer, once:
     * trying again may help. */
    void (*ptl_peer_ready)(struct keel_ptl_module_t *ptl, struct mca_ptl_base_peer_t *peer);
    /* A whole message has come that needs no acknowledgement. True: a receive took it; header and
     * bytes are the module's again. False: nothing happened, and the module calls ptl_match. NULL:
     * there is only ptl_match. */
    bool (*ptl_matchi)(struct keel_ptl_module_t *ptl,
                       const struct mca_ptl_base_match_header_t *header, const void *bytes);
};

/* NULL: the module has no such extension. */
static inline struct keel_ptl_module_t *keel_ptl_extended(mca_ptl_base_module_t *ptl)
{
    return ptl->ptl_flags & MCA_PTL_FLAGS_EXTENDED ? (struct keel_ptl_module_t *) ptl : NULL;
}

END_C_DECLS
#endif
