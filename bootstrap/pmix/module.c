#include <config.h>

#include <bootstrap/pmix/module.h>

#include <base/data/list.h>
#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_TEXT 64

/* libpmix is one for the process, and so is this. */
static struct {
    pthread_mutex_t lock; /* guards the rest, and the tickets */
    bool joined;          /* once; fork's children inherit it with libpmix's state */
    pmix_proc_t me;
    struct list tickets; /* without an answer */
    void (*lost)(void *arg);
    void *lost_arg;
} client = {.lock = PTHREAD_MUTEX_INITIALIZER, .tickets = LIST_INIT(client.tickets)};

static int orte_status(pmix_status_t status)
{
    switch (status) {
    case PMIX_SUCCESS:
    case PMIX_OPERATION_SUCCEEDED:
        return ORTE_SUCCESS;
    case PMIX_ERR_NOT_FOUND:
        return ORTE_ERR_NOT_FOUND;
    case PMIX_ERR_TIMEOUT:
        return ORTE_ERR_TIMEOUT;
    case PMIX_ERR_NOMEM:
    case PMIX_ERR_OUT_OF_RESOURCE:
        return ORTE_ERR_OUT_OF_RESOURCE;
    case PMIX_ERR_NOT_SUPPORTED:
        return ORTE_ERR_NOT_SUPPORTED;
    case PMIX_ERR_UNREACH:
    case PMIX_ERR_COMM_FAILURE:
        return ORTE_ERR_UNREACH;
    default:
        return ORTE_ERR_COMM_FAILURE;
    }
}

/* --- tickets --- */

struct pmix_ticket {
    struct list link; /* in client.tickets until the answer */
    unsigned refs;    /* libpmix's until the answer, the asker's until it drops */
    bool wanted, answered;
    pmix_answer_fn *answer;
    void *arg;
    pmix_proc_t proc; /* libpmix's until the answer, as key and info are */
    char key[KEY_TEXT];
    size_t info_count;
    pmix_info_t info[1];
};

static struct pmix_ticket *ticket_create(pmix_answer_fn *answer, void *arg)
{
    struct pmix_ticket *ticket = calloc(1, sizeof(*ticket));
    if (ticket) {
        ticket->refs = 2;
        ticket->wanted = true;
        ticket->answer = answer;
        ticket->arg = arg;
        pthread_mutex_lock(&client.lock);
        list_append(&client.tickets, &ticket->link);
        pthread_mutex_unlock(&client.lock);
    }
    return ticket;
}

static void ticket_free(struct pmix_ticket *ticket)
{
    for (size_t i = 0; i < ticket->info_count; i++) {
        PMIX_INFO_DESTRUCT(&ticket->info[i]);
    }
    free(ticket);
}

static void ticket_add(struct pmix_ticket *ticket, const char *key, const void *value,
                       pmix_data_type_t type)
{
    PMIX_INFO_LOAD(&ticket->info[ticket->info_count], key, value, type);
    ticket->info_count++;
}

static void ticket_answer(struct pmix_ticket *ticket, pmix_status_t status, const void *data,
                          size_t size)
{
    struct pmix_answer answer = {orte_status(status), PMIx_Error_string(status), data, size};
    pthread_mutex_lock(&client.lock);
    list_remove(&ticket->link);
    ticket->answered = true;
    if (ticket->wanted) {
        ticket->answer(ticket->arg, &answer);
    }
    bool last = --ticket->refs == 0;
    pthread_mutex_unlock(&client.lock);
    if (last) {
        ticket_free(ticket);
    }
}

static bool client_drop(struct pmix_ticket *ticket)
{
    pthread_mutex_lock(&client.lock);
    bool open = !ticket->answered;
    ticket->wanted = false;
    bool last = --ticket->refs == 0;
    pthread_mutex_unlock(&client.lock);
    if (last) {
        ticket_free(ticket);
    }
    return open;
}

/* What a call that answers through a ticket has returned: an error means that nothing was asked. */
static int asked(struct pmix_ticket *ticket, pmix_status_t status)
{
    if (status == PMIX_SUCCESS) {
        return ORTE_SUCCESS;
    }
    if (status == PMIX_OPERATION_SUCCEEDED) { /* there is no other answer */
        ticket_answer(ticket, PMIX_SUCCESS, NULL, 0);
        return ORTE_SUCCESS;
    }
    pthread_mutex_lock(&client.lock);
    list_remove(&ticket->link);
    pthread_mutex_unlock(&client.lock);
    ticket_free(ticket);
    return orte_status(status);
}

/* --- joining --- */

