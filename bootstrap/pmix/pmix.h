/* The back end under a PMIx server: cards, contacts and the application key go through the server's
 * modex, fences are the server's. */
#ifndef BOOTSTRAP_PMIX_PMIX_H
#define BOOTSTRAP_PMIX_PMIX_H

#include <bootstrap/backend.h>
#include <bootstrap/pmix/client.h>

/* Shares the key, opens the listeners and publishes how to reach them; waits for all other ranks.
 * Takes the client's map. The client outlives the back end. */
int pmix_create(struct backend **backend, struct rml *rml, struct loop *loop,
                struct pmix_client *client, const struct self *self, char *reason,
                size_t reason_size) KEEL_MUST_CHECK;

#endif
