/* What the files of the PMI-1 service share: its clients (pmi1_client.c: socket and lines,
 * pmi1_requests.c: what they ask for), and what they meet in (pmi1_barrier.c). */
#ifndef LAUNCHER_PMI1_PMI1_INTERNAL_H
#define LAUNCHER_PMI1_PMI1_INTERNAL_H

#include <base/loop/loop.h>
#include <base/net/sock.h>
#include <launcher/node/daemon.h>
#include <launcher/node/server/kvs.h>
#include <launcher/node/server/name_server.h>
#include <launcher/pmi1/pmi1_spawn.h>
#include <launcher/pmi1/pmi1_wire.h>
#include <wireup/cards.h>

/* The end of file on a connection is seen before the shepherd reports the end of the process, and a
 * busy shepherd is late. Turns of the loop are counted, since none pass while the machine stands
 * still. */
enum {
    LOST_TURN_US = 50000,
    LOST_TURNS = 10,   /* waited for the end of a process that lives on */
    ENDING_TURNS = 600 /* of one that is ending: 30 s */
};

enum client_state {
    CLIENT_NEW,  /* has not said anything */
    CLIENT_INIT, /* between init and finalize */
    CLIENT_FINAL,
};

/* A local rank. */
struct pmi1_client {
    struct loop_io io;
    struct pmi1_space *space; /* borrowed */
    uint32_t rank;            /* among all of the job */
    pid_t pid;
    int fd; /* owned; -1: closed */
    enum client_state state;
    bool waiting;             /* for an answer that comes later: no request is read until then */
    bool in_barrier;          /* that is what it waits for */
    unsigned lost;            /* turns since an end of file before finalize; 0: there was none */
    struct pmi1_spawn spawn;  /* what it asks for, line by line */
    uint64_t spawn_request;   /* whose answer it waits for; 0: none */
    enum names_command asked; /* what it waits for otherwise */
    size_t in_size, out_size;
    char in[PMI1_LINE_MAX];
    char out[PMI1_LINE_MAX];
};

/* Ranks that share an MPI_COMM_WORLD: those that the user started, or what a rank has spawned. They
 * have a key-value space and barriers of their own. */
struct pmi1_space {
    struct list link;
    struct daemon *daemon;             /* borrowed */
    uint32_t number;                   /* of the spawn; 0: the user started them */
    uint32_t first, size;              /* among all ranks of the job */
    uint32_t app_first;                /* the number of the first program */
    struct pmi1_client **clients;      /* owned, by rank; NULL: not local, not started, or ended */
    uint32_t local_first, local_count; /* local ranks: of the node's; a barrier waits for all */
    uint32_t arrived, gone;
    uint32_t barrier;  /* its number */
    bool joined;       /* this daemon has done its part of it */
    uint32_t *daemons; /* owned, by rank */
    struct kvs *kvs;   /* owned */
    struct blob puts;  /* since the last barrier: key, value, each with its end */
    char name[32];     /* of the key-value space */
    struct loop_task resume;
    struct loop_timer lost_timer;
};

/* pmi1_space.c. spawned: NULL for the ranks that the user started. */
int pmi1_space_create(struct pmi1_space **space, struct daemon *daemon,
                      const struct spawned *spawned) KEEL_MUST_CHECK;
void pmi1_space_destroy(struct pmi1_space *space);
/* Where the client of a rank of the space is kept. */
struct pmi1_client **pmi1_space_client(struct pmi1_space *space, uint32_t rank);

/* pmi1_client.c */
void pmi1_client_start(struct pmi1_client *client);
/* Takes the whole lines that have come. */
void pmi1_client_serve(struct pmi1_client *client);
/* Bytes read; 0: none there; -1: the end. */
ssize_t pmi1_client_read(struct pmi1_client *client);
/* It broke the rules. */
void pmi1_client_drop(struct pmi1_client *client, const char *why);
void pmi1_client_close(struct pmi1_client *client);
/* The answer to its one request. */
void pmi1_client_reply(struct pmi1_client *client, const char *format, ...) KEEL_PRINTF(2, 3);

/* pmi1_requests.c: a request's line, between init and finalize or not; it may be written to, and
 * has room for one byte more. */
void pmi1_client_take_line(struct pmi1_client *client, char *line, size_t size);

/* The answer to its spawn. */
void pmi1_client_spawned(struct pmi1_client *client, int status);

/* pmi1_barrier.c: joins the daemons' barrier when all local ranks have come, or some never will. */
void pmi1_barrier_check(struct pmi1_space *space);

#endif
