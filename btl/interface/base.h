/* The BTL framework: what modules share. The layers above use btl/plane/bml.h and keel/btl.h.
 *
 * A component is one folder, which btl/framework/registry.c names. It gets its host with btl_host()
 * while btl_init runs. It receives for its peers and calls up through btl_deliver_on; it registers
 * memory with btl/memory/region.h and emulates what its wire lacks with btl/emulation/rdma_am.h. */
#ifndef BTL_BASE_H
#define BTL_BASE_H

#include <base/data/list.h>
#include <base/settings/param.h>
#include <btl/interface/call.h>
#include <keel/btl_ext.h>
#include <keel/host.h>
#include <keel/info.h>

struct btl_peers;
struct btl_stat;

struct btl_host {
    const struct keel_host_ops *ops; /* borrowed */
    void *arg;
};

/* Which threads use the data plane besides the one that opened it; the default: none. */
struct btl_threads {
    bool multiple; /* calls come from any thread at a time */
    bool progress; /* a progress thread polls, too; calls may come from any thread then */
};
/* Before btl_open, which forgets it: what the program asks for, besides the parameters. */
void btl_ask_threads(struct btl_threads threads);
/* What was opened. */
struct btl_threads btl_threads(void);

/* Opens the components chosen by the parameter btl ("self,sm,tcp", or "^tcp" for all but) and inits
 * their modules. reason gets the text of an error: an unknown name, nothing opened. */
int btl_open(const struct keel_host_ops *ops, void *arg, char *reason,
             size_t reason_size) KEEL_MUST_CHECK;
/* As keel_devices_each. */
void btl_devices_each(keel_device_fn visit, void *arg);
/* Finalizes every module and closes the components. */
void btl_close(void);
/* Has the next btl_close call closed once, after the modules have ended. One user at a time. */
void btl_at_close(void (*closed)(void));
/* The open modules; btl_close takes each from the list as it ends. */
mca_btl_base_module_t **btl_modules(size_t *count);
/* Polls all modules; returns the number of events. Where several threads use the data plane: 0, if
 * another one is just in it. Each component's btl_progress, which is told no module, is this. */
int btl_progress(void);
/* Around a call of a module's functions that comes neither from progress nor through its table, as
 * the host's with a card: takes the lock, where it is used, and wakes the progress thread at the
 * end. */
void btl_enter(void);
void btl_leave(void);
/* Where the lock is used (btl/lock/lock.h): after is called with it after each pass, by whichever
 * thread, and not while a module runs. NULL: nothing is. With the lock held. */
void btl_after_pass(void (*after)(void));
const struct btl_host *btl_host(void);
/* The host's folder; NULL: it has none. */
static inline const char *btl_session_dir(void)
{
    const struct btl_host *host = btl_host();
    return host->ops->session_dir ? host->ops->session_dir(host->arg) : NULL;
}

/* A frame says on which channel it is: 0, the application's tags; 1 to KEEL_BTL_CHANNEL_MAX, those
 * of layers above; this one, btl/emulation/rdma_am.h, which the module gives it to. It has
 * BTL_CHANNEL_BITS bits in each module's header. */
#define BTL_CHANNEL_RDMA (KEEL_BTL_CHANNEL_MAX + 1)
#define BTL_CHANNEL_BITS 4

/* The one way up for what arrived on any other channel: through the module's taps
 * (btl/modules/tap.h) to the callback of the tag, or of the channel.
 * One that nobody registered, or no channel at all: the message is dropped and counted, with one
 * warning unless the channel had a layer that has closed. segments lie in the module's memory and
 * end with the call. The receiver finds endpoint, which may be NULL, in the descriptor's
 * des_context. */
void btl_deliver_on(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                    uint8_t channel, mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments,
                    size_t count);
/* Whom it calls; cbfunc NULL: nobody. */
mca_btl_active_message_callback_t btl_receiver(uint8_t channel, mca_btl_base_tag_t tag);
/* The one way a send completes: calls des_cbfunc if there is one, then frees the descriptor when it
 * is the module's. */
void btl_complete(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                  mca_btl_base_descriptor_t *descriptor, int status);
/* A send that is over before btl_send returns: calls back only if SEND_ALWAYS_CALLBACK asks for it,
 * frees the descriptor when it is the module's, and returns 1, what btl_send has to return. */
