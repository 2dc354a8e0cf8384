/* This process's seat at a PMIx server: the module that speaks with it, and what the server says of
 * the job. */
#ifndef BOOTSTRAP_PMIX_CLIENT_H
#define BOOTSTRAP_PMIX_CLIENT_H

#include <bootstrap/env.h>
#include <bootstrap/pmix/module.h>

struct pmix_client {
    const struct pmix_calls *calls;
    struct job_map map; /* without the key; the back end takes it */
    char *node;         /* owned: my node's name */
    char *session;      /* owned: the folder that the ranks of my node share, or NULL */
};

/* Loads the module, joins, makes the session folder, and fills self's name, size, id, folder and
 * node, which live as long as the client. Waits for the server for at most bootstrap_timeout_s. */
int pmix_client_join(struct pmix_client **client, struct self *self, char *reason,
                     size_t reason_size) KEEL_MUST_CHECK;
/* Has the server end the job; returns if that does not happen soon. */
void pmix_client_abort(const struct pmix_client *client, int status, const char *reason);
/* The server is gone, or the job at its end: what the server would have removed is removed here.
 * Any thread. */
void pmix_client_orphaned(const struct pmix_client *client);
/* Leaves the job and frees; NULL: nothing. What is in the folder was removed before. */
void pmix_client_leave(struct pmix_client *client);

#endif
