/* What the files of the service PMIx share: pmix_service.c (its life and connections), ranks.c (its
 * ranks), pmix_host.c (what the module asks of the daemon), environment.c (what ranks find in
 * theirs).
 */
#ifndef LAUNCHER_PMIX_PMIX_SERVICE_INTERNAL_H
#define LAUNCHER_PMIX_PMIX_SERVICE_INTERNAL_H

#include <base/host/leftovers.h>
#include <launcher/pmix/connection/pmix_listener.h>
#include <launcher/pmix/exchange/exchange.h>
#include <launcher/pmix/finalize.h>
#include <launcher/pmix/nspace.h>
#include <launcher/pmix/starter.h>
#include <launcher/shepherd/vars.h>

struct rank_state {
    bool connected, finalized, ended;
    uint32_t patience;     /* > 0: it has ended, and its PMIx_Finalize may still be on its way */
    pid_t pid;             /* 0: not started */
    uint64_t connected_us; /* when it last connected */
    int connection;        /* the number of libpmix's descriptor for that, */
    unsigned ends_before;  /* and its guard_ends when it was handed over */
    int wait_status;       /* once it has ended */
};

enum server_state { SERVER_NOT_STARTED, SERVER_RUNNING, SERVER_FAILED };

struct pmix_service {
    struct daemon *daemon;
    char servers[JOB_UUID_TEXT + 32], tools[JOB_UUID_TEXT + 32];
    char *folder;             /* owned: for libpmix's files and Open MPI's */
    bool in_memory;           /* the folder is; Open MPI's shared memory can be there too */
    struct rank_state *ranks; /* owned, by number */
    struct list nspaces;      /* the user's first */
    struct pmix_server server;
    struct pmix_host host;
    struct listener *listener;
    struct exchange *exchange;
    struct starter *starter;
    struct finalizes *finalizes;
    enum server_state state;
    char failure[256];          /* why the server does not run */
    struct loop_timer announce; /* to tools */
    const struct pmix_module *module;
    struct list waiting;
    struct loop_timer finalize; /* runs while some rank's patience is not at its end */
};

/* The number of a rank of this node; false: it is not one. */
bool pmix_service_find_local(struct pmix_service *service, const char *name, uint32_t rank,
                             uint32_t *number);

/* ranks.c: what a rank's process does, and operations on ranks for other daemons. */
void pmix_service_rank_started(void *state, uint32_t number, pid_t pid, int fd);
/* It has called MPI_Finalize. */
void pmix_service_rank_finalized(struct pmix_service *service, uint32_t number);
bool pmix_service_rank_heard(void *state, uint32_t number, int wait_status);
void pmix_service_finalize_turn(struct loop_timer *timer);
const char *pmix_service_rank_ended(void *state, uint32_t number, int wait_status);
void pmix_service_rank_doing(void *state, uint32_t number, struct doing *doing);
pmix_status_t pmix_service_rank_op(void *arg, enum rank_op op, int32_t argument,
                                   const uint32_t *numbers, uint32_t count, struct blob *answer);

/* pmix_host.c: its arg is the service. */
extern const struct pmix_host pmix_service_host;

/* environment.c: as in struct service_ops. */
void pmix_service_app_vars(void *state, uint32_t app, struct vars *vars);
void pmix_service_rank_vars(void *state, uint32_t number, struct vars *vars);

#endif