int btl_sent(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
             mca_btl_base_descriptor_t *descriptor);
/* How many callbacks are up the stack: each place that calls the program counts its own. One thread
 * at a time, so no more than a variable; guarded by the lock where that is used. */
extern unsigned btl_callbacks __attribute__((visibility("hidden")));
/* Some are: what frees endpoints or modules is refused, since the functions below the callback may
 * use them yet. Also true while a callback of another thread has given up the lock. */
bool btl_calls_back(void);
/* Reports an error of a peer (or NULL) to the module's registered callback, or to the log. The text
 * names rail, peer and reason. */
void btl_report_error(mca_btl_base_module_t *module, int32_t flags, opal_proc_t *proc,
                      const char *format, ...) KEEL_PRINTF(4, 5);

/* The same of a peer that had left by itself, and does not come back: no reason for a warning. */
void btl_report_departed(mca_btl_base_module_t *module, opal_proc_t *proc, const char *format, ...)
    KEEL_PRINTF(3, 4);

/* For the choice of rails alone: the module does not reach the peer after all, which is no error.
 */
void btl_report_loss(mca_btl_base_module_t *module, opal_proc_t *proc);

/* To a module, as btl_modules has it: this process has ended, as the host knows. Whoever added it,
 * its endpoint fails, if there is one: the module's own, or the caller's of a module that keeps no
 * list of them. */
void btl_peer_ended(mca_btl_base_module_t *module, const orte_process_name_t *name,
                    struct mca_btl_base_endpoint_t *endpoint);
/* The same, to each open module, of its endpoint. */
void btl_proc_ended(const orte_process_name_t *name);

/* The process at the other end of a module's endpoint, as it was added; this process, of self.
 * NULL: nobody added it. */
const opal_proc_t *btl_proc_of(mca_btl_base_module_t *module,
                               const struct mca_btl_base_endpoint_t *endpoint);

/* Fails the endpoint of a peer that was added as if the peer had been lost, and the peer's endpoint
 * to this process. Progress does it, so a module's callback may make the call. why must stay valid.
 * Returns the peer's name; this process's of self, which cannot fail. */
const orte_process_name_t *btl_fail(mca_btl_base_module_t *module,
                                    struct mca_btl_base_endpoint_t *endpoint, const char *why);

/* Between two attempts to reach a peer that was lost. */
enum { BTL_RETRY_US = 250000 };
/* To a module: an endpoint that has failed tries its peer again, until it is reached
 * (btl_report_return) or this is called with on false. Calls nothing back. */
void btl_retry(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, bool on);
/* The endpoint of a peer that was lost takes calls from now on. */
void btl_report_return(mca_btl_base_module_t *module, opal_proc_t *proc);

/* Sets the function that btl_report_error calls when a module has lost a peer, or with proc NULL
 * and FATAL all of them, and the one that btl_report_return calls when it is back. NULL: none. */
typedef void (*btl_peer_fn)(void *arg, mca_btl_base_module_t *module, opal_proc_t *proc, bool back);
void btl_watch_peers(btl_peer_fn changed, void *arg);

/* The owner of endpoints: the choice of rails. Its references to them are its own: del_procs does
 * not see them, so a caller cannot give one away. */
struct btl_owner {
    /* Whether it has one to this endpoint. */
    bool (*owns)(void *arg, const mca_btl_base_module_t *module,
                 const struct mca_btl_base_endpoint_t *endpoint);
    /* Called inside btl_met. */
    void (*met)(void *arg, mca_btl_base_module_t *module, const orte_process_name_t *name);
    /* As btl_connects_elsewhere, inside it: may add the process to other modules, and connects
     * them. */
    bool (*connects)(void *arg, const mca_btl_base_module_t *except,
                     const orte_process_name_t *name);
    void *arg;
};
void btl_set_owner(const struct btl_owner *owner); /* NULL: there is none */
/* Of a module: a peer that was not added has come by itself. It is added in this call where the
 * host knows it, so that what it sends names its endpoint. */
void btl_met(mca_btl_base_module_t *module, const orte_process_name_t *name);
/* Of a module: whether another one that leads to this peer has connected to it. If not, they are
 * to, as btl_connected does it. */
