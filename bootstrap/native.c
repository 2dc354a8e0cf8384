/* The native back end: hello, modex and fences as RML messages to the daemon that started this
 * rank. */
#include <config.h>

#include <bootstrap/backend.h>
#include <bootstrap/look_answer.h>
#include <wireup/proto.h>

#include <base/data/clock.h>
#include <base/data/list.h>
#include <base/settings/log.h>
#include <base/types/name.h>
#include <btl/interface/base.h>
#include <oob/contact.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYE_US 5000000u   /* for the daemon to hear a goodbye */
#define ABORT_US 2000000u /* for the job to be ended */

/* A card asked for. */
struct fetch {
    struct list link;
    uint64_t request;
    uint32_t rank;
    char key[CARD_KEY_MAX + 1];
    keel_card_fn done;
    void *arg;
};

struct native {
    struct backend backend;
    orte_process_name_t name, daemon;
    bool collect; /* fences collect everybody's cards */
    bool welcomed;
    int welcome_status;
    uint32_t next_fence; /* the operation that my next fence is */
    bool fence_done;     /* the answer to the fence under way is there */
    int fence_status;
    bool bye_heard; /* the daemon knows that I leave */
    bool broken;    /* a fence failed: a rank is lost, and so is every later one */
    uint64_t next_request;
    struct list fetches; /* not yet answered */
};

static int to_daemon(struct native *native, opal_buffer_t *buffer)
{
    return rml_give(native->backend.rml, &native->daemon, OOB_CONTROL, RML_TAG_SERVER, buffer);
}

/* --- what the daemon says --- */

static int take_welcome(struct native *native, opal_buffer_t *buffer)
{
    if (native->welcomed) {
        return ORTE_ERR_BAD_PARAM;
    }
    native->welcome_status = job_map_unpack(buffer, &native->backend.map);
    native->welcomed = true;
    return native->welcome_status;
}

static int take_fence(struct native *native, opal_buffer_t *buffer)
{
    uint32_t operation;
    int32_t outcome;
    uint8_t *cards;
    size_t size;
    int status = proto_unpack(buffer, "uib", &operation, &outcome, &cards, &size);
    if (status == OPAL_SUCCESS && native->collect && outcome == ORTE_SUCCESS) {
        outcome = cards_merge(native->backend.sets, native->backend.map.size, cards, size);
    }
    free(cards);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    native->broken = native->broken || outcome != ORTE_SUCCESS;
    if (operation + 1 == native->next_fence) {
        native->fence_status = outcome;
        __atomic_store_n(&native->fence_done, true, __ATOMIC_RELEASE);
    }
    return ORTE_SUCCESS;
}

static void answer_fetch(struct native *native, struct fetch *fetch, int status)
{
    const uint8_t *data = NULL;
    size_t size = 0;
    if (status == ORTE_SUCCESS) {
        status = cards_find(&native->backend.sets[fetch->rank], fetch->key, &data, &size);
    }
    fetch->done(fetch->arg, status, status == ORTE_SUCCESS ? data : NULL, size);
    free(fetch);
}

static int take_cards(struct native *native, opal_buffer_t *buffer)
{
    uint64_t request;
    int32_t outcome;
    uint8_t *cards;
    size_t size;
    int status = proto_unpack(buffer, "qib", &request, &outcome, &cards, &size);
    if (status == OPAL_SUCCESS && outcome == ORTE_SUCCESS) {
        status = cards_check(cards, size);
    }
    struct fetch *fetch;
    list_for_each (fetch, &native->fetches, struct fetch, link) {
        if (status != OPAL_SUCCESS || fetch->request != request) {
            continue;
        }
        list_remove(&fetch->link);
        struct blob *set = &native->backend.sets[fetch->rank];
        if (outcome == ORTE_SUCCESS && size > set->size) { /* a set only grows */
            blob_fini(set);
            outcome = blob_append(set, cards, size);
        }
        answer_fetch(native, fetch, outcome);
        break;
    }
    free(cards);
    return status;
}

static int take_bye(struct native *native)
{
    native->bye_heard = true;
    return ORTE_SUCCESS;
}

static void fail_fetches(struct native *native)
{
    for (struct list *link; (link = list_pop(&native->fetches));) {
        answer_fetch(native, container_of(link, struct fetch, link), ORTE_ERR_COMM_FAILURE);
    }
}

static void fail_fetches_of(struct native *native, uint32_t rank)
{
    struct fetch *fetch;
    list_for_each (fetch, &native->fetches, struct fetch, link) {
        if (fetch->rank == rank) {
            list_remove(&fetch->link);
            answer_fetch(native, fetch, ORTE_ERR_COMM_FAILURE);
        }
    }
}

