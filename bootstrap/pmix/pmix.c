#include <config.h>

#include <bootstrap/pmix/internal.h>

#include <base/data/le.h>
#include <base/loop/handover.h>
#include <base/settings/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_VERSION 1

/* --- notes --- */

static void note_read(struct rml *rml, struct rml_completion *completion)
{
    struct note *note = container_of(completion, struct note, completion);
    (void) rml;
    __atomic_store_n(&note->read, true, __ATOMIC_RELEASE);
}

static void drop_note(struct rml *rml, struct rml_completion *completion)
{
    (void) rml;
    (void) completion;
}

/* run is to call note_read, or is it. */
static void note_init(struct note *note,
                      void (*run)(struct rml *rml, struct rml_completion *completion))
{
    *note = (struct note){.completion = {.recursive = true, .run = run, .drop = drop_note}};
}

/* --- fences --- */

static void run_fence(struct rml *rml, struct rml_completion *completion)
{
    struct note *note = container_of(completion, struct note, completion);
    struct pmix *pmix = container_of(note, struct pmix, fence);
    note_read(rml, completion);
    __atomic_store_n(&pmix->fence_over, true, __ATOMIC_RELEASE);
}

/* On libpmix's thread. */
static void lost(void *arg)
{
    struct pmix *pmix = arg;
    if (!pmix->lost.posted) {
        pmix->lost.posted = true;
        pmix_client_orphaned(pmix->client);
        rml_post(pmix->backend.rml, &pmix->lost.completion);
    }
}

/* On libpmix's thread. */
static void fence_answered(void *arg, const struct pmix_answer *answer)
{
    struct pmix *pmix = arg;
    if (answer->status == ORTE_ERR_UNREACH) {
        lost(pmix);
    }
    pmix->fence.status = answer->status;
    pmix->fence.text = answer->text;
    rml_post(pmix->backend.rml, &pmix->fence.completion);
}

/* What a call of the server's has returned: whoever sees first that it is gone may end at once. */
static int checked(struct pmix *pmix, int status)
{
    if (status == ORTE_ERR_UNREACH) {
        pmix_client_orphaned(pmix->client);
        return ORTE_ERR_COMM_FAILURE;
    }
    return status;
}

/* Passes a fence of the server's. */
static int pass(struct pmix *pmix, bool collect, uint64_t deadline_us, int (*poll)(void *arg),
                void *arg)
{
    struct pmix_ticket *ticket;
    struct rml *rml = pmix->backend.rml;
    struct note *fence = &pmix->fence;
    fence->read = pmix->fence_over = false;
    int status = checked(
        pmix, pmix->calls->fence(collect || pmix->must_collect, fence_answered, pmix, &ticket));
    if (status != ORTE_SUCCESS) {
        return status;
    }
    status = rml_wait(rml, &pmix->fence_over, deadline_us, poll, arg);
    if (pmix->calls->drop(ticket)) {
        return status == ORTE_ERR_TIMEOUT ? status : ORTE_ERR_COMM_FAILURE; /* no answer */
    }
    (void) rml_wait(rml, &fence->read, 0, NULL, NULL); /* it is in the queue, if not read */
    if (fence->status != ORTE_SUCCESS) {
        log_info(LOG_BOOTSTRAP, "the PMIx server's fence failed: %s", fence->text);
        return ORTE_ERR_COMM_FAILURE; /* whatever it was: a rank is lost, or the server is */
    }
    return ORTE_SUCCESS;
}

/* Puts the cards that nobody knows yet where a fence makes them known. */
static int publish(struct pmix *pmix)
{
    struct blob publication = {0};
    char key[32];
    uint8_t number[4];
    const struct blob *pending = &pmix->backend.pending;
    if (pmix->published > 0 && pending->size == 0) {
        return ORTE_SUCCESS;
    }
    snprintf(key, sizeof(key), CARDS_KEY, pmix->published);
    put_le32(number, pmix->fences);
    int status = blob_append(&publication, number, sizeof(number));
    if (status == ORTE_SUCCESS) {
        status = blob_append(&publication, pending->data, pending->size);
    }
    if (status == ORTE_SUCCESS) {
        status = checked(pmix, pmix->calls->put(key, publication.data, publication.size, false));
    }
    if (status == ORTE_SUCCESS) {
        status = checked(pmix, pmix->calls->commit());
    }
    if (status == ORTE_SUCCESS) {
        pmix->published++;
    }
    blob_fini(&publication);
    return status;
}

