/* The cards of other ranks: what they have published, read in its order, when somebody asks. */
#include <config.h>

#include <bootstrap/pmix/internal.h>

#include <base/data/le.h>
#include <base/settings/log.h>
#include <btl/interface/base.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBE_HERE_S = 1, PROBE_FAR_S = 5 };

struct waiter {
    struct list link;
    char key[CARD_KEY_MAX + 1];
    keel_card_fn done;
    void *arg;
};

/* The next cards of a rank are on their way. */
struct fetch {
    struct request request;
    struct rml_completion completion;
    struct pmix *pmix;
    uint32_t rank;
    uint32_t fences; /* passed when it was asked */
    struct list waiters;
};

/* On libpmix's thread or the loop's. */
static void fetch_answered(struct request *request)
{
    struct fetch *fetch = container_of(request, struct fetch, request);
    rml_post(fetch->pmix->backend.rml, &fetch->completion);
}

/* Takes a publication in: number of its fence, then cards. */
static int take_publication(struct pmix *pmix, uint32_t rank, const uint8_t *data, size_t size)
{
    struct known *known = &pmix->known[rank];
    if (size < 4 || cards_check(data + 4, size - 4) != ORTE_SUCCESS) {
        log_error(LOG_BOOTSTRAP, "the cards of rank %u do not make sense", rank);
        return ORTE_ERR_BAD_PARAM;
    }
    uint32_t fence = get_le32(data);
    int status = blob_append(&pmix->backend.sets[rank], data + 4, size - 4);
    if (status == ORTE_SUCCESS) {
        known->read++;
        known->complete =
            fence >= known->complete && fence < UINT32_MAX ? fence + 1 : known->complete;
    }
    return status;
}

/* What the answer says; ORTE_ERR_NOT_FOUND: there are no other cards. */
static int take_answer(struct fetch *fetch)
{
    struct pmix *pmix = fetch->pmix;
    struct known *known = &pmix->known[fetch->rank];
    struct request *request = &fetch->request;
    if (request->status == ORTE_SUCCESS) {
        return take_publication(pmix, fetch->rank, request->data, request->size);
    }
    bool none = request->status == ORTE_ERR_NOT_FOUND || request->status == ORTE_ERR_TIMEOUT;
    if (none && known->read > 0) {
        known->complete = fetch->fences;
        return ORTE_ERR_NOT_FOUND;
    }
    log_info(LOG_BOOTSTRAP, "the cards of rank %u are not to be had: %s", fetch->rank,
             request->text);
    return request->status == ORTE_ERR_NOT_FOUND ? ORTE_ERR_COMM_FAILURE : request->status;
}

static void add_waiter(struct pmix *pmix, uint32_t rank, struct waiter *waiter);

/* Answers a waiter whose card is here, or is nowhere, or lets it wait for the next cards. */
static void look_again(struct pmix *pmix, uint32_t rank, struct waiter *waiter, int status)
{
    const uint8_t *data;
    size_t size;
    int found = cards_find(&pmix->backend.sets[rank], waiter->key, &data, &size);
    if (found != ORTE_SUCCESS && status == ORTE_SUCCESS &&
        pmix->known[rank].complete < pmix->fences) {
        add_waiter(pmix, rank, waiter);
        return;
    }
    if (found == ORTE_SUCCESS) {
        waiter->done(waiter->arg, ORTE_SUCCESS, data, size);
    } else {
        waiter->done(waiter->arg, status == ORTE_SUCCESS ? found : status, NULL, 0);
    }
    free(waiter);
}

static void end_fetch(struct fetch *fetch, int status)
{
    struct pmix *pmix = fetch->pmix;
    uint32_t rank = fetch->rank;
    struct list waiters = LIST_INIT(waiters);
    list_splice(&waiters, &fetch->waiters);
    pmix->known[rank].fetch = NULL;
    if (--pmix->fetches == 0) {
        pmix->all_read = true;
    }
    request_end(&fetch->request);
    free(fetch);
    for (struct list *link; (link = list_pop(&waiters));) { /* callbacks may ask for more */
        look_again(pmix, rank, container_of(link, struct waiter, link), status);
    }
}

static void run_fetch(struct rml *rml, struct rml_completion *completion)
{
    struct fetch *fetch = container_of(completion, struct fetch, completion);
    (void) rml;
    btl_enter(); /* it guards the back end, too */
    end_fetch(fetch, take_answer(fetch));
    btl_leave();
}

/* The back end leaves before the RML ends: nothing is left in its queue. */
static void drop_fetch(struct rml *rml, struct rml_completion *completion)
{
    (void) rml;
    (void) completion;
}