/* The RML hears of ends by itself (rml/links/ends.c). */
static int take_ended(struct native *native, opal_buffer_t *buffer)
{
    uint32_t count, rank;
    int status = proto_unpack(buffer, "u", &count);
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < count; i++) {
        status = proto_unpack(buffer, "u", &rank);
        if (status == OPAL_SUCCESS && rank < native->backend.map.size) {
            fail_fetches_of(native, rank);
            if (native->backend.ended) {
                native->backend.ended(native->backend.ended_arg, rank);
            }
        }
    }
    return status;
}

/* The daemon is gone: nothing that waits for it will be answered. */
static int take_lost(struct native *native)
{
    native->broken = true;
    native->welcome_status = native->fence_status = ORTE_ERR_COMM_FAILURE;
    native->welcomed = native->bye_heard = true;
    __atomic_store_n(&native->fence_done, true, __ATOMIC_RELEASE);
    fail_fetches(native);
    return ORTE_SUCCESS;
}

static int take_look(struct native *native, opal_buffer_t *buffer)
{
    uint32_t number;
    int status = proto_unpack(buffer, "u", &number);
    return status == OPAL_SUCCESS
               ? to_daemon(native, look_answer(native->backend.rml, native->name.jobid, number))
               : status;
}

static int take(struct native *native, uint8_t command, opal_buffer_t *buffer)
{
    return command == CLIENT_WELCOME ? take_welcome(native, buffer)
           : command == CLIENT_FENCE ? take_fence(native, buffer)
           : command == CLIENT_CARDS ? take_cards(native, buffer)
           : command == CLIENT_BYE   ? take_bye(native)
           : command == CLIENT_LOST  ? take_lost(native)
           : command == CLIENT_ENDED ? take_ended(native, buffer)
           : command == CLIENT_LOOK  ? take_look(native, buffer)
                                     : ORTE_ERR_BAD_PARAM;
}

static void from_daemon(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct native *native = arg;
    uint8_t command = 0;
    int status = proto_unpack(*buffer, "c", &command);
    bool to_myself = name_equal(&info->origin, &native->name);
    if (info->role != OOB_KEY_CONTROL && !(to_myself && command == CLIENT_LOST)) {
        status = ORTE_ERR_PERM;
    }
    if (status == OPAL_SUCCESS) {
        btl_enter(); /* it guards the back end, too */
        status = take(native, command, *buffer);
        btl_leave();
    }
    if (status != ORTE_SUCCESS) {
        log_error(LOG_BOOTSTRAP, "a message of %s does not make sense: %s",
                  ORTE_NAME_PRINT(&info->origin), opal_strerror(status));
    }
}

/* --- operations --- */

static int native_fence(struct backend *backend, uint64_t deadline_us, int (*poll)(void *arg),
                        void *arg)
{
    struct native *native = container_of(backend, struct native, backend);
    if (native->broken) {
        return ORTE_ERR_COMM_FAILURE;
    }
    native->fence_done = false;
    opal_buffer_t *buffer = proto_new(SERVER_FENCE, "ucb", native->next_fence++, native->collect,
                                      backend->pending.data, backend->pending.size);
    int status = to_daemon(native, buffer);
    if (status == ORTE_SUCCESS) {
        status = rml_wait(backend->rml, &native->fence_done, deadline_us, poll, arg);
    }
    if (status == ORTE_SUCCESS) {
        status = native->fence_status;
    }
    if (status == ORTE_SUCCESS) {
        status = backend_publish_own(backend);
    }
    native->broken = native->broken || status != ORTE_SUCCESS;
    return status;
}

static void native_fetch(struct backend *backend, uint32_t rank, const char *key, keel_card_fn done,
                         void *arg)
{
    struct native *native = container_of(backend, struct native, backend);
    struct fetch *fetch = NULL;
    int status = ORTE_ERR_NOT_FOUND;
    if (native->collect || strlen(key) > CARD_KEY_MAX) {
        goto answer;
    }
    status = ORTE_ERR_OUT_OF_RESOURCE;
    fetch = malloc(sizeof(*fetch));
    if (!fetch) {
        goto answer;
    }
    *fetch =
        (struct fetch){.request = native->next_request++, .rank = rank, .done = done, .arg = arg};
    memcpy(fetch->key, key, strlen(key) + 1);
    list_append(&native->fetches, &fetch->link);
    status = to_daemon(native, proto_new(SERVER_CARDS, "qu", fetch->request, rank));
    if (status == ORTE_SUCCESS) {
        return;
    }
    list_remove(&fetch->link);
answer:
    free(fetch);
    done(arg, status, NULL, 0);
}

