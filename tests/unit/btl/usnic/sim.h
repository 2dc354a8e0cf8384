/* Production's engines over a simulated wire, in virtual time. A world has nodes, each with one
 * engine, and between any two of them a session. The bytes and the size of a message follow from
 * its session and its number in it, so that the receiver knows what has to come next. */
#ifndef TESTS_UNIT_BTL_USNIC_SIM_H
#define TESTS_UNIT_BTL_USNIC_SIM_H

#include <btl/usnic/engine/end.h>
#include <btl/usnic/engine/engine.h>
#include <btl/usnic/wire/frame.h>
#include <tests/lib/sim/queue.h>
#include <tests/lib/sim/wire.h>

enum { SIM_NODES = 17, SIM_MTU_MOST = 1472, SIM_MESSAGE_MOST = 65536 };

/* Parts of production's that a test takes out (sabotage.c). */
enum sim_sabotage {
    SIM_SOUND,
    SIM_NO_DEDUP,
    SIM_NO_RANGES,
    SIM_NO_BACKOFF,
    SIM_NO_CREDIT,
    SIM_NO_EPOCH,
    SIM_ACK_UNSEEN,
    SIM_EARLY_DELIVERY,
    SIM_NO_WRAP,
    SIM_NO_EVICTION,
    SIM_NO_PROBE,
    SIM_EARLY_OVER,
    SIM_NO_GIVING_UP
};
extern enum sim_sabotage sim_sabotage;

struct sim_settings {
    int nodes;
    size_t mtu, room, segments, buffers, pack_after;
    uint64_t delay_ns;
    double wire_full;    /* chance that the wire takes no packet */
    bool deaf;           /* a session that is over answers nothing: its process has gone */
    uint64_t sent_ns;    /* the wire holds a segment for up to so long; 0: it copies it at once */
    uint32_t fixed_size; /* of every message; 0: sizes are drawn */
    uint64_t peer_timeout_us; /* 0: 3 s */
    uint64_t seed;
};

struct sim_message {
    struct usnic_message message;
    struct mca_btl_base_segment_t segments[2];
    struct sim_session *session;
    bool queued;
};

/* One direction of a session. */
struct sim_session {
    struct usnic_flow flow;
    int node, peer;
    bool open;
    uint32_t number; /* of the session; both sides of one have the same */
    uint64_t token_in;
    uint32_t sent, received;              /* messages since it was opened */
    uint32_t landing, land_total, landed; /* message that lands, and its bytes so far */
    bool lands;
    uint64_t bytes;      /* received, ever */
    uint64_t last_heard; /* ns: when a message was received last */
    bool failed;
    struct usnic_end end;
    uint64_t short_ns; /* when there was no segment for its BYE, last; 0: never */
    bool leaves;       /* it is to end */
    bool over;         /* it has, and all that was sent has come, */
    bool alone;        /* or nothing ever came of the other side: what that one sends fails */
};

struct sim_buffer {
    struct usnic_packet packet;
    struct sim_buffer *next;
    bool kept;
    _Alignas(16) uint8_t data[SIM_MTU_MOST];
};

struct sim_node {
    struct usnic_engine engine;
    uint8_t *memory;
    struct sim_buffer *buffers, *unused;
    size_t unused_count;
    uint64_t run_ns;   /* 0: no run is due */
    uint64_t sleep_ns; /* until then it does nothing */
    struct sim_session sessions[SIM_NODES];
};

struct sim_totals {
    uint64_t events, packets, resends, probes, spurious, duplicates, lost, early, messages, failed,
        reopened, stale, ended, alone;
};

struct sim {
    struct sim_settings settings;
    struct sim_queue queue;
    struct sim_wire wire;
    struct sim_random random;
    struct sim_node nodes[SIM_NODES];
    struct sim_message *messages; /* pool */
    struct list unused_messages;
    uint32_t sessions;      /* so many were begun */
    uint64_t sent_at_ns;    /* of the segments that the wire holds: when the last one is let go */
    uint64_t held;          /* segments that the wire holds */
    uint64_t stale;         /* packets of no session */
    struct sim_totals over; /* of engines that ended */
    const char *broken;     /* what does not hold; NULL: all does */
    void (*delivered)(struct sim_session *session); /* these three are set after sim_begin */
    void (*packed)(struct sim_session *session);
    void (*action)(int who, void *what);
    uint64_t heap_events;
};
extern struct sim sim;

/* Engines are opened, sessions are not. Aborts without memory. */
void sim_begin(const struct sim_settings *settings);
void sim_end(void); /* closes all */
/* Until no event is left, until that time, or until something is broken. Returns whether time is
 * over. */
bool sim_run_until(uint64_t ns);
/* Something that the test does at a time. */
void sim_act_at(uint64_t ns, int who, void *what);
/* Opens a session between two: one side at once, the other one later; SIM_NEVER: it has gone. */
#define SIM_NEVER UINT64_MAX
void sim_session_open(int a, int b, uint64_t later_ns, uint32_t first_ab, uint32_t first_ba);
/* It leaves, and the other side knows nothing of the session. */
bool sim_is_half_open(const struct sim_session *session);
void sim_session_close(struct sim_session *session);
/* Ends it as whoever leaves does. */
void sim_session_leave(struct sim_session *session);
/* False: the engine or the session does not take it. */
bool sim_send(struct sim_session *session, bool is_short);
/* The other side has all that it needs, or believes to be alone, and gave up answering: this one
 * waits in vain. */
bool sim_is_alone(const struct sim_session *session);
void sim_sleep(int node, uint64_t ns);
void sim_wake(int node, uint64_t at_ns);
void sim_break(const char *what);
uint32_t sim_size(const struct sim_session *session, uint32_t number);
/* Whatever was sent has been received and acknowledged. */
bool sim_is_quiet(void);
/* All has arrived, and all memory is back: to be called when it is quiet. */
void sim_check_quiet(void);
void sim_add_totals(struct sim_totals *totals);

static inline struct sim_session *sim_between(int node, int peer)
{
    return &sim.nodes[node].sessions[peer];
}
/* One of its sides leaves. */
static inline bool sim_ends(const struct sim_session *session)
{
    return session->leaves || session->end.heard;
}

#endif
