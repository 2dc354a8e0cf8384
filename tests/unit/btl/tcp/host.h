/* For tests of btl/tcp: a host whose processes the test forks, or plays itself over raw sockets. */
#ifndef TESTS_TCP_HOST_H
#define TESTS_TCP_HOST_H

#include <btl/interface/base.h>
#include <btl/tcp/tcp_endpoint.h>

enum { TCP_HOST_RANKS = 4, TCP_HOST_JOB = 0x00050001 };

struct tcp_host {
    int rank;
    opal_proc_t procs[TCP_HOST_RANKS];
    struct tcp_host_shared *shared; /* cards; seen by forked processes too */
    mca_btl_base_module_t *btl;
    unsigned reports; /* of errors, by the module */
};

extern const struct keel_host_ops tcp_host_ops;

/* Shared cards for processes to be forked; then each opens its module as a rank. */
void tcp_host_init(struct tcp_host *host);
void tcp_host_open(struct tcp_host *host, int rank);
void tcp_host_close(struct tcp_host *host);
struct mca_btl_base_endpoint_t *tcp_host_add(struct tcp_host *host, int rank); /* may be NULL */
void tcp_host_del(struct tcp_host *host, int rank, struct mca_btl_base_endpoint_t *ep);
/* Waits until a process has published its card. */
void tcp_host_await(struct tcp_host *host, int rank);
void tcp_host_card(struct tcp_host *host, int rank, struct tcp_card *card); /* reads it */
void tcp_host_set_card(struct tcp_host *host, int rank, const struct tcp_card *card);
/* Polls until *value is at least wanted; fails the test after 5 s. */
void tcp_host_until(const unsigned *value, unsigned wanted);
/* Polls this long. */
void tcp_host_polls(unsigned ms);

/* Sends size bytes of a pattern that starts with number; returns what btl_send did. */
int tcp_host_send(struct tcp_host *host, struct mca_btl_base_endpoint_t *ep, uint8_t tag,
                  size_t size, uint32_t number);

/* ---- a peer played over a raw socket ---- */

/* Its own listener: a card with one address for rank. */
int raw_listen(struct tcp_host *host, int rank, uint64_t incarnation);
/* Connects to the module; the challenge is in. */
int raw_connect(struct tcp_host *host, uint8_t challenge[TCP_CHALLENGE_BYTES]);
void raw_hello(uint8_t out[TCP_HELLO_BYTES], struct tcp_host *host, int rank, uint64_t incarnation,
               const uint8_t challenge[TCP_CHALLENGE_BYTES]);
/* The whole set-up as the initiator; *verdict is the module's. */
int raw_open(struct tcp_host *host, int rank, uint64_t incarnation, enum tcp_verdict *verdict);
/* The hello of one who has lost its link, by a connection that was challenged; the verdict. */
enum tcp_verdict raw_say_lost(int fd, struct tcp_host *host, int rank, uint64_t incarnation,
                              const uint8_t challenge[TCP_CHALLENGE_BYTES]);
int raw_open_lane(struct tcp_host *host, int rank, uint64_t incarnation, unsigned lane,
                  enum tcp_verdict *verdict);
/* Accepts the module's connect on a raw listener and challenges it; its hello is in. */
int raw_accept(int listener, uint8_t challenge[TCP_CHALLENGE_BYTES],
               uint8_t hello[TCP_HELLO_BYTES]);
void raw_welcome(int fd, enum tcp_verdict verdict, uint64_t incarnation,
                 const uint8_t challenge[TCP_CHALLENGE_BYTES],
                 const uint8_t hello[TCP_HELLO_BYTES]);
/* Both poll the module meanwhile, and fail the test after 5 s. */
void raw_write(int fd, const void *data, size_t size);
void raw_read(int fd, void *data, size_t size);
bool raw_ended(int fd);        /* the module closes it before long, having sent nothing more */
uint16_t raw_sequence(int fd); /* of the next frame, which is the caller's to send */
void raw_frame(int fd, const struct tcp_frame *frame, const void *data);
void raw_read_frame(int fd, struct tcp_frame *frame);

extern const uint8_t tcp_host_key[KEY_BYTES];

#endif
