/* The back ends of bootstrap: how cards are exchanged and fences held. native does it by RML
 * messages over the daemons' tree; pmix (pmix/pmix.h) by a PMIx server; singleton is alone. The
 * application's thread calls them. */
#ifndef BOOTSTRAP_BACKEND_H
#define BOOTSTRAP_BACKEND_H

#include <bootstrap/env.h>
#include <keel/host.h>
#include <rml/interface/core.h>
#include <wireup/cards.h>
#include <wireup/job_map.h>

struct backend;

struct backend_ops {
    const char *name;
    /* Passes every rank, publishing the cards added since the last; deadline in clock_us, 0: none.
     * poll is called while it waits. */
    int (*fence)(struct backend *backend, uint64_t deadline_us, int (*poll)(void *arg), void *arg);
    /* A card of rank is not among those known here: fetches its set, then answers done. */
    void (*fetch)(struct backend *backend, uint32_t rank, const char *key, keel_card_fn done,
                  void *arg);
    /* Tells the launcher to end the job, which ends this process; returns if that does not happen.
     */
    void (*abort)(struct backend *backend, int status, const char *reason);
    /* Says goodbye and frees. */
    void (*leave)(struct backend *backend);
};

/* What all of them have. */
struct backend {
    const struct backend_ops *ops;
    struct rml *rml; /* borrowed */
    struct job_map map;
    uint32_t rank;       /* mine */
    struct blob pending; /* my cards that no fence has published yet */
    struct blob *sets;   /* owned, by rank: the cards known here */
    /* NULL: nobody asks. A rank has ended while the job goes on; with the data plane's lock. */
    void (*ended)(void *arg, uint32_t rank);
    void *ended_arg;
    bool announces; /* peers are not reached before a fence has passed */
    bool together;  /* all ranks leave: they have passed the last fence */
    bool silent;    /* all ranks know that the next fence publishes nothing */
};

/* Both connect or make what they need and fill the map; reason gets the text of an error. */
int native_create(struct backend **backend, struct rml *rml, const struct self *self, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
int singleton_create(struct backend **backend, struct rml *rml, const struct self *self,
                     char *reason, size_t reason_size) KEEL_MUST_CHECK;

/* Parameters of several back ends. */
uint32_t backend_collect_max(void);   /* ranks */
uint64_t backend_timeout_us(void);    /* for what a daemon or server answers at once */
uint64_t backend_init_deadline(void); /* clock_us: for the other ranks to join, from now */

/* Shared parts. */
/* The map of a job of one. */
int backend_map_alone(struct job_map *map, const struct self *self) KEEL_MUST_CHECK;
int backend_init(struct backend *backend) KEEL_MUST_CHECK; /* the sets, once the map is there */
void backend_fini(struct backend *backend);
int backend_put_card(struct backend *backend, const char *key, const void *data,
                     size_t size) KEEL_MUST_CHECK;
void backend_get_card(struct backend *backend, uint32_t rank, const char *key, keel_card_fn done,
                      void *arg);
/* As keel_host_ops' peek_card. */
int backend_peek_card(struct backend *backend, uint32_t rank, const char *key, const void **data,
                      size_t *size) KEEL_MUST_CHECK;
/* A fence has published my cards: they are known here like everybody else's. */
int backend_publish_own(struct backend *backend) KEEL_MUST_CHECK;
/* The operations of one that is alone: a fence with itself, and nobody who has cards. */
int backend_fence_alone(struct backend *backend, uint64_t deadline_us, int (*poll)(void *arg),
                        void *arg);
void backend_fetch_nothing(struct backend *backend, uint32_t rank, const char *key,
                           keel_card_fn done, void *arg);
/* Blocks until there is a link; limit_us as for rml_connect. reason begins "no link to WHOM
 * CONTACT".
 */
int backend_connect(struct rml *rml, const char *contact, enum oob_key key, uint64_t limit_us,
                    const char *whom, char *reason, size_t reason_size) KEEL_MUST_CHECK;

#endif
