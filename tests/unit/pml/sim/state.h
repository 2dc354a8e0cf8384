/* What the parts of the simulation share. */
#ifndef TESTS_UNIT_PML_SIM_STATE_H
#define TESTS_UNIT_PML_SIM_STATE_H

#include <base/data/list.h>
#include <base/settings/log.h>
#include <pml/interface/base.h>
#include <ptl/rail/rail.h>
#include <tests/lib/sim/queue.h>
#include <tests/unit/pml/sim/sim.h>

enum { SIM_RANKS = 4, SIM_RAILS = 4, SIM_CONTEXTS = 2 };
#define SIM_US UINT64_C(1000)
#define SIM_WINDOW (3000 * SIM_US) /* in which the program asks and rails die */
#define SIM_NEVER UINT64_MAX

enum sim_occasion {
    ON_POLL,   /* a process polls */
    ON_FRAME,  /* a frame comes to its receiver's end of the rail */
    ON_ACCESS, /* a put or get comes to its target's memory */
    ON_DONE,   /* its end comes to its initiator */
    ON_ASK,    /* the program sends or receives */
    ON_CUT,    /* some rail dies */
    ON_STALL,  /* nothing passes between two processes for a while, and nobody notices */
    ON_NOTICE, /* one end of a rail knows that it is dead */
    ON_RETURN, /* a dead rail works again */
    ON_OPEN,   /* one end of it knows */
    ON_LOOK,   /* at one that does not connect */
};

/* What a process finds when it polls. */
struct sim_item {
    struct list link;
    enum sim_occasion what; /* FRAME, DONE, NOTICE, OPEN or LOOK */
};

/* All rails of a number. */
struct sim_kind {
    uint64_t latency_ns, jitter_ns;
    uint64_t ps_a_byte;
    size_t room;      /* frames to a peer that may be under way */
    unsigned refuses; /* of a hundred calls so many find no room */
    unsigned at_once; /* of a hundred puts and gets so many end in the call */
    unsigned denies;  /* of a hundred puts and gets so many fail alone: in the call, or later */
    bool registers;
    bool queues;                 /* frames, until it connects */
    mca_btl_base_module_t model; /* what modules declare */
};

struct mca_btl_base_endpoint_t {
    struct sim_item notice, open, look;
    int rank, peer, rail;
    bool up;
    bool listed; /* the choice of rails takes it to be up */
    bool used;   /* something was sent or has come by it: before, nobody knows whose it is */
    bool unconnected, wanted; /* it is not connected yet; something waits for that */
    unsigned looks, late;     /* at it, since then; those while another rail to the peer was up */
    struct list queue;        /* of struct sim_frame, which wait */
    uint32_t session;
    size_t under_way;          /* frames */
    uint64_t free_at, last_at; /* when it has sent, and when the last frame arrives */
    struct list ops;           /* of struct sim_op: those that have not called back */
};
typedef struct mca_btl_base_endpoint_t endpoint;

struct sim_module {
    mca_btl_base_module_t super; /* first */
    struct keel_btl_ext ext;
    int rank, rail;
    endpoint endpoints[SIM_RANKS];
    struct list registrations;
};

/* A rail between two processes, the lower rank first. */
struct sim_link {
    int rail, low, high;
    uint32_t session;        /* of both ends; 0: never there */
    bool unconnected, begun; /* its first session needs a handshake; that has begun */
    uint64_t connects_ns;    /* the time of that */
    bool cut;
    int noticed;       /* ends that know that */
    uint64_t until[2]; /* what was sent before arrives by then, or is lost; [1]: to the lower */
    uint64_t late[2];  /* after so much more time */
    uint64_t stalled;  /* until then nothing comes to either end */
};

struct sim_frame {
    struct sim_item item; /* first */
    int rail, from, to;
    uint32_t session;
    bool is_late;
    size_t size;
    uint8_t bytes[];
};

/* What a module tells the choice of rails. */
struct sim_news {
    struct list link;
    endpoint *end;
    bool back;
};

struct sim_process {
    opal_proc_t proc;
    struct pml *pml;
    struct keel_pml_context *context[SIM_CONTEXTS];
    struct rail rail; /* ptl/rail's, while another process runs */
    struct sim_module *modules[SIM_RAILS];
    mca_btl_base_module_t *btls[SIM_RAILS];
    struct list inbox;    /* of struct sim_item */
    struct list pendings; /* what waits for room, oldest first */
    uint64_t poll_at;     /* the next poll */
    uint64_t sleeps_until;
    mca_btl_base_module_recv_cb_fn_t receive;
    uint64_t owed_since[SIM_RANKS]; /* the oldest frame that its sender is not told of; 0: none */
    uint64_t owed_bytes[SIM_RANKS]; /* of all such frames */
    const bool *wanted;             /* this and the next: of plane_after_pass */
    void (*after)(void *arg);
    keel_rails_fn watch;
    void *watch_arg;
    struct keel_rail chosen[SIM_RANKS][SIM_RAILS];
    size_t chosen_count[SIM_RANKS];
    struct list news; /* of struct sim_news, oldest first */
};

