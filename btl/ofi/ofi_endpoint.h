/* Peers. An endpoint is small, for a job has many that never talk; what a talking one needs hangs
 * on it from the first message on. */
#ifndef BTL_OFI_ENDPOINT_H
#define BTL_OFI_ENDPOINT_H

#include <btl/ofi/ofi.h>

struct mca_btl_base_endpoint_t {
    struct list by_name; /* in its bucket */
    orte_process_name_t name;
    opal_proc_t *proc;     /* add_procs' (borrowed); NULL: not added */
    struct ofi_peer *peer; /* owned; NULL: nothing was ever said */
};

/* IDLE -> CARD (its address is being asked for) -> GREETING (hellos go out) -> UP; a peer's own
 * hello leads to GREETING from IDLE. UP -> IDLE when it says BYE. BROKEN lasts until del_procs. */
enum ofi_state { OFI_IDLE, OFI_CARD, OFI_GREETING, OFI_UP, OFI_BROKEN, OFI_LEAVING };

struct ofi_card_request;

struct ofi_peer {
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
    struct ofi_card_request *request;
    uint64_t floor;  /* the epoch of their last session: older ones are replayed */
    unsigned errors; /* of the provider's, since the greeting began */
    const char *why; /* in the module's failed */
    bool bye_said, bye_answered;
    bool starved;   /* the provider's own queue was full, and no completion has come since */
    bool abandoned; /* some transmission was not waited for */

    struct rdma_am_peer am;
};

ofi_endpoint *ofi_endpoint_find(struct ofi_module *ofi, const orte_process_name_t *name);
/* The endpoint of a peer that add_procs names; NULL: there is no way to it, or no memory. */
ofi_endpoint *ofi_endpoint_add(struct ofi_module *ofi, opal_proc_t *proc);
/* As the layers above know it: NULL where they have not added it. */
static inline ofi_endpoint *ofi_endpoint_face(ofi_endpoint *endpoint)
{
    return endpoint->proc ? endpoint : NULL;
}
/* The peer of an endpoint that is UP, else NULL and the status of an operation: OUT_OF_RESOURCE,
 * and it is on its way; UNREACH. */
struct ofi_peer *ofi_endpoint_want(struct ofi_module *ofi, ofi_endpoint *endpoint, int *status);

/* The peer whose frame this header begins, or NULL: it proves nothing. */
struct ofi_peer *ofi_peer_of(struct ofi_module *ofi, const struct ofi_header *header);
void ofi_hello_received(struct ofi_module *ofi, const uint8_t *data, size_t size);
/* Everything that the peer sent before has been taken. */
void ofi_bye_received(struct ofi_module *ofi, struct ofi_peer *peer);
/* Hellos that are due. */
int ofi_greet(struct ofi_module *ofi);

/* To be broken by progress: its wire failed. */
void ofi_peer_fail(struct ofi_module *ofi, struct ofi_peer *peer, int error);
/* Its process has ended, as the host knows: the same. */
void ofi_peer_ended(struct ofi_module *ofi, ofi_endpoint *endpoint);
/* A hello or bye did not get through. */
void ofi_control_failed(struct ofi_module *ofi, struct ofi_peer *peer, int error);
int ofi_break_failed(struct ofi_module *ofi);
/* Everything in flight calls back with status, then the error is reported. */
void ofi_peer_break(struct ofi_module *ofi, struct ofi_peer *peer, int status, const char *why);
/* For a restart: ends all operations with an error; every endpoint is idle and knows no address,
 * broken ones included; those that nobody added are gone. */
void ofi_endpoints_restart(struct ofi_module *ofi);
/* Lets what is in flight end, says BYE, ends the endpoints. Bounded by btl_ofi_flush_timeout_ms. */
void ofi_endpoints_close(struct ofi_module *ofi, ofi_endpoint **endpoints, size_t count);

#endif