/* How long the next cards of a rank may take; the first ones are known to be there. */
static unsigned patience(const struct pmix *pmix, uint32_t rank)
{
    const struct job_map *map = &pmix->backend.map;
    bool here = map->node_of[rank] == map->node_of[pmix->backend.rank];
    return pmix->known[rank].read == 0 ? patience_s() : here ? PROBE_HERE_S : PROBE_FAR_S;
}

/* Asks for the next cards of a rank for which nobody has asked yet. */
static int begin_fetch(struct pmix *pmix, uint32_t rank)
{
    char key[32];
    struct fetch *fetch = calloc(1, sizeof(*fetch));
    if (!fetch) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *fetch = (struct fetch){.request.deliver = fetch_answered,
                            .completion = {.recursive = true, .run = run_fetch, .drop = drop_fetch},
                            .pmix = pmix,
                            .rank = rank,
                            .fences = pmix->fences};
    list_init(&fetch->waiters);
    snprintf(key, sizeof(key), CARDS_KEY, pmix->known[rank].read);
    int status = request_begin(&fetch->request, &pmix->desk, rank, key, patience(pmix, rank));
    if (status != ORTE_SUCCESS) {
        free(fetch);
        return status;
    }
    pmix->known[rank].fetch = fetch;
    pmix->fetches++;
    return ORTE_SUCCESS;
}

/* Takes the waiter: it is answered here when nothing can be asked. */
static void add_waiter(struct pmix *pmix, uint32_t rank, struct waiter *waiter)
{
    int status = pmix->leaving ? ORTE_ERR_COMM_FAILURE : ORTE_SUCCESS;
    if (status == ORTE_SUCCESS && !pmix->known[rank].fetch) {
        status = begin_fetch(pmix, rank);
    }
    if (status == ORTE_SUCCESS) {
        list_append(&pmix->known[rank].fetch->waiters, &waiter->link);
        return;
    }
    waiter->done(waiter->arg, status, NULL, 0);
    free(waiter);
}

void modex_fetch(struct backend *backend, uint32_t rank, const char *key, keel_card_fn done,
                 void *arg)
{
    struct pmix *pmix = container_of(backend, struct pmix, backend);
    if (strlen(key) > CARD_KEY_MAX || (!pmix->known[rank].fetch && pmix->fences > 0 &&
                                       pmix->known[rank].complete >= pmix->fences)) {
        done(arg, ORTE_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    struct waiter *waiter = calloc(1, sizeof(*waiter));
    if (!waiter) {
        done(arg, ORTE_ERR_OUT_OF_RESOURCE, NULL, 0);
        return;
    }
    waiter->done = done;
    waiter->arg = arg;
    memcpy(waiter->key, key, strlen(key) + 1);
    add_waiter(pmix, rank, waiter);
}

/* One after the other: several questions at once meet Nagle's algorithm in libpmix and its server,
 * which costs 40 ms. */
int modex_read_all(struct pmix *pmix, uint64_t deadline_us, int (*poll)(void *arg), void *arg)
{
    int status = ORTE_SUCCESS;
    uint32_t size = pmix->backend.map.size;
    for (uint32_t rank = 0; status == ORTE_SUCCESS && rank < size; rank++) {
        if (rank != pmix->backend.rank && !pmix->known[rank].fetch) {
            pmix->all_read = false;
            status = begin_fetch(pmix, rank);
        }
        if (status == ORTE_SUCCESS && pmix->fetches > 0) {
            status = rml_wait(pmix->backend.rml, &pmix->all_read, deadline_us, poll, arg);
        }
        if (status == ORTE_SUCCESS && rank != pmix->backend.rank && pmix->known[rank].read == 0) {
            log_error(LOG_BOOTSTRAP, "the PMIx server does not know the cards of rank %u", rank);
            status = ORTE_ERR_NOT_FOUND;
        }
    }
    return status;
}

/* Those whose answers are in the queue are waited for. */
void modex_end(struct pmix *pmix)
{
    pmix->leaving = true;
    for (uint32_t rank = 0; pmix->known && rank < pmix->backend.map.size; rank++) {
        struct fetch *fetch = pmix->known[rank].fetch;
        if (fetch && request_give_up(&fetch->request)) {
            end_fetch(fetch, ORTE_ERR_COMM_FAILURE);
        }
    }
    if (pmix->fetches > 0) {
        pmix->all_read = false;
        (void) rml_wait(pmix->backend.rml, &pmix->all_read, 0, NULL, NULL);
    }
}
