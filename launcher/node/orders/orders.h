/* What the HNP orders (on RML_TAG_LAUNCH) and daemons report (on RML_TAG_REPORT); the first byte of
 * each buffer says which, the letters what follows it (wireup/proto.h). Output, input and their
 * credit travel on the IOF tags (iof.h). */
#ifndef LAUNCHER_NODE_ORDERS_ORDERS_H
#define LAUNCHER_NODE_ORDERS_ORDERS_H

#include <keel/buffer.h>
#include <launcher/request/run_request.h>
#include <wireup/codec.h>
#include <wireup/job_map.h>

enum order {
    ORDER_WIREUP = 1, /* s contact of the parent in the tree */
    ORDER_LAUNCH,     /* struct launch */
    ORDER_SIGNAL,     /* i signal, to every rank; c: those that do not run yet are not started */
    ORDER_KILL,       /* -: SIGKILL to every process of the job */
    ORDER_END,        /* -: all ranks have ended; kill what they left, drain their output */
    ORDER_EXIT,       /* -: the daemon ends */
    ORDER_SPAWN,      /* struct spawned and its programs: more ranks */
    ORDER_SPAWNED,    /* q request, i status, u number: the answer to REPORT_SPAWN */
    ORDER_LOST,       /* u vpid: this daemon is lost */
    ORDER_REHOME,     /* u count, count u: those that are lost; s contact of the new parent in the
                       * tree, or empty: the HNP, which says this */
    ORDER_ENDED,      /* u count, count u: these ranks have failed, and the job goes on */
    ORDER_GONE,       /* -, from the parent in the tree: the HNP is gone */
    ORDER_WINDOW,     /* u rows, u columns: the size of the ranks' ptys */
    ORDER_TOPOLOGY,   /* c: say the node's topology, or only its hash */
    ORDER_CHECK,      /* as ORDER_SPAWN: could this daemon's part of it be started? */
    ORDER_START,      /* struct start_order (onward.h): start these daemons */
    ORDER_STARTED,    /* u vpid: this one of them has called home */
    ORDER_EXPLAIN,    /* u number, u ms for a debugger, u for all: what do your ranks do? Their
                       * stacks, too, unless all is 0: then earlier orders' are not wanted either,
                       * unless a debugger's is 0, too */
    ORDER_GROW,       /* u daemons, u count, count u: so many are there now, these of them lost */
    ORDER_JOIN,    /* q, q: the tree's last broadcasts of both classes (rml_begin_casts); u daemons
                    * and the rest as in ORDER_REHOME: the place in a tree that stands */
    ORDER_HOST,    /* q job, u vpid, and what that daemon of another job is told (hosting.h): start
                    * it (hosted.h) */
    ORDER_UNHOST,  /* q job: end what is left of its daemons */
    ORDER_CRASHED, /* c cut: ranks that crash go on when those of the node were looked at; cut: they
                    * stay, and are not looked at any more */
};

enum report {
    REPORT_HOME = 1, /* s contact, s hash of its topology, "": not asked for, or not known */
    REPORT_WIRED,    /* - */
    REPORT_LAUNCHED, /* u ranks started: all of this daemon's, or failed */
    REPORT_FAILED,   /* u rank, c stage, i errno, s what */
    REPORT_EXITED,   /* u rank, u pid, u KiB of memory at most, i wait status, c joined, s call that
                      * was missing before its   end, s call that it was in, s core file, c killed for
                      * want of memory */
    REPORT_ABORT,    /* u rank, u pid, i status, s reason */
    REPORT_TEXT,     /* s line: for the user */
    REPORT_LOST,     /* u vpid, s why: a child of mine in the tree is gone */
    REPORT_SILENT,   /* u vpid, c is silent: a child of mine in the tree, or it is heard again */
    REPORT_JOINED,   /* s call: the first rank here has called keel_init, MPI_Init or the like */
    REPORT_BROKEN,   /* u rank, u pid, s reason: the job cannot go on */
    REPORT_UNABLE,   /* s why: I cannot take part; none of my ranks was started */
    REPORT_SPAWN,    /* q request, u parent, strings KEY=VALUE as in struct spawned, u programs,
                      * programs x struct spawn_wish: a rank of mine wants more */
    REPORT_SPAWNED,  /* u number, i status, s why: what was ordered has been checked or started
                      * here, or failed to be */
    REPORT_ORPHAN,   /* u vpid, s why: the link to this one, my parent in the tree, is down */
    REPORT_REHOMED,  /* -: the new parent is linked */
    REPORT_SIGNALLED, /* i signal: I got it, and end */
    REPORT_TOPOLOGY,  /* s hash, s topology as text (base/host/topo.h), "": only the hash was asked
                       * for; s why there is none */
    REPORT_UNSTARTED, /* u vpid, s why: this daemon, which I was to start, does not run */
    REPORT_STATES,    /* u number of the order, u my pid, u count, count x (u rank, u pid, q ms in
                       * which it has not moved on, s what it does, q ms since its start, q ms of
                       * processor time, q bytes of memory, b counters): my ranks that have
                       * not ended */
    REPORT_STACK,     /* u number, STACK_OF_CRASH: the rank crashes; u rank, s why there is none, u
                       * threads, threads x (c first, s frames as in struct stack) */
    REPORT_GROWN,     /* u daemons, s contact: I know that there are so many */
    REPORT_TRACED,    /* u number, s why no rank was looked at, or "": all stacks were reported */
    REPORT_HOSTED,    /* q job, s line: a daemon that I started for that job says it */
    REPORT_UNHOSTED,  /* q job, u vpid, s why: one of them does not run any more, or does not start
                       */
    REPORT_CRASHES,   /* c: ranks of mine crash, and debuggers look at them; 0: they have */
};