static int pmix_fence(struct backend *backend, uint64_t deadline_us, int (*poll)(void *arg),
                      void *arg)
{
    struct pmix *pmix = container_of(backend, struct pmix, backend);
    if (pmix->broken) {
        return ORTE_ERR_COMM_FAILURE;
    }
    bool collect = pmix->fences == 0 && pmix->may_collect;
    int status = backend->silent ? ORTE_SUCCESS : publish(pmix);
    if (status == ORTE_SUCCESS) {
        status = pass(pmix, collect, deadline_us, poll, arg);
    }
    if (status == ORTE_SUCCESS && !backend->silent) {
        pmix->fences++;
        pmix->known[backend->rank].complete = pmix->fences;
        status = backend_publish_own(backend);
    }
    if (status == ORTE_SUCCESS && collect) {
        status = modex_read_all(pmix, deadline_us, poll, arg);
    }
    pmix->broken = pmix->broken || status != ORTE_SUCCESS;
    return status;
}

/* --- the end --- */

/* In the application's thread, after what came before. */
static void run_lost(struct rml *rml, struct rml_completion *completion)
{
    struct note *note = container_of(completion, struct note, completion);
    struct pmix *pmix = container_of(note, struct pmix, lost);
    log_warn(LOG_BOOTSTRAP, "the PMIx server is gone");
    pmix->broken = true;
    __atomic_store_n(&pmix->fence_over, true, __ATOMIC_RELEASE);
    rml_cut_off(rml);
    note_read(rml, completion);
}

static void pmix_abort(struct backend *backend, int status, const char *reason)
{
    const struct pmix *pmix = container_of(backend, struct pmix, backend);
    log_error(LOG_BOOTSTRAP, "aborted%s%s", reason[0] ? ": " : "", reason);
    pmix_client_abort(pmix->client, status, reason);
    pmix_client_orphaned(pmix->client); /* still here: the server may not clean up either */
}

static void pmix_leave(struct backend *backend)
{
    struct pmix *pmix = container_of(backend, struct pmix, backend);
    pmix->calls->watch(NULL, NULL);
    if (pmix->lost.posted) {
        (void) rml_wait(backend->rml, &pmix->lost.read, 0, NULL, NULL);
    }
    rml_set_resolver(backend->rml, NULL, NULL);
    contacts_end(pmix);
    modex_end(pmix);
    request_desk_close(&pmix->desk);
    free(pmix->known);
    backend_fini(backend);
    free(pmix);
}

static const struct backend_ops pmix_ops = {
    .name = "pmix",
    .fence = pmix_fence,
    .fetch = modex_fetch,
    .abort = pmix_abort,
    .leave = pmix_leave,
};

/* --- questions --- */

/* A question that somebody waits for. */
struct question {
    struct request request;
    struct rml *rml;
    struct note note;
};

static void question_answered(struct request *request)
{
    struct question *question = container_of(request, struct question, request);
    rml_post(question->rml, &question->note.completion);
}

int pmix_ask(struct pmix *pmix, uint32_t rank, const char *key, uint8_t **data, size_t *size)
{
    struct question question = {.request.deliver = question_answered, .rml = pmix->backend.rml};
    note_init(&question.note, note_read);
    int status = request_begin(&question.request, &pmix->desk, rank, key, patience_s());
    if (status != ORTE_SUCCESS) {
        return status;
    }
    /* the desk has a deadline */
    (void) rml_wait(question.rml, &question.note.read, 0, NULL, NULL);
    status = question.request.status;
    if (status == ORTE_SUCCESS) {
        *data = question.request.data;
        *size = question.request.size;
        question.request.data = NULL;
    }
    request_end(&question.request);
    return status;
}

/* --- joining --- */

