/* A client's socket: lines in, one answer to each. */
#include <config.h>

#include <launcher/pmi1/pmi1_internal.h>

#include <base/settings/log.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void client_watch(struct pmi1_client *client)
{
    short events = client->out_size > 0 ? EV_WRITE : 0;
    if (client->in_size < sizeof(client->in)) {
        events |= EV_READ;
    }
    if (client->fd >= 0 && events != client->io.events) {
        loop_io_watch(&client->io, events);
    }
}

void pmi1_client_close(struct pmi1_client *client)
{
    if (client->fd >= 0) {
        loop_io_watch(&client->io, 0);
        fd_close(&client->fd);
    }
    client->in_size = client->out_size = 0;
    pmi1_spawn_fini(&client->spawn);
    client->spawn_request = 0;
}

void pmi1_client_drop(struct pmi1_client *client, const char *why)
{
    char reason[160];
    log_warn(LOG_LAUNCHER, "rank %u is no longer served over PMI-1: it %s", client->rank, why);
    pmi1_client_close(client);
    if (client->state == CLIENT_INIT) {
        snprintf(reason, sizeof(reason), "misused its PMI-1 connection: it %s", why);
        local_broken(client->space->daemon, client->rank, reason);
    }
}

/* Sends what waits. Errors show as an end of file. */
static void client_flush(struct pmi1_client *client)
{
    if (client->fd < 0 || client->out_size == 0) {
        return;
    }
    ssize_t sent = send(client->fd, client->out, client->out_size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
        sent = errno == EAGAIN || errno == EINTR ? 0 : (ssize_t) client->out_size;
    }
    client->out_size -= (size_t) sent;
    memmove(client->out, client->out + sent, client->out_size);
}

void pmi1_client_reply(struct pmi1_client *client, const char *format, ...)
{
    va_list arguments;
    client->waiting = client->in_barrier = false;
    va_start(arguments, format);
    int size = vsnprintf(client->out, sizeof(client->out), format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t) size >= sizeof(client->out)) {
        pmi1_client_drop(client, "asked for more than a line holds");
        return;
    }
    client->out[size] = '\n';
    client->out_size = (size_t) size + 1;
    client_flush(client);
    client_watch(client);
}

/* Whether the next line may be taken: the one before was answered, or it is an abort. */
static bool may_take(const struct pmi1_client *client, size_t size)
{
    static const char abort_line[] = "cmd=abort";
    size_t length = sizeof(abort_line) - 1;
    return (!client->waiting && client->out_size == 0) ||
           (size >= length && memcmp(client->in, abort_line, length) == 0);
}

void pmi1_client_serve(struct pmi1_client *client)
{
    char *newline;
    char line[PMI1_LINE_MAX + 1];
    while (client->in_size > 0 && (newline = memchr(client->in, '\n', client->in_size))) {
        size_t size = (size_t) (newline - client->in);
        if (!may_take(client, size)) {
            return;
        }
        memcpy(line, client->in, size);
        client->in_size -= size + 1;
        memmove(client->in, newline + 1, client->in_size);
        pmi1_client_take_line(client, line, size);
    }
    if (client->in_size == sizeof(client->in)) {
        pmi1_client_drop(client, "sent a line that is too long");
    }
    client_watch(client);
}

ssize_t pmi1_client_read(struct pmi1_client *client)
{
    size_t room = sizeof(client->in) - client->in_size;
    if (client->fd < 0 || room == 0) {
        return 0;
    }
    ssize_t got = recv(client->fd, client->in + client->in_size, room, MSG_DONTWAIT);
    if (got > 0) {
        client->in_size += (size_t) got;
        pmi1_client_serve(client);
        return got;
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static void on_ready(struct loop_io *io, short events)
{
    struct pmi1_client *client = container_of(io, struct pmi1_client, io);
    if (events & EV_WRITE) {
        client_flush(client);
        pmi1_client_serve(client);
        client_watch(client);
    }
    if ((events & EV_READ) && pmi1_client_read(client) < 0) {
        pmi1_client_close(client);
        client->lost = client->state == CLIENT_INIT;
        if (client->lost > 0 && !client->space->lost_timer.started) {
            loop_timer_start(&client->space->lost_timer, LOST_TURN_US);
        }
    }
}

void pmi1_client_start(struct pmi1_client *client)
{
    loop_io_init(&client->io, client->space->daemon->loop, client->fd, on_ready);
    client_watch(client);
}
