/* The PTL framework: opens components and chooses the modules that reach a process. Its user is a
 * PML. One thread at a time. */
#ifndef PTL_BASE_H
#define PTL_BASE_H

#include <keel/ptl_ext.h>

struct ptl_set; /* the open components and their modules */

/* What modules call. */
struct ptl_upcalls {
    mca_ptl_base_module_match_fn_t match;
    mca_ptl_base_module_send_progress_fn_t send_progress;
    mca_ptl_base_module_recv_progress_fn_t recv_progress;
    /* Of extended modules: as in struct keel_ptl_module_t. */
    void (*send_failed)(struct keel_ptl_module_t *ptl, struct mca_ptl_base_send_request_t *request,
                        int status);
    void (*put_wanted)(struct keel_ptl_module_t *ptl, struct mca_ptl_base_send_request_t *request,
                       size_t offset, size_t size, int status);
    void (*recv_failed)(struct keel_ptl_module_t *ptl, struct mca_ptl_base_recv_request_t *request,
                        size_t offset, size_t size, int status);
    void (*peer_changed)(struct keel_ptl_module_t *ptl, struct ompi_proc_t *proc);
    void (*peer_ready)(struct keel_ptl_module_t *ptl, struct mca_ptl_base_peer_t *peer);
    bool (*matchi)(struct keel_ptl_module_t *ptl, const mca_ptl_base_match_header_t *header,
                   const void *bytes);
};

/* Opens these components, which end with NULL and outlive the set; a component that cannot be
 * opened or has no module is left out. NOT_AVAILABLE: there is no module. */
int ptl_open(struct ptl_set **set, mca_ptl_base_component_t *const *components,
             const struct ptl_upcalls *upcalls, bool progress_threads,
             bool threads) KEEL_MUST_CHECK;
/* Finalizes the modules and closes the components. All processes were deleted. NULL: nothing. */
void ptl_close(struct ptl_set *set);

/* Highest exclusivity first; equal ones in the order of the components. */
mca_ptl_base_module_t **ptl_modules(const struct ptl_set *set, size_t *count);
/* Puts upper before lower, which may itself stand before another: before processes are added.
 * upper gets the set's upcalls and lower's ptl_base. Upcalls that upper has set itself become
 * lower's, so that it sees them first; the others go straight from lower to the set's user. Both
 * are finalized by the set, upper first. NOT_FOUND: lower is not in the set, or has another before
 * it; BAD_PARAM: upper has another exclusivity. */
int ptl_stack(struct ptl_set *set, mca_ptl_base_module_t *upper,
              mca_ptl_base_module_t *lower) KEEL_MUST_CHECK;
/* Asks every component; the first error. */
int ptl_control(struct ptl_set *set, int param, void *value, size_t size) KEEL_MUST_CHECK;
/* Polls every component; the first error. */
int ptl_progress(struct ptl_set *set, mca_ptl_tstamp_t now) KEEL_MUST_CHECK;

/* One way to a process. */
struct ptl_path {
    mca_ptl_base_module_t *ptl;       /* borrowed */
    struct mca_ptl_base_peer_t *peer; /* the module's; may be NULL */
};
/* All of them: those of the highest exclusivity that reaches it, lowest latency first, then highest
 * bandwidth. */
struct ptl_paths {
    struct ptl_path *path; /* owned */
    size_t count;
};
/* Fills paths[i] for each process. Modules are asked class by class from the highest exclusivity
 * down, and only for processes that no higher class reaches. One that fails is logged and taken to
 * reach nobody. UNREACH: some processes have no path; the others were added. OUT_OF_RESOURCE: none
 * was added. */
int ptl_add_procs(const struct ptl_set *set, size_t count, struct ompi_proc_t **procs,
                  struct ptl_paths *paths) KEEL_MUST_CHECK;
/* Whether a module that has a path to the process still reaches it; to ask from ptl_peer_changed.
 */
bool ptl_path_is_there(const struct ptl_path *path, struct ompi_proc_t *proc);
/* After ptl_peer_changed: which modules reach the process now. Those that reached it are kept while
 * any of them, or another one of their exclusivity, still does; else all are asked as if it were
 * new. *lost: how many of its paths there are no more whose messages may be lost: no path of a
 * component that recovers them is left. They are taken from their modules. UNREACH: there is none;
 * OUT_OF_RESOURCE: nothing has changed. */
int ptl_renew_proc(const struct ptl_set *set, struct ompi_proc_t *proc, struct ptl_paths *paths,
                   size_t *lost) KEEL_MUST_CHECK;
/* Takes the processes from their modules and empties paths. Returns the first error of a module. */
int ptl_del_procs(size_t count, struct ompi_proc_t **procs, struct ptl_paths *paths);

/* "tcp" */
static inline const char *ptl_component_name(const mca_ptl_base_component_t *component)
{
    return component->ptlm_version.mca_component_name;
}

#endif