bool btl_connects_elsewhere(mca_btl_base_module_t *module, const opal_proc_t *proc);
/* To a module: whether it has a session with the peer, and if not, it is to connect. Calls nothing
 * back. */
bool btl_connected(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint);
/* Whether a module may reach a peer, as far as is known without adding it. */
bool btl_reaches(mca_btl_base_module_t *module, const opal_proc_t *proc);
/* What a call of btl_add_procs counted is such a reference from now on. */
void btl_keep(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint);
/* They are none any more, and owns says so: the endpoints end, together, unless callers have added
 * them. */
void btl_give_back(mca_btl_base_module_t *module, size_t count, opal_proc_t **procs,
                   struct mca_btl_base_endpoint_t **endpoints);

/* A shortage (docs/btl.md): nothing happened, try again after some progress. */
static inline bool btl_is_shortage(int status)
{
    return status == OPAL_ERR_OUT_OF_RESOURCE || status == OPAL_ERR_TEMP_OUT_OF_RESOURCE ||
           status == OPAL_ERR_RESOURCE_BUSY;
}

/* What every module has a parameter for, by its own name and default (PARAM_LIKE). */
extern const struct btl_common {
    struct param exclusivity, bandwidth, eager_limit, max_send_size, hello_timeout, flush_timeout;
} btl_common;

/* What every module's table may use as it is. */
int btl_register_tag(mca_btl_base_module_t *module, mca_btl_base_tag_t tag,
                     mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata);
int btl_register_channel(mca_btl_base_module_t *module, uint8_t channel,
                         mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata);
int btl_register_error_fn(mca_btl_base_module_t *module, mca_btl_base_module_error_cb_fn_t cbfunc);
/* btl_add_procs and btl_del_procs, by add and end of the module's struct btl_component: an endpoint
 * ends when it was deleted as often as it was added. BAD_PARAM: it was deleted more often.
 * del_procs in a callback: RESOURCE_BUSY, nothing happened. */
int btl_add_procs(mca_btl_base_module_t *module, size_t count, opal_proc_t **procs,
                  struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable);
int btl_del_procs(mca_btl_base_module_t *module, size_t count, opal_proc_t **procs,
                  struct mca_btl_base_endpoint_t **endpoints);
/* What btl_init returns for a single module, in memory that the framework frees; NULL without a
 * module, or without memory: the module is finalized then. */
mca_btl_base_module_t **btl_one_module(mca_btl_base_module_t *module, int *count);
/* sendi by btl_alloc, packing and btl_send: for modules without a faster way. */
int btl_sendi_by_send(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                      opal_convertor_t *convertor, void *header, size_t header_size,
                      size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t **descriptor);
/* The same on a channel, 0 included, by the component's channel_send. */
int btl_sendi_by_send_on(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                         opal_convertor_t *convertor, void *header, size_t header_size,
                         size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                         mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor);
/* send and sendi, by channel_send and channel_sendi of the component's struct btl_ext_ops; both
 * must be there. */
int btl_send_by_channel(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                        mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag);
int btl_sendi_by_channel(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                         opal_convertor_t *convertor, void *header, size_t header_size,
                         size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                         mca_btl_base_descriptor_t **descriptor);
/* Put, get and the atomics, by the functions in the module's struct btl_component. */
int btl_put(struct mca_btl_base_module_t *, struct mca_btl_base_endpoint_t *, void *, uint64_t,
            struct mca_btl_base_registration_handle_t *,
            struct mca_btl_base_registration_handle_t *, size_t, int, int,
            mca_btl_base_rdma_completion_fn_t, void *, void *);
int btl_get(struct mca_btl_base_module_t *, struct mca_btl_base_endpoint_t *, void *, uint64_t,
            struct mca_btl_base_registration_handle_t *,
            struct mca_btl_base_registration_handle_t *, size_t, int, int,
            mca_btl_base_rdma_completion_fn_t, void *, void *);
int btl_atomic_op(struct mca_btl_base_module_t *, struct mca_btl_base_endpoint_t *, uint64_t,
                  struct mca_btl_base_registration_handle_t *, mca_btl_base_atomic_op_t, uint64_t,
                  int, int, mca_btl_base_rdma_completion_fn_t, void *, void *);
