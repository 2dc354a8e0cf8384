/* The Runtime Messaging Layer: messages between the processes of a job, by name and tag.
 *
 * The interface is ORTE's (Open MPI 1.3 to 1.6); orte_rml(7) describes each call. Rules for all:
 *  1. Callbacks run only while the application is inside Keel: in keel_progress() and in blocking
 *     calls of this table. While a callback blocks in such a call, only that call's own completion
 *     and callbacks posted with RECURSIVE_CALLBACK run; the rest keep their order.
 *  2. Any thread may call any function; one thread at a time runs callbacks. A blocking call polls
 * the data plane: meanwhile no other thread may call a BTL module.
 *  3. Between two live processes messages arrive once and in order, whatever their tags.
 *  4. Success is never negative. Memory given to a send may be changed once the call (blocking) or
 *     the callback (non-blocking) says so; this says nothing of the receiver. */
#ifndef KEEL_RML_H
#define KEEL_RML_H

#include <keel/buffer.h>
#include <keel/types.h>

BEGIN_C_DECLS

typedef uint32_t orte_rml_tag_t;
#define ORTE_RML_TAG_T OPAL_UINT32

/* 0 is refused; 1 to 100 belong to the runtime; everything above is the application's. */
enum {
    ORTE_RML_TAG_INVALID = 0,
    ORTE_RML_TAG_DAEMON = 1,
    ORTE_RML_TAG_IOF_HNP = 2,
    ORTE_RML_TAG_IOF_PROXY = 3,
    ORTE_RML_TAG_XCAST_BARRIER = 4,
    ORTE_RML_TAG_PLM = 5,
    ORTE_RML_TAG_PLM_PROXY = 6,
    ORTE_RML_TAG_ERRMGR = 7,
    ORTE_RML_TAG_WIREUP = 8,
    ORTE_RML_TAG_RML_INFO_UPDATE = 9,
    ORTE_RML_TAG_ORTED_CALLBACK = 10,
    ORTE_RML_TAG_APP_LAUNCH_CALLBACK = 11,
    ORTE_RML_TAG_REPORT_REMOTE_LAUNCH = 12,
    ORTE_RML_TAG_CKPT = 13,
    ORTE_RML_TAG_RML_ROUTE = 14,
    ORTE_RML_TAG_ALLGATHER = 15,
    ORTE_RML_TAG_ALLGATHER_LIST = 16,
    ORTE_RML_TAG_BARRIER = 17,
    ORTE_RML_TAG_INIT_ROUTES = 18,
    ORTE_RML_TAG_UPDATE_ROUTE_ACK = 19,
    ORTE_RML_TAG_SYNC = 20,
    ORTE_RML_TAG_FILEM_BASE = 21,
    ORTE_RML_TAG_FILEM_BASE_RESP = 22,
    ORTE_RML_TAG_FILEM_RSH = 23,
    ORTE_RML_TAG_SNAPC = 24,
    ORTE_RML_TAG_SNAPC_FULL = 25,
    ORTE_RML_TAG_TOOL = 26,
    ORTE_RML_TAG_DATA_SERVER = 27,
    ORTE_RML_TAG_DATA_CLIENT = 28,
    ORTE_RML_TAG_COLLECTIVE_TIMER = 29,
    ORTE_RML_TAG_DAEMON_COLLECTIVE = 30,
    ORTE_RML_TAG_SHOW_HELP = 31,
    ORTE_RML_TAG_DEBUGGER_RELEASE = 32,
    ORTE_RML_TAG_GRPCOMM_PROFILE = 33,
    ORTE_RML_TAG_ONESIDED_BARRIER = 34,
    ORTE_RML_TAG_BOOTSTRAP = 35,
    ORTE_RML_TAG_MAX = 100,
};

/* Flags, or'ed together: of receives, but for the last two, which sends take as well. */
#define ORTE_RML_NON_PERSISTENT 0x00000000
#define ORTE_RML_PEEK 0x00000001       /* copy, but leave the message in the queue */
#define ORTE_RML_TRUNC 0x00000002      /* return the whole message's size, not what was copied */
#define ORTE_RML_ALLOC 0x00000004      /* the RML mallocs the first element; the caller frees it */
#define ORTE_RML_PERSISTENT 0x00000008 /* stays posted until it is cancelled */
#define ORTE_RML_FLAG_RECURSIVE_CALLBACK 0x00000010 /* may run while another callback blocks */
/* A send of Keel's that completes when the message has arrived at its destination's RML (else: when
 * its memory may be changed). */
#define KEEL_RML_DELIVERED 0x00000020

typedef enum { ORTE_RML_PEER_UNREACH, ORTE_RML_PEER_DISCONNECTED } orte_rml_exception_t;

struct orte_rml_module_t;

/* Creates the module; *priority is its rank among others. NULL: not to be had. */
typedef struct orte_rml_module_t *(*orte_rml_component_init_fn_t)(int *priority);

struct orte_rml_component_2_0_0_t {
    mca_base_component_t rml_version;
    mca_base_component_data_t rml_data;
    orte_rml_component_init_fn_t rml_init;
};
typedef struct orte_rml_component_2_0_0_t orte_rml_component_t;

/* Completion of send_nb and recv_nb. status: what the blocking call would have returned. peer and
 * msg belong to the RML and end with the callback: msg is a copy of the caller's array, where the
 * original interface promises the same pointer. The data lies in the user's own memory. */
typedef void (*orte_rml_callback_fn_t)(int status, struct orte_process_name_t *peer,
                                       struct iovec *msg, int count, orte_rml_tag_t tag,
                                       void *cbdata);
