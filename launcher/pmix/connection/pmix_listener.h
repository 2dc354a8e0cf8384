/* The port that ranks find in PMIX_SERVER_URI. Connections are accepted and vetted here, on the
 * loop, without waiting for anybody; only those that turn out to be ranks' are handed on. */
#ifndef LAUNCHER_PMIX_CONNECTION_PMIX_LISTENER_H
#define LAUNCHER_PMIX_CONNECTION_PMIX_LISTENER_H

#include <base/loop/loop.h>
#include <launcher/pmix/connection/vet.h>

struct listener;

struct listener_ops {
    /* Is it one of ours? NULL, or what is wrong (static text). */
    const char *(*check)(void *arg, const struct vet_hello *hello);
    /* A well-vetted connection, blocking, its first message unread; the callee's. */
    void (*arrived)(void *arg, const struct vet_hello *hello, int connection);
};

/* Opens 127.0.0.1:0. ranks: how many may come at the same time; more than that and some are
 * dropped, the oldest first. On error the reason is written. */
int listener_create(struct listener **listener, struct loop *loop, uint32_t ranks,
                    const struct listener_ops *ops, void *arg, char *reason,
                    size_t reason_size) KEEL_MUST_CHECK;
int listener_fd(const struct listener *listener);
uint16_t listener_port(const struct listener *listener);
void listener_destroy(struct listener *listener);

#endif
