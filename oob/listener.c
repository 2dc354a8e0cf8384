/* Listeners, and the strangers at the door: accepted sockets that have not proved themselves. */
#include <config.h>

#include <oob/endpoint.h>

#include <arpa/inet.h>
#include <assert.h>
#include <base/clock.h>
#include <base/fault.h>
#include <base/log.h>
#include <base/netif.h>
#include <base/param.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PENDING_MAX = 64,
    PENDING_PER_SOURCE = 8,
    /* A younger one is not given up for a newcomer: before its hello, and behind it. */
    PENDING_GRACE_US = 100000,
    PENDING_PROOF_GRACE_US = 1000000,
    ACCEPTS_A_TURN = 16,
    BACKOFF_US = 100000,
    BACKLOG = 4096,
};

static struct param param_include = {
    .name = "oob_tcp_if_include",
    .type = PARAM_STRING,
    .default_text = "",
    .unit = "",
    .help = "Interfaces (names or CIDR blocks, comma-separated) that control links use.",
};
static struct param param_exclude = {
    .name = "oob_tcp_if_exclude",
    .type = PARAM_STRING,
    .default_text = "",
    .unit = "",
    .help = "Interfaces (names or CIDR blocks, comma-separated) that control links do not use.",
};

struct listener {
    struct list link;
    struct oob *oob;
    struct loop_io io;
    int fd;
    struct sock_addr addr;
    bool is_unix;
};

struct pending {
    struct list link; /* on pendings, or on parked */
    struct oob *oob;
    struct greeting greeting;
    struct sock_addr source;
    uint64_t since_us;
    bool parked;
};

static void decide(struct pending *pending);

/* --- the pending --- */

/* What the log counts a stranger's lines by: its host, for IPv6 the network of that. */
static const char *source_key(const struct sock_addr *source, char key[64])
{
    char host[INET6_ADDRSTRLEN] = "local";
    if (source && source->storage.ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *) &source->storage;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
    } else if (source && source->storage.ss_family == AF_INET6) {
        struct in6_addr net = ((const struct sockaddr_in6 *) &source->storage)->sin6_addr;
        memset(net.s6_addr + 8, 0, 8);
        inet_ntop(AF_INET6, &net, host, sizeof host);
    }
    snprintf(key, 64, "oob %s", host);
    return key;
}

/* One line a second for each source (NULL: nobody in particular). */
static void log_stranger(const struct sock_addr *source, const char *address, const char *text)
{
    char key[64];
    unsigned held_back = 0;
    if (!log_rate_ok(source_key(source, key), &held_back)) {
        return;
    }
    if (held_back) {
        log_warn(LOG_OOB, "no link for %s: %s; nor for %u others since the last such line", address,
                 text, held_back);
    } else {
        log_warn(LOG_OOB, "no link for %s: %s", address, text);
    }
}

/* An own process that went away in between is nothing to warn of. */
static void log_failed(const struct pending *pending)
{
    const struct greeting *greeting = &pending->greeting;
    if (greeting->self.attested) {
        log_info(LOG_OOB, "no link for %s: %s", greeting->address, greeting->handshake.text);
    } else {
        log_stranger(&pending->source, greeting->address, greeting->handshake.text);
    }
}

static void pending_end(struct pending *pending)
{
    struct oob *oob = pending->oob;
    list_remove(&pending->link);
    oob->pending_count -= !pending->parked;
    greeting_end(&pending->greeting);
    free(pending);
    if (oob->accept_paused && !oob->backoff.started) {
        listener_resume(oob);
    }
}

static void pending_refuse(struct pending *pending, enum wire_reason reason, int status)
{
    greeting_verdict(&pending->greeting, reason, status);
    log_info(LOG_OOB, "%s from %s: %s", ORTE_NAME_PRINT(&pending->greeting.handshake.peer),
             pending->greeting.address, pending->greeting.handshake.text);
    pending_end(pending);
}

static void on_step(struct greeting *greeting)
{
    struct pending *pending = container_of(greeting, struct pending, greeting);
    if (greeting->handshake.state == HANDSHAKE_PROVED) {
        decide(pending);
    } else {
        log_failed(pending);
        pending_end(pending);
    }
}

/* Same host, or for IPv6 the same network of a host. */
static bool same_source(const struct sock_addr *a, const struct sock_addr *b)
{
    if (a->storage.ss_family != b->storage.ss_family) {
        return false;
    }
    if (a->storage.ss_family == AF_INET) {
        return ((const struct sockaddr_in *) &a->storage)->sin_addr.s_addr ==
               ((const struct sockaddr_in *) &b->storage)->sin_addr.s_addr;
    }
    return a->storage.ss_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *) &a->storage)->sin6_addr,
                  &((const struct sockaddr_in6 *) &b->storage)->sin6_addr, 8) == 0;
}