int btl_atomic_fop(struct mca_btl_base_module_t *, struct mca_btl_base_endpoint_t *, void *,
                   uint64_t, struct mca_btl_base_registration_handle_t *,
                   struct mca_btl_base_registration_handle_t *, mca_btl_base_atomic_op_t, uint64_t,
                   int, int, mca_btl_base_rdma_completion_fn_t, void *, void *);
int btl_atomic_cswap(struct mca_btl_base_module_t *, struct mca_btl_base_endpoint_t *, void *,
                     uint64_t, struct mca_btl_base_registration_handle_t *,
                     struct mca_btl_base_registration_handle_t *, uint64_t, uint64_t, int, int,
                     mca_btl_base_rdma_completion_fn_t, void *, void *);
struct btl_component;
/* A module's btl_ft_event, which is told no module, so that all modules of its component go through
 * it: CHECKPOINT holds and drains them, CONTINUE lets them go on, RESTART restarts them. Returns
 * the first error. OPAL_ERR_TIMEOUT: not all was drained, and they are held all the same;
 * RESOURCE_BUSY: called from inside progress or a callback, nothing happened; NOT_AVAILABLE: no
 * module is open.
 */
int btl_component_ft_event(const struct btl_component *component, int state);
/* The same of all components. All ranks go through it together: after RESTART they pass a fence,
 * which shows the new cards, and one more, so that everybody has them before anybody uses the
 * modules. */
int btl_ft_event(int state);
enum btl_room {
    BTL_ROOM_NONE,   /* a queue is full, or all descriptors are in use: progress will find room */
    BTL_ROOM_UNSEEN, /* what is lacking is not seen from here, or is only one of several kinds */
    BTL_ROOM,        /* it would be accepted, or be refused for good */
};

/* A module's part of keel_btl_ext. endpoint NULL: any. None of these calls back. */
struct btl_ext_ops {
    uint32_t flags;        /* KEEL_BTL_* */
    uint32_t atomic_flags; /* what of MCA_BTL_ATOMIC_SUPPORTS_* the module's table does not say */
    /* KEEL_BTL_PINS, by a module that was opened. NULL: it does not. */
    bool (*pins)(mca_btl_base_module_t *module);
    /* A put, get or atomic to this endpoint is not complete. */
    bool (*rdma_open)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint);
    /* Takes the first error of an operation without callback; OPAL_SUCCESS: there was none. NULL:
     * endpoints have a struct rdma_am_peer, which keeps the error, at am_at (offsetof). */
    int (*rdma_lost)(mca_btl_base_module_t *module);
    size_t am_at;
    /* What a call of any kind that was short would find now; endpoint NULL: an alloc. */
    enum btl_room (*room)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint);
    /* Nothing that the module accepted, message or operation, and no answer of its own to a peer's
     * operation is still on its way. */
    bool (*is_quiet)(mca_btl_base_module_t *module);
    /* As in struct keel_btl_ext. Both NULL: the module has to be polled. */
    int (*wait_fd)(mca_btl_base_module_t *module);
    int (*wait_arm)(mca_btl_base_module_t *module);
    /* As in struct keel_btl_ext, on any channel. channel_sendi NULL: by channel_send; it refuses
     * channels that there are not. */
    int (*channel_send)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                        mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                        mca_btl_base_tag_t tag);
    int (*channel_sendi)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                         opal_convertor_t *convertor, void *header, size_t header_size,
                         size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                         mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor);
};
/* For del_procs and finalize: requests that wait for this endpoint (NULL: for any of the module's)
 * are called with an error. */
void btl_pending_end(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint);

/* What a component's folder exports, and nothing else: btl/framework/registry.c names it. Never
 * written to, but BTL 3.0's pointer to its first member is not const. btl_init may leave out (NULL)
 * modules that could not be opened. A component has no state of its own: a module is found by the
 * argument.
 */
