/* orte_rml.ping: the OOB asks, the caller waits. */
#include <config.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/types/name.h>
#include <oob/contact.h>
#include <rml/calls/calls.h>
#include <rml/state/state.h>
#include <stdlib.h>
#include <string.h>

enum { LOOP_WAIT_US = 10000000 }; /* for the loop to have its turn, beyond the time limit */

struct ping {
    struct loop_task task;
    struct rml *rml;
    uint64_t timeout_us;
    unsigned refs; /* guarded by the RML's lock: the caller's and the loop's */
    int status;    /* likewise, as done is */
    bool done;
    char contact[];
};

static void unref_locked(struct ping *ping)
{
    if (--ping->refs == 0) {
        free(ping);
    }
}

static void pinged(void *arg, int status, const char *reason)
{
    struct ping *ping = arg;
    struct rml *rml = ping->rml;
    if (status != ORTE_SUCCESS) {
        log_info(LOG_RML, "nobody answers at %s: %s", ping->contact, reason);
    }
    pthread_mutex_lock(&rml->lock);
    ping->status = status;
    __atomic_store_n(&ping->done, true, __ATOMIC_RELEASE);
    rml_wake_locked(rml);
    unref_locked(ping);
    pthread_mutex_unlock(&rml->lock);
}

static void ping_on_loop(struct loop_task *task)
{
    struct ping *ping = container_of(task, struct ping, task);
    int status = oob_ping(ping->rml->oob, ping->contact, ping->timeout_us, pinged, ping);
    if (status != ORTE_SUCCESS) {
        pinged(ping, status, opal_strerror(status));
    }
}

static struct ping *create(struct rml *rml, const char *contact, uint64_t timeout_us)
{
    size_t size = strlen(contact) + 1;
    struct ping *ping = calloc(1, sizeof(*ping) + size);
    if (!ping) {
        return NULL;
    }
    ping->task.run = ping_on_loop;
    ping->rml = rml;
    ping->timeout_us = timeout_us;
    ping->refs = 2;
    memcpy(ping->contact, contact, size);
    return ping;
}

/* No limit of the caller's: as long as connects to all addresses may take. */
static bool time_of(const struct timeval *tv, uint64_t none_us, uint64_t *timeout_us)
{
    if (!tv) {
        *timeout_us = none_us;
        return true;
    }
    if (tv->tv_sec < 0 || tv->tv_usec < 0 || tv->tv_usec >= 1000000) {
        return false;
    }
    int64_t most = INT64_C(1) << 32;
    *timeout_us =
        (uint64_t) (tv->tv_sec < most ? tv->tv_sec : most) * 1000000u + (uint64_t) tv->tv_usec;
    return true;
}

int rml_call_ping(struct rml *rml, const char *text, const struct timeval *tv)
{
    struct contact contact;
    char reason[256] = "";
    uint64_t timeout_us;
    if (!text || contact_parse(&contact, text, reason, sizeof(reason)) != ORTE_SUCCESS ||
        !time_of(tv, contact.count * oob_connect_timeout_us(rml->oob), &timeout_us)) {
        return ORTE_ERR_BAD_PARAM;
    }
    if (rml->config.dispatch == RML_DISPATCH_LOOP) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    if (name_equal(&contact.name, &rml->config.name)) {
        return ORTE_SUCCESS;
    }
    struct ping *ping = create(rml, text, timeout_us);
    if (!ping) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    loop_post(rml->config.loop, &ping->task);
    int status = rml_block(rml, &ping->done, clock_us() + timeout_us + LOOP_WAIT_US);
    pthread_mutex_lock(&rml->lock);
    if (status == ORTE_SUCCESS) {
        status = ping->status;
    }
    unref_locked(ping);
    pthread_mutex_unlock(&rml->lock);
    return status;
}
