/* The endpoint: its parameters, keys and table of links. */
#include <config.h>

#include <base/types/name.h>
#include <oob/endpoint.h>

#include <assert.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHOICE_AUTO, CHOICE_ENCRYPT, CHOICE_AUTH, CHOICE_NONE };

static const char *const choices[] = {"auto", "encrypt", "auth", "none", NULL};

static struct {
    struct param security, connect_timeout, accept_timeout;
} params = {
    .security =
        PARAM_ENUM("oob_security", "auto", choices,
                   "How control links are protected: encrypt, auth (authentic but readable), none "
                   "(only the handshake), or auto: encrypt on TCP, auth on unix sockets."),
    .connect_timeout =
        PARAM_INT("oob_connect_timeout_ms", "5000", 10, 3600000, "ms",
                  "How long a connect to one address, its handshake included, may take."),
    .accept_timeout =
        PARAM_INT("oob_accept_timeout_ms", "5000", 10, 3600000, "ms",
                  "How long a connection that was accepted may take to prove itself; eight round "
                  "trips, if those are longer, but at most four times as long."),
};
PARAM_ROWS("oob", params);

static enum oob_security security(int64_t choice, bool is_unix)
{
    switch (choice) {
    case CHOICE_ENCRYPT:
        return OOB_SECURITY_ENCRYPT;
    case CHOICE_AUTH:
        return OOB_SECURITY_AUTH;
    case CHOICE_NONE:
        return OOB_SECURITY_NONE;
    default:
        return is_unix ? OOB_SECURITY_AUTH : OOB_SECURITY_ENCRYPT;
    }
}

static void on_backoff(struct loop_timer *timer)
{
    listener_resume(container_of(timer, struct oob, backoff));
}

int oob_create(struct oob **oob, const struct oob_config *config, char *reason, size_t reason_size)
{
    if (crypto_open() != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "libsodium does not start");
        return ORTE_ERROR;
    }
    struct oob *made = calloc(1, sizeof *made);
    int reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (!made || reserve_fd < 0) {
        snprintf(reason, reason_size, "%s", strerror(errno));
        free(made);
        fd_close(&reserve_fd);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    made->loop = config->loop;
    crypto_random(&made->chance, sizeof made->chance);
    made->name = config->name;
    made->epoch = config->epoch;
    made->ops = config->ops;
    made->arg = config->arg;
    made->reserve_fd = reserve_fd;
    made->tcp_security = security(param_int(&params.security), false);
    made->unix_security = security(param_int(&params.security), true);
    made->connect_timeout_us = (uint64_t) param_int(&params.connect_timeout) * 1000;
    made->accept_timeout_us = (uint64_t) param_int(&params.accept_timeout) * 1000;
    for (int i = 0; i < OOB_NAME_BUCKETS; i++) {
        list_init(&made->links[i]);
    }
    list_init(&made->connects);
    list_init(&made->pings);
    list_init(&made->listeners);
    list_init(&made->pendings);
    list_init(&made->parked);
    loop_timer_init(&made->backoff, made->loop, on_backoff);
    watch_init(made);
    *oob = made;
    return ORTE_SUCCESS;
}

void oob_destroy(struct oob *oob)
{
    if (!oob) {
        return;
    }
    assert(loop_is_current(oob->loop));
    listener_end_all(oob);
    door_end_all(oob);
    connect_end_all(oob);
    ping_end_all(oob);
    for (int i = 0; i < OOB_NAME_BUCKETS; i++) {
        while (!list_empty(&oob->links[i])) {
            struct oob_link *link = container_of(oob->links[i].next, struct oob_link, by_name);
            oob_link_close(link, false);
        }
    }
    loop_timer_stop(&oob->backoff);
    watch_end(oob);
    fd_close(&oob->reserve_fd);
    crypto_wipe(oob->keys, sizeof oob->keys);
    free(oob);
}

void oob_set_key(struct oob *oob, enum oob_key kind, const uint8_t key[KEY_BYTES])
{
    assert(kind < OOB_KEY_PEERCRED);
    memcpy(oob->keys[kind], key, KEY_BYTES);
    oob->held[kind] = true;
}

void oob_renew(struct oob *oob, uint64_t epoch)
{
    assert(loop_is_current(oob->loop));
    oob->epoch = epoch;
}

void oob_rename(struct oob *oob, const orte_process_name_t *name)
{
    assert(loop_is_current(oob->loop));
    oob->name = *name;
}

struct handshake_self oob_self(const struct oob *oob, bool is_unix)
{
    struct handshake_self self = {
        .name = oob->name,
        .epoch = oob->epoch,
        .security = is_unix ? oob->unix_security : oob->tcp_security,
        .aes = record_can_aes(),
    };
    for (int i = 0; i < OOB_KEYS; i++) {
        self.keys[i] = oob->held[i] ? oob->keys[i] : NULL;
    }
    return self;
}

struct oob_peer oob_peer_of(const struct greeting *greeting)
{
    struct oob_peer peer = {
        .name = greeting->handshake.peer,
        .epoch = greeting->handshake.peer_epoch,
        .key = greeting->handshake.key,
        .pid = greeting->pid,
    };
    snprintf(peer.address, sizeof peer.address, "%s", greeting->address);
    return peer;
}

uint64_t oob_connect_timeout_us(const struct oob *oob)
{
    return oob->connect_timeout_us;
}

/* --- links by name --- */

static unsigned bucket(const orte_process_name_t *name)
{
    return (name->vpid ^ name->jobid * 31u) & (OOB_NAME_BUCKETS - 1);
}

struct oob_link *oob_find(const struct oob *oob, const orte_process_name_t *name)
{
    struct oob_link *link;
    list_for_each (link, &oob->links[bucket(name)], struct oob_link, by_name) {
        if (name_equal(&link->peer.name, name)) {
            return link;
        }
    }
    return NULL;
}

void oob_link_made(struct oob *oob, struct oob_link *link)
{
    orte_process_name_t name = link->peer.name;
    struct oob_link *old = oob_find(oob, &name);
    if (old) {
        link_end(old, ORTE_ERR_COMM_FAILURE); /* closing, silent, or of an incarnation before */
    }
    oob_link_ref(link);
    list_append(&oob->links[bucket(&name)], &link->by_name);
    pthread_mutex_lock(&link->lock);
    link->state = LINK_UP;
    pthread_mutex_unlock(&link->lock);
    log_info(LOG_OOB, "link to %s is up: %s, %s", ORTE_NAME_PRINT(&name), link->peer.address,
             link->inbox.sealed ? "records" : "plain");
    oob->ops->up(oob->arg, link, &link->peer);
    connect_settle(oob, link);
    door_unpark(oob, &name);
    link_start(link);
    oob_link_unref(link);
}

char *oob_contact(struct oob *oob)
{
    struct contact contact = {.name = oob->name};
    listener_contact(oob, &contact);
    while (contact.count > 0) {
        char *text = contact_print(&contact);
        if (text) {
            return text;
        }
        contact.count--; /* too long for a contact string */
    }
    return NULL;
}