/* What the server told when this process joined: libpmix has it here, or it is not to be had. */
static pmix_value_t *look_up(uint32_t rank, const char *key, pmix_data_type_t type)
{
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    pmix_info_t info;
    bool yes = true;
    PMIX_LOAD_PROCID(&proc, client.me.nspace, rank);
    PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    pmix_status_t status = PMIx_Get(&proc, key, &info, 1, &value);
    PMIX_INFO_DESTRUCT(&info);
    if (status != PMIX_SUCCESS || !value) {
        return NULL;
    }
    if (value->type != type || (type == PMIX_STRING && !value->data.string)) {
        PMIX_VALUE_RELEASE(value);
        return NULL;
    }
    return value;
}

static char *look_up_text(uint32_t rank, const char *key)
{
    char *text = NULL;
    pmix_value_t *value = look_up(rank, key, PMIX_STRING);
    if (value) {
        text = strdup(value->data.string);
        PMIX_VALUE_RELEASE(value);
    }
    return text;
}

static int read_size(struct pmix_view *view, char *reason, size_t reason_size)
{
    pmix_value_t *value = look_up(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, PMIX_UINT32);
    if (!value) {
        snprintf(reason, reason_size, "the PMIx server does not say how many ranks %s has",
                 client.me.nspace);
        return ORTE_ERR_NOT_FOUND;
    }
    uint32_t size = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    if (size == 0 || size > PMIX_RANKS_MAX || client.me.rank >= size) {
        snprintf(reason, reason_size,
                 "the PMIx server says that this is rank %u of %u in %s; at most %u can be",
                 client.me.rank, size, client.me.nspace, PMIX_RANKS_MAX);
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    view->size = size;
    view->rank = client.me.rank;
    return ORTE_SUCCESS;
}

/* Ranks of my node whose host is not known have mine: list is "0,1,5". */
static void fill_in_peers(struct pmix_view *view, const char *list)
{
    const char *mine = view->hosts[view->rank];
    for (const char *at = list; mine && at && *at;) {
        char *end;
        unsigned long rank = strtoul(at, &end, 10);
        if (end == at || (*end != '\0' && *end != ',')) {
            return;
        }
        if (rank < view->size && !view->hosts[rank]) {
            view->hosts[rank] = strdup(mine);
        }
        at = *end ? end + 1 : NULL;
    }
}

static int read_hosts(struct pmix_view *view)
{
    bool complete = true;
    view->hosts = calloc(view->size, sizeof(*view->hosts));
    if (!view->hosts) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t rank = 0; rank < view->size; rank++) {
        view->hosts[rank] = look_up_text(rank, PMIX_HOSTNAME);
        complete = complete && view->hosts[rank];
    }
    if (!complete) {
        char *peers = look_up_text(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS);
        fill_in_peers(view, peers);
        free(peers);
    }
    return ORTE_SUCCESS;
}

static void event(size_t handler, pmix_status_t status, const pmix_proc_t *source,
                  pmix_info_t info[], size_t info_count, pmix_info_t *results, size_t result_count,
                  pmix_event_notification_cbfunc_fn_t done, void *arg)
{
    (void) handler;
    (void) status;
    (void) source;
    (void) info;
    (void) info_count;
    (void) results;
    (void) result_count;
    pthread_mutex_lock(&client.lock);
    if (client.lost) {
        client.lost(client.lost_arg);
    }
    pthread_mutex_unlock(&client.lock);
    if (done) {
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
    }
}

static bool set_joined(bool joined)
{
    pthread_mutex_lock(&client.lock);
    bool before = client.joined;
    client.joined = joined;
    pthread_mutex_unlock(&client.lock);
    return before;
}

static int client_join(struct pmix_view *view, char *reason, size_t reason_size)
{
    static pmix_status_t lost_codes[] = {PMIX_ERR_LOST_CONNECTION};
    struct pmix_view read = {.size = 0};
    if (set_joined(true)) {
        snprintf(reason, reason_size, "this process, or its parent, has joined its job before");
        return ORTE_ERR_PERM;
    }
    pmix_status_t joined = PMIx_Init(&client.me, NULL, 0);
    if (joined != PMIX_SUCCESS) {
        const char *nspace = getenv("PMIX_NAMESPACE");
        (void) set_joined(false);
        snprintf(reason, reason_size,
                 "the PMIx server of job %s, which is in the environment, cannot be joined: %s "
                 "(the parameter bootstrap=singleton lets this process run alone)",
                 nspace ? nspace : "?", PMIx_Error_string(joined));
        return orte_status(joined);
    }
    int status = read_size(&read, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        snprintf(read.nspace, sizeof(read.nspace), "%s", client.me.nspace);
        status = read_hosts(&read);
    }
    if (status != ORTE_SUCCESS) {
        (void) PMIx_Finalize(NULL, 0);
        return status;
    }
    (void) PMIx_Register_event_handler(lost_codes, 1, NULL, 0, event, NULL, NULL);
    *view = read;
    return ORTE_SUCCESS;
}

static void client_watch(void (*lost)(void *arg), void *arg)
{
    pthread_mutex_lock(&client.lock);
    client.lost = lost;
    client.lost_arg = arg;
    pthread_mutex_unlock(&client.lock);
}

