/* The strangers at the door: accepted sockets that have not proved themselves; and what becomes of
 * those that have. */
#include <config.h>

#include <base/types/name.h>
#include <oob/endpoint.h>

#include <arpa/inet.h>
#include <base/settings/log.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PENDING_MAX = 64 };

/* A connection that was accepted, until it is turned away or has become a link. */
struct pending {
    struct list link; /* on pendings, or on parked */
    struct oob *oob;
    struct greeting greeting;
    struct sock_addr source;
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

void door_log(const struct sock_addr *source, const char *address, const char *text)
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

/* An own process that went away in between is nothing to warn of; nor is somebody who said a whole
 * hello, for on a slow network a connector may have given this address up; nor anybody who gave up
 * while this process stood still. */
static void log_failed(const struct pending *pending)
{
    const struct greeting *greeting = &pending->greeting;
    bool left = greeting->handshake.reason == WIRE_WELCOME && greeting->handshake.hello[0];
    if (greeting->self.attested || left ||
        oob_stood_still(pending->oob, pending->oob->accept_timeout_us)) {
        log_info(LOG_OOB, "no link for %s: %s", greeting->address, greeting->handshake.text);
    } else {
        door_log(&pending->source, greeting->address, greeting->handshake.text);
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

/* A host, or for IPv6 the network of one, as a number; 0: an own process. */
static uint64_t source_of(const struct pending *pending)
{
    const struct sockaddr_storage *storage = &pending->source.storage;
    uint64_t net = 0;
    if (storage->ss_family == AF_INET) {
        return ((const struct sockaddr_in *) storage)->sin_addr.s_addr;
    }
    if (storage->ss_family == AF_INET6) {
        memcpy(&net, &((const struct sockaddr_in6 *) storage)->sin6_addr, sizeof net);
        return net ? net : UINT64_MAX; /* ::1 */
    }
    return 0;
}

static unsigned count_source(const struct oob *oob, uint64_t source)
{
    unsigned count = 0;
    const struct pending *pending;
    list_for_each (pending, &oob->pendings, struct pending, link) {
        count += source != 0 && source_of(pending) == source;
    }
    return count;
}

/* One at random of the source that has most at the door; NULL: no stranger is there. What a
 * stranger has said does not count, so no behaviour keeps a place; an honest one that is turned
 * away comes again. */
static struct pending *choose_stranger(const struct oob *oob)
{
    struct pending *pending, *equals[PENDING_MAX];
    unsigned most = 1, count = 0;
    list_for_each (pending, &oob->pendings, struct pending, link) {
        unsigned here = count_source(oob, source_of(pending));
        if (here > most) {
            most = here;
            count = 0;
        }
        if (here == most && count < PENDING_MAX) {
            equals[count++] = pending;
        }
    }
    uint32_t draw;
    crypto_random(&draw, sizeof draw);
    return count > 0 ? equals[draw % count] : NULL;
}

static void give_up(struct pending *pending)
{
    log_info(LOG_OOB, "no link for %s: given up for a newer connection", pending->greeting.address);
    greeting_turn_away(pending->greeting.fd);
    pending_end(pending);
}

bool door_is_full(const struct oob *oob)
{
    return oob->pending_count >= PENDING_MAX;
}

bool door_make_room(struct oob *oob)
{
    struct pending *stranger = door_is_full(oob) ? choose_stranger(oob) : NULL;
    if (stranger) {
        give_up(stranger);
    }
    return !door_is_full(oob);
}

void door_open(struct oob *oob, int fd, const struct sock_addr *source, bool is_unix)
{
    struct pending *pending = calloc(1, sizeof *pending);
    if (!pending) {
        close(fd);
        return;
    }
    pending->oob = oob;
    pending->source = *source;
    list_append(&oob->pendings, &pending->link);
    oob->pending_count++;
    struct handshake_self self = oob_self(oob, is_unix);
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
    link->unheard = true;
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
    /* A new incarnation takes the place of the old one, when it proves as much; so does a new link
     * the place of one that has fallen silent (oob_detour), or that its maker has given up before
     * he knew that he had it. */
    bool live = old && old->state == LINK_UP;
    bool same = live && old->peer.epoch == peer->epoch && !old->unheard && !watch_is_silent(old);
    if (same || (live && old->peer.key != peer->key)) {
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
        if (name_equal(&pending->greeting.handshake.peer, name)) {
            return pending;
        }
    }
    return NULL;
}

void door_unpark(struct oob *oob, const orte_process_name_t *name)
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

void door_end_all(struct oob *oob)
{
    while (!list_empty(&oob->pendings)) {
        pending_end(container_of(oob->pendings.next, struct pending, link));
    }
    while (!list_empty(&oob->parked)) {
        pending_end(container_of(oob->parked.next, struct pending, link));
    }
}
