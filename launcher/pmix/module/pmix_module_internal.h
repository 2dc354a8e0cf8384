/* What the files of keel-pmix.so share. libpmix has one server a process, so there is one state. */
#ifndef LAUNCHER_PMIX_MODULE_PMIX_MODULE_INTERNAL_H
#define LAUNCHER_PMIX_MODULE_PMIX_MODULE_INTERNAL_H

#include <hwloc.h>
#include <launcher/pmix/pmix_module.h>
#include <pmix.h>
#include <pmix_server.h>

/* Set by start before libpmix calls anything. */
extern const struct pmix_host *pmix_host;

void module_post(struct loop_task *task);
void module_log(bool error, const char *format, ...) KEEL_PRINTF(2, 3);

/* A whole number of 32 bits, whatever its type; false: it is none, and number stays. */
bool module_number(const pmix_value_t *value, uint32_t *number);
/* The time that PMIX_TIMEOUT allows; 0: for ever. */
uint64_t module_timeout_ms(const pmix_info_t info[], size_t count);
uint32_t module_daemon(void); /* this one's number */
/* The first of these with this key; NULL: there is none. */
const pmix_info_t *module_find(const pmix_info_t info[], size_t count, const char *key);
/* Is this rank of the job on this daemon's node? */
bool module_is_local(const struct pmix_job *job, uint32_t rank);

/* An answer that is passed on to another thread. */
struct answer {
    pmix_status_t status;
    void *data; /* malloc'd, its owner's; NULL where there are none */
    size_t size;
};
/* With a copy of the data that come with PMIX_SUCCESS; PMIX_ERR_NOMEM where there is no memory. */
struct answer module_copy(pmix_status_t status, const void *data, size_t size);

/* worker.c: what calls libpmix is not done on the loop, which must not wait for it. */
struct work {
    struct list link;
    void (*run)(struct work *work);
};

int worker_start(void) KEEL_MUST_CHECK; /* 0 or an errno */
/* Does what was asked for by now, lets answers given on libpmix's thread out, and ends; blocks. */
void worker_end(void);
void worker_do(struct work *work);

/* Something to do on libpmix's own thread: some of its answers to clients, those of spawn, lookup,
 * query and job control, are unsafe anywhere else. alive: it still runs; else the task is only to
 * free what it holds. */
struct inside_task {
    struct work work;
    void (*run)(struct inside_task *task, bool alive);
};
void worker_do_inside(struct inside_task *task);

/* registration.c: blocks; not on the loop. */
int registration_make(const struct pmix_job *job, const struct pmix_server *server, char *reason,
                      size_t reason_size);

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

/* group.c */
pmix_status_t up_group(pmix_group_operation_t operation, char id[], const pmix_proc_t procs[],
                       size_t count, const pmix_info_t info[], size_t info_count,
                       pmix_info_cbfunc_t done, void *cbdata);

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
void events_end(void); /* frees what libpmix had not delivered; it has ended */

/* spawn.c */
pmix_status_t up_spawn(const pmix_proc_t *rank, const pmix_info_t info[], size_t info_count,
                       const pmix_app_t apps[], size_t app_count, pmix_spawn_cbfunc_t done,
                       void *cbdata);

/* query.c: what can be asked for grows by a job; before the server runs, or on the loop. */
void query_add_job(const struct pmix_job *job);
pmix_status_t up_query(pmix_proc_t *rank, pmix_query_t *queries, size_t count,
                       pmix_info_cbfunc_t done, void *cbdata);

/* control.c */
pmix_status_t up_job_control(const pmix_proc_t *requestor, const pmix_proc_t targets[],
                             size_t target_count, const pmix_info_t directives[],
                             size_t directive_count, pmix_info_cbfunc_t done, void *cbdata);

/* log.c */
void up_log(const pmix_proc_t *client, const pmix_info_t data[], size_t count,
            const pmix_info_t directives[], size_t directive_count, pmix_op_cbfunc_t done,
            void *cbdata);

#endif
