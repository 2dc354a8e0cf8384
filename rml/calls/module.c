/* orte_rml: the seed's table, a thin layer over the installed RML. Before enable_comm only receives
 * may be posted and contacts recorded; after finalize nothing works. */
#include <config.h>

#include <rml/calls/calls.h>
#include <stdatomic.h>

/* The interface has no context: this is the RML that it speaks of. */
static struct rml *_Atomic installed;

void rml_install(struct rml *rml)
{
    atomic_store(&installed, rml);
}

/* The RML that may communicate, or NULL. */
static struct rml *enabled(void)
{
    struct rml *rml = atomic_load(&installed);
    return rml && rml_is_enabled(rml) ? rml : NULL;
}

/* The RML that may take notes, or NULL. */
static struct rml *known(void)
{
    struct rml *rml = atomic_load(&installed);
    return rml && !rml_is_finalized(rml) ? rml : NULL;
}

bool rml_is_installed(void)
{
    return known() != NULL;
}

static int enable_comm(void)
{
    struct rml *rml = known();
    return rml ? rml_call_enable_comm(rml) : ORTE_ERR_COMM_DISABLED;
}

static int finalize(void)
{
    struct rml *rml = known();
    return rml ? rml_call_finalize(rml) : ORTE_ERR_COMM_DISABLED;
}

static char *get_contact_info(void)
{
    struct rml *rml = enabled();
    return rml ? rml_contact(rml) : NULL;
}

static int set_contact_info(const char *contact)
{
    struct rml *rml = known();
    return rml ? rml_call_set_contact_info(rml, contact) : ORTE_ERR_COMM_DISABLED;
}

static int get_new_name(orte_process_name_t *name)
{
    struct rml *rml = known();
    return rml ? rml_call_get_new_name(rml, name) : ORTE_ERR_COMM_DISABLED;
}

static int ping(const char *contact, const struct timeval *tv)
{
    struct rml *rml = known();
    return rml ? rml_call_ping(rml, contact, tv) : ORTE_ERR_COMM_DISABLED;
}

/* The seed gives this one call its tag as an int. */
static int send_iov(orte_process_name_t *peer, struct iovec *msg, int count, int tag, int flags)
{
    struct rml *rml = enabled();
    return rml ? rml_call_send(rml, peer, msg, count, (orte_rml_tag_t) tag, flags)
               : ORTE_ERR_COMM_DISABLED;
}

static int send_nb(orte_process_name_t *peer, struct iovec *msg, int count, orte_rml_tag_t tag,
                   int flags, orte_rml_callback_fn_t cbfunc, void *cbdata)
{
    struct rml *rml = enabled();
    return rml ? rml_call_send_nb(rml, peer, msg, count, tag, flags, cbfunc, cbdata)
               : ORTE_ERR_COMM_DISABLED;
}

static int send_buffer(orte_process_name_t *peer, opal_buffer_t *buffer, orte_rml_tag_t tag,
                       int flags)
{
    struct rml *rml = enabled();
    return rml ? rml_call_send_buffer(rml, peer, buffer, tag, flags) : ORTE_ERR_COMM_DISABLED;
}

static int send_buffer_nb(orte_process_name_t *peer, opal_buffer_t *buffer, orte_rml_tag_t tag,
                          int flags, orte_rml_buffer_callback_fn_t cbfunc, void *cbdata)
{
    struct rml *rml = enabled();
    return rml ? rml_call_send_buffer_nb(rml, peer, buffer, tag, flags, cbfunc, cbdata)
               : ORTE_ERR_COMM_DISABLED;
}

static int recv_iov(orte_process_name_t *peer, struct iovec *msg, int count, orte_rml_tag_t tag,
                    int flags)
{
    struct rml *rml = enabled();
    return rml ? rml_call_recv(rml, peer, msg, count, tag, flags) : ORTE_ERR_COMM_DISABLED;
}

static int recv_nb(orte_process_name_t *peer, struct iovec *msg, int count, orte_rml_tag_t tag,
                   int flags, orte_rml_callback_fn_t cbfunc, void *cbdata)
{
    struct rml *rml = known();
    return rml ? rml_call_recv_nb(rml, peer, msg, count, tag, flags, cbfunc, cbdata)
               : ORTE_ERR_COMM_DISABLED;
}

static int recv_buffer(orte_process_name_t *peer, opal_buffer_t *buffer, orte_rml_tag_t tag,
                       int flags)
{
    struct rml *rml = enabled();
    return rml ? rml_call_recv_buffer(rml, peer, buffer, tag, flags) : ORTE_ERR_COMM_DISABLED;
}

static int recv_buffer_nb(orte_process_name_t *peer, orte_rml_tag_t tag, int flags,
                          orte_rml_buffer_callback_fn_t cbfunc, void *cbdata)
{
    struct rml *rml = known();
    return rml ? rml_call_recv_buffer_nb(rml, peer, tag, flags, cbfunc, cbdata)
               : ORTE_ERR_COMM_DISABLED;
}

static int recv_cancel(orte_process_name_t *peer, orte_rml_tag_t tag)
{
    struct rml *rml = known();
    return rml ? rml_call_recv_cancel(rml, peer, tag) : ORTE_ERR_COMM_DISABLED;
}

static int add_exception_handler(orte_rml_exception_callback_t cbfunc)
{
    struct rml *rml = known();
    return rml ? rml_call_add_exception_handler(rml, cbfunc) : ORTE_ERR_COMM_DISABLED;
}

static int del_exception_handler(orte_rml_exception_callback_t cbfunc)
{
    struct rml *rml = known();
    return rml ? rml_call_del_exception_handler(rml, cbfunc) : ORTE_ERR_COMM_DISABLED;
}

static int ft_event(int state)
{
    struct rml *rml = enabled();
    return rml ? rml_call_ft_event(rml, state) : ORTE_ERR_COMM_DISABLED;
}

orte_rml_module_t orte_rml = {
    .enable_comm = enable_comm,
    .finalize = finalize,
    .get_contact_info = get_contact_info,
    .set_contact_info = set_contact_info,
    .get_new_name = get_new_name,
    .ping = ping,
    .send = send_iov,
    .send_nb = send_nb,
    .send_buffer = send_buffer,
    .send_buffer_nb = send_buffer_nb,
    .recv = recv_iov,
    .recv_nb = recv_nb,
    .recv_buffer = recv_buffer,
    .recv_buffer_nb = recv_buffer_nb,
    .recv_cancel = recv_cancel,
    .add_exception_handler = add_exception_handler,
    .del_exception_handler = del_exception_handler,
    .ft_event = ft_event,
};

int keel_xcast(orte_jobid_t job, opal_buffer_t *buffer, orte_rml_tag_t tag)
{
    struct rml *rml = enabled();
    if (!buffer) {
        return ORTE_ERR_BAD_PARAM;
    }
    return rml ? rml_xcast(rml, job, tag, buffer) : ORTE_ERR_COMM_DISABLED;
}
