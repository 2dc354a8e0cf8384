/* Connects: from a contact string to a link, address by address. */
#include <config.h>

#include <base/types/name.h>
#include <oob/endpoint.h>

#include <assert.h>
#include <base/data/clock.h>
#include <base/loop/patience.h>
#include <base/settings/log.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between attempts at an address whose listener has no room. */
static const struct backoff no_room_wait = {.base_us = 5000, .cap_us = 1000000};

enum { REFUSALS_MAX = 3 };

_Static_assert(CONTACT_ADDRS_MAX < 32, "a bit for each address");

/* One call of oob_connect. Of those to the same name only the first runs. */
struct connect {
    struct list link;
    struct oob *oob;
    struct contact contact;
    uint64_t limit_us;
    struct patience patience;
    enum oob_key key;
    oob_connect_fn done;
    void *arg;
    struct greeting greeting;
    struct loop_task start;
    struct loop_timer retry; /* the listener had no room, or the next turn is due */
    struct backoff wait;
    uint64_t give_up_us; /* this address; 0: it was not tried yet in this turn */
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
    status = status == ORTE_ERR_CONNECTION_REFUSED ? ORTE_ERR_CONNECTION_FAILED : status;
    greeting_end(&connect->greeting);
    loop_timer_stop(&connect->retry);
    loop_cancel(connect->oob->loop, &connect->start);
    connect->done(connect->arg, status, link, connect->reason);
    free(connect);
}

static const struct sock_addr *address_of(const struct connect *connect)
{
    return &connect->contact.addrs[connect->patience.at];
}