static void native_abort(struct backend *backend, int status, const char *reason)
{
    struct native *native = container_of(backend, struct native, backend);
    if (to_daemon(native, proto_new(SERVER_ABORT, "is", (int32_t) status, reason)) !=
        ORTE_SUCCESS) {
        return;
    }
    /* the order to end comes back as a signal; what this process exits with counts only if not */
    usleep(ABORT_US);
}

static void forget_me(struct rml *rml)
{
    rml_handle(rml, RML_TAG_CLIENT, NULL, NULL);
    rml_watch_links(rml, NULL, NULL);
}

static void native_leave(struct backend *backend)
{
    struct native *native = container_of(backend, struct native, backend);
    int status = to_daemon(native, proto_new(SERVER_BYE, "c", backend->together));
    if (status == ORTE_SUCCESS) {
        /* heard before my exit is seen, so that it counts as a proper end */
        status = rml_wait(backend->rml, &native->bye_heard, clock_us() + BYE_US, NULL, NULL);
    }
    if (status != ORTE_SUCCESS) {
        log_debug(LOG_BOOTSTRAP, "the daemon heard no goodbye: %s", opal_strerror(status));
    }
    forget_me(backend->rml);
    fail_fetches(native);
    backend_fini(backend);
    free(native);
}

static const struct backend_ops native_ops = {
    .name = "native",
    .fence = native_fence,
    .fetch = native_fetch,
    .abort = native_abort,
    .leave = native_leave,
};

/* --- joining --- */

/* On the loop. The news goes through the queue of messages, so that it comes after what the daemon
 * said before, in the application's thread. */
static void link_changed(void *arg, const struct oob_peer *peer, int status)
{
    struct native *native = arg;
    if (status == ORTE_SUCCESS || !name_equal(&peer->name, &native->daemon)) {
        return;
    }
    log_info(LOG_BOOTSTRAP, "the link to the daemon is down: %s", opal_strerror(status));
    if (rml_give(native->backend.rml, &native->name, OOB_CONTROL, RML_TAG_CLIENT,
                 proto_new(CLIENT_LOST, "")) != ORTE_SUCCESS) {
        log_error(LOG_BOOTSTRAP, "no memory to say that the daemon is gone");
    }
}

static int say_hello(struct native *native, const struct self *self, uint64_t deadline_us,
                     char *reason, size_t reason_size)
{
    struct backend *backend = &native->backend;
    int status = to_daemon(native, proto_new(SERVER_HELLO, ""));
    if (status == ORTE_SUCCESS) {
        status = rml_wait(backend->rml, &native->welcomed, deadline_us, NULL, NULL);
    }
    if (status == ORTE_SUCCESS) {
        status = native->welcome_status;
    }
    if (status == ORTE_SUCCESS &&
        (backend->map.jobid != self->name.jobid || backend->map.size != self->size)) {
        status = ORTE_ERR_BAD_PARAM;
    }
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "the daemon did not welcome this rank: %s",
                 opal_strerror(status));
    }
    return status;
}

int native_create(struct backend **out, struct rml *rml, const struct self *self, char *reason,
                  size_t reason_size)
{
    struct contact contact;
    int status = contact_parse(&contact, self->daemon, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    struct native *native = calloc(1, sizeof(*native));
    if (!native) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    native->backend = (struct backend){.ops = &native_ops, .rml = rml, .rank = self->name.vpid};
    native->name = self->name;
    native->daemon = contact.name;
    list_init(&native->fetches);
    rml_handle(rml, RML_TAG_CLIENT, from_daemon, native);
    rml_watch_links(rml, link_changed, native);
    rml_route_default(rml, &native->daemon); /* before the link: questions come with it */
    uint64_t deadline_us = clock_us() + backend_timeout_us(); /* for both */
    status = backend_connect(rml, self->daemon, OOB_KEY_PEERCRED, backend_timeout_us(),
                             "the daemon", reason, reason_size);
    if (status != ORTE_SUCCESS) {
        goto undo;
    }
    status = say_hello(native, self, deadline_us, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        goto undo;
    }
    native->collect = native->backend.map.size <= backend_collect_max();
    status = backend_init(&native->backend);
    if (status != ORTE_SUCCESS) {
        goto undo;
    }
    *out = &native->backend;
    return ORTE_SUCCESS;
undo:
    forget_me(rml);
    backend_fini(&native->backend);
    free(native);
    return status;
}