static int get_key(struct pmix *pmix)
{
    uint8_t *data;
    size_t size;
    int status = pmix_ask(pmix, 0, KEY_KEY, &data, &size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (size == 1 + KEY_BYTES && data[0] == KEY_VERSION) {
        memcpy(pmix->backend.map.app_key, data + 1, KEY_BYTES);
    } else {
        status = ORTE_ERR_BAD_PARAM;
    }
    crypto_wipe(data, size);
    free(data);
    return status;
}

static int put_key(struct pmix *pmix)
{
    uint8_t message[1 + KEY_BYTES] = {KEY_VERSION};
    crypto_random(pmix->backend.map.app_key, KEY_BYTES);
    memcpy(message + 1, pmix->backend.map.app_key, KEY_BYTES);
    int status = pmix->calls->put(KEY_KEY, message, sizeof(message), false);
    crypto_wipe(message, sizeof(message));
    return status;
}

static int set_key_on_loop(void *arg)
{
    struct pmix *pmix = arg;
    oob_set_key(rml_oob(pmix->backend.rml), OOB_KEY_APP, pmix->backend.map.app_key);
    return ORTE_SUCCESS;
}

/* Rank 0 draws the key; a fence hands it out before anybody is told where to find this process,
 * which so has it when the first peer comes. */
static int share_key(struct pmix *pmix, char *reason, size_t reason_size)
{
    int status = pmix->backend.rank == 0 ? put_key(pmix) : ORTE_SUCCESS;
    if (status == ORTE_SUCCESS) {
        status = cpus_publish(pmix);
    }
    if (status == ORTE_SUCCESS) {
        status = pmix->calls->commit();
    }
    if (status == ORTE_SUCCESS) {
        status = pass(pmix, true, backend_init_deadline(), NULL, NULL);
    }
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size,
                 "the job's key cannot be shared, for the PMIx server's first fence failed: %s",
                 opal_strerror(status));
        return status;
    }
    status = pmix->backend.rank == 0 ? ORTE_SUCCESS : get_key(pmix);
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "rank 0's key is not to be had from the PMIx server: %s",
                 opal_strerror(status));
        return status;
    }
    return handover_call(pmix->loop, set_key_on_loop, pmix);
}

static int publish_contact(struct pmix *pmix, char *reason, size_t reason_size)
{
    char *contact = rml_contact(pmix->backend.rml);
    if (!contact) {
        snprintf(reason, reason_size, "this process can be reached at no address");
        return ORTE_ERR_UNREACH;
    }
    int status = pmix->calls->put(CONTACT_KEY, contact, strlen(contact), false);
    if (status == ORTE_SUCCESS) {
        status = pmix->calls->commit();
    }
    free(contact);
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "the PMIx server does not take the contact string: %s",
                 opal_strerror(status));
    }
    return status;
}

/* Slurm's server lets a fence without data pass where it stands. */
static bool fences_need_data(void)
{
    const char *nspace = getenv("PMIX_NAMESPACE");
    return nspace && strncmp(nspace, "slurm.", 6) == 0;
}

int pmix_create(struct backend **out, struct rml *rml, struct loop *loop,
                struct pmix_client *client, const struct self *self, char *reason,
                size_t reason_size)
{
    struct pmix *pmix = calloc(1, sizeof(*pmix));
    if (!pmix) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    pmix->backend = (struct backend){.ops = &pmix_ops,
                                     .rml = rml,
                                     .map = client->map,
                                     .rank = self->name.vpid,
                                     .announces = true};
    client->map = (struct job_map){.size = 0};
    pmix->client = client;
    pmix->calls = client->calls;
    pmix->loop = loop;
    pmix->may_collect = pmix->backend.map.size <= backend_collect_max();
    pmix->must_collect = fences_need_data();
    note_init(&pmix->fence, run_fence);
    note_init(&pmix->lost, run_lost);
    list_init(&pmix->lookups);
    request_desk_open(&pmix->desk, client->calls, loop);
    pmix->calls->watch(lost, pmix);
    int status = backend_init(&pmix->backend);
    if (status == ORTE_SUCCESS) {
        pmix->known = calloc(pmix->backend.map.size, sizeof(*pmix->known));
        status = pmix->known ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (status == ORTE_SUCCESS) {
        status = share_key(pmix, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status = publish_contact(pmix, reason, reason_size);
    }
    if (status != ORTE_SUCCESS) {
        pmix_leave(&pmix->backend);
        return status;
    }
    cpus_look(pmix);
    rml_set_resolver(rml, contacts_resolve, pmix);
    *out = &pmix->backend;
    return ORTE_SUCCESS;
}
