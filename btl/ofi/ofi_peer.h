/* Peers: how each is reached, its session, and what is in flight to it. */
#ifndef BTL_OFI_PEER_H
#define BTL_OFI_PEER_H

#include <btl/ofi/ofi.h>
#include <btl/ofi/ofi_silence.h>

struct mca_btl_base_endpoint_t {
    struct btl_peer life; /* first; HANDSHAKE: hellos go out */
    struct ofi_module *ofi;
    fi_addr_t address;
    bool known; /* address leads to it, to what at says */
    struct fabric_address at;

    struct btl_handshake hello; /* the session; index: among the module's peers */
    uint16_t sequence;
    struct reorder order; /* of its frames; keeps struct ofi_rx */

    struct list flight; /* struct ofi_tx */
    struct list owes;   /* in the module's owing, while lost waits for room */
    uint8_t lost[OFI_HEADER_BYTES];
    size_t cost;            /* of all in flight */
    size_t operations;      /* puts, gets and atomics of the provider's own among them */
    uint64_t full_since_us; /* the provider has taken none of them since; 0: it took the last */
    unsigned errors;        /* of the provider's, since the handshake began */
    struct ofi_silence silence;
    bool starved;   /* the provider's own queue was full, and no completion has come since */
    bool abandoned; /* some transmission was not waited for */

    struct rdma_am_peer am;
};

extern const struct btl_peer_hooks ofi_peer_hooks;

static inline ofi_endpoint *ofi_endpoint_of(struct btl_peer *peer)
{
    return (ofi_endpoint *) (void *) peer;
}

/* Gives the provider its address. BAD_PARAM: it is none; RESOURCE_BUSY: something is still on its
 * way to another one. */
int ofi_peer_locate(struct ofi_module *ofi, ofi_endpoint *peer,
                    const struct fabric_address *address) KEEL_MUST_CHECK;
/* The peer whose frame this header begins, or NULL: it proves nothing. */
ofi_endpoint *ofi_peer_of(struct ofi_module *ofi, const struct ofi_header *header);

/* Hellos and byes are in flight; or something else is. */
bool ofi_peer_flies(const ofi_endpoint *peer, bool control);
bool ofi_peer_in_flight(const ofi_endpoint *peer);
/* Later, by progress: its wire failed. */
void ofi_peer_fail(struct ofi_module *ofi, ofi_endpoint *peer, int error);

#endif
