/* The ranks of this node, as far as PMIx is concerned: where they are in their lives, and what
 * other daemons want done with them. */
#include <config.h>

#include <launcher/pmix/connection/guard.h>
#include <launcher/pmix/pmix_service_internal.h>

#include <launcher/node/service.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

void pmix_service_rank_started(void *state, uint32_t number, pid_t pid, int fd)
{
    struct pmix_service *service = state;
    (void) fd;
    service->ranks[number].pid = pid;
}

/* A client waits for the answer to its PMIx_Finalize, but no longer than 2 s. On a busy machine its
 * end may be known before libpmix has read it. libpmix gets some turns then, however long they
 * take, unless it reads the end of the connection before; a process that has inherited it may keep
 * it. */
enum { FINALIZE_TURNS = 50, FINALIZE_TURN_US = 4000 };

static bool is_read_to_its_end(const struct rank_state *rank)
{
    return guard_ends(rank->connection) != rank->ends_before;
}

bool pmix_service_rank_heard(void *state, uint32_t number, int wait_status)
{
    struct pmix_service *service = state;
    struct rank_state *ended = &service->ranks[number];
    ended->ended = true;
    ended->wait_status = wait_status;
    bool said_all = !ended->connected || ended->finalized || service->state != SERVER_RUNNING ||
                    !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0;
    if (!said_all) {
        ended->patience = FINALIZE_TURNS;
        if (!service->finalize.started) {
            loop_timer_start(&service->finalize, FINALIZE_TURN_US);
        }
    }
    return said_all;
}

void pmix_service_finalize_turn(struct loop_timer *timer)
{
    struct pmix_service *service = container_of(timer, struct pmix_service, finalize);
    bool more = false;
    for (uint32_t number = 0; number < service->daemon->launch.map.size; number++) {
        struct rank_state *ended = &service->ranks[number];
        if (ended->patience > 1 && is_read_to_its_end(ended)) {
            ended->patience = 1; /* what libpmix has posted comes before the next turn */
        } else if (ended->patience > 0 && --ended->patience == 0) {
            local_heard(service->daemon, number);
        }
        more = more || service->ranks[number].patience > 0;
    }
    if (more) {
        loop_timer_start(&service->finalize, FINALIZE_TURN_US);
    }
}

void pmix_service_rank_finalized(struct pmix_service *service, uint32_t number)
{
    service->ranks[number].finalized = true;
    if (service->ranks[number].patience > 0) {
        service->ranks[number].patience = 0;
        local_heard(service->daemon, number);
    }
}

const char *pmix_service_rank_ended(void *state, uint32_t number, int wait_status)
{
    struct pmix_service *service = state;
    struct rank_state *ended = &service->ranks[number];
    ended->ended = true;
    ended->wait_status = wait_status;
    if (!ended->connected || ended->finalized) {
        return NULL;
    }
    if (service->state == SERVER_RUNNING) {
        pmix_proc_t name = nspace_rank_name(&service->nspaces, number);
        service->module->rank_failed(&name);
    }
    return "MPI_Finalize";
}

/* Calls that wait for others come before where it is in its life. Fences count from 0, as Keel's.
 */
static void say_doing(const struct rank_state *rank, const struct asked_view *asked,
                      struct doing *doing)
{
    int used = snprintf(doing->what, sizeof(doing->what), "%s",
                        rank->finalized ? "finalized, in or after MPI_Finalize"
                                        : "running, in or after MPI_Init");
    if (asked->call) {
        snprintf(doing->what, sizeof(doing->what), "in %s", asked->call);
    } else if (asked->in_fence) {
        snprintf(doing->what, sizeof(doing->what), "in fence %u", asked->fences - 1);
    } else if (asked->fences > 0 && !rank->finalized) {
        snprintf(doing->what + used, sizeof(doing->what) - (size_t) used, ", after fence %u",
                 asked->fences - 1);
    }
}

void pmix_service_rank_doing(void *state, uint32_t number, struct doing *doing)
{
    const struct pmix_service *service = state;
    const struct rank_state *rank = &service->ranks[number];
    if (rank->connected) {
        struct asked_view asked = guard_asked(rank->connection);
        if (asked.began_us >
            rank->connected_us) { /* another's, on the descriptor of one that ended */
            asked = (struct asked_view){0};
        }
        say_doing(rank, &asked, doing);
        doing->moved_us = asked.moved_us > rank->connected_us ? asked.moved_us : rank->connected_us;
    }
}

/* --- operations for other daemons --- */

static pmix_proc_state_t state_of(const struct rank_state *rank)
{
    if (!rank->ended) {
        return rank->pid == 0                        ? PMIX_PROC_STATE_LAUNCH_UNDERWAY
               : rank->connected && !rank->finalized ? PMIX_PROC_STATE_CONNECTED
                                                     : PMIX_PROC_STATE_RUNNING;
    }
    if (WIFSIGNALED(rank->wait_status)) {
        return PMIX_PROC_STATE_ABORTED_BY_SIG;
    }
    if (WEXITSTATUS(rank->wait_status) != 0) {
        return PMIX_PROC_STATE_TERM_NON_ZERO;
    }
    return rank->connected && !rank->finalized ? PMIX_PROC_STATE_TERM_WO_SYNC
                                               : PMIX_PROC_STATE_TERMINATED;
}

static int exit_code_of(const struct rank_state *rank)
{
    return !rank->ended                     ? 0
           : WIFSIGNALED(rank->wait_status) ? 128 + WTERMSIG(rank->wait_status)
                                            : WEXITSTATUS(rank->wait_status);
}

static pmix_status_t tell_states(const struct pmix_service *service, const uint32_t *numbers,
                                 uint32_t count, struct blob *answer)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t entry[64];
        const struct rank_state *rank = &service->ranks[numbers[i]];
        struct pmix_state state = {.number = numbers[i],
                                   .pid = rank->pid,
                                   .state = state_of(rank),
                                   .exit_code = exit_code_of(rank)};
        size_t size = pmix_state_put(entry, &state);
        if (blob_append(answer, entry, size) != ORTE_SUCCESS) {
            return PMIX_ERR_NOMEM;
        }
    }
    return PMIX_SUCCESS;
}

static pmix_status_t send_signal(const struct pmix_service *service, const uint32_t *numbers,
                                 uint32_t count, int signal)
{
    pmix_status_t status = PMIX_ERR_NOT_FOUND;
    for (uint32_t i = 0; i < count; i++) {
        const struct rank_state *rank = &service->ranks[numbers[i]];
        if (rank->pid == 0 || rank->ended) {
            continue;
        }
        shepherd_signal(service->daemon->shepherd, numbers[i], signal);
        if (signal == SIGTERM) {
            shepherd_signal(service->daemon->shepherd, numbers[i], SIGCONT);
        }
        status = PMIX_SUCCESS;
    }
    return status;
}

pmix_status_t pmix_service_rank_op(void *arg, enum rank_op op, int32_t argument,
                                   const uint32_t *numbers, uint32_t count, struct blob *answer)
{
    struct pmix_service *service = arg;
    switch (op) {
    case RANK_OP_STATES:
        return tell_states(service, numbers, count, answer);
    case RANK_OP_SIGNAL:
        return argument > 0 && argument < NSIG ? send_signal(service, numbers, count, argument)
                                               : PMIX_ERR_BAD_PARAM;
    }
    return PMIX_ERR_NOT_SUPPORTED;
}