/* Adds what happened at the address to the reason. */
static void note(struct connect *connect, int status, const char *text)
{
    char address[128];
    sock_addr_print(address_of(connect), address, sizeof address);
    size_t used = strlen(connect->reason);
    snprintf(connect->reason + used, sizeof connect->reason - used, "%s%s: %s", used ? "; " : "",
             address, text);
    connect->status = status;
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

/* What is neither slow nor broken is an answer: nobody listens there, or it refuses. */
static enum patience_outcome outcome_of(int status)
{
    switch (status) {
    case ORTE_ERR_TIMEOUT:
    case ORTE_ERR_TEMP_OUT_OF_RESOURCE:
        return PATIENCE_SLOW;
    case ORTE_ERR_CONNECTION_FAILED:
        return PATIENCE_FAILED;
    default:
        return PATIENCE_REFUSED;
    }
}

/* The attempt at this address is over. False: nothing is to be done now. */
static bool next_address(struct connect *connect)
{
    uint64_t wait_us = 0;
    enum patience_next next = patience_ended(&connect->patience, outcome_of(connect->status),
                                             &connect->oob->chance, clock_us(), &wait_us);
    connect->give_up_us = 0;
    connect->wait = no_room_wait;
    if (next == PATIENCE_OVER) {
        give_up(connect);
    } else if (next == PATIENCE_WAIT) {
        log_debug(LOG_OOB, "connect to %s: again in %u ms", ORTE_NAME_PRINT(&connect->contact.name),
                  (unsigned) (wait_us / 1000));
        loop_timer_start(&connect->retry, wait_us);
    }
    return next == PATIENCE_GO;
}

/* Begins with the current address. False: it failed at once. */
static bool try_address(struct connect *connect)
{
    struct oob *oob = connect->oob;
    const struct sock_addr *addr = address_of(connect);
    uint64_t now = clock_us();
    if (connect->give_up_us == 0) {
        connect->give_up_us = now + patience_time(&connect->patience, now);
    }
    int fd = sock_connect(addr);
    if (fd == -EAGAIN && try_later(connect)) {
        return true;
    }
    if (fd < 0) {
        note(connect, fd == -EAGAIN ? ORTE_ERR_TEMP_OUT_OF_RESOURCE : greeting_status_of(-fd),
             strerror(-fd));
        return false;
    }
    struct handshake_self self = oob_self(oob, addr->storage.ss_family == AF_UNIX);
    greeting_init(&connect->greeting, oob->loop, &self, on_step);
    connect->greeting.longest_us = patience_longest(&connect->patience, now);
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
    while (!try_address(connect) && next_address(connect)) {
    }
}

/* A new turn of all addresses: what was in the way in earlier ones is no news. */
static void on_retry(struct loop_timer *timer)
{
    struct connect *connect = container_of(timer, struct connect, retry);
    if (connect->give_up_us == 0) {
        connect->reason[0] = '\0';
    }
    try_addresses(connect);
}

static void on_start(struct loop_task *task)
{
    struct connect *connect = container_of(task, struct connect, start);
    patience_begin(&connect->patience, connect->contact.count, connect->oob->connect_timeout_us,
                   connect->limit_us, REFUSALS_MAX, clock_us());
    try_addresses(connect);
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
    } else if (next_address(connect)) {
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

/* Drops the addresses that do not fit. */
static void keep(struct contact *contact,
                 bool (*fits)(const struct sock_addr *addr, const void *arg), const void *arg)
{
    size_t kept = 0;
    for (size_t i = 0; i < contact->count; i++) {
        if (fits(&contact->addrs[i], arg)) {
            contact->addrs[kept++] = contact->addrs[i];
        }
    }
    contact->count = kept;
}

static bool is_unix(const struct sock_addr *addr, const void *arg)
{
    (void) arg;
    return addr->storage.ss_family == AF_UNIX;
}

/* An address that a link does not use, and that another network may lead to. */
static bool is_elsewhere(const struct sock_addr *addr, const void *arg)
{
    const struct oob_link *link = arg;
    char text[sizeof link->peer.address];
    return addr->storage.ss_family != AF_UNIX &&
           strcmp(sock_addr_print(addr, text, sizeof text), link->peer.address) != 0;
}

/* A connect that has not begun; NULL for a bad contact string (*status says so), or no memory. */
static struct connect *connect_create(struct oob *oob, const char *contact, enum oob_key key,
                                      uint64_t limit_us, int *status)
{
    char reason[192];
    struct connect *connect = calloc(1, sizeof *connect);
    if (!connect) {
        *status = ORTE_ERR_OUT_OF_RESOURCE;
        return NULL;
    }
    if (contact_parse(&connect->contact, contact, reason, sizeof reason) != ORTE_SUCCESS ||
        name_equal(&connect->contact.name, &oob->name) || (unsigned) key >= OOB_KEYS) {
        free(connect);
        *status = ORTE_ERR_BAD_PARAM;
        return NULL;
    }
    connect->oob = oob;
    connect->key = key;
    connect->limit_us = limit_us;
    connect->start.run = on_start;
    connect->wait = no_room_wait;
    greeting_init(&connect->greeting, oob->loop, &(struct handshake_self){.security = 0}, on_step);
    loop_timer_init(&connect->retry, oob->loop, on_retry);
    return connect;
}

/* Begins, behind others to the same name; ORTE_ERR_UNREACH when there is no address to try. */
static int connect_begin(struct connect *connect, oob_connect_fn done, void *arg)
{
    struct oob *oob = connect->oob;
    if (connect->contact.count == 0) {
        free(connect);
        return ORTE_ERR_UNREACH;
    }
    connect->done = done;
    connect->arg = arg;
    if (!find(oob, &connect->contact.name)) {
        loop_post(oob->loop, &connect->start);
    }
    list_append(&oob->connects, &connect->link);
    return ORTE_SUCCESS;
}

int oob_connect(struct oob *oob, const char *contact, enum oob_key key, uint64_t limit_us,
                oob_connect_fn done, void *arg)
{
    assert(loop_is_current(oob->loop));
    int status;
    struct connect *connect = connect_create(oob, contact, key, limit_us, &status);
    if (!connect) {
        return status;
    }
    struct oob_link *link = oob_find(oob, &connect->contact.name);
    if (link && link->state == LINK_UP) {
        free(connect);
        done(arg, ORTE_SUCCESS, link, "");
        return ORTE_SUCCESS;
    }
    if (key == OOB_KEY_PEERCRED) { /* proved by the kernel alone */
        keep(&connect->contact, is_unix, NULL);
    }
    return connect_begin(connect, done, arg);
}

int oob_detour(struct oob *oob, const char *contact, enum oob_key key, oob_connect_fn done,
               void *arg)
{
    assert(loop_is_current(oob->loop));
    int status;
    struct connect *connect = connect_create(oob, contact, key, 0, &status);
    if (!connect) {
        return status;
    }
    struct oob_link *link = oob_find(oob, &connect->contact.name);
    if (!link || link->is_unix) {
        connect->contact.count = 0;
    } else {
        keep(&connect->contact, is_elsewhere, link);
    }
    return connect_begin(connect, done, arg);
}
