#include <config.h>

#include <base/data/array.h>
#include <base/settings/log.h>
#include <ptl/base.h>
#include <stdlib.h>
#include <string.h>

/* The processes that a class of modules is asked for. */
struct query {
    size_t count;
    struct ompi_proc_t **procs;
    struct ptl_paths **paths; /* theirs */
    struct mca_ptl_base_peer_t **peers;
    ompi_bitmap_t reachable;
};

static int query_create(struct query *query, size_t count)
{
    *query = (struct query){.procs = calloc(count, sizeof(struct ompi_proc_t *)),
                            .paths = calloc(count, sizeof(struct ptl_paths *)),
                            .peers = calloc(count, sizeof(struct mca_ptl_base_peer_t *))};
    OBJ_CONSTRUCT(&query->reachable.super, opal_bitmap_t);
    return query->procs && query->paths && query->peers
               ? opal_bitmap_init(&query->reachable.super, (int) count)
               : ORTE_ERR_OUT_OF_RESOURCE;
}

static void query_destroy(struct query *query)
{
    OBJ_DESTRUCT(&query->reachable.super);
    free(query->peers);
    free(query->paths);
    free(query->procs);
}

/* Takes the processes without a path, each of which gets room for as many. */
static int query_fill(struct query *query, size_t count, struct ompi_proc_t **procs,
                      struct ptl_paths *paths, size_t room)
{
    query->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (paths[i].count > 0) {
            continue;
        }
        if (!array_resize(&paths[i].path, room, sizeof(*paths[i].path))) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        query->procs[query->count] = procs[i];
        query->paths[query->count++] = &paths[i];
    }
    return ORTE_SUCCESS;
}

static void query_ask(struct query *query, mca_ptl_base_module_t *module)
{
    memset(query->peers, 0, query->count * sizeof(*query->peers));
    opal_bitmap_clear_all_bits(&query->reachable.super);
    int status =
        module->ptl_add_procs(module, query->count, query->procs, query->peers, &query->reachable);
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_PTL, "%s: is not used: %s", ptl_component_name(module->ptl_component),
                 opal_strerror(status));
        return;
    }
    for (size_t i = 0; i < query->count; i++) {
        if (opal_bitmap_is_set_bit(&query->reachable.super, (int) i)) {
            struct ptl_paths *paths = query->paths[i];
            paths->path[paths->count++] = (struct ptl_path){module, query->peers[i]};
        }
    }
}

/* How many modules, from the first on, have its exclusivity. */
static size_t class_size(mca_ptl_base_module_t *const *modules, size_t count)
{
    size_t size = 1;
    while (size < count && modules[size]->ptl_exclusivity == modules[0]->ptl_exclusivity) {
        size++;
    }
    return size;
}

static int better(const void *a, const void *b)
{
    const mca_ptl_base_module_t *one = ((const struct ptl_path *) a)->ptl,
                                *other = ((const struct ptl_path *) b)->ptl;
    if (one->ptl_latency != other->ptl_latency) {
        return one->ptl_latency < other->ptl_latency ? -1 : 1;
    }
    return (one->ptl_bandwidth < other->ptl_bandwidth) -
           (one->ptl_bandwidth > other->ptl_bandwidth);
}

static void paths_sort(struct ptl_paths *paths)
{
    qsort(paths->path, paths->count, sizeof(*paths->path), better);
}

/* UNREACH: some processes have no path. */
static int finish(size_t count, struct ptl_paths *paths)
{
    int status = ORTE_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        if (paths[i].count > 0) {
            paths_sort(&paths[i]);
        } else {
            status = ORTE_ERR_UNREACH;
        }
    }
    return status;
}

/* Asks one class of modules, from the first of these on; *size: how many it has. */
static int ask_class(struct query *query, mca_ptl_base_module_t *const *modules, size_t left,
                     size_t count, struct ompi_proc_t **procs, struct ptl_paths *paths,
                     size_t *size)
{
    *size = class_size(modules, left);
    int status = query_fill(query, count, procs, paths, *size);
    for (size_t j = 0; j < *size && status == ORTE_SUCCESS && query->count > 0; j++) {
        query_ask(query, modules[j]);
    }
    return status;
}

