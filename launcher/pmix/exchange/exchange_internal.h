/* What the files of the exchange share: exchange.c (requests and answers, data of single ranks,
 * spawns, events), gather.c (collectives), data_server.c (names) and rank_op.c. */
#ifndef LAUNCHER_PMIX_EXCHANGE_EXCHANGE_INTERNAL_H
#define LAUNCHER_PMIX_EXCHANGE_EXCHANGE_INTERNAL_H

#include <launcher/pmix/exchange/exchange.h>

/* The first byte of a message between daemons on RML_TAG_PMIX. */
enum exchange_message {
    MESSAGE_MODEX = 1, /* q request, u number of the rank in the job */
    MESSAGE_PUBLISH, /* q request, s namespace, u rank, c range, c persistence, u count, count x (s
                      * key, b value) */
    MESSAGE_LOOKUP,  /* q request, s namespace, u rank, c range, u wait, u timeout s, strings the
                      * keys */
    MESSAGE_UNPUBLISH, /* q request, s namespace, u rank, strings the keys (none: all) */
    MESSAGE_ANSWER,    /* q request, i status, b data */
    MESSAGE_EVENT,     /* b event */
    MESSAGE_RANK_OP,   /* q request, c operation, i argument, u count, count x u number */
};

struct data_server;

/* A request of mine to another daemon, or a collective that I take part in. */
struct pending {
    struct list link;
    struct exchange *exchange;
    uint64_t request;
    struct loop_timer timer;
    pmix_done_fn *done; /* NULL: it was told that this takes too long */
    void *done_arg;
};

struct exchange {
    struct daemon *daemon;
    const struct exchange_ops *ops;
    void *arg;
    struct list pending, meetings; /* struct meeting of gather.c */
    struct spawned_watcher spawned;
    struct data_server *data_server; /* NULL: another daemon keeps the names */
    bool closed;
};

/* --- exchange.c --- */

/* NULL: done was called. */
struct pending *exchange_pending(struct exchange *exchange, pmix_done_fn *done, void *done_arg);
void exchange_pending_end(struct pending *pending, pmix_status_t status, const void *data,
                          size_t size);
/* Sends the request, or ends it. Takes the buffer, which may be NULL (no memory). */
void exchange_ask(struct pending *pending, uint32_t vpid, opal_buffer_t *buffer);
void exchange_answer(struct daemon *daemon, uint32_t vpid, uint64_t request, pmix_status_t status,
                     const void *data, size_t size);

/* --- gather.c --- */

/* The numbers of these processes, sorted; NULL: somebody who is not of this job, or no memory. */
uint32_t *exchange_numbers(const struct exchange *exchange, const pmix_proc_t *procs, size_t count,
                           uint32_t *number_count);
void gather_forget(struct exchange *exchange); /* at the end: who met how often */

/* --- data_server.c --- */

uint32_t data_server_vpid(const struct exchange *exchange); /* of the daemon that keeps the names */
int data_server_create(struct data_server **data_server, struct daemon *daemon) KEEL_MUST_CHECK;
void data_server_destroy(struct data_server *data_server);
/* A MESSAGE_PUBLISH, MESSAGE_LOOKUP or MESSAGE_UNPUBLISH of a daemon; answers it, perhaps later. */
int data_server_take(struct data_server *data_server, uint32_t daemon, uint8_t message,
                     opal_buffer_t *buffer) KEEL_MUST_CHECK;

/* --- rank_op.c --- */

int exchange_take_rank_op(struct exchange *exchange, uint32_t asker, opal_buffer_t *buffer);

#endif
