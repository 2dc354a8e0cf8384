/* For tests of the tcp module against a peer that the test plays itself, over raw sockets. */
#ifndef TESTS_TCP_PEER_H
#define TESTS_TCP_PEER_H

#include <tests/unit/btl/tcp/host.h>

enum { TCP_PEER_TAG = 77 };

/* The module's side, and what it has said. */
extern struct tcp_peer {
    struct tcp_host host;
    unsigned received;          /* messages */
    uint32_t last_number;       /* that the last one began with */
    unsigned completed, failed; /* of what tcp_peer_send and tcp_peer_access began */
} tcp_peer;

/* This process is rank 0 or 1 of two; the other is raw. */
void tcp_peer_start(int rank);
void tcp_peer_param(const char *name, const char *value);
/* Returns what btl_send did. */
int tcp_peer_send(struct mca_btl_base_endpoint_t *ep, size_t size);
/* Returns what btl_put or btl_get did; the outcome goes to *status, which may be NULL. */
int tcp_peer_access(struct mca_btl_base_endpoint_t *ep, bool get, void *local, size_t size,
                    int *status);

/* The whole set-up as the initiator; the module accepts. */
int raw_open_accepted(int rank, uint64_t incarnation);
/* The whole set-up when the module connects. */
int raw_serve(int listener, uint64_t incarnation);
void raw_send_am(int fd, uint32_t number);
void raw_expect_am(int fd, uint32_t number);

#endif
