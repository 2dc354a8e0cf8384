/* What PMIx servers of several daemons do together: collectives, data of single ranks, published
 * names, events. The daemon of rank 0 keeps the names. Everything on the loop. */
#ifndef LAUNCHER_PMIX_EXCHANGE_EXCHANGE_H
#define LAUNCHER_PMIX_EXCHANGE_EXCHANGE_H

#include <launcher/node/daemon.h>
#include <launcher/pmix/pmix_module.h>
#include <wireup/cards.h>

struct exchange;

/* What a daemon can do with its own ranks for another one. */
enum rank_op {
    RANK_OP_STATES = 1, /* struct pmix_state of each */
    RANK_OP_SIGNAL,     /* the argument, to each that runs */
};

/* Ranks of all namespaces of a job are numbered in one row: those that the user started, then what
 * was spawned. */
struct exchange_ops {
    /* Where a namespace stands in that row; false: there is no such. */
    bool (*find)(void *arg, const char *nspace, uint32_t *first, uint32_t *count);
    /* What others ask of this node's server. */
    void (*modex)(void *arg, uint32_t number, pmix_done_fn *done, void *done_arg);
    void (*event)(void *arg, const void *event, size_t size);
    /* These ranks are local. */
    pmix_status_t (*rank_op)(void *arg, enum rank_op op, int32_t argument, const uint32_t *numbers,
                             uint32_t count, struct blob *answer);
};

/* The daemon is borrowed. */
int exchange_create(struct exchange **exchange, struct daemon *daemon,
                    const struct exchange_ops *ops, void *arg) KEEL_MUST_CHECK;
/* Answers what is pending with PMIX_ERR_UNREACH, once; later requests too. */
void exchange_close(struct exchange *exchange);
void exchange_destroy(struct exchange *exchange);

/* As in struct pmix_host. */
void exchange_gather(struct exchange *exchange, const struct pmix_meeting *meeting,
                     const void *data, size_t size, pmix_done_fn *done, void *done_arg);
void exchange_modex(struct exchange *exchange, const pmix_proc_t *rank, pmix_done_fn *done,
                    void *done_arg);
void exchange_publish(struct exchange *exchange, const pmix_proc_t *publisher,
                      struct pmix_scope scope, const struct pmix_item *items, size_t count,
                      pmix_done_fn *done, void *done_arg);
void exchange_lookup(struct exchange *exchange, const pmix_proc_t *seeker, pmix_data_range_t range,
                     char **keys, uint32_t wait, uint32_t timeout_s, pmix_done_fn *done,
                     void *done_arg);
void exchange_unpublish(struct exchange *exchange, const pmix_proc_t *publisher, char **keys,
                        pmix_done_fn *done, void *done_arg);
void exchange_spawn(struct exchange *exchange, uint32_t parent, const struct pmix_program *programs,
                    size_t count, pmix_done_fn *done, void *done_arg);
/* Has the daemons of these processes carry out an operation, and joins the answers. PMIX_SUCCESS:
 * one of them did at least. */
void exchange_rank_op(struct exchange *exchange, enum rank_op op, int32_t argument,
                      const pmix_proc_t *procs, size_t count, pmix_done_fn *done, void *done_arg);
void exchange_notify(struct exchange *exchange, const void *event, size_t size);

#endif
