/* A socket that is being set up: challenge, hello, welcome. Nothing of a stranger gets further. */
#ifndef BTL_TCP_CONN_H
#define BTL_TCP_CONN_H

#include <btl/tcp/tcp_endpoint.h>

enum conn_phase {
    CONN_CONNECTING, /* initiator */
    CONN_CHALLENGE,  /* initiator: waits for it */
    CONN_WELCOME,    /* initiator: has sent its hello */
    CONN_HELLO,      /* acceptor: waits for it */
};

struct tcp_conn {
    struct tcp_source source; /* first */
    struct tcp_ended ended;
    struct list link; /* in the module's conns */
    struct tcp_module *tcp;
    tcp_endpoint *ep; /* initiator's; NULL: accepted */
    unsigned lane;    /* initiator: 0, or the lane that it is to be */
    size_t address;   /* initiator: of ep's card */
    enum conn_phase phase;
    uint64_t asked_us;        /* acceptor: when it sent its challenge */
    struct wheel_timer timer; /* of the module's timeouts */
    uint8_t challenge[TCP_CHALLENGE_BYTES];
    uint8_t hello[TCP_HELLO_BYTES];
    uint8_t welcome[TCP_WELCOME_BYTES];
    size_t got; /* bytes of the message that it waits for */
};

/* Starts a connect to an address of the endpoint's card, which has time_us to accept it. NULL: it
 * cannot be reached, or there is no memory. */
struct tcp_conn *tcp_conn_start(tcp_endpoint *ep, unsigned lane, size_t address,
                                uint64_t time_us) KEEL_MUST_CHECK;
/* Takes what waits at a listener; returns how many. */
int tcp_conn_accept(struct tcp_module *tcp, int listener);
/* The socket is ready: goes on with the set-up; the conn may be gone after it. */
void tcp_conn_ready(struct tcp_conn *conn);
/* Ends the conns whose time is over; those that are ready must have been looked after. */
void tcp_conn_expire(struct tcp_module *tcp);
void tcp_conn_close(struct tcp_conn *conn);
/* All of them. */
void tcp_conns_close(struct tcp_module *tcp);

#endif