enum { STACK_OF_CRASH = 0 }; /* in place of an order's number */

/* One program of a job. */
struct launch_app {
    char **argv; /* owned */
    char **env;  /* owned: NAME=VALUE on top of the daemon's own */
    char *wdir;  /* owned */
    char *path;  /* owned: folders where it is looked for before PATH; NULL or "": none */
};

/* A program that a rank asks for. */
struct spawn_wish {
    struct launch_app app; /* owned */
    uint32_t count;
    char **info; /* owned: KEY=VALUE, where its ranks go */
};

/* What one request may ask for. */
enum { SPAWN_APPS_MAX = 1024, SPAWN_RANKS_MAX = 1 << 16 };

/* Ranks that are added to a job, at the end of the row of its ranks, with programs of their own. */
struct spawned {
    uint32_t number; /* 1 for the first that are added to the job */
    uint32_t parent; /* the rank that asked for them */
    uint32_t first, count;
    uint32_t node_first, node_count; /* nodes that the job did not have before */
    char **node_names;               /* owned, NULL-ended */
    uint32_t *daemon_of_node;        /* owned, by node from node_first on */
    uint32_t app_first, app_count;
    struct launch_app *apps; /* owned */
    uint32_t *app_of;        /* owned, by rank from first on: as in struct launch */
    uint32_t *node_of;       /* owned: as in its map */
    uint32_t *local_rank_of; /* owned */
    char **cpus;             /* owned: as in struct launch */
    char **puts;             /* owned: KEY=VALUE, what they find in their PMI-1 key-value space */
};

struct launch {
    struct job_map map;
    struct launch_app *apps; /* owned */
    uint32_t app_count;
    uint32_t *app_of; /* owned, by rank */
    char **cpus; /* owned, NULL-ended, by rank: the kernel's numbers of the processors that it is
                  * bound to, "0,2-5"; "": it is not bound */
    bool yield, pty;
    bool merge_stderr;                 /* their stderr is their stdout */
    uint32_t input_first, input_count; /* the ranks that get standard input */
    struct window window;              /* of ptys */
    uint32_t universe;                 /* processes that the nodes have slots for */
};

int launch_pack(opal_buffer_t *buffer, const struct launch *launch) KEEL_MUST_CHECK;
/* Checks counts before anything is allocated; on error launch is untouched. */
int launch_unpack(opal_buffer_t *buffer, struct launch *launch) KEEL_MUST_CHECK;
void launch_fini(struct launch *launch);

/* The processors of so many ranks. */
void launch_cpus_code(struct codec *codec, char ***cpus, uint32_t count);
void launch_app_code(struct codec *codec, struct launch_app *app);
void launch_app_fini(struct launch_app *app);

void spawn_wish_code(struct codec *codec, struct spawn_wish *wish);
void spawn_wish_fini(struct spawn_wish *wish);
int spawned_pack(opal_buffer_t *buffer, const struct spawned *spawned) KEEL_MUST_CHECK;
int spawned_unpack(opal_buffer_t *buffer, struct spawned *spawned) KEEL_MUST_CHECK;
void spawned_fini(struct spawned *spawned);
/* The folder where a program that is added starts: its own, else its parent's; "" for none. */
const char *launch_app_wdir(const struct launch_app *app, const struct launch_app *parent);
/* The daemon of a node, of the job's or of those that are added; they fit. */
uint32_t launch_daemon_of(const struct launch *launch, const struct spawned *spawned,
                          uint32_t node);
/* Do they fit behind what is there? */
bool launch_fits(const struct launch *launch, const struct spawned *spawned);
/* Adds them to the job; takes the programs, which inherit what their parent's has. On
 * error (what does not fit behind what is there, no memory) the launch is not changed. */
int launch_extend(struct launch *launch, struct spawned *spawned) KEEL_MUST_CHECK;

#endif