static void client_leave(void)
{
    (void) PMIx_Finalize(NULL, 0);
    if (PMIx_Initialized()) {
        return; /* somebody else in this process uses it */
    }
    pthread_mutex_lock(&client.lock);
    for (struct list *link; (link = list_pop(&client.tickets));) { /* nobody answers them now */
        struct pmix_ticket *ticket = container_of(link, struct pmix_ticket, link);
        if (--ticket->refs == 0) {
            ticket_free(ticket);
        }
    }
    pthread_mutex_unlock(&client.lock);
}

/* --- data --- */

static int client_put(const char *key, const void *data, size_t size, bool local_only)
{
    pmix_value_t value;
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = (char *) (uintptr_t) data; /* it is copied */
    value.data.bo.size = size;
    return orte_status(PMIx_Put(local_only ? PMIX_LOCAL : PMIX_GLOBAL, key, &value));
}

static int client_commit(void)
{
    return orte_status(PMIx_Commit());
}

static void fenced(pmix_status_t status, void *arg)
{
    ticket_answer(arg, status, NULL, 0);
}

static int client_fence(bool collect, pmix_answer_fn *answer, void *arg,
                        struct pmix_ticket **ticket)
{
    struct pmix_ticket *made = ticket_create(answer, arg);
    if (!made) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (collect) {
        ticket_add(made, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    }
    *ticket = made;
    return asked(made, PMIx_Fence_nb(NULL, 0, made->info, made->info_count, fenced, made));
}

static void got(pmix_status_t status, pmix_value_t *value, void *arg)
{
    if (status != PMIX_SUCCESS) {
        ticket_answer(arg, status, NULL, 0);
    } else if (!value || value->type != PMIX_BYTE_OBJECT ||
               (value->data.bo.size > 0 && !value->data.bo.bytes)) {
        ticket_answer(arg, PMIX_ERR_TYPE_MISMATCH, NULL, 0);
    } else {
        ticket_answer(arg, status, value->data.bo.bytes, value->data.bo.size);
    }
}

static int client_get(uint32_t rank, const char *key, unsigned timeout_s, pmix_answer_fn *answer,
                      void *arg, struct pmix_ticket **ticket)
{
    int timeout = (int) timeout_s;
    struct pmix_ticket *made = ticket_create(answer, arg);
    if (!made) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    PMIX_LOAD_PROCID(&made->proc, client.me.nspace, rank);
    ticket_add(made, PMIX_TIMEOUT, &timeout, PMIX_INT);
    snprintf(made->key, sizeof(made->key), "%s", key);
    *ticket = made;
    return asked(made,
                 PMIx_Get_nb(&made->proc, made->key, made->info, made->info_count, got, made));
}

/* --- the job's end --- */

struct cleaning {
    pmix_proc_t job;
    pmix_info_t info[2];
};

static void cleaning_free(struct cleaning *cleaning)
{
    PMIX_INFO_DESTRUCT(&cleaning->info[0]);
    PMIX_INFO_DESTRUCT(&cleaning->info[1]);
    free(cleaning);
}

static void cleaning_known(pmix_status_t status, pmix_info_t *info, size_t count, void *arg,
                           pmix_release_cbfunc_t release, void *release_arg)
{
    (void) status;
    (void) info;
    (void) count;
    if (release) {
        release(release_arg);
    }
    cleaning_free(arg);
}

/* A server that cannot do it is none the worse. */
static void client_clean(const char *folder)
{
    bool yes = true;
    struct cleaning *cleaning = calloc(1, sizeof(*cleaning));
    if (!cleaning) {
        return;
    }
    cleaning->job = client.me;
    cleaning->job.rank = PMIX_RANK_WILDCARD;
    PMIX_INFO_LOAD(&cleaning->info[0], PMIX_REGISTER_CLEANUP_DIR, folder, PMIX_STRING);
    PMIX_INFO_LOAD(&cleaning->info[1], PMIX_CLEANUP_RECURSIVE, &yes, PMIX_BOOL);
    if (PMIx_Job_control_nb(&cleaning->job, 1, cleaning->info, 2, cleaning_known, cleaning) !=
        PMIX_SUCCESS) {
        cleaning_free(cleaning);
    }
}

static void client_abort(int status, const char *reason)
{
    (void) PMIx_Abort(status, reason, NULL, 0);
}

static const struct pmix_calls table = {
    .join = client_join,
    .put = client_put,
    .commit = client_commit,
    .fence = client_fence,
    .get = client_get,
    .drop = client_drop,
    .watch = client_watch,
    .clean = client_clean,
    .abort = client_abort,
    .leave = client_leave,
};

pmix_calls_entry keel_bootstrap_pmix KEEL_EXPORT;
const struct pmix_calls *keel_bootstrap_pmix(void)
{
    return &table;
}
