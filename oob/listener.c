/* Listeners: where others connect to this process. Whom they accept goes to oob/door.c. */
#include <config.h>

#include <oob/endpoint.h>

#include <assert.h>
#include <base/net/netif.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ACCEPTS_A_TURN = 16,
    BACKOFF_US = 100000,
    BACKLOG = 4096,
};

static struct param param_include =
    PARAM_STRING("oob_tcp_if_include", "",
                 "Interfaces (names or CIDR blocks, comma-separated) that control links use.");
PARAM_ROWS("oob", param_include);
static struct param param_exclude = PARAM_STRING(
    "oob_tcp_if_exclude", "",
    "Interfaces (names or CIDR blocks, comma-separated) that control links do not use.");
PARAM_ROWS("oob", param_exclude);

struct listener {
    struct list link;
    struct oob *oob;
    struct loop_io io;
    int fd;
    struct sock_addr addr;
    bool is_unix;
};

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
    door_log(NULL, "whoever connects", strerror(error));
    pause_all(oob);
    loop_timer_start(&oob->backoff, BACKOFF_US);
}

/* One connection. False: there is none, or accepting is paused. */
static bool accept_one(struct listener *listener)
{
    struct oob *oob = listener->oob;
    if (!door_make_room(oob)) {
        pause_all(oob);
        return false;
    }
    struct sock_addr source;
    struct fault fault = fault_at("oob.accept");
    int fd = fault.action == FAULT_ERROR ? -(int) fault.value : sock_accept(listener->fd, &source);
    if (sock_is_starved(fd)) {
        starve(listener, -fd);
        return false;
    }
    if (fd < 0) {
        return fd != -EAGAIN;
    }
    if (fault.action == FAULT_DROP) {
        close(fd);
    } else {
        door_open(oob, fd, listener->is_unix ? &listener->addr : &source, listener->is_unix);
    }
    return true;
}

/* Into a full door they come one by one: who is there has a turn of the loop to go on in between.
 */
static void on_connection(struct loop_io *io, short events)
{
    struct listener *listener = container_of(io, struct listener, io);
    (void) events;
    for (int i = 0; i < ACCEPTS_A_TURN && accept_one(listener) && !door_is_full(listener->oob);
         i++) {
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