static unsigned count_source(const struct oob *oob, const struct sock_addr *source)
{
    unsigned count = 0;
    const struct pending *pending;
    list_for_each (pending, &oob->pendings, struct pending, link) {
        count += !pending->greeting.is_unix && same_source(&pending->source, source);
    }
    return count;
}

/* It has had its time, and has said nothing that was not heard: this process may be the slow one.
 */
static bool is_silent(const struct pending *pending, uint64_t now)
{
    bool spoke = pending->greeting.handshake.state == HANDSHAKE_PROOF;
    return now - pending->since_us >= (spoke ? PENDING_PROOF_GRACE_US : PENDING_GRACE_US) &&
           !greeting_has_input(&pending->greeting);
}

/* The oldest silent TCP connection, of one source or (NULL) of any; NULL: there is none. */
static struct pending *find_silent(const struct oob *oob, const struct sock_addr *source)
{
    uint64_t now = clock_us();
    struct pending *pending;
    list_for_each (pending, &oob->pendings, struct pending, link) {
        if (!pending->greeting.is_unix && (!source || same_source(&pending->source, source)) &&
            is_silent(pending, now)) {
            return pending;
        }
    }
    return NULL;
}

static void give_up(struct pending *pending)
{
    log_stranger(&pending->source, pending->greeting.address, "given up for a newer connection");
    greeting_turn_away(pending->greeting.fd);
    pending_end(pending);
}

/* Room for one more from a source: a silent older one makes way. False: the newcomer must go. */
static bool make_room(struct oob *oob, const struct sock_addr *source)
{
    bool crowded = count_source(oob, source) >= PENDING_PER_SOURCE;
    if (!crowded && oob->pending_count < PENDING_MAX) {
        return true;
    }
    struct pending *victim = find_silent(oob, crowded ? source : NULL);
    if (victim) {
        give_up(victim);
    }
    return victim != NULL;
}

static struct pending *oldest_tcp(const struct oob *oob)
{
    struct pending *pending;
    list_for_each (pending, &oob->pendings, struct pending, link) {
        if (!pending->greeting.is_unix) {
            return pending;
        }
    }
    return NULL;
}

/* Own processes come before TCP's strangers; when all are own, they wait in the backlog. */
static bool make_room_unix(struct oob *oob)
{
    if (oob->pending_count < PENDING_MAX) {
        return true;
    }
    struct pending *victim = oldest_tcp(oob);
    if (victim) {
        give_up(victim);
    }
    return victim != NULL;
}

static void pending_begin(struct listener *listener, int fd, const struct sock_addr *source)
{
    struct oob *oob = listener->oob;
    struct pending *pending = calloc(1, sizeof *pending);
    if (!pending) {
        close(fd);
        return;
    }
    pending->oob = oob;
    pending->since_us = clock_us();
    pending->source = listener->is_unix ? listener->addr : *source;
    list_append(&oob->pendings, &pending->link);
    oob->pending_count++;
    struct handshake_self self = oob_self(oob, listener->is_unix);
    greeting_init(&pending->greeting, oob->loop, &self, on_step);
    if (greeting_accept(&pending->greeting, fd, &pending->source, oob->accept_timeout_us) !=
        ORTE_SUCCESS) {
        log_failed(pending);
        pending_end(pending);
    }
}

/* --- decisions about the proved --- */

static void park(struct pending *pending)
{
    list_remove(&pending->link);
    list_append(&pending->oob->parked, &pending->link);
    pending->parked = true;
    pending->oob->pending_count--;
}

static void welcome(struct pending *pending, const struct oob_peer *peer)
{
    struct oob *oob = pending->oob;
    struct oob_link *link;
    int status = link_create(&link, oob, &pending->greeting.handshake, peer);
    if (status != ORTE_SUCCESS) {
        pending_refuse(pending, WIRE_DENIED, status);
        return;
    }
    if (!greeting_verdict(&pending->greeting, WIRE_WELCOME, ORTE_SUCCESS)) {
        log_info(LOG_OOB, "%s: %s", pending->greeting.address, pending->greeting.handshake.text);
        link_end(link, ORTE_ERR_COMM_FAILURE);
        pending_end(pending);
        return;
    }
    link_attach(link, &pending->greeting);
    pending_end(pending);
    oob_link_made(oob, link);
}

