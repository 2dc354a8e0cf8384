#include <config.h>

#include <base/types/name.h>
#include <pml/peers/context.h>
#include <pml/progress/progress.h>
#include <pml/requests/arrival.h>
#include <stdio.h>

static const opal_proc_t *named(const struct pml *pml, opal_proc_t *const *members, int32_t rank)
{
    return members ? members[rank] : pml->host.proc(pml->host.arg, (size_t) rank);
}

static bool may_open(const struct pml *pml, uint32_t id, opal_proc_t *const *members, size_t size,
                     int32_t rank)
{
    if (id > KEEL_PML_CONTEXT_MAX || size == 0 || size > INT32_MAX || rank < 0 ||
        (size_t) rank >= size || (!members && size != pml->host.job_size)) {
        return false;
    }
    for (size_t i = 0; members && i < size; i++) {
        if (!members[i]) {
            return false;
        }
    }
    return name_compare(&named(pml, members, rank)->proc_name, &pml->host.me->proc_name) == 0;
}

static int open_locked(struct pml *pml, uint16_t id, opal_proc_t *const *members, size_t size,
                       int32_t rank, struct keel_pml_context **context)
{
    if (context_was_lost(pml, id)) {
        arrival_forget(pml, id);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    int status = context_create(pml, id, members, size, rank, context);
    if (status == OPAL_SUCCESS) {
        arrival_of_early(*context);
    }
    return status;
}

int pml_context_open(struct pml *pml, uint32_t id, opal_proc_t *const *members, size_t size,
                     int32_t rank, struct keel_pml_context **context)
{
    if (!context || !may_open(pml, id, members, size, rank)) {
        return OPAL_ERR_BAD_PARAM;
    }
    pml_lock(pml);
    int status = open_locked(pml, (uint16_t) id, members, size, rank, context);
    pml_unlock(pml);
    return status;
}

/* Messages that nobody can receive any more are dropped meanwhile: their senders may be waiting in
 * keel_pml_context_free, too, while this one waits for theirs. */
static bool has_sent(void *arg)
{
    struct keel_pml_context *context = arg;
    arrival_drop_unexpected(context);
    return context->freed == 0;
}

static bool is_used(const struct keel_pml_context *context)
{
    return context->requests > 0 || context->taken > 0;
}

/* False: somebody uses it. */
static bool free_unused(struct keel_pml_context *context)
{
    struct pml *pml = context->pml;
    pml_lock(pml);
    const bool unused = !is_used(context) && context->freed == 0;
    if (unused) {
        arrival_drop(context);
        context_destroy(context);
    }
    pml_unlock(pml);
    return unused;
}

static void tell(const void *arg, char *text, size_t size)
{
    (void) arg;
    snprintf(text, size, "in keel_pml_context_free");
}

int keel_pml_context_free(struct keel_pml_context **freed)
{
    if (!freed || !*freed) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct keel_pml_context *context = *freed;
    const bool may_wait = progress_may_run(context->pml);
    pml_lock(context->pml);
    const bool used = is_used(context) || (context->freed > 0 && !may_wait);
    pml_unlock(context->pml);
    /* A callback may start more. */
    if (used || progress_until(context->pml, has_sent, tell, context) != OPAL_SUCCESS ||
        !free_unused(context)) {
        return OPAL_ERR_RESOURCE_BUSY;
    }
    *freed = NULL;
    return OPAL_SUCCESS;
}