struct btl_component {
    mca_btl_base_component_t component; /* first: what a module's btl_component points to */
    /* Where a module has its struct btl_peers (offsetof), whose endpoints begin with a struct
     * btl_peer (btl/peers/peer.h). It needs none of the seven functions that follow, unless it does
     * more than btl/peers/peer.h. 0: it has none. */
    size_t peers_at;
    /* Whether a peer is reached, as far as is known before its first use. NULL: each is. */
    bool (*reaches)(mca_btl_base_module_t *module, const opal_proc_t *proc);
    /* The endpoint of a peer, which may have it already; NULL: it is not reached. */
    struct mca_btl_base_endpoint_t *(*add)(mca_btl_base_module_t *module, opal_proc_t *proc);
    /* Where it is counted how often an endpoint was added, 0 at first; NULL: nobody finds it (any
     * more). endpoint may be any pointer. */
    uint32_t *(*added)(mca_btl_base_module_t *module,
                       const struct mca_btl_base_endpoint_t *endpoint);
    /* Nobody counts on these endpoints any more: completes what is in flight to them with an error,
     * once each, and frees them. The array may be changed. */
    void (*end)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t **endpoints,
                size_t count);
    /* The host knows that the peer's process has ended: its endpoint is to fail, from progress.
     * Calls nothing back. NULL: the transport tells the module by itself. */
    void (*ended)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint);
    /* As btl_fail. NULL: btl_peer_fail is enough, as the peer notices when progress cuts the
     * session. */
    void (*fail)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                 const char *why);
    /* As btl_retry. NULL: btl_peer_retry. */
    void (*retry)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, bool on);
    /* What a pass of btl_progress does for a module; returns the number of events. */
    int (*progress)(mca_btl_base_module_t *module);
    /* NULL: polling costs no system call, so every pass polls it. Else: polled on every pass while
     * active says that work is in flight, and now and then otherwise. */
    bool (*active)(mca_btl_base_module_t *module);
    /* The process was restarted: ends what is in flight with an error, opens the transport again
     * and publishes the card under the key of its next life. NULL: nothing is lost. */
    int (*restart)(mca_btl_base_module_t *module);
    /* For btl_dump: what there is to say of the module, or of an endpoint besides its state. */
    void (*describe)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                     char *text, size_t size);
    /* A module's, with its device ("tcp:eth0"); NULL: the component's. */
    const char *(*name)(const mca_btl_base_module_t *module);
    /* btl_put or btl_get, of a call that region_check_call passed. */
    int (*rdma)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                const struct rdma_call *call, bool put);
    /* All three atomics of the module's, with the contract of btl_atomic_fop, of a call that
     * region_check_atomic passed; NULL: it has none. */
    int (*atomic)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                  const struct atomic_call *call);
    /* As btl_key_of and btl_handle_of (btl/memory/region.h). NULL: handles are struct
     * region_handle. */
    void (*key_of)(mca_btl_base_module_t *module, const void *handle, uint64_t *key);
    void (*handle_of)(mca_btl_base_module_t *module, const uint64_t *key, uint64_t address,
                      uint64_t size, void *handle);
    const struct btl_ext_ops *ext;
    /* What its modules count themselves (btl/framework/stats.h). NULL: nothing. */
    const struct btl_stat *stats;
    /* What its endpoints tell of their peers (btl/framework/stats.h). NULL: nothing. */
    const struct btl_gauge *gauges;
    /* Visits what the transport finds on this machine (keel_devices_each), without opening a
     * module; their component and the choice of components are the caller's matter. NULL: nothing.
     */
    void (*devices)(keel_device_fn visit, void *arg);
    const char *loads; /* the loadable module that btl_init needs; NULL: none */
    bool named_only;   /* opened only where the parameter btl names it: it drags a library in */
    const char *lacks; /* NULL; else the library that this build lacks, and only the name is set */
};
extern const struct btl_component *const btl_components[]; /* best first; ends with NULL */

/* Of a module whose table has functions of btl/modules/table.c. */
static inline const struct btl_component *btl_component_of(const mca_btl_base_module_t *module)
{
    return container_of(module->btl_component, struct btl_component, component);
}
/* NULL: it has none. */
static inline struct btl_peers *btl_peers_of(const struct btl_component *component,
                                             mca_btl_base_module_t *module)
{
    size_t at = component->peers_at;
    return at > 0 ? (struct btl_peers *) (void *) ((char *) module + at) : NULL;
}

/* "tcp" */
static inline const char *btl_component_name(const mca_btl_base_component_t *component)
{
    return component->btl_version.mca_component_name;
}

/* "tcp:eth0" */
static inline const char *btl_module_name(const mca_btl_base_module_t *module)
{
    const struct btl_component *component = btl_component_of(module);
    return component->name ? component->name(module) : btl_component_name(&component->component);
}

#endif