int ptl_add_procs(const struct ptl_set *set, size_t count, struct ompi_proc_t **procs,
                  struct ptl_paths *paths)
{
    size_t module_count;
    mca_ptl_base_module_t **modules = ptl_modules(set, &module_count);
    memset(paths, 0, count * sizeof(*paths));
    if (count == 0) {
        return ORTE_SUCCESS;
    }
    struct query query;
    int status = query_create(&query, count);
    for (size_t i = 0, size; i < module_count && status == ORTE_SUCCESS; i += size) {
        status = ask_class(&query, modules + i, module_count - i, count, procs, paths, &size);
    }
    query_destroy(&query);
    if (status != ORTE_SUCCESS) {
        (void) ptl_del_procs(count, procs, paths);
        return status;
    }
    return finish(count, paths);
}

int ptl_del_procs(size_t count, struct ompi_proc_t **procs, struct ptl_paths *paths)
{
    int first = ORTE_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < paths[i].count; j++) {
            struct ptl_path *path = &paths[i].path[j];
            int status = path->ptl->ptl_del_procs(path->ptl, 1, &procs[i], &path->peer);
            first = first == ORTE_SUCCESS ? status : first;
        }
        free(paths[i].path);
        paths[i] = (struct ptl_paths){0};
    }
    return first;
}

/* ---- paths that changed ---- */

bool ptl_path_is_there(const struct ptl_path *path, struct ompi_proc_t *proc)
{
    struct mca_ptl_base_peer_t *peer = NULL;
    ompi_bitmap_t reachable;
    OBJ_CONSTRUCT(&reachable.super, opal_bitmap_t);
    bool there = opal_bitmap_init(&reachable.super, 1) == OPAL_SUCCESS &&
                 path->ptl->ptl_add_procs(path->ptl, 1, &proc, &peer, &reachable) == OPAL_SUCCESS &&
                 opal_bitmap_is_set_bit(&reachable.super, 0);
    OBJ_DESTRUCT(&reachable.super);
    return there;
}

static bool has_module(const struct ptl_paths *paths, const mca_ptl_base_module_t *ptl)
{
    for (size_t i = 0; i < paths->count; i++) {
        if (paths->path[i].ptl == ptl) {
            return true;
        }
    }
    return false;
}

/* What a path that is lost may have lost is moved by one of these. */
static bool is_recovered(const struct ptl_path *lost, const struct ptl_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        if (paths->path[i].ptl->ptl_component == lost->ptl->ptl_component) {
            return lost->ptl->ptl_flags & MCA_PTL_FLAGS_RECOVERS;
        }
    }
    return false;
}

/* Asks the class of modules that reached the process until now, and if none of it does any more,
 * all of them. */
static int ask_again(const struct ptl_set *set, struct ompi_proc_t *proc, uint32_t exclusivity,
                     struct ptl_paths *paths)
{
    size_t count, first = 0, size;
    mca_ptl_base_module_t **modules = ptl_modules(set, &count);
    struct query query;
    int status = query_create(&query, 1);
    while (first < count && modules[first]->ptl_exclusivity != exclusivity) {
        first++;
    }
    if (status == ORTE_SUCCESS && first < count) {
        status = ask_class(&query, modules + first, count - first, 1, &proc, paths, &size);
    }
    query_destroy(&query);
    if (status == ORTE_SUCCESS && paths->count > 0) {
        return finish(1, paths);
    }
    free(paths->path);
    return status == ORTE_SUCCESS ? ptl_add_procs(set, 1, &proc, paths) : status;
}

int ptl_renew_proc(const struct ptl_set *set, struct ompi_proc_t *proc, struct ptl_paths *paths,
                   size_t *lost)
{
    struct ptl_paths old = *paths, renewed = {0};
    *lost = 0;
    int status = old.count > 0 ? ask_again(set, proc, old.path[0].ptl->ptl_exclusivity, &renewed)
                               : ptl_add_procs(set, 1, &proc, &renewed);
    if (status != ORTE_SUCCESS && status != ORTE_ERR_UNREACH) {
        return status;
    }
    for (size_t i = 0; i < old.count; i++) {
        struct ptl_path *path = &old.path[i];
        if (!has_module(&renewed, path->ptl)) {
            (void) path->ptl->ptl_del_procs(path->ptl, 1, &proc, &path->peer);
            *lost += !is_recovered(path, &renewed);
        }
    }
    free(old.path);
    *paths = renewed;
    return status;
}