struct sim {
    struct sim_options options;
    struct sim_report *report;
    struct sim_queue queue;
    struct sim_random random;
    int ranks, rails, current; /* current: the process that runs */
    struct sim_process process[SIM_RANKS];
    struct sim_kind kinds[SIM_RAILS];
    struct sim_link links[SIM_RAILS][SIM_RANKS][SIM_RANKS]; /* [rail][low][high] */
    bool lost[SIM_RANKS][SIM_RANKS]; /* two processes had, at one end, no rail for a time */
    int busy;                        /* what is still to befall rails */
};
extern struct sim sim;

void sim_violated(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline uint64_t sim_now(void)
{
    return sim.queue.now;
}
/* With SIM_SEED: what happens. */
#define sim_log(format, ...) \
    log_debug(LOG_PTL, "%8.3f us " format, (double) sim_now() / 1000, __VA_ARGS__)

static inline unsigned below(uint64_t limit)
{
    return limit > 0 ? sim_below(&sim.random, (uint32_t) limit) : 0;
}
static inline bool chance(unsigned percent)
{
    return percent > 0 && below(100) < percent;
}
static inline void later(uint64_t wait_ns, enum sim_occasion what, int who, void *with)
{
    sim_at(&sim.queue, sim.queue.now + wait_ns, what, who, with);
}

/* --- process.c --- */

/* From here on this process runs. */
void sim_enter(int rank);
/* Opens the PMLs and contexts of all; and the other way. */
void sim_processes_open(void);
void sim_processes_close(void);
/* No process has a request left, nor keeps a copy of a frame. */
bool sim_processes_are_quiet(void);
/* The process that runs may send by this end. */
bool sim_is_chosen(const endpoint *end);
/* Messages go over all rails that the process has now. */
void sim_check_paths(int rank);
/* The process polls in so much time, or before. */
void sim_poll_soon(int rank, uint64_t wait_ns);
/* Of the process that runs, until it is out of its modules. */
void sim_tell_choice(endpoint *end, bool back);
/* Something for its next poll. */
void sim_deliver(int rank, struct sim_item *item);

/* --- modules.c --- */

struct sim_module *sim_module_create(int rank, int rail);
void sim_module_destroy(struct sim_module *module);
void sim_frame_came(struct sim_frame *frame);
void sim_frame_taken(struct sim_frame *frame);
/* Calls what waits for room. Returns how many were called. */
int sim_give_room(struct sim_process *process);
void sim_end_pending(struct sim_process *process, const endpoint *ended);
/* A frame goes on its way. */
void sim_frame_go(endpoint *end, struct sim_frame *frame);
/* Those that wait for the connection. */
void sim_frames_drop(endpoint *end);
/* Whether what was sent from one end comes to the other now; *wait: after so much more time. */
bool sim_link_lets_in(const struct sim_link *link, bool down, uint64_t *wait);
/* Whether it comes later than it should; then it comes again by itself. */
bool sim_link_stalls(const struct sim_link *link, enum sim_occasion what, int who, void *with);

/* --- rdma.c --- */

void sim_rdma_init(struct sim_module *module);
/* Registrations that are left are a violation; they are freed. */
void sim_rdma_fini(struct sim_module *module);
/* No put or get waits for its end. */
bool sim_rdma_is_over(void);
void sim_op_access(void *op);
void sim_op_done(void *op);
void sim_op_ended(struct sim_item *item);
void sim_ops_fail(endpoint *end);
/* Those that nobody waits for any more. */
void sim_op_free(void *op);

/* --- faults.c --- */

struct sim_link *sim_link_of(int rail, int a, int b);
endpoint *sim_end(int rail, int rank, int peer);
void sim_faults_plan(void);
void sim_cut_some(void);
void sim_stall_some(void);
void sim_cut(struct sim_link *link);
void sim_notice(endpoint *end);
void sim_noticed(endpoint *end);
void sim_return(struct sim_link *link);
void sim_opened(endpoint *end);

/* --- handshake.c --- */

/* Which rails between two processes are there, but do not connect at once. */
void sim_handshakes_plan(int low, int high);
/* Something is to go by this end; nothing happens where it needs no handshake. */
void sim_connect(endpoint *end);
void sim_looked(endpoint *end);
/* This end, which is not connected, is to say what has come: a violation where another one could.
 */
void sim_check_word(const endpoint *end);

/* --- program.c --- */

void sim_program_plan(void);
void sim_program_ask(int number);
/* After a poll: takes what has ended. */
void sim_program_look(int rank);
/* All has ended that must; then the rest is cancelled. */
bool sim_program_is_over(void);
void sim_program_missing(char *text, size_t size);
void sim_program_cancel(void);
void sim_program_check(void);
void sim_program_free(void);
/* A process has no rail to another any more. */
void sim_program_lost(int rank, int peer);
/* A put that has not called back reads here. */
void sim_program_read(int rank, const void *from);
/* Bytes came to a receive's memory by RDMA, once and for all; by a put over this rail, or by a get
 * (-1). */
void sim_program_landed(int rank, const void *at, size_t size, int put_by);

#endif
