/* The tcp modules, one for each interface: what their files, which README.md lists, share.
 *
 * One thread at a time. A callback of the layers above may send, and so break the link that it was
 * called for. So nothing that the stack still uses is freed while one runs: tcp_enter and tcp_leave
 * bracket every call that may call back, and the outermost tcp_leave frees what ended meanwhile. */
#ifndef BTL_TCP_H
#define BTL_TCP_H

#include <base/data/list.h>
#include <base/data/pool.h>
#include <base/loop/backoff.h>
#include <base/loop/wheel.h>
#include <btl/emulation/rdma_am.h>
#include <btl/modules/module.h>
#include <btl/peers/peer.h>
#include <btl/tcp/wire/card.h>
#include <btl/tcp/wire/wire.h>

enum {
    TCP_PENDING_MAX = 64, /* accepted sockets that have not proven who they are */
    TCP_CALL_DEPTH = 8,   /* calls from callbacks nest so deep; the rest waits for progress */
    TCP_SCRATCH_BYTES = 64 << 10,
    TCP_SMALL_PAYLOAD = 4096, /* of the small descriptors */
};

/* What an epoll event points to: the first member of a conn or link, or a listener. */
enum tcp_source_kind { TCP_SOURCE_LISTENER, TCP_SOURCE_CONN, TCP_SOURCE_LINK, TCP_SOURCE_TIMER };
struct tcp_source {
    enum tcp_source_kind kind;
    int fd;       /* -1: closed */
    bool watched; /* in the epoll set */
};

/* A member of what the outermost tcp_leave frees. */
struct tcp_ended {
    struct list link;
    void (*release)(struct tcp_ended *ended);
};

struct tcp_params {
    const char *if_include, *if_exclude; /* borrowed */
    size_t eager_limit, max_send_size;
    size_t tx_queue_bytes;
    size_t piece_bytes;
    size_t descs; /* most of each size */
    int sndbuf, rcvbuf;
    unsigned links;     /* of a module to a peer */
    uint32_t bandwidth; /* MB/s; 0: from the interface */
    uint32_t exclusivity;
    uint64_t connect_us, hello_us, pending_us, flush_us;
    uint64_t silence_us; /* of a peer's kernel, which makes a link a failed one; 0: none does */
};

typedef struct mca_btl_base_endpoint_t tcp_endpoint;

/* What the modules of a process have together: a peer's connect comes in where its network leads
 * it, and names the module that is meant; a handle is good for all of them. */
struct tcp_process {
    struct tcp_card card;                          /* mine: the interfaces of all modules */
    struct region_table *regions;                  /* owned */
    struct tcp_module *modules[NETCARD_ADDRESSES]; /* borrowed; NULL: none, or none any more */
    size_t users;                                  /* modules that are not NULL */
};

/* For btl/framework/stats.h. */
struct tcp_counts {
    uint64_t links, silences;
    uint64_t writes, bytes_written, blocked;
    uint64_t reads, bytes_read;
};

/* Connections that are being set up. */
struct tcp_conns {
    struct list by_age; /* oldest first */
    struct wheel timeouts;
    size_t pending; /* those that were accepted, at most TCP_PENDING_MAX */
};

struct tcp_module {
    mca_btl_base_module_t super;  /* first */
    struct desc_set descs;        /* second */
    struct region_table *regions; /* third; the process's */
    struct btl_peers peers;       /* but the loopback */
    struct tcp_counts counts;
    struct tcp_params params;
    struct tcp_process *process; /* owned by all modules together */
    size_t number;               /* among them */
    uint32_t interface;          /* as in the card; 0: none, after a restart with fewer */
    char name[24];               /* "tcp:eth0" */
    struct tcp_source listeners[NETCARD_ADDRESSES];
    size_t listener_count;
    struct tcp_source timer; /* of tcp_silence.c */
    uint64_t sent, again;    /* segments of all links, as in struct tcp_silence */
    size_t links;            /* that are up, lanes among them */
    size_t probes;           /* of their peers' hosts, that wait for an answer */
    int epoll;
    struct rdma_am *am;     /* atomics */
    struct pool items;      /* struct tcp_item */
    struct pool ops;        /* struct tcp_op */
    tcp_endpoint *loopback; /* of the accepting side of my link to myself; NULL: none */
    struct tcp_conns conns;
    struct list active; /* links polled on every pass */
    struct list ended;  /* struct tcp_ended */
    unsigned depth;     /* of tcp_enter */
    unsigned passes;    /* since the last look at epoll */
    struct backoff_chance chance;
    uint8_t *scratch; /* where unwanted bytes go */
};
BTL_MODULE_BEGINS(struct tcp_module);

static inline struct tcp_module *tcp_of(mca_btl_base_module_t *btl)
{
    return (struct tcp_module *) (void *) btl;
}

/* tcp_component.c */
extern struct btl_component btl_tcp_component;

/* tcp.c. Without an interface yet; NULL: no memory, or no descriptors. */
struct tcp_module *tcp_module_create(struct tcp_process *process,
                                     const struct tcp_params *params) KEEL_MUST_CHECK;
/* All endpoints are gone. */
void tcp_module_destroy(struct tcp_module *tcp);
int tcp_atomic(mca_btl_base_module_t *btl, tcp_endpoint *ep, const struct atomic_call *call);

/* tcp_process.c. Makes a module for each chosen interface, and leaves the others NULL; listens, and
 * publishes the card. NOT_AVAILABLE: there is nothing to listen on. */
int tcp_process_open(mca_btl_base_module_t *modules[NETCARD_ADDRESSES],
                     const struct tcp_params *params, char *reason,
                     size_t reason_size) KEEL_MUST_CHECK;
/* A module has ended; the last one takes the process along. */
void tcp_process_drop(struct tcp_process *process);
/* The module that has an address of the card; NULL: none. */
struct tcp_module *tcp_module_at(const struct tcp_process *process, size_t address);
void tcp_listeners_close(struct tcp_module *tcp);
int tcp_restart(mca_btl_base_module_t *btl);
/* As describe of struct btl_component. */
void tcp_describe(mca_btl_base_module_t *btl, tcp_endpoint *ep, char *text, size_t size);
extern const struct btl_ext_ops tcp_ext;

/* tcp_poll.c */

void tcp_enter(struct tcp_module *tcp);
void tcp_leave(struct tcp_module *tcp);
void tcp_end(struct tcp_module *tcp, struct tcp_ended *ended,
             void (*release)(struct tcp_ended *ended));

/* Watches a source for EPOLLIN or EPOLLOUT. OUT_OF_RESOURCE. */
int tcp_watch(struct tcp_module *tcp, struct tcp_source *source, uint32_t events) KEEL_MUST_CHECK;
void tcp_unwatch(struct tcp_module *tcp, struct tcp_source *source);
void tcp_source_close(struct tcp_module *tcp, struct tcp_source *source);
/* One pass over all sockets and timers; returns the number of events. */
int tcp_poll(mca_btl_base_module_t *btl);

#endif
