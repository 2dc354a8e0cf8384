/* What the files of keel-pmix.so share. libpmix has one server a process, so there is one state. */
#ifndef LAUNCHER_PMIX_MODULE_INTERNAL_H
#define LAUNCHER_PMIX_MODULE_INTERNAL_H

#include <hwloc.h>
#include <launcher/pmix/module.h>
#include <pmix.h>
#include <pmix_server.h>

/* Set by start before libpmix calls anything. */
extern const struct pmix_host *pmix_host;

void module_post(struct loop_task *task);
void module_log(bool error, const char *format, ...) KEEL_PRINTF(2, 3);

/* registration.c: blocks. */
int registration_make(const struct pmix_job *job, const struct pmix_server *server,
                      hwloc_topology_t topology, char *reason, size_t reason_size);

/* An answer with nothing to say, given from the loop: libpmix's log holds a lock while it asks. */
pmix_status_t answer_later(pmix_op_cbfunc_t done, void *cbdata, pmix_status_t status);

/* fence.c */
pmix_status_t up_fence(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                       size_t info_count, char *data, size_t size, pmix_modex_cbfunc_t done,
                       void *cbdata);
pmix_status_t up_connect(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                         size_t info_count, pmix_op_cbfunc_t done, void *cbdata);
pmix_status_t up_disconnect(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                            size_t info_count, pmix_op_cbfunc_t done, void *cbdata);

/* dmodex.c */
pmix_status_t up_direct_modex(const pmix_proc_t *rank, const pmix_info_t info[], size_t info_count,
                              pmix_modex_cbfunc_t done, void *cbdata);
void local_modex(const pmix_proc_t *rank, pmix_done_fn *done, void *done_arg);

/* publish.c */
pmix_status_t up_publish(const pmix_proc_t *rank, const pmix_info_t info[], size_t info_count,
                         pmix_op_cbfunc_t done, void *cbdata);
pmix_status_t up_lookup(const pmix_proc_t *rank, char **keys, const pmix_info_t info[],
                        size_t info_count, pmix_lookup_cbfunc_t done, void *cbdata);
pmix_status_t up_unpublish(const pmix_proc_t *rank, char **keys, const pmix_info_t info[],
                           size_t info_count, pmix_op_cbfunc_t done, void *cbdata);

/* events.c */
pmix_status_t up_register_events(pmix_status_t *codes, size_t count, const pmix_info_t info[],
                                 size_t info_count, pmix_op_cbfunc_t done, void *cbdata);
pmix_status_t up_deregister_events(pmix_status_t *codes, size_t count, pmix_op_cbfunc_t done,
                                   void *cbdata);
pmix_status_t up_notify(pmix_status_t code, const pmix_proc_t *source, pmix_data_range_t range,
                        pmix_info_t info[], size_t info_count, pmix_op_cbfunc_t done, void *cbdata);
void take_event(const void *event, size_t size);
void rank_failed(const pmix_proc_t *rank);

/* spawn.c */
pmix_status_t up_spawn(const pmix_proc_t *rank, const pmix_info_t info[], size_t info_count,
                       const pmix_app_t apps[], size_t app_count, pmix_spawn_cbfunc_t done,
                       void *cbdata);

/* query.c: answers about the first job that was opened. */
void query_open(const struct pmix_job *job);
pmix_status_t up_query(pmix_proc_t *rank, pmix_query_t *queries, size_t count,
                       pmix_info_cbfunc_t done, void *cbdata);
pmix_status_t up_job_control(const pmix_proc_t *requestor, const pmix_proc_t targets[],
                             size_t target_count, const pmix_info_t directives[],
                             size_t directive_count, pmix_info_cbfunc_t done, void *cbdata);
void up_log(const pmix_proc_t *client, const pmix_info_t data[], size_t count,
            const pmix_info_t directives[], size_t directive_count, pmix_op_cbfunc_t done,
            void *cbdata);

#endif
