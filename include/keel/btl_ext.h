/* What Keel's BTL modules offer beyond BTL 3.0: more atomics, channels for layers above, completion
 * of everything at once, a callback when a shortage is over, a descriptor to sleep on, and whether
 * a completed put is visible at its target.
 *
 * The functions belong to the module that keel_btl_ext was asked for, are called with it, by a
 * thread that may call the module (keel/btl.h, rules 3 and 4), and are valid until the module is
 * finalized. keel_btl_ext(3) has examples. */
#ifndef KEEL_BTL_EXT_H
#define KEEL_BTL_EXT_H

#include <keel/btl.h>

BEGIN_C_DECLS

/* The completion of a put or an atomic means that the target's processor sees it. Without the flag
 * it means that local memory may be used again, and flush tells when the target sees it. */
#define KEEL_BTL_REMOTE_COMPLETION 0x1
/* A registration for MCA_BTL_ENDPOINT_ANY pins the memory, which takes time and is limited; puts
 * and gets by it are the network card's. Those by a registration for one endpoint are not. */
#define KEEL_BTL_PINS 0x2

/* Operations for btl_atomic_op and btl_atomic_fop beside those of keel/btl.h, with the values that
 * Open MPI 4.1 gives them. MIN and MAX compare as signed numbers. */
#define MCA_BTL_ATOMIC_SWAP ((mca_btl_base_atomic_op_t) 0x001a)
#define MCA_BTL_ATOMIC_MIN ((mca_btl_base_atomic_op_t) 0x0020)
#define MCA_BTL_ATOMIC_MAX ((mca_btl_base_atomic_op_t) 0x0021)

/* For the flags of all three atomics: they work on 4 bytes, at a multiple of 4. Of operand, compare
 * and value the low 32 bits count; what was there before is written to local_address as 4 bytes. */
#define MCA_BTL_ATOMIC_FLAG_32BIT 0x00000001

/* Beside MCA_BTL_ATOMIC_SUPPORTS_ADD and the others of keel/btl.h, in keel_btl_ext.atomic_flags. */
enum {
    MCA_BTL_ATOMIC_SUPPORTS_SWAP = 0x00010000,
    MCA_BTL_ATOMIC_SUPPORTS_MIN = 0x00100000,
    MCA_BTL_ATOMIC_SUPPORTS_MAX = 0x00200000,
    MCA_BTL_ATOMIC_SUPPORTS_32BIT = 0x01000000, /* each of the others on 4 bytes, too */
};

/* Layers above BTL have channels of their own, 1 to this, with 256 tags each; the messages of
 * keel/pml.h have channel 1: what an application sends never reaches them, and its tags stay its
 * own. */
#define KEEL_BTL_CHANNEL_MAX 7

struct keel_btl_pending;

/* status OPAL_SUCCESS: there was room a moment ago, try again. An error: there will be none, as the
 * endpoint or the module ends. The request is the caller's again and may be added anew, or freed.
 * It may call whatever a completion callback may. */
typedef void (*keel_btl_pending_fn)(mca_btl_base_module_t *btl,
                                    struct mca_btl_base_endpoint_t *endpoint,
                                    struct keel_btl_pending *pending, int status);

/* The caller's memory, zero before its first use; Keel's while it waits. */
struct keel_btl_pending {
    keel_btl_pending_fn ready;
    void *arg;     /* the caller's */
    void *keel[4]; /* Keel's */
};

struct keel_btl_ext {
    uint32_t flags; /* KEEL_BTL_* */
    /* MCA_BTL_ATOMIC_SUPPORTS_*: btl_atomic_flags, and what BTL 3.0 has no bits for. */
    uint32_t atomic_flags;

    /* Drives progress, and so callbacks, until every put, get and atomic to this endpoint (NULL: to
     * any) is complete and visible at its target, those that callbacks or other threads start
     * meanwhile included. Messages are not waited for. Blocks, at most for the parameter
     * btl_base_flush_timeout_ms.
     *  OPAL_SUCCESS             all went well
     *  OPAL_ERR_RESOURCE_BUSY   called from inside progress while something is in flight
     *  OPAL_ERR_TIMEOUT         the time is over, something is still in flight
     *  another error            the first that an operation without callback ended with since the
     *                           last flush of this endpoint (NULL: of all) */
    int (*flush)(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint);

    /* After a shortage of a call with this endpoint (NULL: of alloc): ready is called exactly once,
     * from progress, when trying again may help. Requests of a module are called in the order in
     * which they were added, as far as there is room. A shortage whose end cannot be seen (such
     * as of memory) is tried again after a millisecond. Allocates nothing.
     *  OPAL_EXISTS          it waits already
     *  OPAL_ERR_UNREACH     the module is being finalized
     *  OPAL_ERR_BAD_PARAM   no ready */
    int (*pending_add)(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       struct keel_btl_pending *pending);
    /* Takes it back: ready is not called. OPAL_ERR_NOT_FOUND: it does not wait. */
    int (*pending_remove)(mca_btl_base_module_t *btl, struct keel_btl_pending *pending);

    /* A descriptor for poll and epoll, which becomes readable when progress has something to do; it
     * belongs to the module. OPAL_ERR_NOT_SUPPORTED: this transport has to be polled, or a progress
     * thread sleeps on the descriptor. */
    int (*wait_fd)(mca_btl_base_module_t *btl);
    /* Before each sleep on wait_fd: OPAL_SUCCESS, sleep; OPAL_ERR_RESOURCE_BUSY, something is due:
     * call progress first. Whatever comes after it makes the descriptor readable. No other thread
     * drives progress meanwhile: it would take the event that was to wake this one. */
    int (*wait_arm)(mca_btl_base_module_t *btl);

    /* Sets the callback of all messages of a channel, whatever their tags, for all modules; cbfunc
     * NULL removes it. A message on a channel without one is dropped and counted. BAD_PARAM: there
     * is no such channel. */
    int (*channel_register)(mca_btl_base_module_t *btl, uint8_t channel,
                            mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata);
    /* As btl_send and btl_sendi, on a channel; 0: those of the application, with its tags. Messages
     * of one endpoint keep their order, over all channels. BAD_PARAM also above the last channel.
     */
    int (*channel_send)(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                        mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                        mca_btl_base_tag_t tag);
    int (*channel_sendi)(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                         opal_convertor_t *convertor, void *header, size_t header_size,
                         size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                         mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor);
};

/* A counter or a gauge. name, unit ("messages", "bytes", ...) and help, one sentence, stay valid.
 */
struct keel_btl_stat {
    const char *name, *unit, *help;
    uint64_t value;
};

/* What a module, or one of its endpoints, has counted since it was opened or added: fills at most
 * count of stats, and returns how many there are; 0 for a module that Keel did not open. With
 * btl_base_stats, messages, accesses and refused calls are among them. An endpoint may have gauges,
 * which tell how it is at this moment. Does not block; by a thread
 * that may call the module. */
size_t keel_btl_stats(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      struct keel_btl_stat *stats, size_t count) KEEL_EXPORT;

/* The extension of a module that Keel opened; NULL for any other. */
const struct keel_btl_ext *keel_btl_ext(mca_btl_base_module_t *btl) KEEL_EXPORT;

END_C_DECLS
#endif
