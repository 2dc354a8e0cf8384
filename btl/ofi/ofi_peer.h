/* Peers: what an endpoint needs from the first message on. */
#ifndef BTL_OFI_PEER_H
#define BTL_OFI_PEER_H

#include <btl/ofi/ofi_endpoint.h>

/* IDLE -> CARD (its address is being asked for) -> GREETING (hellos go out) -> UP; a peer's own
 * hello leads to GREETING from IDLE. UP -> IDLE when it says BYE. BROKEN lasts until del_procs. */
enum ofi_state { OFI_IDLE, OFI_CARD, OFI_GREETING, OFI_UP, OFI_BROKEN, OFI_LEAVING };

struct ofi_peer {
    struct ofi_module *ofi;
    ofi_endpoint *endpoint;
    enum ofi_state state;
    uint32_t index; /* among the module's peers */
    fi_addr_t address;
    bool known; /* address leads to it, to what at says */
    struct ofi_address at;
    size_t max_message;

    /* The session: ofi_wire.h. */
    uint64_t epoch, their_epoch, told_epoch;
    bool heard; /* it has echoed my epoch */
    uint32_t their_index;
    uint64_t token, their_token; /* of my frames; of its frames */
    uint16_t sequence, expected;
    struct list held; /* buffers that came before their turn, in order */

    struct list flight;     /* struct ofi_tx */
    size_t cost;            /* of all in flight */
    size_t operations;      /* puts, gets and atomics of the provider's own among them */
    uint64_t full_since_us; /* the provider has taken none of them since; 0: it took the last */
    struct list waiting;    /* in the module's greeting, with wake_us; or in its failed */
    uint64_t wake_us, pause_us, give_up_us;
    struct btl_card_question *question; /* NULL: none is open */
    uint64_t floor;  /* the epoch of their last session: older ones are replayed */
    unsigned errors; /* of the provider's, since the greeting began */
    const char *why; /* in the module's failed */
    bool bye_said, bye_answered;
    bool starved;   /* the provider's own queue was full, and no completion has come since */
    bool abandoned; /* some transmission was not waited for */

    struct rdma_am_peer am;
};

/* Of an endpoint that has none, idle. NULL: no memory. */
struct ofi_peer *ofi_peer_create(struct ofi_module *ofi, ofi_endpoint *endpoint);
/* Nothing of it is in flight. */
void ofi_peer_free(struct ofi_module *ofi, struct ofi_peer *peer);
void ofi_peer_set(struct ofi_peer *peer, enum ofi_state state);
/* No session: nothing that comes proves anything. */
void ofi_session_clear(struct ofi_module *ofi, struct ofi_peer *peer);
/* Gives the provider its address. BAD_PARAM: it is none; RESOURCE_BUSY: something is still on its
 * way to another one. */
int ofi_peer_locate(struct ofi_module *ofi, struct ofi_peer *peer,
                    const struct ofi_address *address) KEEL_MUST_CHECK;
/* The peer whose frame this header begins, or NULL: it proves nothing. */
struct ofi_peer *ofi_peer_of(struct ofi_module *ofi, const struct ofi_header *header);

bool ofi_peer_in_flight(const struct ofi_peer *peer);
/* Everything in flight calls back, but for what the provider may still write to the memory of. That
 * calls back when the provider is done with it, or its own time is over. */
void ofi_flight_fail(struct ofi_module *ofi, struct ofi_peer *peer, int status);
/* Everything in flight calls back with status, then the error is reported. */
void ofi_peer_break(struct ofi_module *ofi, struct ofi_peer *peer, int status, const char *why);
/* The same later, by progress. */
void ofi_peer_give_up(struct ofi_module *ofi, struct ofi_peer *peer, const char *why);
/* The same: its wire failed. */
void ofi_peer_fail(struct ofi_module *ofi, struct ofi_peer *peer, int error);
int ofi_break_failed(struct ofi_module *ofi);

#endif
