/* How to reach other ranks. Questions begin and end on the loop. */
#include <config.h>

#include <bootstrap/pmix/internal.h>

#include <base/loop/handover.h>
#include <base/settings/log.h>
#include <stdlib.h>
#include <string.h>

/* A contact string is asked for. */
struct lookup {
    struct request request;
    struct list link; /* in lookups */
    struct loop_task task;
    struct pmix *pmix;
    orte_process_name_t name;
};

static void lookup_free(struct lookup *lookup)
{
    list_remove(&lookup->link);
    request_end(&lookup->request);
    free(lookup);
}

static void run_lookup(struct loop_task *task)
{
    struct lookup *lookup = container_of(task, struct lookup, task);
    struct request *request = &lookup->request;
    struct rml *rml = lookup->pmix->backend.rml;
    char *contact = NULL;
    if (request->status != ORTE_SUCCESS) {
        log_warn(LOG_BOOTSTRAP, "how to reach %s is not to be had: %s",
                 ORTE_NAME_PRINT(&lookup->name), request->text);
    } else if (request->size > 0 && !memchr(request->data, '\0', request->size)) {
        contact = strndup((const char *) request->data, request->size);
    }
    orte_process_name_t name = lookup->name;
    lookup_free(lookup);
    rml_resolved(rml, &name, contact);
    free(contact);
}

/* On libpmix's thread or the loop's. */
static void lookup_answered(struct request *request)
{
    struct lookup *lookup = container_of(request, struct lookup, request);
    loop_post(lookup->pmix->loop, &lookup->task);
}

void contacts_resolve(void *arg, const orte_process_name_t *name)
{
    struct pmix *pmix = arg;
    struct lookup *lookup = calloc(1, sizeof(*lookup));
    if (!lookup) {
        rml_resolved(pmix->backend.rml, name, NULL);
        return;
    }
    *lookup = (struct lookup){
        .request.deliver = lookup_answered, .task.run = run_lookup, .pmix = pmix, .name = *name};
    list_append(&pmix->lookups, &lookup->link);
    if (request_begin(&lookup->request, &pmix->desk, name->vpid, CONTACT_KEY, patience_s()) !=
        ORTE_SUCCESS) {
        list_remove(&lookup->link);
        free(lookup);
        rml_resolved(pmix->backend.rml, name, NULL);
    }
}

static int end_on_loop(void *arg)
{
    struct pmix *pmix = arg;
    struct lookup *lookup;
    list_for_each (lookup, &pmix->lookups, struct lookup, link) {
        (void) request_give_up(&lookup->request);
        (void) loop_cancel(pmix->loop, &lookup->task);
        lookup_free(lookup);
    }
    return ORTE_SUCCESS;
}

void contacts_end(struct pmix *pmix)
{
    (void) handover_call(pmix->loop, end_on_loop, pmix);
}
