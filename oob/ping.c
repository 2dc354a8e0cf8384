/* Pings: is a process there and would it have a link with this one? A handshake without a link
 * behind it, at one address after the other. */
#include <config.h>

#include <oob/endpoint.h>

#include <assert.h>
#include <base/data/clock.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between attempts at an address whose listener has no room. */
static const struct backoff no_room_wait = {.base_us = 5000, .cap_us = 200000};

struct ping {
    struct list link; /* in oob->pings */
    struct oob *oob;
    struct contact contact;
    size_t next;         /* the address that is tried */
    uint64_t until_us;   /* of all addresses */
    uint64_t give_up_us; /* of this one */
    bool late;           /* an address did not answer in its time */
    struct greeting greeting;
    struct loop_task start;
    struct loop_timer retry; /* the listener had no room */
    struct backoff wait;
    oob_ping_fn done;
    void *arg;
    char reason[640];
};

/* The one exit. */
static void finish(struct ping *ping, int status)
{
    list_remove(&ping->link);
    greeting_end(&ping->greeting);
    loop_timer_stop(&ping->retry);
    loop_cancel(ping->oob->loop, &ping->start);
    ping->done(ping->arg, status, ping->reason);
    free(ping);
}

static void note(struct ping *ping, int status, const char *text)
{
    char address[128];
    sock_addr_print(&ping->contact.addrs[ping->next], address, sizeof address);
    size_t used = strlen(ping->reason);
    snprintf(ping->reason + used, sizeof ping->reason - used, "%s%s: %s", used ? "; " : "", address,
             text);
    ping->late = ping->late || status == ORTE_ERR_TIMEOUT;
}

/* What this process can prove there. */
static enum oob_key choose_key(const struct oob *oob, bool is_unix)
{
    static const enum oob_key held[] = {OOB_KEY_CONTROL, OOB_KEY_TOOL};
    for (size_t i = 0; !is_unix && i < sizeof held / sizeof *held; i++) {
        if (oob->held[held[i]]) {
            return held[i];
        }
    }
    return is_unix ? OOB_KEY_PEERCRED : OOB_KEY_APP;
}

/* The time that is left, in equal parts for the addresses that are left. */
static void share_time(struct ping *ping)
{
    uint64_t now = clock_us();
    uint64_t left = ping->until_us > now ? ping->until_us - now : 0;
    ping->give_up_us = now + left / (ping->contact.count - ping->next);
    ping->wait = no_room_wait;
}

/* The listener, or its backlog, has no room. False: the address's time is over. */
static bool try_later(struct ping *ping)
{
    uint64_t now = clock_us(), wait_us = backoff_next(&ping->wait, &ping->oob->chance);
    if (now + wait_us >= ping->give_up_us) {
        return false;
    }
    loop_timer_start(&ping->retry, wait_us);
    return true;
}

/* False: nobody answers at the current address. */
static bool try_address(struct ping *ping)
{
    struct oob *oob = ping->oob;
    const struct sock_addr *addr = &ping->contact.addrs[ping->next];
    bool is_unix = addr->storage.ss_family == AF_UNIX;
    uint64_t now = clock_us();
    uint64_t time_us = ping->give_up_us > now ? ping->give_up_us - now : 0;
    int fd = sock_connect(addr);
    if (fd == -EAGAIN && try_later(ping)) {
        return true;
    }
    if (fd < 0) {
        note(ping, fd == -EAGAIN ? ORTE_ERR_TIMEOUT : ORTE_ERR_CONNECTION_FAILED, strerror(-fd));
        return false;
    }
    struct handshake_self self = oob_self(oob, is_unix);
    self.ping = true;
    greeting_init(&ping->greeting, oob->loop, &self, ping->greeting.step);
    int status = greeting_connect(&ping->greeting, fd, addr, &ping->contact.name,
                                  choose_key(oob, is_unix), time_us);
    if (status != ORTE_SUCCESS) {
        note(ping, status, ping->greeting.handshake.text);
        greeting_end(&ping->greeting);
    }
    return status == ORTE_SUCCESS;
}

static void go_on(struct ping *ping)
{
    while (ping->next < ping->contact.count) {
        if (try_address(ping)) {
            return;
        }
        ping->next++;
        if (ping->next < ping->contact.count) {
            share_time(ping);
        }
    }
    finish(ping, ping->late ? ORTE_ERR_TIMEOUT : ORTE_ERR_UNREACH);
}

static void on_step(struct greeting *greeting)
{
    struct ping *ping = container_of(greeting, struct ping, greeting);
    const struct handshake *handshake = &greeting->handshake;
    if (handshake->state == HANDSHAKE_DONE) {
        finish(ping, ORTE_SUCCESS);
        return;
    }
    if (handshake->reason == WIRE_BUSY && try_later(ping)) {
        greeting_end(greeting);
        return;
    }
    note(ping, handshake->status, handshake->text);
    bool final = handshake->refused_by_peer;
    greeting_end(greeting);
    if (final) {
        finish(ping, ORTE_ERR_UNREACH); /* it is there, and will have no link */
        return;
    }
    ping->next++;
    if (ping->next < ping->contact.count) {
        share_time(ping);
    }
    go_on(ping);
}

static void on_start(struct loop_task *task)
{
    struct ping *ping = container_of(task, struct ping, start);
    share_time(ping);
    go_on(ping);
}

static void on_retry(struct loop_timer *timer)
{
    go_on(container_of(timer, struct ping, retry));
}

int oob_ping(struct oob *oob, const char *contact, uint64_t timeout_us, oob_ping_fn done, void *arg)
{
    assert(loop_is_current(oob->loop));
    char reason[192];
    struct ping *ping = calloc(1, sizeof *ping);
    if (!ping) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (contact_parse(&ping->contact, contact, reason, sizeof reason) != ORTE_SUCCESS) {
        free(ping);
        return ORTE_ERR_BAD_PARAM;
    }
    ping->oob = oob;
    ping->until_us = clock_us() + timeout_us;
    ping->done = done;
    ping->arg = arg;
    ping->start.run = on_start;
    greeting_init(&ping->greeting, oob->loop, &(struct handshake_self){.security = 0}, on_step);
    loop_timer_init(&ping->retry, oob->loop, on_retry);
    list_append(&oob->pings, &ping->link);
    loop_post(oob->loop, &ping->start);
    return ORTE_SUCCESS;
}

void ping_end_all(struct oob *oob)
{
    while (!list_empty(&oob->pings)) {
        finish(container_of(oob->pings.next, struct ping, link), ORTE_ERR_COMM_FAILURE);
    }
}
