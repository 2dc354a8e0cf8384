/* udgram: a rail over Unix datagrams, for processes of one host. It is the template for new
 * transports, which docs/add-a-transport.md follows; only tests are linked with it.
 *
 * A process has one socket, a file in the session folder. Between live sockets the kernel loses,
 * doubles and reorders nothing. It refuses a datagram for a socket whose queue is full (EAGAIN), or
 * that is gone (ECONNREFUSED, ENOENT). Hence nothing is queued here: a send has either reached the
 * peer's socket when the call returns, or is short of room. One thread at a time. */
#ifndef TESTS_UDGRAM_H
#define TESTS_UDGRAM_H

#include <base/net/sock.h>
#include <btl/emulation/rdma_am.h>
#include <btl/modules/module.h>
#include <btl/peers/peer.h>
#include <btl/sessions/session.h>
#include <sys/un.h>
#include <tests/lib/udgram/wire.h>

enum { UDGRAM_SEND_MAX = 32768 };

typedef struct mca_btl_base_endpoint_t udgram_endpoint;
struct mca_btl_base_endpoint_t {
    struct btl_peer life; /* first; HANDSHAKE: hellos go out */
    struct sock_addr at;  /* the peer's socket, when it is located */
    uint32_t their_index; /* for my frames */
    struct btl_session session;
    uint64_t pause_us; /* between hellos */
    struct rdma_am_peer am;
};

struct udgram {
    mca_btl_base_module_t super; /* these three first: struct btl_module */
    struct desc_set descs;
    struct region_table *regions;
    struct btl_peers peers;
    struct rdma_am *am;
    struct udgram_card card;
    int fd; /* -1: a restart could not open it */
    uint64_t last_epoch;
    unsigned idle_polls;
    unsigned long long dropped; /* datagrams that prove nothing */
    uint8_t buffer[UDGRAM_HEADER_BYTES + UDGRAM_SEND_MAX];
};
BTL_MODULE_BEGINS(struct udgram);

static inline struct udgram *udgram_of(mca_btl_base_module_t *btl)
{
    return (struct udgram *) (void *) btl;
}
static inline udgram_endpoint *udgram_endpoint_of(struct btl_peer *peer)
{
    return (udgram_endpoint *) (void *) peer;
}

/* udgram.c. One datagram. OUT_OF_RESOURCE: there is no room in the peer's socket; UNREACH: it is
 * gone, and progress is about to break the peer. */
int udgram_transmit(struct udgram *udgram, udgram_endpoint *peer, const struct iovec *parts,
                    size_t count) KEEL_MUST_CHECK;

/* peer.c: the life of a peer. */
extern const struct btl_peer_hooks udgram_peer_hooks;
/* SUCCESS: it is UP; OUT_OF_RESOURCE: it is on its way; UNREACH. */
int udgram_peer_want(struct udgram *udgram, udgram_endpoint *peer) KEEL_MUST_CHECK;
/* Whose frame this is; NULL: the sender has not proved who it is. */
udgram_endpoint *udgram_peer_find(struct udgram *udgram, const struct udgram_header *header,
                                  const char *path);
void udgram_hello_received(struct udgram *udgram, const uint8_t *data, size_t size,
                           const struct sock_addr *from);
void udgram_bye_received(udgram_endpoint *peer);

/* The path of a socket. */
static inline const char *udgram_path(const struct sock_addr *address)
{
    return ((const struct sockaddr_un *) &address->storage)->sun_path;
}

extern struct btl_component btl_udgram_component;

#endif
