/* Loads keel-pmix.so and starts its server when the first rank needs it, in a thread: most programs
 * never do, and the loop does not wait. */
#ifndef LAUNCHER_PMIX_STARTER_H
#define LAUNCHER_PMIX_STARTER_H

#include <launcher/pmix/pmix_module.h>

struct starter;

/* On the loop, once after starter_begin: the running module, or NULL and the reason. */
typedef void starter_fn(void *arg, const struct pmix_module *module, const char *reason);

/* Borrows everything. listener: what libpmix will believe to be its own (guard.h). */
int starter_create(struct starter **starter, struct loop *loop, int listener,
                   const struct pmix_host *host, const struct pmix_server *server,
                   const struct pmix_job *job, starter_fn *done, void *arg) KEEL_MUST_CHECK;
/* Changes the environment until done is called: libpmix takes its settings from there. No-op after
 * the first call. On the loop. */
void starter_begin(struct starter *starter);
/* Waits for the start, then ends the server; blocks, at most two seconds for a server that hangs.
 * done is not called any more. On the loop. False: libpmix was loaded, and keeps what it has. */
bool starter_end(struct starter *starter);

#endif
