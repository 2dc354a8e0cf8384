/* The engine of usnic: what a module's sessions send and receive, in order and exactly once, over a
 * wire that loses, repeats, reorders, corrupts and cuts packets. Pure: the time in microseconds,
 * which never goes back, is an argument of each call; the wire and the layers above are the
 * functions of struct usnic_user. One thread at a time.
 *
 *   message   what is to be sent, of any size up to max_message, in segments of memory
 *   packet    what goes over the wire: a header, and records: whole small messages, and chunks
 *   segment   a packet of this side's with its memory, kept until it is acknowledged and the wire
 *             has let go of it
 *   flow      the session with one peer, in both directions
 */
#ifndef BTL_USNIC_ENGINE_H
#define BTL_USNIC_ENGINE_H

#include <btl/usnic/engine/flow.h>

enum usnic_channel { USNIC_PRIORITY, USNIC_DATA, USNIC_CHANNELS };

struct usnic_user {
    /* The wire. The segment's packet stays as it is until usnic_engine_sent is called for it, which
     * may be before this returns. OUT_OF_RESOURCE: it took nothing, and is asked again by progress.
     * It calls nothing else of the engine. */
    int (*transmit)(void *arg, struct usnic_flow *flow, enum usnic_channel channel,
                    struct usnic_segment *segment);
    /* All bytes of a message are in packets: it and its memory are the caller's again. */
    void (*packed)(void *arg, struct usnic_flow *flow, struct usnic_message *message);
    /* A message, in its turn. data is 8-aligned where receive buffers are, and the engine's. */
    void (*deliver)(void *arg, struct usnic_flow *flow, uint8_t channel, uint8_t tag, void *data,
                    size_t size);
    /* The first chunk of a message has come, with the size of all. true: each chunk, this one
     * included, is given to land; else all is delivered together. */
    bool (*lands)(void *arg, struct usnic_flow *flow, uint8_t channel, uint8_t tag,
                  const void *data, size_t size, size_t total);
    void (*land)(void *arg, struct usnic_flow *flow, const void *data, size_t size, bool last);
    /* A receive buffer that usnic_flow_received kept is free again. */
    void (*release)(void *arg, struct usnic_packet *packet);
    /* Nothing was acknowledged for peer_timeout_us, or the peer broke the protocol: the flow takes
     * part in nothing any more, keeps nothing of the engine's, and is to be closed. Called once. */
    void (*failed)(void *arg, struct usnic_flow *flow, const char *why);
};
/* packed, deliver, land and failed may call any function of flows, usnic_flow_close included, but
 * usnic_flow_received. */

struct usnic_engine_config {
    uint8_t *memory;       /* borrowed: of the segments, 8-aligned */
    size_t segments;       /* how many */
    size_t segment_bytes;  /* from one to the next; a multiple of 8 */
    size_t prefix;         /* bytes before each packet that are the port's */
    size_t priority_bytes; /* messages up to so many may go by the priority channel; 0: none do */
    size_t room;         /* of the socket's receive buffer; 0: the receive buffers alone limit it */
    size_t small_bytes;  /* packets up to so many take */
    size_t small_charge; /* that much of it, */
    size_t full_charge;  /* the others this */
    size_t receive_buffers; /* of a socket of the port; early packets take up to half of them */
    size_t max_message;
    size_t pack_after; /* so many packets to a peer since the last progress let small messages share
                        * one until the next; 0: none waits */
    uint64_t ack_delay_us;
    uint64_t peer_timeout_us;
};

/* Counted over all flows. */
struct usnic_counts {
    uint64_t packets_sent, acks_sent, resends, probes, bytes_sent;
    uint64_t packets_received, acks_received, duplicates, early, dropped;
    uint64_t malformed; /* packets that break the protocol; acknowledgements of what was not sent */
    uint64_t lost;      /* packets taken for lost */
    uint64_t spurious;  /* of resends: the packet had arrived */
    uint64_t messages_sent, messages_received;
    uint64_t wire_full, no_segment;
};

