/* Alone: a job of one, with a random name and key; fences pass at once. */
#include <config.h>

#include <bootstrap/backend.h>

#include <stdlib.h>

static void singleton_abort(struct backend *backend, int status, const char *reason)
{
    (void) backend; /* nobody to tell: keel_abort logs the reason and exits */
    (void) status;
    (void) reason;
}

static void singleton_leave(struct backend *backend)
{
    backend_fini(backend);
    free(backend);
}

static const struct backend_ops singleton_ops = {
    .name = "singleton",
    .fence = backend_fence_alone,
    .fetch = backend_fetch_nothing,
    .abort = singleton_abort,
    .leave = singleton_leave,
};

int singleton_create(struct backend **out, struct rml *rml, const struct self *self, char *reason,
                     size_t reason_size)
{
    (void) reason;
    (void) reason_size;
    struct backend *backend = calloc(1, sizeof(*backend));
    if (!backend) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    backend->ops = &singleton_ops;
    backend->rml = rml;
    int status = backend_map_alone(&backend->map, self);
    if (status == ORTE_SUCCESS) {
        status = backend_init(backend);
    }
    if (status != ORTE_SUCCESS) {
        singleton_leave(backend);
        return status;
    }
    *out = backend;
    return ORTE_SUCCESS;
}
