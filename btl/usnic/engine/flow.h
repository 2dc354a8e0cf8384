/* One session with one peer, in both directions: a part of its endpoint. engine.h has what is
 * called for it. */
#ifndef BTL_USNIC_FLOW_H
#define BTL_USNIC_FLOW_H

#include <base/loop/wheel.h>
#include <btl/usnic/engine/order.h>
#include <btl/usnic/engine/pack.h>
#include <btl/usnic/engine/rate.h>
#include <btl/usnic/engine/window.h>

/* What the handshake has agreed. */
struct usnic_flow_params {
    uint32_t index;                     /* the peer's, by which it finds the session */
    uint64_t token;                     /* proves it there */
    uint32_t first_send, first_receive; /* sequence numbers */
    size_t mtu;                         /* bytes of a packet; at least USNIC_MTU_LEAST */
    bool checksum;                      /* sent, and wanted of the peer by the port */
};

/* The message of a call that has not returned. */
struct usnic_sending {
    const struct usnic_message *message;
    bool done; /* all of it is in packets */
};

/* What was sent last, and what is known of its arrival. Stamps; times where the name says so. */
struct usnic_clock {
    uint64_t opened, last;
    uint64_t echo;        /* the latest that the peer has received; 0: none */
    uint64_t echo_us;     /* when that was heard */
    uint64_t since_us;    /* when the timeout began: the last progress, or a probe */
    uint64_t progress_us; /* something was acknowledged, or began to be owed */
    uint64_t deadline_us; /* something is to be done about what is in flight; 0: nothing */
    uint64_t timer_us;    /* when the timer expires; 0: it does not run */
    bool probed;          /* since the last progress */
};

/* What is to be told to the peer. */
struct usnic_owed {
    uint32_t packets; /* received since the last acknowledgement */
    size_t charge;
    uint64_t due_us;   /* when it is, or is repeated; UINT64_MAX: not without another packet */
    uint64_t timer_us; /* when the timer expires; 0: it does not run */
    uint32_t stamp;    /* of the packet that came last, */
    uint64_t stamp_us; /* and when it came */
    uint8_t waited;    /* as in the header */
    uint8_t repeats;   /* acknowledgements that follow the last one even if nothing comes */
    bool has_stamp;
};

/* How much of the socket's buffer the peer uses. */
struct usnic_heard {
    size_t charge;
    uint64_t last_us;
};

struct usnic_timer {
    struct wheel_timer wheel;
    struct usnic_flow *flow;
    bool is_for_acks;
};

struct usnic_flow {
    struct usnic_flow_params params;
    size_t mtu_most;               /* what a segment holds */
    struct list queue;             /* of messages */
    struct usnic_segment *open;    /* is being filled */
    struct usnic_sending *sending; /* by usnic_flow_send, which calls nobody for it */
    bool pumping, failed;
    bool urgent;                 /* what is in open does not wait for more */
    uint32_t since_round, round; /* packets made in that round of the engine */
    bool lost;                   /* it had failed before all that was sent was acknowledged */
    size_t passed; /* bytes of the largest packet that was acknowledged; its user sets it to 0 */
    struct usnic_window window;
    struct usnic_rate rate;
    struct usnic_rtt rtt;
    struct usnic_clock clock;
    struct usnic_timer timer;
    struct list ready, resending; /* in the engine's lists */
    struct usnic_owed owed;
    struct usnic_heard heard;
    struct usnic_timer ack_timer;
    struct list acks, active; /* in the engine's lists */
    struct usnic_assembly assembly;
    struct usnic_order order;
};

#endif
