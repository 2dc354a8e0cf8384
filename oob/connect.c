/* Connects: from a contact string to a link, address by address. */
#include <config.h>

#include <base/name.h>
#include <oob/endpoint.h>

#include <assert.h>
#include <base/clock.h>
#include <base/log.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between attempts at an address whose listener has no room. */
static const struct backoff no_room_wait = {.base_us = 5000, .cap_us = 1000000};

/* Of several addresses each has this long at first, so that one that swallows everything costs
 * little; those that used it up, waiting for an answer or for room, have their full time when none
 * was better. */
#define FIRST_TIME_US 1000000u

_Static_assert(CONTACT_ADDRS_MAX <= 32, "a bit for each address");

/* One call of oob_connect. Of those to the same name only the first runs. */
struct connect {
    struct list link;
    struct oob *oob;
    struct contact contact;
    size_t next;   /* the address that is tried */
    bool again;    /* the slow ones have their second turn */
    uint32_t slow; /* a bit for each address that used up its first time */
    enum oob_key key;
    oob_connect_fn done;
    void *arg;
    struct greeting greeting;
    struct loop_task start;
    struct loop_timer retry; /* the listener had no room */
    struct backoff wait;
    uint64_t give_up_us; /* of this address; 0: it was not tried yet */
    int status;          /* of the last address */
    char reason[640];    /* of all addresses */
};

static void on_start(struct loop_task *task);
static void on_retry(struct loop_timer *timer);
static void on_step(struct greeting *greeting);

static struct connect *find(const struct oob *oob, const orte_process_name_t *name)
{
    struct connect *connect;
    list_for_each (connect, &oob->connects, struct connect, link) {
        if (name_equal(&connect->contact.name, name)) {
            return connect;
        }
    }
    return NULL;
}

bool connect_under_way(const struct oob *oob, const orte_process_name_t *name)
{
    return find(oob, name) != NULL;
}

/* The one exit: stops what runs, tells, frees. It is off the list. */
static void finish(struct connect *connect, int status, struct oob_link *link)
{
    greeting_end(&connect->greeting);
    loop_timer_stop(&connect->retry);
    loop_cancel(connect->oob->loop, &connect->start);
    connect->done(connect->arg, status, link, connect->reason);
    free(connect);
}

/* Adds what happened at an address to the reason. */
static void note(struct connect *connect, int status, const char *text)
{
    char address[128];
    sock_addr_print(&connect->contact.addrs[connect->next], address, sizeof address);
    size_t used = strlen(connect->reason);
    snprintf(connect->reason + used, sizeof connect->reason - used, "%s%s: %s", used ? "; " : "",
             address, text);
    connect->status = status;
    bool in_vain = status == ORTE_ERR_TIMEOUT || status == ORTE_ERR_TEMP_OUT_OF_RESOURCE;
    if (in_vain && !connect->again) {
        connect->slow |= UINT32_C(1) << connect->next;
    }
    log_debug(LOG_OOB, "connect to %s at %s: %s", ORTE_NAME_PRINT(&connect->contact.name), address,
              text);
}

/* No address is left, or the peer itself has refused. */
static void give_up(struct connect *connect)
{
    struct oob *oob = connect->oob;
    orte_process_name_t name = connect->contact.name;
    list_remove(&connect->link);
    finish(connect, connect->status, NULL);
    struct connect *next = find(oob, &name);
    if (next) {
        loop_post(oob->loop, &next->start);
    } else {
        door_unpark(oob, &name);
    }
}

/* The listener has no room, or its backlog has none. False: the address's time is over. */
static bool try_later(struct connect *connect)
{
    uint64_t now = clock_us(), wait_us = backoff_next(&connect->wait, &connect->oob->chance);
    if (now + wait_us >= connect->give_up_us) {
        return false;
    }
    loop_timer_start(&connect->retry, wait_us);
    return true;
}

static void next_address(struct connect *connect)
{
    size_t count = connect->contact.count;
    do {
        connect->next++;
        if (connect->next == count && !connect->again && connect->slow && count > 1) {
            connect->again = true;
            connect->next = 0;
        }
    } while (connect->next < count && connect->again && !(connect->slow >> connect->next & 1));
    connect->give_up_us = 0;
    connect->wait = no_room_wait;
}

static uint64_t time_of_address(const struct connect *connect)
{
    uint64_t full_us = connect->oob->connect_timeout_us;
    bool short_time = connect->contact.count > 1 && !connect->again;
    return short_time && full_us > FIRST_TIME_US ? FIRST_TIME_US : full_us;
}

