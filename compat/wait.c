/* Waiting, and message events. */
#include <config.h>

#include <base/data/clock.h>
#include <bootstrap/process.h>
#include <keel/keel.h>
#include <orte/mca/errmgr/errmgr.h>
#include <orte/runtime/orte_wait.h>
#include <sched.h>
#include <stdlib.h>

enum { REST_US = 1000, TIMER_FIRED = 1 };

void keel_compat_turn(void)
{
    struct rml *rml = process_rml();
    if (keel_progress() > 0) {
        return;
    }
    if (rml) {
        rml_rest(rml, clock_us() + REST_US, NULL, 0);
    } else {
        sched_yield();
    }
}

static void event_construct(opal_object_t *object)
{
    orte_message_event_t *event = (orte_message_event_t *) object;
    event->sender = orte_name_invalid;
    event->buffer = OBJ_NEW(opal_buffer_t);
    event->tag = ORTE_RML_TAG_INVALID;
}

static void event_destruct(opal_object_t *object)
{
    OBJ_RELEASE(((orte_message_event_t *) object)->buffer);
}

const opal_class_t orte_message_event_t_class = {
    .cls_name = "orte_message_event_t",
    .cls_parent = OBJ_CLASS(opal_object_t),
    .cls_construct = event_construct,
    .cls_destruct = event_destruct,
    .cls_sizeof = sizeof(orte_message_event_t),
};

/* An event on its way to its callback. */
struct pending {
    orte_message_event_t *event; /* owned */
    keel_compat_event_fn callback;
};

static void run_event(void *arg)
{
    struct pending pending = *(struct pending *) arg;
    free(arg);
    pending.callback(-1, TIMER_FIRED, pending.event);
}

static void drop_event(void *arg)
{
    struct pending *pending = arg;
    OBJ_RELEASE(pending->event);
    free(pending);
}

static int post_event(orte_message_event_t *event, keel_compat_event_fn callback)
{
    struct rml *rml = process_rml();
    if (!rml) {
        return ORTE_ERR_COMM_DISABLED;
    }
    struct pending *pending = malloc(sizeof(*pending));
    if (!pending) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *pending = (struct pending){event, callback};
    int status = rml_defer(rml, run_event, drop_event, pending);
    if (status != ORTE_SUCCESS) {
        free(pending);
    }
    return status;
}

void keel_compat_message_event(const orte_process_name_t *sender, opal_buffer_t *buffer,
                               orte_rml_tag_t tag, keel_compat_event_fn callback)
{
    orte_message_event_t *event = OBJ_NEW(orte_message_event_t);
    int status = ORTE_ERR_OUT_OF_RESOURCE;
    if (event && event->buffer) {
        event->sender = *sender;
        event->tag = tag;
        status = opal_dss.copy_payload(event->buffer, buffer);
    }
    if (status == OPAL_SUCCESS) {
        status = post_event(event, callback);
    }
    if (status != ORTE_SUCCESS) {
        ORTE_ERROR_LOG(status);
        OBJ_RELEASE(event);
    }
}
