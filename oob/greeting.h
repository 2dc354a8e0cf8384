/* A socket on which the handshake runs, of either end. It can affect nothing but itself: its owner
 * hears of it when a decision is due or it has failed. Loop's thread. */
#ifndef OOB_GREETING_H
#define OOB_GREETING_H

#include <base/loop/loop.h>
#include <base/net/sock.h>
#include <oob/handshake.h>

struct greeting {
    int fd; /* owned; -1: none */
    struct loop_io io;
    struct loop_timer deadline;
    struct handshake handshake;
    struct handshake_self self;
    bool is_unix;
    pid_t pid;         /* unix sockets: the other end */
    char address[128]; /* printable */
    /* connector */
    bool connects;
    orte_process_name_t wanted;
    enum oob_key key;
    uint64_t begin_us, until_us;
    uint64_t longest_us; /* the time that it has may grow to, with the round trip; 0: it does not */
    /* The handshake's state is PROVED, DONE or FAILED; the greeting may be ended. */
    void (*step)(struct greeting *greeting);
};

/* self is copied; what it points to is borrowed. self->attested is found out here. */
void greeting_init(struct greeting *greeting, struct loop *loop, const struct handshake_self *self,
                   void (*step)(struct greeting *greeting));
/* Take the descriptor, also when they fail: step is then not called, and the handshake has the
 * reason. Accept: timeout_us grows with the round trip. Connect: the socket is not connected yet.
 */
int greeting_accept(struct greeting *greeting, int fd, const struct sock_addr *addr,
                    uint64_t timeout_us) KEEL_MUST_CHECK;
int greeting_connect(struct greeting *greeting, int fd, const struct sock_addr *addr,
                     const orte_process_name_t *wanted, enum oob_key key,
                     uint64_t timeout_us) KEEL_MUST_CHECK;
/* What a failed connect or accept means: an errno to a status. */
int greeting_status_of(int error);
/* In PROVED: sends the decision. False: it was a refusal, or did not reach the socket. */
bool greeting_verdict(struct greeting *greeting, enum wire_reason reason, int status);
/* Asks an accepted connector to come again in a while; the descriptor is to be closed then. */
void greeting_turn_away(int fd);
/* True when the other end has closed. */
bool greeting_gone(const struct greeting *greeting);
/* Hands the socket over. */
int greeting_take_fd(struct greeting *greeting);
void greeting_end(struct greeting *greeting);

#endif
