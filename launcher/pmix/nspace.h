/* The namespaces of a job, in the order of their ranks: those that the user started, then what they
 * have spawned. Ranks of all of them are numbered in one row. */
#ifndef LAUNCHER_PMIX_NSPACE_H
#define LAUNCHER_PMIX_NSPACE_H

#include <base/data/list.h>
#include <launcher/node/daemon.h>
#include <launcher/pmix/pmix_module.h>

/* A namespace: the ranks that the user started, or what one of them has spawned. It has copies of
 * the daemon's numbers, which grow when more is spawned, while libpmix may be starting. */
struct nspace {
    struct list link;
    char name[JOB_UUID_TEXT + 32];
    pmix_proc_t parent;
    uint32_t first;                /* the number of its rank 0 in the job */
    uint32_t app_first;            /* the number of its first program */
    struct job_map map;            /* its arrays are owned, not the names */
    uint32_t *app_of;              /* owned */
    const char **cpus;             /* owned, not the texts: as in struct pmix_job */
    struct pmix_program *programs; /* owned */
    struct pmix_job job;
};

/* What a namespace is made of besides the daemon's launch. Borrowed. */
struct nspace_setup {
    const struct daemon *daemon;
    const struct spawned *spawned; /* NULL: the ranks that the user started */
    const char *folder;
};

/* Appends a namespace to the list. NULL: no memory. */
struct nspace *nspace_add(struct list *all, const struct nspace_setup *setup) KEEL_MUST_CHECK;
void nspace_destroy(struct nspace *nspace);

/* NULL: there is none. */
struct nspace *nspace_find(struct list *all, const char *name);
struct nspace *nspace_of_rank(struct list *all, uint32_t number);
struct nspace *nspace_of_app(struct list *all, uint32_t app);
/* The name of a rank; of one that is not there PMIX_RANK_INVALID. */
pmix_proc_t nspace_rank_name(struct list *all, uint32_t number);
/* How many of its ranks are on this daemon's node. */
uint32_t nspace_local_size(const struct nspace *nspace);

#endif
