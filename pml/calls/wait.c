#include <config.h>

#include <pml/progress/progress.h>
#include <pml/requests/recv.h>

/* Requests that somebody waits for. */
struct set {
    size_t count;
    struct keel_pml_request **requests;
    size_t seen; /* all_complete looks on from here: those before were not under way */
};

static bool is_complete(const struct keel_pml_request *request)
{
    return request && request_is_complete(request);
}

static bool is_under_way(const struct keel_pml_request *request)
{
    return request && request->state != REQUEST_IDLE && !request_is_complete(request);
}

/* The first that is there to be taken; count: none. */
static size_t first_complete(const struct set *set)
{
    size_t i = 0;
    while (i < set->count && !is_complete(set->requests[i])) {
        i++;
    }
    return i;
}

/* NULL: there is no request. */
static struct pml *pml_of_set(const struct set *set)
{
    size_t i = 0;
    while (i < set->count && !set->requests[i]) {
        i++;
    }
    return i < set->count ? set->requests[i]->context->pml : NULL;
}

/* One is, or none will be. */
static bool any_complete(void *arg)
{
    const struct set *set = arg;
    bool under_way = false;
    for (size_t i = 0; i < set->count; i++) {
        if (is_complete(set->requests[i])) {
            return true;
        }
        under_way = under_way || is_under_way(set->requests[i]);
    }
    return !under_way;
}

/* The first that is under way, from this one on; count: none. */
static size_t first_under_way(const struct set *set, size_t from)
{
    while (from < set->count && !is_under_way(set->requests[from])) {
        from++;
    }
    return from;
}

/* A callback may have started one of those before again, so the end is looked at twice. */
static bool all_complete(void *arg)
{
    struct set *set = arg;
    set->seen = first_under_way(set, set->seen);
    if (set->seen == set->count) {
        set->seen = first_under_way(set, 0);
    }
    return set->seen == set->count;
}

/* ---- what is waited for ---- */

/* A receive's status has source and tag once it has its message. */
static void tell_request(const void *arg, char *text, size_t size)
{
    const struct keel_pml_request *request = *(struct keel_pml_request *const *) arg;
    const struct recv *recv = container_of(request, const struct recv, super);
    if (!is_under_way(request)) {
        return;
    }
    if (request->kind == REQUEST_RECV && !recv->member) {
        request_tell(text, size, "a receive from", recv->match.source, recv->match.tag);
    } else {
        request_tell(text, size, request->kind == REQUEST_SEND ? "a send to" : "a receive from",
                     request->status.source, request->status.tag);
    }
}

/* The first that is under way. */
static void tell_set(const void *arg, char *text, size_t size)
{
    const struct set *set = arg;
    const size_t i = first_under_way(set, 0);
    if (i < set->count) {
        tell_request(&set->requests[i], text, size);
    }
}

/* Waits, or drives progress once if that is needed. *done: it is so. */
static int drive(struct set *set, bool (*so)(void *arg), bool waits, bool *done)
{
    struct pml *pml = pml_of_set(set);
    int status = OPAL_SUCCESS;

    *done = true;
    if (pml && waits) {
        status = progress_until(pml, so, tell_set, set);
    } else if (pml) {
        *done = progress_once(pml, so, set);
    }
    return status;
}

/* Around what takes ends; pml NULL: of no requests. */
static void lock(const struct pml *pml)
{
    if (pml) {
        pml_lock(pml);
    }
}

static void unlock(struct pml *pml)
{
    if (pml) {
        pml_unlock(pml);
    }
}

/* ---- one ---- */

static bool is_over(void *arg)
{
    return !is_under_way(*(struct keel_pml_request **) arg);
}

/* The same at first sight: where one thread alone uses the PML, that needs no lock. */
static inline bool is_seen_over(struct keel_pml_request **request)
{
    return !*request || (!(*request)->context->pml->host.lock && is_over(request));
}

/* Of one that is over; with a lock, or of the kinds that are rare. */
static __attribute__((noinline)) int take_any_kind(struct keel_pml_request **request,
                                                   struct keel_pml_status *status)
{
    struct pml *pml = *request ? (*request)->context->pml : NULL;
    lock(pml);
    int error = request_take(request, status);
    unlock(pml);
    return error;
}

static inline int take_one(struct keel_pml_request **request, struct keel_pml_status *status)
{
    struct keel_pml_request *taken = *request;
    if (!taken || taken->state != REQUEST_COMPLETE || taken->persistent ||
        taken->context->pml->host.lock) {
        return take_any_kind(request, status);
    }
    const int error = taken->status.error;
    if (status) {
        *status = taken->status;
    }
    *request = NULL;
    request_release(taken);
    return error;
}

