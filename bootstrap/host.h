/* keel_host_ops over a back end: what the BTLs of this process ask. */
#ifndef BOOTSTRAP_HOST_H
#define BOOTSTRAP_HOST_H

#include <bootstrap/backend.h>

struct host {
    struct backend *backend; /* borrowed */
    opal_proc_t *procs;      /* owned, by rank */
    const char *session_dir; /* borrowed; may be NULL */
};

extern const struct keel_host_ops host_ops; /* its host is a struct host */

int host_init(struct host *host, struct backend *backend, const char *session_dir) KEEL_MUST_CHECK;
void host_fini(struct host *host);

#endif
