/* What the engine's files share. */
#ifndef BTL_USNIC_INSIDE_H
#define BTL_USNIC_INSIDE_H

#include <btl/usnic/engine/engine.h>

/* ---- engine.c ---- */

/* Around callbacks: a flow that one of them closes is gone from its guard. */
static inline void usnic_guard(struct usnic_engine *engine, struct usnic_guard *guard,
                               struct usnic_flow *flow)
{
    *guard = (struct usnic_guard){flow, engine->guards};
    engine->guards = guard;
}
/* Returns whether the flow is still open. */
static inline bool usnic_unguard(struct usnic_engine *engine, struct usnic_guard *guard)
{
    engine->guards = guard->outer;
    return guard->flow != NULL;
}

/* For a packet of data, or an acknowledgement, for which some are reserved. NULL: there is none. */
struct usnic_segment *usnic_segment_get(struct usnic_engine *engine, uint8_t kind);
/* As soon as the wire has let go of it. */
void usnic_segment_put(struct usnic_engine *engine, struct usnic_segment *segment);

static inline void usnic_list_in(struct list *list, struct list *link)
{
    if (list_empty(link)) {
        list_append(list, link);
    }
}

/* ---- transmit.c ---- */

/* Sends a packet of the window that is to be sent. False: the wire is full, or has not let go of
 * it; it is tried again. */
bool usnic_transmit(struct usnic_engine *engine, struct usnic_flow *flow,
                    struct usnic_segment *segment);
/* False: no segment, or the wire is full; it is still owed. */
bool usnic_transmit_ack(struct usnic_engine *engine, struct usnic_flow *flow);
/* Sends up to so many packets of those that are lost, as far as rate and wire let it. Returns how
 * many; the flow is in the list of those that resend if more could go. */
int usnic_resend(struct usnic_engine *engine, struct usnic_flow *flow, int most);
/* The same for new packets. The flow may be closed by a callback. */
int usnic_pump(struct usnic_engine *engine, struct usnic_flow *flow, int most);

/* ---- timer.c ---- */

/* Something has been sent or acknowledged: when is something to be done? */
void usnic_deadline_set(struct usnic_engine *engine, struct usnic_flow *flow);
void usnic_timer_expired(struct usnic_engine *engine, struct usnic_flow *flow);
/* Acknowledgements that follow losses are repeated so often: after this time, then after twice as
 * long each time. */
enum { USNIC_ACK_REPEATS = 3, USNIC_ACK_REPEAT_US = 1000 };
void usnic_ack_timer_start(struct usnic_engine *engine, struct usnic_flow *flow, uint64_t delay_us);
void usnic_ack_timer_expired(struct usnic_engine *engine, struct usnic_flow *flow);
/* Takes packets for lost that have been overtaken. Returns what they take of a socket's buffer. */
size_t usnic_lose(struct usnic_engine *engine, struct usnic_flow *flow);

/* ---- share.c: the socket's receive buffer, shared among the senders that are active ---- */

/* What the peer may have under way, for a header. */
uint16_t usnic_share_credit(const struct usnic_engine *engine, const struct usnic_flow *flow);
/* What a peer may send that has not been active; also what it is believed to grant at first. */
size_t usnic_share_idle(const struct usnic_engine *engine);
size_t usnic_share_bytes(const struct usnic_engine *engine, const struct usnic_flow *flow);
static inline size_t usnic_charge(const struct usnic_engine *engine, size_t packet)
{
    return packet <= engine->config.small_bytes ? engine->config.small_charge
                                                : engine->config.full_charge;
}
/* A packet that takes so much has come. */
void usnic_share_heard(struct usnic_engine *engine, struct usnic_flow *flow, size_t charge);
/* Forgets who has fallen silent. */
void usnic_share_sweep(struct usnic_engine *engine);

void usnic_flow_fail(struct usnic_engine *engine, struct usnic_flow *flow, const char *why);

#endif
