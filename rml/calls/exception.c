/* Exceptions: what the application is told of its peers, by handlers that it registered. They run
 * where callbacks run, each exception for all handlers in the order of their registration. */
#include <config.h>

#include <base/settings/log.h>
#include <rml/calls/calls.h>
#include <rml/state/state.h>
#include <stdlib.h>

struct handler {
    struct list link; /* in rml->exception_handlers */
    uint64_t number;  /* later ones have higher numbers */
    orte_rml_exception_callback_t fn;
};

struct raised {
    struct rml_completion completion;
    orte_process_name_t peer;
    orte_rml_exception_t exception;
    uint64_t last; /* handlers with higher numbers came after it */
};

/* The first handler after a number that an exception is for. */
static const struct handler *next_locked(const struct rml *rml, uint64_t after, uint64_t last)
{
    const struct handler *handler;
    list_for_each (handler, &rml->exception_handlers, struct handler, link) {
        if (handler->number > after) {
            return handler->number <= last ? handler : NULL;
        }
    }
    return NULL;
}

/* A handler may remove itself and others: they are looked for anew each time. */
static void run_raised(struct rml *rml, struct rml_completion *completion)
{
    struct raised *raised = container_of(completion, struct raised, completion);
    const struct handler *handler;
    uint64_t after = 0;
    pthread_mutex_lock(&rml->lock);
    while ((handler = next_locked(rml, after, raised->last))) {
        orte_rml_exception_callback_t fn = handler->fn;
        orte_process_name_t peer = raised->peer;
        after = handler->number;
        pthread_mutex_unlock(&rml->lock);
        fn(&peer, raised->exception);
        pthread_mutex_lock(&rml->lock);
    }
    pthread_mutex_unlock(&rml->lock);
    free(raised);
}

static void drop_raised(struct rml *rml, struct rml_completion *completion)
{
    (void) rml;
    free(container_of(completion, struct raised, completion));
}

void rml_raise_locked(struct rml *rml, const orte_process_name_t *peer,
                      orte_rml_exception_t exception)
{
    if (rml->exceptions_off || rml->ending || rml->phase == RML_FINALIZED ||
        list_empty(&rml->exception_handlers)) {
        return;
    }
    struct raised *raised = calloc(1, sizeof(*raised));
    if (!raised) {
        log_error(LOG_RML, "no memory to say that %s is lost", ORTE_NAME_PRINT(peer));
        return;
    }
    raised->completion.run = run_raised;
    raised->completion.drop = drop_raised;
    raised->peer = *peer;
    raised->exception = exception;
    raised->last = rml->exception_serial;
    rml_due_locked(rml, &raised->completion);
}

void rml_end_exceptions(struct rml *rml)
{
    struct rml_completion *completion;
    struct list dropped = LIST_INIT(dropped);
    pthread_mutex_lock(&rml->lock);
    rml->exceptions_off = true;
    list_for_each (completion, &rml->due, struct rml_completion, link) {
        if (completion->run == run_raised) {
            rml_undue_locked(rml, completion);
            list_append(&dropped, &completion->link);
        }
    }
    pthread_mutex_unlock(&rml->lock);
    for (struct list *link; (link = list_pop(&dropped));) {
        drop_raised(rml, container_of(link, struct rml_completion, link));
    }
}

int rml_call_add_exception_handler(struct rml *rml, orte_rml_exception_callback_t fn)
{
    if (!fn) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct handler *handler = calloc(1, sizeof(*handler));
    if (!handler) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    handler->fn = fn;
    pthread_mutex_lock(&rml->lock);
    handler->number = ++rml->exception_serial;
    list_append(&rml->exception_handlers, &handler->link);
    pthread_mutex_unlock(&rml->lock);
    return ORTE_SUCCESS;
}

int rml_call_del_exception_handler(struct rml *rml, orte_rml_exception_callback_t fn)
{
    struct handler *handler, *found = NULL;
    if (!fn) {
        return ORTE_ERR_BAD_PARAM;
    }
    pthread_mutex_lock(&rml->lock);
    list_for_each (handler, &rml->exception_handlers, struct handler, link) {
        if (handler->fn == fn) {
            list_remove(&handler->link);
            found = handler;
            break;
        }
    }
    pthread_mutex_unlock(&rml->lock);
    free(found);
    return found ? ORTE_SUCCESS : ORTE_ERR_NOT_FOUND;
}

void rml_exceptions_init(struct rml *rml)
{
    list_init(&rml->exception_handlers);
}

void rml_exceptions_fini(struct rml *rml)
{
    for (struct list *link; (link = list_pop(&rml->exception_handlers));) {
        free(container_of(link, struct handler, link));
    }
}