/* The verdict is all that a ping wants. */
static void answer_ping(struct pending *pending, const struct oob_peer *peer)
{
    struct oob *oob = pending->oob;
    int status = oob->ops->admit ? oob->ops->admit(oob->arg, peer) : ORTE_SUCCESS;
    if (status != ORTE_SUCCESS) {
        pending_refuse(pending, WIRE_DENIED, status);
        return;
    }
    (void) greeting_verdict(&pending->greeting, WIRE_WELCOME, ORTE_SUCCESS);
    pending_end(pending);
}

/* What stands against a proved peer. Its old link is looked at first: it may have ended unseen. */
static enum wire_reason judge(struct pending *pending, const struct oob_peer *peer, int *status)
{
    struct oob *oob = pending->oob;
    *status = oob->ops->admit ? oob->ops->admit(oob->arg, peer) : ORTE_SUCCESS;
    if (*status != ORTE_SUCCESS) {
        return *status == ORTE_EXISTS ? WIRE_EXISTS : WIRE_DENIED;
    }
    struct oob_link *old = oob_find(oob, &peer->name);
    if (old) {
        link_read(old);
        old = oob_find(oob, &peer->name);
    }
    /* A new incarnation takes the place of the old one, when it proves as much. */
    bool live = old && old->state == LINK_UP;
    if (live && (old->peer.epoch == peer->epoch || old->peer.key != peer->key)) {
        return pending->parked ? WIRE_SIMULTANEOUS : WIRE_EXISTS;
    }
    return WIRE_WELCOME;
}

/* Of two processes that connect to each other at once, the higher name's connection survives: the
 * higher one keeps the other's waiting until its own has come to an end. */
static void decide(struct pending *pending)
{
    struct oob *oob = pending->oob;
    struct oob_peer peer = oob_peer_of(&pending->greeting);
    int status;
    if (pending->greeting.handshake.self.epoch != oob->epoch) { /* oob_renew came in between */
        pending_end(pending);
        return;
    }
    if (pending->greeting.handshake.ping) {
        answer_ping(pending, &peer);
        return;
    }
    enum wire_reason reason = judge(pending, &peer, &status);
    if (reason != WIRE_WELCOME) {
        pending_refuse(pending, reason, status);
        return;
    }
    bool higher = orte_util_compare_name_fields(ORTE_NS_CMP_ALL, &oob->name, &peer.name) ==
                  OPAL_VALUE1_GREATER;
    if (higher && connect_under_way(oob, &peer.name)) {
        if (!pending->parked) {
            park(pending);
        }
        return;
    }
    welcome(pending, &peer);
}

static struct pending *find_parked(const struct oob *oob, const orte_process_name_t *name)
{
    struct pending *pending;
    list_for_each (pending, &oob->parked, struct pending, link) {
        if (oob_same_name(&pending->greeting.handshake.peer, name)) {
            return pending;
        }
    }
    return NULL;
}

void listener_unpark(struct oob *oob, const orte_process_name_t *name)
{
    struct pending *pending;
    while (!connect_under_way(oob, name) && (pending = find_parked(oob, name))) {
        if (greeting_gone(&pending->greeting)) {
            pending_end(pending);
        } else {
            decide(pending);
        }
    }
}

/* --- accepting --- */

static void watch_all(struct oob *oob, short events)
{
    struct listener *listener;
    list_for_each (listener, &oob->listeners, struct listener, link) {
        loop_io_watch(&listener->io, events);
    }
}

static void pause_all(struct oob *oob)
{
    oob->accept_paused = true;
    watch_all(oob, 0);
}

void listener_resume(struct oob *oob)
{
    oob->accept_paused = false;
    watch_all(oob, EV_READ);
}

/* No descriptor is left: the reserve refuses one connection, then the others wait a while. */
static void starve(struct listener *listener, int error)
{
    struct oob *oob = listener->oob;
    fd_close(&oob->reserve_fd);
    int fd = sock_accept(listener->fd, NULL);
    if (fd >= 0) {
        greeting_turn_away(fd);
    }
    fd_close(&fd);
    oob->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    log_stranger(NULL, "whoever connects", strerror(error));
    pause_all(oob);
    loop_timer_start(&oob->backoff, BACKOFF_US);
}

static bool is_starved(int fd)
{
    return fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM;
}

/* One connection. False: there is none, or accepting is paused. */
static bool accept_one(struct listener *listener)
{
    struct oob *oob = listener->oob;
    if (listener->is_unix && !make_room_unix(oob)) {
        pause_all(oob);
        return false;
    }
    struct sock_addr source;
    struct fault fault = fault_at("oob.accept");
    int fd = fault.action == FAULT_ERROR ? -(int) fault.value : sock_accept(listener->fd, &source);
    if (is_starved(fd)) {
        starve(listener, -fd);
        return false;
    }
    if (fd < 0) {
        return fd != -EAGAIN;
    }
    if (fault.action == FAULT_DROP) {
        close(fd);
    } else if (!listener->is_unix && !make_room(oob, &source)) {
        char address[128];
        log_debug(LOG_OOB, "%s comes too early: too many are waiting",
                  sock_addr_print(&source, address, sizeof address));
        greeting_turn_away(fd);
        close(fd);
    } else {
        pending_begin(listener, fd, &source);
    }
    return true;
}

