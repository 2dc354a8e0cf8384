/* What stands behind the members of orte_rml, for one struct rml: rml/calls/module.c adds the
 * installed RML and the check that communication is enabled. orte_rml(7) describes the calls. */
#ifndef RML_CALLS_H
#define RML_CALLS_H

#include <rml/interface/core.h>

int rml_call_enable_comm(struct rml *rml);
int rml_call_finalize(struct rml *rml);
int rml_call_set_contact_info(struct rml *rml, const char *contact);

int rml_call_send(struct rml *rml, const orte_process_name_t *peer, const struct iovec *msg,
                  int count, orte_rml_tag_t tag, int flags);
int rml_call_send_buffer(struct rml *rml, const orte_process_name_t *peer, opal_buffer_t *buffer,
                         orte_rml_tag_t tag, int flags);
int rml_call_send_nb(struct rml *rml, const orte_process_name_t *peer, const struct iovec *msg,
                     int count, orte_rml_tag_t tag, int flags, orte_rml_callback_fn_t cbfunc,
                     void *cbdata);
int rml_call_send_buffer_nb(struct rml *rml, const orte_process_name_t *peer, opal_buffer_t *buffer,
                            orte_rml_tag_t tag, int flags, orte_rml_buffer_callback_fn_t cbfunc,
                            void *cbdata);

int rml_call_recv(struct rml *rml, const orte_process_name_t *peer, struct iovec *msg, int count,
                  orte_rml_tag_t tag, int flags);
int rml_call_recv_buffer(struct rml *rml, const orte_process_name_t *peer, opal_buffer_t *buffer,
                         orte_rml_tag_t tag, int flags);
int rml_call_recv_nb(struct rml *rml, const orte_process_name_t *peer, const struct iovec *msg,
                     int count, orte_rml_tag_t tag, int flags, orte_rml_callback_fn_t cbfunc,
                     void *cbdata);
int rml_call_recv_buffer_nb(struct rml *rml, const orte_process_name_t *peer, orte_rml_tag_t tag,
                            int flags, orte_rml_buffer_callback_fn_t cbfunc, void *cbdata);
int rml_call_recv_cancel(struct rml *rml, const orte_process_name_t *peer, orte_rml_tag_t tag);

int rml_call_get_new_name(struct rml *rml, orte_process_name_t *name);
int rml_call_ft_event(struct rml *rml, int state);
int rml_call_ping(struct rml *rml, const char *contact, const struct timeval *tv);
int rml_call_add_exception_handler(struct rml *rml, orte_rml_exception_callback_t fn);
int rml_call_del_exception_handler(struct rml *rml, orte_rml_exception_callback_t fn);

/* Receives of the application that are posted end without a callback. */
void rml_drop_receives(struct rml *rml);

bool rml_is_finalized(struct rml *rml);
/* Is there one behind orte_rml that was not finalized? */
bool rml_is_installed(void);

#endif