struct usnic_guard {
    struct usnic_flow *flow; /* NULL: it was closed */
    struct usnic_guard *outer;
};

struct usnic_engine {
    struct usnic_engine_config config;
    const struct usnic_user *user; /* borrowed */
    void *arg;
    struct wheel wheel;
    struct usnic_segment *segments; /* owned */
    struct list unused;             /* of them */
    size_t unused_count;
    struct list resending, ready, acks, active; /* of flows */
    size_t active_count;
    size_t flows;    /* that are open */
    size_t flights;  /* packets that are not acknowledged, of all flows */
    size_t kept;     /* early packets */
    uint32_t rounds; /* calls of progress */
    bool full[USNIC_CHANNELS];
    uint64_t now_us, swept_us, awake_us;
    uint64_t looked_us, waited_us; /* the last look at the wire; how long after the one before */
    struct usnic_guard *guards;
    struct usnic_counts counts;
};

/* BAD_PARAM: the configuration makes no sense; OUT_OF_RESOURCE. Not to be moved. */
int usnic_engine_init(struct usnic_engine *engine, const struct usnic_engine_config *config,
                      const struct usnic_user *user, void *arg, uint64_t now_us) KEEL_MUST_CHECK;
/* All flows are closed. */
void usnic_engine_fini(struct usnic_engine *engine);
/* Before packets are taken from the wire: those that are there have come since the last look. */
void usnic_engine_look(struct usnic_engine *engine, uint64_t now_us);
/* Timers, resends, new packets, acknowledgements. Returns how many packets it sent. */
int usnic_engine_progress(struct usnic_engine *engine, uint64_t now_us);
/* The wire has let go of a segment. */
void usnic_engine_sent(struct usnic_engine *engine, struct usnic_segment *segment);
/* Something waits to be sent or acknowledged. */
bool usnic_engine_busy(const struct usnic_engine *engine);
/* When progress has something to do, at the earliest; UINT64_MAX: not without other calls. */
uint64_t usnic_engine_due(const struct usnic_engine *engine);

/* The flow's memory is the caller's, with anything in it. */
void usnic_flow_open(struct usnic_engine *engine, struct usnic_flow *flow,
                     const struct usnic_flow_params *params, uint64_t now_us);
/* Drops what was sent and not acknowledged, and what came early. The flow is forgotten: nothing is
 * called for it any more. What was queued and not packed stays in its queue. */
void usnic_flow_close(struct usnic_engine *engine, struct usnic_flow *flow);
/* For packets made from now on. A path that turns out to be narrower loses those made before, */
void usnic_flow_set_mtu(struct usnic_flow *flow, size_t mtu);
/* of which the largest has so many bytes. */
size_t usnic_flow_largest(const struct usnic_flow *flow);
/* 1: all of it is in packets, and packed is not called; SUCCESS: it is queued. BAD_PARAM: it is too
 * long; UNREACH: the flow has failed. */
int usnic_flow_send(struct usnic_engine *engine, struct usnic_flow *flow,
                    struct usnic_message *message, uint64_t now_us);
/* A message that goes into a packet at once, of which nothing is kept. OUT_OF_RESOURCE: it does
 * not; nothing has happened. */
int usnic_flow_send_short(struct usnic_engine *engine, struct usnic_flow *flow,
                          struct usnic_message *message, uint64_t now_us);
/* A packet that usnic_header_decode took, that has the flow's index and token, and is sound. true:
 * it is kept until release. */
bool usnic_flow_received(struct usnic_engine *engine, struct usnic_flow *flow,
                         struct usnic_packet *packet, uint64_t now_us);
/* All that was sent is acknowledged. */
bool usnic_flow_is_flushed(const struct usnic_flow *flow);
/* Of what the peer has sent, some has come that cannot be delivered without more. */
bool usnic_flow_is_amid(const struct usnic_flow *flow);
/* What is queued, or not acknowledged. A message counts until its last byte is. */
struct usnic_backlog {
    size_t messages, bytes;
};
struct usnic_backlog usnic_flow_backlog(const struct usnic_flow *flow);

#endif