/* Completion of send_buffer_nb and recv_buffer_nb. A received buffer ends with the callback, which
 * may take its bytes with opal_dss.unload or copy_payload. status is 0 or an error. */
typedef void (*orte_rml_buffer_callback_fn_t)(int status, struct orte_process_name_t *peer,
                                              struct opal_buffer_t *buffer, orte_rml_tag_t tag,
                                              void *cbdata);
typedef void (*orte_rml_exception_callback_t)(const orte_process_name_t *peer,
                                              orte_rml_exception_t exception);

typedef int (*orte_rml_module_enable_comm_fn_t)(void);
typedef int (*orte_rml_module_finalize_fn_t)(void);
typedef char *(*orte_rml_module_get_contact_info_fn_t)(void);
typedef int (*orte_rml_module_set_contact_info_fn_t)(const char *contact_info);
typedef int (*orte_rml_module_get_new_name_fn_t)(orte_process_name_t *name);
typedef int (*orte_rml_module_ping_fn_t)(const char *contact_info, const struct timeval *tv);
typedef int (*orte_rml_module_send_fn_t)(struct orte_process_name_t *peer, struct iovec *msg,
                                         int count, int tag, int flags);
typedef int (*orte_rml_module_send_buffer_fn_t)(struct orte_process_name_t *peer,
                                                struct opal_buffer_t *buffer, orte_rml_tag_t tag,
                                                int flags);
typedef int (*orte_rml_module_send_nb_fn_t)(struct orte_process_name_t *peer, struct iovec *msg,
                                            int count, orte_rml_tag_t tag, int flags,
                                            orte_rml_callback_fn_t cbfunc, void *cbdata);
typedef int (*orte_rml_module_send_buffer_nb_fn_t)(struct orte_process_name_t *peer,
                                                   struct opal_buffer_t *buffer, orte_rml_tag_t tag,
                                                   int flags, orte_rml_buffer_callback_fn_t cbfunc,
                                                   void *cbdata);
typedef int (*orte_rml_module_recv_fn_t)(struct orte_process_name_t *peer, struct iovec *msg,
                                         int count, orte_rml_tag_t tag, int flags);
typedef int (*orte_rml_module_recv_buffer_fn_t)(struct orte_process_name_t *peer,
                                                struct opal_buffer_t *buf, orte_rml_tag_t tag,
                                                int flags);
typedef int (*orte_rml_module_recv_nb_fn_t)(struct orte_process_name_t *peer, struct iovec *msg,
                                            int count, orte_rml_tag_t tag, int flags,
                                            orte_rml_callback_fn_t cbfunc, void *cbdata);
typedef int (*orte_rml_module_recv_buffer_nb_fn_t)(struct orte_process_name_t *peer,
                                                   orte_rml_tag_t tag, int flags,
                                                   orte_rml_buffer_callback_fn_t cbfunc,
                                                   void *cbdata);
typedef int (*orte_rml_module_recv_cancel_fn_t)(orte_process_name_t *peer, orte_rml_tag_t tag);
typedef int (*orte_rml_module_exception_fn_t)(orte_rml_exception_callback_t cbfunc);
typedef int (*orte_rml_module_ft_event_fn_t)(int state);

/* The interface; orte_rml(7) says what each member does. */
struct orte_rml_module_t {
    orte_rml_module_enable_comm_fn_t enable_comm;
    orte_rml_module_finalize_fn_t finalize;
    orte_rml_module_get_contact_info_fn_t get_contact_info;
    orte_rml_module_set_contact_info_fn_t set_contact_info;
    orte_rml_module_get_new_name_fn_t get_new_name;
    orte_rml_module_ping_fn_t ping;
    orte_rml_module_send_fn_t send;
    orte_rml_module_send_nb_fn_t send_nb;
    orte_rml_module_send_buffer_fn_t send_buffer;
    orte_rml_module_send_buffer_nb_fn_t send_buffer_nb;
    orte_rml_module_recv_fn_t recv;
    orte_rml_module_recv_nb_fn_t recv_nb;
    orte_rml_module_recv_buffer_fn_t recv_buffer;
    orte_rml_module_recv_buffer_nb_fn_t recv_buffer_nb;
    orte_rml_module_recv_cancel_fn_t recv_cancel;
    orte_rml_module_exception_fn_t add_exception_handler;
    orte_rml_module_exception_fn_t del_exception_handler;
    orte_rml_module_ft_event_fn_t ft_event;
};
typedef struct orte_rml_module_t orte_rml_module_t;

extern orte_rml_module_t orte_rml KEEL_PUBLIC(orte_rml);
/* The only component: rml_init gives &orte_rml and its priority, or NULL where no keel_init has
 * made the RML, or it was finalized. */
extern orte_rml_component_t mca_rml_keel_component KEEL_PUBLIC(mca_rml_keel_component);

/* Broadcasts the buffer's whole payload to every process of my job, this one included: each gets it
 * once, as from this process; what one process broadcasts arrives in its order. The buffer stays
 * the caller's. Blocks, running callbacks, while too much of this process's is under way. tag:
 * above 100. ORTE_ERR_BAD_PARAM, ORTE_ERR_COMM_DISABLED, ORTE_ERR_COMM_FAILURE (the daemon is
 * gone), ORTE_ERR_OUT_OF_RESOURCE. Any thread. */
int keel_xcast(orte_jobid_t job, opal_buffer_t *buffer, orte_rml_tag_t tag) KEEL_EXPORT;

#define ORTE_RML_BASE_VERSION_2_0_0                                              \
    MCA_BASE_VERSION_2_0_0, .mca_type_name = "rml", .mca_type_major_version = 2, \
                            .mca_type_minor_version = 0, .mca_type_release_version = 0

END_C_DECLS
#endif
