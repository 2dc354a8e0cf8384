#include <config.h>

#include <base/data/least.h>
#include <base/settings/fault.h>
#include <btl/usnic/usnic_faults.h>
#include <btl/usnic/usnic_receive.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One of each direction is held back until the next has passed it. */
struct usnic_faults {
    uint8_t *memory; /* packets to send from, each a stride apart */
    size_t next;     /* of them */
    struct {
        usnic_endpoint *peer; /* NULL: none is held */
        enum usnic_socket socket;
        uint8_t *bytes;
        size_t size;
    } out;
    struct {
        struct usnic_rx *rx; /* NULL: none is held */
        uint8_t *bytes;
        size_t size;
    } in;
    uint64_t corrupted;
    struct usnic_rx *spares; /* for what comes twice; free where super.bytes is NULL */
    uint8_t *spare_memory;
};

int usnic_faults_open(struct usnic_module *usnic)
{
    if (!fault_names("btl.usnic.")) {
        return ORTE_SUCCESS;
    }
    size_t stride = usnic_port_stride(&usnic->port);
    struct usnic_faults *faults = calloc(1, sizeof(*faults));

    if (!faults) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    usnic->faults = faults;
    faults->memory = usnic_port_carve(&usnic->port, USNIC_FAULT_PACKETS);
    faults->spares = calloc(USNIC_FAULT_PACKETS, sizeof(*faults->spares));
    faults->spare_memory = calloc(USNIC_FAULT_PACKETS, stride);
    return faults->spares && faults->spare_memory ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

void usnic_faults_close(struct usnic_module *usnic)
{
    if (usnic->faults) {
        free(usnic->faults->spares);
        free(usnic->faults->spare_memory);
        free(usnic->faults);
    }
    usnic->faults = NULL;
}

/* ---- out ---- */

/* A copy of a packet, to be changed or sent later. What an earlier one of the same memory was is
 * gone from it: with a provider that sends late, a packet is corrupted once more. */
static uint8_t *copy_of(struct usnic_module *usnic, const uint8_t *bytes, size_t size)
{
    struct usnic_faults *faults = usnic->faults;
    uint8_t *copy =
        faults->memory + faults->next * usnic_port_stride(&usnic->port) + usnic->port.prefix;

    faults->next = (faults->next + 1) % USNIC_FAULT_PACKETS;
    memcpy(copy, bytes, size);
    return copy;
}

/* Cuts the packet, or flips a bit of it; returns what it is cut to. */
static size_t spoil(struct usnic_faults *faults, const struct fault *fault, uint8_t *bytes,
                    size_t size)
{
    if (fault->action == FAULT_SHORT) {
        return least((size_t) fault->value, size);
    }
    size_t bit = faults->corrupted++ * 7919 % (size * 8);
    bytes[bit / 8] ^= (uint8_t) (1u << (bit % 8));
    return size;
}

static void out_go_on(struct usnic_module *usnic)
{
    struct usnic_faults *faults = usnic->faults;
    usnic_endpoint *peer = faults->out.peer;

    faults->out.peer = NULL;
    if (peer && peer->way.known) {
        (void) !usnic_port_transmit(&usnic->port, &peer->way, faults->out.socket, faults->out.bytes,
                                    faults->out.size, faults);
    }
}

int usnic_faults_transmit(usnic_endpoint *peer, enum usnic_socket socket, uint8_t *bytes,
                          size_t size, void *owner)
{
    struct usnic_module *usnic = peer->usnic;
    struct usnic_faults *faults = usnic->faults;
    struct usnic_port *port = &usnic->port;
    struct fault fault = fault_at("btl.usnic.send");

    switch (fault.action) {
    case FAULT_ERROR:
        port->counts.refused += fault.value != EAGAIN;
        return fault.value == EAGAIN ? OPAL_ERR_OUT_OF_RESOURCE : 1;
    case FAULT_DROP:
        return 1;
    case FAULT_REORDER:
        if (!faults->out.peer) {
            faults->out.peer = peer;
            faults->out.socket = socket;
            faults->out.bytes = copy_of(usnic, bytes, size);
            faults->out.size = size;
            return 1;
        }
        break;
    case FAULT_CORRUPT:
    case FAULT_SHORT:
        bytes = copy_of(usnic, bytes, size);
        size = spoil(faults, &fault, bytes, size);
        (void) !usnic_port_transmit(port, &peer->way, socket, bytes, size, faults);
        return 1;
    case FAULT_DUPLICATE:
        (void) !usnic_port_transmit(port, &peer->way, socket, copy_of(usnic, bytes, size), size,
                                    faults);
        break;
    default:
        break;
    }
    int taken = usnic_port_transmit(port, &peer->way, socket, bytes, size, owner);
    if (taken >= 0) {
        out_go_on(usnic);
    }
    return taken;
}

/* ---- in ---- */

static struct usnic_rx *spare_of(struct usnic_module *usnic, const uint8_t *bytes, size_t size)
{
    struct usnic_faults *faults = usnic->faults;

    for (size_t i = 0; i < USNIC_FAULT_PACKETS; i++) {
        struct usnic_rx *spare = &faults->spares[i];
        if (!spare->super.bytes) {
            spare->super.bytes = faults->spare_memory + i * usnic_port_stride(&usnic->port);
            memcpy(spare->super.bytes, bytes, size);
            return spare;
        }
    }
    return NULL;
}

bool usnic_faults_release(struct usnic_module *usnic, struct usnic_rx *rx)
{
    struct usnic_faults *faults = usnic->faults;
    bool is_spare = rx >= faults->spares && rx < faults->spares + USNIC_FAULT_PACKETS;

    if (is_spare) {
        rx->super.bytes = NULL;
    }
    return is_spare;
}

static void take_spare(struct usnic_module *usnic, struct usnic_rx *spare, size_t size)
{
    if (!usnic_receive(usnic, spare, spare->super.bytes, size)) {
        spare->super.bytes = NULL;
    }
}

static void in_go_on(struct usnic_module *usnic)
{
    struct usnic_faults *faults = usnic->faults;
    struct usnic_rx *held = faults->in.rx;

    faults->in.rx = NULL;
    if (held) {
        take_spare(usnic, held, faults->in.size);
    }
}

bool usnic_faults_receive(struct usnic_module *usnic, struct usnic_rx *rx, uint8_t *bytes,
                          size_t size)
{
    struct usnic_faults *faults = usnic->faults;
    struct fault fault = fault_at("btl.usnic.recv");
    struct usnic_rx *spare;

    switch (fault.action) {
    case FAULT_ERROR:
        usnic->port.counts.receive_errors++;
        return false;
    case FAULT_DROP:
        return false;
    case FAULT_REORDER:
        spare = faults->in.rx ? NULL : spare_of(usnic, bytes, size);
        if (spare) {
            faults->in.rx = spare;
            faults->in.size = size;
            return false;
        }
        break;
    case FAULT_CORRUPT:
    case FAULT_SHORT:
        size = spoil(faults, &fault, bytes, size);
        break;
    case FAULT_DUPLICATE:
        spare = spare_of(usnic, bytes, size);
        if (spare) {
            take_spare(usnic, spare, size);
        }
        break;
    default:
        break;
    }
    bool kept = usnic_receive(usnic, rx, bytes, size);
    in_go_on(usnic);
    return kept;
}

void usnic_faults_flush(struct usnic_module *usnic)
{
    out_go_on(usnic);
    in_go_on(usnic);
}
