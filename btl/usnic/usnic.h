/* The usnic modules, one for each device: what their files, which README.md lists, share. One
 * thread at a time. */
#ifndef BTL_USNIC_H
#define BTL_USNIC_H

#include <base/data/clock.h>
#include <base/data/list.h>
#include <base/data/pool.h>
#include <btl/emulation/rdma_am.h>
#include <btl/modules/module.h>
#include <btl/sessions/hello.h>
#include <btl/usnic/engine/check.h>
#include <btl/usnic/engine/end.h>
#include <btl/usnic/engine/engine.h>
#include <btl/usnic/port/port.h>

enum {
    USNIC_SMALL_PAYLOAD = 4096, /* of the small descriptors */
    USNIC_CONTROLS = 32,        /* control frames on their way */
    USNIC_SMALL_PACKET = 512,   /* passes everywhere, if anything does */
};

typedef struct mca_btl_base_endpoint_t usnic_endpoint;

struct usnic_params {
    const char *provider, *if_include, *if_exclude, *map; /* borrowed */
    size_t eager_limit, max_send_size, tx_queue_bytes;
    size_t descs; /* most of each size */
    size_t rx_buffers, tx_buffers;
    size_t sockets, pack_after;
    size_t mtu; /* bytes of a packet, at most; 0: as the device has it */
    uint32_t window;
    bool checksum;
    uint32_t bandwidth; /* MB/s; 0: from the interface */
    uint32_t exclusivity;
    uint64_t peer_us, hello_us, flush_us;
};

/* A receive buffer. */
struct usnic_rx {
    struct fabric_rx super; /* first */
    struct usnic_packet packet;
};

/* A message that was accepted and is not in packets yet. */
struct usnic_out {
    struct pool_item item;
    struct list link; /* in its endpoint's */
    struct usnic_message message;
    mca_btl_base_segment_t segments[MCA_BTL_DES_MAX_SEGMENTS];
    struct desc_send *send;
    usnic_endpoint *peer;
};

/* A control frame: outside of sequences, and lost without harm. */
struct usnic_control {
    struct list link; /* in the module's free ones */
    uint8_t *bytes;
};

/* What the modules of a process have together: a peer finds the interface that is paired with one
 * of its own, and a handle is good for all of them. */
struct usnic_process {
    struct usnic_card card;                          /* mine: the devices of all modules */
    struct region_table *regions;                    /* owned */
    struct usnic_module *modules[NETCARD_ADDRESSES]; /* borrowed; NULL: none, or none any more */
    size_t count;
    size_t users;    /* modules that are not NULL */
    bool map_failed; /* the connectivity map cannot be written, which was told */
};

/* For btl/framework/stats.h, beside those of the engine and of the port. */
struct usnic_module_counts {
    uint64_t strangers; /* packets and hellos that proved nothing */
    uint64_t unsound;   /* packets with a wrong checksum */
    uint64_t over;      /* packets of a session that is over */
    uint64_t probes, answers;
};

struct usnic_faults;

struct usnic_module {
    mca_btl_base_module_t super;  /* first */
    struct desc_set descs;        /* second */
    struct region_table *regions; /* third; the process's */
    struct btl_peers peers;
    struct btl_greeter greeter;
    struct usnic_params params;
    struct usnic_process *process; /* owned by all modules together */
    size_t address;                /* in the card; SIZE_MAX: none, after a restart with fewer */
    uint32_t interface;            /* as in the card */
    char name[24];                 /* "usnic:eth0" */
    struct usnic_port port;
    struct usnic_engine engine;
    bool opened; /* the engine is */
    struct rdma_am *am;
    struct pool outs; /* struct usnic_out */
    struct usnic_control controls[USNIC_CONTROLS];
    struct list free_controls;
    struct list checking;        /* endpoints whose path is being checked */
    struct list leaving;         /* endpoints whose BYE has come */
    struct usnic_faults *faults; /* NULL: none was asked for */
    uint64_t now_us;             /* when the clock was read last */
    uint64_t look_us;            /* when stalled peers are looked for next */
    unsigned idle_polls;         /* since the last event */
    struct usnic_module_counts counts;
};
BTL_MODULE_BEGINS(struct usnic_module);

static inline struct usnic_module *usnic_of(mca_btl_base_module_t *btl)
{
    return (struct usnic_module *) (void *) btl;
}

/* Reads the clock, at the beginning of a pass and for each send. All of the module goes by the last
 * reading: a callback that sends moves the time on for the rest of the pass, too, so that it never
 * goes back. */
static inline uint64_t usnic_clock(struct usnic_module *usnic)
{
    return usnic->now_us = clock_us();
}

/* usnic_component.c. Whether packets have a checksum: a setting of btl_usnic_checksum, and where it
 * is left to the provider, its name. The checksum of UDP lets too much through; hardware has better
 * ones. */
enum usnic_sum { SUM_AUTO, SUM_OFF, SUM_ON };
bool usnic_checksum_of(int64_t choice, const char *provider) KEEL_MUST_CHECK;
extern struct btl_component btl_usnic_component;

/* usnic_module.c. On an interface; NULL with the reason. */
struct usnic_module *usnic_module_create(struct usnic_process *process,
                                         const struct usnic_params *params,
                                         const struct netif *netif, char *reason,
                                         size_t reason_size) KEEL_MUST_CHECK;
/* All endpoints are gone. */
void usnic_module_destroy(struct usnic_module *usnic);
/* For a restart: on an interface that there is now. */
int usnic_module_reopen(struct usnic_module *usnic, const struct netif *netif, char *reason,
                        size_t reason_size) KEEL_MUST_CHECK;
int usnic_progress(mca_btl_base_module_t *btl);

/* usnic_process.c. Makes a module for each chosen interface, and publishes the card. */
int usnic_process_open(mca_btl_base_module_t *modules[NETCARD_ADDRESSES],
                       const struct usnic_params *params, char *reason,
                       size_t reason_size) KEEL_MUST_CHECK;
/* A module has ended; the last one takes the process along. */
void usnic_process_drop(struct usnic_process *process);
int usnic_restart(mca_btl_base_module_t *btl);

/* usnic_ext.c */
extern const struct btl_ext_ops usnic_ext;

#endif
