/* What ranks find in their environment: docs/mpi.md has the reasons. */
#include <config.h>

#include <launcher/pmix/pmix_service_internal.h>

#include <string.h>

/* Where Open MPI puts shared memory files. It names them after host and user, which nodes that are
 * simulated on one host share, and leaves them when it is killed. */
static const char *const backing_folders[] = {
    "OMPI_MCA_btl_vader_backing_directory=",
    "OMPI_MCA_osc_rdma_backing_directory=",
    "OMPI_MCA_osc_sm_backing_directory=",
    "OMPI_MCA_shmem_mmap_backing_file_base_dir=",
};

/* Open MPI tries every way to share memory before it takes the one that it likes best, and one of
 * them leaves /dev/shm/open_mpi.0000 when a rank is killed meanwhile. */
static const char shared_memory[] = "OMPI_MCA_shmem=";

/* Whether to bind was decided here. Open MPI would look into it once more, and for that load the
 * node's topology with all of hwloc's plugins in each rank: an eighth of what MPI_Init costs. */
static const char bound_at_launch[] = "OMPI_MCA_orte_bound_at_launch=";

/* Has the user chosen this one? One of an outer keelrun does not count. */
static bool is_chosen(const struct vars *vars, const char *folder)
{
    size_t length = strlen(folder);
    for (size_t i = 0; vars->strings && vars->strings[i]; i++) {
        if (strncmp(vars->strings[i], folder, length) == 0) {
            return strncmp(vars->strings[i] + length, SESSION_SHM, strlen(SESSION_SHM)) != 0;
        }
    }
    return false;
}

static void add_shared_memory(const struct pmix_service *service, struct vars *vars)
{
    if (!is_chosen(vars, shared_memory)) {
        vars_format(vars, "%smmap", shared_memory);
    }
    for (size_t i = 0; i < sizeof(backing_folders) / sizeof(*backing_folders); i++) {
        if (service->in_memory && !is_chosen(vars, backing_folders[i])) {
            vars_format(vars, "%s%s", backing_folders[i], service->folder);
        }
    }
}

static void add_pmix_vars(const struct pmix_service *service, const struct nspace *nspace,
                          struct vars *vars)
{
    static const char *const versions[] = {"41", "4", "3", "2", "21"};
    vars_format(vars, "PMIX_NAMESPACE=%s", nspace->name);
    for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
        vars_format(vars, "PMIX_SERVER_URI%s=%s.%u;tcp4://127.0.0.1:%u", versions[i],
                    service->servers, service->server.daemon, listener_port(service->listener));
    }
    vars_format(vars, "PMIX_SECURITY_MODE=native");
    vars_format(vars, "PMIX_BFROP_BUFFER_TYPE=PMIX_BFROP_BUFFER_NON_DESC");
    vars_format(vars, "PMIX_GDS_MODULE=hash");
    vars_format(vars, "PMIX_SERVER_TMPDIR=%s", service->folder);
    vars_format(vars, "PMIX_SYSTEM_TMPDIR=%s", service->folder);
    vars_format(vars, "PMIX_HOSTNAME=%s", service->server.node);
    vars_format(vars, "PMIX_VERSION=%s", PMIX_SERVER_VERSION);
}

void pmix_service_app_vars(void *state, uint32_t app, struct vars *vars)
{
    struct pmix_service *service = state;
    const struct nspace *nspace = nspace_of_app(&service->nspaces, app);
    if (!nspace) {
        return;
    }
    add_pmix_vars(service, nspace, vars);
    vars_format(vars, "JSM_JSRUN_PORT=1");
    vars_format(vars, "OMPI_COMM_WORLD_SIZE=%u", nspace->map.size);
    vars_format(vars, "OMPI_COMM_WORLD_LOCAL_SIZE=%u", nspace_local_size(nspace));
    if (service->daemon->launch.yield || nspace->first > 0) { /* the spawned are beyond the plan */
        vars_format(vars, "OMPI_MCA_mpi_oversubscribe=1");
    }
    if (!is_chosen(vars, bound_at_launch)) {
        vars_format(vars, "%s1", bound_at_launch);
    }
    add_shared_memory(service, vars);
}

void pmix_service_rank_vars(void *state, uint32_t number, struct vars *vars)
{
    struct pmix_service *service = state;
    const struct nspace *nspace = nspace_of_rank(&service->nspaces, number);
    if (!nspace) {
        return;
    }
    uint32_t rank = number - nspace->first, local_rank = nspace->map.local_rank_of[rank];
    vars_format(vars, "PMIX_RANK=%u", rank);
    vars_format(vars, "OMPI_COMM_WORLD_RANK=%u", rank);
    vars_format(vars, "OMPI_COMM_WORLD_LOCAL_RANK=%u", local_rank);
    vars_format(vars, "OMPI_COMM_WORLD_NODE_RANK=%u", local_rank);
}
