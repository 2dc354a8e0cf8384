#include <config.h>

#include <base/settings/log.h>
#include <btl/usnic/usnic_control.h>
#include <btl/usnic/usnic_path.h>
#include <btl/usnic/usnic_send.h>
#include <string.h>

/* ---- saying ---- */

/* Memory of the port's for a frame; NULL: all are on their way. */
static struct usnic_control *control_get(struct usnic_module *usnic)
{
    struct list *link = list_pop(&usnic->free_controls);

    return link ? container_of(link, struct usnic_control, link) : NULL;
}

static int control_send(usnic_endpoint *peer, struct usnic_control *control,
                        enum usnic_socket socket, size_t size)
{
    int taken = usnic_bytes_transmit(peer, socket, control->bytes, size, control);

    if (taken != 0) {
        list_append(&peer->usnic->free_controls, &control->link);
    }
    return taken < 0 ? taken : OPAL_SUCCESS;
}

int usnic_control_hello(usnic_endpoint *peer, const uint8_t *bytes, size_t size)
{
    struct usnic_control *control = control_get(peer->usnic);

    if (!control) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    memcpy(control->bytes, bytes, size);
    return control_send(peer, control, USNIC_SOCKET_PRIORITY, size);
}

/* Probes, small ones too, are lost as often as packets of data. */
static void say(usnic_endpoint *peer, const struct usnic_control_frame *frame, size_t size)
{
    struct usnic_control *control = control_get(peer->usnic);
    enum usnic_socket socket =
        frame->kind == USNIC_PROBE ? USNIC_SOCKET_DATA : USNIC_SOCKET_PRIORITY;

    if (control) {
        memset(control->bytes, 0, size);
        usnic_control_encode(control->bytes, frame);
        (void) !control_send(peer, control, socket, size);
    }
}

/* About a packet of so many bytes, in a frame of so many. */
static void say_in_session(usnic_endpoint *peer, enum usnic_control_kind kind, size_t about,
                           size_t size)
{
    const struct usnic_control_frame frame = {.kind = (uint8_t) kind,
                                              .size = (uint16_t) about,
                                              .index = peer->hello.their_index,
                                              .token = peer->hello.token};

    say(peer, &frame, size);
}

void usnic_say_probe(usnic_endpoint *peer, size_t size)
{
    peer->usnic->counts.probes++;
    say_in_session(peer, USNIC_PROBE, size, size);
}

void usnic_say_here(usnic_endpoint *peer)
{
    say_in_session(peer, USNIC_HERE, 0, USNIC_CONTROL_HEADER);
}

static void over_send(usnic_endpoint *peer, uint32_t index, uint64_t token)
{
    const struct usnic_control_frame frame = {.kind = USNIC_OVER, .index = index, .token = token};

    if (token != 0) {
        say(peer, &frame, USNIC_CONTROL_HEADER);
    }
}

void usnic_say_over(usnic_endpoint *peer)
{
    if (peer->hello.session.theirs != 0) {
        over_send(peer, peer->hello.their_index, peer->hello.token);
    } else {
        over_send(peer, peer->over.their_index, peer->over.token);
    }
}

bool usnic_is_over(const usnic_endpoint *peer, uint64_t token)
{
    return peer->over.token != 0 && peer->over.their_token == token;
}

void usnic_say_over_again(usnic_endpoint *peer)
{
    peer->usnic->counts.over++;
    over_send(peer, peer->over.their_index, peer->over.token);
}

/* ---- hearing ---- */

static void frame_take(usnic_endpoint *peer, const struct usnic_control_frame *frame)
{
    usnic_peer_proved(peer);
    switch (frame->kind) {
    case USNIC_OVER:
        usnic_over_received(peer);
        break;
    case USNIC_PROBE:
        say_in_session(peer, USNIC_ECHO, frame->size, USNIC_CONTROL_HEADER);
        break;
    case USNIC_ECHO:
        peer->usnic->counts.answers++;
        usnic_path_answered(peer, frame->size);
        break;
    default:
        break;
    }
}

void usnic_drop(struct usnic_module *usnic, uint64_t *count, const char *why)
{
    unsigned held = 0;

    ++*count;
    if (log_rate_ok("usnic packet in", &held)) {
        log_info(LOG_BTL, "%s: dropped a packet: %s (%u more)", usnic->name, why, held);
    }
}

void usnic_control_received(struct usnic_module *usnic, const uint8_t *data, size_t size)
{
    struct usnic_control_frame frame;

    if (data[0] == USNIC_HELLO) {
        usnic->counts.strangers += !btl_hello_received(&usnic->greeter, data, size);
        return;
    }
    usnic_endpoint *peer = usnic_control_decode(&frame, data, size) == OPAL_SUCCESS
                               ? roster_at(usnic->peers.roster, frame.index)
                               : NULL;
    if (peer && btl_handshake_proves(&peer->hello, frame.token)) {
        frame_take(peer, &frame);
    } else if (!peer || !usnic_is_over(peer, frame.token)) {
        usnic_drop(usnic, &usnic->counts.strangers, "a frame that proves nothing");
    } else if (frame.kind != USNIC_OVER) {
        usnic_say_over_again(peer);
    }
}