int keel_pml_wait(struct keel_pml_request **request, struct keel_pml_status *status)
{
    if (!request) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (!is_seen_over(request)) {
        int result = progress_until((*request)->context->pml, is_over, tell_request, request);
        if (result != OPAL_SUCCESS) {
            return result;
        }
    }
    return take_one(request, status);
}

int keel_pml_test(struct keel_pml_request **request, bool *done, struct keel_pml_status *status)
{
    if (!request || !done) {
        return OPAL_ERR_BAD_PARAM;
    }
    *done = is_seen_over(request) || progress_once((*request)->context->pml, is_over, request);
    return *done ? take_one(request, status) : OPAL_SUCCESS;
}

/* ---- any ---- */

static int take_any(struct set *set, bool waits, size_t *index, bool *done,
                    struct keel_pml_status *status)
{
    struct keel_pml_request *none = NULL;
    int result = drive(set, any_complete, waits, done);
    if (result != OPAL_SUCCESS || !*done) {
        return result;
    }
    struct pml *pml = pml_of_set(set);
    lock(pml);
    *index = first_complete(set);
    result = request_take(*index < set->count ? &set->requests[*index] : &none, status);
    unlock(pml);
    return result;
}

int keel_pml_testany(size_t count, struct keel_pml_request **requests, size_t *index, bool *done,
                     struct keel_pml_status *status)
{
    struct set set = {.count = count, .requests = requests};
    if ((count > 0 && !requests) || !index || !done) {
        return OPAL_ERR_BAD_PARAM;
    }
    return take_any(&set, false, index, done, status);
}

int keel_pml_waitany(size_t count, struct keel_pml_request **requests, size_t *index,
                     struct keel_pml_status *status)
{
    struct set set = {.count = count, .requests = requests};
    bool done;
    if ((count > 0 && !requests) || !index) {
        return OPAL_ERR_BAD_PARAM;
    }
    return take_any(&set, true, index, &done, status);
}

/* ---- all ---- */

static int take_all(struct set *set, bool waits, bool *done, struct keel_pml_status *statuses)
{
    int first = drive(set, all_complete, waits, done);
    if (first != OPAL_SUCCESS || !*done) {
        return first;
    }
    struct pml *pml = pml_of_set(set);
    lock(pml);
    for (size_t i = 0; i < set->count; i++) {
        int error = request_take(&set->requests[i], statuses ? &statuses[i] : NULL);
        first = first == OPAL_SUCCESS ? error : first;
    }
    unlock(pml);
    return first;
}

int keel_pml_testall(size_t count, struct keel_pml_request **requests, bool *done,
                     struct keel_pml_status *statuses)
{
    struct set set = {.count = count, .requests = requests};
    if ((count > 0 && !requests) || !done) {
        return OPAL_ERR_BAD_PARAM;
    }
    return take_all(&set, false, done, statuses);
}

int keel_pml_waitall(size_t count, struct keel_pml_request **requests,
                     struct keel_pml_status *statuses)
{
    struct set set = {.count = count, .requests = requests};
    bool done;
    if (count > 0 && !requests) {
        return OPAL_ERR_BAD_PARAM;
    }
    return take_all(&set, true, &done, statuses);
}

/* ---- some ---- */

static int take_some(struct set *set, bool waits, size_t *ended, size_t *indices,
                     struct keel_pml_status *statuses)
{
    bool done;
    int first = drive(set, any_complete, waits, &done);
    if (first != OPAL_SUCCESS) {
        return first;
    }
    struct pml *pml = pml_of_set(set);
    *ended = 0;
    lock(pml);
    for (size_t i = 0; i < set->count; i++) {
        if (is_complete(set->requests[i])) {
            int error = request_take(&set->requests[i], statuses ? &statuses[*ended] : NULL);
            indices[(*ended)++] = i;
            first = first == OPAL_SUCCESS ? error : first;
        }
    }
    unlock(pml);
    return first;
}

int keel_pml_testsome(size_t count, struct keel_pml_request **requests, size_t *ended,
                      size_t *indices, struct keel_pml_status *statuses)
{
    struct set set = {.count = count, .requests = requests};
    if ((count > 0 && (!requests || !indices)) || !ended) {
        return OPAL_ERR_BAD_PARAM;
    }
    return take_some(&set, false, ended, indices, statuses);
}

int keel_pml_waitsome(size_t count, struct keel_pml_request **requests, size_t *ended,
                      size_t *indices, struct keel_pml_status *statuses)
{
    struct set set = {.count = count, .requests = requests};
    if ((count > 0 && (!requests || !indices)) || !ended) {
        return OPAL_ERR_BAD_PARAM;
    }
    return take_some(&set, true, ended, indices, statuses);
}