static void on_connection(struct loop_io *io, short events)
{
    struct listener *listener = container_of(io, struct listener, io);
    (void) events;
    for (int i = 0; i < ACCEPTS_A_TURN && accept_one(listener); i++) {
    }
}

/* --- listeners --- */

static int listener_create(struct oob *oob, const struct sock_addr *addr)
{
    struct listener *listener = calloc(1, sizeof *listener);
    if (!listener) {
        return -ENOMEM;
    }
    listener->oob = oob;
    listener->addr = *addr;
    listener->is_unix = addr->storage.ss_family == AF_UNIX;
    listener->fd = sock_listen(addr, BACKLOG);
    int error = listener->fd < 0 ? listener->fd : 0;
    if (!error && !listener->is_unix) {
        error = sock_local_addr(listener->fd, &listener->addr);
    }
    if (error) {
        fd_close(&listener->fd);
        free(listener);
        return error;
    }
    list_append(&oob->listeners, &listener->link);
    loop_io_init(&listener->io, oob->loop, listener->fd, on_connection);
    loop_io_watch(&listener->io, oob->accept_paused ? 0 : EV_READ);
    return 0;
}

static const char *unix_path(const struct sock_addr *addr)
{
    static const char scheme[] = "unix://";
    static _Thread_local char text[128];
    return sock_addr_print(addr, text, sizeof text) + sizeof scheme - 1;
}

static void listener_destroy(struct listener *listener)
{
    list_remove(&listener->link);
    loop_io_watch(&listener->io, 0);
    fd_close(&listener->fd);
    if (listener->is_unix) {
        unlink(unix_path(&listener->addr));
    }
    free(listener);
}

void listener_end_all(struct oob *oob)
{
    while (!list_empty(&oob->listeners)) {
        listener_destroy(container_of(oob->listeners.next, struct listener, link));
    }
    while (!list_empty(&oob->pendings)) {
        pending_end(container_of(oob->pendings.next, struct pending, link));
    }
    while (!list_empty(&oob->parked)) {
        pending_end(container_of(oob->parked.next, struct pending, link));
    }
}

int oob_listen_unix(struct oob *oob, const char *path, char *reason, size_t reason_size)
{
    assert(loop_is_current(oob->loop));
    /* What cannot stand in a contact string is no use as a listener. */
    struct contact contact;
    char text[256];
    snprintf(text, sizeof text, "0.0;unix://%s", path);
    if (contact_parse(&contact, text, reason, reason_size) != ORTE_SUCCESS || contact.count != 1) {
        snprintf(reason, reason_size, "%s cannot be a unix socket's path in a contact string",
                 path);
        return ORTE_ERR_BAD_PARAM;
    }
    int error = listener_create(oob, &contact.addrs[0]);
    if (error) {
        snprintf(reason, reason_size, "cannot listen on %s: %s", path, strerror(-error));
        return ORTE_ERR_SOCKET_NOT_AVAILABLE;
    }
    return ORTE_SUCCESS;
}

int oob_listen_tcp(struct oob *oob, char *reason, size_t reason_size)
{
    assert(loop_is_current(oob->loop));
    struct netif *netifs;
    size_t count, made = 0;
    int status = netif_list(param_string(&param_include), param_string(&param_exclude), &netifs,
                            &count, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    snprintf(reason, reason_size, "no network interface is up");
    for (size_t i = 0; i < count && made < CONTACT_ADDRS_MAX - 1; i++) {
        int error = listener_create(oob, &netifs[i].addr);
        made += !error;
        if (error) {
            snprintf(reason, reason_size, "cannot listen on %s: %s", netifs[i].name,
                     strerror(-error));
            log_debug(LOG_OOB, "%s", reason);
        }
    }
    free(netifs);
    return made ? ORTE_SUCCESS : ORTE_ERR_SOCKET_NOT_AVAILABLE;
}

void listener_contact(const struct oob *oob, struct contact *contact)
{
    for (int is_tcp = 0; is_tcp <= 1; is_tcp++) {
        struct listener *listener;
        list_for_each (listener, &oob->listeners, struct listener, link) {
            if (listener->is_unix == !is_tcp && contact->count < CONTACT_ADDRS_MAX) {
                contact->addrs[contact->count++] = listener->addr;
            }
        }
    }
}