/* Begins with the current address. False: it failed at once. */
static bool try_address(struct connect *connect)
{
    struct oob *oob = connect->oob;
    const struct sock_addr *addr = &connect->contact.addrs[connect->next];
    uint64_t now = clock_us();
    if (connect->give_up_us == 0) {
        connect->give_up_us = now + time_of_address(connect);
    }
    int fd = sock_connect(addr);
    if (fd == -EAGAIN && try_later(connect)) {
        return true;
    }
    if (fd < 0) {
        note(connect, fd == -EAGAIN ? ORTE_ERR_TEMP_OUT_OF_RESOURCE : ORTE_ERR_CONNECTION_FAILED,
             strerror(-fd));
        return false;
    }
    struct handshake_self self = oob_self(oob, addr->storage.ss_family == AF_UNIX);
    greeting_init(&connect->greeting, oob->loop, &self, on_step);
    int status =
        greeting_connect(&connect->greeting, fd, addr, &connect->contact.name, connect->key,
                         connect->give_up_us > now ? connect->give_up_us - now : 0);
    if (status != ORTE_SUCCESS) {
        note(connect, status, connect->greeting.handshake.text);
        greeting_end(&connect->greeting);
    }
    return status == ORTE_SUCCESS;
}

static void try_addresses(struct connect *connect)
{
    while (connect->next < connect->contact.count) {
        if (try_address(connect)) {
            return;
        }
        next_address(connect);
    }
    give_up(connect);
}

static void on_start(struct loop_task *task)
{
    try_addresses(container_of(task, struct connect, start));
}

static void on_retry(struct loop_timer *timer)
{
    try_addresses(container_of(timer, struct connect, retry));
}

static void on_step(struct greeting *greeting)
{
    struct connect *connect = container_of(greeting, struct connect, greeting);
    const struct handshake *handshake = &greeting->handshake;
    if (handshake->state == HANDSHAKE_DONE) {
        struct oob *oob = connect->oob;
        if (handshake->self.epoch != oob->epoch) { /* oob_renew came in between */
            greeting_end(greeting);
            try_addresses(connect);
            return;
        }
        struct oob_peer peer = oob_peer_of(greeting);
        struct oob_link *link;
        int status = link_create(&link, oob, handshake, &peer);
        if (status == ORTE_SUCCESS) {
            link_attach(link, greeting);
            oob_link_made(oob, link); /* settles this connect too */
            return;
        }
        note(connect, status, opal_strerror(status));
        give_up(connect);
        return;
    }
    if (handshake->reason == WIRE_BUSY && try_later(connect)) {
        greeting_end(greeting);
        return;
    }
    note(connect, handshake->status, handshake->text);
    bool final = handshake->refused_by_peer;
    greeting_end(greeting);
    if (final) {
        give_up(connect);
    } else {
        next_address(connect);
        try_addresses(connect);
    }
}

/* Takes the connects to a name (NULL: all) off the list; then their callbacks may do what they like
 * with it. */
static void take(struct oob *oob, const orte_process_name_t *name, struct list *taken)
{
    struct connect *connect;
    list_init(taken);
    list_for_each (connect, &oob->connects, struct connect, link) {
        if (!name || name_equal(&connect->contact.name, name)) {
            list_remove(&connect->link);
            list_append(taken, &connect->link);
        }
    }
}

void connect_settle(struct oob *oob, struct oob_link *link)
{
    struct list taken;
    struct list *first;
    take(oob, &link->peer.name, &taken);
    while ((first = list_pop(&taken))) {
        struct connect *connect = container_of(first, struct connect, link);
        bool up = link->state != LINK_DOWN;
        connect->reason[0] = '\0';
        finish(connect, up ? ORTE_SUCCESS : ORTE_ERR_COMM_FAILURE, up ? link : NULL);
    }
}

void connect_end_all(struct oob *oob)
{
    struct list taken;
    struct list *first;
    take(oob, NULL, &taken);
    while ((first = list_pop(&taken))) {
        struct connect *connect = container_of(first, struct connect, link);
        snprintf(connect->reason, sizeof connect->reason, "the endpoint was closed");
        finish(connect, ORTE_ERR_COMM_FAILURE, NULL);
    }
}

int oob_connect(struct oob *oob, const char *contact, enum oob_key key, oob_connect_fn done,
                void *arg)
{
    assert(loop_is_current(oob->loop));
    char reason[192];
    struct connect *connect = calloc(1, sizeof *connect);
    if (!connect) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (contact_parse(&connect->contact, contact, reason, sizeof reason) != ORTE_SUCCESS ||
        name_equal(&connect->contact.name, &oob->name) || (unsigned) key >= OOB_KEYS) {
        free(connect);
        return ORTE_ERR_BAD_PARAM;
    }
    struct oob_link *link = oob_find(oob, &connect->contact.name);
    if (link && link->state == LINK_UP) {
        free(connect);
        done(arg, ORTE_SUCCESS, link, "");
        return ORTE_SUCCESS;
    }
    connect->oob = oob;
    connect->key = key;
    connect->done = done;
    connect->arg = arg;
    connect->start.run = on_start;
    connect->wait = no_room_wait;
    greeting_init(&connect->greeting, oob->loop, &(struct handshake_self){.security = 0}, on_step);
    loop_timer_init(&connect->retry, oob->loop, on_retry);
    if (!find(oob, &connect->contact.name)) {
        loop_post(oob->loop, &connect->start);
    }
    list_append(&oob->connects, &connect->link);
    return ORTE_SUCCESS;
}
