/* A socket that is up. */
#ifndef BTL_TCP_LINK_H
#define BTL_TCP_LINK_H

#include <btl/sessions/host_probe.h>
#include <btl/tcp/tcp_endpoint.h>

enum {
    TCP_RX_BUFFER = 64 << 10,
    TCP_TX_CREDIT = 256 << 10, /* bytes of messages between two pieces of puts and gets */
};

/* What is being read. Bytes between head and tail of buffer are not parsed yet. While body_left is
 * not 0, they belong to the data of frame, and what of it the socket still has goes straight to
 * where it belongs. */
struct tcp_rx {
    uint8_t *buffer;
    size_t head, tail;
    struct tcp_frame frame;
    uint16_t sequence; /* of the next frame */
    size_t body_left, body_got;
    const char *wrong;     /* what a frame broke; NULL: nothing known */
    int status;            /* PUT: what it comes to */
    struct tcp_slot *slot; /* DATA */
    uint8_t *message;      /* AM too long for the buffer */
    size_t message_size;
};

/* What is known of a link's other end (tcp_silence.h). */
struct tcp_silence {
    uint64_t looked_us;     /* when the kernel was asked last */
    uint64_t asked_us;      /* for how long the peer has not answered what asks for an answer */
    uint64_t host_quiet_us; /* since its host acknowledged, or answered the probe */
    uint64_t probed_us;     /* when the host was asked last */
    struct host_probe probe;
    uint32_t quiet_ms;    /* since its last acknowledgement */
    uint32_t sent, again; /* segments up to then, and those that had to be sent again */
    bool failed;
};

struct tcp_link {
    struct tcp_source source; /* first */
    struct tcp_ended ended;
    tcp_endpoint *ep;
    unsigned lane;      /* 0: the first link, which all but pieces of puts and gets go over */
    struct list active; /* in the module's active, unless it is quiet */
    unsigned idle;      /* passes since something moved */
    struct list out;    /* items being written; only the first is written in part */
    uint16_t sequence;  /* of the next frame that joins them */
    size_t credit;      /* bytes of small items that may pass before the next bulk one */
    unsigned blocked;   /* writes in a row that the kernel refused */
    unsigned skip;      /* passes to go until the next try */
    int error;          /* errno of a failed write, for progress to find */
    bool reading;       /* up the stack */
    bool used;          /* bytes went over it */
    bool bye;           /* the peer said it */
    bool bye_said;      /* by me */
    struct tcp_silence silence;
    struct tcp_rx rx;
};

/* tcp_link.c */
struct tcp_link *tcp_link_create(tcp_endpoint *ep, int fd, unsigned lane);
/* Closes the socket; the memory goes with the outermost tcp_leave. */
void tcp_link_close(struct tcp_link *link);
/* Sees to it that progress polls it. */
void tcp_link_wake(struct tcp_link *link);
/* One poll: reads, writes, completes; the link may be gone after it. Returns the events. */
int tcp_link_poll(struct tcp_link *link);
/* The stream ended (error 0), or the socket failed. */
void tcp_link_ended(struct tcp_link *link, int error);
/* Breaks the endpoint, unless the link is closed already. */
void tcp_link_break(struct tcp_link *link, const char *why);

/* tcp_link_read.c. Takes what is here, some reads at most; returns the events. */
int tcp_link_read(struct tcp_link *link);

/* tcp_link_write.c. Something is to be written. */
bool tcp_link_busy(const struct tcp_link *link);
/* No frame is half written. */
bool tcp_link_is_flushed(struct tcp_link *link);
/* The peer's kernel has all that was written; or the link is broken. */
bool tcp_link_is_acknowledged(struct tcp_link *link);
/* Writes what is queued until the kernel takes no more; failures go to error. */
void tcp_link_write(struct tcp_link *link);
/* Says BYE, once, and that nothing follows; false: there is no room for it now. A stream that is in
 * the midst of a frame ends without. */
bool tcp_link_say_bye(struct tcp_link *link);

#endif
