/* A collective between daemons: each one of a set contributes some bytes and a status, once, and
 * each gets the bytes of all, or the first error. Operations are told apart by a key, which the
 * participants choose alike (service, job, who takes part, a sequence number) and never use again.
 *
 * The participants, sorted, form a tree of their own; bytes are joined on the way up and sent down
 * by the first of them. What comes before this daemon has joined is kept. Everything on the loop.
 */
#ifndef LAUNCHER_NODE_SERVER_ALLGATHER_H
#define LAUNCHER_NODE_SERVER_ALLGATHER_H

#include <rml/interface/core.h>

struct allgather; /* one a daemon */

#define ALLGATHER_KEY_MAX 1023

/* Called once for each join, perhaps before it returns. status ORTE_SUCCESS: data are the
 * contributions, one behind the other in an order that is the same everywhere (borrowed); an error:
 * none. */
typedef void (*allgather_fn)(void *arg, int status, const uint8_t *data, size_t size);

/* me: this daemon; radix: of the daemons' tree. */
int allgather_create(struct allgather **allgather, struct rml *rml, const orte_process_name_t *me,
                     uint32_t radix) KEEL_MUST_CHECK;
/* Drops what is under way; done is not called any more. */
void allgather_destroy(struct allgather *allgather);

/* Takes part. daemons: the vpids of the participants, in any order, repeated or not, with mine
 * among them: of the ranks concerned, each one's daemon. A status other than ORTE_SUCCESS makes it
 * fail everywhere, at once. done gets ORTE_ERR_BAD_PARAM when others named other participants, and
 * ORTE_ERR_OUT_OF_RESOURCE when it is about more than the parameter allgather_max_bytes. Errors of
 * the call itself, after which done is not called: ORTE_EXISTS (joined before),
 * ORTE_ERR_BAD_PARAM, ORTE_ERR_OUT_OF_RESOURCE. */
int allgather_join(struct allgather *allgather, const char *key, const uint32_t *daemons,
                   uint32_t count, int status, const void *data, size_t size, allgather_fn done,
                   void *arg) KEEL_MUST_CHECK;
/* Forgets all operations whose key begins so; done is not called. For the end of a job. */
void allgather_forget(struct allgather *allgather, const char *prefix);
/* Have others begun this operation, which was not joined here yet? */
bool allgather_is_begun(struct allgather *allgather, const char *key);
/* Has it failed, and was not joined here yet? */
bool allgather_has_failed(struct allgather *allgather, const char *key);
/* begun is called when others begin an operation that was not joined here yet, and when it fails;
 * it may join, to let it fail, or to hear of it. One watcher; NULL: none. */
void allgather_watch(struct allgather *allgather, void (*begun)(void *arg, const char *key),
                     void *arg);
/* Operations that are not over: nobody joined here yet, or some part is still to come. */
unsigned allgather_pending(const struct allgather *allgather);
/* This daemon is lost: what needs it fails with ORTE_ERR_COMM_FAILURE, now and later. */
void allgather_daemon_lost(struct allgather *allgather, uint32_t vpid);

#endif
