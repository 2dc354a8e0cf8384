#include <config.h>

#include <launcher/service.h>

#include <base/log.h>
#include <base/sock.h>
#include <launcher/daemon.h>
#include <launcher/pmi1.h>
#ifdef OFFER_PMIX
#include <launcher/pmix/offer.h>
#endif
#include <stdlib.h>

static const struct service_ops *const all[] = {
#ifdef OFFER_PMIX
    &pmix_service,
#endif
    &pmi1_service, NULL};
#define SERVICES (sizeof(all) / sizeof(*all) - 1)

struct services {
    bool offered[SERVICES + 1];
    void *states[SERVICES + 1];
    uint32_t ranks, apps; /* those that the user started */
};

/* Is this service there for this rank, or program? */
static bool serves_rank(const struct services *services, size_t i, uint32_t rank)
{
    return services->offered[i] && (rank < services->ranks || all[i]->spawned);
}

static bool serves_app(const struct services *services, size_t i, uint32_t app)
{
    return services->offered[i] && (app < services->apps || all[i]->spawned);
}

struct services *services_start(struct daemon *daemon)
{
    struct services *services = calloc(1, sizeof(*services));
    if (services) {
        services->ranks = daemon->launch.map.size;
        services->apps = daemon->launch.app_count;
    }
    for (size_t i = 0; services && all[i]; i++) {
        char reason[256] = "";
        if (daemon->starting == 0 && !all[i]->tools) {
            continue;
        }
        int status = all[i]->job_start(&services->states[i], daemon, reason, sizeof(reason));
        services->offered[i] = status == ORTE_SUCCESS;
        if (status != ORTE_SUCCESS) {
            daemon_tell(daemon, "node %s: %s is not offered to the ranks: %s", daemon->node,
                        all[i]->name, reason[0] ? reason : opal_strerror(status));
        }
    }
    return services;
}

int services_spawned(struct services *services, const struct spawned *what)
{
    int status = ORTE_SUCCESS;
    for (size_t i = 0; services && all[i] && status == ORTE_SUCCESS; i++) {
        if (services->offered[i] && all[i]->spawned) {
            status = all[i]->spawned(services->states[i], what);
        }
    }
    return status;
}

bool services_want_socket(const struct services *services, uint32_t app)
{
    for (size_t i = 0; services && all[i]; i++) {
        if (serves_app(services, i, app) && all[i]->socket) {
            return true;
        }
    }
    return false;
}

void services_app_vars(struct services *services, uint32_t app, struct vars *vars)
{
    for (size_t i = 0; services && all[i]; i++) {
        if (serves_app(services, i, app)) {
            all[i]->app_vars(services->states[i], app, vars);
        }
    }
}

void services_rank_vars(struct services *services, uint32_t rank, struct vars *vars)
{
    for (size_t i = 0; services && all[i]; i++) {
        if (serves_rank(services, i, rank)) {
            all[i]->rank_vars(services->states[i], rank, vars);
        }
    }
}

void services_rank_started(struct services *services, uint32_t rank, pid_t pid, int fd)
{
    for (size_t i = 0; services && all[i]; i++) {
        if (serves_rank(services, i, rank)) {
            all[i]->rank_started(services->states[i], rank, pid, all[i]->socket ? fd : -1);
            fd = all[i]->socket ? -1 : fd;
        }
    }
    fd_close(&fd);
}

uint32_t services_rank_unheard(struct services *services, uint32_t rank, int wait_status)
{
    uint32_t unheard = 0;
    for (size_t i = 0; services && all[i]; i++) {
        if (serves_rank(services, i, rank) && all[i]->rank_heard) {
            unheard += !all[i]->rank_heard(services->states[i], rank, wait_status);
        }
    }
    return unheard;
}

const char *services_rank_ended(struct services *services, uint32_t rank, int wait_status)
{
    const char *missing = NULL;
    for (size_t i = 0; services && all[i]; i++) {
        if (serves_rank(services, i, rank)) {
            const char *call = all[i]->rank_ended(services->states[i], rank, wait_status);
            missing = missing ? missing : call;
        }
    }
    return missing;
}

void services_end(struct services *services)
{
    for (size_t i = 0; services && all[i]; i++) {
        if (services->offered[i]) {
            all[i]->job_end(services->states[i]);
        }
    }
    free(services);
}
