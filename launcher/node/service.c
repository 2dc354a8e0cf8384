#include <config.h>

#include <launcher/node/service.h>

#include <base/net/sock.h>
#include <launcher/node/daemon.h>
#include <stdlib.h>

struct services {
    const struct service_ops *const *all; /* borrowed; ended by NULL */
    bool offered[SERVICES_MAX];
    void *states[SERVICES_MAX];
    uint32_t ranks, apps; /* those that the user started */
};

/* Is this service there for this rank, or program? */
static bool serves_rank(const struct services *services, size_t i, uint32_t rank)
{
    return services->offered[i] && (rank < services->ranks || services->all[i]->spawned);
}

static bool serves_app(const struct services *services, size_t i, uint32_t app)
{
    return services->offered[i] && (app < services->apps || services->all[i]->spawned);
}

struct services *services_start(struct daemon *daemon)
{
    struct services *services = calloc(1, sizeof(*services));
    if (services) {
        services->all = daemon->service_table;
        services->ranks = daemon->launch.map.size;
        services->apps = daemon->launch.app_count;
    }
    for (size_t i = 0; services && services->all[i]; i++) {
        char reason[256] = "";
        int status =
            services->all[i]->job_start(&services->states[i], daemon, reason, sizeof(reason));
        services->offered[i] = status == ORTE_SUCCESS;
        if (status != ORTE_SUCCESS) {
            daemon_tell(daemon, "node %s: %s is not offered to the ranks: %s", daemon->node,
                        services->all[i]->name, reason[0] ? reason : opal_strerror(status));
        }
    }
    return services;
}

int services_spawned(struct services *services, const struct spawned *what)
{
    int status = ORTE_SUCCESS;
    for (size_t i = 0; services && services->all[i] && status == ORTE_SUCCESS; i++) {
        if (services->offered[i] && services->all[i]->spawned) {
            status = services->all[i]->spawned(services->states[i], what);
        }
    }
    return status;
}

bool services_want_socket(const struct services *services, uint32_t app)
{
    for (size_t i = 0; services && services->all[i]; i++) {
        if (serves_app(services, i, app) && services->all[i]->socket) {
            return true;
        }
    }
    return false;
}

void services_app_vars(struct services *services, uint32_t app, struct vars *vars)
{
    for (size_t i = 0; services && services->all[i]; i++) {
        if (serves_app(services, i, app)) {
            services->all[i]->app_vars(services->states[i], app, vars);
        }
    }
}

void services_rank_vars(struct services *services, uint32_t rank, struct vars *vars)
{
    for (size_t i = 0; services && services->all[i]; i++) {
        if (serves_rank(services, i, rank)) {
            services->all[i]->rank_vars(services->states[i], rank, vars);
        }
    }
}

void services_rank_started(struct services *services, uint32_t rank, pid_t pid, int fd)
{
    for (size_t i = 0; services && services->all[i]; i++) {
        if (serves_rank(services, i, rank)) {
            services->all[i]->rank_started(services->states[i], rank, pid,
                                           services->all[i]->socket ? fd : -1);
            fd = services->all[i]->socket ? -1 : fd;
        }
    }
    fd_close(&fd);
}

uint32_t services_rank_unheard(struct services *services, uint32_t rank, int wait_status)
{
    uint32_t unheard = 0;
    for (size_t i = 0; services && services->all[i]; i++) {
        if (serves_rank(services, i, rank) && services->all[i]->rank_heard) {
            unheard += !services->all[i]->rank_heard(services->states[i], rank, wait_status);
        }
    }
    return unheard;
}

const char *services_rank_ended(struct services *services, uint32_t rank, int wait_status)
{
    const char *missing = NULL;
    for (size_t i = 0; services && services->all[i]; i++) {
        if (serves_rank(services, i, rank)) {
            const char *call = services->all[i]->rank_ended(services->states[i], rank, wait_status);
            missing = missing ? missing : call;
        }
    }
    return missing;
}

void services_rank_doing(struct services *services, uint32_t rank, struct doing *doing)
{
    for (size_t i = 0; services && services->all[i]; i++) {
        if (serves_rank(services, i, rank) && services->all[i]->rank_doing) {
            services->all[i]->rank_doing(services->states[i], rank, doing);
        }
    }
}

bool services_end(struct services *services)
{
    bool whole = true;
    for (size_t i = 0; services && services->all[i]; i++) {
        if (services->offered[i]) {
            whole = services->all[i]->job_end(services->states[i]) && whole;
        }
    }
    free(services);
    return whole;
}
